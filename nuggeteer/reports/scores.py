"""The scores of runs, by question and by nugget, and what audits prove about them, whatever the guesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import UNSET, UnsetType, structs
from rich.console import Console
from rich.text import Text

from nuggeteer.errors import NuggeteerError
from nuggeteer.fields import Count, Number, Of, Part, Share, about, copied
from nuggeteer.measures import DEFAULT, Measure
from nuggeteer.records import AnswerKey, Ints, Nugget
from nuggeteer.reports.formatting import (
    UNDEFINED,
    between,
    chance,
    counted,
    expected_count,
    judging_share,
    lacks_interval,
    listed,
    no_interval,
    number,
    percent,
    span,
)
from nuggeteer.reports.model import (
    BY_MEASURE,
    AsTruth,
    Contradicted,
    Interval,
    Notes,
    Pairs,
    Signature,
    Source,
)
from nuggeteer.reports.terminal import fixed, left, paragraph, paragraphs, plain, right, say, say_whole, table, wrap
from nuggeteer.scoring.scores import RunScore, Scores
from nuggeteer.statistics.intervals import Estimate

if TYPE_CHECKING:
    from nuggeteer.history.recording import RecordedRun
    from nuggeteer.judging.audits.audit import AuditResult
    from nuggeteer.judging.audits.estimate import AuditedMeasure

ALL = "all"
COLUMNS = ("run", "qid", "measure", "value")  # of a leaderboard


class RecordedBuild(Part):
    """A build that was recorded."""

    run: str
    build: Count
    new: Annotated[bool, about("false if the build was recorded before.")]
    copies: Annotated[Count, about("Other builds with the same run and responses.")]


class AnswerScores(Part, kw_only=True):
    """The scores of the answer to a question."""

    qid: str
    measures: Annotated[Mapping[str, Number], BY_MEASURE]
    hard: Annotated[
        Mapping[str, Number], about("Scores by measure that take each nugget of probability ½ or more as found.")
    ]
    answered: bool
    length: Annotated[Count, about("Characters that are not white space.")]
    vital: Annotated[Of, about("[found, in the key]")]
    okay: Annotated[Of, about("[found, in the key]")]
    forbidden: (
        Annotated[Of, about("[claimed, in the key] of the forbidden nuggets, where the key has any.")] | UnsetType
    ) = UNSET


class ScoredNugget(Part, kw_only=True):
    """A nugget, and whether the run has it."""

    qid: str
    nugget: str
    found: Annotated[bool, about("With a probability of ½ or more.")]
    probability: Annotated[Share | None, about("null of a guess by a fixed threshold.")]
    partial: (
        Annotated[
            Share,
            about("That the nugget is supported in part and not found. Absent if no verdict says partly."),
        ]
        | UnsetType
    ) = UNSET
    source: Source
    contradicted: Contradicted | UnsetType = UNSET
    rank: Annotated[Count | None, about("Of the response that gets the credit; null if the nugget was not found.")]
    score: Annotated[Number, about("The best match score.")]
    threshold: Annotated[Number, about("What decides it; null where nothing is guessed.")]


class ScoredGroup(Part):
    """Nuggets that count as one."""

    qid: str
    group: str
    found: bool
    probability: Annotated[Share | None, about("That it is so.")]
    source: Source


class ScoredRun(Part, kw_only=True):
    """A run with its scores."""

    run: str
    questions: Count
    unanswered: Annotated[Count, about("How many questions the run does not answer. They score 0.")]
    measures: Annotated[Mapping[str, Interval | None], BY_MEASURE]
    pairs: Pairs
    per_question: Sequence[AnswerScores]
    nuggets: Sequence[ScoredNugget]
    groups: Annotated[Sequence[ScoredGroup], about("Where the key has any.")] | UnsetType = UNSET
    audited: Annotated[Audited, about("With `--audited`.")] | UnsetType = UNSET


class ScoreOutput(Part, kw_only=True):
    """Scores of runs. null stands for what is undefined or cannot be said."""

    signature: Signature
    notes: Notes
    as_truth: AsTruth
    runs: Sequence[ScoredRun]
    recorded: Annotated[Sequence[RecordedBuild], about("With `--record`.")] | UnsetType = UNSET


def as_json(
    result: Scores, audits: Sequence[AuditResult] = (), recorded: Sequence[RecordedRun] | None = None
) -> dict[str, Any]:
    runs = [_run(result, run) for run in result.runs]
    for i, audit in enumerate(audits):
        runs[i] = structs.replace(runs[i], audited=audited(audit))
    return ScoreOutput(
        signature=result.signature,
        notes=result.notes,
        as_truth=result.as_truth,
        runs=runs,
        recorded=UNSET if recorded is None else [copied(RecordedBuild, build) for build in recorded],
    ).as_data()


def _run(result: Scores, score: RunScore) -> ScoredRun:
    outcome = score.outcome
    scores = {name: score.measures.get(name) for name in _measures(score)}
    measures = {measure.name: measure for measure in result.measures}
    return ScoredRun(
        run=score.name,
        questions=len(result.key.questions),
        unanswered=int((~outcome.answered).sum()),
        measures={
            name: None if interval is None else Interval.of(interval, measures[name])
            for name, interval in scores.items()
        },
        pairs=Pairs(known=outcome.pairs_known, guessed=outcome.pairs_guessed),
        per_question=list(_questions(result, score)),
        nuggets=list(_nuggets(result, score)),
        groups=list(_scored_groups(result, score)) if result.key.groups else UNSET,
    )


def _measures(score: RunScore) -> list[str]:
    """The default measures (null if not requested or not applicable) and all other requested measures."""
    return list(dict.fromkeys([*(measure.name for measure in DEFAULT), *score.measures]))


def _questions(result: Scores, score: RunScore) -> Iterator[AnswerScores]:
    by_question, forbidden = score.by_question, bool(result.key.forbidden.any())
    for i, question in enumerate(result.key.questions):
        vital, okay = result.found_of_total(score, i)
        yield AnswerScores(
            qid=question.qid,
            measures={name: by_question[name][i] if name in by_question else None for name in _measures(score)},
            hard={name: values[i] for name, values in score.hard_by_question.items()},
            answered=bool(score.outcome.answered[i]),
            length=int(score.outcome.length[i]),
            vital=vital,
            okay=okay,
            forbidden=list(_claimed(result, score, i)) if forbidden else UNSET,
        )


def _nuggets(result: Scores, score: RunScore) -> Iterator[ScoredNugget]:
    outcome = score.outcome
    says_partly = bool(outcome.partial.any())
    # If nothing is guessed, no threshold matters.
    thresholds = result.threshold if outcome.pairs_guessed else np.full(len(outcome.found), np.nan)
    columns = (outcome.found, outcome.known, score.rank, outcome.probability, outcome.best, thresholds)
    for i, (nugget, found, known, rank, probability, best, threshold) in enumerate(
        zip(result.key.nuggets, *columns, strict=True)
    ):
        yield ScoredNugget(
            qid=nugget.qid,
            nugget=nugget.nugget,
            found=bool(found),
            probability=probability,
            partial=float(outcome.partial[i]) if says_partly else UNSET,
            source="known" if known else "guessed",
            contradicted=True if i in outcome.contradicted else UNSET,
            rank=int(rank) or None,
            score=best,
            threshold=threshold,
        )


def _scored_groups(result: Scores, score: RunScore) -> Iterator[ScoredGroup]:
    """The groups that are in no other group."""
    outcome = score.counted
    for group, at in _groups(result):
        yield ScoredGroup(
            qid=group.qid,
            group=group.nugget,
            found=bool(outcome.found[at]),
            probability=outcome.probability[at],
            source="known" if outcome.known[at] else "guessed",
        )


def _groups(result: Scores) -> Iterator[tuple[Nugget, int]]:
    """Each outermost group, with its carrier's position."""
    for at in result.key.grouping.inside:
        if group := result.key.grouping.counted[at[0]]:
            yield group, int(at[0])


def draw(out: Console, result: Scores) -> None:
    """One line for each run."""
    first, *others = _shown(result)
    columns = left("run") + right(first.title) + fixed("95 % interval") + right("guesses")
    sheet = table("", columns + right(*(measure.title for measure in others), "known"))
    for score in result.runs:
        headline, known = score.measures[first.name], score.outcome.pairs_known
        values = [between(headline), judging_share(headline)]
        values += [number(score.measures[measure.name].value) for measure in others]
        values += [percent(known, known + score.outcome.pairs_guessed)]
        sheet.add_row(plain(score.name, "bold"), Text(number(headline.value), "bold"), *values)
    out.print(sheet)
    paragraphs(out, remarks(result))


def _shown(result: Scores) -> list[Measure]:
    """The measures that get a column. Macro F gets one only if it was requested, because it is almost always close to
    the pyramid F (Dang & Lin 2007, table 1)."""
    chosen = list(result.measures)
    usual = {measure.name for measure in chosen} <= {measure.name for measure in DEFAULT}
    return [m for m in chosen if not (usual and m.name == "macro_f3")] or chosen


def remarks(result: Scores) -> list[str]:
    """The notes below the table."""
    lines = list(result.notes)
    guessed = sum(score.outcome.pairs_guessed for score in result.runs)
    drawn = any(score.outcome.drawn is not None for score in result.runs)
    whose = f"a verdict of a human or of {listed(list(result.as_truth))}" if result.as_truth else "a human verdict"
    known = f"known: the share of (response, nugget) pairs with {whose}"
    if guessed and drawn:
        lines.append(
            f"{known}. The others are guessed, and each guess counts with its probability. guesses: the width from "
            "guesses alone, as a share of the whole interval; reading makes it smaller."
        )
    elif guessed and all(score.outcome.known.all() for score in result.runs):
        lines.append(f"{known}. The other pairs change no score: every nugget of every answer is settled.")
    elif guessed:
        lines.append(
            f"{known}. The other pairs are guessed, by match score and threshold. The interval covers the choice of "
            "questions. It does not cover wrong guesses."
        )
    if any(lacks_interval(score.measures[result.measures[0].name]) for score in result.runs):
        lines.append(no_interval())
    undefined = np.isnan(result.runs[0].by_question[result.measures[0].name]) if result.runs else np.zeros(0)
    if undefined.any():
        qids = listed([q.qid for q, missing in zip(result.key.questions, undefined, strict=True) if missing])
        lines.append(f"{result.measures[0].title} is undefined for {qids}, which the mean leaves out.")
    for score in result.runs:
        if opposed := [result.key.nuggets[i] for i in sorted(score.outcome.contradicted)]:
            names = listed([f"{nugget.qid}/{nugget.nugget}" for nugget in opposed])
            lines.append(f"{score.name} says the opposite of {counted(len(opposed), 'nugget')}, by verdicts: {names}.")
        silent = [
            q.qid for q, answered in zip(result.key.questions, score.outcome.answered, strict=True) if not answered
        ]
        if silent:
            lines.append(f"{score.name} does not answer {listed(silent)}, and scores 0 there.")
    return lines


def draw_questions(out: Console, result: Scores, score: RunScore) -> None:
    """One line for each question."""
    shown = _shown(result)
    kinds = {"vital": result.key.vital, "okay": result.key.okay}
    kinds |= {"forbidden": result.key.forbidden} if result.key.forbidden.any() else {}
    sheet = table(f"{score.name}, by question", left("qid") + right(*(m.title for m in shown), "length", *kinds))
    for i, question in enumerate(result.key.questions):
        values = [number(float(score.by_question[m.name][i])) for m in shown]
        length = str(score.outcome.length[i]) if score.outcome.answered[i] else "empty"
        own = np.arange(result.key.offsets[i], result.key.offsets[i + 1])
        sheet.add_row(question.qid, *values, length, *(_counted(score, own[which[own]]) for which in kinds.values()))
    paragraph(out, sheet)


def _claimed(result: Scores, score: RunScore, question: int) -> tuple[int, int]:
    """How many of a question's forbidden nuggets the answer claims, of how many."""
    own = result.key.own(question)
    forbidden = result.key.forbidden[own]
    return int((score.counted.found[own] & forbidden).sum()), int(forbidden.sum())


def _counted(score: RunScore, which: Ints) -> str:
    """How many of some nuggets the answer has, of how many. If some are guessed, the expected number."""
    return f"{expected_count(score.counted, which)}/{len(which)}"


def draw_nuggets(out: Console, result: Scores, score: RunScore) -> None:
    """One line for each nugget: whether it was found, whether that is known, and where."""
    columns = left("qid", "#") + fixed("", "found") + right("", "rank", "match") + wrap("description")
    sheet = table(f"{score.name}, by nugget", columns)
    outcome = score.outcome

    def add(nugget: Nugget, found: Text, known: bool, probability: float, *place: str) -> None:
        sure = Text("known") if known else Text(chance(probability), "italic yellow")
        sheet.add_row(nugget.qid, nugget.nugget, nugget.importance, found, sure, *place, nugget.descriptions[0])

    for i, nugget in enumerate(result.key.nuggets):
        style = "bold red" if nugget.importance == "forbidden" else "bold green"
        no = Text("opposite", "bold red") if i in outcome.contradicted else Text("no")
        found, place = Text("yes", style) if outcome.found[i] else no, str(score.rank[i] or "")
        add(nugget, found, outcome.known[i], outcome.probability[i], place, number(float(outcome.best[i]), 2))
    for group, at in _groups(result):
        found = Text("yes", "bold") if score.counted.found[at] else Text("no")
        add(group, found, score.counted.known[at], score.counted.probability[at], "", "")
    paragraph(out, sheet)


def key_size(key: AnswerKey) -> str:
    return f"{len(key.questions)} questions, {len(key.nuggets)} nuggets"


def draw_recorded(out: Console, done: Sequence[RecordedRun], file: str) -> None:
    """The builds that were recorded now, and those that were already recorded."""
    out.print()
    for recorded in done:
        if recorded.new and recorded.copies:
            before = counted(recorded.copies, "build")
            what = f"recorded as a new build, although {before} before it had the same responses"
        elif recorded.new:
            what = "recorded"
        else:
            what = "already recorded, with the same label, responses and signature; "
            what += f"{', '.join(recorded.added)} added; " if recorded.added else ""
            what += "if this is a new build, give it another --label"
        say(out, f"{recorded.run}: {what}")
    say_whole(out, f"The builds are in {file}; nuggeteer history shows their trend.")


def leaderboard(result: Scores, table: bool) -> tuple[bytes, int]:
    """Scores as lines of other programs: `run TAB question TAB measure TAB value`, as ir_measures and TREC Auto-Judge
    read them, or a `table` (CSV) with these columns. `all` stands for the mean over questions. Also, how many values
    are undefined and left out."""
    from nuggeteer.formats.objects import as_table

    rows = list(_rows(result))
    defined = [row for row in rows if not isnan(row[3])]
    if table:
        cells = [dict(zip(COLUMNS, (*names, repr(value)), strict=True)) for *names, value in defined]
        return as_table(cells, ","), len(rows) - len(defined)
    names = {name for run, qid, _, _ in defined for name in (run, qid)}
    if blank := next((name for name in sorted(names) if len(name.split()) != 1), None):
        raise NuggeteerError(f"{blank!r} has blanks, and cannot stand in such a line; write a table: name a file *.csv")
    lines = "".join(f"{run}\t{qid}\t{measure}\t{value!r}\n" for run, qid, measure, value in defined)
    return lines.encode(), len(rows) - len(defined)


def _rows(result: Scores) -> Iterator[tuple[str, str, str, float]]:
    for score in result.runs:
        for name, interval in score.measures.items():
            for question, value in zip(result.key.questions, score.by_question.get(name, ()), strict=False):
                yield score.name, question.qid, name, float(value)
            yield score.name, ALL, name, float("nan") if interval.value is None else float(interval.value)


class AuditedScore(Estimate, kw_only=True):
    """What an audit proves about a score."""

    expected: Annotated[Estimate | None, about("What the guesses said when the audit was drawn.")]
    disagrees: Annotated[bool | None, about("Whether `expected` and the audited interval have nothing in common.")]


class Audited(Part):
    """What an audit's verdicts prove."""

    audit: str
    at: str
    measure: str
    seed: int
    planned: Count
    judged: Annotated[Count, about("How many of the planned units count; they are the first ones.")]
    waiting: Annotated[Count, about("Nuggets that are settled but come after one that is not.")]
    nuggets: Annotated[Count, about("How many nuggets could be drawn.")]
    by: str
    scores: Annotated[
        Mapping[str, AuditedScore | None], about("null for a measure about which the audit says nothing.")
    ]


def audited(result: AuditResult) -> Audited:
    return copied(
        Audited,
        result,
        **{name: getattr(result.head, name) for name in ("audit", "at", "measure", "seed", "by")},
        scores={name: found and _score(found) for name, found in result.measures.items()},
    )


def _score(found: AuditedMeasure) -> AuditedScore:
    expected = found.expected and Estimate(**dict(zip(("value", "low", "high"), found.expected, strict=True)))
    return copied(AuditedScore, found, expected=expected)


def draw_audits(out: Console, results: Sequence[AuditResult]) -> None:
    """One line for each run and measure, and notes."""
    columns = left("run", "measure") + right("audited") + fixed("95 % interval")
    columns += right("by guesses") + fixed("judging") + right("judged")
    sheet = table("Audited: scores that hold however wrong the guesses are", columns)
    for result in results:
        run, judged = result.head.run, f"{result.judged}/{max(result.planned, result.judged)}"
        for audited in filter(None, result.measures.values()):
            row = [audited.measure.title, number(audited.value), span(audited.low, audited.high)]
            row += [number(audited.expected[0]) if audited.expected else UNDEFINED]
            row += [span(*audited.expected[1:]) if audited.expected else UNDEFINED]
            sheet.add_row(plain(run, "bold"), *row, judged)
            run = judged = ""
    paragraph(out, sheet)
    paragraphs(out, _remarks(results))


def _remarks(results: Sequence[AuditResult]) -> list[str]:
    lines = [
        "audited: the score that verdicts on everything in these questions would give. The interval holds it 95 % of "
        "the time, whenever you stop; it does not cover the choice of questions. by guesses, judging: the score and "
        "the judging part of its interval when the audit was drawn."
    ]
    for result in results:
        run = result.head.run
        wrong = [
            audited.measure.title for audited in result.measures.values() if audited is not None and audited.disagrees
        ]
        if wrong:
            lines.append(
                f"The guesses disagree with the audit of {run} on {', '.join(wrong)}: the intervals do not "
                "overlap. Trust the audit, and judge more before you trust the guesses."
            )
        if result.judged < result.planned:
            missing = result.planned - result.judged
            after = f" ({result.waiting} are judged already, but count only once those before them are)" * bool(
                result.waiting
            )
            lines.append(
                f"In {run}'s audit, {missing} of {result.planned} {result.head.by}s are not judged{after}. The "
                f"interval rests on the others. Go on with nuggeteer judge {run} --audit {result.head.planned}."
            )
        silent = [name for name, audited in result.measures.items() if audited is None]
        if silent:
            lines.append(
                f"The audit of {run} says nothing about {', '.join(silent)}: it was drawn for {result.head.measure}, "
                "and some nuggets that count there could not be drawn."
            )
    return lines
