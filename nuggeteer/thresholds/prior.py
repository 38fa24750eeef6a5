"""What the default model believes before the first verdict, learned from public collections.

For each clue, `public_prior` has the mean of its weight on six collections that humans judged, and how much it differs
between them: news summaries (REALSumm), news of events (TREC 2013 and 2014 Temporal Summarization), bullets of RAG
systems (SummHay), debates (KPA) and students' short answers (SemEval). `python experiments/prior.py` makes it, and
measures what each collection would get from the others (experiments/prior.md). Collections differ mostly in the level,
so before any verdict an interval is wide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from nuggeteer.display import Shown
from nuggeteer.records import Matrix, Vector
from nuggeteer.thresholds.public_prior import BY_SCORE, BY_WORDS, JUDGE, SPREADS

INTERCEPT: Final = "one"
OF_ANSWERS: Final = ("responses", "size", "hint", "carried")
# Likeness to texts that have a nugget never speaks against it. The likelihood alone might say that it does: if one
# answer has a nugget, fewer of the others do.
POSITIVE: Final = ("hint", "carried")
# The clues of a usual answer. The level is that of such an answer, so that it says little about the weights.
USUAL: Final = {
    "window": 0.4,
    "order": 0.2,
    "density": 0.5,
    "asked": 0.15,
    "names": 0.05,
    "numbers": 0.15,
    "root": 0.0,
    "score": 0.0,
    "size": 0.3,
}
LOG_ODDS = 1.0, 0.25  # the weight of what another package's matcher carries over, which is log odds
DOUBT = 4.0  # the factor of the variances for scores of other kinds, which may mean anything
READ_IT, SAYS_YES = " read it", " says yes"  # the ends of the names of judges' clues


@dataclass(frozen=True, repr=False)
class Prior(Shown):
    """The assumptions before the first judgement: about the weight of each clue (the first is the intercept), and about
    the spreads, which count as much as `weight` observed effects."""

    names: tuple[str, ...]
    b: Vector
    b_covariance: Matrix
    nugget: float
    question: float
    system: float
    build: float
    answer: float
    weight: float = 20.0

    @property
    def signature(self) -> str:
        values = [*self.b, *self.b_covariance.ravel(), *self.spreads, self.weight]
        return f"prior({','.join(self.names)};{','.join(f'{value:.4g}' for value in values)})"

    @property
    def positive(self) -> list[int]:
        """The places of the clues whose weights are positive."""
        return [self.names.index(name) for name in POSITIVE if name in self.names]

    @property
    def spreads(self) -> tuple[float, float, float, float, float]:
        return self.nugget, self.question, self.system, self.build, self.answer


def of_score(scores: Vector) -> dict[str, Vector]:
    """The clues that follow from the match score."""
    return {"window": scores, "root": np.sqrt(scores) - 0.5, "score": scores - 0.3}


def prior_for(names: Sequence[str], scores_overlap: bool) -> Prior:
    """The prior for units with these clues. `scores_overlap` means that match scores are shares of a description's
    words."""
    public = BY_WORDS if "window" in names else BY_SCORE
    mean, spread = np.zeros(len(names)), np.zeros(len(names))
    level = np.zeros(len(names), dtype=bool)  # of a usual answer: by its words, or of one that a judge has read
    for i, name in enumerate(names):
        level[i] = name == INTERCEPT or name.endswith(READ_IT)
        if name in public:
            of_others = name in ("hint", "carried") and not scores_overlap
            mean[i], spread[i] = LOG_ODDS if of_others else public[name]
            spread[i] *= 1.0 if scores_overlap else np.sqrt(DOUBT)
        else:
            mean[i], spread[i] = JUDGE["level" if name.endswith(READ_IT) else "weight"]
    # From the level of a usual answer to that of an answer whose clues are all 0.
    root = np.diag(spread)
    usual = np.array([USUAL.get(name, 0.0) for name in names])
    mean[level] -= usual @ mean
    root[level] -= usual * spread
    return Prior(tuple(names), mean, root @ root.T, *SPREADS)
