"""promptfoo's results: assertions that an answer says something are nuggets, their results verdicts."""

from __future__ import annotations

import copy
import json

import pytest

from nuggeteer.collection.convert import convert_into
from nuggeteer.collection.folder import read_collection
from nuggeteer.formats.objects import open_file
from nuggeteer.formats.promptfoo import read_results, recognises
from nuggeteer.scoring.scorer import score


def judged(kind, value, passed, **more):
    return {"pass": passed, "score": float(passed), "reason": "?", "assertion": {"type": kind, "value": value, **more}}


# As promptfoo 0.121 writes it, with some keys left out.
RESULT = {
    "cost": 0,
    "gradingResult": {
        "pass": True,
        "componentResults": [
            judged("contains", "1851", True, metric="year"),
            {"pass": True, "score": 0.5, "componentResults": [], "metadata": {"assertionSet": {"type": "assert-set"}}},
            judged("contains", "London", True),
            judged("contains", "Hyde Park", False),
            judged("icontains-any", ["crystal palace", "glass"], False, weight=2),
            judged("contains-all", "Albert, Paxton", False),
            judged("not-contains", "Paris", False),
            judged("javascript", "output.length < 200", True),
            judged("latency", None, True),
        ],
    },
    "prompt": {"raw": "Answer: When was it?", "label": "Answer: {{question}}"},
    "promptIdx": 0,
    "provider": {"id": "openai:gpt-5", "label": "bot/a"},
    "response": {"output": "In 1851, in London."},
    "vars": {"question": "When was it?", "reference": "It was in 1851."},
    "testIdx": 1,
}


@pytest.fixture
def results():
    second = copy.deepcopy(RESULT)
    second["promptIdx"] = 1
    second["response"] = {"output": {"year": 1850}}
    second["gradingResult"]["componentResults"] = [judged("contains", "1851", False)]
    failed = copy.deepcopy(RESULT)
    failed["provider"] = "other"
    del failed["response"]
    failed["gradingResult"] = None
    failed["testCase"] = {"assert": [{"type": "contains", "value": "1851"}]}
    return [RESULT, second, failed]


@pytest.mark.parametrize("form", ["document", "lines"])
def test_results_become_runs_nuggets_and_verdicts(tmp_path, results, form):
    path = tmp_path / "out"
    if form == "document":
        path.write_text(json.dumps({"evalId": "e", "results": {"version": 3, "results": results}}, indent=2))
    else:
        path.write_text("".join(json.dumps(result) + "\n" for result in results))
    assert recognises(open_file(path))
    bundle = read_results(path)
    assert {run: [r.text for r in some] for run, some in bundle.responses.items()} == {
        "bot-a": ["In 1851, in London."],
        "bot-a-p2": ['{"year":1850}'],
    }
    assert list(read_results(path, run="monday").responses) == ["monday-bot-a", "monday-bot-a-p2"]
    assert [n.descriptions for n in bundle.nuggets] == [
        ("1851",),
        ("London",),
        ("Hyde Park",),
        ("crystal palace", "glass"),
        ("Albert",),
        ("Paxton",),
        ("Paris",),
    ]
    assert [(n.importance, n.weight) for n in bundle.nuggets] == [("vital", None)] * 6 + [("forbidden", -1.0)]
    assert [(j.run, j.nugget, j.verdict) for j in bundle.judgements] == [
        ("bot-a", "1", True),
        ("bot-a", "2", True),
        ("bot-a", "3", False),
        ("bot-a", "4", False),
        ("bot-a", "7", True),
        ("bot-a-p2", "1", False),
    ]
    assert all(j.machine and j.assessor == "promptfoo" for j in bundle.judgements)
    assert bundle.left_out == {"javascript assertions": 1, "latency assertions": 1, "results without an output": 1}
    assert bundle.unused["references of questions that have nuggets"] == 1


def test_what_passed_of_its_assertions_is_the_score_of_a_run(tmp_path, results):
    """The share of its facts that promptfoo found is recall over whole answers, with its verdicts as the standard."""
    only = copy.deepcopy(RESULT)
    parts = only["gradingResult"]["componentResults"]
    only["gradingResult"]["componentResults"] = [
        part for part in parts if part.get("assertion", {}).get("type") in ("contains", "icontains-any")
    ]
    path = tmp_path / "out.json"
    path.write_text(json.dumps({"results": {"results": [only]}}))
    convert_into("promptfoo", [path], tmp_path / "c", as_truth=True)
    scored = score(read_collection(tmp_path / "c"), ["bot-a"], ["recall"])["bot-a"]
    passed = [part["pass"] for part in only["gradingResult"]["componentResults"]]
    assert scored.measures["recall"].value == sum(passed) / len(passed)
    assert scored.outcome.pairs_guessed == 0


def test_without_assertions_a_reference_is_the_key(tmp_path):
    plain = {**RESULT, "gradingResult": None, "vars": {"topic": "x", "expected": "It was in 1851. In London."}}
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps(plain))
    bundle = read_results(path)
    assert [n.descriptions for n in bundle.nuggets] == [("It was in 1851.",), ("In London.",)]


def test_a_result_without_vars_is_kept_aside(tmp_path):
    path = tmp_path / "out.jsonl"
    path.write_text(json.dumps({**RESULT, "vars": 1}))
    assert len(read_results(path).garbled) == 1


def test_a_number_of_the_prompt_that_is_none_is_that_of_no_prompt(tmp_path, results):
    path = tmp_path / "out.json"
    for strange in ({"prompt": 1}, ["1"], "two", None):
        results[1]["promptIdx"] = strange
        path.write_text(json.dumps({"results": {"results": results}}))
        assert [*read_results(path).responses] == ["bot-a", "bot-a-2"]  # two answers to one question
