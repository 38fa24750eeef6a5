"""How informative a word is: its inverse document frequency, ln(N / df).

There are three sources. `wordfreq` is the default: all users get the same weights without a corpus. It has term
frequencies (of subtitles, Wikipedia, news, books and web text) and not document frequencies. So df is what a Poisson
model expects: a word of frequency f is in a document of `DOCUMENT` words with probability 1 − exp(−f·DOCUMENT). The
paper took idf from the AQUAINT news corpus (§2.1). Anyone who has that, or a corpus closer to the task, can make a
table from it with `nuggeteer idf`. `pool` counts the judged runs' own responses, so scores change whenever the judged
runs do.

The measurements are in experiments/match-settings.md.

Weights are kept from command to command, so that none has to read a table of 300,000 words. `.nuggeteer/words` has the
weight of each word that was ever looked up in this collection, and what it depends on: the table and the versions of
wordfreq and of Nuggeteer. A file of another table or version, one that is damaged, or one of another user is ignored
and replaced (formats/cache.py). It can be deleted at any time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from nuggeteer.errors import NuggeteerError, Problem, fail, stop_at_errors
from nuggeteer.formats.cache import read_cache, write_cache
from nuggeteer.formats.jsonl import is_regular, read_jsonl, read_lines, write_whole
from nuggeteer.languages import ENGLISH, Language, has_stemmer
from nuggeteer.text import normalised

# Words in the model's document. On public data 1 and 100 are about equally good, and better than 400 and 1,000. On the
# sample 100 is better than 1.
DOCUMENT = 100
HEADER = "# nuggeteer idf 1; documents:"
SPOKEN = "# nuggeteer idf 1; language: {}; documents:"  # of a table of another language than English


@dataclass(frozen=True)
class Idf:
    """A table of word weights, with the name that stands in signatures."""

    name: str
    weights: Mapping[str, float]
    unseen: float = math.nan  # for words without a weight

    def __getitem__(self, word: str) -> float:
        try:
            return self.weights[word]
        except KeyError:
            return self.unseen


class _Background(dict[str, float]):
    """Word weights from wordfreq's frequencies, computed when a word is looked up. The first word reads them."""

    def __init__(self, language: Language, stems: bool) -> None:
        self._language, self._stems = language, stems

    def __missing__(self, word: str) -> float:
        frequencies, least = self._frequencies
        frequency = frequencies.get(word)
        if frequency is None and word.isdecimal():
            import wordfreq

            # wordfreq lists numbers of several digits only by their shape, and estimates the rest.
            frequency = wordfreq.word_frequency(word, self._language.code, wordlist="best") or None
        return _expected_idf(least if frequency is None else frequency)

    @cached_property
    def _frequencies(self) -> tuple[Mapping[str, float], float]:
        """Of each word, and the least of all."""
        return self._language.frequencies(self._stems)

    def __reduce__(self) -> tuple[type[_Background], tuple[Language, bool]]:
        return _Background, (self._language, self._stems)  # a worker reads them for itself, if it needs them


def _expected_idf(frequency: float) -> float:
    return -math.log(-math.expm1(-frequency * DOCUMENT))


def background(language: str = ENGLISH, stems: bool = False) -> Idf:
    """Weights of words or stems from the package `wordfreq`, whose data is frozen at version 3."""
    of = "-stems" if stems and language == ENGLISH else ""  # other languages have stems by default
    return Idf(f"wordfreq-{language}{of}", _Background(Language(language), stems))


def from_documents(documents: Iterable[str], language: str = ENGLISH, stems: bool = False) -> Counter[str]:
    """How many documents have each word or stem."""
    frequency: Counter[str] = Counter()
    spoken = Language(language)
    form = spoken.stem if stems else spoken.plain
    for document in documents:
        found = spoken.find(normalised(document))
        frequency.update(set(found if spoken.english and not stems else map(form, found)))
    return frequency


def _idf(name: str, frequency: Mapping[str, int], documents: int) -> Idf:
    # ln((N + 1) / df): a word in every document keeps a little weight, an unseen one counts as df = ½.
    weights = {word: math.log((documents + 1) / count) for word, count in frequency.items()}
    return Idf(name, weights, math.log(2 * (documents + 1)))


def pool(texts: Iterable[str], language: str = ENGLISH, stems: bool = False) -> Idf:
    """Weights counted from a collection's own judged responses."""
    texts = list(texts)
    frequency = from_documents(texts, language, stems)
    return _idf(f"pool-{_digest(frequency, len(texts))}", frequency, len(texts))


def _digest(frequency: Mapping[str, int], documents: int) -> str:
    digest = blake2b(str(documents).encode(), digest_size=4)
    for item in sorted(frequency.items()):
        digest.update(f"\n{item[0]}\t{item[1]}".encode())
    return digest.hexdigest()


def read_documents(paths: Iterable[Path], problems: list[Problem]) -> Iterable[str]:
    """The documents of text files (one a line) and of `.jsonl` files (the key `text`)."""
    for path in paths:
        if path.suffix == ".jsonl":
            for number, record in read_jsonl(path, problems, ("text",)):
                text = record.get("text")
                if isinstance(text, str):
                    yield text
                else:
                    what, remedy = "no 'text' that is a string", "each line holds one document in 'text'"
                    problems.append(Problem(str(path), number, what, remedy))
        else:
            for number, line in read_lines(path, problems):
                try:
                    yield line.decode("utf-8")
                except UnicodeDecodeError:
                    problems.append(Problem(str(path), number, "not UTF-8", "save the file as UTF-8"))


def _header(language: str) -> str:
    return HEADER if language == ENGLISH else SPOKEN.format(language)


def write_table(path: Path, documents: Iterable[str], language: str = ENGLISH) -> tuple[int, int]:
    """Count a corpus into a table: a head with the number of documents, then `word TAB df`, by word. Of another
    language than English, words are stems, where there are stems.

    Returns the numbers of documents and of words.
    """
    count = 0

    def counted() -> Iterable[str]:
        nonlocal count
        for document in documents:
            count += 1
            yield document

    frequency = from_documents(counted(), language, language != ENGLISH and has_stemmer(language))
    if not frequency:
        raise NuggeteerError("there is no word in these files, so no table was written")

    def write(file: BinaryIO) -> None:
        file.write(f"{_header(language)} {count}\n".encode())
        file.writelines(f"{word}\t{df}\n".encode() for word, df in sorted(frequency.items()))

    write_whole(path, write)
    return count, len(frequency)


def _count(digits: str) -> int:
    """A count that a table can hold; 0 for anything else."""
    return int(digits) if digits.isdecimal() and len(digits) < 16 else 0


def read_table(path: Path, language: str = ENGLISH, stems: bool = False) -> Idf:
    """Read a table that `write_table` wrote for a language. If stems are asked for and the table has English words, a
    stem counts in as many documents as its words together, which is too many where several stand in one."""
    problems: list[Problem] = []
    documents, frequency = 0, dict[str, int]()
    remedy = "make the table again with nuggeteer idf"
    remedy += "" if language == ENGLISH else f" --language {language}"
    for number, raw in read_lines(path, problems) if is_regular(path, problems) else ():
        line = raw.decode("utf-8", "replace")
        if number == 1:
            head, _, size = line.rpartition(" ")
            documents = _count(size)
            if head != _header(language) or not documents:
                raise fail(path, f"the head is not '{_header(language)} N'", remedy, 1)
            continue
        word, _, size = line.partition("\t")
        df = _count(size)
        if not 1 <= df <= documents or "\ufffd" in word:
            raise fail(path, "not 'word TAB number of documents' in UTF-8", remedy, number)
        if word in frequency:
            raise fail(path, f"the word {word!r} for the second time", remedy, number)
        frequency[word] = df
    stop_at_errors(problems)
    if not frequency:
        raise fail(path, "the table is empty", remedy)
    if stems and language == ENGLISH:
        frequency = _by_stem(frequency, documents)
    return _idf(f"{path.stem}-{_digest(frequency, documents)}", frequency, documents)


def _by_stem(frequency: Mapping[str, int], documents: int) -> dict[str, int]:
    stem = Language(ENGLISH).stem
    together: Counter[str] = Counter()
    for word, df in frequency.items():
        together[stem(word)] += df
    return {stem: min(df, documents) for stem, df in together.items()}


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
