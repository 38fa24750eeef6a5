"""What is believed of a judge that nobody checked (`judges.JudgeBelief`): learned from six of SummHay
by `python experiments/judges.py SUMMHAY`, which writes this file."""

from __future__ import annotations

from typing import Final

JUDGES: Final[dict[str, float]] = {
    "weight": 2.34,
    "between_judges": 1.12,
    "between_collections": 0.596,
    "correlation": 0.44,
    "level": 0.0124,
    "level_spread": 0.872,
}
