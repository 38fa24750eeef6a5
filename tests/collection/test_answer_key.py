"""The answer key: the order of its questions and nuggets, and their weights."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key, natural_order
from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.records import Nugget, Question
from tests.conftest import write_lines


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 9)), unique=True))
def test_a_key_holds_each_questions_nuggets_together_and_in_order(pairs):
    """Against a plain loop over all nuggets."""
    questions = [Question(qid, "") for qid in "abcd"]
    nuggets = [Nugget(qid, str(n), ("x",), "vital") for qid, n in pairs]
    key = make_key(questions, nuggets)
    assert [(q.qid, list(own)) for q, own in key] == [(qid, [n for n in nuggets if n.qid == qid]) for qid in "abcd"]
    for i, nugget in enumerate(key.nuggets):
        assert key.nugget_position[nugget.qid, nugget.nugget] == i
        assert key.questions[key.question[i]].qid == nugget.qid
        assert key.position[nugget.qid] == key.question[i]


def test_questions_come_in_the_order_of_their_file_or_else_by_name(tmp_path):
    nuggets = (("q2", "1"), ("q1", "1"), ("q2", "2"))
    write_lines(
        tmp_path / "nuggets.jsonl", ({"qid": q, "nugget": n, "text": n, "importance": "okay"} for q, n in nuggets)
    )
    assert [q.qid for q in read_collection(tmp_path).key.questions] == ["q1", "q2"]
    write_lines(tmp_path / "questions.jsonl", [{"qid": q, "text": f"{q}?"} for q in ("q1", "q3", "q2")])
    key = read_collection(tmp_path).key
    assert [(q.qid, q.text) for q in key.questions] == [("q1", "q1?"), ("q2", "q2?")]
    assert key.offsets.tolist() == [0, 1, 3]


def test_the_weights_of_the_pyramid_are_the_share_of_vital_votes(sample):
    """Dang & Lin 2007, counted again from the file."""
    lines = [json.loads(line) for line in (sample.root / "nuggets.jsonl").read_text(encoding="utf-8").splitlines()]
    expected = {(n["qid"], n["nugget"]): list(n["votes"].values()).count("vital") / len(n["votes"]) for n in lines}
    weights = {(n.qid, n.nugget): w for n, w in zip(sample.key.nuggets, sample.key.weight, strict=True)}
    assert weights == pytest.approx(expected)
    by_assessor = sample.key.votes
    assert by_assessor.shape == (len(sample.key.assessors), len(lines))
    assert np.allclose(by_assessor.mean(axis=0), sample.key.weight)


def test_without_votes_the_weight_counts_and_without_either_the_importance():
    key = make_key(
        [Question("q", "")],
        [
            Nugget("q", "1", ("x",), "vital"),
            Nugget("q", "2", ("x",), "okay"),
            Nugget("q", "3", ("x",), "okay", weight=0.25),
            Nugget("q", "4", ("x",), "vital", weight=0.25, votes={"a": "okay", "b": "vital"}),
        ],
    )
    assert key.weight.tolist() == [1, 0, 0.25, 0.5]
    assert key.weighted
    assert not make_key([Question("q", "")], [Nugget("q", "1", ("x",), "vital")]).weighted


def test_a_question_that_has_only_a_wrong_group_is_told_with_the_group(tmp_path):
    """With the questions listed and without."""
    write_lines(tmp_path / "nuggets.jsonl", [{"qid": "q", "nugget": "g", "any_of": ["1", "2"], "importance": "vital"}])
    wrong = [problem.what for problem in check(tmp_path)]
    assert [what.partition(",")[0] for what in wrong] == [f"the group 'g' of 'q' has the member '{n}'" for n in "12"]
    write_lines(tmp_path / "questions.jsonl", [{"qid": "q", "text": "?"}])
    assert [problem.what for problem in check(tmp_path)] == wrong


def test_numbers_in_names_are_sorted_as_numbers():
    assert sorted(["q10", "q2", "b", "q1b", "2", "10"], key=natural_order) == ["2", "10", "b", "q1b", "q2", "q10"]
