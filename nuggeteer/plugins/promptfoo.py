"""An assertion for promptfoo: the nuggets of one output. A file beside its configuration imports it:

    from nuggeteer.plugins.promptfoo import get_assert

and the configuration names the file: `type: python`, `value: file://nuggets.py`, and under `config` the `collection`.
The question is found by the test's variables: one of them is a qid or the question's text.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from nuggeteer.errors import NuggeteerError
from nuggeteer.plugins.grading import Grader

SETTINGS = ("collection", "measure", "threshold")
_grader = cache(Grader)


def get_assert(output: Any, context: dict[str, Any]) -> dict[str, Any]:
    """promptfoo's grading of an output. It passes if no vital nugget is missing and none is claimed that is forbidden
    or, if `config` has a `threshold`, if its score reaches that. What cannot be scored fails, with the reason."""
    try:
        return _graded(output, context)
    except NuggeteerError as error:
        return {"pass": False, "score": 0.0, "reason": str(error)}


def _graded(output: Any, context: dict[str, Any]) -> dict[str, Any]:
    config = context.get("config") or {}
    if unknown := sorted(config.keys() - set(SETTINGS)):
        raise NuggeteerError(f"config has an unknown {unknown[0]!r}; it may have {', '.join(SETTINGS)}")
    if not isinstance(output, str):
        raise NuggeteerError("the output is not text; name the answer in it with the assertion's transform")
    threshold = config.get("threshold")
    if threshold is not None and not isinstance(threshold, int | float):
        raise NuggeteerError(f"config.threshold is {threshold!r}; write a number")
    collection = config.get("collection")
    folder = None if collection is None else Path(str(collection))
    grader = _grader(folder, config.get("measure"))
    answer = grader.grade(grader.find((context.get("vars") or {}).values()), output)
    passed = not answer.missing and not answer.claimed
    if threshold is not None:
        if answer.score is None:
            undefined = f"{answer.title} is undefined for question {answer.qid!r}"
            raise NuggeteerError(f"{undefined}, which has no nugget that this measure asks for")
        passed = answer.score >= threshold
    score = float(passed) if answer.score is None else answer.score
    named = {name: value for name, value in answer.scores.items() if value is not None}
    return {"pass": passed, "score": score, "reason": str(answer), "namedScores": named}
