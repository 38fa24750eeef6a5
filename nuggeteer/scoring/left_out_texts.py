"""Judged texts as they would be guessed if nobody had judged their systems: what carried-over log odds are worth is
learned from them (`thresholds/carrying.py`)."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import Final

import numpy as np

from nuggeteer.collection.folder import Collection
from nuggeteer.matching.base import Matcher
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Vector
from nuggeteer.scoring.known import YES, VerdictIndex
from nuggeteer.thresholds.model import LeftOut

NUGGETS: Final = 1_500  # of systems, that are enough


def owners(collection: Collection, known: VerdictIndex) -> list[str]:
    """The run that each judged text is of."""
    questions = collection.key.questions
    return [
        run or collection.returned_by(questions[question].qid, text)
        for run, question, text in zip(known.runs, known.question.tolist(), known.texts, strict=True)
    ]


def leave_out(
    collection: Collection, matcher: Matcher, known: VerdictIndex, begin: Ints, nugget: Ints
) -> LeftOut | None:
    """What would be known of some judged pairs if nobody had judged their group or, where all are of one group, their
    run. None if nothing could be carried over. `begin` says where the pairs of each judged text begin, and `nugget` is
    that of each pair.

    Also None where it is unknown which response has a nugget that somebody found: then the pairs that are known would
    be those of answers without it."""
    if not matcher.uses_judgements or known.found_somewhere:
        return None
    of_text = owners(collection, known)
    groups = [collection.group(run) for run in of_text]
    if len(set(groups)) > 1:
        of_text = groups
    if len(set(of_text)) < 2:
        return None
    texts, chosen = _some(collection.key, known.question, of_text)
    if not len(chosen):
        return None
    carried = matcher.left_out(
        [known.texts[row] for row in texts.tolist()], known.question[texts], [of_text[row] for row in texts.tolist()]
    )
    if carried is None or np.isnan(carried).all():
        return None
    counts = np.diff(begin)[texts]
    told = ~np.isnan(carried)
    where, unit = (
        ragged(begin[texts], counts)[1][told],
        np.repeat(np.unique(of_text, return_inverse=True)[1][texts], counts)[told],
    )
    result = LeftOut(*np.full((2, len(nugget)), np.nan))
    result.carried[where] = carried[told]
    result.share[where] = _share_of_others(nugget[where], unit, (known.taught == YES)[where])
    others = np.setdiff1d(texts, chosen)
    result.carried[ragged(begin[others], np.diff(begin)[others])[1]] = np.nan
    return None if np.isnan(result.carried).all() else result


def _some(key: AnswerKey, question: Ints, unit: list[str]) -> tuple[Ints, Ints]:
    """Judged texts: all of some questions, and among them those of some units. First one unit of each question, and so
    on until there is enough, but of no question more than a third, because a fit to the rest must guess them. Whatever
    the questions ask and wherever they stand, so that most stay when others are added. `question` and `unit` are those
    of each text."""
    by_unit: dict[tuple[int, str], list[int]] = {}
    for row, asked in enumerate(zip(question.tolist(), unit, strict=True)):
        by_unit.setdefault(asked, []).append(row)
    units = Counter(number for number, _ in by_unit)
    turns = Counter[int]()
    in_turn: list[tuple[int, list[int]]] = []
    for number, name in sorted(by_unit, key=lambda asked: _lot(key.questions[asked[0]].qid, asked[1])):
        if turns[number] < max(units[number] // 3, 1) and units[number] > 1:
            in_turn.append((turns[number], by_unit[number, name]))
            turns[number] += 1
    enough, chosen = NUGGETS, list[int]()
    for _, texts in sorted(in_turn, key=lambda one: one[0]):
        if enough <= 0:
            break
        enough -= int(key.counts[question[texts[0]]])
        chosen += texts
    return np.flatnonzero(np.isin(question, question[chosen])), np.sort(np.array(chosen, dtype=np.int64))


def _lot(qid: str, unit: str) -> bytes:
    return blake2b(f"{qid}\t{unit}".encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _share_of_others(nugget: Ints, unit: Ints, yes: Bools) -> Vector:
    """Of each pair, how many of the other units' pairs with its nugget are a yes."""
    of_nugget = np.unique(nugget, return_inverse=True)[1]
    own = np.unique(of_nugget * (int(unit.max()) + 1) + unit, return_inverse=True)[1]

    def others(weights: Vector) -> Vector:
        return np.asarray(np.bincount(of_nugget, weights)[of_nugget] - np.bincount(own, weights)[own], dtype=float)

    return np.asarray((others(yes.astype(float)) + 0.5) / (others(np.ones(len(yes))) + 1))
