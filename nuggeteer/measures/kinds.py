"""All the measures: F(β), pyramids, rubrics, AutoNuggetizer's scores, and those that compare texts with the key."""

from __future__ import annotations

from functools import partial

import numpy as np

from nuggeteer.errors import NuggeteerError
from nuggeteer.measures.base import Answers, Composition, Measure, per_question, ratio
from nuggeteer.records import AnswerKey, Bools, Ints, Vector

ALLOWANCE = 100
FEWEST = 1e-6  # positive points of a question; fewer are none, because a ratio of them may be beyond all numbers
ROUGE = ("rouge1", "rouge2", "rougeL")
OFFICIAL = "Voorhees 2003; Marton & Radul 2006, figure 3"


def precision_values(answers: Answers) -> Vector:
    """1 up to the allowance, then 1 − (l − allowance) / l, which is allowance / l."""
    rated = answers.key.vital | answers.key.okay
    allowance = ALLOWANCE * answers.found_weight(rated)
    share = ratio(allowance, answers.length.astype(float), otherwise=0.0)
    return share.clip(max=1.0)


def _precision_of_rated(answers: Answers) -> Vector:
    rated = per_question((answers.key.vital | answers.key.okay).astype(float), answers.key) > 0
    return np.where(rated, precision_values(answers), np.nan)


def recall_of(answers: Answers, weight: Bools | Vector) -> Vector:
    return ratio(answers.found_weight(weight), answers.asked_weight(weight), otherwise=float("nan"))


def combine(precision: Vector, recall: Vector, beta: float) -> Vector:
    """(β² + 1) P R / (β² P + R); 0 where both are 0, undefined where recall is."""
    square = beta * beta
    return ratio((square + 1) * precision * recall, square * precision + recall, otherwise=0.0)


def f(beta: float) -> Measure:
    """F(β): the official measure of TREC's definition, other and relationship questions.

    Worked by hand: an answer of 250 characters with 1 of 2 vital nuggets and 1 okay nugget has recall ½, allowance 200,
    precision 1 − 50/250 = 0.8, and F(3) = 10 · 0.8 · 0.5 / (9 · 0.8 + 0.5) = 4 / 7.7 = 0.519.
    """

    def values(answers: Answers) -> Vector:
        return combine(precision_values(answers), recall_of(answers, answers.key.vital), beta)

    return Measure(
        name=f"f{beta:g}",
        title=f"F({beta:g})",
        formula="(β²+1)PR / (β²P+R), P and R as in precision and recall",
        citation=OFFICIAL,
        edge_cases="0 without an answer, or if no vital nugget is found; undefined if recall is undefined",
        values=values,
        composition=lambda key: Composition(key, "f", key.vital.astype(float), beta),
    )


recall = Measure(
    name="recall",
    title="recall",
    formula="vital nuggets found / vital nuggets in the key; a nugget that needs world knowledge counts in the key "
    "only if it is found",
    citation=OFFICIAL,
    edge_cases="0 without an answer; undefined for a question without vital nuggets, or if none is found and all "
    "of them need world knowledge",
    values=lambda answers: recall_of(answers, answers.key.vital),
    composition=lambda key: Composition(key, "linear", key.vital.astype(float)),
)

precision = Measure(
    name="precision",
    title="precision",
    formula="1 if l < a, else 1 − (l − a)/l; l = non-white-space characters, a = 100 · (vital + okay found)",
    citation=OFFICIAL,
    edge_cases="0 if there is no answer or it is empty; undefined for a question without vital and okay nuggets; its "
    "interval is not calibrated: it is too narrow where much is guessed",
    values=_precision_of_rated,
    composition=lambda key: Composition(key, "precision", key.vital.astype(float)),
    calibrated=False,  # experiments/coverage.md
)


def pyramid_f(beta: float) -> Measure:
    """The F of a nugget pyramid: several assessors vote on importance, and their votes are averaged by nugget.

    Worked by hand: of three nuggets with weights 1, ⅔ and ⅓ the second and third are found, so recall is 1 / 2 = 0.5.
    """
    return Measure(
        name=f"pyramid_f{beta:g}",
        title=f"pyramid F({beta:g})",
        formula="F with recall = weight found / weight in the key; weight = mean vote; vital is 1, okay 0",
        citation="Lin & Demner-Fushman 2006; Dang & Lin 2007, §2.2",
        edge_cases="undefined if all weights of a question are 0; not reported if the key has neither votes "
        "nor weights",
        values=lambda answers: combine(precision_values(answers), recall_of(answers, answers.key.weight), beta),
        applies=lambda key: key.weighted,
        composition=lambda key: Composition(key, "f", key.weight, beta),
    )


def macro_f(beta: float) -> Measure:
    """The same votes averaged by assessor.

    Worked by hand: the same two nuggets are found. Under each of three assessors' own votes (V V O on the second
    nugget, V O O on the third) recall is ⅔, ½ and 0.
    """

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
        citation="Dang & Lin 2007, §4.1",
        edge_cases="an assessor who calls no nugget of a question vital is left out there; undefined if nobody is "
        "left; not reported if the key has no votes",
        values=values,
        applies=lambda key: bool(key.assessors),
    )


def _points_earned(answers: Answers, partly: float) -> Vector:
    key = answers.key
    credit = answers.found_weight(key.points) + partly * answers.partly_weight(key.points)
    return ratio(credit, _enough(answers.asked_weight(key.weight, partly)), otherwise=float("nan"))


def _enough(points: Vector) -> Vector:
    return np.where(points < FEWEST, 0.0, points)


def _lowest(key: AnswerKey) -> float:
    """Of an answer that makes every forbidden claim and meets nothing, in the question where that costs most."""
    asked = _enough(per_question(key.weight, key))
    lost = per_question(key.points.clip(max=0.0), key)
    return float(ratio(lost, asked, otherwise=0.0).min())


def _linear_points(key: AnswerKey, partly: float) -> Composition | None:
    """An audit takes it that no nugget found lowers a score."""
    return None if key.forbidden.any() else Composition(key, "linear", key.points, partly=partly)


def _rubric(strict: bool) -> Measure:
    """Criteria with points, some of them negative. What an answer must not claim costs points if it does.

    Worked by hand: of criteria with 5, 3 and 2 points an answer meets the first and supports the second in part, and it
    claims something that costs 4 points: (5 + 3/2 − 4) / (5 + 3 + 2) = 0.25. In the strict score, (5 − 4) / 10 = 0.1.
    """
    partly = 0.0 if strict else 0.5
    return Measure(
        name="strict_rubric" if strict else "rubric",
        title="strict rubric" if strict else "rubric",
        formula=f"points of what is found / sum of the positive points; partial support earns {0 if strict else '½'}; "
        "points are the weights, and negative for what is forbidden",
        citation="Arora et al. 2025, HealthBench" if strict else "Sharma et al. 2025, ResearchRubrics",
        edge_cases="below 0 if forbidden claims cost more than is earned: nothing is clipped; 0 without an answer; "
        "undefined for a question without positive points",
        values=lambda answers: _points_earned(answers, partly),
        composition=lambda key: _linear_points(key, partly),
        least=_lowest,
    )


rubric, strict_rubric = _rubric(strict=False), _rubric(strict=True)


def _credited_share(answers: Answers, weight: Vector, partly: float) -> Vector:
    """The share of the weight that is earned: all of a supported nugget's, `partly` of a partly supported one's."""
    credit = answers.found_weight(weight) + partly * answers.partly_weight(weight)
    return ratio(credit, answers.asked_weight(weight, partly), otherwise=0.0)


def _autonuggetizer(kind: str, strict: bool) -> Measure:
    """One of AutoNuggetizer's six scores: support earns 1, partial support ½, or 0 in the strict scores.

    Worked by hand: three vital nuggets are supported, partly supported and not supported, and an okay nugget is
    supported: vital = 1.5/3, strict vital = 1/3, all = 2.5/4, weighted = (1.5 + ½)/(3 + ½).
    """
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
        citation="Pradeep et al. 2024, the AutoNuggetizer framework of TREC RAG",
        edge_cases="0 for a question without nuggets that count, and 0 without an answer",
        values=lambda answers: _credited_share(answers, weights(answers.key), partly),
        composition=lambda key: Composition(key, "linear", weights(key), partly=partly, empty=0.0),
    )


AUTONUGGETIZER = tuple(
    _autonuggetizer(kind, strict) for strict in (True, False) for kind in ("vital", "weighted", "all")
)


def pourpre_f(beta: float) -> Measure:
    """Pourpre's own score, which compares texts with the key, whatever was judged.

    Worked by hand: of two vital nuggets the answer's best responses share ¾ and 0 of the words' weight, and of one okay
    nugget ¼. So recall is ¾ / 2 = 0.375 and the allowance 100 · (¾ + ¼) = 100. At 200 characters precision is ½, and
    F(3) is 10 · ½ · 0.375 / (9 · ½ + 0.375) = 1.875 / 4.875 = 0.385.
    """
    name = f"pourpre_f{beta:g}"
    return Measure(
        name=name,
        title=f"Pourpre F({beta:g})",
        formula="F whose recall and allowance add up, for each nugget, the share of its stemmed words' weight that the "
        "best response has",
        citation="Lin & Demner-Fushman 2005; Marton & Radul 2006, §1",
        edge_cases="0 without an answer; undefined for a question without vital nuggets; verdicts do not matter",
        values=partial(_given, name),
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
    """ROUGE of whole answers."""
    about = {"rouge1": "words", "rouge2": "pairs of words", "rougeL": "words of the longest common sequence"}
    return Measure(
        name=kind,
        title=kind.replace("rouge", "ROUGE-"),
        formula=f"share of the {about[kind]} of all the question's nuggets together that the whole answer has",
        citation="Lin 2004, as the package rouge-score computes it, with stems; Marton & Radul 2006, table 2",
        edge_cases="0 without an answer; verdicts do not matter; needs the extra rouge",
        values=partial(_given, kind),
        by_text=True,
    )


def _given(name: str, answers: Answers) -> Vector:
    if name not in answers.by_text:
        raise NuggeteerError(f"{name} compares texts, and this command only has verdicts; ask score or compare for it")
    values = answers.by_text[name]
    return np.broadcast_to(values, (*answers.found.shape[:-1], len(values)))


WHOLE_ANSWERS = tuple(map(_rouge, ROUGE))
