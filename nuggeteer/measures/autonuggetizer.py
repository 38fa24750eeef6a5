"""AutoNuggetizer's six scores (Pradeep et al. 2024): support counts 1, partial support ½ or, strictly, 0.

Worked by hand: vital nuggets supported, partly and not, and an okay nugget supported: vital = 1.5/3,
strict vital = 1/3, all = 2.5/4, weighted = (1.5 + ½)/(3 + ½).
"""

from __future__ import annotations

import numpy as np

from nuggeteer.measures.base import Answers, Measure, ratio
from nuggeteer.measures.composition import Composition
from nuggeteer.records import AnswerKey, Vector

SOURCE = "Pradeep et al. 2024, the AutoNuggetizer framework of TREC RAG"


def _share(answers: Answers, weight: Vector, partly: float) -> Vector:
    """Credit over the weight of the set: 1 for a nugget supported, `partly` for one partly supported."""
    credit = answers.found_weight(weight) + partly * answers.partly_weight(weight)
    return ratio(credit, answers.asked_weight(weight, partly), otherwise=0.0)


def _score(kind: str, strict: bool) -> Measure:
    partly = 0.0 if strict else 0.5
    formulas = {
        "vital": "ΣV / |V|",
        "all": "ΣA / |A|, vital, okay and unrated nuggets alike",
        "weighted": "(ΣV + ½ΣO) / (|V| + ½|O|)",
    }

    def weights(key: AnswerKey) -> Vector:
        if kind == "all":
            return np.ones(len(key.nuggets))
        return key.vital + (0.5 * key.okay if kind == "weighted" else 0.0)

    return Measure(
        name=f"strict_{kind}_score" if strict else f"{kind}_score",
        title=f"strict {kind}" if strict else kind,
        formula=formulas[kind] + (", partial support 0" if strict else ", partial support ½"),
        citation=SOURCE,
        edge_cases="0 over an empty set, and without an answer",
        values=lambda answers: _share(answers, weights(answers.key), partly),
        composition=lambda key: Composition(key, "linear", weights(key), partly=partly, empty=0.0),
    )


SCORES = tuple(_score(kind, strict) for strict in (True, False) for kind in ("vital", "weighted", "all"))
