"""How far to trust the guesses, on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nuggeteer.reports import charts
from nuggeteer.reports.formatting import number
from nuggeteer.trust.reliability import TrustReport


class Guesses:
    """The threshold models, and how often their probabilities come true."""

    few = charts.FEW

    def __init__(self, trust: TrustReport) -> None:
        self.trust = trust

    @property
    def models(self) -> list[dict[str, Any]]:
        found = self.trust.thresholds
        return [
            {
                "name": model.name,
                "about": model.own_parameters,
                "evidence": number(model.log10_evidence, 1),
                "held_out": number(model.log_score, 4),
                "chosen": model.name == found.chosen,
            }
            for model in found.models
        ]

    @property
    def bins(self) -> Iterator[tuple[str, str, str, str]]:
        assert self.trust.reliability
        for bin_ in self.trust.reliability.bins:
            yield f"{bin_.low:.1f}–{bin_.high:.1f}", f"{bin_.pairs:,}", f"{bin_.chance:.3f}", f"{bin_.yes:.3f}"
