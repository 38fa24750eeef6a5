"""Nuggets found automatically, what they say of distillers, and nuggets proposed: as JSON, and on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.formats.annotation import Spans
from nuggeteer.formats.annotation_files import as_line
from nuggeteer.formats.brackets import mark
from nuggeteer.gale.automatic import Answer, AutomaticScores, Corrections, Cut
from nuggeteer.gale.nuggetizer import Found
from nuggeteer.gale.proposal import Candidate
from nuggeteer.gale.templates import TYPES
from nuggeteer.reports.comparison import chance, percent, signed
from nuggeteer.reports.terminal import UNDEFINED, between, number, plain, table
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import escaped

AROUND = 60  # characters shown on either side of a nugget
LONG = 200  # characters; a longer text is cut
BEGINNING = 20  # candidates shown


def cuts_as_json(cuts: Sequence[Cut], model: str) -> dict[str, Any]:
    return {"model": model, "snippets": [_cut_as_json(one) for one in cuts]}


def _cut_as_json(one: Cut) -> dict[str, Any]:
    line = as_line(one.snippet)
    line["template"] = one.template.name if one.template else None
    line["nuggets"] = [_nugget(found, one.snippet.text) for found in one.found]
    return line


def _nugget(found: Found, text: str) -> dict[str, Any]:
    return {
        "type": found.type,
        "spans": [list(span) for span in found.spans],
        "core": [list(span) for span in found.core],
        "text": " ".join(text[start:end] for start, end in found.spans),
    }


def cuts(out: Console, found: Sequence[Cut], model: str) -> None:
    """Each text, and each of its nuggets in double brackets."""
    for one in found:
        name = one.snippet.snippet if one.snippet.qid is None else f"{one.snippet.qid} {one.snippet.snippet}"
        out.print(Text.assemble(plain(name, "bold"), "  ", plain(_line(one.snippet.text))))
        rows = table("", [("", "left"), ("", "wrap")], [])
        rows.show_header, rows.box = False, None
        for nugget in one.found:
            rows.add_row(Text(f"  {nugget.type}", "cyan"), _marked(one.snippet.text, nugget.spans))
        out.print(rows if one.found else Text("  no nugget", "dim"))
        out.print()
    counts = Counter(nugget.type for one in found for nugget in one.found)
    told = ", ".join(f"{counts[kind]} {kind}" for kind in TYPES if counts[kind])
    out.print(plain(f"{_many(sum(counts.values()), 'nugget')} in {_many(len(found), 'text')}{told and ': '}{told}"))
    out.print(plain(model, "dim"))


def _line(text: str) -> str:
    return " ".join(text.split())


def _marked(text: str, spans: Spans) -> Text:
    """The text with a nugget in double brackets; of a long text what stands around it."""
    start, end = 0, len(text)
    if end > LONG:
        start = max(0, spans[0][0] - AROUND)
        start = text.find(" ", start, spans[0][0]) + 1 or start if start else 0
        end = min(len(text), spans[-1][1] + AROUND)
        end = max(text.rfind(" ", spans[-1][1], end), spans[-1][1]) if end < len(text) else end
    shown = mark(text[start:end], tuple((a - start, b - start) for a, b in spans))
    return Text.assemble("… " if start else "", plain(shown), " …" if end < len(text) else "")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def scores_as_json(result: AutomaticScores) -> dict[str, Any]:
    return {
        "model": result.model,
        "queries": [
            {"qid": qid, "template": template.name, "distillers": [_answer(a) for a in result.answers if a.qid == qid]}
            for qid, template in result.templates.items()
        ],
        "distillers": [
            {"distiller": name, **{key: _interval(one) for key, one in means.items()}}
            for name, means in result.means.items()
        ],
        "snippets": [
            {
                "qid": one.qid,
                "distiller": one.distiller,
                "judged": one.judged,
                "stretches": [
                    {"text": text, "nuggets": [_nugget(nugget, text) for nugget in found]} for text, found in stretches
                ],
            }
            for one, stretches in result.snippets
        ],
    }


def _answer(one: Answer) -> dict[str, Any]:
    return {
        "distiller": one.distiller,
        **dict(one.nuggets.items()),
        "precision": one.precision,
        "recall": one.recall,
        "nugs": one.nugs,
        "of": one.of,
    }


def _interval(one: Interval) -> dict[str, float | None]:
    return {"value": one.value, "low": one.low, "high": one.high}


def scores(out: Console, result: AutomaticScores) -> None:
    """Each query and distiller, then each distiller's means."""
    columns = [("query", "wrap"), ("distiller", "wrap"), ("right", "right"), ("irrelevant", "right")]
    columns += [("redundant", "right"), ("precision", "right"), ("nugs", "right"), ("recall", "right")]
    rows: list[list[str | Text]] = []
    last = None
    for one in result.answers:
        row: list[str | Text] = [plain(one.qid if one.qid != last else "", "bold"), plain(one.distiller)]
        row += [str(one.nuggets[verdict]) for verdict in ("relevant", "irrelevant", "redundant")]
        rows.append([*row, number(one.precision), f"{one.nugs}/{one.of}", number(one.recall)])
        last = one.qid
    out.print(table("", columns, rows))
    out.print()
    columns = [("distiller", "wrap"), ("precision", "right"), ("95 % interval", "left"), ("recall", "right")]
    columns += [("95 % interval", "left")]
    out.print(
        table(
            f"Means over {_many(len(result.templates), 'query').replace('querys', 'queries')}",
            columns,
            (
                [plain(name, "bold"), *(cell for one in means.values() for cell in (number(one.value), between(one)))]
                for name, means in result.means.items()
            ),
        )
    )
    out.print()
    templates = ", ".join(dict.fromkeys(template.name for template in result.templates.values()))
    for line in (
        f"Templates: {templates}. right: nuggets of the selected text of relevant snippets. precision: right of all "
        "nuggets. nugs: right nuggets that say the same are one; recall: of those that any distiller found.",
        "Intervals are for the choice of queries.",
    ):
        out.print(plain(line))
    out.print(plain(result.model, "dim"))


def corrections_as_json(result: Corrections) -> dict[str, Any]:
    return {
        "model": result.model,
        "conditions": [
            {
                "condition": None if one.condition is None else _named(result, one.condition),
                "snippets": one.snippets,
                "corrected": one.corrected,
                "automatic": one.automatic,
                "difference": one.difference,
            }
            for one in result.counts
        ],
        "per_snippet": asdict(result.mean),
        "without_template": result.untold,
        "snippets": [
            {"qid": one.qid, "snippet": one.snippet, "corrected": len(one.nuggets), "automatic": count}
            for one, count in result.automatic
        ],
    }


def _named(result: Corrections, condition: Sequence[str]) -> dict[str, str | None]:
    return {name: value or None for name, value in zip(result.conditions, condition, strict=True)}


def corrections(out: Console, result: Corrections) -> None:
    """Counts by condition, then the difference a snippet."""
    columns = [("condition", "wrap"), ("snippets", "right"), ("corrected nuggets", "right")]
    columns += [("automatic nuggets", "right"), ("too few", "right")]
    rows: list[list[str | Text]] = []
    for one in result.counts:
        name = "overall" if one.condition is None else ", ".join(value or "(none)" for value in one.condition)
        row: list[str | Text] = [plain(name, "bold" if one.condition is None else "")]
        row += [f"{one.snippets:,}", f"{one.corrected:,}", f"{one.automatic:,}"]
        rows.append([*row, UNDEFINED if one.difference is None else _too_few(one.difference)])
    out.print(table("", columns, rows))
    out.print()
    mean = result.mean
    if mean.p is None or mean.low is None or mean.high is None:
        told = "; too few or too like snippets for an interval"
    else:
        p = f"{mean.p:.1g}" if mean.p < 0.0001 else chance(mean.p)
        told = f", 95 % interval {signed(mean.low)} to {signed(mean.high)}, p {p}"
    out.print(plain(f"Corrected minus automatic, a snippet: {signed(mean.mean)}{told}"))
    if result.untold:
        out.print(plain(f"{_many(result.untold, 'snippet')} without a template: nuggets of all types count there."))
    out.print(plain(result.model, "dim"))


def _too_few(difference: float) -> str:
    return f"−{percent(-difference)}" if difference < 0 else percent(difference)


def candidates_as_json(found: Sequence[Candidate], model: str | None) -> dict[str, Any]:
    return {
        "model": model,
        "nuggets": [
            {
                "qid": one.qid,
                "text": one.text,
                "type": one.type,
                "answers": one.answers,
                "said": list(dict.fromkeys(fact.text for fact in one.facts)),
            }
            for one in found
        ],
    }


def candidates(out: Console, found: Sequence[Candidate], model: str | None, file: str) -> None:
    """The first of each question; all are in the file."""
    for qid in dict.fromkeys(one.qid for one in found):
        own = [one for one in found if one.qid == qid]
        columns = [("", "left"), ("answers", "right"), ("proposed nugget", "wrap")]
        rows: list[list[str | Text]] = [[one.type or "", str(one.answers), plain(one.text)] for one in own[:BEGINNING]]
        out.print(table(f"{qid}: {_many(len(own), 'candidate')}", columns, rows))
        if len(own) > BEGINNING:
            out.print(plain(f"... and {len(own) - BEGINNING:,} more"))
        out.print()
    for line in _next(found, model, file):
        out.print(plain(line))


def _next(found: Sequence[Candidate], model: str | None, file: str) -> Iterable[str]:
    if model is None:
        yield "Without spaCy and a model these are sentences and their parts, not clauses: more to edit."
    yield (
        f"{escaped(file)}: edit it; each line's importance is unrated: write vital or okay, or delete the line. Then "
        f"add it to nuggets.jsonl."
    )
    if model is not None:
        yield model
