"""What a judge is worth, and the order and the mixtures that follow, against naive computations and simulation."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

from nuggeteer.asking.narrowing import (
    DEVIATIONS,
    OpenNuggets,
    OrderedCalls,
    Source,
    cheapest,
    order_calls,
    plan_mixture,
    remaining_variance,
)
from nuggeteer.asking.prompts import find_prompt
from nuggeteer.asking.worth import NEW, PRIOR, Worth, novelty
from nuggeteer.collection.folder import read_collection
from nuggeteer.judging.reading_order import ReadingOrder
from nuggeteer.judging.state import JudgingSubject
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import JudgeSettings
from tests.conftest import ROOT, shared


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_the_prior_is_that_of_the_six_judges():
    spec = spec_from_file_location("asking_experiment", ROOT / "experiments" / "asking.py")
    experiment = module_from_spec(spec)
    sys.modules["asking_experiment"] = experiment
    spec.loader.exec_module(experiment)
    folder = shared("summhay")
    rates = experiment.rates_of(read_collection(folder), experiment.read_judges(folder))
    assert experiment.prior_of(rates) == pytest.approx(PRIOR, abs=0.005)


@pytest.mark.parametrize("probability", [0.02, 0.3, 0.5, 0.9])
def test_what_a_verdict_explains_is_what_it_explains_in_a_simulation(probability, rng):
    worth = Worth.learned(np.array([0, 1, 2, 0, 2]), np.array([True, True, False, True, False]))
    truth = rng.random(400_000) < probability
    label = np.where(truth, rng.choice(3, len(truth), p=worth.rates[1]), rng.choice(3, len(truth), p=worth.rates[0]))
    means = np.array([truth[label == k].mean() for k in range(3)])
    explained = 1 - ((truth - means[label]) ** 2).mean() / truth.var()
    assert worth.explained(np.array([probability]))[0] == pytest.approx(explained, abs=0.006)
    assert worth.posterior(np.array([probability]))[0] == pytest.approx(means, abs=0.01)


def test_a_judge_that_says_the_same_whatever_is_true_explains_nothing_and_a_perfect_one_everything():
    p = np.array([0.1, 0.5])
    assert Worth(np.array([[1.0, 2, 3], [2, 4, 6]])).explained(p) == pytest.approx([0, 0])
    tiny = 1e-9
    assert Worth(np.array([[tiny, tiny, 9], [9, tiny, tiny]])).explained(p) == pytest.approx([1, 1])


def test_the_less_of_a_label_is_new_the_less_it_explains():
    p = np.array([0.1, 0.5, 0.8])
    whole, half, none = (Worth(PRIOR, novelty=new) for new in (1.0, 0.5, 0.0))
    assert (whole.explained(p) > half.explained(p)).all()
    assert none.explained(p) == pytest.approx(np.zeros(3))
    odds = np.sqrt(whole.rates[1] / whole.rates[0]) * (p / (1 - p))[:, None]
    assert half.posterior(p) == pytest.approx(odds / (1 + odds))


def test_a_label_is_less_new_the_more_people_have_judged():
    assert [round(novelty(verdicts), 2) for verdicts in (0, 0.26, 0.86, 4.75, 100)] == [0.81, 0.66, 0.53, 0.36, 0.36]


def test_the_doubt_is_the_variance_of_the_score_over_rates_that_might_be(rng):
    """The score moves with the rates: Σ weight · P(label) · P(nugget | label), where the second is held."""
    worth, p, weight = Worth(PRIOR * 3), np.array([0.2, 0.6, 0.7]), np.array([0.3, -0.2, 0.5])
    after = worth.posterior(p)
    rates = [rng.dirichlet(worth.counts[y], 200_000) for y in (0, 1)]
    moved = sum(weight[n] * ((1 - p[n]) * rates[0] @ after[n] + p[n] * rates[1] @ after[n]) for n in range(3))
    assert worth.doubt(worth.sways(weight, p).sum(axis=0)) == pytest.approx(moved.var(), rel=0.02)


def test_what_remains_is_least_at_the_right_trust():
    """V − G + (1 − t)² G + t² D, by brute force over t."""
    for taken, doubt in ((0.4, 0.1), (0.9, 2.0), (0.0, 0.0), (0.3, 0.0)):
        t = np.linspace(0, 1, 10_001)
        least = (1 - taken + (1 - t) ** 2 * taken + t**2 * doubt).min()
        assert remaining_variance(1.0, np.array([taken]), np.array([doubt]))[0] == pytest.approx(least, abs=1e-6)


def some_nuggets(rng, size=8, width=0.4):
    share = rng.dirichlet(np.ones(size))
    p = rng.uniform(0.1, 0.9, size)
    weight = np.sqrt(share * (width / DEVIATIONS) ** 2 / (p * (1 - p)))
    card, seconds = np.arange(size) // 2, rng.uniform(20, 60, size)
    told = np.concatenate([[0], np.cumsum(share.reshape(-1, 2).sum(axis=1))])
    widths = width * np.sqrt((1 - told).clip(0))
    return OpenNuggets(np.zeros(size, int), np.arange(size), p, share, weight, card, seconds, told, widths)


def naive_width(open_, sources, chosen, persons):
    """The width by loops over nuggets."""
    taken = person = 0.0
    sways = {source.name: np.zeros((2, 3)) for source in sources}
    for n in range(len(open_.nugget)):
        if n in persons:
            person += open_.share[n] * open_.variance
            continue
        left = 1.0
        for source, count in zip(sources, chosen, strict=True):
            if any(n in members for members in source.members[:count]):
                left *= 1 - source.worth.explained(open_.probability[n : n + 1])[0]
                sways[source.name] += source.worth.sways(open_.weight[n : n + 1], open_.probability[n : n + 1])[0]
        taken += open_.share[n] * open_.variance * (1 - left)
    doubt = sum(float(source.worth.doubt(sways[source.name])) for source in sources)
    used = taken**2 / (taken + doubt) if taken else 0.0
    return DEVIATIONS * max(open_.variance - person - used, 0.0) ** 0.5


def test_the_cheapest_mixture_is_the_cheapest_of_all(rng):
    """Of every number of calls of two judges, and of cards that a person reads in their order."""
    cheap, dear = Worth(PRIOR * 2), Worth(PRIOR * np.array([[1, 1, 30.0], [30, 1, 1]]))
    for _ in range(10):
        open_ = some_nuggets(rng)
        halves = [np.arange(4), np.arange(4, 8)]
        sources = [
            Source("cheap", cheap, np.array([0.1, 0.1]), halves),
            Source("dear", dear, np.array([0.6, 0.5]), halves),
        ]
        found = cheapest(open_, sources, 1.0, 0.25)
        prices = [
            sum(s.price[:k].sum() for s, k in zip(sources, chosen, strict=True)) + open_.seconds[:count].sum() / 60
            for chosen in ((a, b) for a in range(3) for b in range(3))
            for count in (0, 2, 4, 6, 8)
            if naive_width(open_, sources, chosen, set(range(count))) <= 0.25
        ]
        assert found is not None
        assert found.width <= 0.25
        calls = tuple(share.calls for share in found.shares[:2])
        asked = naive_width(open_, sources, calls, set())
        assert found.shares[2].verdicts or asked == pytest.approx(found.width)
        assert found.price == pytest.approx(min(prices))
        assert found.shares[2].minutes == pytest.approx(open_.seconds[: found.shares[2].verdicts].sum() / 60)


def test_a_width_that_is_there_costs_nothing_and_one_out_of_reach_is_none(rng):
    open_ = some_nuggets(rng)
    judge = Source("j", Worth(PRIOR, novelty=NEW), np.array([0.1]), [np.arange(8)])
    free = cheapest(open_, [judge], 1.0, 0.4)
    assert free is not None
    assert free.price == 0
    assert cheapest(open_, [judge], None, 0.01) is None


JUDGE = JudgeSettings("j", "http://127.0.0.1", "m", input_price=1.0, output_price=4.0)


@pytest.mark.slow
def test_calls_come_in_the_order_of_their_worth_and_the_first_are_worth_more_than_others(sample):
    scorer = Scorer(sample, ["f3"])
    matched = scorer.read("build-103")
    open_ = OpenNuggets.find(scorer, matched, scorer.measures[0])
    worth = Worth(PRIOR * 50)
    ordered = order_calls(sample.key, [matched], open_, worth, JUDGE, find_prompt("assign-1"))
    assert len(ordered.calls) == len(ordered.side) == len(ordered.price) == len(ordered.width) - 1
    assert sum(len(call.nuggets) for call in ordered.calls) == len(open_.nugget)
    assert all(len(call.nuggets) <= 10 for call in ordered.calls)
    assert ordered.width[0] == pytest.approx(open_.width)
    gain = np.array(
        [
            sum(
                open_.share[i] * worth.explained(open_.probability[i : i + 1])[0]
                for i in range(len(open_.nugget))
                if sample.key.nuggets[open_.nugget[i]] in call.nuggets
            )
            for call in ordered.calls
        ]
    )
    value = gain / ordered.price
    assert (np.diff(value) <= 1e-9 * value.max()).all()
    half = len(ordered.calls) // 2
    assert ordered.width[half] < ordered.width[0] - 0.6 * (ordered.width[0] - ordered.width.min())


def test_asking_ends_where_the_width_is_reached_or_nothing_more_is_gained():
    ordered = OrderedCalls([None] * 4, [0] * 4, np.array([1.0, 0.6, 0.4, 0.395, 0.399]), np.ones(4))
    assert ordered.enough(None) == 2
    assert ordered.enough(0.7) == 1
    assert ordered.enough(0.1) == 3
    assert replace(ordered, width=np.array([1.0])).enough(None) == 0


@pytest.mark.slow
def test_a_person_alone_takes_the_minutes_that_judge_and_nightly_name(sample):
    """One forecast at every door."""
    plan = plan_mixture(JudgingSubject(sample.root, "build-103"), [], 0.5, 0.1)
    scorer = Scorer(sample, ["f3"])
    order = ReadingOrder(scorer, scorer.read("build-103"), scorer.measures[0])
    ahead = order.forecast()
    (person,) = plan.alone["person"].shares
    assert person.minutes == pytest.approx(ahead.minutes_for(0.1))
    assert person.verdicts == ahead.verdicts_after(person.minutes)
    assert person.price == pytest.approx(0.5 * person.minutes)
    assert plan.now == pytest.approx(ahead.now)


@pytest.mark.slow
def test_a_difference_is_planned_too_and_needs_less_than_two_scores(sample):
    cheap, dear = replace(JUDGE, name="cheap"), replace(JUDGE, name="dear", input_price=20.0)
    plan = plan_mixture(JudgingSubject(sample.root, "build-103", "build-102"), [cheap, dear], 0.5, 0.05)
    assert (plan.run, plan.against) == ("build-103", "build-102")
    assert plan.best is not None
    for other in (*plan.without.values(), *plan.alone.values()):
        assert other is None or other.price >= plan.best.price - 1e-9
