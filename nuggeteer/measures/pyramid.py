"""Nugget pyramids: several assessors vote on importance, and their votes are averaged by nugget or by assessor.

Worked by hand: of three nuggets with weights 1, ⅔ and ⅓ the second and third are found, so recall is 1 / 2 = 0.5. Under
each of three assessors' own votes (V V O on the second nugget, V O O on the third) recall is ⅔, ½ and 0.
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
        formula="F with recall = weight found / weight in the key; weight = mean vote; vital is 1, okay 0",
        citation=SOURCE,
        edge_cases="undefined if all weights of a question are 0; not reported if the key has neither votes "
        "nor weights",
        values=lambda answers: combine(precision_values(answers), _weighted_recall(answers), beta),
        applies=lambda key: key.weighted,
        composition=lambda key: Composition(key, "f", key.weight, beta),
    )


def macro_f(beta: float) -> Measure:
    def values(answers: Answers) -> Vector:
        precision = precision_values(answers)
        each = np.stack([combine(precision, recall_of(answers, votes), beta) for votes in answers.key.votes])
        defined = ~np.isnan(each)
        total = np.where(defined, each, 0.0).sum(axis=0)
        return ratio(total, defined.sum(axis=0).astype(float), otherwise=float("nan"))

    return Measure(
        name=f"macro_f{beta:g}",
        title=f"macro F({beta:g})",
        formula="mean over assessors of F, by each assessor's own votes; vital is 1, okay 0",
        citation=MACRO_SOURCE,
        edge_cases="an assessor who calls no nugget of a question vital is left out there; undefined if nobody is "
        "left; not reported if the key has no votes",
        values=values,
        applies=lambda key: bool(key.assessors),
    )
