"""The result of a nightly build in at most 15 lines of 80 columns, with the decision and its reason first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Annotated, Any

from msgspec import UNSET, UnsetType
from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.changes import NuggetChange
from nuggeteer.comparing.gate import BasisOrNone, Decision
from nuggeteer.fields import Number, Part, Share, about, copied
from nuggeteer.history.nightly import Needed, Night
from nuggeteer.history.ruling import BriefedRun
from nuggeteer.languages import ENGLISH
from nuggeteer.languages import title as language_title
from nuggeteer.reports.change_words import difference, difference_span, sureness
from nuggeteer.reports.changes import STYLE, GateResult
from nuggeteer.reports.formatting import between, counted, number, percent
from nuggeteer.reports.model import (
    AsTruth,
    Contradicted,
    Interval,
    Notes,
    NuggetId,
    ReportedRun,
    Signature,
    Source,
)
from nuggeteer.reports.passages import beginning
from nuggeteer.reports.scores import RecordedBuild
from nuggeteer.reports.terminal import plain
from nuggeteer.settings import About

REASON = 3  # lines
LINES = 15
LOST = 4  # vital nuggets to show, if the other lines leave room
WIDTH = 80


class NightlyChange(Interval, kw_only=True):
    """new − old."""

    old: Number
    new: Number
    p: Number


class WorstNugget(NuggetId, kw_only=True):
    """A vital nugget that was lost, or a forbidden one that is claimed."""

    description: str
    probability: Annotated[Share | None, about("That it is so.")]
    source: Source
    effect: Annotated[Number, about("On the score.")]
    contradicted: Contradicted | UnsetType = UNSET


class NightlyOutput(Part, kw_only=True):
    """One night: its score, the change since the last recorded night, and the decision."""

    signature: Signature
    notes: Notes
    as_truth: AsTruth
    decision: Decision
    reason: Annotated[str, about("Why, in a sentence.")]
    run: ReportedRun
    against: ReportedRun | None
    measure: str
    score: Annotated[Interval, about("By the measure of [nightly].")]
    change: Annotated[NightlyChange | None, about("null if there is nothing to compare with.")]
    gates: Sequence[GateResult]
    lost_vital: Annotated[Sequence[WorstNugget], about("The vital nuggets lost, the surest first.")]
    claimed: (
        Annotated[
            Sequence[WorstNugget],
            about("What is forbidden and claimed only now, the surest first; left out if there is nothing."),
        ]
        | UnsetType
    ) = UNSET
    basis: BasisOrNone
    about: Annotated[
        About, about("Whether the gates are about these questions or about all that could have been asked.")
    ]
    strange: Annotated[
        Sequence[str], about("What is unlike other nights, and must be looked at before anything passes.")
    ]
    needed: Annotated[Needed | None, about("null if the gates are decided or were not applied.")]
    new_questions: Annotated[Sequence[str], about("Questions that the old build was not asked.")]
    recorded: RecordedBuild


def as_json(night: Night) -> dict[str, Any]:
    delta = night.diff.headline if night.diff else None
    claimed = [_worst(change) for change in night.worst if change.forbidden]
    return NightlyOutput(
        signature=night.signature,
        notes=night.notes,
        as_truth=night.as_truth,
        decision=night.decision,
        reason=night.reason,
        run=ReportedRun.of(night.new),
        against=ReportedRun.of(night.old) if night.old else None,
        measure=night.measure.name,
        score=Interval.of(night.interval, night.measure),
        change=NightlyChange.of(delta.interval, delta.measure, old=delta.old, new=delta.new, p=delta.p)
        if delta
        else None,
        gates=[GateResult.of(gate) for gate in night.gates],
        lost_vital=[_worst(change) for change in night.worst if change.vital],
        claimed=claimed or UNSET,
        basis=night.ruling.basis,
        about=night.about,
        strange=night.ruling.strange,
        needed=night.needed,
        new_questions=night.new_questions,
        recorded=copied(RecordedBuild, night.recorded),
    ).as_data()


def _worst(change: NuggetChange) -> WorstNugget:
    return WorstNugget(
        qid=change.question.qid,
        nugget=change.nugget.nugget,
        description=change.nugget.descriptions[0],
        probability=change.probability,
        source="known" if change.known else "guessed",
        effect=change.effect,
        contradicted=True if change.contradicted else UNSET,
    )


def draw(out: Console, night: Night, command: str = "nuggeteer", options: str = "") -> None:
    """`command` is the name of the program. `options` are options of this call that the suggested command needs,
    too."""
    decision, advice = _decision(out, night), list(_advised(night, command, options))
    for line in decision:
        out.print(line)
    against = f" against {_title(night.old)}" if night.old else ""
    _line(out, plain(f"{_title(night.new)}{against}", "dim"))
    outcome, title = night.score.outcome, night.measure.title
    known = percent(outcome.pairs_known, outcome.pairs_known + outcome.pairs_guessed)
    lines = [(title, number(night.interval.value), f"95 % interval {between(night.interval)}, {known} known")]
    if night.diff:
        delta = night.diff.headline
        lines.append(("change", difference(delta), f"for questions like these {difference_span(delta)}"))
    for name, value, ends in lines:
        _line(out, Text(f"{name:<{max(len(title), 6)}}  {value:>6}  {ends}"))
    notes = [f"Verdicts of machines count as a human's: {', '.join(night.as_truth)}."] if night.as_truth else []
    notes += [f"The language is {language_title(night.language)}."] if night.language != ENGLISH else []
    others = len(decision) + 1 + len(lines) + 1 + len(advice) + len(notes) + 1
    _draw_lost(out, night, min(LOST, LINES - others))
    for sentence, call in advice:
        _line(out, sentence) if not call else out.print(sentence, soft_wrap=True)
    for note in notes:
        _line(out, plain(note))
    _line(out, Text(_recorded(night), "dim"))


def draw_decision(out: Console, night: Night) -> None:
    """The decision and its reason, and whether the night is strange."""
    for line in _decision(out, night):
        out.print(line)


def _decision(out: Console, night: Night) -> list[Text]:
    """The meaning for other questions stands beside the change."""
    heading = Text.assemble((night.ruling.title, STYLE[night.decision]), "  ", plain(night.reason))
    wrapped = heading.wrap(out, min(out.width, WIDTH))
    lines = list(wrapped[:REASON])
    for line in lines:
        line.rstrip()
    if len(wrapped) > REASON:
        lines[-1].truncate(min(out.width, WIDTH) - 1)
        lines[-1].append("…")
    for remark in night.ruling.remarks:
        if remark in night.ruling.strange:
            line = plain(remark)
            line.truncate(min(out.width, WIDTH), overflow="ellipsis")
            lines.append(line)
    return lines


def _line(out: Console, line: Text) -> None:
    """One line, cut at the width of the screen."""
    out.print(line, no_wrap=True, overflow="ellipsis", width=min(out.width, WIDTH))


def _title(run: BriefedRun) -> str:
    about = [run.label, run.build.scoring.time[:10]] if run.build else []
    return f"{run.run.name} ({', '.join(filter(None, about))})" if about else run.run.name


def _draw_lost(out: Console, night: Night, most: int) -> None:
    lost = night.worst
    if not night.diff:
        return
    if not lost:
        also = ", and nothing forbidden is newly claimed" if night.diff.key.forbidden.any() else ""
        _line(out, Text(f"No vital nugget is lost{also}."))
        return
    shown = f", the {most} that matter most" if len(lost) > most else ""
    vital = sum(change.vital for change in lost)
    what = f"{counted(vital, 'vital nugget')} lost" if vital else ""
    what += f"{' and ' if what else ''}{len(lost) - vital} forbidden claimed" if len(lost) > vital else ""
    _line(out, Text(f"{what}{shown}:"))
    for change in lost[:most]:
        name = plain(f"  {change.question.qid}/{change.nugget.nugget}  {_remark(change)}")
        _line(out, Text.assemble(name, sureness(change), "  ", beginning(change.nugget.descriptions[0], WIDTH)))


def _remark(change: NuggetChange) -> str:
    return "forbidden  " if change.forbidden else "contradicted  " if change.contradicted else ""


def _advised(night: Night, command: str, options: str) -> Iterator[tuple[Text, bool]]:
    """The lines that say what to do next, and whether each is a command."""
    for sentence, arguments in _advice(night):
        call = f"{command} {shlex.join(arguments)}{options}"
        if arguments and night.reason.endswith(f": {call}"):  # the reason has said so
            continue
        yield plain(sentence), False
        if arguments:
            yield plain(f"  {call}"), True


def _advice(night: Night) -> Iterator[tuple[str, list[str]]]:
    """What to do next: a sentence, and the arguments of a command."""
    if night.old is None:
        yield "The next night is compared with this one.", []
        if night.unlisted:
            yield 'runs.jsonl lists other runs, not this one: give it the "group" of its system.', []
        if night.earlier_runs:
            yield "To compare it now:", ["nightly", night.asked, "--against", night.earlier_runs[-1]]
        if not night.score.outcome.known.all():
            why = "To narrow the interval:" if night.verdicts else "Nobody has read any answer yet. Begin with:"
            yield why, ["judge", night.asked]
        return
    arguments = ["judge", night.asked, "--against", night.against or night.old.run.name]
    if night.decision == "FAIL" and night.ruling.basis == "guessed":
        yield "Nobody has read a new answer. To see whether it is true:", arguments
    elif night.needed is not None:
        if night.ruling.basis == "nobody" or night.ruling.strange:
            if night.ruling.reading:
                yield "Begin with:", arguments
        elif night.needed.minutes is not None:
            minutes, verdicts = counted(max(ceil(night.needed.minutes), 1), "minute"), night.needed.verdicts or 0
            yield f"Reading for about {minutes} ({counted(verdicts, 'verdict')}) is likely to decide it:", arguments
        elif night.needed.questions is not None:
            begun = "All is read" if night.all_read else "Reading these will hardly decide it"
            yield f"{begun}; about {counted(night.needed.questions, 'question')} would decide it.", []
        else:
            yield "All is read." if night.all_read else "Reading these answers will hardly decide it.", []


def _recorded(night: Night) -> str:
    if night.recorded.new:
        return "Recorded; nuggeteer history shows the trend."
    return "It was recorded already. If this is another night, give it another --label."
