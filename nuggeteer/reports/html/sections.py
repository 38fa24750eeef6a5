"""The sections of the page: the headline, the trend, what changed, the table of questions, where to judge next, and how
far to trust the guesses. Links to a question and to a nugget stay the same from build to build."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote

import numpy as np
from markupsafe import Markup

from nuggeteer.comparing.changes import NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.sightings import Sighting
from nuggeteer.history.briefing import Briefing, SuggestedPair
from nuggeteer.history.trend import NuggetTimelines, Trend
from nuggeteer.measures import parse
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
    build_cells,
    expected_count,
    judging_share,
    no_interval,
    not_calibrated,
    number,
    p_value,
    percent,
    signed,
    span,
)
from nuggeteer.reports.html.evidence import status, turn
from nuggeteer.reports.passages import beginning, excerpt, surroundings
from nuggeteer.reports.scores import remarks
from nuggeteer.scoring.outcomes import Outcome
from nuggeteer.statistics.intervals import ENDS
from nuggeteer.trust.reliability import TrustReport

OPEN = 2  # changes of a kind to show with both answers; for the others only the nugget, until it is pressed
LISTED = 6  # changes of a kind at once; more are folded away
MOST = 200  # of a kind in all
SIZE = 360  # characters of a passage
RANKS = {"vital": 0, "forbidden": 2}  # the vital nuggets come first, and what is forbidden last
BUILDS = 60  # of the trend
CELLS = ("value", "span", "change", "nuggets", "known")  # that the page's tables name


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


class TrendSection:
    """The builds of one group: all of them, or the last ones."""

    def __init__(self, trend: Trend, timelines: NuggetTimelines, last: int | None = BUILDS) -> None:
        self.trend, self.timelines = trend, timelines
        self.last = last or len(trend.builds)

    @property
    def chart(self) -> Markup:
        """Nothing if there is no more than one build."""
        return Markup(charts.trend(self.trend, BUILDS) if len(self.trend.builds) > 1 else "")

    @property
    def axis(self) -> Markup:
        """What stays in sight of the chart's left side."""
        return Markup(charts.trend_axis(self.trend, BUILDS))

    @property
    def title(self) -> str:
        return parse(self.trend.measure).title

    @property
    def hollow(self) -> bool:
        """Whether some build cannot be compared with the newest."""
        return not self.trend.comparable.all()

    @property
    def builds(self) -> list[dict[str, Any]]:
        """The recorded builds, the newest first."""
        every = self.trend.builds
        return [self._row(i) for i in reversed(range(max(len(every) - self.last, 0), len(every)))]

    def _row(self, i: int) -> dict[str, Any]:
        build = self.trend.builds[i]
        cells = dict(zip(CELLS, build_cells(self.trend, self.timelines, i), strict=True))
        about = {"build": build.scoring.build, "time": build.minute, "name": build.title}
        return about | cells | {"comparable": build.comparable}

    @property
    def alarms(self) -> list[str]:
        trend = self.trend
        return [
            f"{'Worse' if change.worse else 'Better'} since {trend.builds[change.since].title}: from "
            f"{number(change.before)} to {number(change.after)}; noticed with {trend.builds[change.at].title}."
            for change in trend.alarm.changes
        ]


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


@dataclass(frozen=True)
class Cell:
    """A nugget: what is written in its cell, what a screen reader says, how it looks."""

    position: int
    mark: str
    label: str
    look: str


@dataclass(frozen=True)
class Figure:
    """A number of a question: as written, and as a key for sorting rows; None if it is undefined."""

    name: str
    written: str
    value: float | None
    total: int | None = None


@dataclass(frozen=True)
class Row:
    """A question."""

    position: int
    qid: str
    place: str
    text: str
    figures: tuple[Figure, ...]
    changed: bool
    cells: tuple[Cell, ...]


class Questions:
    """Every question and every nugget of the key, as the build has them. The questions that lost most come first or, if
    there is nothing to compare with, those with the lowest score."""

    def __init__(self, briefing: Briefing) -> None:
        self.briefing, self.key, self.diff = briefing, briefing.key, briefing.diff

    @property
    def columns(self) -> list[str]:
        return [figure.name for figure in self._figures(0)] if self.key.questions else []

    @property
    def sorted_by(self) -> str:
        """The column that sorts the rows at first, in ascending order."""
        return "change" if self.diff else self.briefing.headline.title

    @cached_property
    def rows(self) -> list[Row]:
        def order(row: Row) -> tuple[bool, float]:
            value = next(figure.value for figure in row.figures if figure.name == self.sorted_by)
            return value is None, value or 0.0

        return sorted((self._row(q) for q in range(len(self.key.questions))), key=order)

    def _row(self, q: int) -> Row:
        question = self.key.questions[q]
        nuggets = range(len(self.key.nuggets))[self.key.own(q)]
        order = sorted(nuggets, key=lambda i: RANKS.get(self.key.nuggets[i].importance, 1))
        cells = tuple(map(self._cell, order))
        return Row(
            q,
            question.qid,
            of_question(question.qid),
            beginning(question.text),
            self._figures(q),
            any(cell.look.endswith(("gained", "lost")) for cell in cells),
            cells,
        )

    def _figures(self, q: int) -> tuple[Figure, ...]:
        score, outcome = self.briefing.score, self.briefing.score.counted
        value = float(score.by_question[self.briefing.headline.name][q])
        own = self.key.own(q)
        vital, forbidden = self.key.vital[own], self.key.forbidden[own]
        own_places = np.arange(own.start, own.stop)
        figures = [_figure(self.briefing.headline.title, number(value), value)]
        if self.diff:
            moved = float(self.diff.headline.by_question[q])
            figures.append(_figure("change", "" if not round(moved, 3) else signed(moved), round(moved, 3)))
        kinds = [("vital", vital), ("others", ~vital & ~forbidden & self.key.counted[own])]
        if self.key.forbidden.any():
            kinds.append(("forbidden", forbidden))
        for name, which in kinds:
            total = int(which.sum())
            written = expected_count(outcome, own_places[which]) if total else "–"
            figures.append(Figure(name, written, float(written) if total else None, total or None))
        return (*figures, _figure("length", f"{int(outcome.length[q]):,}", float(outcome.length[q])))

    def _cell(self, position: int) -> Cell:
        sighting, nugget = self.briefing.sightings[position], self.key.nuggets[position]
        turned = turn(self.diff, position)
        if sighting.contradicted:
            mark, look = "≠", "no contradicted"
        elif sighting.known:
            mark, look = ("✓", "yes") if sighting.found else ("×", "no")
        elif sighting.probability is None:
            mark, look = ("y?", "g4") if sighting.found else ("n?", "g1")
        else:
            mark = f"{min(max(round(100 * sighting.probability), 1), 99)}"
            look = f"g{min(int(5 * sighting.probability), 4)}"
        sign = {"gained": "+", "lost": "−", "": ""}[turned]
        label = f"nugget {nugget.nugget}, {nugget.importance}: {status(sighting)}"
        if nugget.importance in ("vital", "forbidden"):
            look += f" {nugget.importance}"
        return Cell(position, sign + mark, label + (f", {turned}" if turned else ""), f"{look} {turned}".strip())


def _figure(name: str, written: str, value: float) -> Figure:
    return Figure(name, written, None if np.isnan(value) else value)


def of_question(qid: str) -> str:
    """The id of its element; after a `#`, the link to it."""
    return f"question/{quote(qid, safe='')}"


def of_nugget(qid: str, nugget: str) -> str:
    return f"nugget/{quote(qid, safe='')}/{quote(nugget, safe='')}"


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
