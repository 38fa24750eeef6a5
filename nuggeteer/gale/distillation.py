"""How well distillers answer: the statistics of White et al. 2008.

Each nug adds one count to a distiller's contingency table. The count is split among four cells by the nug's relevance R
and by the degree of membership D of the distiller's most precise nugget in it (equations 1 to 4):

                     not in the answer           in the answer
    not relevant     other    (1 − R)(1 − D)     wrong   (1 − R) D, redundant nuggets, irrelevant text
    relevant         missing  R (1 − D)          right   R D

A nug that is relevant only to readers with world knowledge is never missing: its R (1 − D) counts as other
(Babko-Malaya 2008, §4). *Empirical* measures use the table as it is, and *Bayesian* measures add prior counts to it.
The tables of all queries are added up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import xlogy

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.distillation import Distillation, DistilledNugget, Nug
from nuggeteer.measures.base import ratio
from nuggeteer.records import WORLD_KNOWLEDGE, Bools, Ints, Vector
from nuggeteer.statistics.intervals import RATIOS, SCORES, Scale, jackknife_interval

RIGHT, WRONG, MISSING, OTHER = range(4)
CELLS = ("right", "wrong", "missing", "other")
PRIOR = (1.0, 1.0, 1.0, 1.0)  # §7.4: one count in each cell; the number of other nugs comes from the data
MODELS = ("empirical", "bayesian")
EXAMPLE = Path(__file__).parent / "white-2008.jsonl"


# Measures of contingency tables (..., 4), in the order of CELLS; NaN where undefined.


def precision(table: Vector) -> Vector:
    """P(x = 1 | y = 1), equation 6: the share of the distiller's nugs that is right."""
    return _share(table[..., RIGHT], table[..., RIGHT] + table[..., WRONG])


def recall(table: Vector) -> Vector:
    """P(y = 1 | x = 1), equation 7: the share of the relevant nugs that the distiller gave."""
    return _share(table[..., RIGHT], table[..., RIGHT] + table[..., MISSING])


def rightness(table: Vector) -> Vector:
    """P(x = y = 1) / (1 − P(x = y = 0)), equation 8: right nugs as a share of right, wrong and missing ones."""
    return _share(table[..., RIGHT], table[..., :OTHER].sum(axis=-1))


def accuracy(table: Vector) -> Vector:
    """P(x = y), equation 9: near 1 for any distiller if there are many other nugs."""
    return _share(table[..., RIGHT] + table[..., OTHER], table.sum(axis=-1))


def f(table: Vector) -> Vector:
    """The harmonic mean of precision and recall: undefined if either is undefined, 0 if both are 0."""
    return harmonic(precision(table), recall(table))


def harmonic(first: Vector, second: Vector) -> Vector:
    return ratio(2 * first * second, first + second, otherwise=0.0)


def proficiency(table: Vector) -> Vector:
    """I(x, y) / H(x), equations 12 to 14: the share of the information on relevance that the distiller gives."""
    size = table.sum(axis=-1)
    p = ratio(table, size[..., None], otherwise=np.nan)
    x = np.stack([p[..., WRONG] + p[..., OTHER], p[..., RIGHT] + p[..., MISSING]], axis=-1)
    y = np.stack([p[..., MISSING] + p[..., OTHER], p[..., RIGHT] + p[..., WRONG]], axis=-1)
    entropy_x, entropy_y = (-xlogy(margin, margin).sum(axis=-1) for margin in (x, y))
    independent = np.stack(
        [x[..., i] * y[..., j] for i, j in ((1, 1), (0, 1), (1, 0), (0, 0))],
        axis=-1,
    )
    shared = xlogy(p, ratio(p, independent, otherwise=1.0)).sum(axis=-1)
    nothing = np.where(np.isnan(size) | (size == 0), np.nan, np.where(entropy_y > 0, 0.0, 1.0))
    # The result is within [0, 1], but rounding errors can push it slightly outside.
    result: Vector = np.clip(np.where(entropy_x > 0, ratio(shared, entropy_x, otherwise=0.0), nothing), 0.0, 1.0)
    return result


def _share(part: Vector, whole: Vector) -> Vector:
    return ratio(part, whole, otherwise=np.nan)


TABLE_MEASURES: dict[str, Callable[[Vector], Vector]] = {
    "precision": precision,
    "recall": recall,
    "rightness": rightness,
    "accuracy": accuracy,
    "f": f,
    "proficiency": proficiency,
}
MEASURES = (*TABLE_MEASURES, "cw_recall", "cw_f")


# Counts.


@dataclass(frozen=True)
class Counts:
    """The counts of each distiller for each nug, and the irrelevant text of each answer.

    `cells` is distillers × nugs × CELLS, with redundant nuggets counted as wrong. `redundant` and `credit` are
    distillers × nugs, and `irrelevant` is distillers × queries. `credit` has the terms of equation 11, NaN if citations
    are not recorded. `required` marks the nugs that can be missing.
    """

    query: Ints
    required: Bools
    cells: Vector
    redundant: Vector
    credit: Vector
    irrelevant: Vector

    def by_query(self) -> tuple[Vector, Vector]:
        """Tables (distillers × queries × CELLS), and the credit with its denominator (distillers × queries × 2)."""
        size = self.irrelevant.shape[1]
        tables = np.stack([_sums(cell.T, self.query, size).T for cell in np.moveaxis(self.cells, 2, 0)], axis=2)
        tables[..., WRONG] += self.irrelevant
        whole = np.where(self.required, 1.0, self.credit)
        cited = np.stack([_sums(part.T, self.query, size).T for part in (self.credit, whole)], axis=2)
        return tables, cited


def _sums(rows: Vector, group: Ints, size: int) -> Vector:
    result = np.zeros((size, *rows.shape[1:]))
    np.add.at(result, group, rows)
    return result


def count(distillation: Distillation) -> Counts:
    """Equations 1 to 4, and the terms of equation 11, for each distiller and nug."""
    queries = {query.qid: i for i, query in enumerate(distillation.queries)}
    distillers = {distiller.distiller: i for i, distiller in enumerate(distillation.distillers)}
    nugs = {(nug.qid, nug.nug): i for i, nug in enumerate(distillation.nugs)}
    given: dict[tuple[int, int], list[tuple[float, DistilledNugget]]] = defaultdict(list)
    for nugget in distillation.nuggets:
        for nug, degree in (nugget.nugs or {}).items():
            if degree > 0:
                given[distillers[nugget.distiller], nugs[nugget.qid, nug]].append((degree, nugget))
    best, redundant, credit = (np.zeros((len(distillers), len(nugs))) for _ in range(3))
    for (row, column), own in given.items():
        degrees = [degree for degree, _ in own]
        best[row, column] = max(degrees)
        redundant[row, column] = sum(degrees) - max(degrees)
        cited = citation_f(distillation.nugs[column], [nugget for _, nugget in own])
        credit[row, column] = sum(degrees) / len(degrees) * np.sqrt(cited)
    relevance = np.array([nug.relevance for nug in distillation.nugs])
    required = np.array([WORLD_KNOWLEDGE not in nug.tags for nug in distillation.nugs], dtype=bool)
    unseen = relevance * (1 - best)
    cells = np.stack(
        [
            relevance * best,
            (1 - relevance) * best + redundant,
            np.where(required, unseen, 0.0),
            (1 - relevance) * (1 - best) + np.where(required, 0.0, unseen),
        ],
        axis=2,
    )
    irrelevant = np.zeros((len(distillers), len(queries)))
    for answer in distillation.answers:
        row = distillers[answer.distiller]
        per_nug = distillation.distillers[row].characters_per_nug or distillation.corpus.characters_per_nug
        irrelevant[row, queries[answer.qid]] = answer.irrelevant / per_nug if per_nug else 0.0
    query = np.array([queries[nug.qid] for nug in distillation.nugs], dtype=np.int64)
    return Counts(query, required, cells, redundant, credit, irrelevant)


def citation_f(nug: Nug, nuggets: Sequence[DistilledNugget]) -> float:
    """F of the documents that a distiller cites for its nuggets in a nug, compared with those that support the nug.

    NaN if either is not recorded, or if both are empty.
    """
    if nug.support is None or any(nugget.citations is None for nugget in nuggets):
        return float("nan")
    cited = {docid for nugget in nuggets for docid in nugget.citations or ()}
    support = set(nug.support)
    both = len(cited) + len(support)
    return 2 * len(cited & support) / both if both else float("nan")


# DistillerScores.

Range = tuple[float, float] | None


@dataclass(frozen=True)
class DistillerScores:
    """Measures under one model for each distiller, or for each machine relative to the humans. Undefined values are
    NaN."""

    values: Mapping[str, Vector]
    intervals: Mapping[str, list[Range]]


@dataclass(frozen=True)
class Distilled:
    """The scores of an evaluation. `tables` are distillers × CELLS, with other nugs and irrelevant text counted."""

    distillation: Distillation
    counts: Counts
    tables: Vector
    prior: tuple[float, ...]
    models: Mapping[str, DistillerScores]
    ratios: Mapping[str, DistillerScores]
    remarks: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [distiller.distiller for distiller in self.distillation.distillers]

    @property
    def humans(self) -> list[str]:
        return [self.names[i] for i in _of_kind(self.distillation, "human")]

    @property
    def notes(self) -> list[str]:
        """Notes on missing data and their consequences."""
        return [*self.remarks, *_notes(self.distillation)]

    @property
    def machines(self) -> list[int]:
        """The machines that are compared with humans: none if there are no humans."""
        return _of_kind(self.distillation, "machine") if _of_kind(self.distillation, "human") else []


def distill(distillation: Distillation, prior: Sequence[float] = PRIOR) -> Distilled:
    """Score distillers on all queries together.

    `prior` are the counts, in the order of CELLS, that the Bayesian model adds to every distiller's table.
    """
    counts = count(distillation)
    tables, cited = counts.by_query()
    queries = tables.shape[1]
    machines, humans = _of_kind(distillation, "machine"), _of_kind(distillation, "human")
    other = np.nan if distillation.corpus.other is None else distillation.corpus.other
    whole = np.ones((1, queries))
    weights = np.concatenate([whole, 1 - np.eye(queries)])  # all queries, then all but each one
    summed = np.einsum("wq,dqc->wdc", weights, tables)
    summed[..., OTHER] += other
    credit = np.einsum("wq,dqc->wdc", weights, cited)
    cw_recall = _share(credit[..., 0], credit[..., 1])
    scores: dict[str, DistillerScores] = {}
    ratios: dict[str, DistillerScores] = {}
    for model, added in (("empirical", np.zeros(4)), ("bayesian", np.array(prior, dtype=float))):
        table = summed + added
        values = {name: measure(table) for name, measure in TABLE_MEASURES.items()}
        values["cw_recall"] = cw_recall
        values["cw_f"] = harmonic(values["precision"], cw_recall)
        scores[model] = _with_intervals(values, SCORES)
        if machines and humans:
            against = {name: _share(v[:, machines], v[:, humans].mean(axis=1)[:, None]) for name, v in values.items()}
            ratios[model] = _with_intervals(against, RATIOS)
    return Distilled(distillation, counts, summed[0], tuple(prior), scores, ratios)


@dataclass(frozen=True)
class Cell:
    """The scores on the queries of one cell, such as those of Arabic audio. `values` are those of the conditions, empty
    where a query names none."""

    values: tuple[str, ...]
    scores: Distilled


def by_conditions(distillation: Distillation, names: Sequence[str], prior: Sequence[float] = PRIOR) -> list[Cell]:
    """Score distillers on the queries of each cell (White et al. 2008, §3: language × medium × structure)."""
    cells: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for query in distillation.queries:
        cells[tuple(getattr(query, name) or "" for name in names)].add(query.qid)
    if set(cells) == {("",) * len(names)}:
        raise NuggeteerError(
            f"no query has a {' or a '.join(names)}; write it on the query's line or in the annotation"
        )
    return [Cell(values, distill(_only(distillation, qids), prior)) for values, qids in sorted(cells.items())]


def _only(distillation: Distillation, qids: set[str]) -> Distillation:
    return replace(
        distillation,
        queries=tuple(query for query in distillation.queries if query.qid in qids),
        nugs=tuple(nug for nug in distillation.nugs if nug.qid in qids),
        nuggets=tuple(nugget for nugget in distillation.nuggets if nugget.qid in qids),
        answers=tuple(answer for answer in distillation.answers if answer.qid in qids),
    )


def _notes(distillation: Distillation) -> Iterator[str]:
    knowledge = sum(WORLD_KNOWLEDGE in nug.tags for nug in distillation.nugs)
    if knowledge:
        yield f"Nugs that need world knowledge, and so are never missing: {knowledge}."
    if distillation.corpus.other is None:
        yield "Proficiency and accuracy are undefined: no corpus line says how many other nugs there are."
    pairs = [(query.qid, d.distiller) for query in distillation.queries for d in distillation.distillers]
    answered = {(answer.qid, answer.distiller) for answer in distillation.answers}
    missing = [pair for pair in pairs if pair not in answered]
    if missing:
        qid, distiller = missing[0]
        yield (
            f"{len(missing)} answers have no line on irrelevant text (the first: {distiller}'s to {qid}). It is taken "
            "as none, so precision may be too high."
        )


def _of_kind(distillation: Distillation, kind: str) -> list[int]:
    return [i for i, distiller in enumerate(distillation.distillers) if distiller.kind == kind]


def _with_intervals(values: Mapping[str, Vector], scale: Scale) -> DistillerScores:
    """The measures from rows that hold the value of all queries, then without each query."""
    intervals = {
        name: [None if np.isnan(own[0]) else jackknife_interval(own[0], own[1:], scale) for own in value.T]
        for name, value in values.items()
    }
    return DistillerScores({name: value[0] for name, value in values.items()}, intervals)
