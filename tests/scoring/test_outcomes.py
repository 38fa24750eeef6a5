"""What is found of an answer, with a model whose chances are what the test says."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import DRAWS

NUGGETS = [{"qid": q, "nugget": n, "text": f"fact {q} {n}"} for q in "ab" for n in "12"]
RUNS = {"old": [("a", "fact a 1"), ("b", "it rained")], "new": [("a", "fact a 1, they say"), ("b", "it rained")]}


@dataclass
class Told:
    """A model and its draws: chances by nugget, each the same in every draw."""

    chance: dict[int, float]
    odds_in_part: np.ndarray | None = None
    signature: str = "told"
    asked: list[int] = field(default_factory=list)

    def threshold(self, nugget):
        return np.zeros(len(nugget))

    def draw(self, count, seed):
        self.count = count
        return self

    def chances(self, units):
        self.asked += units.nugget.tolist()
        own = np.array([self.chance[nugget] for nugget in units.nugget.tolist()], dtype=np.float32)
        return np.tile(own[:, None], (1, self.count))


def outcome_of(collection, model, run="new"):
    scorer = Scorer(collection, ["recall"], model)
    return scorer.find(scorer.read(run))


@pytest.mark.parametrize(("chance", "found"), [(0.5, True), (0.4999, False), (0.0, False), (1.0, True)])
def test_a_nugget_is_found_if_it_is_at_least_as_probable_as_not(collect, chance, found):
    outcome = outcome_of(collect(NUGGETS, RUNS), Told(dict.fromkeys(range(4), chance)))
    assert outcome.found.tolist() == [found] * 4
    assert outcome.probability == pytest.approx([chance] * 4)


@pytest.mark.parametrize("odds", [1.0, 2.0, 8.0])
def test_it_is_supported_in_part_if_that_or_found_is_at_least_as_probable_as_neither(collect, odds):
    """With a chance p of a yes, at least in part has the odds of a yes times those."""
    chances = {0: 0.6, 1: 0.4, 2: 0.2, 3: 0.05}
    told = Told(chances, np.full(DRAWS, odds))
    outcome = outcome_of(collect(NUGGETS, RUNS), told)
    own = np.array(list(chances.values()))
    least = own * odds / (1 - own + own * odds)
    assert outcome.partial == pytest.approx(least - own, abs=0.06)
    assert outcome.partly.tolist() == ((least >= 0.5) & (own < 0.5)).tolist()


def test_what_people_decided_is_not_asked_and_not_drawn(collect):
    """A yes on one response settles the nugget, and a no on the whole answer too."""
    said = [
        {"qid": "a", "nugget": "1", "text": "fact a 1, they say", "verdict": True, "run": "new"},
        {"qid": "b", "nugget": "2", "text": "it rained", "verdict": False, "scope": "answer", "run": "new"},
    ]
    told = Told(dict.fromkeys(range(4), 0.3))
    outcome = outcome_of(collect(NUGGETS, RUNS, said), told)
    assert sorted(set(told.asked)) == [1, 2]
    assert outcome.known.tolist() == [True, False, False, True]
    assert outcome.probability == pytest.approx([1.0, 0.3, 0.3, 0.0])
    assert outcome.drawn[:, 0].all()
    assert not outcome.drawn[:, 3].any()


def test_equal_answers_have_equal_verdicts_in_every_draw_and_others_do_not(collect):
    """The random numbers belong to the nugget and the text; as many are below a chance as it says."""
    collection, told = collect(NUGGETS, RUNS), Told(dict.fromkeys(range(4), 0.3))
    old, new = (outcome_of(collection, told, run).drawn for run in ("old", "new"))
    np.testing.assert_array_equal(old[:, 2:], new[:, 2:])
    assert (old[:, :2] != new[:, :2]).any(axis=0).all()
    assert old.mean(axis=0) == pytest.approx([0.3] * 4, abs=0.06)
