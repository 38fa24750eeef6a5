"""From match scores to verdicts: the models that decide guesses and say how sure they are."""

from nuggeteer.thresholds.model import Draws, Evidence, FixedThreshold, ThresholdModel, Units, size_of

__all__ = ["Draws", "Evidence", "FixedThreshold", "ThresholdModel", "Units", "size_of"]
