"""Pourpre's own score and ROUGE of whole answers, against hand and against the library."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.collection.answer_key import make_key
from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.errors import NuggeteerError
from nuggeteer.measures.kinds import credited_f
from nuggeteer.records import Nugget, Question
from nuggeteer.scoring.scorer import score
from tests.conftest import write_lines


@pytest.fixture
def collection(tmp_path):
    """Words weigh 1 each; the answer has 60 characters that are not white space."""
    write_lines(
        tmp_path / "nuggets.jsonl",
        [
            {"qid": "q", "nugget": "1", "text": "walked across deep rivers", "importance": "vital"},
            {"qid": "q", "nugget": "2", "text": "zebra", "importance": "vital"},
            {"qid": "q", "nugget": "3", "text": "four little green frogs", "importance": "okay"},
            {"qid": "r", "nugget": "1", "text": "unanswered", "importance": "vital"},
        ],
    )
    first, second = "She walks across a river", "There was one frog there" + "x" * 20
    write_lines(tmp_path / "runs" / "a.jsonl", [{"qid": "q", "text": first}, {"qid": "q", "text": second}])
    (tmp_path / "nuggeteer.toml").write_text('[match]\nweights = "unit"\n')
    return read_collection(tmp_path)


def test_the_example_of_the_module():
    cast = [("1", "vital"), ("2", "vital"), ("3", "okay")]
    key = make_key([Question("q", "")], [Nugget("q", name, ("x",), importance) for name, importance in cast])
    found = credited_f(key, np.array([0.75, 0, 0.25]), np.array([200]), 3)
    assert found == pytest.approx([1.875 / 4.875])


def test_pourpres_score_worked_by_hand(collection):
    """The first nugget shares walk, across and river of four stems: credit ¾. The third shares frog only in its own
    words: ¼. The answer is shorter than the allowance of 100, so precision is 1."""
    result = score(collection, ["a"], ["pourpre_f3"])["a"]
    recall = 0.75 / 2
    values = result.by_question["pourpre_f3"]
    assert result.outcome.length[0] == 20 + 40
    assert values == pytest.approx([10 * recall / (9 + recall), 0.0])
    assert result.measures["pourpre_f3"].value == pytest.approx(values.mean())


def test_verdicts_and_guesses_do_not_change_it(sample):
    result = score(sample, ["build-101"], ["f3", "pourpre_f3"])["build-101"]
    hard = result.hard_by_question["pourpre_f3"]
    assert result.by_question["pourpre_f3"] == pytest.approx(hard, nan_ok=True)
    assert result.measures["pourpre_f3"].judging_share == pytest.approx(0, abs=1e-6)


def test_rouge_is_of_the_whole_answer_and_the_whole_key(collection):
    scorer = pytest.importorskip("rouge_score.rouge_scorer")
    run = collection.run("a")
    key = "walked across deep rivers zebra four little green frogs"
    names = ["rouge1", "rouge2", "rougeL"]
    result = score(collection, ["a"], names)["a"]
    expected = scorer.RougeScorer(names, use_stemmer=True).score(key, " ".join(run.texts))
    for name in names:
        assert result.by_question[name] == pytest.approx([expected[name].recall, 0.0])
    assert result.by_question["rouge1"][0] > 0.2


def test_a_command_that_has_no_texts_says_so(collection):
    with pytest.raises(NuggeteerError, match="ask score or compare"):
        diff(collection, "a", "a", measures=["pourpre_f3"])
