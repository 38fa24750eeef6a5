"""An outcome in which a group of nuggets counts as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nuggeteer.records import AnswerKey
from nuggeteer.scoring.outcomes import Outcome


def by_group(key: AnswerKey, outcome: Outcome) -> Outcome:
    """The outcome with a group's at each of its nuggets. A group is known if no guess could change it, and found if its
    probability is at least ½; without probabilities, if its decided nuggets say so."""
    if not key.groups:
        return outcome
    spread = key.grouping.spread
    inside = np.zeros(len(key.nuggets), dtype=bool)
    for at in key.grouping.inside:
        inside[at] = True
    worst, best = (np.where(outcome.known, outcome.found, other) for other in (False, True))
    known = spread(worst) == spread(best)
    decided = spread(outcome.found)
    drawn = None if outcome.drawn is None else spread(outcome.drawn)
    chance = np.where(known, decided.astype(float), np.nan) if drawn is None else drawn.mean(axis=0)
    chance = np.where(inside, chance, outcome.probability)
    found = np.where(inside & ~np.isnan(chance), chance >= 0.5, decided)
    return replace(
        outcome,
        found=found,
        known=known,
        probability=chance,
        drawn=drawn,
        contradicted={i: at for i, at in outcome.contradicted.items() if not found[i]},
    )
