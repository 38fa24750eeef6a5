"""From match scores to verdicts: the models that decide guesses, and how sure they are."""

from nuggeteer.thresholds.model import Evidence, FixedThreshold, ThresholdModel

__all__ = ["Evidence", "FixedThreshold", "ThresholdModel"]
