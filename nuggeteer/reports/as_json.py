"""Results as JSON for scripts: the keys that are here stay; more may come."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from nuggeteer.errors import Problem
from nuggeteer.intervals import Interval
from nuggeteer.measures import DEFAULT
from nuggeteer.records import AnswerKey, Vector
from nuggeteer.scoring import RunScore, Scores, Thresholds

if TYPE_CHECKING:
    from nuggeteer.convert import Converted


def scores(result: Scores) -> dict[str, Any]:
    return {
        "signature": result.signature,
        "notes": list(result.notes),
        "runs": [_run(result, run) for run in result.runs],
    }


def _run(result: Scores, score: RunScore) -> dict[str, Any]:
    names = _measures(score)
    outcome = score.outcome
    return {
        "run": _named(score.name),
        "questions": len(result.key.questions),
        "unanswered": int((~outcome.answered).sum()),
        **{name: _interval(score.measures.get(name)) for name in names},
        "pairs": {"known": outcome.pairs_known, "guessed": outcome.pairs_guessed},
        "per_question": list(_questions(result.key, score)),
        "nuggets": list(_nuggets(result, score)),
    }


def _measures(score: RunScore) -> list[str]:
    """The default measures, null where they were not asked for or do not apply, and any others."""
    return list(dict.fromkeys([*(measure.name for measure in DEFAULT), *score.measures]))


def _named(file: str) -> str:
    """A file's name, with bytes in it that are no UTF-8 written out, for JSON cannot hold them."""
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {
        "value": interval.value,
        "hard": interval.hard,
        "low": interval.low,
        "high": interval.high,
        "judging": interval.judging,
        "sampling": interval.sampling,
    }


def found_of_total(key: AnswerKey, score: RunScore, question: int) -> tuple[list[int], list[int]]:
    """[found, in the key] of the vital and of the okay nuggets of a question."""
    own = slice(key.offsets[question], key.offsets[question + 1])
    found = score.outcome.found[own]
    vital, okay = key.vital[own], key.okay[own]
    return [int((found & vital).sum()), int(vital.sum())], [int((found & okay).sum()), int(okay.sum())]


def _questions(key: AnswerKey, score: RunScore) -> Any:
    for i, question in enumerate(key.questions):
        vital, okay = found_of_total(key, score, i)
        yield {
            "qid": question.qid,
            **{
                name: _number(score.by_question[name][i]) if name in score.by_question else None
                for name in _measures(score)
            },
            "hard": {name: _number(values[i]) for name, values in score.hard_by_question.items()},
            "answered": bool(score.outcome.answered[i]),
            "length": int(score.outcome.length[i]),
            "vital": vital,
            "okay": okay,
        }


def _nuggets(result: Scores, score: RunScore) -> Any:
    outcome = score.outcome
    columns = (outcome.found, outcome.known, score.rank, outcome.probability, outcome.best, result.threshold)
    for nugget, found, known, rank, probability, best, threshold in zip(result.key.nuggets, *columns, strict=True):
        yield {
            "qid": nugget.qid,
            "nugget": nugget.nugget,
            "found": bool(found),
            "probability": _number(probability),
            "source": "known" if known else "guessed",
            "rank": int(rank) or None,
            "score": _number(best),
            "threshold": _number(threshold),
        }


def _number(value: np.floating[Any] | Vector | float) -> float | None:
    number = float(value)
    return None if math.isnan(number) else number


def problems(found: list[Problem]) -> dict[str, Any]:
    return {
        "problems": [
            {
                "file": _named(p.file),
                "line": p.line,
                "severity": p.severity,
                "what": _named(p.what),
                "remedy": _named(p.remedy),
            }
            for p in found
        ]
    }


def converted(done: list[Converted]) -> dict[str, Any]:
    return {
        "files": [
            {"file": _named(str(one.source)), "written": [_named(str(p)) for p in one.written], **one.counts}
            | problems(list(one.problems))
            for one in done
        ]
    }


def thresholds(result: Thresholds) -> dict[str, Any]:
    return {
        "pairs": result.pairs,
        "positive": result.positive,
        "groups": result.groups,
        "models": [asdict(model) for model in result.models],
        "chosen": result.chosen,
    }
