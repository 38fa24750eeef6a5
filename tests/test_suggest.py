"""Where to judge next: against judging it, in draws."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.measures import Answers, parse
from nuggeteer.scoring import Scorer
from nuggeteer.suggest import suggest


def by_draw(scorer, run, measure):
    outcome = run.outcome
    values = measure(Answers(scorer.key, outcome.drawn, outcome.partly & ~outcome.drawn, outcome.length))
    return np.nanmean(values, axis=1)


@pytest.mark.parametrize("name", ["f3", "recall"])
def test_the_share_is_the_variance_that_goes_when_the_draws_are_sorted_by_the_verdict(sample, name):
    scorer, measure = Scorer(sample), parse(name)
    reading = scorer.read("build-101")
    run = scorer.score(reading)
    score = by_draw(scorer, run, measure)
    suggestions = suggest(scorer.key, reading, run, measure, 40)
    assert len(suggestions) == 40
    for one in suggestions[::5]:
        has = run.outcome.drawn[:, one.nugget]
        left = has.mean() * score[has].var() + (1 - has.mean()) * score[~has].var()
        assert one.share == pytest.approx(1 - left / score.var(), rel=1e-3)
    shares = [one.share for one in suggestions]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.02


def test_what_is_suggested_is_open_and_has_a_response_of_its_question_to_read(sample):
    scorer = Scorer(sample)
    reading = scorer.read("build-102")
    run = scorer.score(reading)
    for one in suggest(scorer.key, reading, run, scorer.measures[0], 100):
        assert not run.outcome.known[one.nugget]
        assert reading.run.question[one.response] == scorer.key.question[one.nugget]
        pair = np.flatnonzero(np.repeat(np.arange(len(reading.run)), np.diff(reading.begin)) == one.response)
        pair = pair[reading.pairs.nugget[pair] == one.nugget]
        assert reading.guessed[pair].all()


def test_a_model_that_cannot_say_how_sure_it_is_suggests_nothing(sample):
    from nuggeteer.thresholds import FixedThreshold

    scorer = Scorer(sample, model=FixedThreshold(0.2))
    reading = scorer.read("build-101")
    assert suggest(scorer.key, reading, scorer.score(reading), scorer.measures[0], 5) == []
