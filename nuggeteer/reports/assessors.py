"""How far assessors agree, with each other and with the tool, and how good judges (language models) are, by people's
verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

from msgspec import field
from rich.console import Console
from rich.text import Text

from nuggeteer.fields import Count, Part, about, copied
from nuggeteer.reports.formatting import (
    UNDEFINED,
    chance,
    counted,
    listed,
    number,
    p_value,
    percent,
    short_span,
    with_span,
)
from nuggeteer.reports.terminal import fixed, left, paragraph, paragraphs, plain, right, say, table
from nuggeteer.statistics.intervals import MIN_QUESTIONS, Estimate
from nuggeteer.trust.agreement import Assessor, AssessorAgreement, Dispute, MachineAgreement, RaterAgreement
from nuggeteer.trust.judges import JudgeChange, JudgeQuality, JudgeSlice

COLUMNS = ("kappa", "sensitivity", "specificity", "balanced_error", "bias")  # of judges


class PersonAgreement(RaterAgreement, kw_only=True):
    """The same with or of one person."""

    assessor: str


class PeopleAgreement(Part):
    """How a machine or the tool agrees with people."""

    people: Sequence[PersonAgreement]
    together: Annotated[RaterAgreement | None, about("With all people together; null if no two share a pair.")]
    known: Annotated[RaterAgreement | None, about("With everything that is known.")]


class ToolAgreement(PeopleAgreement, kw_only=True):
    """How the tool's guesses agree with people."""

    left_out: Annotated[str, about("What was left out of the fit before the tool guessed.")]


class MachineOutput(PeopleAgreement, kw_only=True):
    """How a machine with verdicts in `judgements/` agrees with people."""

    name: str = field(name="machine")


class AgreeOutput(Part):
    """How far assessors agree, with each other and with the tool."""

    assessors: Sequence[Assessor]
    people: Annotated[Sequence[RaterAgreement], about("Every two people who share a pair.")]
    together: Annotated[RaterAgreement | None, about("All people; null if no two share a pair.")]
    tool: ToolAgreement
    machines: Sequence[MachineOutput]
    judges: Annotated[
        Sequence[JudgeQuality],
        about("Language models: all that are heard, machines in `judgements/`, and files in `judges/`."),
    ]
    unnamed: Annotated[Count, about("Verdicts without an assessor.")]
    both: Annotated[Count, about("Pairs on which one assessor said both yes and no.")]
    others: Annotated[
        Sequence[PersonAgreement],
        about("Each person against everything that is known without them, if that has a yes on their pairs."),
    ]
    disagreements: Annotated[
        Sequence[Dispute],
        about(
            "First those among people, in the order of the key; then those of the tool with all people, with the "
            "surest guesses first."
        ),
    ]


def as_json(result: AssessorAgreement) -> dict[str, Any]:
    return copied(
        AgreeOutput,
        result,
        tool=copied(ToolAgreement, result.tool, people=_people(result.tool), left_out=result.left_out),
        machines=[copied(MachineOutput, machine, people=_people(machine)) for machine in result.machines],
        others=[copied(PersonAgreement, each, assessor=each.raters[0]) for each in result.others],
        disagreements=result.disputes,
    ).as_data()


def _people(machine: MachineAgreement) -> list[PersonAgreement]:
    return [copied(PersonAgreement, each, assessor=each.raters[1]) for each in machine.each]


def draw(out: Console, result: AssessorAgreement, listed: int) -> None:
    """How much each assessor judged, how far they agree, and how far the tool agrees with them."""
    judged = table("", left("assessor") + right("pairs", "yes", "shared"))
    for one in result.assessors:
        judged.add_row(plain(one.name, "bold"), f"{one.pairs:,}", f"{one.yes:,}", f"{one.shared:,}")
    if result.assessors:
        out.print(judged)
    people = [(", ".join(agreement.raters), agreement) for agreement in result.people]
    if result.together and len(people) > 1:
        people.append(("all together", result.together))
    if people := [*people, *((f"{other.raters[0]}, the others", other) for other in result.others)]:
        out.print()
        _coefficients(out, "Between assessors", people)
    for title, machine in (
        ("The tool, as one more assessor", result.tool),
        *((f"{machine.name}, a machine", machine) for machine in result.machines),
    ):
        rows = [(f"and {each.raters[1]}", each) for each in machine.each]
        rows += [("and all of them", machine.together)] if machine.together else []
        rows += [("and all that is known", machine.known)] if machine.known else []
        out.print()
        _coefficients(out, title, rows)
    if standards := [*result.people, *result.others, *([result.tool.known] if result.tool.known else [])]:
        out.print()
        _precision_and_recall(out, standards)
    draw_judges(out, result.judges)
    paragraphs(out, _remarks(result))
    if listed:
        _list_disputes(out, result, listed)
        draw_judges_errors(out, result.judges, listed)


def _coefficients(out: Console, title: str, rows: list[tuple[str, RaterAgreement]]) -> None:
    columns = left("") + right("pairs", "differ", "agree", "κ", "α") + fixed("95 %") + right("F1") + fixed("95 %")
    sheet = table(title, columns)
    for name, agreement in rows:
        agree = UNDEFINED if agreement.percent.value is None else percent(agreement.percent.value)
        alpha = number(agreement.alpha.value), short_span(agreement.alpha.low, agreement.alpha.high, " to ")
        counts = f"{agreement.pairs:,}", f"{agreement.differ:,}", agree, number(agreement.kappa.value)
        sheet.add_row(plain(name, "bold"), *counts, *alpha, *with_span(agreement.positive))
    out.print(sheet)


def _precision_and_recall(out: Console, rows: list[RaterAgreement]) -> None:
    columns = left("yes of", "if right are") + right("precision") + fixed("95 %") + right("recall") + fixed("95 %")
    sheet = table("Precision and recall of yes", columns + right("F1") + fixed("95 %"))
    named = {"known": "all verdicts", "others": "the others"}
    for row in rows:
        values = (cell for one in (row.precision, row.recall, row.positive) for cell in with_span(one))
        sheet.add_row(plain(row.raters[0], "bold"), named.get(row.raters[1], row.raters[1]), *values)
    out.print(sheet)


def _remarks(result: AssessorAgreement) -> Iterator[str]:
    if not result.together:
        yield (
            "No pair was judged by two assessors, so nothing can be said about agreement between people. Let a second "
            "person judge some of the same pairs (nuggeteer judge RUN --assessor NAME)."
        )
    yield (
        "shared: pairs that another person judged too. agree: the share on which both have the same verdict. κ is "
        "Cohen's, α is Krippendorff's, and F1 is that of yes. 95 %: the interval for the choice of questions, if there "
        f"are {MIN_QUESTIONS} or more. To guess fairly, the tool leaves out {result.left_out}."
    )
    if result.tool.known:
        yield "all that is known: every verdict that score counts, also those implied by judged runs."
    if result.others:
        yield "the others: all that is known without this assessor's verdicts, such as the official ones."
    one_sided = [
        assessor.name for assessor in result.assessors if assessor.yes in (0, assessor.pairs) and not assessor.machine
    ]
    if one_sided:
        yield (
            f"{', '.join(one_sided)}: every verdict is the same. An assessor who writes down only what they find "
            "leaves no written no, so κ and α say little here."
        )
    if result.unnamed:
        yield f"{result.unnamed:,} verdicts name no assessor; they count only in what is known."
    if result.both:
        yield f"On {result.both:,} pairs an assessor judged both yes and no; the yes counts."
    among = sum(dispute.among_people for dispute in result.disputes)
    yield (
        f"{among:,} pairs on which assessors differ, {len(result.disputes) - among:,} on which the tool differs from "
        "all of them: --list shows them."
    )


def _list_disputes(out: Console, result: AssessorAgreement, listed: int) -> None:
    for dispute in result.disputes[:listed]:
        paragraph(out, Text.assemble(plain(f"{dispute.qid}/{dispute.nugget}", "bold"), " ", plain(dispute.description)))
        say(out, dispute.text)
        reasons, guess = dispute.reasons, dispute.tool
        verdicts = []
        for verdict, names in (("yes", dispute.yes), ("no", dispute.no)):
            if names:
                each = (f"{name} ({reasons[name]})" if name in reasons else name for name in names)
                verdicts.append(f"{verdict}: {', '.join(each)}")
        if guess.verdict is not None:
            sure = "" if guess.probability is None else f", {chance(guess.probability)} for yes"
            verdicts.append(f"tool: {'yes' if guess.verdict else 'no'}{sure}")
        out.print(plain("; ".join(verdicts), "dim"))
    if len(result.disputes) > listed:
        paragraph(out, f"and {len(result.disputes) - listed:,} more (--list COUNT, or --json)")


def draw_judges(out: Console, judges: Sequence[JudgeQuality]) -> None:
    checked = [(judge, judge.whole) for judge in judges if judge.whole is not None]
    for judge in judges:
        if judge.whole is None:
            out.print()
            say(out, f"{judge.judge}: no person has judged any of the {judge.judged:,} pairs that this judge judged.")
    if checked:
        out.print()
        _judge_slices(out, "Judges against people", "judge", [(judge.judge, whole) for judge, whole in checked])
        for judge, _ in checked:
            slices = (("kind of question", "kind", judge.kinds), ("characters", "text", judge.lengths))
            for title, head, parts in slices:
                if parts:
                    out.print()
                    _judge_slices(out, f"{judge.judge}, by {title}", head, [(part.name, part) for part in parts])
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
            paragraphs(out, _judge_change(judge.judge, judge.change))


def _judge_slices(out: Console, title: str, head: str, rows: Iterable[tuple[str, JudgeSlice]]) -> None:
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


def _judge_change(name: str, change: JudgeChange) -> Iterator[str]:
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


def draw_judges_errors(out: Console, judges: Sequence[JudgeQuality], count: int) -> None:
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
