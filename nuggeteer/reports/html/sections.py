"""The sections of the page, except the trend and the table of questions: the headline, what changed, where to judge
next, and how far to trust the guesses."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np

from nuggeteer.comparing.changes import NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.sightings import Sighting
from nuggeteer.history.briefing import Briefing, SuggestedPair
from nuggeteer.records import Bools
from nuggeteer.reports import charts
from nuggeteer.reports.change_words import (
    SIGNS,
    absence,
    by_news,
    difference,
    difference_span,
    nuggets_in_words,
    sureness,
    texts_in_words,
    verdict,
    worth,
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
from nuggeteer.reports.html.questions import of_nugget
from nuggeteer.reports.passages import beginning, excerpt, surroundings
from nuggeteer.reports.scores import remarks
from nuggeteer.scoring.outcomes import Outcome
from nuggeteer.statistics.intervals import ENDS
from nuggeteer.trust.reliability import TrustReport

OPEN = 2  # changes of a kind to show with both answers; for the others only the nugget, until it is pressed
LISTED = 6  # changes of a kind at once; more are folded away
MOST = 200  # of a kind in all
SIZE = 360  # characters of a passage


class Headline:
    """What the gates say, the score, its interval, all measures, and how the build stands to the one before it."""

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
        """For each gate: its sign, decision, rule and reason."""
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
        """What readers must know to read the score at all."""
        found = self.briefing.scores
        machines = f"Verdicts of machines count as a human's: {', '.join(found.as_truth)}." if found.as_truth else ""
        return [*found.notes, *filter(None, [machines])]

    @property
    def remarks(self) -> list[str]:
        scores, own = self.briefing.scores, self.briefing.score.measures
        shown = ((measure, own[measure.name]) for measure in scores.measures if measure.name in own)
        return [*(line for line in remarks(scores) if line not in scores.notes), *not_calibrated(shown)]


def _expected(outcome: Outcome, those: Bools) -> str:
    """How many of these nuggets the answers have. If some are guessed, the expected number, with an interval."""
    of = f"of {int(those.sum()):,}"
    if outcome.drawn is None or outcome.known[those].all():
        return f"{int((outcome.found & those).sum()):,} {of}"
    counts = outcome.drawn[:, those].sum(axis=1)
    low, high = np.quantile(counts, ENDS)
    return f"about {round(float(counts.mean())):,} {of} ({round(float(low)):,} to {round(float(high)):,})"


class Changes:
    """The differences from the run that the build is compared with."""

    def __init__(self, diff: Diff) -> None:
        self.diff, self.key = diff, diff.key

    @property
    def in_words(self) -> list[str]:
        return [*nuggets_in_words(self.diff), *texts_in_words(self.diff)]

    @property
    def kinds(self) -> list[dict[str, Any]]:
        """What is forbidden and claimed now, lost, gained: the first of each kind, and what is folded away."""
        kinds = []
        for title, found in by_news(self.diff):
            cut = max(len(found) - MOST, 0)
            listed = [self._change(change, i < OPEN) for i, change in enumerate(found[:MOST])]
            kinds.append(
                {
                    "title": title,
                    "count": len(found),
                    "vital": sum(change.vital for change in found),
                    "shown": listed[:LISTED],
                    "folded": listed[LISTED:],
                    "rest": f"{cut} more" if cut else "",
                }
            )
        return kinds

    def _change(self, change: NuggetChange, is_open: bool) -> dict[str, Any]:
        at = self.key.position[change.question.qid]
        return {
            "name": f"{change.question.qid}/{change.nugget.nugget}",
            "place": of_nugget(change.question.qid, change.nugget.nugget),
            "open": is_open,
            "importance": change.nugget.importance,
            "look": "gained" if (change.kind == "gained") != change.forbidden else "lost",
            "sign": "−" if change.kind == "lost" else "+",
            "description": beginning(change.nugget.descriptions[0], SIZE),
            "question": beginning(change.question.text, SIZE),
            "known": change.known,
            "sure": sureness(change).plain,
            "worth": worth(change, self.diff.headline.measure.title),
            "sides": [
                _side("old", change.old, bool(self.diff.old.answered[at])),
                _side("new", change.new, bool(self.diff.new.answered[at])),
            ],
        }


def _side(name: str, sighting: Sighting, answered: bool) -> dict[str, Any]:
    passage = sighting.passage
    before, after = surroundings(passage, SIZE) if passage else ("", "")
    return {
        "name": name,
        "known": sighting.known,
        "found": sighting.found,
        "verdict": verdict(sighting).plain,
        "before": before,
        "pieces": excerpt(passage, SIZE) if passage else [],
        "after": after,
        "nothing": absence(sighting, answered),
        "docid": (passage.docid or "") if passage else "",
    }


class JudgeNext:
    """The pairs most worth judging. Their guesses are not shown, because they would sway the assessor."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing = briefing
        self.key = briefing.key

    @property
    def command(self) -> str:
        return f"nuggeteer judge {shlex.quote(self.briefing.score.run.name)}"

    @property
    def suggestions(self) -> list[dict[str, Any]]:
        return [self._suggestion(suggested) for suggested in self.briefing.suggested]

    def _suggestion(self, suggested: SuggestedPair) -> dict[str, Any]:
        suggestion, passage = suggested.suggestion, suggested.passage
        nugget = self.key.nuggets[suggestion.nugget]
        return {
            "name": f"{nugget.qid}/{nugget.nugget}",
            "question": beginning(self.key.questions[self.key.question[suggestion.nugget]].text),
            "description": beginning(nugget.descriptions[0], SIZE),
            "importance": nugget.importance,
            "share": percent(round(1000 * suggestion.share), 1000),
            "pieces": excerpt(passage, SIZE),
            "where": f"response {passage.rank}{f', {passage.docid}' if passage.docid else ''}",
        }


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
