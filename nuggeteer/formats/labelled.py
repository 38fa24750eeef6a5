"""What annotators said in Label Studio or Argilla, exported as JSON, JSON Lines or CSV.

    Label Studio   {"id", "data": {FIELD: ...}, "annotations": [{"completed_by", "created_at", "was_cancelled",
                    "result": [{"from_name": LABEL, "type": "choices", "value": {"choices": ["yes"]}}]}]}
    JSON_MIN, CSV  {"id", FIELD: ..., LABEL: "yes", "annotator", "annotation_id", "created_at"}
    Argilla        {"id", "fields": {FIELD: ...}, "responses": {LABEL: [{"value": "yes", "user_id"}]}, "suggestions"}

The fields have the question and the answer (`dataset`). Where they also have a nugget, a label that says yes or no
(`VERDICTS`) is a person's verdict on the nugget in that answer. If several labels do, it is the one called `verdict`.
Annotators without a name are called `annotator-7`. All other labels (other choices, spans, ratings, texts), suggestions
and predictions of models, and annotations that were skipped, drafted or discarded are left out and counted. Argilla's
`to_json` does not say which responses are drafts, so they count; `to_list(flatten=True)` does.

A run is written as tasks for Label Studio, one for each nugget of each answer: {"data": {"qid", "question",
"nugget_id", "nugget", "answer", "run"}}. What annotators choose there comes back as verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nuggeteer.fields import moment
from nuggeteer.formats.bundle import BETWEEN, Bundle, as_id, by_question
from nuggeteer.formats.dataset import Dataset, present, rest_of, roles_of, text_of
from nuggeteer.formats.jsonl import bare_name
from nuggeteer.formats.objects import Opening, read_objects
from nuggeteer.records import Judgement

# What a label says: (yes, partly).
VERDICTS: Mapping[str, tuple[bool, bool]] = {
    **dict.fromkeys(("yes", "y", "true", "1", "support", "supported", "present", "found", "satisfied"), (True, False)),
    **dict.fromkeys(("partial", "partly", "partial support", "partially supported"), (False, True)),
    **dict.fromkeys(("partially satisfied", "partially"), (False, True)),
    **dict.fromkeys(("no", "n", "false", "0", "not support", "not supported", "unsupported"), (False, False)),
    **dict.fromkeys(("absent", "missing", "not found", "not satisfied"), (False, False)),
}
CONTROL = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time", "id")
_FLAT = ("annotator", "annotation_id")


@dataclass(frozen=True)
class Label:
    """One label that one annotator gave a record."""

    name: str
    value: Any
    assessor: str
    at: str | None

    @property
    def verdict(self) -> tuple[bool, bool] | None:
        value = self.value[0] if isinstance(self.value, list) and len(self.value) == 1 else self.value
        word = str(value) if isinstance(value, str | bool | int) else ""
        return VERDICTS.get(" ".join(word.replace("_", " ").replace("-", " ").casefold().split()))


@dataclass(frozen=True)
class Record:
    """What was shown to annotators, and what they said."""

    number: int
    raw: str
    fields: Mapping[str, Any]
    labels: Sequence[Label]


def recognises_label_studio(opening: Opening) -> bool:
    """Whether it is an export of Label Studio."""
    return (opening.every("data") and (opening.every("annotations") or opening.every("completions"))) or (
        opening.every(*_FLAT) or set(_FLAT) <= set(opening.columns)
    )


def recognises_argilla(opening: Opening) -> bool:
    """Whether it has records of Argilla."""
    nested = opening.every("fields", "responses") or opening.every("fields", "suggestions")
    return nested or any(key.endswith(".responses") for key in opening.keys)


def read_label_studio(path: Path, present_records: Bundle | None = None, run: str | None = None) -> Bundle:
    """Read tasks with their annotations."""
    bundle = Bundle()
    records = []
    for number, task, raw in read_objects(path, bundle, ("data", "annotations")):
        if isinstance(task.get("data"), dict):
            records.append(Record(number, raw, task["data"], list(_annotations(task, bundle))))
        else:
            records.append(_flat_task(number, task, raw))
    return _bundle_of(path, records, bundle, present_records, run)


def read_argilla(path: Path, present_records: Bundle | None = None, run: str | None = None) -> Bundle:
    """Read records with their responses."""
    bundle = Bundle()
    records = []
    for number, record, raw in read_objects(path, bundle, ("fields", "responses")):
        if isinstance(record.get("fields"), dict):
            shown, about = record["fields"], record.get("metadata")
            fields = {**about, **shown} if isinstance(about, dict) else shown
            records.append(Record(number, raw, fields, list(_responses(record, bundle))))
        else:
            records.append(_flat_record(number, record, raw, bundle))
    return _bundle_of(path, records, bundle, present_records, run)


def _annotations(task: dict[str, Any], bundle: Bundle) -> Iterator[Label]:
    bundle.left_out["predictions"] += len(_list(task.get("predictions")))
    for one in _list(task.get("annotations", task.get("completions"))):
        if not isinstance(one, dict) or one.get("was_cancelled"):
            bundle.left_out["skipped annotations"] += 1
            continue
        by = one.get("completed_by")
        by = by.get("email") or by.get("id") if isinstance(by, dict) else by
        for result in _list(one.get("result")):
            value = result.get("value") if isinstance(result, dict) else None
            if isinstance(value, dict):
                said = value.get(str(result.get("type")), value)
                yield Label(str(result.get("from_name")), said, _assessor(by), _time(one.get("created_at")))


def _flat_task(number: int, task: dict[str, Any], raw: str) -> Record:
    fields = {key: value for key, value in task.items() if key not in CONTROL}
    used = set(roles_of(fields).values())
    by, at = _assessor(task.get("annotator")), _time(task.get("created_at"))
    labels = [
        Label(key, value.get("choices", value) if isinstance(value, dict) else value, by, at)
        for key, value in fields.items()
        if key not in used
    ]
    return Record(number, raw, {key: fields[key] for key in used}, labels)


def _responses(record: dict[str, Any], bundle: Bundle) -> Iterator[Label]:
    suggested = record.get("suggestions")
    bundle.left_out["suggestions"] += len(suggested) if isinstance(suggested, list | dict) else 0
    responses = record.get("responses")
    for name, given in responses.items() if isinstance(responses, dict) else ():
        for one in _list(given):
            if not isinstance(one, dict) or one.get("status") in ("draft", "discarded"):
                bundle.left_out["drafted or discarded responses"] += 1
            else:
                bundle.unused["responses without a status (draft or not)"] += "status" not in one
                yield Label(name, one.get("value"), _assessor(one.get("user_id")), None)


def _flat_record(number: int, record: dict[str, Any], raw: str, bundle: Bundle) -> Record:
    labels = []
    for key, given in record.items():
        if key.endswith(".responses"):
            users, states = (_list(record.get(f"{key}.{part}")) for part in ("users", "status"))
            for place, value in enumerate(_list(given)):
                if place < len(states) and states[place] in ("draft", "discarded"):
                    bundle.left_out["drafted or discarded responses"] += 1
                    continue
                by = users[place] if place < len(users) else None
                labels.append(Label(key.removesuffix(".responses"), value, _assessor(by), None))
        elif key.endswith(".suggestion") and given is not None:
            bundle.left_out["suggestions"] += 1
    fields = {
        key: value for key, value in record.items() if "." not in key and key not in ("id", "status", "_server_id")
    }
    return Record(number, raw, fields, labels)


def _bundle_of(
    path: Path, records: Sequence[Record], bundle: Bundle, present_records: Bundle | None, run: str | None
) -> Bundle:
    data = Dataset(path, bundle, present_records or Bundle())
    verdict_label = _verdict_label(records)
    runs: dict[tuple[str, str, str], str] = {}
    for record in records:
        roles = roles_of(record.fields)
        question, answer = (text_of(present(record.fields, roles, role)) for role in ("question", "answer"))
        qid = data.question(question or "", present(record.fields, roles, "qid"))
        if qid is None or answer is None:
            what = "no question, or no answer, among its fields"
            bundle.not_understood(path, record.number, record.raw, what)
            continue
        own = None if run else text_of(present(record.fields, roles, "run"))
        name = own or run or bare_name(path)
        scope, shown = data.find_answer(name, qid, answer), (name, qid, answer)
        if shown not in runs:  # the same answer stands with each of its nuggets
            rest = rest_of(record.fields, list(roles.values()), bundle)
            runs[shown] = name if scope else data.answer(name, qid, answer, None, own, **rest)
        data.reference(qid, present(record.fields, roles, "reference"))
        nugget = _nugget(data, qid, record.fields, roles)
        for label in record.labels:
            said = label.verdict
            if nugget is None or said is None or label.name != verdict_label:
                bundle.left_out[f"labels of {label.name:.40}"] += 1
                continue
            by, at, of = label.assessor, label.at, scope or "response"
            data.verdict(Judgement(qid, nugget, answer, *said, run=runs[shown], assessor=by, at=at, scope=of))
    return data.finish()


def _verdict_label(records: Sequence[Record]) -> str | None:
    """The name of the label that says yes or no, in all that was said under it."""
    names: dict[str, bool] = {}
    for record in records:
        for label in record.labels:
            names[label.name] = names.get(label.name, True) and label.verdict is not None
    found = [name for name, always in names.items() if always]
    return found[0] if len(found) == 1 else next((name for name in found if name.casefold() == "verdict"), None)


def _nugget(data: Dataset, qid: str, fields: Mapping[str, Any], roles: Mapping[str, str]) -> str | None:
    """The id of the nugget that a record shows, which is added if the key has none with its text."""
    text, name = text_of(present(fields, roles, "nugget")), as_id(present(fields, roles, "nugget_id"))
    if name is not None and data.has(qid, name):
        return name
    return data.fact(qid, [text]).nugget if text and text.strip() else None


def _assessor(value: Any) -> str:
    name = as_id(value)
    if name is None:
        return "annotator"
    return f"annotator-{name}" if name.isdigit() else name


def _time(value: Any) -> str | None:
    return value if isinstance(value, str) and moment(value) is not None else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def task_objects(bundle: Bundle, run: str) -> Iterator[dict[str, Any]]:
    """A run as tasks for Label Studio: each answer with each nugget of its question."""
    nuggets = by_question(bundle.nuggets)
    for qid, responses in by_question(bundle.responses[run]).items():
        question = bundle.question(qid).text
        answer = "\n".join(response.text for response in responses)
        for nugget in nuggets.get(qid, []):
            text = BETWEEN.join(nugget.descriptions)
            shown = {"nugget_id": nugget.nugget, "nugget": text, "answer": answer, "run": run}
            yield {"data": {"qid": qid, "question": question, **shown}}
