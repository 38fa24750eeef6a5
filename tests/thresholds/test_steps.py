"""The exact step models against brute force, and what must not change their answers.

The brute force knows one thing that the engine does not use: for n pairs, the likelihood with θ summed out is a
polynomial of degree n in (α, β), so that a Gauss-Legendre rule of n/2 + 2 nodes an axis is exact on the triangle.
scipy's adaptive `dblquad` holds it to that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad, quad

from nuggeteer.thresholds import steps
from nuggeteer.thresholds.model import Evidence, Units
from nuggeteer.thresholds.steps import coin_evidence, fit_step_errors, fit_steps, units_of
from tests.thresholds.worlds import evidence_of

SHARED = ["global", "question", "nugget"]
SCORES = np.array([0.0, 0.07, 0.25, 0.5, 0.77, 1.0])


def simulated(seed, nuggets, pairs, high=0.85, low=0.1, digits=2) -> Evidence:
    """Scores, thresholds and verdicts at random: P(yes) is `high` above a nugget's threshold, `low` below."""
    rng = np.random.default_rng(seed)
    nugget = rng.integers(0, nuggets, pairs)
    scores = np.round(rng.random(pairs), digits)
    theta = rng.random(nuggets)
    return evidence_of(scores, rng.random(pairs) < np.where(scores > theta[nugget], high, low), nugget, nuggets)


DATA = {
    "nothing": evidence_of([], [], [], nuggets=3),
    "one yes": evidence_of([0.4], [True], [0]),
    "one no": evidence_of([0.4], [False], [1], nuggets=2),
    "all yes": replace(simulated(1, 3, 40), yes=np.ones(40, dtype=bool)),
    "all no": replace(simulated(2, 3, 40), yes=np.zeros(40, dtype=bool)),
    "all no, scores above a half": evidence_of(np.linspace(0.5, 1, 120), [False] * 120, [0] * 120),
    "ties at 0 and 1": simulated(3, 3, 50, digits=0),
    "every score 0": evidence_of([0.0] * 9, [True] * 4 + [False] * 5, [0, 1, 2] * 3),
    "every score 1": evidence_of([1.0] * 9, [True] * 4 + [False] * 5, [0, 1, 2] * 3),
    "few pairs": simulated(4, 4, 9),
    "some pairs": simulated(5, 5, 60),
    "a nugget without pairs": replace(simulated(6, 4, 30), question_of_nugget=np.array([0, 1, 1, 2])),
    "scores tell nothing": simulated(7, 5, 100, high=0.3, low=0.3),
    "scores tell little": simulated(8, 5, 200, high=0.5, low=0.3),
    "high scores mean no": simulated(9, 4, 100, high=0.2, low=0.9),
    "high scores mean no, one nugget": simulated(10, 1, 200, high=0.15, low=0.8),
    "high scores always mean no": simulated(12, 1, 200, high=0.01, low=0.98),
    "rare yes": simulated(11, 3, 300, high=0.15, low=0.002),
}


@dataclass
class Truth:
    log_evidence: float
    alpha: float
    beta: float
    threshold: np.ndarray  # of each nugget
    probability: np.ndarray  # nuggets × SCORES


def log_terms(evidence, unit_of_nugget, unit, alpha, beta):
    """One unit's intervals of θ: (low, high, logarithm of width × likelihood at each α and β), pair by pair."""
    mine = unit_of_nugget[evidence.nugget] == unit
    scores, yes = evidence.scores[mine], evidence.yes[mine]
    ends = np.unique([0.0, *scores, 1.0])
    for low, high in pairwise(ends):
        term = np.full(np.shape(alpha), math.log(high - low))
        for score, verdict in zip(scores, yes, strict=True):
            chance = 1 - beta if score > (low + high) / 2 else alpha
            term = term + np.log(chance if verdict else 1 - chance)
        yield low, high, term


def brute_force(evidence: Evidence, unit_of_nugget: np.ndarray) -> Truth:
    """Everything, by a rule that is exact for polynomials of this degree (and of one more)."""
    at, weight = np.polynomial.legendre.leggauss(len(evidence) // 2 + 3)
    u, v = (axis.ravel() for axis in np.meshgrid((at + 1) / 2, (at + 1) / 2, indexing="ij"))
    alpha, beta = u, (1 - u) * v
    log_density = np.log(np.outer(weight, weight).ravel() / 4) + np.log(2 * (1 - u))
    units = int(unit_of_nugget.max()) + 1
    low, high, terms = [], [], []
    for unit in range(units):
        intervals = list(log_terms(evidence, unit_of_nugget, unit, alpha, beta))
        low.append(np.array([one[0] for one in intervals]))
        high.append(np.array([one[1] for one in intervals]))
        terms.append(np.array([one[2] for one in intervals]))
        log_density = log_density + np.logaddexp.reduce(terms[-1], axis=0)
    log_evidence = float(np.logaddexp.reduce(log_density))
    mass = np.exp(log_density - log_evidence)
    shares = [np.exp(t - np.logaddexp.reduce(t, axis=0)) for t in terms]
    threshold = np.array([((a + b) / 2) @ s @ mass for a, b, s in zip(low, high, shares, strict=True)])
    probability = np.zeros((units, len(SCORES)))
    for unit in range(units):
        for i, score in enumerate(SCORES):
            inside = np.clip((score - low[unit]) / (high[unit] - low[unit]), 0, 1)
            probability[unit, i] = (alpha + (1 - alpha - beta) * (inside @ shares[unit])) @ mass
    own = unit_of_nugget
    return Truth(log_evidence, float(alpha @ mass), float(beta @ mass), threshold[own], probability[own])


def of(nugget: int) -> Units:
    return Units.of_scores(SCORES, np.full(len(SCORES), nugget))


def predicted(fit, nuggets):
    return np.stack([fit.probability(of(nugget)) for nugget in range(nuggets)])


def log_evidence(fit) -> float:
    return fit.log10_evidence * math.log(10)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("data", DATA)
def test_step_models_equal_brute_force(name, data):
    evidence = DATA[data]
    truth, fit = brute_force(evidence, units_of(name, evidence)), fit_steps(name, evidence)
    nugget = np.arange(evidence.nuggets)
    assert log_evidence(fit) == pytest.approx(truth.log_evidence, abs=1e-5)
    assert fit.errors == pytest.approx((truth.alpha, truth.beta), abs=1e-5)
    assert fit.threshold(nugget) == pytest.approx(truth.threshold, abs=1e-5)
    assert predicted(fit, evidence.nuggets) == pytest.approx(truth.probability, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("data", DATA)
def test_errors_of_each_nugget_equal_brute_force(data):
    evidence = DATA[data]
    fit = fit_step_errors(evidence)
    total = 0.0
    for nugget in range(evidence.nuggets):
        alone = evidence.only(evidence.nugget == nugget)
        truth = brute_force(alone, np.zeros(evidence.nuggets, dtype=np.int64))
        total += truth.log_evidence
        assert fit.alpha[nugget] == pytest.approx(truth.alpha, abs=1e-7)
        assert fit.beta[nugget] == pytest.approx(truth.beta, abs=1e-7)
        assert fit.threshold(np.array([nugget])) == pytest.approx(truth.threshold[:1], abs=1e-7)
        assert fit.probability(of(nugget)) == pytest.approx(truth.probability[0], abs=1e-7)
    assert log_evidence(fit) == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize(
    "counts",
    [
        (0, 0, 0, 0),
        (3, 1, 0, 9),
        (40, 2, 1, 50),
        (0, 7, 30, 0),
        (5, 90, 80, 3),
        (12, 900, 11, 13),
        (30, 3000, 29, 31),
        (31, 29, 3000, 30),
    ],
)
def test_one_intervals_evidence_equals_fractions(counts):
    """Also where low scores mean yes, and α < 1 − β takes nearly all of the integral away."""
    a, b, c, d = counts
    total = Fraction(0)
    for k in range(d + 1):  # (1 − α)^d multiplied out, and integrated up to γ = 1 − β
        beta = Fraction(1, (a + b + c + k + 2) * math.comb(a + b + c + k + 1, b))  # B(a + c + k + 2, b + 1)
        total += Fraction((-1) ** k * math.comb(d, k), c + k + 1) * 2 * beta
    wanted = math.log(total.numerator) - math.log(total.denominator)
    assert steps._log_wedge(np.array([counts], dtype=float))[0] == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("data", ["few pairs", "ties at 0 and 1", "all no"])
@pytest.mark.parametrize("name", SHARED)
def test_the_brute_force_equals_adaptive_quadrature(name, data):
    evidence = DATA[data]
    unit_of_nugget = units_of(name, evidence)
    truth = brute_force(evidence, unit_of_nugget)
    tables = []
    for unit in range(int(unit_of_nugget.max()) + 1):
        mine = unit_of_nugget[evidence.nugget] == unit
        scores, yes = evidence.scores[mine], evidence.yes[mine]
        ends = np.unique([0.0, *scores, 1.0])
        above = scores > ((ends[:-1] + ends[1:]) / 2)[:, None]
        kinds = [above & yes, above & ~yes, ~above & yes, ~above & ~yes]
        tables.append((np.diff(ends), np.stack([kind.sum(axis=1) for kind in kinds], axis=1)))

    def density(beta, alpha):
        chances = np.array([1 - beta, beta, alpha, 1 - alpha])
        return 2 * math.prod(width @ (chances**counts).prod(axis=1) for width, counts in tables)

    def integral(function):
        return dblquad(function, 0, 1, 0, lambda alpha: 1 - alpha, epsabs=0, epsrel=1e-5)[0]

    whole = integral(density)
    assert math.log(whole) == pytest.approx(truth.log_evidence, abs=1e-4)
    assert integral(lambda beta, alpha: alpha * density(beta, alpha)) / whole == pytest.approx(truth.alpha, abs=1e-4)
    assert integral(lambda beta, alpha: beta * density(beta, alpha)) / whole == pytest.approx(truth.beta, abs=1e-4)


@pytest.mark.parametrize("data", DATA)
def test_a_coin_has_the_evidence_of_its_integral(data):
    yes = DATA[data].yes
    whole, _ = quad(lambda p: math.exp(yes.sum() * math.log(p) + (~yes).sum() * math.log1p(-p)), 0, 1, epsabs=0)
    assert coin_evidence(DATA[data]) * math.log(10) == pytest.approx(math.log(whole), abs=1e-7)


# What must not matter

PAIRS = st.lists(
    st.tuples(st.sampled_from(np.arange(17) / 16), st.booleans(), st.integers(0, 3)), min_size=0, max_size=25
)
QUICK = settings(max_examples=25)


def made(pairs, nuggets=4) -> Evidence:
    scores, yes, nugget = zip(*pairs, strict=True) if pairs else ((), (), ())
    return evidence_of(scores, yes, nugget, nuggets)


def fit_any(name, evidence):
    return fit_step_errors(evidence) if name == "nugget-errors" else fit_steps(name, evidence)


@pytest.mark.parametrize("name", [*SHARED, "nugget-errors"])
@QUICK
@given(pairs=PAIRS, data=st.data())
def test_the_order_of_pairs_does_not_matter(name, pairs, data):
    mixed = data.draw(st.permutations(pairs))
    one, other = fit_any(name, made(pairs)), fit_any(name, made(mixed))
    assert one.log10_evidence == pytest.approx(other.log10_evidence, abs=1e-9)
    assert predicted(one, 4) == pytest.approx(predicted(other, 4), abs=1e-9)


@pytest.mark.parametrize("name", [*SHARED, "nugget-errors"])
@QUICK
@given(pairs=PAIRS, label=st.permutations(range(4)))
def test_the_numbers_of_nuggets_do_not_matter(name, pairs, label):
    evidence, label = made(pairs), np.array(label)
    question = np.empty(4, dtype=np.int64)
    question[label] = evidence.question_of_nugget
    relabelled = evidence_of(evidence.scores, evidence.yes, label[evidence.nugget], 4, question)
    one, other = fit_any(name, evidence), fit_any(name, relabelled)
    assert one.log10_evidence == pytest.approx(other.log10_evidence, abs=1e-9)
    assert predicted(one, 4) == pytest.approx(predicted(other, 4)[label], abs=1e-9)


@pytest.mark.parametrize("name", ["question", "nugget", "nugget-errors"])
@QUICK
@given(pairs=PAIRS)
def test_all_step_models_are_one_when_there_is_one_nugget(name, pairs):
    evidence = made([(score, yes, 0) for score, yes, _ in pairs], nuggets=1)
    one, other = fit_any(name, evidence), fit_steps("global", evidence)
    assert log_evidence(one) == pytest.approx(log_evidence(other), abs=1e-5)
    assert one.errors == pytest.approx(other.errors, abs=1e-5)
    assert predicted(one, 1) == pytest.approx(predicted(other, 1), abs=1e-5)


@pytest.mark.parametrize("name", [*SHARED, "nugget-errors"])
@QUICK
@given(pairs=PAIRS)
def test_yes_and_no_are_each_others_mirror(name, pairs):
    one = fit_any(name, made(pairs))
    other = fit_any(name, made([(1 - score, not yes, nugget) for score, yes, nugget in pairs]))
    assert log_evidence(one) == pytest.approx(log_evidence(other), abs=1e-5)
    assert one.errors == pytest.approx(other.errors[::-1], abs=1e-5)
    assert one.threshold(np.arange(4)) == pytest.approx(1 - other.threshold(np.arange(4)), abs=1e-5)


@QUICK
@given(pairs=PAIRS)
def test_nuggets_without_pairs_do_not_change_the_evidence(pairs):
    for name in [*SHARED, "nugget-errors"]:
        few, many = fit_any(name, made(pairs)), fit_any(name, made(pairs, nuggets=9))
        assert few.log10_evidence == pytest.approx(many.log10_evidence, abs=1e-9)


def test_nuggets_without_pairs_between_others_change_nothing_of_these():
    few = simulated(5, 5, 60)
    many = evidence_of(few.scores, few.yes, 3 * few.nugget + 1, 17, np.arange(17))
    one, other = fit_steps("nugget", few), fit_steps("nugget", many)
    told = 3 * np.arange(5) + 1
    assert other.threshold(told) == pytest.approx(one.threshold(np.arange(5)), abs=1e-9)
    assert other.errors == pytest.approx(one.errors, abs=1e-9)
    assert predicted(other, 17)[told] == pytest.approx(predicted(one, 5), abs=1e-9)
    rest = np.setdiff1d(np.arange(17), told)
    assert other.threshold(rest) == pytest.approx(0.5)  # θ is uniform there


# Much data


def test_much_data_of_one_unit_equals_the_closed_form():
    """Above 32,000 pairs a sample says where to look."""
    evidence = simulated(20, 1, 40_000, high=0.1, low=0.05, digits=3)
    assert log_evidence(fit_steps("global", evidence)) == pytest.approx(
        log_evidence(fit_step_errors(evidence)), abs=1e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize(("high", "low"), [(0.7, 0.01), (0.06, 0.05)])
def test_a_sample_finds_what_all_data_find(monkeypatch, high, low):
    evidence = simulated(21, 200, 33_000, high, low)
    sampled = fit_steps("nugget", evidence)
    monkeypatch.setattr(steps, "SAMPLE", 10**9)
    whole = fit_steps("nugget", evidence)
    assert log_evidence(sampled) == pytest.approx(log_evidence(whole), abs=1e-5)
    assert sampled.errors == pytest.approx(whole.errors, abs=1e-6)


@pytest.mark.slow
def test_a_sample_that_misleads_is_noticed(monkeypatch):
    evidence = simulated(22, 200, 33_000, 0.7, 0.01)
    right = log_evidence(fit_steps("nugget", evidence))
    thin = steps._thinned

    def flipped(*args):
        some, log_width = thin(*args)
        return replace(some, counts=some.counts[:, [1, 0, 3, 2]]), log_width

    monkeypatch.setattr(steps, "_thinned", flipped)
    assert log_evidence(fit_steps("nugget", evidence)) == pytest.approx(right, abs=1e-5)


@pytest.mark.slow
def test_true_thresholds_are_recovered():
    rng = np.random.default_rng(30)
    theta = rng.uniform(0.1, 0.9, 40)
    nugget = np.repeat(np.arange(40), 300)
    scores = rng.random(len(nugget))
    evidence = evidence_of(scores, rng.random(len(nugget)) < np.where(scores > theta[nugget], 0.8, 0.05), nugget)
    fit = fit_steps("nugget", evidence)
    assert np.abs(fit.threshold(np.arange(40)) - theta).max() < 0.03
    assert fit.errors == pytest.approx((0.05, 0.2), abs=0.015)
    assert max([*SHARED, "nugget-errors"], key=lambda name: fit_any(name, evidence).log10_evidence) == "nugget"


def test_an_unknown_model_is_named():
    with pytest.raises(ValueError, match="no step model 'steps'"):
        fit_steps("steps", DATA["nothing"])
