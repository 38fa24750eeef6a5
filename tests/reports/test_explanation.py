"""What spoke for a guess, in words: what is shown of it, where, and that it is harmless."""

from __future__ import annotations

import io
import json
import re
import shutil

import pytest
from rich.console import Console

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.matching.base import SHARE, Explanation, SimilarText, WordEvidence
from nuggeteer.reports import changes as report
from nuggeteer.reports.passages import in_words
from tests.reports.hostile import TRICKS

SHIP = Explanation(
    "log odds",
    (
        WordEvidence("ran aground", 2.5, True),
        WordEvidence("aground", 2.5, True),
        WordEvidence("Giglio", -2.0, False),
        WordEvidence("Cruise", 1.5, True),
        WordEvidence("rock", -1.0, True),
        WordEvidence("captain", 0.9, False),
        WordEvidence("the", 0.1, True),
        WordEvidence("of", -0.1, False),
    ),
    (
        SimilarText("The cruise ship\nran aground.", True, 0.834, ((16, 27),)),
        SimilarText("It was a rock.", False, 0.9),
        SimilarText("Something else.", False, 0.1),
    ),
)


def test_words_are_sorted_into_those_there_those_lacking_and_those_against():
    """Not those in a longer one, nor those that say next to nothing, nor what is lacking without harm."""
    assert in_words(SHIP, 78) == [
        "words: ran aground, Cruise; lacking: Giglio; against: rock",
        "like a judged no (0.90): “It was a rock.”",
        "like a judged yes (0.83): “The cruise ship ran aground.”",
    ]
    assert len(in_words(SHIP, 78, 1)) == 2
    assert in_words(Explanation("log odds", ()), 78) == []
    assert in_words(Explanation("log odds", (), SHIP.similar_texts[2:]), 78) == []


@pytest.mark.parametrize(
    ("differing", "begins"),
    [
        (None, "like a judged no (0.91): “"),
        (0, "the same words as a judged no: “"),
        (1, "1 word differs from a judged no: “"),
        (3, "3 words differ from a judged no: “"),
    ],
)
def test_a_near_copy_says_how_near_it_is(differing, begins):
    similar = SimilarText("The ship sank.", False, 0.91, differing_words=differing)
    assert in_words(Explanation("log odds", (), (similar,)), 78) == [f"{begins}The ship sank.”"]


@pytest.mark.parametrize("size", [30, 50, 66, 78])
def test_lines_are_as_long_as_asked_and_cut_around_what_speaks_for_the_nugget(size):
    long = "x y z " * 100
    many = tuple(WordEvidence(f"{letter}{'o' * 12}{i}", 2.0, i % 2 == 0) for i, letter in enumerate("abcdefghijkl"))
    text = f"{long}ran aground{long}"
    found = Explanation("log odds", many, (SimilarText(text, True, 0.5, ((len(long), len(long) + 11),)),))
    lines = in_words(found, size)
    assert len(lines) == 2
    assert len(lines[0]) <= size
    assert len(lines[1]) <= max(size, 54)
    assert "ran aground" in lines[1]


def test_nothing_in_it_reaches_the_reader_but_as_text():
    for trick in (*TRICKS, "\x1b]0;owned\x07\x9b2J\r\n\u202e[red]x[/]"):
        said = (WordEvidence(trick, 2.0, True), WordEvidence(trick * 20, -2.0, False))
        for line in in_words(Explanation("u", said, (SimilarText(trick * 3, True, 0.5, ((0, 2),)),)), 66):
            assert line.isprintable()


def drawn(result, explain, everything=False, width=80):
    out = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    report.draw(out, result, everything=everything, explain=explain)
    return out.file.getvalue()


@pytest.fixture(scope="module")
def explained(_learned_folder):
    return diff(read_collection(_learned_folder), "build-101", "build-103", explain=True)


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("everything", [False, True])
def test_a_diff_is_explained_by_two_lines_a_change_at_most_and_only_if_asked(explained, width, everything):
    plain, told = (
        [line.rstrip() for line in drawn(explained, explain, everything, width).splitlines()]
        for explain in (False, True)
    )
    more = [line for line in told if re.match(r" {12}(words|lacking|against|.*\ba judged (yes|no))\b.*:", line)]
    assert len(more) > 5
    assert len(told) == len(plain) + len(more)
    assert [line for line in told if line not in more] == plain
    assert all(len(line) <= width for line in told if not line.startswith("nuggeteer:"))
    assert sum(" a judged " in line for line in more) <= sum(line[:2] in ("+ ", "− ", "= ") for line in told)


def test_guesses_are_explained_and_what_is_known_is_not(explained):
    guessed = 0
    for change in (*explained.gained, *explained.lost, *explained.kept):
        for side in (change.old, change.new):
            assert (side.explanation is not None) == (not side.known and side.passage is not None)
            guessed += side.explanation is not None
    assert guessed > 20
    data = json.loads(json.dumps(report.as_json(explained), allow_nan=False))
    one = next(c["new"] for c in data["gained"] if c["new"]["source"] == "guessed")["explanation"]
    assert set(one) == {"unit", "words", "alike"}
    assert {frozenset(word) for word in one["words"]} == {frozenset(("words", "there", "weight"))}
    assert all(set(response) == {"text", "verdict", "likeness", "differing_words"} for response in one["alike"])


def test_nobody_pays_for_an_explanation_that_was_not_asked_for(sample, monkeypatch):
    def never(self, text, nugget):
        raise AssertionError

    monkeypatch.setattr("nuggeteer.scoring.explanation.Explainer.__call__", never)
    result = diff(sample, "build-101", "build-102")
    assert all(side.explanation is None for change in result.gained for side in (change.old, change.new))


@pytest.mark.slow
def test_the_command_explains_ngrams_too(sample, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    folder = tmp_path / "sample"
    shutil.copytree(sample.root, folder)
    (folder / "nuggeteer.toml").write_text('[match]\nmatcher = "ngram"\n')
    monkeypatch.chdir(folder)
    assert main(["diff", "build-101", "build-102", "--json", str(tmp_path / "d.json")]) == 0
    plain = capsys.readouterr().out
    assert "words: " not in plain
    data = json.loads((tmp_path / "d.json").read_text())
    side = next(c["new"] for c in data["gained"] if c["new"]["source"] == "guessed")
    assert side["explanation"]["unit"] == SHARE
    there = sum(word["weight"] for word in side["explanation"]["words"] if word["there"])
    assert there == pytest.approx(side["score"])
    assert main(["diff", "build-101", "build-102", "--explain", "--all"]) == 0
    told = capsys.readouterr().out
    assert "            words: " in told
    assert "judged" not in told.partition("Answers:")[0]
