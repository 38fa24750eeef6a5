"""Nuggets in rows, by whatever names."""

from __future__ import annotations

import pytest

from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.nugget_rows import read_nuggets, recognises
from nuggeteer.formats.objects import open_file
from nuggeteer.records import Question


def read(tmp_path, content, present=None):
    path = tmp_path / "x.csv"
    path.write_text(content)
    assert recognises(open_file(path))
    return read_nuggets(path, present)


def test_rows_become_nuggets(tmp_path):
    bundle = read(
        tmp_path,
        "qid,question,nugget,text,importance,weight,note\n"
        "7,Who?,a,built a reactor,vital,,x\n7,Who?,a,made a pile,,,\n7,,b,was rude,,-2,\n"
        "8,Why?,,so,Okay,0.5,\n8,,,thus,perhaps,,\n",
    )
    assert [(n.qid, n.nugget, n.descriptions, n.importance, n.weight) for n in bundle.nuggets] == [
        ("7", "a", ("built a reactor", "made a pile"), "vital", None),
        ("7", "b", ("was rude",), "forbidden", -2.0),
        ("8", "1", ("so",), "okay", 0.5),
        ("8", "2", ("thus",), "unrated", None),
    ]
    assert bundle.unused == {"note": 1}
    assert bundle.nuggets[3].extra == {"importance_as_found": "perhaps"}


def test_questions_are_found_by_their_texts(tmp_path):
    present = Bundle(questions={"a7": Question("a7", "Who?")})
    bundle = read(tmp_path, "Question;Fact\nwho?;built it\nWhy?;so\n", present)
    assert [(n.qid, n.descriptions) for n in bundle.nuggets] == [("a7", ("built it",)), ("q2", ("so",))]


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("q,1,,", "no question, no valid id, or no text"),
        (",1,x,", "no question, no valid id, or no text"),
        ("q,1,x,many", "the weight is 'many'"),
        ("q,1,x,1e9", "the weight is"),
    ],
)
def test_what_is_wrong_is_kept_aside(tmp_path, row, what):
    bundle = read(tmp_path, f"qid,nugget,text,weight\n{row}\n")
    assert len(bundle.garbled) == 1
    assert what in bundle.problems[0].what


def test_tables_of_answers_and_of_verdicts_are_not_taken_for_nuggets(tmp_path):
    path = tmp_path / "x.csv"
    for content in ("question,answer,fact\na,b,c\n", "qid,text\n1,2\n", "a,b\n1,2\n"):
        path.write_text(content)
        assert not recognises(open_file(path))
