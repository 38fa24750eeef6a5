"""Scores and counts from nuggets found automatically: Babko-Malaya et al. 2010, §3.3 and §5.

People judge snippets, and select the part of a relevant snippet that answers the query. The nuggetizer then counts the
nuggets. Nuggets of selected text are right, and nuggets of irrelevant and redundant snippets are wrong. The text of a
relevant snippet outside the selection is ignored. Precision is right nuggets over all nuggets. For recall, the right
nuggets of all distillers are sorted into nugs, type by type, in the same way as `distill --propose` does it. Recall is
the share of these nugs that a distiller found.

Where people corrected the nuggets themselves, they are compared type by type. Two nuggets have the same boundaries if
they have the same letters and digits. They mark the same fact with other boundaries if they share half of the longer
one's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.fields import Count, Number, Part, about
from nuggeteer.formats.annotation import Extent, Snippet
from nuggeteer.formats.snippets import JudgedSnippet, Verdict
from nuggeteer.gale.annotation import letters, nearest
from nuggeteer.gale.nuggetizer import Found, Nuggetizer, pieces, select
from nuggeteer.gale.nugs import sort
from nuggeteer.gale.templates import ANY, Template, Type, find_template, follow
from nuggeteer.records import Vector
from nuggeteer.statistics.intervals import ENDS, Interval, mean_interval
from nuggeteer.text import normalised

ORDER = ("structure", "medium", "language")  # the order of the conditions in table 4


@dataclass(frozen=True)
class Cut:
    """A text with the nuggets that count under its template. Without a template all types count."""

    snippet: Snippet
    template: Template | None
    found: list[Found]

    @property
    def annotation(self) -> Snippet:
        """The text with its nuggets as an annotation."""
        return replace(self.snippet, nuggets=tuple(Extent(nugget.spans, nugget.type) for nugget in self.found))


def cut(
    texts: Sequence[Snippet],
    nuggetizer: Nuggetizer,
    templates: Mapping[str, Template],
    template: Template | None = None,
) -> list[Cut]:
    """The nuggets of each text under the given template, or under the template that the text's line names."""
    chosen = [template or _template_of(text, templates) for text in texts]
    found = nuggetizer.all(text.text for text in texts)
    return [
        Cut(text, own, select(text_nuggets, own or ANY))
        for text, own, text_nuggets in zip(texts, chosen, found, strict=True)
    ]


def _template_of(text: Snippet, templates: Mapping[str, Template]) -> Template | None:
    query = text.extra.get("template") or text.extra.get("query")
    if query is None:
        return follow(text.qid or "", templates)  # in the papers' notation the id of a query may be the query itself
    if not isinstance(query, str):
        raise InputError([text.problem("the query or template is not a string", "put it in quotes")])
    return find_template(query, templates)


@dataclass(frozen=True)
class Answer:
    """A distiller's answer to a query, counted in nuggets.

    Precision is None if nothing was returned, and recall is None if there is nothing to find.
    """

    qid: str
    distiller: str
    nuggets: Mapping[Verdict, int]
    nugs: int
    total_nugs: int

    @property
    def precision(self) -> float | None:
        total = sum(self.nuggets.values())
        return self.nuggets["relevant"] / total if total else None

    @property
    def recall(self) -> float | None:
        return self.nugs / self.total_nugs if self.total_nugs else None


Means = dict[str, dict[str, Interval]]  # of each distiller, by measure
Nuggetized = tuple[JudgedSnippet, list[tuple[str, list[Found]]]]  # a snippet, and the nuggets of each stretch


@dataclass(frozen=True)
class AutomaticCell:
    """The scores on the snippets of one cell, such as those of Arabic audio; the nugs are those of these snippets.
    `values` are those of the conditions, empty where a snippet names none."""

    values: tuple[str, ...]
    snippets: int
    queries: int
    means: Means


@dataclass(frozen=True)
class AutomaticScores:
    """Every distiller's answer to every query, and means over queries, whose intervals cover the choice of queries. The
    `cells` are those of the conditions `by`, if there are any."""

    model: str
    templates: dict[str, Template]
    answers: tuple[Answer, ...]
    means: Means
    snippets: tuple[Nuggetized, ...]
    by: tuple[str, ...] = ()
    cells: tuple[AutomaticCell, ...] = ()


def score(
    snippets: Sequence[JudgedSnippet],
    queries: Mapping[str, str],
    nuggetizer: Nuggetizer,
    templates: Mapping[str, Template],
    by: Sequence[str] = (),
) -> AutomaticScores:
    """Precision and recall by distiller and query, and for the snippets of each cell of the conditions `by`.

    A distiller that returns nothing to a query has no precision there, and finds none of the query's nugs.
    """
    chosen = {qid: find_template(query, templates) for qid, query in queries.items()}
    parsed = nuggetizer.all(text for snippet in snippets for text in snippet.stretches)
    judged = []
    for snippet in snippets:
        stretches = [next(parsed) for _ in snippet.stretches]
        nuggets = [(text, select((text, found), chosen[snippet.qid])) for text, found in stretches]
        judged.append((snippet, nuggets))
    answers, means = _scores(chosen, judged)
    return AutomaticScores(
        nuggetizer.name, chosen, answers, means, tuple(judged), tuple(by), tuple(_cells(chosen, judged, by))
    )


def _scores(qids: Iterable[str], judged: Sequence[Nuggetized]) -> tuple[tuple[Answer, ...], Means]:
    distillers = list(dict.fromkeys(snippet.distiller for snippet, _ in judged))
    answers = tuple(answer for qid in qids for answer in _answers(qid, distillers, judged))
    means = {}
    for distiller in distillers:
        own = [answer for answer in answers if answer.distiller == distiller]
        means[distiller] = {
            name: mean_interval(np.array([getattr(answer, name) for answer in own], dtype=float), certain=True)
            for name in ("precision", "recall")
        }
    return answers, means


def _cells(qids: Iterable[str], judged: Sequence[Nuggetized], by: Sequence[str]) -> Iterator[AutomaticCell]:
    """The snippets of each cell, scored as if there were no others. A query without any of them is left out."""
    if not by:
        return
    cells: dict[tuple[str, ...], list[Nuggetized]] = {}
    for one in judged:
        cells.setdefault(tuple(getattr(one[0], name) or "" for name in by), []).append(one)
    if set(cells) == {("",) * len(by)}:
        raise NuggeteerError(f"no snippet has a {' or a '.join(by)}; write it on the snippet's line")
    for values, own in sorted(cells.items(), key=lambda cell: cell[0]):
        there = {snippet.qid for snippet, _ in own}
        asked = [qid for qid in qids if qid in there]
        yield AutomaticCell(values, len(own), len(asked), _scores(asked, own)[1])


def _answers(qid: str, distillers: Sequence[str], judged: Sequence[Nuggetized]) -> list[Answer]:
    counts: dict[str, Counter[Verdict]] = {distiller: Counter() for distiller in distillers}
    right: dict[Type, list[tuple[str, str]]] = {}
    for snippet, stretches in judged:
        if snippet.qid != qid:
            continue
        for text, found in stretches:
            counts[snippet.distiller][snippet.judged] += len(found)
            if snippet.judged == "relevant":
                for nugget in found:
                    words = " ".join(pieces(text, nugget.spans))
                    right.setdefault(nugget.type, []).append((snippet.distiller, words))
    total, found_by = 0, Counter[str]()
    for nuggets in right.values():
        meanings, memberships = sort([words for _, words in nuggets])
        total += len(meanings)
        found_by.update(d for d, _ in {(d, _class(memberships[normalised(words)])) for d, words in nuggets})
    verdicts: tuple[Verdict, ...] = ("relevant", "irrelevant", "redundant")
    return [Answer(qid, d, {v: counts[d][v] for v in verdicts}, found_by[d], total) for d in distillers]


def _class(degrees: Mapping[int, float]) -> int:
    """The nug in which a nugget has the highest degree; the first one if several are equal."""
    return max(sorted(degrees), key=lambda nug: degrees[nug])


class ConditionCounts(Part):
    """Counts of nuggets in the snippets of one condition."""

    condition: Annotated[
        Mapping[str, str | None] | None,
        about("Its `structure`, `medium` and `language`, if snippets name them; null for all together."),
    ]
    snippets: Count
    corrected: Count
    automatic: Count
    difference: Annotated[Number, about("Nuggets that are missing, as a share of the corrected ones.")]

    @classmethod
    def of(
        cls, condition: Mapping[str, str | None] | None, corrected: Sequence[int], automatic: Sequence[int]
    ) -> ConditionCounts:
        """From the counts of each of the snippets."""
        right, found = sum(corrected), sum(automatic)
        return cls(condition, len(corrected), right, found, (right - found) / right if right else None)


class MeanDifference(Part):
    """Corrected minus automatic nuggets, in a snippet."""

    mean: float
    low: Number  # None if the snippets do not differ, or if there is only one, as the next two
    high: Number
    p: Number


@dataclass(frozen=True)
class Corrections:
    """Automatic nuggets compared with corrected ones: counts by condition, the total last, precision and recall by
    type, and counts for each snippet."""

    model: str
    counts: tuple[ConditionCounts, ...]
    mean: MeanDifference
    without_template: int
    types: tuple[TypeCounts, ...]
    automatic: tuple[tuple[Snippet, int], ...]


def compare(texts: Sequence[Cut], model: str) -> Corrections:
    """Compare the nuggetizer's counts with those of annotations that people corrected."""
    snippets = [text.snippet for text in texts]
    automatic, corrected = [len(text.found) for text in texts], [len(snippet.nuggets) for snippet in snippets]
    names = tuple(name for name in ORDER if any(getattr(snippet, name) for snippet in snippets))
    conditions = [tuple(getattr(snippet, name) or "" for name in names) for snippet in snippets]
    counts = []
    for condition in sorted(set(conditions)) if names else ():
        own = [i for i, values in enumerate(conditions) if values == condition]
        named = {name: value or None for name, value in zip(names, condition, strict=True)}
        counts.append(ConditionCounts.of(named, [corrected[i] for i in own], [automatic[i] for i in own]))
    counts.append(ConditionCounts.of(None, corrected, automatic))
    mean = mean_difference(np.subtract(corrected, automatic).astype(float))
    without_template = sum(text.template is None for text in texts)
    counted = tuple(zip(snippets, automatic, strict=True))
    types = by_type((text.snippet.text, text.snippet.nuggets, text.annotation.nuggets) for text in texts)
    return Corrections(model, tuple(counts), mean, without_template, tuple(types), counted)


def mean_difference(differences: Vector) -> MeanDifference:
    """The mean with Student's interval, and the p-value of the hypothesis that the mean is 0."""
    from scipy.special import stdtr, stdtrit

    mean, size = float(differences.mean()), len(differences)
    if size < 2 or np.ptp(differences) == 0:
        return MeanDifference(mean, None, None, None)
    error = float(differences.std(ddof=1) / np.sqrt(size))
    reach = float(stdtrit(size - 1, ENDS[1])) * error
    return MeanDifference(mean, mean - reach, mean + reach, float(2 * stdtr(size - 1, -abs(mean / error))))


@dataclass(frozen=True)
class TypeCounts:
    """Nuggets of one type, None for all of them: how many there are, how many the nuggetizer found, and how many of
    these are the same nugget with the same boundaries (`exact`) or with other ones (`near`)."""

    type: str | None
    corrected: int
    automatic: int
    exact: int
    near: int

    def precision(self, near: bool = False) -> float | None:
        return self._hits(near) / self.automatic if self.automatic else None

    def recall(self, near: bool = False) -> float | None:
        return self._hits(near) / self.corrected if self.corrected else None

    def f1(self, near: bool = False) -> float | None:
        both = self.automatic + self.corrected
        return 2 * self._hits(near) / both if both else None

    def _hits(self, near: bool) -> int:
        return self.exact + (self.near if near else 0)


def by_type(texts: Iterable[tuple[str, Sequence[Extent], Sequence[Extent]]]) -> list[TypeCounts]:
    """Texts with their corrected and their automatic nuggets, counted by type; all types together last."""
    counts: dict[str, list[int]] = {}
    for text, corrected, automatic in texts:
        for kind in sorted({nugget.type or "" for nugget in (*corrected, *automatic)}):
            right, found = (
                [letters(text, nugget) for nugget in nuggets if (nugget.type or "") == kind]
                for nuggets in (corrected, automatic)
            )
            exact, near = _matched(right, found)
            own = counts.setdefault(kind, [0, 0, 0, 0])
            for i, count in enumerate((len(right), len(found), exact, near)):
                own[i] += count
    rows = [TypeCounts(kind or "(none)", *own) for kind, own in sorted(counts.items())]
    sums = [sum(own[i] for own in counts.values()) for i in range(4)]
    return [*rows, TypeCounts(None, *sums)]


def _matched(right: Sequence[frozenset[int]], found: Sequence[frozenset[int]]) -> tuple[int, int]:
    """How many of the right nuggets were found, each by another one: with the same boundaries, and with other ones."""
    left, missing = list(found), []
    for own in right:
        if own in left:
            left.remove(own)
        else:
            missing.append(own)
    near = 0
    for own in missing:
        best = nearest(own, left)
        if best is not None:
            del left[best]
            near += 1
    return len(right) - len(missing), near
