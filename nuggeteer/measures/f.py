"""F(β), recall and precision: the official measure of TREC's definition, other and relationship questions.

Worked by hand: an answer of 250 characters with 1 of 2 vital nuggets and 1 okay nugget has recall ½,
allowance 200, precision 1 − 50/250 = 0.8, and F(3) = 10 · 0.8 · 0.5 / (9 · 0.8 + 0.5) = 4 / 7.7 = 0.519.
"""

from __future__ import annotations

from nuggeteer.measures.base import Answers, Measure, ratio
from nuggeteer.measures.composition import Composition
from nuggeteer.records import Bools, Vector

ALLOWANCE = 100
SOURCE = "Voorhees 2003; Marton & Radul 2006, figure 3"


def precision_values(answers: Answers) -> Vector:
    """1 up to the allowance, then 1 − (l − allowance) / l, which is allowance / l."""
    rated = answers.key.vital | answers.key.okay
    allowance = ALLOWANCE * answers.found_weight(rated)
    share = ratio(allowance, answers.length.astype(float), otherwise=0.0)
    return share.clip(max=1.0)


def recall_of(answers: Answers, weight: Bools | Vector) -> Vector:
    return ratio(answers.found_weight(weight), answers.asked_weight(weight), otherwise=float("nan"))


def combine(precision: Vector, recall: Vector, beta: float) -> Vector:
    """(β² + 1) P R / (β² P + R); 0 where both are 0, undefined where recall is."""
    square = beta * beta
    return ratio((square + 1) * precision * recall, square * precision + recall, otherwise=0.0)


def f(beta: float) -> Measure:
    def values(answers: Answers) -> Vector:
        return combine(precision_values(answers), recall_of(answers, answers.key.vital), beta)

    return Measure(
        name=f"f{beta:g}",
        title=f"F({beta:g})",
        formula="(β²+1)PR / (β²P+R), P and R as in precision and recall",
        citation=SOURCE,
        edge_cases="0 without an answer, or if no vital nugget is found; undefined if recall is undefined",
        values=values,
        composition=lambda key: Composition(key, "f", key.vital.astype(float), beta),
    )


recall = Measure(
    name="recall",
    title="recall",
    formula="vital nuggets found / vital nuggets in the key; a nugget that needs world knowledge counts in the key "
    "only if it is found",
    citation=SOURCE,
    edge_cases="0 without an answer; undefined for a question without vital nuggets, or if none is found and all "
    "of them need world knowledge",
    values=lambda answers: recall_of(answers, answers.key.vital),
    composition=lambda key: Composition(key, "linear", key.vital.astype(float)),
)

precision = Measure(
    name="precision",
    title="precision",
    formula="1 if l < a, else 1 − (l − a)/l; l = non-white-space characters, a = 100 · (vital + okay found)",
    citation=SOURCE,
    edge_cases="0 if there is no answer or it is empty; its interval is not calibrated: it is too narrow where much is "
    "guessed",
    values=precision_values,
    composition=lambda key: Composition(key, "precision", key.vital.astype(float)),
    calibrated=False,  # experiments/coverage.md
)
