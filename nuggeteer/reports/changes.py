"""What changed between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nuggeteer.comparing.changes import Delta, NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.gate import Gate, signed
from nuggeteer.comparing.sightings import Sighting
from nuggeteer.history.causes import Causes
from nuggeteer.measures import DEFAULT
from nuggeteer.records import number_or_none
from nuggeteer.reports import explanation
from nuggeteer.reports.change_words import (
    absence,
    by_news,
    causes_in_words,
    difference,
    difference_span,
    nuggets_in_words,
    sureness,
    texts_in_words,
    verdict,
    worth,
)
from nuggeteer.reports.formatting import judging_share, lacks_interval, no_interval, number, p_value
from nuggeteer.reports.json_values import file_name, interval_as_json
from nuggeteer.reports.passages import beginning, excerpt, surroundings
from nuggeteer.reports.terminal import plain, table

SHOWN = 5  # of each kind, unless all are asked for
LINES = 2  # of a passage


def as_json(result: Diff, gates: Sequence[Gate] = (), causes: Causes | None = None) -> dict[str, Any]:
    return {
        "signature": result.signature,
        "notes": list(result.notes),
        "as_truth": list(result.as_truth),
        "old": file_name(result.old_run.name),
        "new": file_name(result.new_run.name),
        "delta": {measure.name: None for measure in DEFAULT}
        | {name: _delta_as_json(delta) for name, delta in result.deltas.items()},
        "gained": [_change_as_json(change) for change in result.gained],
        "lost": [_change_as_json(change) for change in result.lost],
        "doubtful": [{"kind": change.kind, **_change_as_json(change)} for change in result.doubtful],
        "kept": [_change_as_json(change) for change in result.kept],
        "expected": {"gained": result.expected_gained, "lost": result.expected_lost},
        "answers": {
            "identical": int(result.identical.sum()),
            **{
                what: [result.key.questions[i].qid for i in which]
                for what, which in (
                    ("emptied", result.emptied),
                    ("answered_anew", result.answered_anew),
                    ("grown", result.grown),
                    ("shrunk", result.shrunk),
                )
            },
        },
        "per_question": list(_questions_as_json(result)),
        "gates": [
            {"rule": gate.rule, "passed": gate.passed, "why": gate.why, "lost": [_name_as_json(c) for c in gate.lost]}
            for gate in gates
        ],
        "passed": all(gate.passed for gate in gates) if gates else None,
        **({"causes": causes_as_json(causes)} if causes else {}),
    }


def causes_as_json(causes: Causes) -> dict[str, Any]:
    return {
        "run": file_name(causes.run),
        "time": causes.time,
        "measure": causes.measure,
        "recorded": causes.recorded,
        "change": causes.change,
        "build": causes.build,
        "judges": causes.judges,
        "verdicts": causes.verdicts,
        "rest": causes.rest,
        "judges_then": list(causes.judges_then),
        "judges_now": list(causes.judges_now),
    }


def _delta_as_json(delta: Delta) -> dict[str, Any]:
    return {
        **(interval_as_json(delta.interval) or {}),
        "old": delta.old,
        "new": delta.new,
        "p": delta.p,
        "p_randomisation": delta.p_randomisation,
        "p_bootstrap": delta.p_bootstrap,
    }


def _name_as_json(change: NuggetChange) -> dict[str, Any]:
    return {"qid": change.question.qid, "nugget": change.nugget.nugget}


def _change_as_json(change: NuggetChange) -> dict[str, Any]:
    passage = change.carrier.passage
    return {
        **_name_as_json(change),
        "importance": change.nugget.importance,
        "description": change.nugget.descriptions[0],
        "probability": change.probability,
        "source": "known" if change.known else "guessed",
        "effect": change.effect,
        "text": None if passage is None else passage.text,
        "old": sighting_as_json(change.old),
        "new": sighting_as_json(change.new),
    }


def sighting_as_json(sighting: Sighting) -> dict[str, Any]:
    """`marks` are [start, end) in characters (code points) of `text`."""
    passage = sighting.passage
    return {
        "found": sighting.found,
        "source": "known" if sighting.known else "guessed",
        "probability": sighting.probability,
        "score": sighting.score,
        "docid": None if passage is None else passage.docid,
        "rank": None if passage is None else passage.rank,
        "text": None if passage is None else passage.text,
        "marks": None if passage is None else [list(mark) for mark in passage.marks],
        "explanation": explanation.as_json(sighting.explanation),
        **({"contradicted": True} if sighting.contradicted else {}),
    }


def _questions_as_json(result: Diff) -> Iterator[dict[str, Any]]:
    for i, question in enumerate(result.key.questions):
        yield {
            "qid": question.qid,
            "delta": {name: number_or_none(delta.by_question[i]) for name, delta in result.deltas.items()},
            "identical": bool(result.identical[i]),
            **{
                side: {
                    **{name: number_or_none(values[i]) for name, values in by_question.items()},
                    "answered": bool(outcome.answered[i]),
                    "length": int(outcome.length[i]),
                }
                for side, outcome, by_question in (
                    ("old", result.old, {name: d.old_by_question for name, d in result.deltas.items()}),
                    ("new", result.new, {name: d.new_by_question for name, d in result.deltas.items()}),
                )
            },
        }


def draw(
    out: Console,
    result: Diff,
    gates: Sequence[Gate] = (),
    everything: bool = False,
    explain: bool = False,
    causes: Causes | None = None,
) -> None:
    """What changed in the scores, the nuggets and the texts; with `explain`, also why nuggets were guessed."""
    most = None if everything else SHOWN
    out.print(Text.assemble(plain(result.old_run.name, "bold"), " → ", plain(result.new_run.name, "bold")))
    out.print()
    _scores(out, result)
    if causes:
        out.print()
        out.print(plain(causes_in_words(causes)))
    out.print()
    for line in nuggets_in_words(result):
        out.print(plain(line))
    for title, found in by_news(result):
        _changes(out, title, result, found, most, explain)
    if everything:
        _changes(out, "Less probable than not", result, result.doubtful, None, explain)
        _changes(out, "Kept", result, result.kept, None, explain)
    _questions(out, result, most)
    for line in texts_in_words(result):
        out.print()
        out.print(plain(line))
    for line in (*result.notes, *_remarks(result)):
        out.print()
        out.print(plain(line))
    if gates:
        out.print()
    for gate in gates:
        out.print(plain(str(gate), "bold green" if gate.passed else "bold red"), soft_wrap=True)


def draw_briefly(out: Console, result: Diff, most: int = 2) -> None:
    """The headline, and the few changes that matter most."""
    delta = result.headline
    out.print(
        Text.assemble(
            plain(result.old_run.name, "bold"),
            " → ",
            plain(result.new_run.name, "bold"),
            f": {delta.measure.title} {difference(delta)}, ",
            f"95 % interval {difference_span(delta)}, p {p_value(delta.p)}",
        )
    )
    out.print()
    for line in nuggets_in_words(result):
        out.print(plain(line))
    for title, found in by_news(result):
        if found:
            out.print()
            out.print(Text(f"{title}: those that matter most", "bold"))
        for change in found[:most]:
            out.print(_change(out, result, change))


def _scores(out: Console, result: Diff) -> None:
    columns = [("", "left"), ("old", "right"), ("new", "right"), ("change", "right")]
    columns += [("95 % interval", "fixed"), ("judging", "right"), ("p", "right")]
    rows: list[list[str | Text]] = []
    for delta in result.deltas.values():
        interval = delta.interval
        style = "bold" if delta is result.headline else ""
        row = [delta.measure.title, number(delta.old), number(delta.new), difference(delta)]
        row += [difference_span(delta), judging_share(interval), p_value(delta.p)]
        rows.append([Text(cell, style) for cell in row])
    out.print(table("", columns, rows))


def _changes(
    out: Console, title: str, result: Diff, found: Sequence[NuggetChange], most: int | None, explain: bool
) -> None:
    if not found:
        return
    shown = found[:most]
    out.print()
    out.print(Text(title, "bold"))
    for change in shown:
        out.print(_change(out, result, change, explain))
    if len(found) > len(shown):
        out.print(Text(f"... and {len(found) - len(shown)} more; --all shows them", "dim"))


def _change(out: Console, result: Diff, change: NuggetChange, explain: bool = False) -> Table:
    whole = Table.grid(padding=(0, 1, 0, 0))
    whole.add_column(no_wrap=True)
    whole.add_column()
    sign, heading = _heading(result, change)
    whole.add_row(sign, heading)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    sides = change.old, change.new
    grid.add_column(width=8 if any(side.contradicted for side in sides) else 5, no_wrap=True)
    grid.add_column()
    width = min(out.width, 120) - 14
    # Only one guess of a change is explained: that the nugget is there or, if that is known, that it is not.
    explained = next((side for side in (change.carrier, change.old, change.new) if side.explanation), None)
    at = result.key.position[change.question.qid]
    for label, sighting, outcome in (("old", change.old, result.old), ("new", change.new, result.new)):
        grid.add_row(Text(label), verdict(sighting), _words(out, sighting, bool(outcome.answered[at]), LINES * width))
        if explain and sighting is explained and sighting.explanation:
            for line in explanation.in_words(sighting.explanation, width, 1):
                grid.add_row("", "", Text(line, "dim"))
    whole.add_row("", grid)
    return whole


def _heading(result: Diff, change: NuggetChange) -> tuple[Text, Text]:
    sign = {"gained": "+", "lost": "−", "kept": "="}[change.kind]
    good = (change.kind == "gained") != change.forbidden
    style = "bold" if change.kind == "kept" else "bold green" if good else "bold red"
    effect = "" if change.kind == "kept" else f"{worth(change, result.headline.measure.title)}  "
    return Text(sign, style), Text.assemble(
        plain(f"{change.question.qid}/{change.nugget.nugget}", "bold"),
        "  ",
        (change.nugget.importance, "bold" if change.vital or change.forbidden else ""),
        "  ",
        sureness(change),
        "  ",
        effect,
        beginning(change.nugget.descriptions[0]),
    )


def _words(out: Console, sighting: Sighting, answered: bool, size: int) -> Text:
    if sighting.passage is None:
        return Text(absence(sighting, answered), "dim")
    styled = out.color_system is not None
    before, after = surroundings(sighting.passage, size)
    shown = Text()
    shown.append(before, "dim")
    for piece, marked in excerpt(sighting.passage, size):
        if marked:
            shown.append(piece if styled else f"«{piece}»", "bold underline")
        else:
            shown.append(piece)
    shown.append(after, "dim")
    return shown


def _questions(out: Console, result: Diff, most: int | None) -> None:
    delta = result.headline
    order = delta.most_changed
    if not len(order):
        return
    columns = [("qid", "left"), ("old", "right"), ("new", "right"), ("change", "right")]
    columns += [("gained", "right"), ("lost", "right"), ("length", "right"), ("", "fixed")]
    gained, lost = ([change.question.qid for change in found] for found in (result.gained, result.lost))
    rows: list[list[str | Text]] = []
    for i in order[:most].tolist():
        qid = result.key.questions[i].qid
        old, new = (round(float(each[i]), 3) for each in (delta.old_by_question, delta.new_by_question))
        row: list[str | Text] = [plain(qid), number(old), number(new), signed(round(new - old, 3))]
        row += [str(gained.count(qid) or ""), str(lost.count(qid) or "")]
        rows.append([*row, f"{result.old.length[i]:,}", f"→ {result.new.length[i]:,}"])
    out.print()
    out.print(table(f"{delta.measure.title} of the questions that changed most", columns, rows))
    if most is not None and len(order) > most:
        out.print(Text(f"... and {len(order) - most} more; --all shows them", "dim"))


def _remarks(result: Diff) -> Iterator[str]:
    delta = result.headline
    some = any(not change.known for change in (*result.gained, *result.lost))
    if some and result.expected_gained is not None:
        yield (
            "yes and no are known. A percentage is a guess: beside a passage, the probability that the answer has the "
            'nugget; "sure", the probability that the change is real.'
        )
    elif some:
        yield "yes and no are known; with a question mark they are guessed, by match score and threshold."
    if lacks_interval(delta.interval):
        yield no_interval()
    if delta.p is not None and delta.p < 1 and result.expected_gained is not None:
        yield (
            "p and the interval allow for wrong guesses and for other questions. If the expected scores were certain, "
            f"p for {delta.measure.title} would be {p_value(delta.p_randomisation)} by randomisation and "
            f"{p_value(delta.p_bootstrap)} by bootstrap."
        )
