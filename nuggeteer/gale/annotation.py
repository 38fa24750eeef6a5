"""How far two annotators of the same snippets agree (Babko-Malaya 2008, §5).

*Relevance*: a snippet is relevant when it has a nugget; they agree on a snippet that is relevant to both or to neither.
*Nugget overlap*: of the letters and digits of the snippets that are relevant to both, the share that both have inside
of some nugget, Overlap / (½ Diff + Overlap), where Diff are those that only one has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nuggeteer.errors import InputError, NuggeteerError, Problem
from nuggeteer.formats.annotation import CONDITIONS, Extent, Snippet, Spans
from nuggeteer.formats.annotation_files import read_snippets
from nuggeteer.records import Bools, Ints, Vector, number_or_none
from nuggeteer.statistics.coefficients import CoefficientEstimate, estimate, kappa, percent, positive


@dataclass(frozen=True)
class AgreementRow:
    """Agreement on some of the snippets: all, or those of one condition. `snippets` counts what both annotated,
    `relevant` what is relevant to both; `nuggets` of the two annotators, in all snippets."""

    condition: str | None
    value: str | None
    snippets: int
    relevant: int
    nuggets: tuple[int, int]
    relevance: CoefficientEstimate
    relevance_kappa: CoefficientEstimate
    overlap: CoefficientEstimate
    character_kappa: CoefficientEstimate


@dataclass(frozen=True)
class SnippetPair:
    """One snippet as both left it; `tables` of its relevance, and of its letters and digits."""

    first: Snippet
    second: Snippet
    relevance: Vector
    characters: Vector

    @property
    def relevant(self) -> bool:
        """To both."""
        return bool(self.first.nuggets and self.second.nuggets)

    @property
    def differs(self) -> int:
        """Letters and digits that only one has in a nugget."""
        return int(self.characters[1] + self.characters[2])

    @property
    def overlap(self) -> float | None:
        """None where it is not relevant to both."""
        return number_or_none(float(positive(self.characters))) if self.relevant else None


@dataclass(frozen=True)
class AnnotationAgreement:
    """`rows` by condition, the total last. `alone`: how many snippets only the one and only the other annotated.
    `resampled`: what intervals resample."""

    files: tuple[str, str]
    snippets: tuple[SnippetPair, ...]
    rows: tuple[AgreementRow, ...]
    alone: tuple[int, int]
    resampled: str

    @property
    def differing(self) -> list[SnippetPair]:
        """The snippets that the two left differently, those of the most letters and digits first."""
        return sorted((one for one in self.snippets if one.differs), key=lambda one: -one.differs)


def meaningful(text: str) -> Bools:
    """Which characters count: letters and digits."""
    return np.fromiter(map(str.isalnum, text), dtype=bool, count=len(text))


def inside(text: str, nuggets: Iterable[Extent]) -> Bools:
    """Of the characters that count, which stand in some nugget."""
    covered = np.zeros(len(text), dtype=bool)
    for start, end in union(nuggets):
        covered[start:end] = True
    return covered[meaningful(text)]


def union(nuggets: Iterable[Extent]) -> Spans:
    """The spans of several nuggets as one, without overlaps."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(span for nugget in nuggets for span in nugget.spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


def agree_on(first: Path, second: Path, seed: int, problems: list[Problem]) -> AnnotationAgreement:
    """The agreement of two files of annotations."""
    one, other = read_snippets(first, problems), read_snippets(second, problems)
    return agree((str(first), str(second)), one, other, seed)


def agree(
    files: tuple[str, str], first: Sequence[Snippet], second: Sequence[Snippet], seed: int = 0
) -> AnnotationAgreement:
    """The agreement of two annotators on the snippets that both have."""
    theirs = {snippet.name: snippet for snippet in second}
    shared = [(snippet, theirs[snippet.name]) for snippet in first if snippet.name in theirs]
    if not shared:
        raise NuggeteerError(f"{files[0]} and {files[1]} share no snippet; a snippet's name and query must be the same")
    wrong = [problem for a, b in shared for problem in _differences(a, b)]
    if wrong:
        raise InputError(wrong)
    compared = tuple(_compare(a, b) for a, b in shared)
    queries = list(dict.fromkeys(one.first.qid for one in compared))
    by_query = len(queries) > 1 and None not in queries
    question = np.array([queries.index(one.first.qid) if by_query else i for i, one in enumerate(compared)])
    rows = [
        _row(compared, question, [i for i, own in enumerate(values) if own == value], condition, value, seed)
        for condition in CONDITIONS
        for values in [[_condition(one, condition) for one in compared]]
        for value in sorted({value for value in values if value is not None})
    ]
    rows.append(_row(compared, question, range(len(compared)), None, None, seed))
    alone = (len(first) - len(shared), len(second) - len(shared))
    return AnnotationAgreement(files, compared, tuple(rows), alone, "queries" if by_query else "snippets")


def _condition(one: SnippetPair, name: str) -> str | None:
    """Of either annotator's file."""
    value = getattr(one.first, name) or getattr(one.second, name)
    return None if value is None else str(value)


def _differences(first: Snippet, second: Snippet) -> list[Problem]:
    """What two annotators of the same snippet cannot differ in."""
    place = f"{first.file}:{first.line}" if first.line else first.file
    found = []
    words, others = (text_of(one) for one in (first, second))
    if words != others:
        near = next((i for i, (a, b) in enumerate(zip(words, others, strict=False)) if a != b), 0)
        what = f"snippet {second.snippet!r} has another text than in {place}, from {others[near : near + 20]!r} on"
        found.append(second.problem(what, "annotate the same text; white space and punctuation may differ"))
    for name in CONDITIONS:
        here, there = getattr(second, name), getattr(first, name)
        if here and there and here != there:
            what = f"snippet {second.snippet!r} has the {name} {here!r}, and {there!r} in {place}"
            found.append(second.problem(what, "correct one of them"))
    return found


def text_of(snippet: Snippet) -> str:
    """The letters and digits of a snippet."""
    return "".join(filter(str.isalnum, snippet.text))


def _compare(first: Snippet, second: Snippet) -> SnippetPair:
    a, b = (np.array([bool(one.nuggets)]) for one in (first, second))
    here, there = (inside(one.text, one.nuggets) for one in (first, second))
    return SnippetPair(first, second, _table(a, b), _table(here, there))


def _table(a: Bools, b: Bools) -> Vector:
    return np.array([(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()], dtype=float)


def _row(
    compared: Sequence[SnippetPair],
    question: Ints,
    which: Iterable[int],
    condition: str | None,
    value: str | None,
    seed: int,
) -> AgreementRow:
    own = list(which)
    both = [i for i in own if compared[i].relevant]

    def told(
        coefficient: Callable[[Vector], Vector], of: Callable[[SnippetPair], Vector], places: list[int]
    ) -> CoefficientEstimate:
        summed = np.zeros((int(question.max()) + 1, 4))
        for i in places:
            summed[question[i]] += of(compared[i])
        return estimate(coefficient, summed, seed)

    def relevance(one: SnippetPair) -> Vector:
        return one.relevance

    def characters(one: SnippetPair) -> Vector:
        return one.characters

    return AgreementRow(
        condition,
        value,
        len(own),
        len(both),
        (sum(len(compared[i].first.nuggets) for i in own), sum(len(compared[i].second.nuggets) for i in own)),
        told(percent, relevance, own),
        told(kappa, relevance, own),
        told(positive, characters, both),
        told(kappa, characters, both),
    )
