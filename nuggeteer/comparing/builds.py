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
as large as one of all. Verdicts say the same of δ as before. As δ has a normal posterior, its draws are moved and
stretched to the new one, and the draws of each question's change with them, by how much they go with δ.
"""

from __future__ import annotations

from math import fsum

import numpy as np

from nuggeteer.matching.similar_texts import GramReader, Grams
from nuggeteer.records import Bools, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds.prior import SAYS_YES, USUAL
from nuggeteer.thresholds.public_prior import CHANGE
from nuggeteer.thresholds.rows import joined, key_of, random_rows
from nuggeteer.thresholds.smooth import SmoothDraws

LEAST = 1e-6


def moved_draws(scorer: Scorer, old: MatchedRun, new: MatchedRun, alike: Bools, drawn: Vector) -> Vector:
    """The `drawn` changes of scores, draws × questions, given the words of both builds. Those of questions to which
    both give the same answer are 0, where there is a score at all."""
    drawn = np.where(alike & ~np.isnan(drawn), 0.0, drawn)
    draws = scorer.draws
    if not isinstance(draws, SmoothDraws) or alike.all() or len(drawn) == 1:
        return drawn
    answered = [np.diff(run.run.offsets) > 0 for run in (old, new)]
    changed = ~alike & answered[0] & answered[1]
    if not changed.any():
        return drawn
    delta = (draws.level(new.build) - draws.level(old.build)).astype(float)
    mean, variance, before = draws.fit.difference(old.build, new.build)
    share = changed.sum() / (answered[0] | answered[1]).sum()
    rows = random_rows(draws.count, scorer.seed)
    luck = rows.normal(joined(np.array([key_of(old.run.name), key_of(new.run.name)]).sum(keepdims=True), 19))[0]
    expected, factor = _expected(draws, changed[scorer.key.question], old, new, luck)
    prior = 2 * (factor * CHANGE["build"]) ** 2 * max(1 - _likeness(scorer, old, new, changed), LEAST) / share**2
    variance = min(variance, before)
    told = 1 / variance - 1 / before  # by verdicts
    after = 1 / (told + 1 / prior)
    target = after * (mean / variance + expected / prior) + np.sqrt(after / variance) * (delta - mean)
    spread = max(float(delta.var()), LEAST)
    # Not a product of matrices, whose last bits depend on where in memory they lie.
    slope = ((delta - delta.mean())[:, None] * (drawn - drawn.mean(axis=0))).mean(axis=0) / spread
    return np.asarray(drawn + np.outer(target - delta, np.nan_to_num(slope)))


def _expected(
    draws: SmoothDraws, changed: Bools, old: MatchedRun, new: MatchedRun, luck: Vector
) -> tuple[Vector, float]:
    """γ m in each draw; and by what factor σ is smaller, because judges read the answers. Where one did, what it says
    of both counts and not their words, with a γ of its own."""
    fit, both = draws.fit, changed & (old.best >= 0) & (new.best >= 0)
    if not both.any():
        return 0 * luck, 1.0
    said = [place for place, name in enumerate(fit.names) if name.endswith(SAYS_YES)]
    words = [place for place, name in enumerate(fit.names) if name in USUAL or name == "responses"]
    clues = [run.clues[both] for run in (old, new)]
    unread = np.minimum(clues[0][:, 0], clues[1][:, 0])
    change = clues[1] - clues[0]
    by_words = float((unread * (change[:, words] @ fit.b[words])).mean())
    by_judges = float(((1 - unread) * (change[:, said] @ fit.b[said])).mean())
    of_words, of_judges = (factor + doubt * luck for factor, doubt in (CHANGE["words"], CHANGE["judges"]))
    read = 1 - float(unread.mean())
    return of_words * by_words + of_judges * by_judges, 1 - read * (1 - CHANGE["read"])


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
