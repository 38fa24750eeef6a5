"""What the threshold model learns from, and the model fitted on it, remembered in the collection.

`.nuggeteer/thresholds.npz` holds the last fit: named arrays and one line of text, the signature of all that
it was fitted on. Whenever that differs, or the file is damaged or of another version, the model is fitted
anew, with a word. Deleting the file costs a second or two and nothing else.
"""

from __future__ import annotations

import io
import zipfile
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import numpy as np

from nuggeteer.collection import Collection
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.jsonl import write_whole
from nuggeteer.judging import UNKNOWN, YES, Known
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.measures.base import per_question, ratio
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Vector
from nuggeteer.text import length
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import Evidence, size_of
from nuggeteer.thresholds.prior import PRIOR
from nuggeteer.thresholds.smooth import SmoothFit

FORMAT = "nuggeteer thresholds 2"


def gather(collection: Collection, matcher: NgramMatcher, known: Known, jobs: int = 1) -> Evidence:
    """All pairs that humans decided. A text that several systems returned counts once."""
    key = collection.key
    scores = matcher.score(known.texts, known.question, jobs)
    begin, nugget = ragged(key.offsets[known.question], key.counts[known.question])
    groups = [collection.group(run) for run in known.runs]
    names = tuple(sorted(set(groups)))
    number = {name: i for i, name in enumerate(names)}
    group = np.repeat(np.array([number[name] for name in groups], dtype=np.int64), np.diff(begin))
    size = np.repeat(size_of(np.array([length(text) for text in known.texts], dtype=np.int64)), np.diff(begin))
    evidence = Evidence(scores, size, known.states == YES, nugget, group, names, key.question, weights_in_recall(key))
    return evidence.only(known.states != UNKNOWN)


def weights_in_recall(key: AnswerKey) -> Vector:
    """What each nugget adds to its question's recall: of the pyramid's weights, or of the vital nuggets."""
    weight = key.weight if key.weighted else key.vital.astype(float)
    return ratio(weight, per_question(weight, key)[key.question], otherwise=0.0)


def fitted(
    collection: Collection, matcher: NgramMatcher, known: Known, basis: str, jobs: int = 1
) -> tuple[SmoothFit, list[str]]:
    """The smooth model for this collection, from the file if that still fits; and what to tell of it."""
    path = collection.root / ".nuggeteer" / "thresholds.npz"
    notes: list[str] = []
    basis = f"{FORMAT}|{basis}|{PRIOR.signature}"
    if path.is_file():
        try:
            stored, fit = load(path)
            if stored == basis:
                return fit, notes
            notes.append("The judgements or settings have changed: the thresholds were fitted anew.")
        except DamagedFile:
            notes.append(f"{path} was damaged: the thresholds were fitted anew.")
    fit = fit_smooth(gather(collection, matcher, known, jobs), PRIOR)
    try:
        save(path, basis, fit)
    except NuggeteerError:
        notes.append(f"{path} cannot be written: the thresholds will be fitted every time.")
    return fit, notes


class DamagedFile(NuggeteerError):
    """A file of ours that is not what we wrote."""


def save(path: Path, basis: str, fit: SmoothFit) -> None:
    """Write a fit. A folder of its own keeps it out of version control."""
    arrays = {field.name: np.asarray(getattr(fit, field.name)) for field in fields(fit)}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, basis=np.asarray(basis), **arrays)
    write_whole(path, lambda file: file.write(buffer.getvalue()))
    ignore = path.parent / ".gitignore"
    if not ignore.exists():
        with suppress(NuggeteerError):
            write_whole(ignore, lambda file: file.write(b"*\n"))


def load(path: Path) -> tuple[str, SmoothFit]:
    """Read what `save` wrote: (what it was fitted on, the fit). Nothing in the file is executed."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            basis = str(stored["basis"])
            values = {field.name: stored[field.name] for field in fields(SmoothFit)}
        return basis, SmoothFit.from_arrays(values)
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFile(f"{path}: {error}") from error
