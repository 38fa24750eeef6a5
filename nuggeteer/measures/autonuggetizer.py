"""AutoNuggetizer's six scores (Pradeep et al. 2024): support earns 1, partial support ½, or 0 in the strict scores.

Worked by hand: three vital nuggets are supported, partly supported and not supported, and an okay nugget is supported:
vital = 1.5/3, strict vital = 1/3, all = 2.5/4, weighted = (1.5 + ½)/(3 + ½).
"""

from __future__ import annotations

from nuggeteer.measures.base import Answers, Measure, ratio
from nuggeteer.measures.composition import Composition
from nuggeteer.records import AnswerKey, Vector

SOURCE = "Pradeep et al. 2024, the AutoNuggetizer framework of TREC RAG"


def _share(answers: Answers, weight: Vector, partly: float) -> Vector:
    """The share of the weight that is earned: all of a supported nugget's, `partly` of a partly supported one's."""
    credit = answers.found_weight(weight) + partly * answers.partly_weight(weight)
    return ratio(credit, answers.asked_weight(weight, partly), otherwise=0.0)


def _score(kind: str, strict: bool) -> Measure:
    partly = 0.0 if strict else 0.5
    formulas = {
        "vital": "ΣV / |V|: the credit of vital nuggets, over their number",
        "all": "ΣA / |A|: vital, okay and unrated nuggets alike",
        "weighted": "(ΣV + ½ΣO) / (|V| + ½|O|): an okay nugget weighs half",
    }

    def weights(key: AnswerKey) -> Vector:
        if kind == "all":
            return (key.counted & ~key.forbidden).astype(float)
        return key.vital + (0.5 * key.okay if kind == "weighted" else 0.0)

    return Measure(
        name=f"strict_{kind}_score" if strict else f"{kind}_score",
        title=f"strict {kind}" if strict else kind,
        formula=formulas[kind]
        + ("; support earns 1, partial support 0" if strict else "; support earns 1, partial support ½"),
        citation=SOURCE,
        edge_cases="0 for a question without nuggets that count, and 0 without an answer",
        values=lambda answers: _share(answers, weights(answers.key), partly),
        composition=lambda key: Composition(key, "linear", weights(key), partly=partly, empty=0.0),
    )


SCORES = tuple(_score(kind, strict) for strict in (True, False) for kind in ("vital", "weighted", "all"))
