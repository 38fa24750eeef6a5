"""Threshold models that PyMC samples (`[threshold] engine = "pymc"`), and their draws, which are cached.

Sampling takes a minute or more, so `.nuggeteer/sampled` keeps the draws and what is known of their quality. They are
drawn again when anything differs that they depend on (formats/cache.py).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.fields import Count, Part
from nuggeteer.formats.cache import DamagedFile, pack_arrays, read_cache, unpack_arrays, write_cache
from nuggeteer.matching.base import Matcher
from nuggeteer.records import Vector
from nuggeteer.scoring.evidence import prior_of
from nuggeteer.settings import SAMPLED
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.sampled import SampledModel, SampledSmooth, draw_thresholds, from_posterior

FORMAT = "nuggeteer sampled 1"
NAME = "sampled"
LARGEST = 2_000_000_000  # bytes of the cached draws
SEED, DRAWS, CHAINS = 1, 1000, 4
GOOD_R_HAT, GOOD_EFFECTIVE = 1.01, 400  # Vehtari et al. 2021


Notify = Callable[[int, int], None]  # told how many draws are done, and of how many
# How a command shows that it takes long, wherever it turns out to need the draws.
progress: ContextVar[Callable[[str], AbstractContextManager[Notify | None]]] = ContextVar(
    "progress", default=lambda what: nullcontext()
)


class DrawsQuality(Part):
    """How good PyMC's draws are."""

    r_hat: float  # the largest
    effective: float  # the smallest effective number of draws
    divergences: Count  # divergent transitions
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, r_hat: float, effective: float, divergences: int) -> DrawsQuality:
        warnings = []
        if not r_hat <= GOOD_R_HAT:
            warnings.append(f"PyMC's chains do not agree: R̂ is {r_hat:.3f}, and should be at most {GOOD_R_HAT}.")
        if not effective >= GOOD_EFFECTIVE:
            what = f"PyMC's draws say as much as {effective:.0f} independent ones"
            warnings.append(f"{what}; {GOOD_EFFECTIVE} are wanted.")
        if divergences:
            what = f"{divergences} of PyMC's transitions diverged"
            warnings.append(f"{what}, so the draws may miss a part of the posterior.")
        return cls(r_hat, effective, divergences, tuple(warnings))


@dataclass(frozen=True)
class Sampled:
    """A sampled model, the draws of its parameters, and how good they are."""

    model: SampledModel | SampledSmooth
    posterior: dict[str, Vector]
    quality: DrawsQuality


def sampled(
    name: str,
    collection: Collection,
    matcher: Matcher,
    evidence: Evidence,
    basis: str,
) -> Sampled:
    """The model of this name by PyMC, from the cache if it is still valid. `basis` is all that a fit depends on."""
    if name not in SAMPLED:
        raise NuggeteerError(f"PyMC does not have the model {name!r}; it samples {', '.join(SAMPLED)}")
    prior = prior_of(matcher)
    basis = f"{FORMAT}|{name}|{basis}|{prior.signature}"
    with suppress(DamagedFile):
        body = read_cache(collection.root, NAME, LARGEST)
        stored, arrays = ("", {}) if body is None else unpack_arrays(body)
        if stored == basis:
            quality = arrays.pop("quality")
            posterior = {key.removeprefix("draws_"): array for key, array in arrays.items()}
            return Sampled(from_posterior(name, evidence, posterior), posterior, _quality(quality))
    try:
        from nuggeteer.thresholds import pymc_models
    except ImportError as error:
        raise NuggeteerError(
            "the engine 'pymc' needs the packages pymc and arviz: pip install 'nuggeteer[pymc]', or leave engine out"
        ) from error
    with progress.get()("draws by PyMC") as notify, _quiet():
        built = pymc_models.build(name, evidence, prior)
        idata = pymc_models.sample(built, SEED, draws=DRAWS, chains=CHAINS, notify=notify)
    found = pymc_models.diagnose(idata)
    posterior = pymc_models.posterior_of(idata)
    if name != "smooth":
        theta = draw_thresholds(name, evidence, posterior, SEED)
        posterior = {"alpha": posterior["alpha"], "beta": posterior["beta"], "theta": theta}
    quality = np.array([found.r_hat, found.effective, found.divergences], dtype=float)
    with suppress(InputError):  # a folder that is read-only: the next time takes as long
        arrays = {"quality": quality, **{f"draws_{key}": array for key, array in posterior.items()}}
        write_cache(collection.root, NAME, pack_arrays(basis, arrays))
    return Sampled(from_posterior(name, evidence, posterior), posterior, _quality(quality))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without this, PyMC reports each step that it takes, and libraries that would make it faster."""
    log = logging.getLogger("pymc")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        log.setLevel(level)


def _quality(quality: Vector) -> DrawsQuality:
    return DrawsQuality.of(float(quality[0]), float(quality[1]), int(quality[2]))
