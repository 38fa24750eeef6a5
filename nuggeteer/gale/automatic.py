"""Scores and counts from nuggets found automatically: Babko-Malaya et al. 2010, §3.3 and §5.

People judge snippets, and select what of a relevant one answers the query; the nuggetizer says how much that is. The
nuggets of selected text are right, those of irrelevant and redundant snippets wrong; text beside the selection is
passed over. Precision is right over all. Recall is over the nugs that any distiller found: its right nuggets are
sorted into nugs as `distill` proposes them, within their type, and the sum over types stands for all there is to find.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nuggeteer.errors import InputError
from nuggeteer.formats.annotation import Extent, Snippet
from nuggeteer.formats.snippets import JudgedSnippet, Verdict
from nuggeteer.gale.nuggetizer import Found, Nuggetizer, pieces, select
from nuggeteer.gale.nugs import sort
from nuggeteer.gale.templates import ANY, Template, Type, find_template, follow
from nuggeteer.records import Vector
from nuggeteer.statistics.intervals import CONFIDENCE, Interval, mean_interval, question_draws
from nuggeteer.text import normalised

ORDER = ("structure", "medium", "language")  # of conditions, as in table 4


@dataclass(frozen=True)
class Cut:
    """A text with the nuggets that count under its template; None: all types do."""

    snippet: Snippet
    template: Template | None
    found: list[Found]

    @property
    def annotation(self) -> Snippet:
        """As an annotator would have marked it."""
        return replace(self.snippet, nuggets=tuple(Extent(nugget.spans, nugget.type) for nugget in self.found))


def cut(
    texts: Sequence[Snippet],
    nuggetizer: Nuggetizer,
    templates: Mapping[str, Template],
    template: Template | None = None,
) -> list[Cut]:
    """The nuggets of each text: of the template that is asked for; else of the one that the text's line says."""
    chosen = [template or _template_of(one, templates) for one in texts]
    found = nuggetizer.all(one.text for one in texts)
    return [Cut(one, own, select(nuggets, own or ANY)) for one, own, nuggets in zip(texts, chosen, found, strict=True)]


def _template_of(one: Snippet, templates: Mapping[str, Template]) -> Template | None:
    said = one.extra.get("template") or one.extra.get("query")
    if said is None:
        return follow(one.qid or "", templates)  # in the papers' notation the id of a query may be the query
    if not isinstance(said, str):
        raise InputError([one.problem("the query or template is no text", "put it in quotes")])
    return find_template(said, templates)


@dataclass(frozen=True)
class Answer:
    """What a distiller returned to a query, in nuggets. None is undefined: nothing returned, or nothing to find."""

    qid: str
    distiller: str
    nuggets: Mapping[Verdict, int]
    nugs: int
    of: int

    @property
    def precision(self) -> float | None:
        total = sum(self.nuggets.values())
        return self.nuggets["relevant"] / total if total else None

    @property
    def recall(self) -> float | None:
        return self.nugs / self.of if self.of else None


@dataclass(frozen=True)
class AutomaticScores:
    """Every query and distiller, and the means over queries with intervals for the choice of queries."""

    model: str
    templates: dict[str, Template]
    answers: tuple[Answer, ...]
    means: dict[str, dict[str, Interval]]
    snippets: tuple[tuple[JudgedSnippet, list[tuple[str, list[Found]]]], ...]


def score(
    snippets: Sequence[JudgedSnippet],
    asked: Mapping[str, str],
    nuggetizer: Nuggetizer,
    templates: Mapping[str, Template],
    seed: int = 0,
) -> AutomaticScores:
    """Precision and recall by distiller and query. A distiller that returns nothing to a query has no precision
    there, and finds none of its nugs."""
    chosen = {qid: find_template(said, templates) for qid, said in asked.items()}
    parsed = nuggetizer.all(text for one in snippets for text in one.stretches)
    judged = []
    for one in snippets:
        whole = [next(parsed) for _ in one.stretches]
        judged.append((one, [(text, select((text, found), chosen[one.qid])) for text, found in whole]))
    distillers = list(dict.fromkeys(one.distiller for one in snippets))
    answers = [answer for qid in chosen for answer in _answers(qid, distillers, judged)]
    resamples = question_draws(len(chosen), seed)
    means = {}
    for distiller in distillers:
        own = [answer for answer in answers if answer.distiller == distiller]
        means[distiller] = {
            name: mean_interval(_defined([getattr(answer, name) for answer in own]), resamples, certain=True)
            for name in ("precision", "recall")
        }
    return AutomaticScores(nuggetizer.name, chosen, tuple(answers), means, tuple(judged))


def _defined(values: Sequence[float | None]) -> Vector:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _answers(
    qid: str, distillers: Sequence[str], judged: Sequence[tuple[JudgedSnippet, list[tuple[str, list[Found]]]]]
) -> list[Answer]:
    counts: dict[str, Counter[Verdict]] = {distiller: Counter() for distiller in distillers}
    right: dict[Type, list[tuple[str, str]]] = {}
    for one, stretches in judged:
        if one.qid != qid:
            continue
        for text, found in stretches:
            counts[one.distiller][one.judged] += len(found)
            if one.judged == "relevant":
                for nugget in found:
                    words = " ".join(pieces(text, nugget.spans))
                    right.setdefault(nugget.type, []).append((one.distiller, words))
    total, found_by = 0, Counter[str]()
    for said in right.values():
        meanings, memberships = sort([words for _, words in said])
        total += len(meanings)
        found_by.update(d for d, _ in {(d, _class(memberships[normalised(words)])) for d, words in said})
    verdicts: tuple[Verdict, ...] = ("relevant", "irrelevant", "redundant")
    return [Answer(qid, d, {v: counts[d][v] for v in verdicts}, found_by[d], total) for d in distillers]


def _class(degrees: Mapping[int, float]) -> int:
    """The nug that a nugget belongs to most; of equals the first."""
    return max(sorted(degrees), key=lambda nug: degrees[nug])


@dataclass(frozen=True)
class Count:
    """Corrected and automatic nuggets of the snippets of one condition; None of all of them."""

    condition: tuple[str, ...] | None
    snippets: int
    corrected: int
    automatic: int

    @property
    def difference(self) -> float | None:
        """By how much the automatic ones are too few, as a share of the corrected ones."""
        return (self.corrected - self.automatic) / self.corrected if self.corrected else None


@dataclass(frozen=True)
class MeanDifference:
    """Corrected minus automatic nuggets a snippet, each snippet a sample of its own; None where it cannot be said."""

    mean: float
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True)
class Corrections:
    """Automatic against corrected nuggets: by condition, the total last, and snippet by snippet."""

    model: str
    conditions: tuple[str, ...]
    counts: tuple[Count, ...]
    mean: MeanDifference
    untold: int
    automatic: tuple[tuple[Snippet, int], ...]


def compare(texts: Sequence[Cut], model: str) -> Corrections:
    """Count what the nuggetizer found in the texts of annotations against what people made of them."""
    snippets = [one.snippet for one in texts]
    automatic, wanted = [len(one.found) for one in texts], [len(one.nuggets) for one in snippets]
    told = tuple(name for name in ORDER if any(getattr(one, name) for one in snippets))
    kinds = [tuple(getattr(one, name) or "" for name in told) for one in snippets]
    rows = [(kind, [i for i, own in enumerate(kinds) if own == kind]) for kind in sorted(set(kinds)) if told]
    counts = [Count(kind, len(own), _sum(wanted, own), _sum(automatic, own)) for kind, own in rows]
    counts.append(Count(None, len(kinds), sum(wanted), sum(automatic)))
    mean = mean_difference(np.subtract(wanted, automatic).astype(float))
    untold = sum(one.template is None for one in texts)
    return Corrections(model, told, tuple(counts), mean, untold, tuple(zip(snippets, automatic, strict=True)))


def _sum(values: Sequence[int], which: Sequence[int]) -> int:
    return sum(values[i] for i in which)


def mean_difference(differences: Vector) -> MeanDifference:
    """The mean with Student's interval, and p of the hypothesis that it is 0."""
    from scipy.special import stdtr, stdtrit

    mean, size = float(differences.mean()), len(differences)
    if size < 2 or np.ptp(differences) == 0:
        return MeanDifference(mean, None, None, None)
    error = float(differences.std(ddof=1) / np.sqrt(size))
    reach = float(stdtrit(size - 1, (1 + CONFIDENCE) / 2)) * error
    return MeanDifference(mean, mean - reach, mean + reach, float(2 * stdtr(size - 1, -abs(mean / error))))
