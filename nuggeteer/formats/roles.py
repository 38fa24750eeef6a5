"""Which key of a foreign object, or which column of a table, is the question, the answer and so on.

The names are those of RAGAS (both its old and its new ones), DeepEval, promptfoo's variables and common spreadsheets.
Case, `_`, `-` and blanks do not matter. `answer` is the reference where another name is the answer's and none is the
reference's: in many data sets it is the right answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nuggeteer.errors import NuggeteerError, did_you_mean

NAMES: Mapping[str, tuple[str, ...]] = {
    "qid": ("qid", "questionid", "queryid", "topicid", "narrativeid", "sampleid"),
    "row": ("id",),  # an id of the question only if each question has one
    "question": ("question", "userinput", "input", "query", "prompt", "instruction", "userquery", "topic"),
    "answer": (
        *("response", "actualoutput", "output", "generatedanswer", "modelanswer", "systemanswer", "prediction"),
        *("generatedtext", "completion", "modeloutput", "llmanswer", "answer"),
    ),
    "reference": (
        *("reference", "groundtruth", "groundtruths", "expectedoutput", "expected", "referenceanswer", "goldanswer"),
        *("goldenanswer", "idealanswer", "correctanswer", "target", "targets", "gold", "ideal"),
    ),
    "run": ("run", "runid", "system", "systemid", "model", "provider"),
    "nugget": ("nugget", "nuggettext", "fact", "criterion", "claim", "statement"),
    "nugget_id": ("nuggetid", "factid"),
    "docid": ("docid", "documentid"),
}
_BREAKS = re.compile(r"[\s_-]+")


def roles_of(keys: Iterable[str], chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """The key of each role among these keys. `chosen` are those that the user names."""
    by_form: dict[str, str] = {}
    for key in keys:
        by_form.setdefault(_BREAKS.sub("", key).casefold(), key)
    found = {
        role: by_form[first]
        for role, names in NAMES.items()
        if (first := next((name for name in names if name in by_form), None)) is not None
    }
    other = by_form.get("answer")
    if "reference" not in found and other is not None and found["answer"] != other:
        found["reference"] = other
    if chosen:
        found = {role: key for role, key in found.items() if key not in chosen.values()} | dict(chosen)
    return found


def choose(columns: Sequence[str]) -> dict[str, str]:
    """The roles that the user gives to columns: `role=column`."""
    chosen = dict(column.split("=", 1) for column in columns if "=" in column)
    for column in columns:
        if "=" not in column:
            raise NuggeteerError(f"columns: {column!r} is not ROLE=NAME, such as answer=reply")
    for role in chosen:
        if role not in NAMES or role == "row":
            roles = [role for role in NAMES if role != "row"]
            raise NuggeteerError(f"columns: {did_you_mean(role, roles)}{role!r} is none of {', '.join(roles)}")
    return chosen


def present(row: Mapping[str, Any], roles: Mapping[str, str], role: str) -> Any:
    """What an object has in this role; None if nothing."""
    return row.get(roles[role]) if role in roles else None
