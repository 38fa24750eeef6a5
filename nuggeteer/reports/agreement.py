"""Agreement, between assessors and between annotators: as JSON, and on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.formats.annotation import Snippet
from nuggeteer.formats.brackets import mark
from nuggeteer.gale.annotation import AnnotationAgreement, Row, union
from nuggeteer.reports.as_json import named
from nuggeteer.reports.comparison import percent
from nuggeteer.reports.terminal import UNDEFINED, chance, number, plain, table
from nuggeteer.statistics.coefficients import FEWEST, Estimate
from nuggeteer.text import escaped
from nuggeteer.trust.agreement import AssessorAgreement, Dispute, MachineAgreement, RaterAgreement


def assessors_as_json(result: AssessorAgreement) -> dict[str, Any]:
    return {
        "assessors": [
            {"assessor": one.name, "machine": one.machine, "pairs": one.pairs, "yes": one.yes, "shared": one.shared}
            for one in result.assessors
        ],
        "people": [_agreed(one) for one in result.people],
        "together": _agreed(result.together),
        "tool": {"left_out": result.left_out, **_beside(result.tool)},
        "machines": [{"machine": one.name, **_beside(one)} for one in result.machines],
        "unnamed": result.unnamed,
        "both": result.both,
        "disagreements": [_dispute(one) for one in result.disputes],
    }


def _beside(one: MachineAgreement) -> dict[str, Any]:
    return {
        "people": [{"assessor": each.raters[1], **_agreed(each)} for each in one.each],
        "together": _agreed(one.together),
        "known": _agreed(one.known),
    }


def _agreed(one: RaterAgreement | None) -> Any:
    if one is None:
        return None
    return {
        "raters": list(one.raters),
        "pairs": one.pairs,
        "questions": one.questions,
        "differ": one.differ,
        "yes": one.yes,
        "percent": _estimate(one.percent),
        "kappa": _estimate(one.kappa),
        "alpha": _estimate(one.alpha),
        "positive_f1": _estimate(one.positive),
    }


def _estimate(one: Estimate) -> dict[str, float | None]:
    return one._asdict()


def _dispute(one: Dispute) -> dict[str, Any]:
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


def assessors(out: Console, result: AssessorAgreement, listed: int) -> None:
    """Who judged how much, how far they agree, and the tool beside them."""
    columns = [("assessor", "wrap"), ("pairs", "right"), ("yes", "right"), ("shared", "right")]
    judged = [
        [plain(one.name, "bold"), Text(f"{one.pairs:,}"), Text(f"{one.yes:,}"), Text(f"{one.shared:,}")]
        for one in result.assessors
    ]
    if judged:
        out.print(table("", columns, judged))
    if result.together:
        out.print()
        people = [(_pair(one.raters), one) for one in result.people]
        if len(result.people) > 1:
            people.append(("all together", result.together))
        _coefficients(out, "Between assessors", people)
    for title, one in (
        ("The tool, as one assessor more", result.tool),
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


def _pair(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def _coefficients(out: Console, title: str, rows: list[tuple[str, RaterAgreement]]) -> None:
    columns = [("", "wrap"), ("pairs", "right"), ("differ", "right"), ("agree", "right"), ("κ", "right")]
    columns += [("α", "right"), ("95 % interval", "left"), ("F1", "right")]
    cells = [
        [
            plain(name, "bold"),
            Text(f"{one.pairs:,}"),
            Text(f"{one.differ:,}"),
            Text(UNDEFINED if one.percent.value is None else percent(one.percent.value)),
            Text(_number(one.kappa)),
            Text(_number(one.alpha)),
            Text(interval(one.alpha)),
            Text(number(one.positive.value)),
        ]
        for name, one in rows
    ]
    out.print(table(title, columns, cells))


def _number(one: Estimate) -> str:
    return number(one.value).replace("-", "−")


def interval(one: Estimate) -> str:
    if one.low is None or one.high is None:
        return UNDEFINED
    return " to ".join(f"{end:.3f}".replace("-", "−") for end in (one.low, one.high))


def _remarks(result: AssessorAgreement) -> Iterator[str]:
    if not result.together:
        yield (
            "No pair was judged by two assessors: of agreement between people nothing can be said. Let a second one "
            "judge some of the same (nuggeteer judge RUN --assessor NAME)."
        )
    yield (
        "shared: pairs that another person judged too. agree: the share on which they say the same. κ: Cohen's. α: "
        f"Krippendorff's, with its 95 % interval over resampled questions, of {FEWEST} or more. F1: of the yes. What "
        f"the tool did not see for its guesses: {result.left_out}."
    )
    if result.tool.known:
        yield "all that is known: every verdict that score counts, also those that the silence of judged runs implies."
    one_sided = [one.name for one in result.assessors if one.yes in (0, one.pairs) and not one.machine]
    if one_sided:
        yield (
            f"{', '.join(one_sided)}: every verdict is the same. Whoever writes down only what they find leaves the "
            "rest to silence; κ and α with them say little."
        )
    if result.unnamed:
        yield f"{result.unnamed:,} verdicts name no assessor; they count in what is known only."
    if result.both:
        yield f"On {result.both:,} pairs an assessor said both yes and no; the yes counts."
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
        said = []
        for verdict, names in (("yes", one.yes), ("no", one.no)):
            if names:
                each = (f"{name} ({reasons[name]})" if name in reasons else name for name in names)
                said.append(f"{verdict}: {', '.join(each)}")
        if one.tool is not None:
            sure = "" if one.probability is None else f", {chance(one.probability)} for yes"
            said.append(f"tool: {'yes' if one.tool else 'no'}{sure}")
        out.print(plain("; ".join(said), "dim"))
    _more(out, len(result.disputes) - listed)


def _more(out: Console, more: int) -> None:
    if more > 0:
        out.print()
        out.print(f"and {more:,} more (--list COUNT, or --json)")


def annotators_as_json(result: AnnotationAgreement) -> dict[str, Any]:
    return {
        "files": [named(file) for file in result.files],
        "resampled": result.resampled,
        "alone": list(result.alone),
        "rows": [_row(one) for one in result.rows],
        "snippets": [
            {
                "qid": one.first.qid,
                "snippet": one.first.snippet,
                "relevant": [bool(one.first.nuggets), bool(one.second.nuggets)],
                "nuggets": [len(one.first.nuggets), len(one.second.nuggets)],
                "both": int(one.characters[0]),
                "only": [int(one.characters[1]), int(one.characters[2])],
                "neither": int(one.characters[3]),
                "overlap": one.overlap,
            }
            for one in result.snippets
        ],
    }


def _row(one: Row) -> dict[str, Any]:
    return {
        "condition": one.condition,
        "value": one.value,
        "snippets": one.snippets,
        "relevant_to_both": one.relevant,
        "nuggets": list(one.nuggets),
        "relevance": _estimate(one.relevance),
        "relevance_kappa": _estimate(one.relevance_kappa),
        "overlap": _estimate(one.overlap),
        "character_kappa": _estimate(one.character_kappa),
    }


def annotators(out: Console, result: AnnotationAgreement, listed: int) -> None:
    """The paper's table 1, with κ and intervals."""
    columns = [("", "wrap"), ("snippets", "right"), ("relevance", "right"), ("95 %", "left"), ("κ", "right")]
    columns += [("nugget overlap", "right"), ("95 %", "left"), ("κ", "right")]
    rows = []
    for one in result.rows:
        style = "bold" if one.value is None else ""
        cells = ["all" if one.value is None else one.value, f"{one.snippets:,}", number(one.relevance.value)]
        cells += [_short(one.relevance), _number(one.relevance_kappa), number(one.overlap.value)]
        cells += [_short(one.overlap), _number(one.character_kappa)]
        rows.append([plain(cell, style) for cell in cells])
    out.print(table("", columns, rows))
    total = result.rows[-1]
    out.print()
    out.print(
        f"{total.snippets:,} snippets that both annotated, {total.relevant:,} of them relevant to both; "
        f"{total.nuggets[0]:,} and {total.nuggets[1]:,} nuggets."
    )
    for file, count in zip(result.files, result.alone, strict=True):
        if count:
            out.print(plain(f"{count:,} snippets are in {file} only, and left out."), soft_wrap=True)
    out.print()
    out.print(
        "relevance: the share of snippets that have nuggets from both or from neither. nugget overlap: of the letters "
        "and digits in snippets relevant to both, those in both's nuggets / (those + half of those in one's only). κ: "
        f"Cohen's, of snippets and of characters. 95 %: over resampled {result.resampled}, of {FEWEST} or more."
    )
    for one_snippet in result.differing[:listed]:
        first, second = one_snippet.first, one_snippet.second
        name = first.snippet if first.qid is None else f"{first.qid} {first.snippet}"
        out.print()
        value = number(one_snippet.overlap)
        out.print(Text.assemble(plain(name, "bold"), f"  overlap {value}, {one_snippet.differs} characters differ"))
        for file, own in zip(result.files, (first, second), strict=True):
            out.print(Text.assemble(plain(f"{file}: ", "dim"), plain(_marked(own))))
    if listed:
        _more(out, len(result.differing) - listed)


def _short(one: Estimate) -> str:
    return UNDEFINED if one.low is None or one.high is None else f"{one.low:.2f}–{one.high:.2f}"


def _marked(snippet: Snippet) -> str:
    return mark(snippet.text, union(snippet.nuggets)) if snippet.nuggets else "irrelevant"
