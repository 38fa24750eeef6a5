"""What is believed of judges (language models) before people have checked them.

The weight of a judge's clue (`matching.panel`) is believed to be about what six judges of SummHay were worth beside the
words. It may differ from that as these six differ among themselves, and as the worth of word overlap differs between
public collections. What judges of one collection have in common is in the covariance of their weights.

A judge's share of yes says something of the level, too: people's share of yes on the same pairs is believed to be near
it, in log odds as near as SummHay's judges came to people, with twice the variance because another collection may
differ. A few dozen human verdicts outweigh all of this.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy

from nuggeteer.records import Vector
from nuggeteer.thresholds.curve import features
from nuggeteer.thresholds.judge_weights import JUDGES
from nuggeteer.thresholds.model import Pairs
from nuggeteer.thresholds.smooth import Prior, heard

LEAST = 0.005  # a share of yes is not believed to be nearer to 0 or 1
FAR = 30.0  # logits


@dataclass(frozen=True)
class JudgeBelief:
    """The `weight` of a clue, and its standard deviations between judges and between collections; the correlation of
    judges' errors; by how much people's share of yes is higher than a judge's, in log odds, and how surely."""

    weight: float
    between_judges: float
    between_collections: float
    correlation: float
    level: float
    level_spread: float


BELIEF = JudgeBelief(**JUDGES)


def with_judges(prior: Prior, judges: int, belief: JudgeBelief = BELIEF) -> Prior:
    """The prior with the weights of so many judges' clues."""
    own = len(prior.b)
    covariance = np.zeros((own + judges, own + judges))
    covariance[:own, :own] = prior.b_covariance
    covariance[own:, own:] = belief.between_collections**2 + belief.between_judges**2 * np.eye(judges)
    return replace(prior, b=np.append(prior.b, np.full(judges, belief.weight)), b_covariance=covariance)


def with_level(prior: Prior, pairs: Pairs, share: float, belief: JudgeBelief = BELIEF) -> Prior:
    """The prior after judges said yes of this share of these pairs. Several judges say no more of the level than one,
    because what they have in common is not averaged away."""
    opinions = heard(pairs.opinions, len(pairs), prior.b)
    given = features(pairs.scores, pairs.size, None if opinions is None else opinions.rows[opinions.which])
    share = float(np.clip(share, LEAST, 1 - LEAST))
    share = float(scipy.special.expit(np.log(share / (1 - share)) + belief.level))
    scale = np.sqrt(1 + np.pi * (prior.nugget**2 + prior.question**2) / 8)

    from scipy.optimize import brentq

    def too_many(shift: float) -> float:
        return float(scipy.special.expit((given @ prior.b + shift) / scale).mean()) - share

    off = brentq(too_many, -FAR, FAR)
    mean: Vector = given.mean(axis=0)
    seen = prior.b_covariance @ mean
    gain = seen / (mean @ seen + belief.level_spread**2)
    return replace(prior, b=prior.b + gain * off, b_covariance=prior.b_covariance - np.outer(gain, seen))
