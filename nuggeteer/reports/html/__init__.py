"""One build on an HTML page: a single file that fetches nothing from the network.

Texts, names and ids come from files that anybody may have written. Three walls stand between them and the reader's
browser: every value is made visible and escaped where it is put in (Jinja's autoescape), the script puts texts in
as text only, and the page's own policy lets no script run but ours, no style apply but ours, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from nuggeteer.comparing.diff import NuggetChange, Sighting
from nuggeteer.formats.jsonl import write_whole
from nuggeteer.history.briefing import BriefedRun, Briefing, SuggestedPair
from nuggeteer.history.trend import Build
from nuggeteer.measures import parse
from nuggeteer.reports import charts
from nuggeteer.reports.change_words import (
    difference,
    difference_span,
    nuggets_in_words,
    sureness,
    texts_in_words,
    verdict,
)
from nuggeteer.reports.explanation import in_words
from nuggeteer.reports.formatting import (
    UNDEFINED,
    between,
    chance,
    judging_share,
    number,
    p_value,
    percent,
    signed,
    span,
)
from nuggeteer.reports.passages import Piece, beginning, excerpt
from nuggeteer.reports.scores import remarks
from nuggeteer.text import escaped

BUILDS = 60  # of the trend
LISTED = 8  # changes of a kind at once; more are folded away
MOST = 200  # of a kind in all
DOUBTFUL = 0.1  # a change less probable than this is only counted
SIZE = 360  # characters of a passage
EVIDENCE = 2_000_000  # characters of all passages of the map together
LEAST = 80  # of one of them
WHY = 160  # characters of a line on what spoke for a guess


def write(path: Path, briefing: Briefing) -> None:
    """The page as a file, whole or not at all."""
    body = page(briefing).encode()
    write_whole(path, lambda file: file.write(body))


def page(briefing: Briefing) -> str:
    """The page."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    def harmless(value: Any) -> Any:
        return escaped(value) if type(value) is str else value

    parts = files(__name__)
    style, script, template = (
        (parts / name).read_text(encoding="utf-8") for name in ("style.css", "script.js", "page.html")
    )
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=harmless
    )
    view = View(briefing)
    return environment.from_string(template).render(
        view=view,
        style=Markup(style),
        script=Markup(script),
        data=Markup(in_script(view.evidence)),
        drawn={name: Markup(svg) for name, svg in view.charts.items()},
        policy=policy(style, script),
    )


def policy(style: str, script: str) -> str:
    """What a browser may do for the page: apply this style, run this script, and nothing else."""
    return (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def in_script(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it can end that."""
    text = orjson.dumps(data).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@dataclass(frozen=True)
class Cell:
    """A nugget in the map: what is written in it, what a screen reader says, how it looks."""

    place: int
    mark: str
    said: str
    look: str


@dataclass(frozen=True)
class Row:
    """A question in the map."""

    qid: str
    text: str
    value: str
    change: str
    changed: bool
    vital: tuple[Cell, ...]
    others: tuple[Cell, ...]


class View:
    """A briefing in the page's words and numbers."""

    few = charts.FEW

    def __init__(self, briefing: Briefing) -> None:
        self.briefing, self.key, self.diff = briefing, briefing.key, briefing.diff
        self.measure = briefing.headline
        self.interval = briefing.score.measures[self.measure.name]
        self.size = max(LEAST, min(SIZE, EVIDENCE // max(len(self.key.nuggets), 1)))

    @cached_property
    def charts(self) -> dict[str, str]:
        briefing = self.briefing
        drawn = {"parts": charts.parts(self.interval) or ""}
        if self.has_trend and briefing.trend:
            drawn["trend"] = charts.trend(briefing.trend, BUILDS)
        if briefing.trust and briefing.trust.reliability:
            drawn["reliability"] = charts.reliability(briefing.trust.reliability)
        return drawn

    # The headline

    @staticmethod
    def called(subject: BriefedRun | Build) -> str:
        run, label = (
            (subject.run.name, subject.label)
            if isinstance(subject, BriefedRun)
            else (subject.scoring.run, subject.scoring.label)
        )
        return f"{run} ({label})" if label else run

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What stands beside the headline."""
        outcome, vital = self.briefing.score.outcome, self.key.vital
        known, pairs = outcome.pairs_known, outcome.pairs_known + outcome.pairs_guessed
        found, nuggets = int(outcome.found.sum()), len(self.key.nuggets)
        rows = [("nuggets found", f"{found:,} of {nuggets:,}")]
        rows.append(("of these vital", f"{int((outcome.found & vital).sum()):,} of {int(vital.sum()):,}"))
        rows.append(("questions answered", f"{int(outcome.answered.sum()):,} of {len(self.key.questions):,}"))
        rows.append(("pairs that a human judged", f"{known:,} of {pairs:,} ({percent(known, pairs)})"))
        return rows

    @property
    def measures(self) -> list[dict[str, str]]:
        rows = []
        for measure in self.briefing.scores.measures:
            interval = self.briefing.score.measures[measure.name]
            row = {"title": measure.title, "value": number(interval.value), "span": between(interval)}
            row["judging"] = judging_share(interval)
            if self.diff:
                delta = self.diff.deltas[measure.name]
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
        if not self.diff or not self.briefing.old:
            return None
        delta = self.diff.headline
        low, high = delta.interval.low, delta.interval.high
        against = self.called(self.briefing.old)
        if delta.interval.value == 0 and low in (0, None) and high in (0, None):
            return "same", f"No difference from {against}."
        told = f"{difference(delta)} against {against} (95 % interval {difference_span(delta)})"
        if low is None or high is None:
            return "same", f"{told}; one question says nothing about others."
        if high < 0:
            return "worse", f"Worse: {told}."
        if low > 0:
            return "better", f"Better: {told}."
        return "same", f"Not told apart: {told}."

    @property
    def remarks(self) -> list[str]:
        return remarks(self.briefing.scores)

    # The trend

    @property
    def has_trend(self) -> bool:
        return self.briefing.trend is not None and len(self.briefing.trend.builds) > 1

    @property
    def trend_title(self) -> str:
        assert self.briefing.trend
        return parse(self.briefing.trend.measure).title

    @property
    def builds(self) -> list[dict[str, Any]]:
        """The recorded builds, the newest first."""
        trend, timelines = self.briefing.trend, self.briefing.timelines
        assert trend
        assert timelines
        gained, lost = timelines.gained.sum(axis=0), timelines.lost.sum(axis=0)
        rows: list[dict[str, Any]] = []
        for i in range(max(len(trend.builds) - BUILDS, 0), len(trend.builds)):
            build, scoring = trend.builds[i], trend.builds[i].scoring
            rows.append(
                {
                    "time": scoring.time[:16].replace("T", " "),
                    "name": self.called(build),
                    "value": number(build.interval.value),
                    "span": between(build.interval),
                    "change": "" if np.isnan(trend.delta[i]) else signed(float(trend.delta[i])),
                    "nuggets": f"+{gained[i]} −{lost[i]}" if timelines.compared[i] else "",
                    "known": percent(scoring.known, scoring.known + scoring.guessed),
                    "comparable": build.comparable,
                }
            )
        return rows[::-1]

    @property
    def alarms(self) -> list[str]:
        trend = self.briefing.trend
        assert trend
        return [
            f"{'Worse' if change.worse else 'Better'} since {self.called(trend.builds[change.since])}: from "
            f"{change.before:.3f} to {change.after:.3f}; noticed with {self.called(trend.builds[change.at])}."
            for change in trend.alarm.changes
        ]

    # What changed

    @property
    def changes_in_words(self) -> list[str]:
        assert self.diff
        return [*nuggets_in_words(self.diff), *texts_in_words(self.diff)]

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Lost, then gained: the first of each kind, and what is folded away."""
        assert self.diff
        kinds = []
        for title, found in (("Lost", self.diff.lost), ("Gained", self.diff.gained)):
            likely = [one for one in found if one.probability is None or one.probability >= DOUBTFUL]
            doubtful, cut = len(found) - len(likely), max(len(likely) - MOST, 0)
            rest = [f"{cut} more"] * (cut > 0)
            rest += [f"{doubtful} with a probability under {100 * DOUBTFUL:.0f} %"] * (doubtful > 0)
            kinds.append(
                {
                    "title": title,
                    "count": len(found),
                    "vital": sum(one.vital for one in found),
                    "shown": [self.change(one) for one in likely[:LISTED]],
                    "folded": [self.change(one) for one in likely[LISTED:MOST]],
                    "rest": " and ".join(rest),
                }
            )
        return kinds

    def change(self, one: NuggetChange) -> dict[str, Any]:
        assert self.diff
        sign = "−" if one.kind == "lost" else "+"
        at = self.key.position[one.question.qid]
        return {
            "name": f"{one.question.qid}/{one.nugget.nugget}",
            "importance": one.nugget.importance,
            "kind": one.kind,
            "sign": sign,
            "description": beginning(one.nugget.descriptions[0], SIZE),
            "question": beginning(one.question.text, SIZE),
            "known": one.known,
            "sure": sureness(one).plain,
            "worth": f"{self.diff.headline.measure.title} {sign}{one.effect:.3f}",
            "sides": [
                self.side("old", one.old, bool(self.diff.old.answered[at])),
                self.side("new", one.new, bool(self.diff.new.answered[at])),
            ],
        }

    def side(self, name: str, sighting: Sighting, answered: bool) -> dict[str, Any]:
        passage = sighting.passage
        return {
            "name": name,
            "known": sighting.known,
            "found": sighting.found,
            "verdict": verdict(sighting).plain,
            "pieces": excerpt(passage, SIZE) if passage else [],
            "nothing": "nothing like it" if answered else "no answer",
            "docid": (passage.docid or "") if passage else "",
        }

    @property
    def questions(self) -> list[dict[str, str]]:
        """The questions whose score changed most."""
        assert self.diff
        delta = self.diff.headline
        rows = []
        for i in delta.most_changed[:10].tolist():
            old, new = (number(float(each[i])) for each in (delta.old_by_question, delta.new_by_question))
            rows.append(
                {
                    "qid": self.key.questions[i].qid,
                    "text": beginning(self.key.questions[i].text),
                    "old": old,
                    "new": new,
                    "change": signed(round(float(new) - float(old), 3)),
                    "length": f"{self.diff.old.length[i]:,} → {self.diff.new.length[i]:,}",
                }
            )
        return rows

    # The map

    @cached_property
    def rows(self) -> list[Row]:
        values = self.briefing.score.by_question[self.measure.name]
        rows = []
        for q, (question, nuggets) in enumerate(self.key):
            first = int(self.key.offsets[q])
            cells = [self.cell(first + i) for i in range(len(nuggets))]
            vital = [n.importance == "vital" for n in nuggets]
            change = ""
            if self.diff:
                moved = float(self.diff.headline.by_question[q])
                change = "" if np.isnan(moved) or not round(moved, 3) else signed(moved)
            rows.append(
                Row(
                    question.qid,
                    beginning(question.text),
                    number(float(values[q])),
                    change,
                    any(cell.look.endswith(("gained", "lost")) for cell in cells),
                    tuple(cell for cell, is_vital in zip(cells, vital, strict=True) if is_vital),
                    tuple(cell for cell, is_vital in zip(cells, vital, strict=True) if not is_vital),
                )
            )
        return rows

    def cell(self, place: int) -> Cell:
        sighting, nugget = self.briefing.sightings[place], self.key.nuggets[place]
        sign, turned = self.turn(place)
        if sighting.known:
            mark, look = ("✓", "yes") if sighting.found else ("×", "no")
        elif sighting.probability is None:
            mark, look = ("y?", "g4") if sighting.found else ("n?", "g1")
        else:
            mark = f"{min(max(round(100 * sighting.probability), 1), 99)}"
            look = f"g{min(int(5 * sighting.probability), 4)}"
        said = f"nugget {nugget.nugget}: {_said(sighting)}" + (f", {turned}" if turned else "")
        return Cell(place, sign + mark, said, f"{look} {turned}".strip())

    def turn(self, place: int) -> tuple[str, str]:
        """Whether the nugget was gained or lost."""
        if self.diff:
            old, new = bool(self.diff.old.found[place]), bool(self.diff.new.found[place])
            if new and not old:
                return "+", "gained"
            if old and not new:
                return "−", "lost"
        return "", ""

    @property
    def evidence(self) -> dict[str, Any]:
        """What the map shows on demand. Of each nugget: its question, name, importance, description, whether it was
        gained or lost, how it stands, how it stood, numbers, the response, its words, plain and marked by turns, and
        what else spoke for the guess."""
        nuggets = []
        for i, (nugget, sighting) in enumerate(zip(self.key.nuggets, self.briefing.sightings, strict=True)):
            passage = sighting.passage
            numbers = ""
            if not sighting.known and sighting.score is not None:
                numbers = f"match {sighting.score:.2f}, threshold {self.briefing.scores.threshold[i]:.2f}"
            elif sighting.score is not None:
                numbers = f"match {sighting.score:.2f}"
            before = ""
            if self.diff:
                before = _outcome_said(
                    bool(self.diff.old.found[i]), bool(self.diff.old.known[i]), float(self.diff.old.probability[i])
                )
            where = f"response {passage.rank}{_docid(passage.docid)}" if passage else ""
            words = _turns(excerpt(passage, self.size)) if passage else []
            why = sighting.explanation
            lines = in_words(why, min(WHY, self.size)) if why and why.beyond_marks else []
            shown = (nugget.nugget, nugget.importance, beginning(nugget.descriptions[0], self.size))
            about = (_said(sighting), before, numbers, where)
            nuggets.append(
                [int(self.key.question[i]), *map(escaped, shown), self.turn(i)[1], *map(escaped, about), words, lines]
            )
        questions = [[escaped(q.qid), beginning(q.text, self.size)] for q in self.key.questions]
        return {"questions": questions, "nuggets": nuggets}

    @property
    def cut(self) -> int:
        """How many passages of the map are cut."""
        return sum(one.passage is not None and len(one.passage.text) > self.size for one in self.briefing.sightings)

    # Where to judge next

    @property
    def suggestions(self) -> list[dict[str, Any]]:
        return [self.suggested(one) for one in self.briefing.suggested]

    def suggested(self, one: SuggestedPair) -> dict[str, Any]:
        suggestion, passage = one.suggestion, one.passage
        nugget = self.key.nuggets[suggestion.nugget]
        run = self.briefing.score.run
        record = {"qid": nugget.qid, "nugget": nugget.nugget, "text": passage.text, "verdict": True}
        record |= {"docid": passage.docid} if passage.docid is not None else {}
        return {
            "name": f"{nugget.qid}/{nugget.nugget}",
            "question": beginning(self.key.questions[self.key.question[suggestion.nugget]].text),
            "description": beginning(nugget.descriptions[0], SIZE),
            "importance": nugget.importance,
            "chance": chance(suggestion.probability),
            "share": percent(round(1000 * suggestion.share), 1000),
            "pieces": excerpt(passage, SIZE),
            "where": f"response {passage.rank}{_docid(passage.docid)}",
            "line": json_line(record | {"run": run.name}),
        }

    # The guesses

    @property
    def models(self) -> list[dict[str, Any]]:
        assert self.briefing.trust
        found = self.briefing.trust.thresholds
        return [
            {
                "name": model.name,
                "about": model.own_parameters,
                "evidence": f"{model.log10_evidence:,.1f}".replace("-", "−"),
                "held_out": UNDEFINED if model.log_score is None else f"{model.log_score:.4f}".replace("-", "−"),
                "chosen": model.name == found.chosen,
            }
            for model in found.models
        ]

    @property
    def bins(self) -> Iterator[tuple[str, str, str, str]]:
        assert self.briefing.trust
        assert self.briefing.trust.reliability
        for one in self.briefing.trust.reliability.bins:
            yield f"{one.low:.1f}–{one.high:.1f}", f"{one.pairs:,}", f"{one.chance:.3f}", f"{one.yes:.3f}"


def json_line(record: dict[str, Any]) -> str:
    """A line for a file of judgements, with nothing in it that cannot be seen."""
    line = json.dumps(record, ensure_ascii=False)
    return "".join(c if escaped(c) == c else json.dumps(c)[1:-1] for c in line)


def _said(sighting: Sighting) -> str:
    probability = float("nan") if sighting.probability is None else sighting.probability
    return _outcome_said(sighting.found, sighting.known, probability)


def _outcome_said(found: bool, known: bool, probability: float) -> str:
    word = "found" if found else "not found"
    if known:
        return f"{word}, known"
    return f"{word}, guessed" + ("" if np.isnan(probability) else f": {chance(probability)}")


def _docid(docid: str | None) -> str:
    return f", {docid}" if docid else ""


def _turns(pieces: Sequence[Piece]) -> list[str]:
    """Pieces without their flags: plain and marked by turns, the first plain."""
    result = [""]
    for text, marked in pieces:
        if marked == (len(result) % 2 == 0):
            result[-1] += text
        else:
            result.append(text)
    return result
