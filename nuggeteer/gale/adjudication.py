"""One annotation from two: what both annotators marked is kept, and where they differ a person decides.

In GALE each query "was at least double annotated and adjudicated" (Babko-Malaya 2008, §5). Two nuggets are the same if
they have the same letters and digits, and not two types. Nuggets that differ but overlap by half of the longer one are
one question: which of the two? Every other nugget is a question of its own. Decisions are lines of a file, written
before the next question is asked, so a session can be left and taken up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nuggeteer.errors import InputError, Problem, fail, stop_at_errors
from nuggeteer.formats.annotation import CONDITIONS, Extent, Snippet
from nuggeteer.formats.append import append_line
from nuggeteer.formats.jsonl import read_jsonl
from nuggeteer.gale.annotation import letters, nearest, pair_up, union


@dataclass(frozen=True)
class Difference:
    """A nugget that only one annotator has, or one that both have with other boundaries or another type."""

    snippet: Snippet
    first: Extent | None
    second: Extent | None

    @property
    def choices(self) -> Mapping[str, tuple[Extent, ...]]:
        """What can be kept, by the key that keeps it."""
        if self.first is not None and self.second is not None:
            kind = self.first.type or self.second.type
            whole = Extent(union([self.first, self.second]), kind)
            both = (self.first, self.second)
            return {"1": (self.first,), "2": (self.second,), "b": both, "m": (whole,), "n": ()}
        only = self.first or self.second
        assert only is not None
        return {"y": (only,), "n": ()}

    @property
    def key(self) -> tuple[Any, ...]:
        return (*self.snippet.name, self.first, self.second)


@dataclass
class Adjudication:
    """Two annotations on their way to one. `decisions` is the file that the decisions are written to."""

    pairs: Sequence[tuple[Snippet, Snippet]]
    alone: Sequence[Snippet]
    decisions: Path
    decided: dict[tuple[Any, ...], tuple[Extent, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._compared = [(first, second, *_compare(first, second)) for first, second in self.pairs]
        known = {difference.key: difference for difference in self.differences}
        for key, choice in _read(self.decisions):
            kept = known[key].choices.get(choice or "") if key in known else None
            if kept is None:  # taken back, or about other annotations
                self.decided.pop(key, None)
            else:
                self.decided[key] = kept

    @property
    def differences(self) -> list[Difference]:
        return [difference for *_, differing in self._compared for difference in differing]

    @property
    def open(self) -> list[Difference]:
        """What nobody has decided yet, in the order of the first annotation."""
        return [difference for difference in self.differences if difference.key not in self.decided]

    @property
    def agreed(self) -> int:
        """How many nuggets both annotators have."""
        return sum(len(same) for _, _, same, _ in self._compared)

    def decide(self, difference: Difference, choice: str) -> None:
        """Record a decision: on disk first."""
        append_line(self.decisions, _line(difference, choice))
        self.decided[difference.key] = difference.choices[choice]

    def take_back(self, difference: Difference) -> None:
        append_line(self.decisions, _line(difference, None))
        del self.decided[difference.key]

    def result(self) -> list[Snippet]:
        """The adjudicated snippets, and those that only one annotator has as they are."""
        found = []
        for first, second, same, differing in self._compared:
            kept = [*same, *(extent for one in differing for extent in self.decided[one.key])]
            nuggets = tuple(sorted(dict.fromkeys(kept), key=lambda extent: extent.spans))
            conditions: dict[str, Any] = {name: getattr(first, name) or getattr(second, name) for name in CONDITIONS}
            found.append(replace(first, nuggets=nuggets, **conditions))
        return [*found, *self.alone]


def adjudicate(first: Sequence[Snippet], second: Sequence[Snippet], decisions: Path) -> Adjudication:
    """Compare two annotations, and read what was decided before."""
    pairs = pair_up(first, second)
    for one, other in pairs:
        if one.text != other.text:
            problem = other.problem(
                f"snippet {other.snippet!r} has other white space or punctuation than the other annotation's",
                "use the same text in both: offsets count every character",
            )
            raise InputError([problem])
    shared = {one.name for one, _ in pairs}
    alone = [snippet for snippet in (*first, *second) if snippet.name not in shared]
    return Adjudication(pairs, alone, decisions)


def _compare(first: Snippet, second: Snippet) -> tuple[list[Extent], list[Difference]]:
    """The nuggets that both have, and the differences."""
    own_letters = {extent: letters(first.text, extent) for extent in (*first.nuggets, *second.nuggets)}
    left = list(second.nuggets)
    same, own = [], []
    for extent in first.nuggets:
        equal = next((one for one in left if own_letters[one] == own_letters[extent] and _one_type(one, extent)), None)
        if equal is None:
            own.append(extent)
        else:
            left.remove(equal)
            same.append(replace(extent, type=extent.type or equal.type))
    return same, list(_differences(first, own, left, own_letters))


def _differences(
    snippet: Snippet, first: Sequence[Extent], second: Sequence[Extent], letters_of: Mapping[Extent, frozenset[int]]
) -> Iterator[Difference]:
    """The nuggets of the first annotator, each with the one of the second that has most of it; then the others."""
    left = list(second)
    for extent in first:
        near = nearest(letters_of[extent], [letters_of[one] for one in left])
        yield Difference(snippet, extent, None if near is None else left.pop(near))
    yield from (Difference(snippet, None, extent) for extent in left)


def _one_type(first: Extent, second: Extent) -> bool:
    return first.type == second.type or None in (first.type, second.type)


def _line(difference: Difference, choice: str | None) -> dict[str, object]:
    qid, distiller, snippet = difference.snippet.name
    return {
        "qid": qid,
        "distiller": distiller,
        "snippet": snippet,
        "first": _as_object(difference.first),
        "second": _as_object(difference.second),
        "choice": choice,
    }


def _as_object(extent: Extent | None) -> dict[str, Any] | None:
    return None if extent is None else {"spans": [list(span) for span in extent.spans], "type": extent.type}


def _read(path: Path) -> Iterator[tuple[tuple[Any, ...], str | None]]:
    """The decisions in a file, in order."""
    if not path.exists():
        return
    problems: list[Problem] = []
    for number, line in read_jsonl(path, problems):
        name = tuple(line.get(key) for key in ("qid", "distiller", "snippet"))
        choice = line.get("choice")
        try:
            extents = tuple(_extent(line.get(key)) for key in ("first", "second"))
            if not all(value is None or isinstance(value, str) for value in (*name, choice)):
                raise ValueError
        except (KeyError, TypeError, ValueError) as error:
            raise fail(path, "is not a decision", "delete the line", number) from error
        yield (*name, *extents), choice
    stop_at_errors(problems)


def _extent(value: Any) -> Extent | None:
    """A nugget as `_as_object` writes it; any other value raises an error."""
    if value is None:
        return None
    kind, spans = value["type"], tuple((start, end) for start, end in value["spans"])
    if not (kind is None or isinstance(kind, str)) or not all(type(n) is int for span in spans for n in span):
        raise ValueError
    return Extent(spans, kind)
