"""Why a nugget was guessed: the evidence for it and against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Annotated

from msgspec import field

from nuggeteer.comparing.sightings import Passage
from nuggeteer.fields import Count, Part, about, copied
from nuggeteer.matching.base import Explanation, SimilarText
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.passages import GAP, excerpt
from nuggeteer.text import escaped

FEW = 5  # words of a kind
FAINT = 0.25  # words with less than this share of the largest weight are not shown
LIKE = 0.15  # less similar texts hardly affect the guess
SHORTEST = 24  # characters of a response that are worth showing
WORD = 40  # characters of the longest word


class TellingWord(Part):
    """A word or several, and what they say of a guess."""

    words: str
    in_text: Annotated[bool, about("Whether the text has them, or lacks them.")] = field(name="there")
    weight: Annotated[float, about("Above 0 if that speaks for the nugget, below 0 if against it.")]


class SimilarJudgedText(Part):
    """A judged response that resembles the text."""

    text: str
    yes: bool = field(name="verdict")
    similarity: float = field(name="likeness")
    differing_words: Annotated[
        Count | None,
        about(
            "How many words would have to be inserted, deleted or replaced; null if more than five, or most of them."
        ),
    ]


class ExplainedGuess(Part):
    """What spoke for or against a guess on a text."""

    unit: Annotated[str, about("Of the weights.")]
    words: Sequence[TellingWord]
    similar_texts: Sequence[SimilarJudgedText] = field(name="alike")


def explained(found: Explanation) -> ExplainedGuess:
    return copied(ExplainedGuess, found)


def in_words(found: Explanation, size: int, alike: int | None = None) -> list[str]:
    """Escaped lines of at most about `size` characters: the words with the largest weights, then the most similar
    judged responses, at most `alike` of them."""
    near = sorted((one for one in found.similar_texts if one.similarity >= LIKE), key=lambda one: -one.similarity)
    lines = [words_in_words(found, size), *(_alike(one, size) for one in near[:alike])]
    return [line for line in lines if line]


def words_in_words(found: Explanation, size: int) -> str:
    """The words with the largest weights, as many as fit."""
    least = FAINT * max((abs(one.weight) for one in found.words), default=0.0)
    telling = [one for one in found.words if abs(one.weight) >= least and one.weight]
    parts = [
        (title, _some(one.words for one in telling if (one.in_text, one.weight > 0) == kind))
        for title, kind in (("words", (True, True)), ("lacking", (False, False)), ("against", (True, False)))
    ]
    for most in range(FEW, 0, -1):
        line = "; ".join(f"{title}: {', '.join(words[:most])}" for title, words in parts if words)
        if len(line) <= size:
            return line
    return line[: size - 1] + GAP


def _some(words: Iterable[str]) -> list[str]:
    """The first few, without the words that are part of a longer phrase."""
    all_ = [" ".join(one.split()) for one in words]
    every = "\n".join(f" {one} " for one in all_)
    # More often in all of them together than alone.
    kept = (one for one in dict.fromkeys(all_) if every.count(f" {one} ") == all_.count(one))
    return [shown if len(shown) <= WORD else shown[:WORD] + GAP for shown in map(escaped, islice(kept, FEW))]


def _alike(one: SimilarText, size: int) -> str:
    judged = f"a judged {'yes' if one.yes else 'no'}"
    if one.differing_words is None:
        title = f"like {judged} ({one.similarity:.2f}): "
    elif one.differing_words:
        verb = "differs" if one.differing_words == 1 else "differ"
        title = f"{counted(one.differing_words, 'word')} {verb} from {judged}: "
    else:
        title = f"the same words as {judged}: "
    pieces = excerpt(Passage(one.text, one.marks, None, 1), max(size - len(title) - 4, SHORTEST))
    return f"{title}“{''.join(text for text, _ in pieces)}”"
