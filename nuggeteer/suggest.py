"""Where a judgement would tell most about a run's score.

To learn whether an answer has a nugget is to learn which of its draws to keep. By the law of total variance that is
expected to take cov(F, x)² / var(x) off the variance of a mean score F, where x, 0 or 1, is the nugget's verdict in
each draw; what the verdict tells of the nugget's threshold, the system and the other nuggets is in the draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.finding import Reading
from nuggeteer.measures import Answers, Measure
from nuggeteer.records import AnswerKey, Ints
from nuggeteer.scoring import RunScore


@dataclass(frozen=True)
class Suggestion:
    """A guessed nugget of a run: positions of the nugget in the key and of the response that most likely carries it,
    and the share of the judging variance that its verdict is expected to take away."""

    nugget: int
    response: int
    probability: float
    share: float


def suggest(key: AnswerKey, reading: Reading, run: RunScore, measure: Measure, count: int) -> list[Suggestion]:
    """The guessed nuggets of a run whose verdicts would narrow the judging part of a score's interval most, best
    first; none from a model that cannot say how sure it is."""
    outcome, drawn = run.outcome, run.outcome.drawn
    if drawn is None:
        return []
    values = measure(Answers(key, drawn, outcome.partly & ~drawn, outcome.length))
    score = values[:, ~np.isnan(values).any(axis=0)].mean(axis=1)
    score = score - score.mean()
    likeliest = _likeliest(reading, len(key.nuggets))
    asked = np.flatnonzero(~outcome.known & (likeliest >= 0))
    x = drawn[:, asked].astype(np.float32)
    spread = x.var(axis=0)
    covariance = score @ (x - x.mean(axis=0)) / len(x)
    total = score.var()
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where((spread > 0) & (total > 0), covariance**2 / spread / total, 0.0)
    order = np.argsort(-share, kind="stable")[:count]
    return [
        Suggestion(int(asked[i]), int(likeliest[asked[i]]), float(outcome.probability[asked[i]]), float(share[i]))
        for i in order
        if share[i] > 0
    ]


def _likeliest(reading: Reading, nuggets: int) -> Ints:
    """Of the responses that nobody judged for a nugget, the first with the highest match score; −1 without one."""
    pairs, open_ = reading.pairs, np.flatnonzero(reading.guessed)
    order = open_[np.lexsort((-open_, pairs.scores[open_]))]  # the best last, the first of equals after the others
    result = np.full(nuggets, -1)
    result[pairs.nugget[order]] = np.searchsorted(reading.begin, order, side="right") - 1
    return result
