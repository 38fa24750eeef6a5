"""How far assessors agree, with each other and with the tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.reports import judges
from nuggeteer.reports.formatting import UNDEFINED, chance, number, percent
from nuggeteer.reports.terminal import plain, table
from nuggeteer.statistics.coefficients import CoefficientEstimate
from nuggeteer.statistics.intervals import MIN_QUESTIONS
from nuggeteer.text import escaped
from nuggeteer.trust.agreement import AssessorAgreement, Dispute, MachineAgreement, RaterAgreement


def as_json(result: AssessorAgreement) -> dict[str, Any]:
    return {
        "assessors": [
            {
                "assessor": assessor.name,
                "machine": assessor.machine,
                "pairs": assessor.pairs,
                "yes": assessor.yes,
                "shared": assessor.shared,
            }
            for assessor in result.assessors
        ],
        "people": [_agreement_as_json(agreement) for agreement in result.people],
        "together": _agreement_as_json(result.together),
        "tool": {"left_out": result.left_out, **_machine_as_json(result.tool)},
        "machines": [{"machine": machine.name, **_machine_as_json(machine)} for machine in result.machines],
        "judges": [judges.as_json(judge) for judge in result.judges],
        "unnamed": result.unnamed,
        "both": result.both,
        "others": [{"assessor": each.raters[0], **_agreement_as_json(each)} for each in result.others],
        "disagreements": [_dispute_as_json(dispute) for dispute in result.disputes],
    }


def _machine_as_json(machine: MachineAgreement) -> dict[str, Any]:
    return {
        "people": [{"assessor": each.raters[1], **_agreement_as_json(each)} for each in machine.each],
        "together": _agreement_as_json(machine.together),
        "known": _agreement_as_json(machine.known),
    }


def _agreement_as_json(agreement: RaterAgreement | None) -> Any:
    if agreement is None:
        return None
    return {
        "raters": list(agreement.raters),
        "pairs": agreement.pairs,
        "questions": agreement.questions,
        "differ": agreement.differ,
        "yes": agreement.yes,
        "percent": agreement.percent._asdict(),
        "kappa": agreement.kappa._asdict(),
        "alpha": agreement.alpha._asdict(),
        "positive_f1": agreement.positive._asdict(),
        "precision": agreement.precision._asdict(),
        "recall": agreement.recall._asdict(),
    }


def _dispute_as_json(dispute: Dispute) -> dict[str, Any]:
    return {
        "qid": dispute.qid,
        "nugget": dispute.nugget,
        "description": dispute.description,
        "text": dispute.text,
        "yes": list(dispute.yes),
        "no": list(dispute.no),
        "reasons": dict(dispute.reasons),
        "tool": {"verdict": dispute.tool, "probability": dispute.probability},
    }


def draw(out: Console, result: AssessorAgreement, listed: int) -> None:
    """How much each assessor judged, how far they agree, and how far the tool agrees with them."""
    columns = [("assessor", "left"), ("pairs", "right"), ("yes", "right"), ("shared", "right")]
    judged = [
        [
            plain(assessor.name, "bold"),
            Text(f"{assessor.pairs:,}"),
            Text(f"{assessor.yes:,}"),
            Text(f"{assessor.shared:,}"),
        ]
        for assessor in result.assessors
    ]
    if judged:
        out.print(table("", columns, judged))
    if result.together:
        out.print()
        people = [(", ".join(agreement.raters), agreement) for agreement in result.people]
        if len(result.people) > 1:
            people.append(("all together", result.together))
        _coefficients(out, "Between assessors", people)
    for title, machine in (
        ("The tool, as one more assessor", result.tool),
        *((f"{escaped(machine.name)}, a machine", machine) for machine in result.machines),
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
    for line in _remarks(result):
        out.print()
        out.print(plain(line))
    if listed:
        _list_disputes(out, result, listed)
        judges.draw_errors(out, result.judges, listed)


def _coefficients(out: Console, title: str, rows: list[tuple[str, RaterAgreement]]) -> None:
    columns = [("", "left"), ("pairs", "right"), ("differ", "right"), ("agree", "right"), ("κ", "right")]
    columns += [("α", "right"), ("95 % interval", "fixed"), ("F1", "right")]
    cells = [
        [
            plain(name, "bold"),
            Text(f"{agreement.pairs:,}"),
            Text(f"{agreement.differ:,}"),
            Text(UNDEFINED if agreement.percent.value is None else percent(agreement.percent.value)),
            Text(number(agreement.kappa.value)),
            Text(number(agreement.alpha.value)),
            Text(_interval(agreement.alpha)),
            Text(number(agreement.positive.value)),
        ]
        for name, agreement in rows
    ]
    out.print(table(title, columns, cells))


def _precision_and_recall(out: Console, rows: list[RaterAgreement]) -> None:
    columns = [("yes of", "left"), ("if right are", "left"), ("pairs", "right"), ("precision", "right")]
    columns += [("95 %", "fixed"), ("recall", "right"), ("95 %", "fixed"), ("F1", "right"), ("κ", "right")]
    named = {"known": "all verdicts", "others": "the others"}
    cells = [
        [
            plain(row.raters[0], "bold"),
            plain(named.get(row.raters[1], row.raters[1])),
            Text(f"{row.pairs:,}"),
            Text(number(row.precision.value)),
            Text(_short(row.precision)),
            Text(number(row.recall.value)),
            Text(_short(row.recall)),
            Text(number(row.positive.value)),
            Text(number(row.kappa.value)),
        ]
        for row in rows
    ]
    out.print(table("Precision and recall of yes", columns, cells))


def _short(estimate: CoefficientEstimate) -> str:
    if estimate.low is None or estimate.high is None:
        return UNDEFINED
    return f"{number(estimate.low, 2)}–{number(estimate.high, 2)}"


def _interval(estimate: CoefficientEstimate) -> str:
    if estimate.low is None or estimate.high is None:
        return UNDEFINED
    return f"{number(estimate.low)} to {number(estimate.high)}"


def _remarks(result: AssessorAgreement) -> Iterator[str]:
    if not result.together:
        yield (
            "No pair was judged by two assessors, so nothing can be said about agreement between people. Let a second "
            "person judge some of the same pairs (nuggeteer judge RUN --assessor NAME)."
        )
    yield (
        "shared: pairs that another person judged too. agree: the share on which both have the same verdict. κ is "
        f"Cohen's and α is Krippendorff's, with its 95 % interval for the choice of questions (if there are "
        f"{MIN_QUESTIONS} or more). F1 is that of yes. To guess fairly, the tool leaves out {result.left_out}."
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
        out.print()
        out.print(Text.assemble(plain(f"{dispute.qid}/{dispute.nugget}", "bold"), " ", plain(dispute.description)))
        out.print(plain(dispute.text))
        reasons = dict(dispute.reasons)
        verdicts = []
        for verdict, names in (("yes", dispute.yes), ("no", dispute.no)):
            if names:
                each = (f"{name} ({reasons[name]})" if name in reasons else name for name in names)
                verdicts.append(f"{verdict}: {', '.join(each)}")
        if dispute.tool is not None:
            sure = "" if dispute.probability is None else f", {chance(dispute.probability)} for yes"
            verdicts.append(f"tool: {'yes' if dispute.tool else 'no'}{sure}")
        out.print(plain("; ".join(verdicts), "dim"))
    if len(result.disputes) > listed:
        out.print()
        out.print(f"and {len(result.disputes) - listed:,} more (--list COUNT, or --json)")
