"""Texts for the nuggetizer, and judged snippets: what is read, and what is refused with its place."""

from __future__ import annotations

import pytest

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.snippets import read_judged, read_texts
from tests.conftest import write_lines

RICE = {
    "qid": "d",
    "distiller": "A",
    "judged": "relevant",
    "query": "FIND PEOPLE WHO VISITED [New Delhi]",
    "text": "Secretary Rice visited New Delhi, Menon said.",
}


def test_plain_text_is_one_text_a_line_and_blank_lines_are_for_the_eye(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("One.\n\nÜber two.\n", encoding="utf-8")
    problems = []
    assert [(one.snippet, one.text, one.line) for one in read_texts(path, problems)] == [
        ("1", "One.", 1),
        ("3", "Über two.", 3),
    ]
    assert problems == []


def test_lines_of_json_keep_what_they_say(tmp_path):
    line = {"qid": "q", "text": "One.", "query": "x", "docid": "D", "medium": "audio"}
    (one,) = read_texts(write_lines(tmp_path / "a.jsonl", [line]), [])
    assert (one.snippet, one.qid, one.medium, dict(one.extra)) == ("1", "q", "audio", {"query": "x", "docid": "D"})


@pytest.mark.parametrize(
    ("name", "body", "says"),
    [
        ("a.txt", b"", "no text in it"),
        ("a.txt", b"\xff\n", "a.txt:1: not UTF-8"),
        ("a.jsonl", b"{\n", "a.jsonl:1: not JSON"),
        ("a.jsonl", b'{"qid": "q"}\n', "a.jsonl:1: no 'text'"),
        ("a.jsonl", b'{"text": 1}\n', "'text' is a number, not a string"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(tmp_path, name, body, says):
    (tmp_path / name).write_bytes(body)
    with pytest.raises(NuggeteerError, match=says):
        read_texts(tmp_path / name, [])


@pytest.mark.parametrize("relevant", ["Secretary Rice visited New Delhi", [[0, 32]]])
def test_the_selected_part_is_words_or_offsets(tmp_path, relevant):
    (one,), asked = read_judged(write_lines(tmp_path / "j.jsonl", [{**RICE, "relevant": relevant}]), [])
    assert one.stretches == ["Secretary Rice visited New Delhi"]
    assert asked == {"d": RICE["query"]}


def test_without_a_selection_all_of_it_is_relevant_and_one_line_says_the_query(tmp_path):
    other = {**RICE, "judged": "redundant", "distiller": "B"}
    del other["query"]
    judged, asked = read_judged(write_lines(tmp_path / "j.jsonl", [other, RICE]), [])
    assert [one.stretches for one in judged] == [[RICE["text"]]] * 2
    assert list(asked) == ["d"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"judged": "good"}, "'judged' is 'good', not one of relevant, irrelevant, redundant"),
        ({"text": " "}, "no text"),
        ({"relevant": "Rice left"}, "do not occur in the text"),
        ({"relevant": "i"}, "more than once"),
        ({"relevant": [[0, 99]]}, "outside the text"),
        ({"relevant": [[5, 9], [0, 4]]}, "overlap or are out of order"),
        ({"relevant": [[0]]}, "is not a part of the text"),
        ({"relevant": []}, "is not a part of the text"),
        ({"relevant": [[0, 9]], "judged": "irrelevant"}, "a part is relevant, but the snippet is irrelevant"),
        ({"query": None}, "no line of 'd' has its query"),
        ({"distiller": None}, "'distiller' is null"),
    ],
)
def test_a_wrong_judgement_is_refused_with_its_place(tmp_path, change, says):
    with pytest.raises(NuggeteerError, match=says) as error:
        read_judged(write_lines(tmp_path / "j.jsonl", [{**RICE, **change}]), [])
    assert "j.jsonl:1: " in str(error.value)


def test_a_query_that_is_said_in_two_ways_is_refused(tmp_path):
    path = write_lines(tmp_path / "j.jsonl", [RICE, {**RICE, "query": "FIND PEOPLE WHO VISITED [Delhi]"}])
    with pytest.raises(NuggeteerError, match=r"j.jsonl:2: the query or template of 'd' differs from line 1"):
        read_judged(path, [])
