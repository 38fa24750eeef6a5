"""What each clue of `clues.py` is worth, in log odds a unit: learned on six public collections that humans judged, each
weighing the same, by `python experiments/carry_over.py COLLECTION...`, which prints this table."""

from __future__ import annotations

from typing import Final

WEIGHTS: Final[dict[str, float]] = {
    "regression": 4.72,
    "numbers missing": -0.48,
    "numbers there": 0.49,
}
