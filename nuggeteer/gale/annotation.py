"""How far two annotators of the same snippets agree (Babko-Malaya 2008, §5).

*Relevance*: a snippet is relevant to an annotator who marked a nugget in it. The annotators agree on a snippet that is
relevant to both or to neither. *Nugget overlap* counts letters and digits in the snippets that are relevant to both:
Overlap / (½ Diff + Overlap), where Overlap are those that both annotators have in a nugget, and Diff those that only
one of them has in a nugget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import field

from nuggeteer.errors import InputError, NuggeteerError, Problem
from nuggeteer.fields import Count, Of, Part, about
from nuggeteer.formats.annotation import CONDITIONS, Extent, Snippet, Spans
from nuggeteer.formats.annotation_files import read_snippets
from nuggeteer.records import Bools, Ints, Vector, number_or_none
from nuggeteer.statistics.coefficients import estimate, kappa, percent, positive
from nuggeteer.statistics.intervals import Estimate

SAME_NUGGET = 0.5


class AgreementRow(Part):
    """Agreement on all snippets, or on those of one condition."""

    condition: Annotated[
        str | None,
        about("`medium`, `language`, `structure`, or those of `--by`; null in the last row, of all snippets."),
    ]
    value: str | None
    snippets: Annotated[Count, about("That both annotated.")]
    relevant: Count = field(name="relevant_to_both")
    nuggets: Annotated[Of, about("[of the first, of the second]")]
    relevance: Annotated[Estimate, about("The share of snippets that are relevant to both or to neither.")]
    relevance_kappa: Estimate
    overlap: Annotated[Estimate, about("Of nuggets, by their letters and digits.")]
    character_kappa: Estimate


@dataclass(frozen=True)
class SnippetPair:
    """One snippet with both annotations, and contingency tables of its relevance and of its letters and digits."""

    first: Snippet
    second: Snippet
    relevance: Vector
    characters: Vector

    @property
    def relevant(self) -> bool:
        """Whether it is relevant to both annotators."""
        return bool(self.first.nuggets and self.second.nuggets)

    @property
    def differs(self) -> int:
        """How many letters and digits only one annotator has in a nugget."""
        return int(self.characters[1] + self.characters[2])

    @property
    def overlap(self) -> float | None:
        """Nugget overlap; None if the snippet is not relevant to both annotators."""
        return number_or_none(float(positive(self.characters))) if self.relevant else None


@dataclass(frozen=True)
class AnnotationAgreement:
    """The agreement of two files: `rows` by condition, the total last.

    `alone` counts the snippets that only the first and only the second annotator has. `resampled` says which
    choice the intervals cover.
    """

    files: tuple[str, str]
    snippets: tuple[SnippetPair, ...]
    rows: tuple[AgreementRow, ...]
    alone: tuple[int, int]
    resampled: str

    @property
    def differing(self) -> list[SnippetPair]:
        """The snippets with different nuggets, those with the most differing letters and digits first."""
        return sorted((pair for pair in self.snippets if pair.differs), key=lambda pair: -pair.differs)


def meaningful(text: str) -> Bools:
    """Which characters count: letters and digits."""
    return np.fromiter(map(str.isalnum, text), dtype=bool, count=len(text))


def letters(text: str, nugget: Extent) -> frozenset[int]:
    """The letters and digits of a nugget, by their position."""
    return frozenset(i for start, end in nugget.spans for i in range(start, end) if text[i].isalnum())


def nearest(own: frozenset[int], others: Sequence[frozenset[int]]) -> int | None:
    """Which of the other nuggets marks the same fact, perhaps with other boundaries: the one with most of its letters
    and digits, if these are `SAME_NUGGET` of the longer of the two."""
    best = max(range(len(others)), key=lambda i: len(own & others[i]), default=None)
    if best is None or not own & others[best]:
        return None
    longer = max(len(own), len(others[best]))
    return best if len(own & others[best]) >= SAME_NUGGET * longer else None


def inside(text: str, nuggets: Iterable[Extent]) -> Bools:
    """Which of the characters that count are in a nugget."""
    covered = np.zeros(len(text), dtype=bool)
    for start, end in union(nuggets):
        covered[start:end] = True
    return covered[meaningful(text)]


def union(nuggets: Iterable[Extent]) -> Spans:
    """The spans of several nuggets, merged where they overlap."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(span for nugget in nuggets for span in nugget.spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def agree_on(first: Path, second: Path, problems: list[Problem], by: Sequence[str] = ()) -> AnnotationAgreement:
    """The agreement of two files of annotations."""
    files = str(first), str(second)
    return agree(files, read_snippets(first, problems), read_snippets(second, problems), by)


def pair_up(first: Sequence[Snippet], second: Sequence[Snippet]) -> list[tuple[Snippet, Snippet]]:
    """The snippets that both annotators have; their texts and conditions must be the same."""
    by_name = {snippet.name: snippet for snippet in second}
    shared = [(snippet, by_name[snippet.name]) for snippet in first if snippet.name in by_name]
    if not shared:
        names = first[0].file, second[0].file
        raise NuggeteerError(f"{names[0]} and {names[1]} have no snippet in common; use the same names and queries")
    wrong = [problem for a, b in shared for problem in _differences(a, b)]
    if wrong:
        raise InputError(wrong)
    return shared


def agree(
    files: tuple[str, str], first: Sequence[Snippet], second: Sequence[Snippet], by: Sequence[str] = ()
) -> AnnotationAgreement:
    """The agreement of two annotators on the snippets that both have. `by` are conditions whose cells get rows too."""
    shared = pair_up(first, second)
    compared = tuple(_compare(a, b) for a, b in shared)
    queries = list(dict.fromkeys(pair.first.qid for pair in compared))
    by_query = len(queries) > 1 and None not in queries
    question = np.array([queries.index(pair.first.qid) if by_query else i for i, pair in enumerate(compared)])
    rows = [
        _row(compared, question, [i for i, own in enumerate(values) if own == value], condition, value)
        for condition in CONDITIONS
        for values in [[_condition(pair, condition) for pair in compared]]
        for value in sorted({value for value in values if value is not None})
    ]
    if by:
        cells = [tuple(_condition(pair, name) for name in by) for pair in compared]
        for cell in sorted(set(cells), key=lambda values: [value or "" for value in values]):
            which = [i for i, own in enumerate(cells) if own == cell]
            named = " × ".join(value or "–" for value in cell)
            rows.append(_row(compared, question, which, " × ".join(by), named))
    rows.append(_row(compared, question, range(len(compared)), None, None))
    alone = (len(first) - len(shared), len(second) - len(shared))
    return AnnotationAgreement(files, compared, tuple(rows), alone, "queries" if by_query else "snippets")


def _condition(pair: SnippetPair, name: str) -> str | None:
    """The value of a condition, from either annotator's file."""
    value = getattr(pair.first, name) or getattr(pair.second, name)
    return None if value is None else str(value)


def _differences(first: Snippet, second: Snippet) -> list[Problem]:
    """Differences between two annotations of a snippet in what must be the same: its text and its conditions."""
    location = f"{first.file}:{first.line}" if first.line else first.file
    found = []
    text, second_text = text_of(first), text_of(second)
    if text != second_text:
        start = next((i for i, (a, b) in enumerate(zip(text, second_text, strict=False)) if a != b), 0)
        what = f"the text of snippet {second.snippet!r} differs from {location}, "
        what += f"starting at {second_text[start : start + 20]!r}"
        found.append(second.problem(what, "annotate the same text; only white space and punctuation may differ"))
    for name in CONDITIONS:
        value, second_value = getattr(first, name), getattr(second, name)
        if value and second_value and value != second_value:
            what = f"snippet {second.snippet!r} has the {name} {second_value!r} here and {value!r} in {location}"
            found.append(second.problem(what, "correct one of them"))
    return found


def text_of(snippet: Snippet) -> str:
    """The letters and digits of a snippet."""
    return "".join(filter(str.isalnum, snippet.text))


def _compare(first: Snippet, second: Snippet) -> SnippetPair:
    relevant = [np.array([bool(snippet.nuggets)]) for snippet in (first, second)]
    covered = [inside(snippet.text, snippet.nuggets) for snippet in (first, second)]
    return SnippetPair(first, second, _table(*relevant), _table(*covered))


def _table(a: Bools, b: Bools) -> Vector:
    return np.array([(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()], dtype=float)


def _row(
    compared: Sequence[SnippetPair],
    question: Ints,
    which: Iterable[int],
    condition: str | None,
    value: str | None,
) -> AgreementRow:
    own = list(which)
    both = [i for i in own if compared[i].relevant]

    relevance, characters = np.zeros((2, int(question.max()) + 1, 4))
    for i in own:
        relevance[question[i]] += compared[i].relevance
    for i in both:
        characters[question[i]] += compared[i].characters
    return AgreementRow(
        condition,
        value,
        len(own),
        len(both),
        (sum(len(compared[i].first.nuggets) for i in own), sum(len(compared[i].second.nuggets) for i in own)),
        estimate(percent, relevance),
        estimate(kappa, relevance),
        estimate(positive, characters),
        estimate(kappa, characters),
    )
