"""Nugget pyramids: importance by the votes of several assessors, averaged by nugget or by assessor.

Worked by hand: nuggets of weight 1, ⅔ and ⅓, of which the second and third are found, have recall
1 / 2 = 0.5. Under three assessors' own votes (V V O, V O O for the last two) the recalls are ½, ½ and 0.
"""

from __future__ import annotations

import numpy as np

from nuggeteer.measures.base import Answers, Measure, ratio
from nuggeteer.measures.composition import Composition
from nuggeteer.measures.f import combine, precision_values, recall_of
from nuggeteer.records import Vector

SOURCE = "Lin & Demner-Fushman 2006; Dang & Lin 2007, §2.2"
MACRO_SOURCE = "Dang & Lin 2007, §4.1"


def _weighted_recall(answers: Answers) -> Vector:
    weight = answers.key.weight
    return ratio(answers.found_weight(weight), answers.asked_weight(weight), otherwise=float("nan"))


def pyramid_f(beta: float) -> Measure:
    return Measure(
        name=f"pyramid_f{beta:g}",
        title=f"pyramid F({beta:g})",
        formula="F with recall = weight found / weight in the key; weight = share of votes for vital",
        citation=SOURCE,
        edge_cases="undefined where all weights are 0; not reported for a key without votes or weights",
        values=lambda answers: combine(precision_values(answers), _weighted_recall(answers), beta),
        applies=lambda key: key.weighted,
        composition=lambda key: Composition(key, "f", key.weight, beta),
    )


def macro_f(beta: float) -> Measure:
    def values(answers: Answers) -> Vector:
        precision = precision_values(answers)
        votes = answers.key.vital_by_assessor
        each = np.stack([combine(precision, recall_of(answers, vital), beta) for vital in votes])
        defined = ~np.isnan(each)
        total = np.where(defined, each, 0.0).sum(axis=0)
        return ratio(total, defined.sum(axis=0).astype(float), otherwise=float("nan"))

    return Measure(
        name=f"macro_f{beta:g}",
        title=f"macro F({beta:g})",
        formula="mean over assessors of F under each one's own vital/okay votes",
        citation=MACRO_SOURCE,
        edge_cases="assessors without a vital vote in the question are left out; undefined without any; "
        "not reported for a key without votes",
        values=values,
        applies=lambda key: bool(key.assessors),
    )
