"""Word weights kept from command to command, so that none has to read a table of 300,000 words.

`.nuggeteer/words` has the weight of each word that was ever looked up in this collection, and what it depends on: the
table and the versions of wordfreq and of Nuggeteer. A file of another table or version, one that is damaged, or one of
another user is ignored and replaced (formats/cache.py). It can be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import orjson

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.cache import read_cache, write_cache
from nuggeteer.matching.idf import Idf

FORMAT = "nuggeteer words 1"
NAME = "words"
MOST = 200_000  # words; more would take longer to read than the table
LARGEST = 20_000_000  # bytes


class RememberedWeights(dict[str, float]):
    """The weights of a table, which is asked only for words that nobody looked up before."""

    def __init__(self, root: Path, idf: Idf) -> None:
        self._root, self._idf, self._read, self._new = root, idf, False, False
        self._basis = f"{FORMAT}|{idf.name}|{version('wordfreq')}|{version('nuggeteer')}"

    def __missing__(self, word: str) -> float:
        if not self._read:
            self._read = True
            self.update(self._stored())
            return self[word]
        self._new = True
        weight = self[word] = self._idf[word]
        return weight

    def keep(self) -> None:
        """Write the weights of all words so far, if there are new ones; nothing if that is impossible."""
        if self._new and len(self) <= MOST:
            self._new = False
            with suppress(NuggeteerError, orjson.JSONEncodeError):
                write_cache(self._root, NAME, orjson.dumps({"basis": self._basis, "weights": dict(self)}))

    def _stored(self) -> dict[str, float]:
        with suppress(NuggeteerError, orjson.JSONDecodeError):
            body = read_cache(self._root, NAME, LARGEST)
            match None if body is None else orjson.loads(body):
                case {"basis": self._basis, "weights": dict(weights)} if all(
                    isinstance(weight, float) for weight in weights.values()
                ):
                    return weights
        return {}

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Idf, str]]:
        return getattr, (self._idf, "weights")  # a worker reads the table, if it needs it


def remembered(root: Path, idf: Idf) -> Idf:
    """The same table, with weights that are remembered in a collection."""
    weights: Mapping[str, float] = RememberedWeights(root, idf)
    return replace(idf, weights=weights)


def keep(idf: Idf | None) -> None:
    """Remember the words that were looked up, for the next command."""
    if idf is not None and isinstance(idf.weights, RememberedWeights):
        idf.weights.keep()
