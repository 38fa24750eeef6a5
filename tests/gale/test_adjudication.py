"""Two annotations become one: what both have is kept, and a person decides the rest (Babko-Malaya 2008, §5)."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.cli.main import main
from nuggeteer.errors import InputError
from nuggeteer.formats.annotation import Extent, Snippet
from nuggeteer.formats.annotation_files import read_snippets
from nuggeteer.gale.adjudication import adjudicate

SHARON = "Israeli Prime Minister Ariel Sharon talked with Ben-Ami."
FIRST = f"""Query: q1
Snippet 1: {SHARON}
Nugget 1 (title): [[Israeli Prime Minister Ariel Sharon]] talked with Ben-Ami.
Nugget 2: Israeli Prime Minister [[Ariel Sharon talked with Ben-Ami.]]
Snippet 2: John and Mary met
"""
SECOND = f"""Medium: text
Query: q1
Snippet 1: {SHARON}
Nugget 1: [[Israeli Prime Minister Ariel Sharon talked with Ben-Ami]].
Nugget 2: [[Israeli Prime Minister Ariel Sharon]] talked with Ben-Ami.
Snippet 2: John and Mary met
Nugget 1: [[John and Mary met]]
Snippet 3: only the second has this
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "first.txt").write_text(FIRST)
    (tmp_path / "second.txt").write_text(SECOND)
    return tmp_path


def answer(monkeypatch, text):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    return main(["agree", "first.txt", "second.txt", "--adjudicate", "agreed.txt"])


def marked(here):
    return {
        one.snippet: [[one.text[a:b] for a, b in nugget.spans] for nugget in one.nuggets]
        for one in read_snippets(here / "agreed.txt", [])
    }


@pytest.mark.parametrize(
    ("keys", "kept"),
    [
        ("1", [["Ariel Sharon talked with Ben-Ami."]]),
        ("2", [["Israeli Prime Minister Ariel Sharon talked with Ben-Ami"]]),
        ("b", [["Israeli Prime Minister Ariel Sharon talked with Ben-Ami"], ["Ariel Sharon talked with Ben-Ami."]]),
        ("m", [[SHARON]]),
        ("n", []),
    ],
)
def test_what_both_have_is_kept_and_the_rest_is_asked(here, monkeypatch, keys, kept):
    assert answer(monkeypatch, f"{keys}\ny\n") == 0
    found = marked(here)
    title = ["Israeli Prime Minister Ariel Sharon"]
    assert sorted(found["1"]) == sorted([title, *kept])
    assert found["2"] == [["John and Mary met"]]
    assert found["3"] == []
    (one, *_) = read_snippets(here / "agreed.txt", [])
    assert one.medium == "text"
    assert [nugget.type for nugget in one.nuggets].count("title") == 1


def test_it_can_be_left_taken_back_and_taken_up_again(here, monkeypatch, capsys):
    assert answer(monkeypatch, "2\nq\n") == 0
    assert not (here / "agreed.txt").exists()
    assert "1 left" in capsys.readouterr().out
    assert answer(monkeypatch, "n\n") == 0  # the second question alone
    assert "2 differ, 1 not decided yet" in capsys.readouterr().out
    assert marked(here)["2"] == []
    lines = [json.loads(line) for line in (here / "agreed.txt.decisions.jsonl").read_text().splitlines()]
    assert [line["choice"] for line in lines] == ["2", "n"]
    assert answer(monkeypatch, "") == 2
    assert "exists already" in capsys.readouterr().err
    (here / "agreed.txt").unlink()
    (here / "agreed.txt.decisions.jsonl").unlink()
    assert answer(monkeypatch, "2\nu\ns\ny\n1\n") == 0  # taken back, put off, and asked last
    assert ["Ariel Sharon talked with Ben-Ami."] in marked(here)["1"]


def test_a_script_hears_of_lines_that_are_no_answers(here, monkeypatch, capsys):
    assert answer(monkeypatch, "what\n?\nu\n\x1b[31m\n1\ny\n") == 2
    out = capsys.readouterr().out
    assert "'what' is not an answer" in out
    assert "nothing to take back" in out
    assert "\x1b" not in out
    assert (here / "agreed.txt").exists()


@pytest.mark.parametrize(
    "line",
    [
        "{}}",
        '{"first": 1, "second": null, "choice": "n"}',
        '{"first": {"spans": [[[], 2]], "type": null}, "choice": "n"}',
        '{"first": {"spans": [[1, 2]], "type": []}, "choice": "n"}',
        '{"qid": [], "choice": "n"}',
        '{"qid": "q1", "choice": {}}',
    ],
)
def test_a_file_of_decisions_that_is_none_is_told_with_its_line(here, monkeypatch, capsys, line):
    (here / "agreed.txt.decisions.jsonl").write_text(f"{line}\n")
    assert answer(monkeypatch, "1\ny\n") == 2
    assert "agreed.txt.decisions.jsonl:1" in capsys.readouterr().err
    assert not (here / "agreed.txt").exists()


def test_texts_that_differ_in_white_space_are_refused_because_offsets_would_not_fit(tmp_path):
    one, other = Snippet("1", "a  fox", (Extent(((0, 6),)),)), Snippet("1", "a fox", (Extent(((0, 5),)),))
    with pytest.raises(InputError, match="other white space"):
        adjudicate([one], [other], tmp_path / "d")


@st.composite
def annotations(draw):
    text = "ab cd ef gh"
    spans = st.tuples(st.integers(0, 9), st.integers(1, 4)).map(lambda at: ((at[0], min(at[0] + at[1], 11)),))
    some = st.lists(spans, max_size=4).map(
        lambda found: tuple(Extent(one) for one in dict.fromkeys(found) if text[one[0][0] : one[0][1]].strip())
    )
    return Snippet("1", text, draw(some)), Snippet("1", text, draw(some))


@pytest.mark.slow
@given(annotations())
def test_an_annotation_agrees_with_itself_and_taking_one_side_gives_its_letters(tmp_path_factory, pair):
    folder = tmp_path_factory.mktemp("d")
    one, other = pair
    itself = adjudicate([one], [one], folder / "none")
    assert itself.differences == []
    assert set(itself.result()[0].nuggets) == set(one.nuggets)
    taken = adjudicate([one], [other], folder / "x")
    for difference in taken.open:
        both = difference.first is not None and difference.second is not None
        taken.decide(difference, "1" if both else "y" if difference.first is not None else "n")
    (found,) = taken.result()
    assert letters(found) == letters(one)
    assert taken.open == adjudicate([one], [other], folder / "x").open == []
    (folder / "x").unlink(missing_ok=True)


def letters(snippet):
    return {frozenset(i for a, b in n.spans for i in range(a, b) if snippet.text[i] != " ") for n in snippet.nuggets}
