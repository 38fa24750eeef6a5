"""What changed between two runs, as Markdown for a build's summary page.

All text from files is escaped and put inside <code> in a block of HTML without blank lines. Inside such a block, GitHub
interprets neither Markdown nor mentions, references, links and emoji.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nuggeteer.comparing.changes import NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.gate import Ruling
from nuggeteer.comparing.sightings import Sighting
from nuggeteer.history.nightly import Night
from nuggeteer.reports.change_words import (
    absence,
    by_news,
    difference,
    difference_span,
    in_lines,
    nuggets_in_words,
    sureness,
    texts_in_words,
    verdict,
)
from nuggeteer.reports.formatting import between, number, p_value
from nuggeteer.reports.passages import beginning, excerpt
from nuggeteer.text import escaped

VITAL, OTHERS = 20, 50  # changes that are listed
SIZE = 240  # characters of a passage


SIGN = {"PASS": "✅", "FAIL": "❌", "UNDECIDED": "❔"}


def night(result: Night) -> str:
    """One night's decision and its reason, and what changed if there is something to compare with."""
    heading = f"<h3>{SIGN[result.decision]} {result.ruling.title}</h3>\n<p>{code(result.reason)}</p>"
    heading += "".join(f"\n<p>{code(line)}</p>" for line in result.ruling.remarks)
    if result.diff:
        return f"{heading}\n\n{changes(result.diff)}"
    value, ends = number(result.interval.value), between(result.interval)
    return f"{heading}\n\n{code(result.new.run.name)}: {result.measure.title} {value}, 95 % interval {ends}\n"


def changes(result: Diff, ruling: Ruling | None = None) -> str:
    """The whole document, with an empty line between its paragraphs."""
    parts = [f"<h3>{' → '.join(map(code, result.titles))}</h3>"]
    if ruling:
        first, *rest = in_lines(ruling)
        parts += [f"<p>{SIGN[ruling.decision]} {code(first)}</p>", *(f"<p>{code(line)}</p>" for line in rest)]
    parts += [_scores(result), " ".join(nuggets_in_words(result))]
    (_, opposed), (_, claimed), (_, lost), (_, gained), (_, dropped) = by_news(result)
    if opposed:
        parts.append(f"<h4>{len(opposed)} lost and contradicted</h4>\n{_table(opposed, VITAL)}")
    if claimed:
        parts.append(f"<h4>{len(claimed)} forbidden and now claimed</h4>\n{_table(claimed, VITAL)}")
    if vital := [change for change in lost if change.vital]:
        parts.append(f"<h4>{len(vital)} vital nugget{'' if len(vital) == 1 else 's'} lost</h4>\n{_table(vital, VITAL)}")
    others = [change for change in lost if not change.vital]
    folded = ("Other nuggets lost", others), ("Nuggets gained", gained), ("Forbidden, and no longer claimed", dropped)
    for title, found in folded:
        if found:
            parts.append(f"<details><summary>{title}: {len(found)}</summary>\n{_table(found, OTHERS)}\n</details>")
    about = "\n".join(f"<p>{code(line)}</p>" for line in (*texts_in_words(result), *result.notes, result.signature))
    parts.append(f"<details><summary>Answers, signature</summary>\n{about}\n</details>")
    return "\n\n".join(parts) + "\n"


def code(text: str) -> str:
    return f"<code>{escape(escaped(text))}</code>"


def _scores(result: Diff) -> str:
    lines = ["| | old | new | change | 95 %, questions like these | p |", "|---|---:|---:|---:|---|---:|"]
    for delta in result.deltas.values():
        cells = (delta.measure.title, number(delta.old), number(delta.new), difference(delta), difference_span(delta))
        lines.append(f"| {' | '.join(cells)} | {p_value(delta.p)} |")
    return "\n".join(lines)


def _table(found: Sequence[NuggetChange], most: int) -> str:
    rows = ["<table><tr><th>nugget</th><th>sure</th><th>what the answers say</th></tr>"]
    for change in found[:most]:
        name = f"{code(f'{change.question.qid}/{change.nugget.nugget}')}<br>{change.nugget.importance}"
        words = [
            f"<b>{code(beginning(change.nugget.descriptions[0]))}</b>",
            _side("old", change.old),
            _side("new", change.new),
        ]
        sure = sureness(change).plain.removesuffix(" sure")
        rows.append(f"<tr><td>{name}</td><td>{escape(sure)}</td><td>{'<br>'.join(words)}</td></tr>")
    if len(found) > most:
        rows.append(f'<tr><td colspan="3">and {len(found) - most:,} more</td></tr>')
    return "\n".join([*rows, "</table>"])


def _side(label: str, sighting: Sighting) -> str:
    head = f"{label} ({escape(verdict(sighting).plain)})"
    if sighting.passage is None:
        return f"{head}: {absence(sighting)}"
    pieces = excerpt(sighting.passage, SIZE)
    words = "".join(f"<b>{escape(piece)}</b>" if marked else escape(piece) for piece, marked in pieces)
    return f"{head}: <code>{words}</code>"
