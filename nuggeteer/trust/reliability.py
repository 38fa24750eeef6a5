"""How good guesses are where the truth is known, and how far to trust them where it is not: the threshold models
compared, and the probabilities of guesses on systems left out compared with the human verdicts.

Fitting every model six times is slow. So at most `NUGGETS` nuggets, drawn at random, are used, with all their judged
pairs, at most `PAIRS`. The result is cached in the collection, in `.nuggeteer/reliability`. It is computed again if
key, judgements or settings have changed, or if the file is damaged or was made by another user (formats/cache.py). The
file can be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import orjson
from msgspec import convert, to_builtins

from nuggeteer.display import Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.fields import Count, Number, OrNaN, Part, about
from nuggeteer.formats.cache import read_cache, write_cache
from nuggeteer.records import Bools, Vector, number_or_none
from nuggeteer.scoring.evidence import gather_evidence, prior_of
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.coefficients import contingency_tables, kappa
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.selection import Thresholds, compare

FORMAT = "nuggeteer reliability 2"
NAME = "reliability"
LARGEST = 10_000_000  # bytes of the cached report, which has some thousand
NUGGETS = 250
PAIRS = 5_000
BINS = 10


class CalibrationBin(Part):
    """Pairs whose chances lie between `low` and `high`."""

    low: float
    high: float
    pairs: Count
    chance: Annotated[OrNaN, about("Their mean.")]
    yes: Annotated[OrNaN, about("The share that people call a yes.")]


class Reliability(Part):
    """How far probabilities can be believed for systems that the model has not seen."""

    bins: tuple[CalibrationBin, ...]  # those without pairs are not listed
    brier: Annotated[float, about("The mean squared error of the probabilities.")]
    # The mean distance of `chance` and `yes`, by pairs.
    error: Annotated[float, about("The expected calibration error.")]


@dataclass(frozen=True)
class TrustReport:
    """`reliability` is None if there are fewer than two groups of systems, so that none can be left out. `nuggets` of
    the `judged` nuggets were used."""

    nuggets: int
    judged: int
    thresholds: Thresholds
    reliability: Reliability | None


def trust(scorer: Scorer, notify: Callable[[str], None] = lambda line: None) -> TrustReport | None:
    """How far a collection's scores can be trusted; None without judgements. `notify` is called before long work."""
    prior = prior_of(scorer.matcher)
    settings = scorer.collection.settings.threshold
    basis = f"{FORMAT}|{scorer.signature.basis}|{prior.signature}|{settings.model}"
    with suppress(ValueError, KeyError, TypeError, AttributeError, NuggeteerError):
        body = read_cache(scorer.collection.root, NAME, LARGEST)
        if body is not None and (stored := orjson.loads(body))["basis"] == basis:
            return convert(stored["trust"], TrustReport)
    evidence = gather_evidence(
        scorer.collection, scorer.matcher, scorer.known, scorer.jobs, "response", carried_over=False
    )
    if not len(evidence):
        return None
    judged = len(np.unique(evidence.nugget))
    if judged > NUGGETS or len(evidence) > PAIRS:
        evidence = evidence.only(some_nuggets(evidence))
    notify(f"Comparing the threshold models on {len(evidence):,} judged pairs; it is remembered until these change.")
    found = compare(evidence, prior)
    thresholds = Thresholds(
        len(evidence), int(evidence.yes.sum()), len(np.unique(evidence.group)), tuple(found.models), found.chosen
    )
    # None for a model without chances, and for a user's own.
    chance = (found.held_out or {}).get(settings.model)
    guesses = None if chance is None else reliability(chance, evidence.yes)
    result = TrustReport(len(np.unique(evidence.nugget)), judged, thresholds, guesses)
    body = orjson.dumps({"basis": basis, "trust": to_builtins(result)})
    with suppress(NuggeteerError):  # if the folder is read-only, the next time takes as long
        write_cache(scorer.collection.root, NAME, body)
    return result


def some_nuggets(evidence: Evidence) -> Bools:
    """The pairs of nuggets drawn at random, within the limits, but at least one nugget."""
    counts = np.bincount(evidence.nugget, minlength=evidence.nuggets)
    order = np.random.Generator(np.random.PCG64(0)).permutation(np.flatnonzero(counts))[:NUGGETS]
    fitting = order[: max(int((counts[order].cumsum() <= PAIRS).sum()), 1)]
    return np.isin(evidence.nugget, fitting)


def reliability(chance: Vector, yes: Bools) -> Reliability:
    """Chances against verdicts, in bins of equal width."""
    bin_of_pair = np.minimum((chance * BINS).astype(int), BINS - 1)
    bins = tuple(
        CalibrationBin(i / BINS, (i + 1) / BINS, int(own.sum()), float(chance[own].mean()), float(yes[own].mean()))
        for i in range(BINS)
        if (own := bin_of_pair == i).any()
    )
    error = sum(bin_.pairs * abs(bin_.chance - bin_.yes) for bin_ in bins) / len(chance)
    return Reliability(bins, float(((chance - yes) ** 2).mean()), error)


@dataclass(frozen=True, repr=False)
class Guesses(Shown):
    """Truth and guess of pairs, or of answers. `chance` is NaN if the model gives none. `order` ranks the pairs."""

    true: Bools
    found: Bools
    chance: Vector
    order: Vector
    guessed: Bools

    def only(self, kept: Bools) -> Guesses:
        return Guesses(self.true[kept], self.found[kept], self.chance[kept], self.order[kept], self.guessed[kept])

    @classmethod
    def joined(cls, parts: Sequence[Guesses]) -> Guesses:
        names = ("true", "found", "chance", "order", "guessed")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


class GuessQuality(Part):
    """How good guesses are."""

    # None if undefined: precision if nothing is found, recall if there is no yes, and the last three if the model gives
    # no probabilities.
    n: Count
    positive: Annotated[Count, about("How many are yes in truth.")]
    precision: Number
    recall: Number
    f1: Number
    kappa: Annotated[Number, about("Cohen's, of guesses and truth.")]
    average_precision: Annotated[Number, about("The surest first.")]
    brier: Annotated[Number, about("The mean squared error of the probabilities.")]
    ece: Annotated[Number, about("The expected calibration error.")]
    log_score: Annotated[Number, about("The mean logarithm of the probability of what is true.")]


def quality(guesses: Guesses) -> GuessQuality:
    """The quality of guesses, measured against the truth."""
    true, found, chance = guesses.true, guesses.found, guesses.chance
    n, positive, hits = len(true), int(true.sum()), int((true & found).sum())
    has = bool(n) and not np.isnan(chance).any()
    trust = reliability(chance, true) if has else None
    precision = hits / int(found.sum()) if found.any() else None
    recall = hits / positive if positive else None
    f1 = 2 * hits / (int(found.sum()) + positive) if positive else None
    with np.errstate(divide="ignore"):
        log_score = float(np.log(np.where(true, chance, 1 - chance)).mean()) if has else None
    return GuessQuality(
        n,
        positive,
        precision,
        recall,
        f1,
        number_or_none(float(kappa(contingency_tables(true, found, np.zeros(n, dtype=np.int64), 1)[0]))),
        average_precision(true, guesses.order) if positive else None,
        trust.brier if trust else None,
        trust.error if trust else None,
        log_score if log_score is not None and np.isfinite(log_score) else None,
    )


def average_precision(true: Bools, order: Vector) -> float:
    """Σ (change in recall · precision) over the distinct values of `order`. Pairs with equal values count at once."""
    ranking = np.argsort(-order, kind="stable")
    hits = np.cumsum(true[ranking])
    last = np.append(np.diff(order[ranking]) != 0, True)
    precision = hits[last] / (np.flatnonzero(last) + 1)
    return float((np.diff(hits[last], prepend=0) * precision).sum() / hits[-1])
