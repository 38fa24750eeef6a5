"""Two builds drawn together, given the words of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.comparing.builds import (
    BelievedChange,
    Contrast,
    Measurement,
    contrast_of,
    drawn_pair,
    real_change,
    same_texts,
)
from nuggeteer.comparing.diff import diff_matched_runs
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds.model import Build
from nuggeteer.thresholds.public_prior import FEW
from tests.conftest import write_lines

QUESTIONS = 30


def key():
    return [
        {"qid": f"q{q}", "nugget": str(n), "text": f"fact{n}a fact{n}b fact{n}c of topic{q}"}
        for q in range(QUESTIONS)
        for n in range(3)
    ]


def answers(share, seed):
    """One answer to each question, which has a share of the key's words."""
    rng = np.random.default_rng(seed)
    words = [f"fact{n}{letter}" for n in range(3) for letter in "abc"]
    return [
        (f"q{q}", " ".join([word for word in words if rng.random() < share] + [f"topic{q}", f"own{seed}", "said"]))
        for q in range(QUESTIONS)
    ]


@pytest.fixture
def nights(collect):
    return collect(key(), {"old": answers(0.5, 1), "new": answers(0.7, 2), "empty": answers(0.0, 3)})


def matched(collection, *names):
    scorer = Scorer(collection, ["f3"])
    return scorer, *(scorer.read(name) for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("judged", [(), ("old",), ("old", "new")])
def test_moved_draws_are_those_that_weighing_them_gives(nights, judged):
    """A normal difference δ with another mean and variance, beside the rest given δ: the chances from the moved draws
    are those of the draws as they were, each weighed by how much more probable its δ has become."""
    lines = [
        {"qid": f"q{q}", "nugget": "1", "text": text, "run": name, "verdict": q % 2 == 0}
        for name in judged
        for q, (_, text) in enumerate(answers(0.5, 1) if name == "old" else answers(0.7, 2))
        if q < 20
    ]
    write_lines(nights.root / "judgements" / "me.jsonl", lines)
    from nuggeteer.collection.folder import read_collection

    scorer, old, new = matched(read_collection(nights.root), "old", "new")
    draws = scorer.model.draw(20_000, 0)
    mean, variance, _ = scorer.model.difference(old.build, new.build)
    delta = (draws.level(new.build) - draws.level(old.build)).astype(float)
    assert (delta.mean(), delta.var()) == (pytest.approx(mean, abs=0.02), pytest.approx(variance, rel=0.05))
    wanted = mean + 0.3 * variance**0.5, 0.6 * variance
    target = wanted[0] + (delta - mean) * (wanted[1] / variance) ** 0.5
    moved = draws.given(old.build, new.build, target - delta)
    weight = np.exp((delta - mean) ** 2 / (2 * variance) - (delta - wanted[0]) ** 2 / (2 * wanted[1]))
    weight /= weight.sum()
    for run in (old, new):
        where = np.flatnonzero(run.open_nuggets)
        assert len(where) > 30
        units = run.units(scorer.key, where)
        assert moved.chances(units).mean(axis=1) == pytest.approx(draws.chances(units) @ weight, abs=0.015)
    after = moved.level(new.build) - moved.level(old.build)
    assert after == pytest.approx(target, abs=1e-4)


def test_builds_that_nobody_judged_share_what_moves(nights):
    scorer, old, new = matched(nights, "old", "new")
    draws = scorer.draws
    moved = draws.given(old.build, new.build, np.ones(draws.count))
    assert moved.level(new.build) - draws.level(new.build) == pytest.approx(0.5, abs=1e-6)
    assert moved.level(old.build) - draws.level(old.build) == pytest.approx(-0.5, abs=1e-6)
    other = Build(new.build.system, "another")
    assert (moved.level(other) == draws.level(other)).all()


def test_a_score_stays_a_score_whatever_the_words_say(nights):
    """Also where a night is so unlike the one before that the words say more than is possible."""
    scorer, old, empty = matched(nights, "old", "empty")
    delta = diff_matched_runs(scorer, old, empty).headline
    assert delta.interval.value < -0.05
    assert 0 <= delta.new < delta.old <= 1
    assert -1 <= delta.interval.judging[0] <= delta.interval.value <= delta.interval.judging[1] <= 1
    for values in (delta.old_by_question, delta.new_by_question):
        assert ((values >= 0) & (values <= 1)).all()


def test_what_was_read_does_not_change_what_the_words_say(nights):
    """Compared are whole answers, and not what is left of them."""
    scorer, old, new = matched(nights, "old", "new")
    contrast = contrast_of(scorer, old, new, same_texts(scorer.key, old, new)[0])
    lines = [
        {"qid": qid, "nugget": str(n), "text": text, "verdict": n == 1, "run": "old"}
        for qid, text in answers(0.5, 1)[:25]
        for n in range(3)
    ]
    write_lines(nights.root / "judgements" / "me.jsonl", lines)
    from nuggeteer.collection.folder import read_collection

    read, known, other = matched(read_collection(nights.root), "old", "new")
    read.model = scorer.model  # the weights are learned anew, which is not meant here
    assert known.open_nuggets.sum() < 0.3 * old.open_nuggets.sum()
    assert contrast_of(read, known, other, same_texts(read.key, known, other)[0]) == contrast


def test_better_words_and_less_room(nights):
    scorer, old, new = matched(nights, "old", "new")
    contrast = contrast_of(scorer, old, new, np.zeros(QUESTIONS, dtype=bool))
    assert contrast.words.mean > 0
    assert (contrast.judges.mean, contrast.read, contrast.share) == (0.0, 0.0, 1.0)
    nothing = Measurement(0.0, 0.0, 1)
    assert Contrast(nothing, nothing, 0, 1.0, 0.9).room == pytest.approx(0.2)
    assert Contrast(nothing, nothing, 0, 0.5, 0.0).room == pytest.approx(8.0)  # a few answers may have changed much
    back = contrast_of(scorer, new, old, np.zeros(QUESTIONS, dtype=bool))
    assert back.words == replace(contrast.words, mean=-contrast.words.mean)
    assert back.likeness == contrast.likeness
    assert contrast_of(scorer, old, new, np.ones(QUESTIONS, dtype=bool)) is None


def test_a_pair_is_drawn_once(nights):
    scorer, old, new = matched(nights, "old", "new")
    assert drawn_pair(scorer, old, new) is drawn_pair(scorer, old, new)


@pytest.mark.parametrize("freedom", [1, 3, 1000])
@pytest.mark.parametrize("seen", [0.4, 1.5])
def test_what_is_measured_badly_says_little(freedom, seen):
    """By simulation: what is believed of δ given the mean is what worlds with this mean have. Their errors are
    Student's, because the spread that a few questions show is not that of all."""
    rng, room = np.random.default_rng(0), 1.7
    believed = BelievedChange(3.0, 0.0, 0.2, 0.05)
    true = rng.normal(0, (believed.moved * room) ** 0.5, 4_000_000)
    measured = true + 0.3 * rng.standard_t(freedom, len(true))
    delta = believed.factor * true + rng.normal(0, believed.spread * room**0.5, len(true))
    near = np.abs(measured - seen) < 0.05
    assert near.sum() > 300
    mean, variance = believed.given(Measurement(seen, 0.09, freedom), room, np.zeros(1))
    error = delta[near].std() / near.sum() ** 0.5
    assert mean[0] == pytest.approx(delta[near].mean(), abs=4 * error + 0.01)
    assert variance == pytest.approx(FEW * delta[near].var(), rel=0.05 + 6 / near.sum() ** 0.5)


def test_the_change_of_one_answer_says_nothing_about_the_build():
    (mean,), (variance,) = real_change(*np.array([[5.0], [np.inf], [1]]), 0.2)
    assert (mean, variance) == (0.0, pytest.approx(0.2))


def test_two_answers_in_other_words_say_less_of_the_build_than_many():
    """The more questions show the spread, the more a mean far from 0 counts."""
    said = [real_change(*np.array([[-4.0], [0.5], [freedom]]), 0.5)[0][0] for freedom in (1, 4, 20, 10_000)]
    assert sorted(said, reverse=True) == said
    assert said[0] > -0.5
    assert said[-1] == pytest.approx(-4.0 * 0.5 / (0.5 + 0.5), rel=0.01)


def test_the_error_of_a_mean_is_that_of_resampled_questions(nights):
    scorer, old, new = matched(nights, "old", "new")
    contrast = contrast_of(scorer, old, new, np.zeros(QUESTIONS, dtype=bool))
    means = []
    for q in range(QUESTIONS):
        alike = np.arange(QUESTIONS) != q
        means.append(contrast_of(scorer, old, new, alike).words.mean)
    assert contrast.words.mean == pytest.approx(np.mean(means))
    assert contrast.words.error == pytest.approx(np.var(means, ddof=1) / QUESTIONS)
    assert contrast.words.freedom == QUESTIONS - 1
