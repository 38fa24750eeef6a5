"""The result of a nightly build in at most 15 lines of 80 columns, with the decision and its reason first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.comparing.changes import NuggetChange
from nuggeteer.history.baseline import BriefedRun
from nuggeteer.history.nightly import Night
from nuggeteer.languages import ENGLISH
from nuggeteer.languages import title as language_title
from nuggeteer.reports import recording
from nuggeteer.reports.change_words import difference, difference_span, sureness
from nuggeteer.reports.formatting import between, counted, number, percent
from nuggeteer.reports.json_values import file_name, gates_as_json, interval_as_json
from nuggeteer.reports.passages import beginning
from nuggeteer.reports.terminal import plain

REASON = 3  # lines
LOST = 4  # vital nuggets that are shown
WIDTH = 80
STYLE = {"PASS": "bold green", "FAIL": "bold red", "UNDECIDED": "bold yellow"}


def as_json(night: Night) -> dict[str, Any]:
    delta = night.diff.headline if night.diff else None
    needed = night.needed
    return {
        "signature": night.signature,
        "notes": list(night.notes),
        "as_truth": list(night.as_truth),
        "decision": night.decision,
        "reason": night.reason,
        "run": _run_as_json(night.new),
        "against": _run_as_json(night.old) if night.old else None,
        "measure": night.measure.name,
        "score": interval_as_json(night.interval),
        "change": {**(interval_as_json(delta.interval) or {}), "old": delta.old, "new": delta.new, "p": delta.p}
        if delta
        else None,
        "gates": gates_as_json(night.gates),
        "lost_vital": [_lost_as_json(change) for change in night.surest_lost if change.vital],
        **({"claimed": claimed} if (claimed := [_lost_as_json(c) for c in night.surest_lost if c.forbidden]) else {}),
        "needed": {"verdicts": needed.verdicts, "questions": needed.questions} if needed else None,
        "new_questions": list(night.new_questions),
        "recorded": recording.as_json([night.recorded])[0],
    }


def _run_as_json(run: BriefedRun) -> dict[str, Any]:
    scoring = run.build.scoring if run.build else None
    return {
        "run": file_name(run.run.name),
        "build": scoring.build if scoring else None,
        "label": run.label,
        "time": scoring.time if scoring else None,
    }


def _lost_as_json(change: NuggetChange) -> dict[str, Any]:
    return {
        "qid": change.question.qid,
        "nugget": change.nugget.nugget,
        "description": change.nugget.descriptions[0],
        "probability": change.probability,
        "source": "known" if change.known else "guessed",
        "effect": change.effect,
        **({"contradicted": True} if change.contradicted else {}),
    }


def draw(out: Console, night: Night, command: str = "nuggeteer", options: str = "") -> None:
    """`command` is the name of the program. `options` are options of this call that the suggested command needs,
    too."""
    heading = Text.assemble((night.decision, STYLE[night.decision]), "  ", plain(night.reason))
    for line in heading.wrap(out, min(out.width, WIDTH))[:REASON]:
        line.rstrip()
        out.print(line)
    against = f" against {_title(night.old)}" if night.old else ""
    _line(out, plain(f"{_title(night.new)}{against}", "dim"))
    outcome, title = night.score.outcome, night.measure.title
    known = percent(outcome.pairs_known, outcome.pairs_known + outcome.pairs_guessed)
    lines = [(title, number(night.interval.value), f"{between(night.interval)}, {known} known")]
    if night.diff:
        delta = night.diff.headline
        lines.append(("change", difference(delta), difference_span(delta)))
    for name, value, ends in lines:
        _line(out, Text(f"{name:<{max(len(title), 6)}}  {value:>6}  95 % interval {ends}"))
    _draw_lost(out, night)
    for sentence, arguments in _advice(night):
        _line(out, plain(sentence))
        if arguments:
            out.print(plain(f"  {command} {shlex.join(arguments)}{options}"), soft_wrap=True)
    if night.as_truth:
        _line(out, plain(f"Verdicts of machines count as a human's: {', '.join(night.as_truth)}."))
    if night.language != ENGLISH:
        _line(out, plain(f"The language is {language_title(night.language)}."))
    _line(out, Text(_recorded(night), "dim"))


def _line(out: Console, line: Text) -> None:
    """One line, cut at the width of the screen."""
    out.print(line, no_wrap=True, overflow="ellipsis", width=min(out.width, WIDTH))


def _title(run: BriefedRun) -> str:
    about = [run.label, run.build.scoring.time[:10]] if run.build else []
    return f"{run.run.name} ({', '.join(filter(None, about))})" if about else run.run.name


def _draw_lost(out: Console, night: Night) -> None:
    lost = night.surest_lost
    if not night.diff:
        return
    if not lost:
        also = ", and nothing forbidden is newly claimed" if night.diff.key.forbidden.any() else ""
        _line(out, Text(f"No vital nugget is lost{also}."))
        return
    shown = f", the {LOST} surest" if len(lost) > LOST else ""
    vital = sum(change.vital for change in lost)
    what = f"{counted(vital, 'vital nugget')} lost" if vital else ""
    what += f"{' and ' if what else ''}{len(lost) - vital} forbidden claimed" if len(lost) > vital else ""
    _line(out, Text(f"{what}{shown}:"))
    for change in lost[:LOST]:
        name = plain(f"  {change.question.qid}/{change.nugget.nugget}  {_remark(change)}")
        _line(out, Text.assemble(name, sureness(change), "  ", beginning(change.nugget.descriptions[0], WIDTH)))


def _remark(change: NuggetChange) -> str:
    return "forbidden  " if change.forbidden else "contradicted  " if change.contradicted else ""


def _advice(night: Night) -> Iterator[tuple[str, list[str]]]:
    """What to do next: a sentence, and the arguments of a command."""
    if night.old is None:
        yield "The next night is compared with this one.", []
        if night.earlier_runs:
            yield "To compare it now:", ["nightly", night.asked, "--against", night.earlier_runs[-1]]
        why = "To narrow the interval:" if night.verdicts else "Nobody has judged anything yet. Start here:"
        yield why, ["judge", night.asked]
    elif night.needed is not None:
        if night.needed.verdicts is not None:
            about = counted(night.needed.verdicts, "verdict")
            arguments = ["judge", night.asked, "--against", night.against or night.old.run.name]
            yield f"About {about} would decide it, if the change stays as it is:", arguments
        elif night.needed.questions is not None:
            questions = counted(night.needed.questions, "question")
            yield f"Verdicts alone would not decide it; about {questions}, all judged, would.", []
        else:
            yield "Verdicts alone would not decide it.", []


def _recorded(night: Night) -> str:
    if night.recorded.new:
        return "Recorded; nuggeteer history shows the trend."
    return "It was recorded already. If this is another night, give it another --label."
