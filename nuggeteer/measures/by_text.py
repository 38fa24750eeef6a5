"""Scores that compare texts with the key, whatever was judged: Pourpre's own, and ROUGE of whole answers.

Worked by hand: of two vital nuggets the answer's best responses share ¾ and 0 of the words' weight, and of one okay
nugget ¼. So recall is ¾ / 2 = 0.375 and the allowance 100 · (¾ + ¼) = 100. At 200 characters precision is ½, and F(3)
is 10 · ½ · 0.375 / (9 · ½ + 0.375) = 1.875 / 4.875 = 0.385.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from nuggeteer.errors import NuggeteerError
from nuggeteer.measures.base import Answers, Measure, per_question, ratio
from nuggeteer.measures.f import ALLOWANCE, combine
from nuggeteer.records import AnswerKey, Ints, Vector

SOURCE = "Lin & Demner-Fushman 2005; Marton & Radul 2006, §1"
ROUGE = ("rouge1", "rouge2", "rougeL")


def pourpre_f(beta: float) -> Measure:
    name = f"pourpre_f{beta:g}"
    return Measure(
        name=name,
        title=f"Pourpre F({beta:g})",
        formula="F whose recall and allowance add up, for each nugget, the share of its stemmed words' weight that the "
        "best response has",
        citation=SOURCE,
        edge_cases="0 without an answer; undefined for a question without vital nuggets; verdicts do not matter",
        values=partial(_values, name),
        by_text=True,
    )


def credited_f(key: AnswerKey, credit: Vector, length: Ints, beta: float) -> Vector:
    """F of each question where nuggets are found in part. `credit` has the part of each nugget."""
    credit = key.grouping.combine(credit)
    asked = per_question(key.vital.astype(float), key)
    recall = ratio(per_question(credit * key.vital, key), asked, otherwise=float("nan"))
    allowance = ALLOWANCE * per_question(credit * (key.vital | key.okay), key)
    precision = ratio(allowance, length.astype(float), otherwise=0.0).clip(max=1.0)
    return combine(precision, recall, beta)


def _rouge(kind: str) -> Measure:
    about = {"rouge1": "words", "rouge2": "pairs of words", "rougeL": "words of the longest common sequence"}
    return Measure(
        name=kind,
        title=kind.replace("rouge", "ROUGE-"),
        formula=f"share of the {about[kind]} of all the question's nuggets together that the whole answer has",
        citation="Lin 2004, as the package rouge-score computes it, with stems; Marton & Radul 2006, table 2",
        edge_cases="0 without an answer; verdicts do not matter; needs the extra rouge",
        values=partial(_values, kind),
        by_text=True,
    )


def _values(name: str, answers: Answers) -> Vector:
    if name not in answers.by_text:
        raise NuggeteerError(f"{name} compares texts, and this command only has verdicts; ask score or compare for it")
    values = answers.by_text[name]
    return np.broadcast_to(values, (*answers.found.shape[:-1], len(values)))


WHOLE_ANSWERS = tuple(map(_rouge, ROUGE))
