"""Rubrics: criteria with points, some of them negative. What an answer must not claim costs points if it does.

Worked by hand: of criteria with 5, 3 and 2 points an answer meets the first and supports the second in part, and it
claims something that costs 4 points: (5 + 3/2 − 4) / (5 + 3 + 2) = 0.25, and (5 − 4) / 10 = 0.1 in the strict score.
"""

from __future__ import annotations

import numpy as np

from nuggeteer.measures.base import Answers, Measure, per_question, ratio
from nuggeteer.measures.composition import Composition
from nuggeteer.records import AnswerKey, Vector

FEWEST = 1e-6  # positive points of a question; fewer are none, because a ratio of them may be beyond all numbers


def _values(answers: Answers, partly: float) -> Vector:
    key = answers.key
    credit = answers.found_weight(key.points) + partly * answers.partly_weight(key.points)
    return ratio(credit, _enough(answers.asked_weight(key.weight, partly)), otherwise=float("nan"))


def _enough(points: Vector) -> Vector:
    return np.where(points < FEWEST, 0.0, points)


def _least(key: AnswerKey) -> float:
    """Of an answer that makes every forbidden claim and meets nothing, in the question where that costs most."""
    asked = _enough(per_question(key.weight, key))
    lost = per_question(key.points.clip(max=0.0), key)
    return float(ratio(lost, asked, otherwise=0.0).min())


def _composition(key: AnswerKey, partly: float) -> Composition | None:
    """An audit takes it that no nugget found lowers a score."""
    return None if key.forbidden.any() else Composition(key, "linear", key.points, partly=partly)


def _rubric(strict: bool) -> Measure:
    partly = 0.0 if strict else 0.5
    return Measure(
        name="strict_rubric" if strict else "rubric",
        title="strict rubric" if strict else "rubric",
        formula=f"points of what is found / sum of the positive points; partial support earns {0 if strict else '½'}; "
        "points are the weights, and negative for what is forbidden",
        citation="Arora et al. 2025, HealthBench" if strict else "Sharma et al. 2025, ResearchRubrics",
        edge_cases="below 0 if forbidden claims cost more than is earned: nothing is clipped; 0 without an answer; "
        "undefined for a question without positive points",
        values=lambda answers: _values(answers, partly),
        composition=lambda key: _composition(key, partly),
        least=_least,
    )


rubric, strict_rubric = _rubric(strict=False), _rubric(strict=True)
