"""What annotators said in Label Studio and Argilla."""

from __future__ import annotations

import csv
import json

import pytest

from nuggeteer.collection.convert import convert_into, convert_out
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import copy_sample
from nuggeteer.formats.bundle import read_bundle
from nuggeteer.formats.labelled import read_argilla, read_label_studio, recognises_argilla, recognises_label_studio
from nuggeteer.formats.objects import open_file

AT = "2026-11-19T05:00:00Z"


def choice(value, name="present"):
    return {"id": "x", "from_name": name, "to_name": "answer", "type": "choices", "value": {"choices": [value]}}


def task(number, answer, *annotations, nugget="It is Paris."):
    shown = {"qid": "q7", "question": "Which?", "answer": answer, "nugget": nugget, "run": "bot"}
    made = [
        {"id": 9, "completed_by": by, "created_at": AT, "was_cancelled": skipped, "result": results}
        for by, skipped, results in annotations
    ]
    return {"id": number, "data": shown, "annotations": made, "predictions": [{}] if number == 1 else []}


TASKS = [
    task(
        1,
        "Paris.",
        (3, False, [choice("Yes"), choice("good", "style")]),
        ({"id": 4, "email": "b@x"}, False, [choice("no")]),
    ),
    task(2, "Paris.", (3, False, [choice("partial_support")]), nugget="It is on the Seine."),
    task(3, "Lyon.", (3, True, [choice("no")]), (None, False, [choice("Not supported")])),
]


def verdicts(bundle):
    return [(j.qid, j.nugget, j.text, j.verdict, j.partial, j.assessor, j.at) for j in bundle.judgements]


def test_label_studio(tmp_path):
    path = tmp_path / "export.json"
    path.write_text(json.dumps(TASKS, indent=1))
    assert recognises_label_studio(open_file(path))
    bundle = read_label_studio(path)
    assert [n.descriptions for n in bundle.nuggets] == [("It is Paris.",), ("It is on the Seine.",)]
    assert {run: [r.text for r in some] for run, some in bundle.responses.items()} == {
        "bot": ["Paris."],
        "bot-2": ["Lyon."],
    }
    assert all(j.run == {"Paris.": "bot", "Lyon.": "bot-2"}[j.text] for j in bundle.judgements)
    assert verdicts(bundle) == [
        ("q7", "1", "Paris.", True, False, "annotator-3", AT),
        ("q7", "1", "Paris.", False, False, "b@x", AT),
        ("q7", "2", "Paris.", False, True, "annotator-3", AT),
        ("q7", "1", "Lyon.", False, False, "annotator", AT),
    ]
    assert not any(j.machine for j in bundle.judgements)
    assert {what: count for what, count in bundle.left_out.items() if count} == {
        "predictions": 1,
        "labels of style": 1,
        "skipped annotations": 1,
    }


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_the_short_export_of_label_studio(tmp_path, ending):
    row = {
        "id": 1,
        "question": "Which?",
        "answer": "Paris.",
        "nugget": "It is Paris.",
        "present": "Yes",
        "note": "clear",
        "annotator": 3,
        "annotation_id": 9,
        "created_at": AT,
        "updated_at": AT,
        "lead_time": 3.5,
    }
    path = tmp_path / f"export.{ending}"
    if ending == "json":
        path.write_text(json.dumps([row | {"present": {"choices": ["Yes"]}}]))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerow(row)
    assert recognises_label_studio(open_file(path))
    bundle = read_label_studio(path)
    assert verdicts(bundle) == [("q1", "1", "Paris.", True, False, "annotator-3", AT)]
    assert bundle.left_out["labels of note"] == 1


# As argilla 2.8's `records.to_list()` and `to_list(flatten=True)` give them.
SHOWN = {"question": "Which?", "answer": "Paris.", "nugget": "It is Paris."}
NESTED = {
    "id": "a1",
    "fields": SHOWN,
    "metadata": {"qid": "q7"},
    "suggestions": {"present": {"value": "yes", "score": 0.9, "agent": "gpt"}},
    "responses": {
        "present": [{"value": "yes", "user_id": "u-1"}, {"value": "no", "user_id": "u-2"}],
        "comment": [{"value": "well", "user_id": "u-1"}],
    },
    "vectors": {},
    "status": "pending",
}
FLAT = {
    "id": "a1",
    "status": "pending",
    "_server_id": None,
    **SHOWN,
    "qid": "q7",
    "present.responses": ["yes", "no", "no"],
    "present.responses.users": ["u-1", "u-2", "u-3"],
    "present.responses.status": ["submitted", "submitted", "discarded"],
    "comment.responses": ["well"],
    "comment.responses.users": ["u-1"],
    "comment.responses.status": [None],
    "present.suggestion": "yes",
    "present.suggestion.score": 0.9,
    "present.suggestion.agent": "gpt",
}


@pytest.mark.parametrize("record", [NESTED, FLAT], ids=["nested", "flat"])
def test_argilla(tmp_path, record):
    path = tmp_path / "records.json"
    path.write_text(json.dumps([record]))
    assert recognises_argilla(open_file(path))
    bundle = read_argilla(path, run="bot")
    assert verdicts(bundle) == [
        ("q7", "1", "Paris.", True, False, "u-1", None),
        ("q7", "1", "Paris.", False, False, "u-2", None),
    ]
    assert bundle.left_out["suggestions"] == bundle.left_out["labels of comment"] == 1
    assert bundle.left_out["drafted or discarded responses"] == (record is FLAT)
    assert bundle.unused["responses without a status (draft or not)"] == (3 if record is NESTED else 0)


def test_what_is_judged_in_label_studio_comes_back_into_the_collection(tmp_path):
    """The collection's own run is left as it is, and the verdicts are on its whole answers."""
    copy_sample(tmp_path / "c")
    written = convert_out("label-studio", tmp_path / "c", tmp_path / "tasks.json", "aurora")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    sample = read_bundle(tmp_path / "c")
    assert written == len(tasks) == len(sample.nuggets)
    for number, one in enumerate(tasks):
        one["annotations"] = [{"completed_by": 1, "result": [choice("yes" if number % 2 else "no", "verdict")]}]
    (tmp_path / "done.json").write_text(json.dumps(tasks))
    (done,) = convert_into("label-studio", [tmp_path / "done.json"], tmp_path / "c")
    assert [path.name for path in done.written] == ["label-studio-done.jsonl"]
    again = read_bundle(tmp_path / "c")
    assert (again.responses, again.nuggets, again.questions) == (sample.responses, sample.nuggets, sample.questions)
    made = {(j.qid, j.nugget): j for j in again.judgements if j.assessor == "annotator-1"}
    assert len(made) == len(tasks)
    for number, one in enumerate(tasks):
        judgement = made[one["data"]["qid"], one["data"]["nugget_id"]]
        several = "\n" in judgement.text
        assert (judgement.verdict, judgement.scope) == (number % 2 == 1, "answer" if several else "response")
    read_collection(tmp_path / "c")


def test_without_nuggets_labels_are_left_out_and_answers_are_kept(tmp_path):
    path = tmp_path / "export.json"
    plain = task(1, "Paris.", (3, False, [choice("yes")]))
    del plain["data"]["nugget"]
    path.write_text(json.dumps([plain, {"data": {"image": "x.jpg"}, "annotations": []}]))
    bundle = read_label_studio(path)
    assert not bundle.judgements
    assert not bundle.nuggets
    assert bundle.left_out["labels of present"] == 1
    assert len(bundle.garbled) == 1


def test_of_several_labels_that_say_yes_or_no_it_is_the_one_called_verdict(tmp_path):
    path = tmp_path / "export.json"
    both = task(1, "Paris.", (3, False, [choice("yes", "polite"), choice("no", "Verdict")]))
    path.write_text(json.dumps([both]))
    assert [j.verdict for j in read_label_studio(path).judgements] == [False]
    both["annotations"][0]["result"][1]["from_name"] = "correct"
    path.write_text(json.dumps([both]))
    bundle = read_label_studio(path)
    assert not bundle.judgements
    assert bundle.left_out["labels of polite"] == bundle.left_out["labels of correct"] == 1
