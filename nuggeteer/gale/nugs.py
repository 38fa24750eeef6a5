"""Propose nugs for nuggets that are not sorted yet. A person then reads, corrects and accepts the proposals.

The likeness of two nuggets is the mean of two shares: the share of the first nugget's words that the second has, and
the other way round. Words are weighed by idf (the n-gram matcher, with each nugget as a description). Agglomerative
clustering with average linkage puts the nuggets of a query into classes. A nug means what its most precise nugget
means, which is the nugget that contains most of the words of the others. Another nugget's degree of membership is the
share of these words that it has. A nugget that is also similar to the meaning of another nug belongs to both; its
degrees add up to at most 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nuggeteer.collection.answer_key import make_key
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.distillation import Distillation, Nug
from nuggeteer.matching.idf import background
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.records import Ints, Nugget, Question, Vector
from nuggeteer.settings import Match
from nuggeteer.text import normalised

SETTINGS = Match(n=1)
LEAST_LIKENESS = 0.3  # the mean within a class; measured in experiments/nugs.md


@dataclass(frozen=True)
class NugProposal:
    """An evaluation with proposed nugs for all nuggets that were in none."""

    distillation: Distillation
    nugs: tuple[Nug, ...]
    nuggets: int


def propose(distillation: Distillation) -> NugProposal:
    """Sort the nuggets of all queries that have no nugs yet."""
    unsorted: dict[str, list[str]] = defaultdict(list)
    for nugget in distillation.nuggets:
        if not nugget.nugs:
            unsorted[nugget.qid].append(nugget.text)
    if not unsorted:
        raise NuggeteerError("every nugget is already in a nug; there is nothing to propose")
    begun = sorted({nug.qid for nug in distillation.nugs} & set(unsorted))
    if begun:
        raise NuggeteerError(
            f"the query {begun[0]!r} has nugs, but also nuggets that are in none; sort these by hand, or delete its "
            'nugs and the key "nugs" of its nuggets'
        )
    nugs: list[Nug] = []
    degrees: dict[tuple[str, str], dict[str, float]] = {}
    for qid, texts in unsorted.items():
        meanings, memberships = sort(texts)
        nugs += [Nug(qid, str(i), 1.0, text, proposed=True) for i, text in enumerate(meanings, 1)]
        for text, own in memberships.items():
            degrees[qid, text] = {str(i + 1): degree for i, degree in own.items()}
    nuggets = [n if n.nugs else replace(n, nugs=degrees[n.qid, normalised(n.text)]) for n in distillation.nuggets]
    every_nug = (*distillation.nugs, *nugs)
    position = {(nug.qid, nug.nug): i for i, nug in enumerate(every_nug)}
    nuggets.sort(key=lambda n: min(position[n.qid, nug] for nug in n.nugs or ()))  # a person reads them by nug
    whole = replace(distillation, nugs=every_nug, nuggets=tuple(nuggets))
    return NugProposal(whole, tuple(nugs), sum(map(len, unsorted.values())))


def accept(distillation: Distillation) -> tuple[Distillation, int]:
    """The evaluation with all nugs that are only proposed, or that can be, taken as they are; and their number."""
    if any(not nugget.nugs for nugget in distillation.nuggets):
        distillation = propose(distillation).distillation
    count = sum(nug.proposed for nug in distillation.nugs)
    return replace(distillation, nugs=tuple(replace(nug, proposed=False) for nug in distillation.nugs)), count


def sort(texts: Sequence[str]) -> tuple[list[str], dict[str, dict[int, float]]]:
    """Sort texts into classes.

    Returns the meaning of each class, in the order in which the classes first occur, and by normalised text the
    degrees of membership in the classes.
    """
    written = {normalised(text): text for text in reversed(texts)}
    distinct = sorted(written)  # the order of the lines then only decides the order of the classes
    shares = containment(distinct)
    likeness = (shares + shares.T) / 2
    labels = classes(likeness)
    position = {text: i for i, text in enumerate(distinct)}
    order = list(dict.fromkeys(int(labels[position[normalised(text)]]) for text in texts))
    meaning = [_most_precise(shares, np.flatnonzero(labels == label)) for label in order]
    memberships: dict[str, dict[int, float]] = {}
    for i, text in enumerate(distinct):
        if i in meaning:
            memberships[text] = {meaning.index(i): 1.0}
            continue
        own = order.index(int(labels[i]))
        near = {k: float(shares[i, m]) for k, m in enumerate(meaning) if k == own or likeness[i, m] >= LEAST_LIKENESS}
        memberships[text] = _at_most_one(near)
    return [written[distinct[m]] for m in meaning], memberships


def containment(texts: Sequence[str]) -> Vector:
    """Texts × texts: the share of the words of the column's text, weighed by idf, that the row's text has."""
    size = len(texts)
    # Each text is the only nugget of its own question, so words that several texts share keep their full weight.
    key = make_key(
        [Question(str(i), "") for i in range(size)], [Nugget(str(i), "1", (t,), "vital") for i, t in enumerate(texts)]
    )
    matcher = NgramMatcher(key, SETTINGS, background())
    question = np.repeat(np.arange(size, dtype=np.int32), size)
    return matcher.score([normalised(text) for text in texts] * size, question).reshape(size, size).T


def classes(likeness: Vector, least: float = LEAST_LIKENESS) -> Ints:
    """A label for each text. Classes are merged as long as their mean likeness is at least `least`."""
    from sklearn.cluster import AgglomerativeClustering

    if len(likeness) == 1:
        return np.zeros(1, dtype=np.int64)
    distance = 1 - likeness
    np.fill_diagonal(distance, 0.0)
    model = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=1 - least
    )
    return np.asarray(model.fit_predict(distance))


def _most_precise(shares: Vector, members: Ints) -> int:
    """The member with the largest shares of the others; if several are equal, the one that the others cover least."""
    inside = shares[np.ix_(members, members)]
    best = np.lexsort((inside.sum(axis=0), -inside.sum(axis=1)))
    return int(members[best[0]])


def _at_most_one(degrees: Mapping[int, float]) -> dict[int, float]:
    """Degrees with two digits, as a person would write them, of at least 0.01 each and at most 1 in sum."""
    whole = max(1.0, sum(degrees.values()))
    return {k: max(int(100 * degree / whole + 1e-9) / 100, 0.01) for k, degree in degrees.items()}
