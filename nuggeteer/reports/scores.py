"""The scores of runs, by question and by nugget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from nuggeteer.measures import DEFAULT, Measure
from nuggeteer.records import AnswerKey, Nugget, number_or_none
from nuggeteer.reports.formatting import (
    between,
    chance,
    counted,
    judging_share,
    lacks_interval,
    listed,
    no_interval,
    number,
    percent,
)
from nuggeteer.reports.json_values import file_name, interval_as_json
from nuggeteer.reports.terminal import plain, table
from nuggeteer.scoring.scores import RunScore, Scores


def as_json(result: Scores) -> dict[str, Any]:
    return {
        "signature": result.signature,
        "notes": list(result.notes),
        "as_truth": list(result.as_truth),
        "runs": [_run_as_json(result, run) for run in result.runs],
    }


def _run_as_json(result: Scores, score: RunScore) -> dict[str, Any]:
    names = _measures(score)
    outcome = score.outcome
    return {
        "run": file_name(score.name),
        "questions": len(result.key.questions),
        "unanswered": int((~outcome.answered).sum()),
        **{name: interval_as_json(score.measures.get(name)) for name in names},
        "pairs": {"known": outcome.pairs_known, "guessed": outcome.pairs_guessed},
        "per_question": list(_questions_as_json(result, score)),
        "nuggets": list(_nuggets_as_json(result, score)),
        **({"groups": list(_groups_as_json(result, score))} if result.key.groups else {}),
    }


def _measures(score: RunScore) -> list[str]:
    """The default measures, null if they were not requested or do not apply, and all other requested measures."""
    return list(dict.fromkeys([*(measure.name for measure in DEFAULT), *score.measures]))


def _questions_as_json(result: Scores, score: RunScore) -> Any:
    for i, question in enumerate(result.key.questions):
        vital, okay = result.found_of_total(score, i)
        yield {
            "qid": question.qid,
            **{
                name: number_or_none(score.by_question[name][i]) if name in score.by_question else None
                for name in _measures(score)
            },
            "hard": {name: number_or_none(values[i]) for name, values in score.hard_by_question.items()},
            "answered": bool(score.outcome.answered[i]),
            "length": int(score.outcome.length[i]),
            "vital": vital,
            "okay": okay,
            **({"forbidden": list(_claimed(result, score, i))} if result.key.forbidden.any() else {}),
        }


def _nuggets_as_json(result: Scores, score: RunScore) -> Any:
    outcome = score.outcome
    says_partly = bool(outcome.partial.any())
    # No threshold matters where nothing is guessed.
    thresholds = result.threshold if outcome.pairs_guessed else np.full(len(outcome.found), np.nan)
    columns = (outcome.found, outcome.known, score.rank, outcome.probability, outcome.best, thresholds)
    for i, (nugget, found, known, rank, probability, best, threshold) in enumerate(
        zip(result.key.nuggets, *columns, strict=True)
    ):
        yield {
            "qid": nugget.qid,
            "nugget": nugget.nugget,
            "found": bool(found),
            "probability": number_or_none(probability),
            **({"partial": float(outcome.partial[i])} if says_partly else {}),
            "source": "known" if known else "guessed",
            **({"contradicted": True} if i in outcome.contradicted else {}),
            "rank": int(rank) or None,
            "score": number_or_none(best),
            "threshold": number_or_none(threshold),
        }


def _groups_as_json(result: Scores, score: RunScore) -> Iterator[dict[str, Any]]:
    """The groups that are in no other group."""
    outcome = score.counted
    for group, at in _groups(result):
        yield {
            "qid": group.qid,
            "group": group.nugget,
            "found": bool(outcome.found[at]),
            "probability": number_or_none(outcome.probability[at]),
            "source": "known" if outcome.known[at] else "guessed",
        }


def _groups(result: Scores) -> Iterator[tuple[Nugget, int]]:
    """Each outermost group, with its carrier's position."""
    for at in result.key.grouping.inside:
        if group := result.key.grouping.counted[at[0]]:
            yield group, int(at[0])


def draw(out: Console, result: Scores) -> None:
    """One line for each run."""
    first, *others = _shown(result)
    columns = [("run", "left"), (first.title, "right"), ("95 % interval", "fixed"), ("judging", "right")]
    columns += [(measure.title, "right") for measure in others]
    columns += [("known", "right")]
    rows: list[list[str | Text]] = []
    for score in result.runs:
        headline = score.measures[first.name]
        row: list[str | Text] = [plain(score.name, "bold"), Text(number(headline.value), "bold")]
        row += [between(headline), judging_share(headline)]
        row += [number(score.measures[measure.name].value) for measure in others]
        known = score.outcome.pairs_known
        row.append(percent(known, known + score.outcome.pairs_guessed))
        rows.append(row)
    out.print(table("", columns, rows))
    for line in remarks(result):
        out.print()
        out.print(plain(line))


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
            f"{known}. The other pairs are guessed, and a score is the mean over all that the guesses may be. "
            "judging: how wide the interval would be from the guesses alone, as a share of its width."
        )
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
    columns = [("qid", "left"), *((m.title, "right") for m in shown)]
    columns += [("length", "right"), ("vital", "right"), ("okay", "right")]
    forbids = bool(result.key.forbidden.any())
    columns += [("forbidden", "right")] if forbids else []
    rows: list[list[str | Text]] = []
    for i, question in enumerate(result.key.questions):
        vital, okay = result.found_of_total(score, i)
        values = [number(float(score.by_question[m.name][i])) for m in shown]
        length = str(score.outcome.length[i]) if score.outcome.answered[i] else "empty"
        counts = [vital, okay, _claimed(result, score, i)] if forbids else [vital, okay]
        rows.append([plain(question.qid), *values, length, *("/".join(map(str, each)) for each in counts)])
    out.print()
    out.print(table(f"{score.name}, by question", columns, rows))


def _claimed(result: Scores, score: RunScore, question: int) -> tuple[int, int]:
    """How many of a question's forbidden nuggets the answer claims, of how many."""
    own = slice(result.key.offsets[question], result.key.offsets[question + 1])
    forbidden = result.key.forbidden[own]
    return int((score.counted.found[own] & forbidden).sum()), int(forbidden.sum())


def draw_nuggets(out: Console, result: Scores, score: RunScore) -> None:
    """One line for each nugget: whether it was found, whether that is known, and where."""
    columns = [("qid", "left"), ("#", "left"), ("", "fixed"), ("found", "fixed"), ("", "right")]
    columns += [("rank", "right"), ("match", "right"), ("description", "wrap")]
    rows: list[list[str | Text]] = []
    outcome = score.outcome
    for i, nugget in enumerate(result.key.nuggets):
        found, known = bool(outcome.found[i]), bool(outcome.known[i])
        row: list[str | Text] = [plain(nugget.qid), plain(nugget.nugget), nugget.importance]
        style = "bold red" if nugget.importance == "forbidden" else "bold green"
        no = Text("opposite", "bold red") if i in outcome.contradicted else Text("no")
        row.append(Text("yes", style) if found else no)
        row.append(Text("known") if known else Text(chance(float(outcome.probability[i])), "italic yellow"))
        row += [str(score.rank[i] or ""), number(float(outcome.best[i]), 2)]
        rows.append([*row, plain(nugget.descriptions[0])])
    for group, at in _groups(result):
        found, chance_of_it = bool(score.counted.found[at]), chance(float(score.counted.probability[at]))
        row = [plain(group.qid), plain(group.nugget), group.importance, Text("yes", "bold") if found else Text("no")]
        row += [Text("known") if score.counted.known[at] else Text(chance_of_it, "italic yellow"), "", ""]
        rows.append([*row, plain(group.descriptions[0])])
    out.print()
    out.print(table(f"{score.name}, by nugget", columns, rows))


def key_size(key: AnswerKey) -> str:
    return f"{len(key.questions)} questions, {len(key.nuggets)} nuggets"
