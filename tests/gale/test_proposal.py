"""From good answers to candidates for an answer key."""

from __future__ import annotations

import json

import pytest

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.formats.annotation import Snippet
from nuggeteer.formats.canonical import as_line
from nuggeteer.gale.proposal import as_nuggets, propose
from nuggeteer.gale.templates import read_templates
from tests.conftest import write_lines

ANSWERS = [
    "In 1843 Lovelace published a translation, and she wrote seven notes about the engine.",
    "Lovelace published a translation in 1843. Dead at thirty-six.",
    "Jack Straw, the British foreign secretary, said that prices rose.",
]


def answers(texts=ANSWERS, qid="q9"):
    return [Snippet(str(i), text, qid=qid, extra={"run": "good", "docid": f"D{i}"}) for i, text in enumerate(texts)]


@pytest.mark.slow
def test_what_several_answers_say_is_one_candidate_and_comes_first(nuggetizer):
    found = propose(answers(), nuggetizer)
    first = found[0]
    assert first.answers == 2
    assert {fact.source.text for fact in first.facts} == set(ANSWERS[:2])
    told = [one.text for one in found]
    assert "Lovelace published a translation" in told
    assert "Jack Straw, the British foreign secretary" in told
    assert len(told) == len(set(told))


def test_what_modifies_a_clause_is_proposed_with_it_and_names_alone_are_not(nuggetizer):
    found = propose(answers(["Smith was shot on a private Texas ranch in 1999."]), nuggetizer)
    assert {(one.type, one.text) for one in found} == {
        ("EVT", "Smith was shot"),
        ("LOC", "Smith was shot on a private Texas ranch"),
        ("TMP", "Smith was shot in 1999"),
    }


def test_what_has_no_finite_verb_is_proposed_as_it_stands(nuggetizer):
    assert "Dead at thirty-six." in [one.text for one in propose(answers(), nuggetizer)]


def test_every_candidate_names_a_place_in_an_answer(nuggetizer):
    for nuggets in (propose(answers(), nuggetizer), propose(answers(), None)):
        for one in nuggets:
            for fact in one.facts:
                assert all(0 <= a < b <= len(fact.source.text) for a, b in fact.spans)
                assert fact.source.text in ANSWERS


def test_different_facts_of_one_answer_stay_apart(nuggetizer):
    found = propose(answers(["Iraq can import food and medicines.", "Iraq can import food"]), nuggetizer)
    assert {(one.text, one.answers) for one in found} == {("Iraq can import food", 2), ("Iraq can import medicines", 1)}


def test_a_template_keeps_its_types(nuggetizer):
    kinds = {one.type for one in propose(answers(), nuggetizer, read_templates()["whereabouts"])}
    assert kinds - {None} == {"TMP"}


MARKED = """\
## Refunds
Return it within **30 days** [2].
- We pay `shipping` both ways[^3]
1. In [1, 5] days you are paid."""


def test_citations_and_marks_of_markdown_are_no_part_of_a_fact():
    """Cases, quotes and full stops are the answer's."""
    assert [one.text for one in propose(answers([MARKED]), None)] == [
        "Return it within 30 days.",
        "We pay shipping both ways",
        "In [1, 5] days you are paid.",
    ]


@pytest.mark.slow
def test_with_a_parser_they_are_none_either(nuggetizer):
    text = "You can return it within **30 days** of delivery [2]. **Refunds are paid** in `5` days [1][3]."
    assert [one.text for one in propose(answers([text]), nuggetizer)] == [
        "You can return it within 30 days of delivery",
        "Refunds are paid",
        "Refunds are paid in 5 days",
    ]


def test_without_a_parser_sentences_and_their_parts_are_proposed():
    texts = ["Ada wrote notes; she died in 1852. Her father was a poet.", "Ada wrote notes."]
    texts.append("Dr. J. Smith met Mr. Lee on Dec. 10 in the U.S. Army camp.")
    found = propose(answers(texts), None)
    assert [(one.text, one.answers, one.type) for one in found] == [
        ("Ada wrote notes", 2, None),
        ("she died in 1852.", 1, None),
        ("Her father was a poet.", 1, None),
        (texts[-1], 1, None),
    ]


@pytest.mark.parametrize("parsed", [True, False])
def test_the_file_is_valid_as_nuggets_and_asks_to_be_rated(nuggetizer, tmp_path, parsed):
    found = propose([*answers(), *answers(["Rome fell in 476."], "q10")], nuggetizer if parsed else None)
    lines = [as_line(nugget) for nugget in as_nuggets(found)]
    assert {line["importance"] for line in lines} == {"unrated"}
    assert all(line["tags"] == ["proposed"] and line["said"][0]["docid"][0] == "D" for line in lines)
    write_lines(tmp_path / "nuggets.jsonl", lines)
    told = {problem.what for problem in check(tmp_path)}
    assert all("is unrated" in what for what in told)
    assert [q.qid for q in read_collection(tmp_path).key.questions] == ["q9", "q10"]
    assert json.loads((tmp_path / "nuggets.jsonl").read_text().splitlines()[0])["nugget"] == "p1"
