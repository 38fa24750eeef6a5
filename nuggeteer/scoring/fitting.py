"""The default model fitted to a collection's verdicts, and kept in the collection.

`.nuggeteer/thresholds` holds the last fit: named arrays and one line of text, the signature of all that it was fitted
on. Whenever that differs, or the file is damaged, of another version or of another user (formats/cache.py), the model
is fitted again, and a note says so. The file can be deleted at any time.
"""

from __future__ import annotations

import io
import zipfile
from hashlib import blake2b

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.errors import InputError
from nuggeteer.formats.cache import FOLDER, DamagedFile, read_cache, write_cache
from nuggeteer.matching.base import Matcher
from nuggeteer.scoring.evidence import gather_evidence, prior_of
from nuggeteer.scoring.known import VerdictIndex
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
            stored, fit = unpack_fit(body)
            if stored == basis:
                return fit, notes
            notes.append("The judgements or settings have changed: the thresholds were fitted again.")
    except DamagedFile:
        path = collection.root / FOLDER / NAME
        notes.append(f"{path} was damaged or made by another user: the thresholds were fitted again.")
    fit = fit_smooth(gather_evidence(collection, matcher, known, jobs), prior)
    try:
        write_cache(collection.root, NAME, pack_fit(basis, fit))
    except InputError as error:
        problem = error.problems[0]
        notes.append(f"{problem.file} {problem.what}: the thresholds will be fitted every time.")
    return fit, notes


def pack_fit(basis: str, fit: SmoothFit) -> bytes:
    """A fit and what it was fitted on, for the file."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, basis=np.asarray(basis), **fit.arrays())
    return buffer.getvalue()


def unpack_fit(body: bytes) -> tuple[str, SmoothFit]:
    """What `pack_fit` made. Only what `read_cache` has found to be ours comes here; nothing in it is executed."""
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as stored:
            return str(stored["basis"]), SmoothFit.from_arrays(stored)
    except (OSError, KeyError, ValueError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFile(f"a fit of another form: {error}") from error
