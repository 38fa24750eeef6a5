"""Informativeness from judged responses, worked by hand (Marton & Radul 2006, equations 1 and 2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.matching.choice import make
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.scoring.scorer import material, score
from tests.conftest import write_lines

TOML = '[match]\nmatcher = "ngram"\nn = 1\nweights = "unit"\ninformative = "responses"\n'


@pytest.fixture
def collection(tmp_path):
    """Two nuggets; of the second, a response of run a was judged that says "red" too, and one of run b "fox"."""
    nuggets = [("1", "red fox"), ("2", "blue bird")]
    write_lines(
        tmp_path / "nuggets.jsonl",
        [{"qid": "q", "nugget": name, "text": text, "importance": "vital"} for name, text in nuggets],
    )
    write_lines(tmp_path / "runs.jsonl", [{"run": "a", "judged": "every"}, {"run": "b", "judged": "every"}])
    write_lines(tmp_path / "runs" / "a.jsonl", [{"qid": "q", "text": "a bird by the red barn"}])
    write_lines(tmp_path / "runs" / "b.jsonl", [{"qid": "q", "text": "no fox but that bird"}])
    write_lines(tmp_path / "runs" / "c.jsonl", [{"qid": "q", "text": "something red"}])
    verdicts = [("a bird by the red barn", True), ("no fox but that bird", True)]
    write_lines(
        tmp_path / "judgements" / "x.jsonl",
        [{"qid": "q", "nugget": "2", "text": text, "verdict": verdict} for text, verdict in verdicts],
    )
    (tmp_path / "nuggeteer.toml").write_text(TOML)
    return read_collection(tmp_path)


def matcher_of(collection):
    return make(material(collection, VerdictIndex(collection.key, collection.judgements, collection.judged_runs)))


def scores(collection, *texts):
    return matcher_of(collection).score(list(texts), np.zeros(len(texts), dtype=np.int32)).reshape(len(texts), 2)


def test_an_n_gram_weighs_less_if_responses_of_another_nugget_have_it(collection):
    """Both words of nugget 1 are in responses of nugget 2, so each weighs ½; its share is still ½ for one of two. Words
    of nugget 2 are in no response of nugget 1."""
    assert scores(collection, "red", "fox", "blue") == pytest.approx(np.array([[0.5, 0], [0.5, 0], [0, 0.5]]))
    one = replace(collection, judgements=collection.judgements[:1])
    assert scores(one, "red", "fox")[:, 0] == pytest.approx([0.5 / 1.5, 1 / 1.5])


def test_a_judged_text_is_scored_by_the_responses_of_other_groups(collection):
    """The text of run a is scored with b's alone, where fox weighs ½ and red 1; and the other way round."""
    matcher = matcher_of(collection)
    judged = matcher._material.judged
    found = matcher.score_judged(judged).reshape(2, 2)
    rows = dict(zip(judged.texts, found, strict=True))
    assert rows["a bird by the red barn"] == pytest.approx([1 / 1.5, 0.5])
    assert rows["no fox but that bird"] == pytest.approx([1 / 1.5, 0.5])


def test_it_scores_and_says_so(collection):
    result = score(collection, ["c"], ["f3"])
    assert "+informative:responses" in result.signature
    assert result["c"].measures["f3"].value is not None
