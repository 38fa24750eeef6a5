"""What the words of two builds of a system say of the difference between them, beside what each pair of words says.

The model believes that a build departs from its system by w ~ N(0, σ_w²), whatever its answers look like. Whoever sees
both builds knows more. Where the words of the new answers match better on the whole, the build is better by more than
the pairs say one by one: real changes move words and facts together, as between the systems of a public collection and
in nights made of their answers (experiments/nights.py). And answers in nearly the same words leave less to be
different. So for two builds, with

    m  the mean change of b · x (words only) over the answers that changed
    s  the share of the answers that changed
    l  how alike these answers are: the mean cosine of their words

the prior of δ = w(new) − w(old) is N(γ m, 2 σ² (1 − l) / s²), with γ itself uncertain. A change of few answers may be
as large as one of all. Where judges read both builds, what they say counts, with a γ and a σ of their own. All four
come from nights of public collections (experiments/changes.py). Verdicts say the same of δ as before. As δ has a normal
posterior, its draws are moved and stretched to the new one, and the draws of each question's change with them, by how
much they go with δ.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum

import numpy as np

from nuggeteer.matching.similar_texts import GramReader, Grams
from nuggeteer.records import Bools, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds.prior import SAYS_YES, USUAL
from nuggeteer.thresholds.public_prior import CHANGE
from nuggeteer.thresholds.rows import joined, key_of, random_rows
from nuggeteer.thresholds.smooth import SmoothDraws, SmoothFit

LEAST = 1e-6


@dataclass(frozen=True)
class Contrast:
    """Two builds side by side: `words` and `judges` are the mean changes of what either says (b · x) over the answers
    that changed, `read` is the share of them that judges read, and `share` and `likeness` are s and l."""

    words: float
    judges: float
    read: float
    share: float
    likeness: float

    @property
    def room(self) -> float:
        """How much room there is for a difference: Var(δ) / σ²."""
        return 2 * max(1 - self.likeness, LEAST) / self.share**2


def contrast_of(scorer: Scorer, old: MatchedRun, new: MatchedRun, alike: Bools) -> Contrast | None:
    """None if no answer changed that both builds give."""
    fit, answered = scorer.model, [np.diff(run.run.offsets) > 0 for run in (old, new)]
    changed = ~alike & answered[0] & answered[1]
    if not changed.any() or not isinstance(fit, SmoothFit):
        return None
    share = float(changed.sum() / (answered[0] | answered[1]).sum())
    likeness = _likeness(scorer, old, new, changed)
    both = changed[scorer.key.question] & (old.best >= 0) & (new.best >= 0)
    if not both.any():
        return Contrast(0.0, 0.0, 0.0, share, likeness)
    judges = [place for place, name in enumerate(fit.names) if name.endswith(SAYS_YES)]
    words = [place for place, name in enumerate(fit.names) if name in USUAL or name == "responses"]
    clues = [run.clues[both] for run in (old, new)]
    unread, change = np.minimum(clues[0][:, 0], clues[1][:, 0]), clues[1] - clues[0]
    by_words = float((unread * (change[:, words] @ fit.b[words])).mean())
    by_judges = float(((1 - unread) * (change[:, judges] @ fit.b[judges])).mean())
    return Contrast(by_words, by_judges, 1 - float(unread.mean()), share, likeness)


def moved_draws(scorer: Scorer, old: MatchedRun, new: MatchedRun, alike: Bools, drawn: Vector) -> Vector:
    """The `drawn` changes of scores, draws × questions, given the words of both builds. Those of questions to which
    both give the same answer are 0, where there is a score at all."""
    drawn = np.where(alike & ~np.isnan(drawn), 0.0, drawn)
    draws = scorer.draws
    if not isinstance(draws, SmoothDraws) or alike.all() or len(drawn) == 1:
        return drawn
    contrast = contrast_of(scorer, old, new, alike)
    if contrast is None:
        return drawn
    delta = (draws.level(new.build) - draws.level(old.build)).astype(float)
    mean, variance, before = draws.fit.difference(old.build, new.build)
    rows = random_rows(draws.count, scorer.seed)
    luck = rows.normal(joined(np.array([key_of(old.run.name), key_of(new.run.name)]).sum(keepdims=True), 19))[0]
    of_words, of_judges = (factor + doubt * luck for factor, doubt in (CHANGE["words"], CHANGE["judges"]))
    expected = of_words * contrast.words + of_judges * contrast.judges
    spread = (1 - contrast.read) * CHANGE["unread"] + contrast.read * CHANGE["read"]
    prior = spread**2 * contrast.room
    variance = min(variance, before)
    told = 1 / variance - 1 / before  # by verdicts
    after = 1 / (told + 1 / prior)
    target = after * (mean / variance + expected / prior) + np.sqrt(after / variance) * (delta - mean)
    slope = np.nan_to_num(slope_of(delta, drawn))
    return np.asarray(drawn + np.outer(target - delta, slope))


def slope_of(delta: Vector, drawn: Vector) -> Vector:
    """By how much the change of each question goes with δ."""
    # Not a product of matrices, whose last bits depend on where in memory they lie.
    together = ((delta - delta.mean())[:, None] * (drawn - drawn.mean(axis=0))).mean(axis=0)
    return np.asarray(together / max(float(delta.var()), LEAST))


def _likeness(scorer: Scorer, old: MatchedRun, new: MatchedRun, changed: Bools) -> float:
    """The mean cosine of the words and pairs of words of two answers."""
    read = GramReader(scorer.material.idf, scorer.material.settings)
    cosines = []
    for question in np.flatnonzero(changed).tolist():
        one, other = (
            read("\n".join(run.run.normalised_texts[slice(*run.run.offsets[question : question + 2])]))
            for run in (old, new)
        )
        cosines.append(_cosine(one, other))
    return float(np.mean(cosines))


def _cosine(one: Grams, other: Grams) -> float:
    # Sums that do not depend on their order, so that the change back is this change with the other sign to the bit.
    product = fsum(weight * other[gram] for gram, weight in one.items() if gram in other)
    lengths = fsum(w * w for w in one.values()) * fsum(w * w for w in other.values())
    return product / lengths**0.5 if lengths else 0.0
