"""Known or guessed, for one run or for several together: against enumeration and slow sampling."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from nuggeteer.scoring.drawing import Guesses, VerdictNoise, draw_verdicts
from nuggeteer.scoring.outcomes import condition_on_verdicts
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds import Pairs
from nuggeteer.thresholds.sampled import SampledModel

NUGGETS = [{"qid": "p", "nugget": str(i), "text": f"word{i} of its own"} for i in range(4)]
NUGGETS += [{"qid": "q", "nugget": str(i), "text": f"thing{i} of its own"} for i in range(3)]


def even(pairs, parameters):
    """A model that gives each nugget its chance, whatever the response."""
    return parameters["chance"][:, pairs.nugget]


def scorer_of(collect, runs, chance=0.3, judgements=()) -> Scorer:
    model = SampledModel("even", len(NUGGETS), {"chance": np.full((1, len(NUGGETS)), chance)}, even)
    return Scorer(collect(NUGGETS, runs, judgements=list(judgements)), model=model)


def drawn(scorer: Scorer, *names: str):
    """draws × nuggets for each run."""
    return [scorer.find(scorer.read(name)).drawn for name in names]


def test_what_two_runs_share_never_differs_and_the_rest_is_independent(collect):
    """Three texts, one of them in both runs: of each nugget, P(found) = 1 − 0.7²; P(found in both) as enumerated."""
    runs = {"old": [("p", "shared"), ("p", "only old")], "new": [("p", "only new"), ("p", "Shared")]}
    old, new = drawn(scorer_of(collect, runs), "old", "new")
    p = slice(0, 4)
    assert old[:, p].mean() == pytest.approx(1 - 0.7**2, abs=0.02)
    assert new[:, p].mean() == pytest.approx(1 - 0.7**2, abs=0.02)
    assert (old & new)[:, p].mean() == pytest.approx(0.3 + 0.7 * 0.3 * 0.3, abs=0.02)
    assert not old[:, 4:].any()  # no answer


def test_the_same_texts_of_other_systems_in_another_order_are_the_same(collect):
    texts = [("p", "one text"), ("p", "another text"), ("q", "a third")]
    runs = {"old": texts, "new": [texts[1], texts[0], texts[2]]}
    old, new = drawn(scorer_of(collect, runs), "old", "new")
    assert old.any()
    assert (old == new).all()


def test_a_text_of_several_systems_is_guessed_as_the_first_ones(collect):
    """Two systems whose chances for the same nuggets are 0.3 and 0.5: texts of both count as the first one's, and its
    own is guessed as its own."""

    def for_group(parameters, group, rng):
        return {"chance": np.full_like(parameters["chance"], 0.3 if group == "low" else 0.5)}

    model = SampledModel("two", len(NUGGETS), {"chance": np.full((1, len(NUGGETS)), 0.1)}, even, for_group)
    runs = {"low": [("p", "one text"), ("q", "its own")], "new": [("p", "One text."), ("q", "another text")]}
    collection = collect(NUGGETS, runs, judged={"low": "none"})
    low, new = drawn(Scorer(collection, model=model), "low", "new")
    assert (low[:, :4] == new[:, :4]).all()
    assert low.mean() == pytest.approx(0.3, abs=0.001)
    assert new[:, 4:].mean() == pytest.approx(0.5, abs=0.001)


def test_what_is_drawn_for_an_answer_does_not_depend_on_the_other_answers(sample, monkeypatch):
    """Nor on how many pairs are drawn at a time."""
    scorer = Scorer(sample)
    whole = scorer.find(scorer.read("build-103"))
    monkeypatch.setattr("nuggeteer.scoring.drawing.CELLS", 3)
    monkeypatch.setattr("nuggeteer.scoring.outcomes.PAIRS", 50)
    monkeypatch.setattr("nuggeteer.thresholds.smooth_draws.CELLS", 2)
    in_blocks = scorer.find(scorer.read("build-103"))
    assert (whole.drawn == in_blocks.drawn).mean() > 0.99999  # sums over many responses may round otherwise
    assert whole.probability == pytest.approx(in_blocks.probability, abs=1e-6)


def test_a_text_that_an_answer_repeats_is_guessed_once(collect):
    scorer = scorer_of(collect, {"r": [("p", "said twice"), ("p", "Said  twice"), ("p", "and once")]})
    outcome = scorer.find(scorer.read("r"))
    assert outcome.probability[:4] == pytest.approx(1 - 0.7**2)
    assert outcome.pairs_guessed == 12


def test_verdicts_of_a_nugget_are_found_as_often_as_its_chance_whatever_the_seed(sample):
    nugget = np.arange(len(sample.key.nuggets))
    for seed in range(3):
        noise = VerdictNoise(sample.key, 1000, seed)
        numbers = noise.least(nugget, nugget + 7, nugget)
        assert (numbers < -np.log1p(-0.3)).mean(axis=1) == pytest.approx(0.3, abs=0.001)


@pytest.mark.parametrize("texts", [1, 2])
def test_the_nuggets_of_an_answer_go_together_as_normal_variables_do(collect, texts):
    """ρ = 0.4: how often two nuggets are found together is a bivariate normal probability. The chance of each stays
    as it is, also where several texts make it."""
    scorer = scorer_of(collect, {"r": [("p", "a response")]})
    draws = SampledModel("even", len(NUGGETS), {"chance": np.full((1, len(NUGGETS)), 0.3)}, even).draw(20_000, 0)
    object.__setattr__(draws, "answer_correlation", 0.4)
    nugget = np.repeat(np.arange(4), texts)
    numbers = np.tile(np.arange(texts), 4)
    pairs = Pairs.of_usual_size(np.full(4 * texts, 0.5), nugget)
    guesses = Guesses.of(pairs, ("",), np.zeros(4 * texts, dtype=np.int64), draws, numbers)
    noise = VerdictNoise(scorer.key, 20_000, 0)
    found = np.concatenate(
        [block for _, block, *_ in draw_verdicts(guesses, scorer.key, draws, noise, lambda q: np.arange(texts), None)]
    )
    level = norm.ppf(1 - 0.7**texts)
    both = np.mean([(found[i] & found[j]).mean() for i in range(4) for j in range(i)])
    assert both == pytest.approx(multivariate_normal([0, 0], [[1, 0.4], [0.4, 1]]).cdf([level, level]), abs=0.006)
    assert found.mean(axis=1) == pytest.approx(1 - 0.7**texts, abs=0.006)


def test_known_nuggets_tell_of_the_others_in_their_answer(collect):
    """Three of four nuggets known, ρ = 0.5: the fourth's chance is that of a normal variable given the signs of three
    others, found by throwing away the draws in which these are otherwise."""
    verdicts = [
        {"qid": "p", "nugget": str(i), "text": "a response", "verdict": found}
        for i, found in enumerate((True, True, False))
    ]
    scorer = scorer_of(collect, {"r": [("p", "a response")]}, judgements=verdicts)
    object.__setattr__(scorer.draws, "answer_correlation", 0.5)
    outcome = scorer.find(scorer.read("r"))
    rng = np.random.default_rng(0)
    normal = np.sqrt(0.5) * rng.standard_normal((400_000, 4)) + np.sqrt(0.5) * rng.standard_normal((400_000, 1))
    has = normal < norm.ppf(0.3)
    kept = has[:, 0] & has[:, 1] & ~has[:, 2]
    expected = has[kept, 3].mean()
    assert expected > 0.36
    assert outcome.probability[3] == pytest.approx(expected, abs=0.01)
    assert outcome.drawn[:, 3].mean() == pytest.approx(expected, abs=0.03)
    assert outcome.known.tolist()[:3] == [True] * 3


def test_nothing_is_told_where_all_is_open(collect):
    scorer = scorer_of(collect, {"r": [("p", "a response")]})
    object.__setattr__(scorer.draws, "answer_correlation", 0.5)
    matched = scorer.read("r")
    every = np.ones(len(NUGGETS), dtype=bool)
    assert condition_on_verdicts(matched, scorer.key, scorer.draws, every) is None


def test_a_nugget_with_a_yes_tells_no_more_than_one_without_for_being_settled_by_it(collect):
    """Two responses, the first judged for every nugget: some are settled by a yes, none by its no. What is told of
    the rest is right on average: chances stay the same in the mean over what the judge may have found."""
    responses = [("p", "judged response"), ("p", "open response")]
    weights, chances = [], []
    for case in range(8):
        found = [bool(case >> i & 1) for i in range(3)]
        verdicts = [
            {"qid": "p", "nugget": str(i), "text": "judged response", "verdict": verdict}
            for i, verdict in enumerate(found)
        ]
        scorer = scorer_of(collect, {"r": responses}, judgements=verdicts)
        object.__setattr__(scorer.draws, "answer_correlation", 0.5)
        chances.append(scorer.find(scorer.read("r")).probability[3])
        rng = np.random.default_rng(0)
        normal = np.sqrt(0.5) * rng.standard_normal((200_000, 3)) + np.sqrt(0.5) * rng.standard_normal((200_000, 1))
        weights.append(((normal < norm.ppf(0.3)) == found).all(axis=1).mean())
    assert np.average(chances, weights=weights) == pytest.approx(1 - 0.7**2, abs=0.005)
    assert max(chances) - min(chances) > 0.2
