"""AutoNuggetizer's six scores (Pradeep et al. 2024): support counts 1, partial support ½ or, strictly, 0.

Worked by hand: vital nuggets supported, partly and not, and an okay nugget supported: vital = 1.5/3,
strict vital = 1/3, all = 2.5/4, weighted = (1.5 + ½)/(3 + ½).
"""

from __future__ import annotations

import numpy as np

from nuggeteer.measures.base import Answers, Measure, ratio
from nuggeteer.records import Bools, Vector

SOURCE = "Pradeep et al. 2024, the AutoNuggetizer framework of TREC RAG"


def _share(answers: Answers, strict: bool, weight: Vector | Bools) -> Vector:
    """Credit over the weight of the set: 1 for a nugget supported, ½ or, strictly, 0 for one partly supported."""
    partly = 0.0 if strict else 0.5
    credit = answers.found_weight(weight) + partly * answers.partly_weight(weight)
    return ratio(credit, answers.asked_weight(weight, partly), otherwise=0.0)


def _score(kind: str, strict: bool) -> Measure:
    formulas = {
        "vital": "ΣV / |V|",
        "all": "ΣA / |A|, vital, okay and unrated nuggets alike",
        "weighted": "(ΣV + ½ΣO) / (|V| + ½|O|)",
    }

    def values(answers: Answers) -> Vector:
        key = answers.key
        weights: dict[str, Vector | Bools] = {
            "vital": key.vital,
            "all": np.ones(len(key.nuggets)),
            "weighted": key.vital + 0.5 * key.okay,
        }
        return _share(answers, strict, weights[kind])

    return Measure(
        name=f"strict_{kind}_score" if strict else f"{kind}_score",
        title=f"strict {kind}" if strict else kind,
        formula=formulas[kind] + (", partial support 0" if strict else ", partial support ½"),
        citation=SOURCE,
        edge_cases="0 over an empty set, and without an answer",
        values=values,
    )


SCORES = tuple(_score(kind, strict) for strict in (True, False) for kind in ("vital", "weighted", "all"))
