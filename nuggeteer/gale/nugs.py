"""Nugs proposed for nuggets that nobody has sorted yet; a person then reads, corrects and accepts them.

Two nuggets are alike by the mean share of each one's words, weighed by idf, that the other has (the n-gram matcher,
with each nugget for a description). Nuggets of a query that are alike on average are a class (agglomerative clustering,
average linkage). A nug means what its most precise nugget means: the one that has most of what the others say, and of
several the one that says most. Another's degree of membership is the share of that meaning that it has; one that is
also like the meaning of another nug belongs to it, too, and to all of them no more than 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nuggeteer.collection.folder import make_key
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.distillation import Distillation, Nug
from nuggeteer.matching.idf import background
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.records import Ints, Nugget, Question, Vector
from nuggeteer.settings import Match
from nuggeteer.text import normalised

SETTINGS = Match(n=1)
ALIKE = 0.3  # the least mean likeness in a class; experiments/nugs.md


@dataclass(frozen=True)
class NugProposal:
    """An evaluation with nugs proposed for the nuggets that were in none."""

    distillation: Distillation
    nugs: tuple[Nug, ...]
    nuggets: int


def propose(distillation: Distillation) -> NugProposal:
    """Sort every nugget of the queries in which none is sorted yet."""
    one = distillation
    waiting: dict[str, list[str]] = defaultdict(list)
    for nugget in one.nuggets:
        if not nugget.nugs:
            waiting[nugget.qid].append(nugget.text)
    if not waiting:
        raise NuggeteerError("every nugget is in a nug already; there is nothing to propose")
    begun = sorted({nug.qid for nug in one.nugs} & set(waiting))
    if begun:
        raise NuggeteerError(
            f"the query {begun[0]!r} has nugs, and nuggets that are in none; sort these by hand, or take its nugs and "
            'all "nugs" of its nuggets away'
        )
    nugs: list[Nug] = []
    degrees: dict[tuple[str, str], dict[str, float]] = {}
    for qid, texts in waiting.items():
        meanings, memberships = sort(texts)
        nugs += [Nug(qid, str(i), 1.0, text, proposed=True) for i, text in enumerate(meanings, 1)]
        for text, own in memberships.items():
            degrees[qid, text] = {str(i + 1): degree for i, degree in own.items()}
    nuggets = [n if n.nugs else replace(n, nugs=degrees[n.qid, normalised(n.text)]) for n in one.nuggets]
    place = {(nug.qid, nug.nug): i for i, nug in enumerate((*one.nugs, *nugs))}
    nuggets.sort(key=lambda n: min(place[n.qid, nug] for nug in n.nugs or ()))  # as a person will read them
    whole = replace(one, nugs=(*one.nugs, *nugs), nuggets=tuple(nuggets))
    return NugProposal(whole, tuple(nugs), sum(map(len, waiting.values())))


def sort(texts: Sequence[str]) -> tuple[list[str], dict[str, dict[int, float]]]:
    """The classes' meanings, in the order in which they first occur, and each distinct text's degrees of membership
    in them, by normalised text."""
    written = {normalised(text): text for text in reversed(texts)}
    distinct = sorted(written)  # so that the order of lines decides nothing but the classes' order
    shares = containment(distinct)
    alike = (shares + shares.T) / 2
    labels = classes(alike)
    place = {text: i for i, text in enumerate(distinct)}
    order = list(dict.fromkeys(int(labels[place[normalised(text)]]) for text in texts))
    meaning = [_most_precise(shares, np.flatnonzero(labels == label)) for label in order]
    memberships: dict[str, dict[int, float]] = {}
    for i, text in enumerate(distinct):
        if i in meaning:
            memberships[text] = {meaning.index(i): 1.0}
            continue
        own = order.index(int(labels[i]))
        near = {k: float(shares[i, m]) for k, m in enumerate(meaning) if k == own or alike[i, m] >= ALIKE}
        memberships[text] = _at_most_one(near)
    return [written[distinct[m]] for m in meaning], memberships


def containment(texts: Sequence[str]) -> Vector:
    """Texts × texts: the share of the column's words, by weight, that the row's text has."""
    size = len(texts)
    # Each text is a question's only nugget, so that what several texts say is not held against it.
    key = make_key(
        [Question(str(i), "") for i in range(size)], [Nugget(str(i), "1", (t,), "vital") for i, t in enumerate(texts)]
    )
    matcher = NgramMatcher(key, SETTINGS, background())
    question = np.repeat(np.arange(size, dtype=np.int32), size)
    return matcher.score([normalised(text) for text in texts] * size, question).reshape(size, size).T


def classes(alike: Vector, least: float = ALIKE) -> Ints:
    """A label for each text: classes are merged as long as they are alike enough on average."""
    from sklearn.cluster import AgglomerativeClustering

    if len(alike) == 1:
        return np.zeros(1, dtype=np.int64)
    distance = 1 - alike
    np.fill_diagonal(distance, 0.0)
    model = AgglomerativeClustering(
        n_clusters=None, metric="precomputed", linkage="average", distance_threshold=1 - least
    )
    return np.asarray(model.fit_predict(distance))


def _most_precise(shares: Vector, members: Ints) -> int:
    """The member that has most of what the others say; of equals the one of which the others have least."""
    inside = shares[np.ix_(members, members)]
    best = np.lexsort((inside.sum(axis=0), -inside.sum(axis=1)))
    return int(members[best[0]])


def _at_most_one(degrees: Mapping[int, float]) -> dict[int, float]:
    """To two digits, as a person would write them, at least 0.01 each and at most 1 in sum."""
    whole = max(1.0, sum(degrees.values()))
    return {k: max(int(100 * degree / whole + 1e-9) / 100, 0.01) for k, degree in degrees.items()}
