"""How reliable the guesses are: the threshold models compared, and the probabilities of guesses on systems left out
compared with the human verdicts.

Fitting every model six times is slow. So at most `NUGGETS` nuggets, drawn at random, are used, with all their judged
pairs, at most `PAIRS`. The result is cached in the collection, in `.nuggeteer/reliability`. The file is computed again
when key, judgements or settings have changed, or when it is damaged or was made by another user (formats/cache.py); it
can be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import orjson

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.cache import read_cache, write_cache
from nuggeteer.records import Bools, Vector
from nuggeteer.scoring.evidence import gather_evidence, prior_of
from nuggeteer.scoring.scorer import Scorer, Thresholds
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.selection import ComparedModel, compare

FORMAT = "nuggeteer reliability 1"
NAME = "reliability"
LARGEST = 10_000_000  # bytes of the cached report, which has some thousand
NUGGETS = 250
PAIRS = 5_000
BINS = 10


@dataclass(frozen=True)
class Bin:
    """Pairs whose chances lie between `low` and `high`: how many, their mean chance, and the share that is a yes."""

    low: float
    high: float
    pairs: int
    chance: float
    yes: float


@dataclass(frozen=True)
class Reliability:
    """The model of the settings on systems that it has not seen; bins without pairs are not listed. `error` is the
    expected calibration error: the mean distance of `chance` and `yes`, by pairs."""

    bins: tuple[Bin, ...]
    brier: float
    error: float


@dataclass(frozen=True)
class TrustReport:
    """`reliability` is None where there are fewer than two groups of systems, so that none can be left out.
    `nuggets` of the `judged` nuggets were used."""

    nuggets: int
    judged: int
    thresholds: Thresholds
    reliability: Reliability | None


def trust(scorer: Scorer, notify: Callable[[str], None] = lambda line: None) -> TrustReport | None:
    """How far a collection's scores can be trusted, None without judgements. `notify` is called before long work."""
    prior = prior_of(scorer.matcher)
    settings = scorer.collection.settings.threshold
    basis = f"{FORMAT}|{scorer.signature.basis}|{prior.signature}|{settings.model}"
    with suppress(ValueError, KeyError, TypeError, AttributeError, NuggeteerError):
        body = read_cache(scorer.collection.root, NAME, LARGEST)
        if body is not None and (stored := orjson.loads(body))["basis"] == basis:
            return _trust(stored["trust"])
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
    # None of a model without chances, and of a user's own.
    chance = (found.held_out or {}).get(settings.model)
    guesses = None if chance is None else reliability(chance, evidence.yes)
    result = TrustReport(len(np.unique(evidence.nugget)), judged, thresholds, guesses)
    body = orjson.dumps({"basis": basis, "trust": asdict(result)})
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
        Bin(i / BINS, (i + 1) / BINS, int(own.sum()), float(chance[own].mean()), float(yes[own].mean()))
        for i in range(BINS)
        if (own := bin_of_pair == i).any()
    )
    error = sum(bin_.pairs * abs(bin_.chance - bin_.yes) for bin_ in bins) / len(chance)
    return Reliability(bins, float(((chance - yes) ** 2).mean()), error)


def _trust(stored: Any) -> TrustReport:
    """The cached report; a ValueError, KeyError or TypeError if the file has another form."""
    models = tuple(
        ComparedModel(
            one["name"],
            str(one["own_parameters"]),
            float(one["log10_evidence"]),
            _number(one["log_score"]),
            float(one["seconds"]),
        )
        for one in stored["thresholds"]["models"]
    )
    pairs, positive, groups = (int(stored["thresholds"][name]) for name in ("pairs", "positive", "groups"))
    kept = stored["reliability"]
    bins = tuple(
        Bin(float(one["low"]), float(one["high"]), int(one["pairs"]), float(one["chance"]), float(one["yes"]))
        for one in (kept["bins"] if kept else ())
    )
    return TrustReport(
        int(stored["nuggets"]),
        int(stored["judged"]),
        Thresholds(pairs, positive, groups, models, str(stored["thresholds"]["chosen"])),
        Reliability(bins, float(kept["brier"]), float(kept["error"])) if kept else None,
    )


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
