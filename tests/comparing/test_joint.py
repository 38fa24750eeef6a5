"""Changes are as probable as what two answers have in common allows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit, ndtr

from nuggeteer.comparing.changes import PROBABLE
from nuggeteer.comparing.diff import diff
from nuggeteer.comparing.joint import _drawn_together
from tests.conftest import shared


@pytest.mark.parametrize("correlation", [0.0, 0.2, 0.6, 0.9])
def test_how_much_the_other_s_score_weighs_is_what_a_regression_finds(correlation):
    """Propensities of two answers, measured with noise as large as they vary: least squares on a million of them."""
    rng = np.random.default_rng(1)
    covariance = [[1, correlation], [correlation, 1]]
    propensity = rng.multivariate_normal([0, 0], covariance, 1_000_000)
    score = propensity + rng.standard_normal(propensity.shape)
    own, other = np.linalg.lstsq(score, propensity[:, 0], rcond=None)[0]
    assert other / own == pytest.approx(correlation / (2 - correlation**2), abs=0.005)
    # The same share of the difference is left by the module.
    old, new = ndtr(score[:1000] / 2).T
    one, two = _drawn_together(old, new, np.full(1000, correlation))
    before, after = logit(new) - logit(old), logit(two) - logit(one)
    left = np.polyfit(before, after, 1)[0]
    assert left == pytest.approx((own - other) / (own + other), abs=0.005)


@pytest.mark.parametrize("correlation", [0.1, 0.6])
def test_guesses_taken_for_independent_promise_too_many_changes(correlation):
    """Each guess by itself is right in every tenth, by construction."""
    rng = np.random.default_rng(2)
    common, parts = rng.standard_normal(400_000), rng.standard_normal((2, 400_000))
    propensity = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * parts
    score = propensity + rng.standard_normal(propensity.shape)
    old, new = np.clip(ndtr(score / np.sqrt(2)), 0.0005, 0.9995)
    gained = (propensity[1] > 0) & (propensity[0] <= 0)

    def worst(chance, real):
        tenths = np.clip((chance * 10).astype(int), 0, 9)
        large = [k for k in range(10) if (tenths == k).sum() > 300]
        return max(abs(chance[tenths == k].mean() - real[tenths == k].mean()) for k in large)

    assert worst(old, propensity[0] > 0) < 0.01
    one, two = _drawn_together(old, new, np.full(len(old), correlation))
    both = one * two + correlation * np.sqrt(one * (1 - one) * two * (1 - two))
    together, apart = two - np.minimum(both, np.minimum(one, two)), new * (1 - old)
    assert worst(together, gained) < max(0.05, worst(apart, gained) / 2)
    assert (worst(apart, gained) > 0.2) == (correlation > 0.5)


def test_by_how_much_the_systems_differ_on_the_whole_is_left_as_it_is():
    old, new = np.full(50, 0.3), np.full(50, 0.6)
    one, two = _drawn_together(old, new, np.full(50, 0.8))
    assert np.allclose(one, old)
    assert np.allclose(two, new)


NUGGETS = [
    {"qid": f"q{i}", "nugget": str(n), "text": f"fact {n} of {i}: w{n}{i} v{n}{i}"} for i in range(8) for n in "ab"
]


def answers(word):
    return [(f"q{i}", f"{word} w{n}{i} is said of it, and more {word} words {i}") for i in range(8) for n in "ab"]


@pytest.fixture
def reworded(collect):
    old = [(qid, text.replace("said", "told")) for qid, text in answers("here")]
    judged = [
        {"qid": "q0", "nugget": n, "text": old[i][1], "verdict": bool(i), "run": "old", "assessor": "ann"}
        for i, n in enumerate("ab")
    ]
    return collect(NUGGETS, {"old": old, "new": answers("here"), "other": answers("elsewhere entirely")}, judged)


def test_chances_are_chances_and_the_other_way_round_they_are_mirrored(reworded):
    there, back = diff(reworded, "old", "new"), diff(reworded, "new", "old")
    assert np.allclose(there.gain, back.loss)
    assert np.allclose(there.loss, back.gain)
    for chance in (there.gain, there.loss):
        assert (chance >= 0).all()
        assert (chance <= 1).all()
    assert (there.gain + there.loss <= 1 + 1e-9).all()


def test_answers_in_nearly_the_same_words_change_less_than_unlike_ones(reworded):
    alike, unlike = diff(reworded, "old", "new"), diff(reworded, "old", "other")
    open_ = ~alike.old.known & ~alike.new.known

    def compared_with_chance(found):
        one, two = found.old.probability[open_], found.new.probability[open_]
        return (found.gain + found.loss)[open_].sum() / (one * (1 - two) + two * (1 - one)).sum()

    assert compared_with_chance(alike) < compared_with_chance(unlike) < 1.01


def test_what_is_known_on_both_sides_stays_as_it_is(sample):
    found = diff(sample, "aurora", "cobalt")
    assert found.old.known.all()
    assert found.new.known.all()
    assert np.array_equal(found.gain, found.new.found & ~found.old.found)
    assert found.doubtful == ()


def test_a_verdict_on_one_answer_draws_the_guess_of_the_other(reworded):
    found = diff(reworded, "old", "new")
    one = found.old.known & ~found.new.known
    assert one.any()
    for i in np.flatnonzero(one):
        guess = found.new.probability[i]
        change = found.loss[i] if found.old.found[i] else found.gain[i]
        assert (found.gain[i], found.loss[i])[int(not found.old.found[i])] == 0
        assert change < (1 - guess if found.old.found[i] else guess) or guess < 0.25 or guess > 0.75


def test_listed_are_changes_that_are_more_probable_than_not_and_the_rest_is_counted(sample):
    found = diff(sample, "build-101", "build-102")
    listed = {(c.kind, c.question.qid, c.nugget.nugget) for c in (*found.gained, *found.lost, *found.doubtful)}
    key = found.key
    flips = np.flatnonzero(found.old.found != found.new.found)
    assert listed == {
        ("gained" if found.new.found[i] else "lost", key.nuggets[i].qid, key.nuggets[i].nugget) for i in flips
    }
    assert all(c.probability >= PROBABLE for c in (*found.gained, *found.lost))
    assert all(c.probability < PROBABLE for c in found.doubtful)
    assert found.expected_lost == pytest.approx(found.loss.sum())
    assert len(found.lost_places) == len(found.lost)


@pytest.mark.slow
def test_on_judged_summaries_tenths_are_within_ten_points():
    """A tenth of what experiments/changes.py measures."""
    from nuggeteer.collection.folder import Collection, read_collection

    collection = read_collection(shared("summhay"))
    said, real = [], []
    for old, new in (("s0", "s1"), ("s2", "s3"), ("s4", "s5")):
        kept = tuple(j for j in collection.judgements if j.run not in (old, new))
        manifest = {k: v for k, v in collection.manifest.items() if k not in (old, new)}
        hidden = diff(Collection(collection.root, collection.key, kept, manifest, collection.settings), old, new)
        truth = diff(collection, old, new)
        open_ = ~(hidden.old.known & hidden.new.known)
        said += [*hidden.gain[open_], *hidden.loss[open_]]
        real += [*(truth.new.found & ~truth.old.found)[open_], *(truth.old.found & ~truth.new.found)[open_]]
    chance, truly = np.array(said), np.array(real)
    assert chance.mean() == pytest.approx(truly.mean(), abs=0.03)
    for low in (0.0, 0.1, 0.2):
        own = (chance >= low) & (chance < low + 0.1)
        assert chance[own].mean() == pytest.approx(truly[own].mean(), abs=0.1)
