"""Audits: what their verdicts prove about a score, whatever the guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from rich.console import Console

from nuggeteer.fields import Count, Part, about, copied
from nuggeteer.reports.formatting import UNDEFINED, number, span
from nuggeteer.reports.terminal import fixed, left, paragraph, paragraphs, plain, right, table
from nuggeteer.statistics.intervals import Estimate

if TYPE_CHECKING:  # most results have none of these
    from nuggeteer.judging.audits.audit import AuditResult
    from nuggeteer.judging.audits.estimate import AuditedMeasure


class AuditedScore(Estimate, kw_only=True):
    """What an audit proves about a score."""

    expected: Annotated[Estimate | None, about("What the guesses said when the audit was drawn.")]
    disagrees: Annotated[bool | None, about("Whether `expected` and the audited interval have nothing in common.")]


class Audited(Part):
    """What an audit's verdicts prove."""

    audit: str
    at: str
    measure: str
    seed: int
    planned: Count
    judged: Annotated[Count, about("How many of the planned units count; they are the first ones.")]
    waiting: Annotated[Count, about("Nuggets that are settled but come after one that is not.")]
    nuggets: Annotated[Count, about("How many nuggets could be drawn.")]
    by: str
    scores: Annotated[
        Mapping[str, AuditedScore | None], about("null for a measure about which the audit says nothing.")
    ]


def audited(result: AuditResult) -> Audited:
    return copied(
        Audited,
        result,
        **{name: getattr(result.head, name) for name in ("audit", "at", "measure", "seed", "by")},
        scores={name: found and _score(found) for name, found in result.measures.items()},
    )


def _score(found: AuditedMeasure) -> AuditedScore:
    expected = found.expected and Estimate(**dict(zip(("value", "low", "high"), found.expected, strict=True)))
    return copied(AuditedScore, found, expected=expected)


def draw(out: Console, results: Sequence[AuditResult]) -> None:
    """One line for each run and measure, and notes."""
    columns = left("run", "measure") + right("audited") + fixed("95 % interval")
    columns += right("by guesses") + fixed("judging") + right("judged")
    sheet = table("Audited: scores that hold however wrong the guesses are", columns)
    for result in results:
        run, judged = result.head.run, f"{result.judged}/{max(result.planned, result.judged)}"
        for audited in filter(None, result.measures.values()):
            row = [audited.measure.title, number(audited.value), span(audited.low, audited.high)]
            row += [number(audited.expected[0]) if audited.expected else UNDEFINED]
            row += [span(*audited.expected[1:]) if audited.expected else UNDEFINED]
            sheet.add_row(plain(run, "bold"), *row, judged)
            run = judged = ""
    paragraph(out, sheet)
    paragraphs(out, _remarks(results))


def _remarks(results: Sequence[AuditResult]) -> list[str]:
    lines = [
        "audited: the score that verdicts on everything in these questions would give. The interval holds it 95 % of "
        "the time, whenever you stop; it does not cover the choice of questions. by guesses, judging: the score and "
        "the judging part of its interval when the audit was drawn."
    ]
    for result in results:
        run = result.head.run
        wrong = [
            audited.measure.title for audited in result.measures.values() if audited is not None and audited.disagrees
        ]
        if wrong:
            lines.append(
                f"The guesses disagree with the audit of {run} on {', '.join(wrong)}: the intervals do not "
                "overlap. Trust the audit, and judge more before you trust the guesses."
            )
        if result.judged < result.planned:
            missing = result.planned - result.judged
            after = f" ({result.waiting} are judged already, but count only once those before them are)" * bool(
                result.waiting
            )
            lines.append(
                f"In {run}'s audit, {missing} of {result.planned} {result.head.by}s are not judged{after}. The "
                f"interval rests on the others. Go on with nuggeteer judge {run} --audit {result.head.planned}."
            )
        silent = [name for name, audited in result.measures.items() if audited is None]
        if silent:
            lines.append(
                f"The audit of {run} says nothing about {', '.join(silent)}: it was drawn for {result.head.measure}, "
                "and some nuggets that count there could not be drawn."
            )
    return lines
