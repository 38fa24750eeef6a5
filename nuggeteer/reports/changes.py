"""What changed between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, UnsetType
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nuggeteer.comparing.changes import Delta, NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.gate import BasisOrNone, Decision, Gate, Ruling, signed
from nuggeteer.comparing.sightings import Sighting
from nuggeteer.fields import Count, Number, Of, Part, Share, about, copied
from nuggeteer.history.causes import Causes
from nuggeteer.measures import DEFAULT
from nuggeteer.records import Importance
from nuggeteer.reports.change_words import (
    absence,
    by_news,
    causes_in_words,
    difference,
    difference_span,
    in_lines,
    nuggets_in_words,
    sureness,
    texts_in_words,
    verdict,
    worth,
)
from nuggeteer.reports.formatting import (
    judging_share,
    lacks_interval,
    no_interval,
    not_calibrated,
    number,
    p_value,
    signed_span,
)
from nuggeteer.reports.model import (
    BY_MEASURE,
    AsTruth,
    Contradicted,
    Interval,
    Notes,
    NuggetId,
    Signature,
    Source,
)
from nuggeteer.reports.passages import ExplainedGuess, beginning, excerpt, in_words, surroundings
from nuggeteer.reports.terminal import fixed, left, paragraph, paragraphs, plain, right, say, say_whole, table

STYLE = {"PASS": "bold green", "FAIL": "bold red", "UNDECIDED": "bold yellow"}
SHOWN = 5  # of each kind, unless all are asked for
LINES = 2  # of a passage


class MeasureDelta(Interval, kw_only=True):
    """The change of a score: new − old."""

    old: Annotated[
        Number,
        about(
            "The score of OLD, adjusted by what the words of both runs say about the change; what is certain does not "
            "move."
        ),
    ]
    new: Annotated[Number, about("That of NEW, adjusted in the same way, so that their difference is `value`.")]
    p: Annotated[Number, about("Two-sided; below 5 % where the interval does not contain 0.")]
    p_randomisation: Annotated[Number, about("Of a test that flips the signs of questions.")]
    p_bootstrap: Annotated[Number, about("Of a test that resamples questions.")]


class SightedNugget(Part, kw_only=True):
    """Where a run has a nugget; or, if it does not, the response that comes nearest."""

    found: bool
    source: Source
    probability: Share | None
    score: Annotated[Number, about("The match score.")]
    docid: str | None
    rank: Count | None
    text: Annotated[str | None, about("Of the response.")]
    marks: Annotated[
        Sequence[Of] | None,
        about("[start, end) in characters (code points) of `text`: the words that speak for the nugget."),
    ]
    explanation: Annotated[ExplainedGuess | None, about("null if the nugget is known, or if the matcher does not say.")]
    contradicted: Contradicted | UnsetType = UNSET


class ChangedNugget(NuggetId, kw_only=True):
    """A nugget that one run has and the other lacks."""

    kind: (
        Annotated[
            Literal["gained", "lost", "kept"],
            about("For doubtful changes: gained or lost, going by the decisions alone."),
        ]
        | UnsetType
    ) = UNSET
    importance: Importance
    description: str
    probability: Annotated[Share | None, about("That it is so.")]
    source: Annotated[Literal["known", "guessed"], about("`known` if both sides are known.")]
    effect: Annotated[Number, about("On the score.")]
    text: Annotated[str | None, about("Of the side that has the nugget.")]
    old: SightedNugget
    new: SightedNugget


class ExpectedChanges(Part):
    """The sums of the probabilities over all nuggets, listed or not."""

    gained: Number
    lost: Number


class ChangedAnswers(Part):
    """How many answers are identical, and the questions whose answers changed much."""

    identical: Count
    emptied: Sequence[str]
    answered_anew: Sequence[str]
    grown: Sequence[str]
    shrunk: Sequence[str]


class AnswerSide(Part):
    """One run's answer to a question."""

    measures: Annotated[Mapping[str, Number], BY_MEASURE]
    answered: bool
    length: Count


class QuestionChange(Part):
    """A question in both runs."""

    qid: str
    delta: Annotated[Mapping[str, Number], about("By measure.")]
    identical: Annotated[bool, about("Whether both answers have the same texts.")]
    old: AnswerSide
    new: AnswerSide


class GateResult(Part):
    """A gate and its decision."""

    rule: Annotated[str, about("What it demands.")]
    decision: Decision
    passed: Annotated[bool, about("false if it failed; an undecided gate did not.")]
    why: Annotated[str, about("The numbers that decided.")]
    probability: Annotated[
        Number, about("How probable it is that the score fell below its limit; null for other rules, or if unknown.")
    ]
    beyond: Annotated[
        str | None,
        about("What it means for other questions; null if the gate is about them, or if nothing can be said."),
    ]
    lost: Annotated[Sequence[NuggetId], about("The nuggets that it counted.")]

    @classmethod
    def of(cls, gate: Gate) -> GateResult:
        lost = [NuggetId(qid=change.question.qid, nugget=change.nugget.nugget) for change in gate.lost]
        return copied(cls, gate, passed=gate.decision != "FAIL", beyond=gate.beyond or None, lost=lost)


class DiffOutput(Part, kw_only=True):
    """What changed between two runs."""

    signature: Signature
    notes: Notes
    as_truth: AsTruth
    old: str
    new: str
    titles: Annotated[tuple[str, str], about("Their names, each with the label of a recorded build.")]
    delta: Annotated[Mapping[str, MeasureDelta | None], about("new − old, by measure.")]
    gained: Annotated[Sequence[ChangedNugget], about("With a probability of ½ or more; what matters most comes first.")]
    lost: Sequence[ChangedNugget]
    doubtful: Annotated[
        Sequence[ChangedNugget],
        about("Nuggets decided differently in the two runs, although a real change is less likely than not."),
    ]
    kept: Sequence[ChangedNugget]
    expected: ExpectedChanges
    answers: ChangedAnswers
    per_question: Sequence[QuestionChange]
    decision: Annotated[Decision | None, about("The decision of all gates together; null if no gate was set.")]
    basis: BasisOrNone
    passed: Annotated[bool | None, about("false if the decision is FAIL; null if no gate was set.")]
    gates: Sequence[GateResult]
    causes: Annotated[Causes, about("Only if OLD was recorded with other judges.")] | UnsetType = UNSET


def as_json(result: Diff, ruling: Ruling | None = None, causes: Causes | None = None) -> dict[str, Any]:
    deltas: dict[str, MeasureDelta | None] = {measure.name: None for measure in DEFAULT}
    deltas |= {name: _delta(delta) for name, delta in result.deltas.items()}
    changed = {
        "emptied": result.emptied,
        "answered_anew": result.answered_anew,
        "grown": result.grown,
        "shrunk": result.shrunk,
    }
    return DiffOutput(
        signature=result.signature,
        notes=result.notes,
        as_truth=result.as_truth,
        old=result.old_run.name,
        new=result.new_run.name,
        titles=result.titles,
        delta=deltas,
        gained=[_change_of(change) for change in result.gained],
        lost=[_change_of(change) for change in result.lost],
        doubtful=[_change_of(change, doubtful=True) for change in result.doubtful],
        kept=[_change_of(change) for change in result.kept],
        expected=ExpectedChanges(gained=result.expected_gained, lost=result.expected_lost),
        answers=ChangedAnswers(
            identical=int(result.identical.sum()),
            **{what: [result.key.questions[i].qid for i in which] for what, which in changed.items()},
        ),
        per_question=list(_question_changes(result)),
        decision=ruling.decision if ruling else None,
        basis=ruling.basis if ruling else None,
        passed=ruling.decision != "FAIL" if ruling else None,
        gates=[GateResult.of(gate) for gate in ruling.gates] if ruling else [],
        causes=causes or UNSET,
    ).as_data()


def _delta(delta: Delta) -> MeasureDelta:
    own = {name: getattr(delta, name) for name in ("old", "new", "p", "p_randomisation", "p_bootstrap")}
    return MeasureDelta.of(delta.interval, delta.measure, **own)


def _change_of(change: NuggetChange, doubtful: bool = False) -> ChangedNugget:
    passage = change.carrier.passage
    return ChangedNugget(
        kind=change.kind if doubtful else UNSET,
        qid=change.question.qid,
        nugget=change.nugget.nugget,
        importance=change.nugget.importance,
        description=change.nugget.descriptions[0],
        probability=change.probability,
        source="known" if change.known else "guessed",
        effect=change.effect,
        text=None if passage is None else passage.text,
        old=sighted(change.old),
        new=sighted(change.new),
    )


def sighted(sighting: Sighting) -> SightedNugget:
    passage = sighting.passage
    return SightedNugget(
        found=sighting.found,
        source="known" if sighting.known else "guessed",
        probability=sighting.probability,
        score=sighting.score,
        docid=None if passage is None else passage.docid,
        rank=None if passage is None else passage.rank,
        text=None if passage is None else passage.text,
        marks=None if passage is None else passage.marks,
        explanation=None if sighting.explanation is None else copied(ExplainedGuess, sighting.explanation),
        contradicted=True if sighting.contradicted else UNSET,
    )


def _question_changes(result: Diff) -> Iterator[QuestionChange]:
    deltas = result.deltas.items()
    by_side = (
        (result.old, {name: delta.old_by_question for name, delta in deltas}),
        (result.new, {name: delta.new_by_question for name, delta in deltas}),
    )
    for i, question in enumerate(result.key.questions):
        old, new = (
            AnswerSide(
                measures={name: values[i] for name, values in by_question.items()},
                answered=bool(outcome.answered[i]),
                length=int(outcome.length[i]),
            )
            for outcome, by_question in by_side
        )
        yield QuestionChange(
            qid=question.qid,
            delta={name: delta.by_question[i] for name, delta in deltas},
            identical=bool(result.identical[i]),
            old=old,
            new=new,
        )


def draw(
    out: Console,
    result: Diff,
    ruling: Ruling | None = None,
    everything: bool = False,
    explain: bool = False,
    causes: Causes | None = None,
) -> None:
    """What changed in the scores, the nuggets and the texts; with `explain`, also why nuggets were guessed."""
    most = None if everything else SHOWN
    out.print(_runs(result))
    out.print()
    _scores(out, result)
    if causes:
        paragraph(out, causes_in_words(causes))
    out.print()
    say(out, *nuggets_in_words(result))
    for title, found in by_news(result):
        _changes(out, title, result, found, most, explain)
    if everything:
        _changes(out, "Less probable than not", result, result.doubtful, None, explain)
        _changes(out, "Kept", result, result.kept, None, explain)
    _questions(out, result, most)
    paragraphs(out, texts_in_words(result))
    paragraphs(out, (*result.notes, *_remarks(result)))
    if ruling:
        first, *rest = in_lines(ruling)
        out.print()
        out.print(plain(first, STYLE[ruling.decision]), soft_wrap=True)
        say_whole(out, *rest)


def draw_briefly(out: Console, result: Diff) -> None:
    """The headline, and the two changes of each kind that matter most."""
    delta = result.headline
    beyond = f"for questions like these {difference_span(delta)}"
    out.print(Text.assemble(_runs(result), f": {delta.measure.title} {difference(delta)}; {beyond}"))
    out.print()
    say(out, *nuggets_in_words(result))
    for title, found in by_news(result):
        if found:
            paragraph(out, Text(f"{title}: those that matter most", "bold"))
        for change in found[:2]:
            out.print(_change(out, result, change))


def _runs(result: Diff) -> Text:
    old, new = result.titles
    return Text.assemble(plain(old, "bold"), " → ", plain(new, "bold"))


def _scores(out: Console, result: Diff) -> None:
    columns = left("") + right("old", "new", "change") + fixed("95 %, questions\nlike these") + right("guesses", "p")
    sheet = table("", columns)
    for delta in result.deltas.values():
        row = [delta.measure.title, number(delta.old), number(delta.new), difference(delta)]
        row += [difference_span(delta), judging_share(delta.interval), p_value(delta.p)]
        sheet.add_row(*(Text(cell, "bold" if delta is result.headline else "") for cell in row))
    out.print(sheet)


def _changes(
    out: Console, title: str, result: Diff, found: Sequence[NuggetChange], most: int | None, explain: bool
) -> None:
    if not found:
        return
    shown = found[:most]
    paragraph(out, Text(title, "bold"))
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
            for line in in_words(sighting.explanation, width, 1):
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
    columns = left("qid") + right("old", "new", "change", "gained", "lost", "length") + fixed("")
    sheet = table(f"{delta.measure.title} of the questions that changed most", columns)
    gained, lost = ([change.question.qid for change in found] for found in (result.gained, result.lost))
    for i in order[:most].tolist():
        qid = result.key.questions[i].qid
        old, new = (round(float(each[i]), 3) for each in (delta.old_by_question, delta.new_by_question))
        lengths = f"{result.old.length[i]:,}", f"→ {result.new.length[i]:,}"
        counts = str(gained.count(qid) or ""), str(lost.count(qid) or "")
        sheet.add_row(qid, number(old), number(new), signed(round(new - old, 3)), *counts, *lengths)
    paragraph(out, sheet)
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
    elif (judging := delta.ends("these")) and judging[0] < judging[1]:
        yield f"On these questions, the change of {delta.measure.title} is from {signed_span(*judging)}."
    yield from not_calibrated((one.measure, one.interval) for one in result.deltas.values())
    if delta.p is not None and delta.p < 1 and result.expected_gained is not None:
        yield (
            "p and the interval allow for wrong guesses and for other questions. If the expected scores were certain, "
            f"p for {delta.measure.title} would be {p_value(delta.p_randomisation)} by randomisation and "
            f"{p_value(delta.p_bootstrap)} by bootstrap."
        )
