"""The headline of the page: what the gates say, the score, its interval, all measures, and how the build stands to the
one before it."""

from __future__ import annotations

import numpy as np

from nuggeteer.history.briefing import Briefing
from nuggeteer.records import Bools
from nuggeteer.reports.change_words import (
    SIGNS,
    difference,
    difference_span,
)
from nuggeteer.reports.formatting import (
    between,
    judging_share,
    no_interval,
    not_calibrated,
    number,
    p_value,
    percent,
    span,
)
from nuggeteer.reports.scores import remarks
from nuggeteer.scoring.outcomes import Outcome
from nuggeteer.statistics.intervals import CONFIDENCE


class Headline:
    """The first sections."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing = briefing
        self.measure = briefing.headline
        self.interval = briefing.score.measures[self.measure.name]

    @property
    def decision(self) -> str:
        return self.briefing.decision

    @property
    def title(self) -> str:
        return self.briefing.title

    @property
    def sign(self) -> str:
        return SIGNS[self.decision]

    @property
    def gates(self) -> list[tuple[str, str, str, str]]:
        """Of each gate: its sign, decision, rule and reason."""
        return [(SIGNS[gate.decision], gate.decision, gate.rule, gate.why) for gate in self.briefing.ruling.gates]

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What stands beside the headline."""
        outcome, vital = self.briefing.score.counted, self.briefing.key.vital
        known, pairs = outcome.pairs_known, outcome.pairs_known + outcome.pairs_guessed
        forbidden = self.briefing.key.forbidden
        rows = [
            ("nuggets found", _expected(outcome, self.briefing.key.counted & ~forbidden)),
            ("vital nuggets found", _expected(outcome, vital)),
        ]
        if forbidden.any():
            rows.append(("forbidden, but claimed", _expected(outcome, forbidden)))
        rows.append(("questions answered", f"{int(outcome.answered.sum()):,} of {len(self.briefing.key.questions):,}"))
        judged = "pairs with a known verdict" if self.briefing.scores.as_truth else "pairs that a human judged"
        rows.append((judged, f"{known:,} of {pairs:,} ({percent(known, pairs)})"))
        return rows

    @property
    def measures(self) -> list[dict[str, str]]:
        rows = []
        for measure in self.briefing.scores.measures:
            interval = self.briefing.score.measures[measure.name]
            row = {"title": measure.title, "value": number(interval.value), "span": between(interval)}
            row["judging"] = judging_share(interval)
            if self.briefing.diff:
                delta = self.briefing.diff.deltas[measure.name]
                row |= {"old": number(delta.old), "change": difference(delta), "between": difference_span(delta)}
                row["p"] = p_value(delta.p)
            rows.append(row)
        return rows

    @property
    def parts(self) -> list[tuple[str, str, str]]:
        """The interval and its two parts in words."""
        whole = self.interval
        rows = [("both", whole.low, whole.high, "questions and guesses together: the 95 % interval")]
        for name, pair, why in (
            ("judging", whole.judging, "on these questions, because guesses may be wrong"),
            ("sampling", whole.sampling, "with these verdicts, because other questions could have been asked"),
        ):
            low, high = pair or (None, None)
            rows.append((name, low, high, why))
        return [(name, span(low, high), why) for name, low, high, why in rows]

    @property
    def standing(self) -> tuple[str, str] | None:
        """How the build stands to the one before it: a word for the style, and a sentence."""
        if not self.briefing.diff or not self.briefing.old:
            return None
        delta = self.briefing.diff.headline
        low, high = delta.interval.low, delta.interval.high
        against = self.briefing.old.title
        if delta.interval.value == 0 and low in (0, None) and high in (0, None):
            return "same", f"No difference from {against}."
        change = f"{difference(delta)} against {against} (for questions like these {difference_span(delta)})"
        if low is None or high is None:
            return "same", f"{difference(delta)} against {against}. {no_interval()}"
        if high < 0:
            return "worse", f"Worse: {change}."
        if low > 0:
            return "better", f"Better: {change}."
        return "same", (
            f"On these questions {difference(delta)} against {against}; on other such questions it may be nothing "
            f"({difference_span(delta)})."
        )

    @property
    def notes(self) -> list[str]:
        """What must be known to read the score at all."""
        found = self.briefing.scores
        machines = f"Verdicts of machines count as a human's: {', '.join(found.as_truth)}." if found.as_truth else ""
        return [*found.notes, *filter(None, [machines])]

    @property
    def remarks(self) -> list[str]:
        scores, own = self.briefing.scores, self.briefing.score.measures
        shown = ((measure, own[measure.name]) for measure in scores.measures if measure.name in own)
        return [*(line for line in remarks(scores) if line not in scores.notes), *not_calibrated(shown)]


def _expected(outcome: Outcome, those: Bools) -> str:
    """How many of these nuggets the answers have; where some are guessed, as expected, with an interval."""
    of = f"of {int(those.sum()):,}"
    if outcome.drawn is None or outcome.known[those].all():
        return f"{int((outcome.found & those).sum()):,} {of}"
    counts = outcome.drawn[:, those].sum(axis=1)
    low, high = np.quantile(counts, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return f"about {round(float(counts.mean())):,} {of} ({round(float(low)):,} to {round(float(high)):,})"
