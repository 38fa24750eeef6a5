"""What the models learn from: units that are answers, whoever judged how much of them."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.memory import make_run
from nuggeteer.scoring.evidence import gather_evidence
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.trust.crossval import without

NUGGETS = [{"qid": "q", "nugget": n, "text": t} for n, t in (("1", "a red fox"), ("2", "two birds"))]
TEXTS = ["a red fox came", "it rained", "two birds sang", "nothing more"]
YES = {"qid": "q", "nugget": "1", "text": TEXTS[0], "verdict": True, "run": "old"}


@pytest.fixture(scope="module")
def scorer(_sample_folder):
    return Scorer(read_collection(_sample_folder), ["f3"])


@pytest.mark.parametrize("judged", ["every", "best"])
def test_a_unit_of_a_judged_run_is_its_whole_answer(collect, judged):
    """Also where only the best response with a nugget was marked: what was found would else be what stands alone."""
    collection = collect(NUGGETS, {"old": [("q", text) for text in TEXTS]}, [YES], {"old": judged})
    scorer = Scorer(collection)
    evidence = gather_evidence(collection, scorer.matcher, scorer.known)
    assert evidence.yes.tolist() == [True, False]
    responses = scorer.read("old").names.index("responses")
    assert evidence.units.clues[:, responses] == pytest.approx([np.log(len(TEXTS))] * 2)


def test_what_is_asked_of_a_run_has_the_clues_that_it_had_as_evidence(collect):
    """The same answers, judged and not."""
    runs = {"old": [("q", text) for text in TEXTS], "new": [("q", f"{text}") for text in reversed(TEXTS)]}
    judged = collect(NUGGETS, runs, [YES], {"old": "every"})
    unjudged = collect(NUGGETS, runs, judged={"old": "none"}, folder="unjudged")
    scorer, other = Scorer(judged), Scorer(unjudged)
    evidence = gather_evidence(judged, scorer.matcher, scorer.known)
    units = other.read("old").units(unjudged.key, np.arange(2))
    np.testing.assert_allclose(evidence.units.clues, units.clues, atol=1e-6)
    np.testing.assert_array_equal(evidence.units.text, units.text)
    assert evidence.units.answers.key.tolist() == units.answers.key.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("system", ["aurora", "dune"])
def test_others_verdicts_say_as_much_of_a_judged_answer_as_of_one_that_nobody_judged(scorer, system):
    """What is carried over to a system as evidence is what would be if the system had not been judged. With a part of
    it left out on one side, ten runs of TREC TS 2014 were guessed 0.08 too high."""
    evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known)
    other = Scorer(without(scorer.collection, system))
    matched = other.read(system)
    units = evidence.units
    own = [number for number, build in enumerate(units.answers.builds) if build.run == system]
    of_system = np.isin(units.answers.build[units.answer], own)
    nuggets = units.nugget[of_system]
    open_ = matched.open_nuggets[nuggets]
    assert open_.mean() > 0.9
    asked = matched.units(other.key, nuggets[open_])
    carried = [scorer.model.names.index(name) for name in ("hint", "carried")]
    found = units.clues[of_system][open_][:, carried]
    assert np.abs(found).max() > 0.1
    away = np.abs(found - asked.clues[:, carried])
    assert (away < 2e-4).mean() > 0.97  # of verdicts on single texts, few are left out
    assert away.max() < 0.05


def test_an_answer_that_says_nothing_has_nothing(scorer):
    """In a collection where each judged answer has several responses."""
    collection, key = scorer.collection, scorer.key
    for text in ("hello", "The weather was fine."):
        run = make_run(collection, "silent", [(question.qid, text) for question in key.questions])
        assert scorer.find(scorer.read(run)).probability.max() < 0.15


@pytest.mark.parametrize("name", ["aurora", "basalt", "cobalt", "dune"])
def test_judged_answers_in_slightly_other_words_are_believed_as_they_were_judged(scorer, name):
    """However few other systems were judged."""
    run = scorer.collection.run(name)
    true = scorer.find(scorer.read(run)).found
    reworded = [
        (scorer.key.questions[question].qid, f"{text.replace('the ', 'this ')} too")
        for question, text in zip(run.question.tolist(), run.texts, strict=True)
    ]
    matched = scorer.read(make_run(scorer.collection, f"{name} again", reworded))
    open_, chance = matched.open_nuggets, scorer.find(matched).probability
    assert chance[open_ & true].mean() > chance[open_ & ~true].mean() + 0.25


def test_by_response_each_judged_text_is_a_unit_to_which_nothing_need_be_carried_over(scorer):
    evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known, by="response", carried_over=False)
    texts, own = len(scorer.known.texts), evidence.units
    assert len(np.unique(own.answer)) <= texts
    names = scorer.read("build-103").names
    assert (own.clues[:, names.index("responses")] == 0).all()
    assert (own.clues[:, names.index("carried")] == 0).all()
    assert len(evidence) == (scorer.known.taught != -1).sum()
