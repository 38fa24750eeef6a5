"""Nuggets in rows: CSV, TSV, JSON or JSON Lines, of anybody's making.

    qid or question, text (fact, criterion, claim; nugget where there is no text), nugget?, importance?, weight?

Several rows with the same id are the descriptions of one nugget. Without ids, nuggets are numbered within their
question; a question without an id is found by its text (`dataset`). An importance is `vital`, `okay` or `forbidden`;
without one, and where it says something else, a nugget is vital or `unrated`. Other columns are kept under `as_found`
and counted.

A key is written with a row for each description. These are not written: votes and tags, and what else is in extra keys
but for what was kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nuggeteer.fields import WrongField, weight
from nuggeteer.formats.bundle import Bundle, as_id, kept
from nuggeteer.formats.dataset import Dataset, rest_of, roles_of, text_of
from nuggeteer.formats.objects import Opening, open_file, read_objects
from nuggeteer.records import Importance, Nugget, Question

TEXTS = ("text", "nugget_text", "fact", "criterion", "claim", "statement", "description")
IMPORTANCES: tuple[Importance, ...] = ("vital", "okay", "forbidden")


def recognises(opening: Opening) -> bool:
    """Whether its rows have a question and a nugget, and no answer."""
    columns = _columns(opening.columns or list(opening.keys))
    roles = roles_of(opening.columns or opening.keys)
    return "text" in columns and ("qid" in roles or "question" in roles) and not {"answer", "reference"} & set(roles)


def _columns(keys: list[str]) -> dict[str, str]:
    """The column of the text, of the id, of the importance and of the weight."""
    by_form = {key.strip().casefold().replace(" ", "_"): key for key in keys}
    found: dict[str, str] = {name: by_form[name] for name in ("importance", "weight") if name in by_form}
    text = next((name for name in TEXTS if name in by_form), "nugget")
    ids = [name for name in ("nugget", "nugget_id", "fact_id") if name in by_form and name != text]
    if text not in by_form or (text == "text" and not ids and "importance" not in found):
        return found
    return found | {"text": by_form[text]} | ({"id": by_form[ids[0]]} if ids else {})


def read_nuggets(path: Path, present_records: Bundle | None = None, run: str | None = None) -> Bundle:
    """Read rows of nuggets."""
    bundle = Bundle()
    rows = list(read_objects(path, bundle))
    keys = open_file(path).columns or list(dict.fromkeys(key for _, row, _ in rows for key in row))
    roles, columns = roles_of(keys), _columns(keys)
    data = Dataset(path, bundle, present_records or Bundle())
    found: dict[tuple[str, str], tuple[list[str], dict[str, Any]]] = {}
    for number, row, raw in rows:
        qid = data.question(text_of(row.get(roles.get("question", ""))) or "", row.get(roles.get("qid", "")))
        text = text_of(row.get(columns.get("text", "")))
        name = as_id(row[columns["id"]]) if row.get(columns.get("id", "")) is not None else f"\n{number}"
        try:
            about = _about(row, columns)
        except WrongField as wrong:
            bundle.not_understood(path, number, raw, f"the weight {wrong.args[0]}")
            continue
        if qid is None or name is None or text is None or not text.strip():
            bundle.not_understood(path, number, raw, "no question, no valid id, or no text of a nugget")
            continue
        used = [*columns.values(), *(roles[role] for role in ("qid", "question") if role in roles)]
        texts, _ = found.setdefault((qid, name), ([], {**about, **rest_of(row, used, bundle)}))
        texts.append(text)
    for (qid, name), (texts, about) in found.items():
        data.fact(qid, texts, name=None if name.startswith("\n") else name, **about)
    return data.finish()


def _about(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    """The importance and the weight of a row's nugget."""
    value, points = row.get(columns.get("importance", "")), row.get(columns.get("weight", ""))
    if isinstance(points, str):
        try:
            points = float(points)
        except ValueError as error:
            raise WrongField(f"is {points!r:.60}, not a number", "write a number") from error
    points = None if points is None else weight(points)
    word = value.strip().casefold() if isinstance(value, str) else value
    importance: Importance = "vital" if word is None else "unrated"
    for known in IMPORTANCES:
        importance = known if word == known else importance
    if points is not None and points < 0:
        importance = "forbidden"
    elif importance == "forbidden":
        points = -1.0 if points is None else points
        if points >= 0:
            raise WrongField(f"is {points:g}, and the nugget is forbidden", "write a negative one")
    extra = {} if importance != "unrated" else {"importance_as_found": value}
    return {"importance": importance, "weight": points, **extra}


def nugget_rows(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """A key as rows."""
    for nugget in bundle.nuggets:
        question = bundle.question(nugget.qid)
        for text in nugget.descriptions:
            yield _row(question, nugget, text) | kept(nugget, "as_found")


def _row(question: Question, nugget: Nugget, text: str) -> dict[str, Any]:
    row = {"qid": nugget.qid, "question": question.text, "nugget": nugget.nugget, "text": text}
    row["importance"] = nugget.extra.get("importance_as_found", nugget.importance)
    return row | ({} if nugget.weight is None else {"weight": nugget.weight})
