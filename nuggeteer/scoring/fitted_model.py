"""The threshold model that the settings name, fitted to the collection's judgements.

The user of Nuggeteer chooses a model from another package, not the collection. It is one that they installed (an entry
point of the group `nuggeteer.models`), or a `package.module:make` that their environment variable NUGGETEER_MODELS or
their command line names too. `make` is called with the evidence and returns a `ThresholdModel`.

`.nuggeteer/thresholds` holds the last fit of the default model: named arrays and one line of text, the signature of
everything that it was fitted on. If that differs, or if the file is damaged, of another version or of another user
(formats/cache.py), the model is fitted again, and a note says so. The file can be deleted at any time.
"""

from __future__ import annotations

from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from nuggeteer.collection.folder import Collection
from nuggeteer.errors import InputError, NuggeteerError, did_you_mean
from nuggeteer.formats.cache import FOLDER, DamagedFile, pack_arrays, read_cache, unpack_arrays, write_cache
from nuggeteer.matching.base import Matcher
from nuggeteer.scoring.evidence import gather_evidence, prior_of
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.settings import ALLOWED_MODELS, THRESHOLDS, Threshold, installed_models, users_own
from nuggeteer.thresholds import Evidence, FixedThreshold, ThresholdModel
from nuggeteer.thresholds.propagation import fit_smooth
from nuggeteer.thresholds.smooth import SmoothFit

FORMAT = "nuggeteer thresholds 11"
NAME = "thresholds"
LARGEST = 2_000_000_000  # bytes of the file


def signature_of_fit(matcher: Matcher) -> str:
    """What a fit depends on besides its evidence, for the signature of scores."""
    digest = blake2b(prior_of(matcher).signature.encode(), digest_size=4).hexdigest()
    return f"smooth({FORMAT.rpartition(' ')[2]},prior={digest})"


def fit_thresholds(
    collection: Collection, matcher: Matcher, known: VerdictIndex, basis: str, jobs: int = 1
) -> tuple[SmoothFit, list[str]]:
    """The default model for this collection, from the cache if it is still valid; and notes for the user."""
    notes: list[str] = []
    prior = prior_of(matcher)
    basis = f"{FORMAT}|{basis}|{prior.signature}"
    try:
        body = read_cache(collection.root, NAME, LARGEST)
        if body is not None:
            stored, arrays = unpack_arrays(body)
            fit = SmoothFit.from_arrays(arrays)
            if stored == basis:
                return fit, notes
            notes.append("The judgements or settings have changed: the thresholds were fitted again.")
    except (DamagedFile, KeyError, ValueError, TypeError):
        path = collection.root / FOLDER / NAME
        notes.append(f"{path} was damaged or made by another user: the thresholds were fitted again.")
    fit = fit_smooth(gather_evidence(collection, matcher, known, jobs), prior)
    try:
        write_cache(collection.root, NAME, pack_arrays(basis, fit.arrays()))
    except InputError as error:
        problem = error.problems[0]
        notes.append(f"{problem.file} {problem.what}: the thresholds will be fitted every time.")
    return fit, notes


NOBODY = "No verdicts yet, so everything is guessed. Begin with: nuggeteer judge RUN"


def deciding_model(
    collection: Collection, matcher: Matcher, known: VerdictIndex, basis: str, jobs: int = 1
) -> tuple[ThresholdModel, list[str]]:
    """The model, and notes for the user. `basis` is all that a fit depends on."""
    settings = collection.settings.threshold
    if settings.model == "fixed":
        return FixedThreshold(settings.value), []
    if settings.model == "smooth" and settings.engine == "exact":
        model, notes = fit_thresholds(collection, matcher, known, basis, jobs)
        return model, [*notes, NOBODY] if model.pairs == 0 else notes
    evidence = gather_evidence(collection, matcher, known, jobs, unit_of(settings))
    nobody = [] if len(evidence) else [NOBODY]
    if settings.engine == "pymc":
        from nuggeteer.scoring.sampling import sampled

        drawn = sampled(settings.model, collection, matcher, evidence, basis)
        return drawn.model, [*drawn.quality.warnings, *nobody]
    return fitted_to(evidence, settings, matcher), nobody


def unit_of(settings: Threshold) -> Literal["answer", "response"]:
    """What the model of the settings learns from: the paper's learn from single responses."""
    return "answer" if settings.model == "smooth" else "response"


def model_for(collection: Collection, matcher: Matcher, known: VerdictIndex) -> ThresholdModel:
    """The model of the settings, by our own engine, for a collection that differs from the one on disk."""
    settings = collection.settings.threshold
    return fitted_to(gather_evidence(collection, matcher, known, 1, unit_of(settings)), settings, matcher)


def signature_of_model(settings: Threshold, matcher: Matcher) -> str | None:
    """The model's part of the signature of scores, without a fit; None if only the fitted model knows."""
    if settings.engine == "pymc":
        return f"pymc-{settings.model}({_pymc()})"
    if settings.model == "smooth":
        return signature_of_fit(matcher)
    from nuggeteer.thresholds import noisy

    return f"{settings.model}({noisy.VERSION})" if settings.model in noisy.NAMES else None


def _pymc() -> str:
    try:
        return version("pymc")
    except PackageNotFoundError:
        return "not installed"


def fitted_to(evidence: Evidence, settings: Threshold, matcher: Matcher) -> ThresholdModel:
    """The model of the settings, fitted to such evidence."""
    if settings.model == "fixed":
        return FixedThreshold(settings.value)
    if settings.model == "smooth":
        return fit_smooth(evidence, prior_of(matcher))
    from nuggeteer.thresholds import noisy

    if settings.model in noisy.NAMES:
        return noisy.fit_noise_model(settings.model, evidence)
    return _of_users_own(settings.model, evidence)


def _of_users_own(name: str, evidence: Evidence) -> ThresholdModel:
    try:
        model = _maker(name)(evidence)
    except NuggeteerError:
        raise
    except Exception as error:  # the code of another package may raise anything
        raise NuggeteerError(f"the threshold model {name!r} cannot be made: {error!r}") from error
    missing = [part for part in ("signature", "threshold", "draw") if not hasattr(model, part)]
    if missing:
        has = f"{type(model).__name__}, which has no {', '.join(missing)}"
        raise NuggeteerError(f"the threshold model {name!r} is a {has} (docs/guides/models.md)")
    checked: ThresholdModel = model
    return checked


def _maker(name: str) -> Any:
    if name in (installed := installed_models()):
        return installed[name].load()
    if ":" not in name:
        known = (*THRESHOLDS, *installed)
        listed = f"{did_you_mean(name, known)}there are {', '.join(known)}"
        raise NuggeteerError(f"there is no threshold model {name!r}; {listed}")
    return users_own("model", name, ALLOWED_MODELS, "--model")
