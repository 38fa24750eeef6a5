"""Match scores kept from command to command. A new verdict changes those of one question, a new run only its own.

`.nuggeteer/matches` has a file for each run that was scored, and one for the judged texts. In it, each question has a
hash of all that its match scores depend on, which only the matcher knows (`Matcher.depends_on`), and its values as they
were computed, to the last bit. What has another hash is matched again. A file that is damaged or of another user is
ignored and replaced (formats/cache.py); all of them can be deleted at any time.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.cache import DamagedFile, read_cache, write_cache
from nuggeteer.matching.base import Explanation, Judged, Matcher
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Ints, Vector
from nuggeteer.thresholds.model import Opinions

FORMAT = "nuggeteer matches 2"
MOST_PAIRS = 1_000_000  # of a run; more would be a large file
MOST_QUESTIONS = 20_000
LARGEST = 2 * 8 * MOST_PAIRS + 2 * 40 * MOST_QUESTIONS + 10_000  # bytes of a file
HASH = 16
SCORE, CARRIED, LEFT_OUT = KINDS = "score", "carried", "left out"
Values = dict[str, dict[bytes, Vector]]  # by kind and hash
Compute = Callable[[Ints], Vector | None]  # of these rows


def cached(matcher: Matcher, key: AnswerKey, question: npt.NDArray[np.signedinteger], root: Path, run: str) -> Matcher:
    """The matcher, which remembers its scores of the texts of a run, if these are not too many."""
    few = int(key.counts[question].sum()) <= MOST_PAIRS and len(np.unique(question)) <= MOST_QUESTIONS
    return CachedMatcher(matcher, key, root, run) if few else matcher


class CachedMatcher(Matcher):
    """A matcher that remembers its scores of the texts of one run, for the next command too."""

    def __init__(self, matcher: Matcher, key: AnswerKey, root: Path, run: str) -> None:
        self._matcher, self._key, self._root = matcher, key, root
        self._name = f"matches/{blake2b(run.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"
        self._version = version("nuggeteer")
        self._now: Values = {}
        self.uses_judgements = matcher.uses_judgements

    @property
    def signature(self) -> str:
        return self._matcher.signature

    @property
    def scores_overlap(self) -> bool:
        return self._matcher.scores_overlap

    @property
    def notes(self) -> tuple[str, ...]:
        return self._matcher.notes

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        found = self._remembered(
            SCORE, texts, question, lambda rows: self._matcher.score(_at(texts, rows), question[rows], jobs)
        )
        assert found is not None
        return found

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        if self._remembers(judged.question):
            return self.score(judged.texts, judged.question, jobs)
        return self._matcher.score_judged(judged, jobs)

    def carried(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> Vector | None:
        return self._remembered(
            CARRIED, texts, question, lambda rows: self._matcher.carried(_at(texts, rows), question[rows])
        )

    def left_out(self, texts: Sequence[str], question: npt.NDArray[np.int32], group: Sequence[str]) -> Vector | None:
        def compute(rows: Ints) -> Vector | None:
            return self._matcher.left_out(_at(texts, rows), question[rows], _at(group, rows))

        named = [f"{own}\t{text}" for own, text in zip(group, texts, strict=True)]
        return self._remembered(LEFT_OUT, named, question, compute)

    def opinions(self, texts: Sequence[str], question: npt.NDArray[np.signedinteger]) -> Opinions | None:
        return self._matcher.opinions(texts, question)

    def explain(self, text: str, nugget: int) -> Explanation | None:
        return self._matcher.explain(text, nugget)

    def _remembers(self, question: npt.NDArray[np.int32]) -> bool:
        """Whether the values of texts of these questions are kept: only if the matcher says what they depend on."""
        return len(question) > 0 and self._matcher.depends_on(int(question[0]), False) is not None

    @cached_property
    def _stored(self) -> Values:
        with suppress(NuggeteerError):
            body = read_cache(self._root, self._name, LARGEST)
            return {} if body is None else _unpacked(body)
        return {}

    def _remembered(
        self, kind: str, texts: Sequence[str], question: npt.NDArray[np.int32], compute: Compute
    ) -> Vector | None:
        if not self._remembers(question):
            return compute(np.arange(len(texts)))
        counts = self._key.counts[question]
        numbers, place = np.unique(question, return_inverse=True)
        order = np.argsort(place, kind="stable")  # the texts, question by question
        rows = np.split(order, np.cumsum(np.bincount(place))[:-1])
        hashes = [self._hash(kind, number, texts, own) for number, own in zip(numbers.tolist(), rows, strict=True)]
        stored = self._stored.get(kind, {})
        begin, _ = ragged(counts, counts)
        result = np.empty(int(begin[-1]))
        new = np.array([one not in stored for one in hashes])
        if new.any():
            asked = np.flatnonzero(new[place])
            values = compute(asked)
            if values is None:
                return None
            result[ragged(begin[asked], counts[asked])[1]] = values
        known = order[~new[place[order]]]
        if len(known):
            remembered = [stored[one] for one in hashes if one in stored]
            result[ragged(begin[known], counts[known])[1]] = np.concatenate(remembered)
        in_order = result[ragged(begin[order], counts[order])[1]]
        ends = np.cumsum(np.bincount(place, counts)).astype(np.int64)
        self._now[kind] = dict(zip(hashes, np.split(in_order, ends[:-1]), strict=True))
        if new.any():
            self._save()
        return result

    def _save(self) -> None:
        """Write what is known now; nothing if that is impossible."""
        with suppress(NuggeteerError):
            write_cache(self._root, self._name, _packed({**self._stored, **self._now}))

    def _hash(self, kind: str, question: int, texts: Sequence[str], rows: Ints) -> bytes:
        depends_on = self._matcher.depends_on(question, kind != SCORE)
        lines = "\n".join(
            [self._version, self._matcher.signature, kind, str(depends_on), *(texts[row] for row in rows.tolist())]
        )
        return blake2b(lines.encode("utf-8", "surrogatepass"), digest_size=HASH).digest()


def _at(values: Sequence[str], rows: Ints) -> list[str]:
    return [values[row] for row in rows.tolist()]


def _packed(values: Values) -> bytes:
    arrays: dict[str, npt.NDArray[Any]] = {}
    for kind, own in values.items():
        arrays[f"{kind} hashes"] = np.frombuffer(b"".join(own), dtype=np.uint8).reshape(-1, HASH)
        arrays[f"{kind} sizes"] = np.array([len(one) for one in own.values()], dtype=np.int64)
        arrays[f"{kind} values"] = np.concatenate(list(own.values()))
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, format=np.asarray(FORMAT), **arrays)
    return buffer.getvalue()


def _unpacked(body: bytes) -> Values:
    """What `_packed` made. Only what `read_cache` has found to be ours comes here."""
    result: Values = {}
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as stored:
            if str(stored["format"]) != FORMAT:
                return {}
            for kind in KINDS:
                if f"{kind} hashes" in stored:
                    hashes, sizes = stored[f"{kind} hashes"], stored[f"{kind} sizes"]
                    parts = np.split(stored[f"{kind} values"], np.cumsum(sizes)[:-1])
                    result[kind] = {one.tobytes(): part for one, part in zip(hashes, parts, strict=True)}
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFile(f"matches of another form: {error}") from error
    return result
