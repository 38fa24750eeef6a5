"""Scores of somebody else: read strictly, calibrated like any others, and never made up where there are none."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nuggeteer.collection.checking import check
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.matching.choice import make
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.scoring.scorer import Scorer, material, score
from tests.conftest import write_lines

NUGGETS = [{"qid": "q", "nugget": str(n), "text": t} for n, t in enumerate(["a red fox", "two birds", "a red fox"], 1)]
TOML = '[match]\nmatcher = "external"\nexternal = "judge.jsonl"\n'


def line(nugget, text="A fox  came", qid="q", **said):
    return {"qid": qid, "nugget": nugget, "text": text, **said}


@pytest.fixture
def judged_by(collect):
    """A collection whose matcher reads these lines."""

    def make_it(*lines, **more):
        collection = collect(NUGGETS, {"r": [("q", "a fox came")]}, toml=TOML, **more)
        write_lines(collection.root / "judge.jsonl", lines)
        return collection

    return make_it


def scores_of(collection):
    known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    matcher = make(material(collection, known))
    return matcher, matcher.score(["a fox came", "another"], np.zeros(2, dtype=np.int32)).reshape(2, 3)


def test_scores_verdicts_and_labels_are_read_and_what_is_not_there_is_nan(judged_by):
    collection = judged_by(line("1", score=0.25), line("2", verdict=True), line("3", assignment="partial_support"))
    matcher, scores = scores_of(collection)
    assert scores[0].tolist() == [0.25, 1.0, 0.5]
    assert np.isnan(scores[1]).all()
    assert matcher.notes == ()


def test_the_order_of_lines_does_not_matter_to_the_signature_and_a_score_does(judged_by):
    lines = [line("1", score=0.25), line("2", verdict=True)]
    signatures = [scores_of(judged_by(*own))[0].signature for own in (lines, lines[::-1], [lines[0]])]
    assert signatures[0] == signatures[1] != signatures[2]


def test_autonuggetizers_lines_are_matched_by_words_and_the_garbled_is_0_with_a_word(judged_by):
    """The first and the third nugget are described alike: they come in order."""
    said = [("a red fox", "support"), ("two birds", "two_birds_support"), ("A red  fox", "partial_support")]
    nuggets = [{"text": text, "importance": "vital", "assignment": a} for text, a in said]
    matcher, scores = scores_of(judged_by({"qid": "q", "answer_text": "a fox came", "run_id": "r", "nuggets": nuggets}))
    assert scores[0].tolist() == [1.0, 0.0, 0.5]
    (note,) = matcher.notes
    assert "judge.jsonl:1" in note
    assert "'two_birds_support'" in note


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (line("1", score=1.5), "'score' is 1.5"),
        (line("1", score=True), "'score' is True"),
        (line("1", verdict="yes"), "'verdict' is 'yes'"),
        (line("1", assignment="supports"), "'assignment' is 'supports'"),
        (line("1", assignment=[]), "'assignment' is []"),
        (line("1"), "of 'score', 'verdict' and 'assignment'"),
        (line("1", score=1, verdict=True), "of 'score', 'verdict' and 'assignment'"),
        (line("2", score=0.5), "line 1 has a different score"),
        ({"qid": "q", "nugget": "1", "score": 1}, "'text' is missing"),
        ({"qid": "q", "answer_text": "x", "nuggets": ["a"]}, "not a list of objects"),
    ],
)
def test_a_line_that_cannot_be_is_an_error_with_its_place(judged_by, wrong, says):
    collection = judged_by(line("2", score=0.25), wrong)
    with pytest.raises(InputError) as caught:
        scores_of(collection)
    (problem,) = caught.value.problems
    assert (problem.line, problem.severity) == (2, "error")
    assert says in problem.what
    assert problem in check(collection.root)


def test_lines_on_others_are_not_used_and_that_is_told(judged_by):
    collection = judged_by(line("1", qid="x", score=1), line("9", score=1), *(line(n, score=1) for n in "123"))
    notes = score(collection, ["r"]).notes
    assert any("no question 'x'" in note for note in notes)
    assert any("has no nugget '9'" in note for note in notes)


def test_a_guess_without_a_score_is_an_error_that_names_the_pair(judged_by):
    collection = judged_by(line("1", score=1), line("3", score=1))
    with pytest.raises(NuggeteerError, match=r"r: 1 of 3 pairs .* nugget '2' of 'q' in 'a fox came'"):
        score(collection, ["r"])


def test_if_asked_a_missing_score_is_the_mean_of_the_others_and_teaches_nothing(collect):
    """A pair without a score is as likely as one with the mean score. A verdict on it is no evidence."""
    toml = TOML + 'missing = "mean"\n'
    verdict = {"qid": "q", "nugget": "3", "text": "a fox came", "verdict": True}
    collection = collect(NUGGETS, {"r": [("q", "a fox came")]}, judgements=[verdict], toml=toml)
    write_lines(collection.root / "judge.jsonl", [line("1", score=0.2), line("1", "else", score=0.6)])
    scorer = Scorer(collection)
    assert scorer.matcher.score(["a fox came"], np.zeros(1, dtype=np.int32)).tolist() == pytest.approx([0.2, 0.4, 0.4])
    assert scorer.model.pairs == 0
    assert "missing=mean" in str(scorer.signature)
    assert 0 < scorer.find(scorer.read("r")).probability[1] < 1


def test_a_pair_that_a_human_decided_needs_no_score(judged_by):
    verdict = {"qid": "q", "nugget": "2", "text": "a fox came", "verdict": False}
    collection = judged_by(line("1", score=1), line("3", score=1), judgements=[verdict])
    outcome = score(collection, ["r"])["r"].outcome
    assert outcome.pairs_known == 1
    assert outcome.probability[1] == 0


def test_without_a_file_it_is_asked_for(collect):
    collection = collect(NUGGETS, {"r": [("q", "x")]}, toml='[match]\nmatcher = "external"')
    with pytest.raises(NuggeteerError, match="external = "):
        score(collection, ["r"])


@pytest.mark.parametrize("wrong", [0.1, 0.4])
def test_a_judge_is_believed_as_often_as_he_was_right(collect, wrong):
    """Forty texts of ten systems, of which nine were judged: of the tenth the chances are what the judge was worth."""
    rng = np.random.default_rng(3)
    texts = [[f"text {system} {i}" for i in range(40)] for system in range(10)]
    truth = rng.random((10, 40)) < 0.4
    says = truth ^ (rng.random((10, 40)) < wrong)
    collection = collect(
        [{"qid": f"q{i}", "nugget": "1", "text": "a fox"} for i in range(40)],
        {f"r{s}": [(f"q{i}", texts[s][i]) for i in range(40)] for s in range(10)},
        judgements=[
            {"qid": f"q{i}", "nugget": "1", "text": texts[s][i], "verdict": bool(truth[s, i])}
            for s in range(9)
            for i in range(40)
        ],
        judged={f"r{s}": "every" for s in range(9)},
        toml=TOML,
    )
    lines = [
        {"qid": f"q{i}", "nugget": "1", "text": texts[s][i], "verdict": bool(says[s, i])}
        for s in range(10)
        for i in range(40)
    ]
    (collection.root / "judge.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    scorer = Scorer(collection)
    chance = scorer.find(scorer.read("r9")).probability
    assert str(scorer.signature).count("external(") == 1
    for said in (False, True):
        worth = truth[:9][says[:9] == said].mean()
        assert chance[says[9] == said].mean() == pytest.approx(worth, abs=0.06)
