"""What changed between two runs, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nuggeteer.comparing.diff import Delta, Diff, NuggetChange, Sighting
from nuggeteer.comparing.gate import Gate, signed
from nuggeteer.records import Ints
from nuggeteer.reports.explanation import in_words as why
from nuggeteer.reports.passages import beginning, excerpt
from nuggeteer.reports.terminal import UNDEFINED, chance, judging_share, number, plain, table
from nuggeteer.text import escaped

SHOWN = 5  # of each kind, unless all are asked for
LINES = 2  # of a passage
DOUBTFUL = 0.1  # what is less probable than this is only counted


def changes(
    out: Console, result: Diff, gates: Sequence[Gate] = (), everything: bool = False, explain: bool = False
) -> None:
    """The scores, the nuggets and the texts: what changed; with what spoke for guesses, if they are to be explained."""
    most = None if everything else SHOWN
    out.print(Text.assemble(plain(result.old_run.name, "bold"), " → ", plain(result.new_run.name, "bold")))
    out.print()
    _scores(out, result)
    out.print()
    for line in nuggets_in_words(result):
        out.print(plain(line))
    _changes(out, "Lost", result, result.lost, most, explain)
    _changes(out, "Gained", result, result.gained, most, explain)
    if everything:
        _changes(out, "Kept", result, result.kept, None, explain)
    _questions(out, result, most)
    for line in texts_in_words(result):
        out.print()
        out.print(plain(line))
    for line in (*result.notes, *_remarks(result)):
        out.print()
        out.print(plain(line))
    out.print()
    out.print(plain(result.signature, "dim"), soft_wrap=True)
    if gates:
        out.print()
    for gate in gates:
        out.print(plain(str(gate), "bold green" if gate.passed else "bold red"), soft_wrap=True)


def brief(out: Console, result: Diff, most: int = 2) -> None:
    """The headline and the changes that matter most, a few of each."""
    delta = result.headline
    out.print(
        Text.assemble(
            plain(result.old_run.name, "bold"),
            " → ",
            plain(result.new_run.name, "bold"),
            f": {delta.measure.title} {difference(delta)}, 95 % interval {span(delta)}, p {p_value(delta.p)}",
        )
    )
    out.print()
    for line in nuggets_in_words(result):
        out.print(plain(line))
    for title, found in (("Lost", result.lost), ("Gained", result.gained)):
        if found:
            out.print()
            out.print(Text(f"{title}, those that matter most", "bold"))
        for change in found[:most]:
            out.print(_change(out, result, change))


def _scores(out: Console, result: Diff) -> None:
    columns = [("", "left"), ("old", "right"), ("new", "right"), ("change", "right")]
    columns += [("95 % interval", "left"), ("judging", "right"), ("p", "right")]
    rows: list[list[str | Text]] = []
    for delta in result.deltas.values():
        interval = delta.interval
        style = "bold" if delta is result.headline else ""
        row = [delta.measure.title, number(delta.old), number(delta.new), difference(delta)]
        row += [span(delta), judging_share(interval), p_value(delta.p)]
        rows.append([Text(cell, style) for cell in row])
    out.print(table("", columns, rows))


def difference(delta: Delta) -> str:
    """Of the two numbers as they are printed, so that the reader's own subtraction agrees."""
    if delta.old is None or delta.new is None or delta.interval.value is None:
        return UNDEFINED
    if delta.interval.value == 0:
        return "0"
    printed = round(float(number(delta.new)) - float(number(delta.old)), 3)
    return signed(printed) if printed else signed(delta.interval.value)[0] + "0.000"


def span(delta: Delta) -> str:
    low, high = delta.interval.low, delta.interval.high
    return UNDEFINED if low is None or high is None else f"{signed(low)} to {signed(high)}"


def p_value(p: float | None) -> str:
    if p is None:
        return UNDEFINED
    return "1" if p == 1 else f"{min(p, 0.9999):.4f}"


def nuggets_in_words(result: Diff) -> Iterator[str]:
    def counted(kind: str, found: Sequence[NuggetChange]) -> str:
        vital = sum(change.vital for change in found)
        return f"{len(found)} {kind}" + (f" ({vital} vital)" if found else "")

    kept = f"{len(result.kept)} kept"
    yield f"Nuggets: {counted('gained', result.gained)}, {counted('lost', result.lost)}, {kept}."
    gained, lost = result.expected_gained, result.expected_lost
    if (
        gained is not None
        and lost is not None
        and not all(c.known for c in (*result.gained, *result.lost, *result.kept))
    ):
        yield f"Expected, over all that the guesses may be: {gained:.1f} gained, {lost:.1f} lost."


def texts_in_words(result: Diff) -> Iterator[str]:
    """What changed in the answers though not in the nuggets."""
    same, total = int(result.identical.sum()), len(result.identical)
    yield f"Answers: {same} of {total} are the same texts in both."
    for which, what in (
        (result.emptied, "no longer answered"),
        (result.answered_anew, "answered now, and not before"),
    ):
        if len(which):
            yield f"{what[0].upper()}{what[1:]}: {_some([result.key.questions[i].qid for i in which])}."
    for which, what in ((result.grown, "Much longer"), (result.shrunk, "Much shorter")):
        if len(which):
            grew = [
                f"{result.key.questions[i].qid} ({result.old.length[i]:,} → {result.new.length[i]:,} characters)"
                for i in which
            ]
            yield f"{what}, which changes precision: {_some(grew, 3)}."


def _some(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _changes(
    out: Console, title: str, result: Diff, found: Sequence[NuggetChange], most: int | None, explain: bool
) -> None:
    if not found:
        return
    likely = found if most is None else [c for c in found if c.probability is None or c.probability >= DOUBTFUL]
    shown = likely[:most]
    out.print()
    out.print(Text(title, "bold"))
    for change in shown:
        out.print(_change(out, result, change, explain))
    more, doubtful = len(likely) - len(shown), len(found) - len(likely)
    rest = [f"{more} more"] * (more > 0) + [f"{doubtful} with a probability under {DOUBTFUL:.0%}"] * (doubtful > 0)
    if rest:
        out.print(Text(f"... and {' and '.join(rest).replace('%', ' %')}; --all shows them", "dim"))


def _change(out: Console, result: Diff, change: NuggetChange, explain: bool = False) -> Table:
    whole = Table.grid(padding=(0, 1, 0, 0))
    whole.add_column(no_wrap=True)
    whole.add_column()
    sign, heading = _heading(result, change)
    whole.add_row(sign, heading)
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(width=5, no_wrap=True)
    grid.add_column()
    width = min(out.width, 120) - 14
    # Of a change one guess is explained: that the nugget is there or, where that is known, that it is not.
    explained = next((side for side in (change.carrier, change.old, change.new) if side.explanation), None)
    at = result.key.position[change.question.qid]
    for label, sighting, outcome in (("old", change.old, result.old), ("new", change.new, result.new)):
        grid.add_row(Text(label), verdict(sighting), _words(out, sighting, bool(outcome.answered[at]), LINES * width))
        if explain and sighting is explained and sighting.explanation:
            for line in why(sighting.explanation, width, 1):
                grid.add_row("", "", Text(line, "dim"))
    whole.add_row("", grid)
    return whole


def _heading(result: Diff, change: NuggetChange) -> tuple[Text, Text]:
    sign = {"gained": "+", "lost": "−", "kept": "="}[change.kind]
    style = {"gained": "bold green", "lost": "bold red", "kept": "bold"}[change.kind]
    worth = "" if change.kind == "kept" else f"{result.headline.measure.title} {sign}{change.effect:.3f}  "
    return Text(sign, style), Text.assemble(
        plain(f"{change.question.qid}/{change.nugget.nugget}", "bold"),
        "  ",
        (change.nugget.importance, "bold" if change.vital else ""),
        "  ",
        sureness(change),
        "  ",
        worth,
        beginning(change.nugget.descriptions[0]),
    )


def sureness(change: NuggetChange) -> Text:
    """How sure it is that this is so."""
    if change.known:
        return Text("known")
    return Text("guessed" if change.probability is None else f"{chance(change.probability)} sure", "italic yellow")


def verdict(sighting: Sighting) -> Text:
    """A word where it is known, a probability where it is guessed."""
    word = "yes" if sighting.found else "no"
    if sighting.known:
        return Text(word, "bold")
    if sighting.probability is None:
        return Text(f"{word}?", "italic yellow")
    return Text(chance(sighting.probability), "italic yellow")


def in_words(change: NuggetChange, size: int = 240) -> list[str]:
    """A change as plain lines, harmless anywhere: what, and then what the two answers say."""
    name = escaped(f"{change.question.qid}/{change.nugget.nugget}")
    lines = [f"{name}, {change.nugget.importance}, {sureness(change)}: {beginning(change.nugget.descriptions[0])}"]
    for label, sighting in (("old", change.old), ("new", change.new)):
        words = "nothing like it"
        if sighting.passage is not None:
            words = "".join(f"«{piece}»" if marked else piece for piece, marked in excerpt(sighting.passage, size))
        lines.append(f"{label} ({verdict(sighting)}): {words}")
    return lines


def _words(out: Console, sighting: Sighting, answered: bool, size: int) -> Text:
    if sighting.passage is None:
        return Text("nothing like it" if answered else "no answer", "dim")
    styled = out.color_system is not None
    shown = Text()
    for piece, marked in excerpt(sighting.passage, size):
        if marked:
            shown.append(piece if styled else f"«{piece}»", "bold underline")
        else:
            shown.append(piece)
    return shown


def _questions(out: Console, result: Diff, most: int | None) -> None:
    delta = result.headline
    order = _most_changed(delta)
    if not len(order):
        return
    columns = [("qid", "left"), ("old", "right"), ("new", "right"), ("change", "right")]
    columns += [("gained", "right"), ("lost", "right"), ("length", "right"), ("", "left")]
    gained, lost = ([change.question.qid for change in found] for found in (result.gained, result.lost))
    rows: list[list[str | Text]] = []
    for i in order[:most].tolist():
        qid = result.key.questions[i].qid
        old, new = (number(float(each[i])) for each in (delta.old_by_question, delta.new_by_question))
        row: list[str | Text] = [plain(qid), old, new, signed(round(float(new) - float(old), 3))]
        row += [str(gained.count(qid) or ""), str(lost.count(qid) or "")]
        rows.append([*row, f"{result.old.length[i]:,}", f"→ {result.new.length[i]:,}"])
    out.print()
    out.print(table(f"{delta.measure.title} of the questions that changed most", columns, rows))
    if most is not None and len(order) > most:
        out.print(Text(f"... and {len(order) - most} more; --all shows them", "dim"))


def _most_changed(delta: Delta) -> Ints:
    change = np.nan_to_num(np.abs(delta.by_question))
    order = np.argsort(-change, kind="stable")
    return order[change[order] > 0]


def _remarks(result: Diff) -> Iterator[str]:
    delta = result.headline
    some = any(not change.known for change in (*result.gained, *result.lost))
    if some and result.expected_gained is not None:
        yield (
            "yes, no: known. A percentage is a guess: beside a passage, that the answer has the nugget; "
            '"sure", that the change is real.'
        )
    elif some:
        yield "yes, no: known; with a question mark guessed, by match score and threshold."
    if delta.p is not None and delta.p < 1 and result.expected_gained is not None:
        yield (
            "p is of draws of the guessed verdicts and of the questions. If the expected scores were certain, that of "
            f"{delta.measure.title} would be {p_value(delta.p_randomisation)} by randomisation and "
            f"{p_value(delta.p_bootstrap)} by bootstrap."
        )
