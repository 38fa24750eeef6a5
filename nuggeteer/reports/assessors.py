"""How far assessors agree, with each other and with the tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.reports.formatting import UNDEFINED, chance, number, percent
from nuggeteer.reports.terminal import plain, table
from nuggeteer.statistics.coefficients import MIN_QUESTIONS, CoefficientEstimate
from nuggeteer.text import escaped
from nuggeteer.trust.agreement import AssessorAgreement, Dispute, MachineAgreement, RaterAgreement


def as_json(result: AssessorAgreement) -> dict[str, Any]:
    return {
        "assessors": [
            {"assessor": one.name, "machine": one.machine, "pairs": one.pairs, "yes": one.yes, "shared": one.shared}
            for one in result.assessors
        ],
        "people": [_agreement_as_json(one) for one in result.people],
        "together": _agreement_as_json(result.together),
        "tool": {"left_out": result.left_out, **_machine_as_json(result.tool)},
        "machines": [{"machine": one.name, **_machine_as_json(one)} for one in result.machines],
        "unnamed": result.unnamed,
        "both": result.both,
        "disagreements": [_dispute_as_json(one) for one in result.disputes],
    }


def _machine_as_json(one: MachineAgreement) -> dict[str, Any]:
    return {
        "people": [{"assessor": each.raters[1], **_agreement_as_json(each)} for each in one.each],
        "together": _agreement_as_json(one.together),
        "known": _agreement_as_json(one.known),
    }


def _agreement_as_json(one: RaterAgreement | None) -> Any:
    if one is None:
        return None
    return {
        "raters": list(one.raters),
        "pairs": one.pairs,
        "questions": one.questions,
        "differ": one.differ,
        "yes": one.yes,
        "percent": one.percent._asdict(),
        "kappa": one.kappa._asdict(),
        "alpha": one.alpha._asdict(),
        "positive_f1": one.positive._asdict(),
    }


def _dispute_as_json(one: Dispute) -> dict[str, Any]:
    return {
        "qid": one.qid,
        "nugget": one.nugget,
        "description": one.description,
        "text": one.text,
        "yes": list(one.yes),
        "no": list(one.no),
        "reasons": dict(one.reasons),
        "tool": {"verdict": one.tool, "probability": one.probability},
    }


def draw(out: Console, result: AssessorAgreement, listed: int) -> None:
    """How much each assessor judged, how far they agree, and how far the tool agrees with them."""
    columns = [("assessor", "wrap"), ("pairs", "right"), ("yes", "right"), ("shared", "right")]
    judged = [
        [plain(one.name, "bold"), Text(f"{one.pairs:,}"), Text(f"{one.yes:,}"), Text(f"{one.shared:,}")]
        for one in result.assessors
    ]
    if judged:
        out.print(table("", columns, judged))
    if result.together:
        out.print()
        people = [(", ".join(one.raters), one) for one in result.people]
        if len(result.people) > 1:
            people.append(("all together", result.together))
        _coefficients(out, "Between assessors", people)
    for title, one in (
        ("The tool, as one more assessor", result.tool),
        *((f"{escaped(one.name)}, a machine", one) for one in result.machines),
    ):
        rows = [(f"and {each.raters[1]}", each) for each in one.each]
        rows += [("and all of them", one.together)] if one.together else []
        rows += [("and all that is known", one.known)] if one.known else []
        out.print()
        _coefficients(out, title, rows)
    for line in _remarks(result):
        out.print()
        out.print(plain(line))
    if listed:
        _list_disputes(out, result, listed)


def _coefficients(out: Console, title: str, rows: list[tuple[str, RaterAgreement]]) -> None:
    columns = [("", "wrap"), ("pairs", "right"), ("differ", "right"), ("agree", "right"), ("κ", "right")]
    columns += [("α", "right"), ("95 % interval", "left"), ("F1", "right")]
    cells = [
        [
            plain(name, "bold"),
            Text(f"{one.pairs:,}"),
            Text(f"{one.differ:,}"),
            Text(UNDEFINED if one.percent.value is None else percent(one.percent.value)),
            Text(number(one.kappa.value)),
            Text(number(one.alpha.value)),
            Text(_interval(one.alpha)),
            Text(number(one.positive.value)),
        ]
        for name, one in rows
    ]
    out.print(table(title, columns, cells))


def _interval(one: CoefficientEstimate) -> str:
    if one.low is None or one.high is None:
        return UNDEFINED
    return f"{number(one.low)} to {number(one.high)}"


def _remarks(result: AssessorAgreement) -> Iterator[str]:
    if not result.together:
        yield (
            "No pair was judged by two assessors, so nothing can be said about agreement between people. Let a second "
            "person judge some of the same pairs (nuggeteer judge RUN --assessor NAME)."
        )
    yield (
        "shared: pairs that another person judged too. agree: the share on which both have the same verdict. κ is "
        f"Cohen's and α is Krippendorff's, with its 95 % interval over resampled questions (if there are "
        f"{MIN_QUESTIONS} or more). F1 is that of yes. For its guesses the tool did not see: {result.left_out}."
    )
    if result.tool.known:
        yield "all that is known: every verdict that score counts, also those implied by judged runs."
    one_sided = [one.name for one in result.assessors if one.yes in (0, one.pairs) and not one.machine]
    if one_sided:
        yield (
            f"{', '.join(one_sided)}: every verdict is the same. An assessor who writes down only what they find "
            "leaves no written no, so κ and α say little here."
        )
    if result.unnamed:
        yield f"{result.unnamed:,} verdicts name no assessor; they count only in what is known."
    if result.both:
        yield f"On {result.both:,} pairs an assessor judged both yes and no; the yes counts."
    among = sum(one.among_people for one in result.disputes)
    yield (
        f"{among:,} pairs on which assessors differ, {len(result.disputes) - among:,} on which the tool differs from "
        "all of them: --list shows them."
    )


def _list_disputes(out: Console, result: AssessorAgreement, listed: int) -> None:
    for one in result.disputes[:listed]:
        out.print()
        out.print(Text.assemble(plain(f"{one.qid}/{one.nugget}", "bold"), " ", plain(one.description)))
        out.print(plain(one.text))
        reasons = dict(one.reasons)
        verdicts = []
        for verdict, names in (("yes", one.yes), ("no", one.no)):
            if names:
                each = (f"{name} ({reasons[name]})" if name in reasons else name for name in names)
                verdicts.append(f"{verdict}: {', '.join(each)}")
        if one.tool is not None:
            sure = "" if one.probability is None else f", {chance(one.probability)} for yes"
            verdicts.append(f"tool: {'yes' if one.tool else 'no'}{sure}")
        out.print(plain("; ".join(verdicts), "dim"))
    if len(result.disputes) > listed:
        out.print()
        out.print(f"and {len(result.disputes) - listed:,} more (--list COUNT, or --json)")
