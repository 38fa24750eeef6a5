"""How far assessors agree, with each other and with the tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from msgspec import field
from rich.console import Console
from rich.text import Text

from nuggeteer.fields import Count, Part, about, copied
from nuggeteer.reports import judges
from nuggeteer.reports.formatting import UNDEFINED, chance, number, percent, short_span, with_span
from nuggeteer.reports.terminal import fixed, left, paragraph, paragraphs, plain, right, say, table
from nuggeteer.statistics.intervals import MIN_QUESTIONS
from nuggeteer.trust.agreement import Assessor, AssessorAgreement, Dispute, MachineAgreement, RaterAgreement
from nuggeteer.trust.judges import JudgeQuality


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
    judges.draw(out, result.judges)
    paragraphs(out, _remarks(result))
    if listed:
        _list_disputes(out, result, listed)
        judges.draw_errors(out, result.judges, listed)


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
