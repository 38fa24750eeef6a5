"""Two builds drawn together, given what the words of both say about the difference between them.

The model believes that a build departs from its system by w ~ N(0, σ_w²), whatever its answers look like. But the
answers of both builds say more. If the words of the new answers match better overall, the build is better by more than
the pairs say one by one: real changes move words and facts together, as between the systems of a public collection and
in nights made of their answers (experiments/nights.py). And answers in nearly the same words leave less room for a
difference. For two builds,

    m     the mean change of b · x (words only) over the answers that changed, and e its standard error, which is
          itself uncertain if few answers changed, so the error is Student's t
    room  2 (1 − l) / s², with the share s of the answers that changed and their likeness l, the mean cosine of their
          words: a change of few answers may be as large as one of all

the words have really changed by μ ~ N(0, V room), and m measures μ with the error e. The difference of the builds, δ =
w(new) − w(old), is N(γ μ, σ² room), with γ itself uncertain. Where judges read both builds, what they say counts, with
a γ, σ and V of their own. All come from nights of public collections (experiments/changes.py). Verdicts say the same
about δ as before. δ has a normal posterior, so its draws are moved and stretched to the new one, and everything
correlated with δ moves along (`SmoothDraws.given`). Both runs are drawn from the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import compress

import numpy as np
import scipy

from nuggeteer.records import AnswerKey, Bools, Ints, Matrix, Run, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.outcomes import Outcome
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.units import BestPairs
from nuggeteer.text import verdict_form
from nuggeteer.thresholds.model import size_of
from nuggeteer.thresholds.prior import SAYS_YES, USUAL
from nuggeteer.thresholds.public_prior import CHANGE, FEW
from nuggeteer.thresholds.rows import joined, key_of, random_rows
from nuggeteer.thresholds.smooth import SmoothDraws, SmoothFit

LEAST = 1e-6
SHARES = (np.arange(64) + 0.5) / 64  # quantiles that stand for a distribution


@dataclass(frozen=True)
class Measurement:
    """The mean over some questions of how much something has changed, and its squared standard error, which has one
    degree of `freedom` less than there are questions."""

    mean: float
    error: float
    freedom: int

    @classmethod
    def of(cls, values: Vector, question: Ints) -> Measurement:
        mean, (_, own) = float(values.mean()), np.unique(question, return_inverse=True)
        apart = np.bincount(own, values - mean)
        count = len(apart)
        error = float((apart**2).sum() / len(values) ** 2 * count / (count - 1)) if count > 1 else np.inf
        return cls(mean, error, max(count - 1, 1))


@cache
def _precisions(freedom: float) -> Vector:
    """Of the normal errors whose mixture is Student's t, relative to the one that was seen."""
    return np.asarray(2 * scipy.special.gammaincinv(freedom / 2, SHARES) / freedom)


def real_change(mean: Vector, error: Vector, freedom: Vector, variance: Vector | float) -> tuple[Vector, Vector]:
    """The mean and the variance of each μ ~ N(0, `variance`), given its measurement. Student's t is a mixture of normal
    errors, and after a surprising mean the wide ones are the likely ones. So two answers in quite other words do not
    say that all has become worse."""
    variance, (known, place) = np.broadcast_to(variance, mean.shape)[:, None], np.unique(freedom, return_inverse=True)
    total = variance + error[:, None] / np.stack([_precisions(freedom) for freedom in known.tolist()])[place]
    surprise = np.where(np.isinf(total), 0.0, np.log(total) + mean[:, None] ** 2 / total)
    weight = np.exp(0.5 * (surprise.min(axis=1, keepdims=True) - surprise))
    weight /= weight.sum(axis=1, keepdims=True)
    reliable = variance / total
    expected = mean * (weight * reliable).sum(axis=1)
    second = variance * (1 - reliable) + (reliable * mean[:, None]) ** 2
    return expected, (weight * second).sum(axis=1) - expected**2


@dataclass(frozen=True)
class DrawnPair:
    """Two runs drawn together. `alike` marks the questions to which both return the same texts, however often, and
    `identical` those with equal counts and lengths too."""

    old: Outcome
    new: Outcome
    alike: Bools
    identical: Bools


def drawn_pair(scorer: Scorer, old: MatchedRun, new: MatchedRun) -> DrawnPair:
    """Both runs, given the words of both."""
    return scorer.once((old, new), lambda: _drawn_pair(scorer, old, new))


def _drawn_pair(scorer: Scorer, old: MatchedRun, new: MatchedRun) -> DrawnPair:
    alike, identical = same_texts(scorer.key, old, new)
    old, new = _with_one_owner(old, new, alike), _with_one_owner(new, old, alike)
    draws = None
    if not (old.decided and new.decided) and isinstance(scorer.draws, SmoothDraws):
        contrast = contrast_of(scorer, old, new, alike)
        if contrast is not None:
            draws = _given(scorer.draws, scorer.seed, old, new, contrast)
    return DrawnPair(scorer.find(old, draws), scorer.find(new, draws), alike, identical)


def _with_one_owner(run: MatchedRun, other: MatchedRun, alike: Bools) -> MatchedRun:
    """The run. If it is from the history, its answers that a later build gives too belong to that build: no file shows
    who gave them first."""
    if run.run.recorded is None or (other.run.recorded is not None and other.run.recorded <= run.run.recorded):
        return run
    same = {question: other.owners.get(question, other.build) for question in np.flatnonzero(alike).tolist()}
    return replace(run, owners={**run.owners, **same})


def same_texts(key: AnswerKey, first: MatchedRun, second: MatchedRun) -> tuple[Bools, Bools]:
    """The questions to which both return the same texts, however often; and those with equal counts and lengths too."""
    alike, identical = np.zeros((2, len(key.questions)), dtype=bool)
    for question in range(len(key.questions)):
        texts = [sorted(forms_of(matched.run, question)) for matched in (first, second)]
        alike[question] = set(texts[0]) == set(texts[1])
        identical[question] = texts[0] == texts[1]
    return alike, identical & (first.length == second.length)


def forms_of(run: Run, question: int) -> Iterator[str]:
    """The verdict forms of an answer's responses that have words."""
    own = run.own(question)
    return map(verdict_form, compress(run.texts[own], run.speaks[own]))


@dataclass(frozen=True)
class Contrast:
    """Two builds side by side: how much what words and judges say (b · x) has changed, over the answers that changed;
    the share of them that judges `read`; and `share` and `likeness`, which are s and l."""

    words: Measurement
    judges: Measurement
    read: float
    share: float
    likeness: float

    @property
    def room(self) -> float:
        """How much room there is for a difference."""
        return 2 * max(1 - self.likeness, LEAST) / self.share**2


@dataclass(frozen=True)
class BelievedChange:
    """What is believed about δ, given how much words or judges have changed: γ and its standard deviation, σ, V."""

    factor: float
    doubt: float
    spread: float
    moved: float

    def given(self, measured: Measurement, room: float, luck: Vector) -> tuple[Vector, float]:
        """The mean of δ, for each γ, and its variance, wider than those of public collections, because they are few."""
        mean, error, freedom = np.array([measured.mean, measured.error, measured.freedom])[:, None]
        (moved,), (variance,) = real_change(mean, error, freedom, self.moved * room)
        own = self.factor**2 * variance + self.spread**2 * room
        return (self.factor + self.doubt * luck) * moved, FEW * float(own)


def contrast_of(scorer: Scorer, old: MatchedRun, new: MatchedRun, alike: Bools) -> Contrast | None:
    """None if no answer changed that both builds give. Verdicts have no part in it: the words of answers that were read
    count like those of others."""
    fit, answered = scorer.model, [run.run.answered for run in (old, new)]
    changed = ~alike & answered[0] & answered[1]
    if not changed.any() or not isinstance(fit, SmoothFit):
        return None
    share = float(changed.sum() / (answered[0] | answered[1]).sum())
    before, after = (_clues(scorer, run, changed) for run in (old, new))
    judges = [place for place, name in enumerate(fit.names) if name.endswith(SAYS_YES)]
    words = [place for place, name in enumerate(fit.names) if name in USUAL or name == "responses"]
    unread, change = np.minimum(before[:, 0], after[:, 0]), after - before
    question = scorer.key.question[changed[scorer.key.question]]
    by_words = Measurement.of(unread * (change[:, words] @ fit.b[words]), question)
    by_judges = Measurement.of((1 - unread) * (change[:, judges] @ fit.b[judges]), question)
    return Contrast(by_words, by_judges, 1 - float(unread.mean()), share, _likeness(scorer, old, new, changed))


def _clues(scorer: Scorer, matched: MatchedRun, changed: Bools) -> Matrix:
    """nuggets × clues of the answers to some questions, whatever was judged, without what is carried over."""
    key, run, matcher = scorer.key, matched.run, scorer.matcher
    rows = np.flatnonzero(changed[run.question] & run.speaks)
    texts, question = [run.normalised_texts[row] for row in rows.tolist()], run.question[rows]
    found, (_, nugget) = (
        matcher.match(texts, question, scorer.jobs),
        key.pairs(question),
    )
    scored = np.flatnonzero(~np.isnan(found.scores))
    own = BestPairs.of(nugget[scored], scored, found.scores, None, matcher.opinions(texts, question))
    size = size_of(np.repeat(matched.characters[rows], key.counts[question])[own.pair])
    result = np.zeros((len(key.nuggets), len(matched.names)))
    result[own.cell] = own.clues(found.clues[own.pair], size)
    return result[changed[key.question]]


def _given(draws: SmoothDraws, seed: int, old: MatchedRun, new: MatchedRun, contrast: Contrast) -> SmoothDraws:
    delta = (draws.level(new.build) - draws.level(old.build)).astype(float)
    mean, variance, before = draws.fit.difference(old.build, new.build)
    rows = random_rows(draws.count, seed)
    luck = rows.normal(joined(np.array([key_of(old.run.name), key_of(new.run.name)]).sum(keepdims=True), 19))[0]
    sources = (CHANGE["words"], contrast.words, 1 - contrast.read), (CHANGE["judges"], contrast.judges, contrast.read)
    expected, prior = np.zeros(draws.count), 0.0
    for believed, measured, weight in sources:
        if weight:
            own, doubt = BelievedChange(*believed).given(measured, contrast.room, luck)
            expected, prior = expected + own, prior + weight * doubt
    variance = min(variance, before)
    told = 1 / variance - 1 / before  # by verdicts
    after = 1 / (told + 1 / prior)
    target = after * (mean / variance + expected / prior) + np.sqrt(after / variance) * (delta - mean)
    return draws.given(old.build, new.build, target - delta)


def _likeness(scorer: Scorer, old: MatchedRun, new: MatchedRun, changed: Bools) -> float:
    """The mean cosine of the words and pairs of words of two answers."""
    cosines, questions = [], np.flatnonzero(changed)
    grams = scorer.material.grams.read(
        [
            "\n".join(run.run.normalised_texts[run.run.own(question)])
            for question in questions.tolist()
            for run in (old, new)
        ]
    )
    for place in range(0, 2 * len(questions), 2):
        one, other = (slice(*grams.begin[i : i + 2]) for i in (place, place + 1))
        _, here, there = np.intersect1d(grams.code[one], grams.code[other], True, return_indices=True)
        # A sum in the order of codes: the change back is this change with the other sign, to the bit.
        cosines.append(float((grams.share[one][here] * grams.share[other][there]).sum()))
    return float(np.mean(cosines))
