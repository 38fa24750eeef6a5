"""Rubrics: weighted criteria for the answers to a question, as ResearchRubrics (Scale AI) publishes them.

    {"prompt", "sample_id", "domain", ..., "rubrics": [{"criterion", "weight": 4.0, "axis"}]}

A criterion is a nugget, with its weight in points. A negative weight says what an answer must not do; such a nugget is
`forbidden`. `title` and `category` (of older files) stand for `criterion` and `axis`. A list of rubrics may be a string
of JSON, as in a table. The axis becomes a tag, and a criterion without a weight has none. An okay nugget is written
with `"importance": "okay"`. The other keys are kept under `as_found`. A line is kept aside if it has no sample_id, no
prompt, or a criterion without a text or with a weight that is no number.

What rubrics' own results hold (`rubric_title`, `verdict`) are verdicts without the answers that they are about; they
cannot be converted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from nuggeteer.fields import WrongField, weight
from nuggeteer.formats.bundle import BETWEEN, Bundle, as_id, kept
from nuggeteer.formats.jsonl import parsed
from nuggeteer.formats.objects import Opening, read_objects
from nuggeteer.records import Nugget, Question

_AS_FOUND = "as_found"
TEXTS, AXES = ("criterion", "title", "description"), ("axis", "category")


def recognises(opening: Opening) -> bool:
    """Whether it has rubrics."""
    rows = opening.objects
    return bool(rows) and all(_listed(row.get("rubrics")) is not None and "prompt" in row for row in rows)


def read_rubrics(path: Path) -> Bundle:
    """Read questions with their criteria."""
    bundle = Bundle()
    for number, line, raw in read_objects(path, bundle, ("sample_id", "prompt", "rubrics")):
        name = next((key for key in ("sample_id", "task_name", "id", "qid") if key in line), "sample_id")
        qid, listed, prompt = as_id(line.get(name)), _listed(line.pop("rubrics", None)), line.get("prompt")
        if qid is None or not listed or not isinstance(prompt, str):
            bundle.not_understood(path, number, raw, "no sample_id, no prompt, or no list of rubrics")
            continue
        if qid in bundle.questions:
            bundle.not_understood(path, number, raw, f"{qid} occurs a second time")
            continue
        rest = {key: value for key, value in line.items() if key not in (name, "prompt")}
        bundle.unused.update(rest.keys())
        bundle.add_question(Question(qid, prompt, kind="rubric", extra={_AS_FOUND: rest} if rest else {}))
        for place, criterion in enumerate(listed, 1):
            try:
                bundle.nuggets.append(_nugget(qid, str(place), criterion))
            except WrongField as wrong:
                what = f"criterion {place} of {qid} {wrong.args[0]}"
                bundle.not_understood(path, number, orjson.dumps(criterion).decode(), what)
    return bundle


def _listed(value: Any) -> list[dict[str, Any]] | None:
    if isinstance(value, str):
        try:
            value = parsed(value.encode())
        except orjson.JSONDecodeError:
            return None
    good = isinstance(value, list) and all(isinstance(one, dict) for one in value)
    return value if good else None


def _nugget(qid: str, name: str, criterion: dict[str, Any]) -> Nugget:
    where = next((key for key in TEXTS if isinstance(criterion.get(key), str) and criterion[key].strip()), None)
    if where is None:
        raise WrongField("has no text", "write it")
    points = None if criterion.get("weight") is None else weight(criterion["weight"])
    axis = next((key for key in AXES if isinstance(criterion.get(key), str) and criterion[key].strip()), "")
    okay = criterion.get("importance") == "okay"
    rest = {key: value for key, value in criterion.items() if key not in (where, axis, "weight")}
    rest |= {} if where == TEXTS[0] else {"text_in": where}
    rest |= {} if axis in (AXES[0], "") else {"axis_in": axis}
    return Nugget(
        qid,
        name,
        (criterion[where],),
        "forbidden" if points is not None and points < 0 else "okay" if okay else "vital",
        points,
        tags=(criterion[axis],) if axis else (),
        extra={_AS_FOUND: rest} if rest else {},
    )


def rubric_objects(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """Questions with their nuggets as criteria, one object for each question."""
    for qid, nuggets in bundle.nuggets_by_question().items():
        question = bundle.question(qid)
        head = {"prompt": question.text, "sample_id": qid}
        yield {**head, **kept(question, _AS_FOUND), "rubrics": list(map(_criterion, nuggets))}


def _criterion(nugget: Nugget) -> dict[str, Any]:
    rest = dict(kept(nugget, _AS_FOUND))
    text, axis = str(rest.pop("text_in", TEXTS[0])), str(rest.pop("axis_in", AXES[0]))
    found: dict[str, Any] = {text: BETWEEN.join(nugget.descriptions)}
    found["weight"] = float(nugget.importance == "vital") if nugget.weight is None else nugget.weight
    found |= {"importance": "okay"} if nugget.importance == "okay" else {}
    return found | ({axis: nugget.tags[0]} if nugget.tags else {}) | rest
