"""How many minutes of reading an interval of a given width needs."""

from __future__ import annotations

from math import ceil
from typing import Annotated, Any

from msgspec import field
from rich.console import Console

from nuggeteer.fields import Count, Ends, Number, Part, about, copied
from nuggeteer.judging.audits.planning import Plan
from nuggeteer.reports.formatting import UNDEFINED, number
from nuggeteer.reports.terminal import left, right, say, table, wrap


class WidthNow(Part):
    """The score as it is, with its interval."""

    value: Number
    low: Number
    high: Number
    judging: Ends | None
    sampling: Ends | None


class ReadingPlanOutput(Part):
    """How much reading an interval of a given width takes."""

    run: str
    measure: str
    width: Annotated[float, about("What was asked for, of the whole interval.")]
    now: WidthNow
    sampling: Annotated[float, about("The width of the sampling part with every verdict known.")] = field(
        name="sampling_width"
    )
    part: Annotated[float, about("The width that the judging part may have.")] = field(name="judging_width")
    minutes: Annotated[
        Number, about("Minutes of reading in the order of `judge` that bring it there; null if they cannot.")
    ]
    guided: Annotated[Count | None, about("How many verdicts are given in them.")]
    audited: Annotated[Count | None, about("N of `judge --audit N` that does the same; null if none does.")]
    audit_minutes: Annotated[Number, about("The minutes of that audit.")]
    open_nuggets: Annotated[Count, about("How many nuggets are open.")] = field(name="open")
    questions: Count
    questions_needed: Annotated[Count | None, about("null if there are enough questions.")]


def as_json(plan: Plan) -> dict[str, Any]:
    return copied(ReadingPlanOutput, plan, measure=plan.measure.name).as_data()


def draw(out: Console, result: Plan) -> None:
    """A plan in words and a table."""
    now = result.now
    judging = now.judging[1] - now.judging[0] if now.judging else None
    whole = now.high - now.low if now.low is not None and now.high is not None else None
    title = f"{result.run}, {result.measure.title}: {number(now.value)}"
    sheet = table(title, left("width of") + right("now", "wanted"))
    sheet.add_row("the whole interval", number(whole), number(result.width))
    sheet.add_row("its judging part: guesses may be wrong", number(judging), number(result.part))
    sheet.add_row(f"its sampling part: only {result.questions} questions", number(result.sampling))
    out.print(sheet)
    out.print()
    if result.questions_needed is not None:
        reached = f"Reading alone cannot reach {result.width:.3f}: with everything read it is {result.sampling:.3f}"
        say(out, f"{reached}. About {result.questions_needed} questions would.", "")
    if not result.open_nuggets:
        say(out, "Nothing is left to judge.")
        return
    only = f" for the score on these {result.questions} questions alone" * (result.questions_needed is not None)
    wanted = f"There are {result.open_nuggets} open nuggets. For a judging part of {result.part:.3f}{only}"
    say(out, f"{wanted}, give nuggeteer judge {result.run} about:", "")
    minutes = None if result.minutes is None else ceil(result.minutes)
    audit = None if result.audit_minutes is None else ceil(result.audit_minutes)
    guided = UNDEFINED if result.guided is None else f"{result.guided:,}"
    ways = table("", left("") + right("minutes", "verdicts") + wrap("valid"))
    ways.add_row(f"--minutes {minutes or 'N'}", _needed(minutes), guided, "if the guesses are as sure as they say")
    ways.add_row(f"--audit {result.audited or 'N'}", _needed(audit), UNDEFINED, "however wrong they are")
    out.print(ways)


def _needed(minutes: int | None) -> str:
    if not minutes:
        return "impossible" if minutes is None else "none more"
    return f"{minutes:,}"
