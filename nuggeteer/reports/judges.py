"""How good judges (language models) are, by people's verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from nuggeteer.reports.formatting import UNDEFINED, counted, listed, number, p_value, percent, with_span
from nuggeteer.reports.terminal import left, paragraph, paragraphs, plain, right, say, table
from nuggeteer.statistics.intervals import Estimate
from nuggeteer.trust.judges import JudgeChange, JudgeQuality, JudgeSlice

COLUMNS = ("kappa", "sensitivity", "specificity", "balanced_error", "bias")


def draw(out: Console, judges: Sequence[JudgeQuality]) -> None:
    checked = [(judge, judge.whole) for judge in judges if judge.whole is not None]
    for judge in judges:
        if judge.whole is None:
            out.print()
            say(out, f"{judge.judge}: no person has judged any of the {judge.judged:,} pairs that this judge judged.")
    if checked:
        out.print()
        _slices(out, "Judges against people", "judge", [(judge.judge, whole) for judge, whole in checked])
        for judge, _ in checked:
            slices = (("kind of question", "kind", judge.kinds), ("characters", "text", judge.lengths))
            for title, head, parts in slices:
                if parts:
                    out.print()
                    _slices(out, f"{judge.judge}, by {title}", head, [(part.name, part) for part in parts])
            paragraph(out, _calibration(judge))
        paragraph(
            out,
            "yes: the share that people and the judge call yes. sensitivity, specificity: the share of people's yes "
            "and no on which the judge agrees. balanced error: the mean of both error rates. bias: the share of its "
            "errors that goes one way, and so does not cancel out in a score. Below each, its 95 % interval for the "
            "choice of questions. Partly is a no.",
        )
    for judge in judges:
        if judge.change is not None:
            paragraphs(out, _change(judge.judge, judge.change))


def _slices(out: Console, title: str, head: str, rows: Iterable[tuple[str, JudgeSlice]]) -> None:
    columns = right("pairs", "yes", "κ", "sensi- tivity", "speci- ficity", "balanced error", "bias")
    sheet = table(title, left(head) + columns)
    for name, part in rows:
        values: list[Estimate] = [getattr(part, column) for column in COLUMNS]
        yes = Text(f"{percent(part.people_yes)}\n{percent(part.judge_yes)}")
        cells = (Text(f"{value}\n{ends.removeprefix(UNDEFINED)}") for value, ends in map(with_span, values))
        sheet.add_row(plain(name, "bold"), f"{part.pairs:,}", yes, *cells)
    out.print(sheet)


def _calibration(judge: JudgeQuality) -> str:
    assert judge.calibration is not None
    parts = [f"{number(one.chance, 2)}: {percent(one.yes)} of {one.pairs:,}" for one in judge.calibration.bins]
    error = number(judge.calibration.error)
    return f"How often people say yes, by the score of {judge.judge}: {', '.join(parts)}. Calibration error {error}."


def _change(name: str, change: JudgeChange) -> Iterator[str]:
    said = " and ".join(
        f"{when} κ {number(part.kappa.value)}, sensitivity {number(part.sensitivity.value)}, specificity "
        f"{number(part.specificity.value)} on {counted(part.pairs, 'pair')}"
        for when, part in (("before", change.before), ("since", change.since))
        if part is not None
    )
    told = f"{said} (p {p_value(change.p)})" if change.p is not None else said or "no pair that people judged"
    if change.judged_anew:
        told += f"; of {counted(change.judged_anew, 'pair')} judged again, {change.differing:,} differ"
    if change.alarm:
        models = ""
        if change.models_before and change.models_since and change.models_before != change.models_since:
            models = f" The model was {listed(change.models_before)} and is {listed(change.models_since)}."
        yield (
            f"CHANGED: {name} is not the judge that it was.{models} {told}. Take its verdicts since then as those of "
            "another judge: put them into a file of their own."
        )
    elif change.before is None or change.since is None:
        missing = "before" if change.before is None else "since"
        yield f"{name}: nothing to compare, because people know no pair that it judged {missing}; {told}."
    else:
        yield f"{name}: no change to be seen; {told}."


def draw_errors(out: Console, judges: Sequence[JudgeQuality], count: int) -> None:
    """Where each judge differs from people."""
    for judge in judges:
        if judge.errors:
            paragraph(out, plain(f"{judge.judge} and people differ on {counted(len(judge.errors), 'pair')}", "bold"))
        for error in judge.errors[:count]:
            paragraph(out, Text.assemble(plain(f"{error.qid}/{error.nugget}", "bold"), " ", plain(error.description)))
            say(out, error.text)
            people = "yes" if error.people else "no"
            out.print(plain(f"people: {people}; {judge.judge}: {number(error.score, 2)}", "dim"))
        if len(judge.errors) > count:
            paragraph(out, f"and {len(judge.errors) - count:,} more (--list COUNT, or --json)")
