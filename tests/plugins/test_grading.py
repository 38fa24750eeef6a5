"""Single answers, scored alone: as the same answers are scored in a run."""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys

import pytest

from nuggeteer.errors import NuggeteerError
from nuggeteer.plugins.grading import Grader
from nuggeteer.plugins.promptfoo import SETTINGS, get_assert
from nuggeteer.scoring.scorer import score
from tests.conftest import ROOT, write_lines

PAGE = (ROOT / "docs/guides/other-tools.md").read_text(encoding="utf-8")
PAGE_BLOCKS = {kind: re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)[1] for kind in ("python", "yaml")}


PLENTY = "Give her plenty to drink."
ASPIRIN = f"{PLENTY} Give the child aspirin: it brings the fever down."


@pytest.fixture
def grader(sample):
    return Grader(sample.root)


@pytest.fixture
def clinic(collect):
    """A rubric, with one question about nothing but what is forbidden. What is judged is known in every answer."""
    verdicts = {PLENTY: "1", "Give the child aspirin: it brings the fever down.": "3"}
    return collect(
        [
            {"qid": "fever", "nugget": "1", "text": "Give the child plenty to drink", "weight": 5},
            {"qid": "fever", "nugget": "2", "text": "Ask a doctor", "importance": "okay", "weight": 2},
            {"qid": "fever", "nugget": "3", "text": "Give the child aspirin", "importance": "forbidden", "weight": -8},
            {"qid": "burn", "nugget": "1", "text": "Butter cools it", "importance": "forbidden", "weight": -5},
        ],
        {"monday": [("fever", PLENTY)]},
        [
            {"qid": "fever", "nugget": one, "text": text, "verdict": one == found, "assessor": "ann"}
            for text, found in verdicts.items()
            for one in "123"
        ],
        toml='[answers]\nsplit = "sentences"\n',
    )


@pytest.mark.slow
def test_an_answer_alone_has_the_score_that_it_has_in_its_run(sample, tmp_path):
    """Of a system that no manifest lists, as a single answer's is, and of its name: what nobody knows of a build is
    drawn by its name."""
    shutil.copytree(sample.root, tmp_path / "qa")
    build, answers = sample.run("build-103"), {}
    for question, text in zip(build.question.tolist(), build.texts, strict=True):
        answers[question] = f"{answers[question]} {text}" if question in answers else text
    lines = ({"qid": sample.key.questions[q].qid, "text": text} for q, text in answers.items())
    write_lines(tmp_path / "answer.jsonl", lines)
    expected, grader = score(tmp_path / "qa", tmp_path / "answer.jsonl")["answer"], Grader(tmp_path / "qa")
    assert len(answers) > 20
    for question, text in answers.items():
        graded = grader.grade(sample.key.questions[question].qid, text)
        for name, value in graded.scores.items():
            assert (math.nan if value is None else value) == pytest.approx(
                expected.by_question[name][question], nan_ok=True
            )
        found = expected.outcome.found[slice(*sample.key.offsets[question : question + 2])]
        assert [one.found for one in graded.nuggets] == found.tolist()


def test_a_question_is_found_by_its_id_before_its_text(sample, grader):
    first, second = sample.key.questions[:2]
    assert grader.find([second.text, first.qid]) == first.qid
    assert grader.find([None, {"a": 1}, f"  {second.text.upper()} "]) == second.qid
    with pytest.raises(NuggeteerError, match="no question of the key has this id or text: 'Who else"):
        grader.find(["Who else?"])


def test_what_is_missing_and_vital_comes_first(sample, grader):
    qid = sample.key.questions[0].qid
    graded = grader.grade(qid, "")
    assert graded.score == 0
    assert len(graded.missing) == sum(one.nugget.importance == "vital" for one in graded.nuggets) > 0
    lines = str(graded).splitlines()
    assert lines[0] == "F(3) 0.000"
    assert all(line.startswith("− ") and ", vital, " in line for line in lines[1 : 1 + len(graded.missing)])


def test_a_hostile_key_shows_no_control_characters(collect):
    collection = collect([{"qid": "q", "nugget": "1", "text": "red \x1b[31m ink"}])
    assert "\x1b" not in str(Grader(collection.root).grade("q", "ink"))


def test_what_is_claimed_though_forbidden_comes_first_and_what_is_not_claimed_last(clinic):
    lines = str(Grader(clinic.root).grade("fever", ASPIRIN)).splitlines()
    assert lines[0].startswith("rubric −")
    assert lines[1].startswith("+ 3, forbidden, ")
    assert lines[2].startswith("− 2, okay, ")
    assert str(Grader(clinic.root).grade("fever", PLENTY)).splitlines()[-1].startswith("− 3, forbidden, ")


def assertion(output, variables, **config):
    return get_assert(output, {"vars": variables, "config": config, "prompt": "", "test": {}})


@pytest.mark.slow
def test_promptfoo_is_given_what_its_contract_asks_for(sample):
    """pass, score and reason, and scores by name: https://www.promptfoo.dev/docs/configuration/expected-outputs/python"""
    root, question = str(sample.root), sample.key.questions[0]
    result = assertion("", {"question": question.text}, collection=root)
    assert result.keys() == {"pass", "score", "reason", "namedScores"}
    assert (result["pass"], result["score"]) == (False, 0)
    assert result["namedScores"]["recall"] < 0.1
    whole = " ".join(n.descriptions[0] for n in sample.key.nuggets if n.qid == question.qid)
    assert assertion(whole, {"id": question.qid}, collection=root)["pass"] is True
    assert assertion("", {"id": question.qid}, collection=root, threshold=0)["pass"] is True
    assert assertion(whole, {"id": question.qid}, collection=root, threshold=1.01)["pass"] is False
    assert assertion(whole, {"id": question.qid}, collection=root, measure="recall")["score"] > 0.7


def test_an_answer_that_claims_what_is_forbidden_does_not_pass(clinic):
    """The first measure of a rubric is the rubric's own, here too."""
    result = assertion(ASPIRIN, {"id": "fever"}, collection=str(clinic.root))
    assert result["pass"] is False
    assert result["score"] == result["namedScores"]["rubric"] < 0 < result["namedScores"]["f3"]
    assert assertion(PLENTY, {"id": "fever"}, collection=str(clinic.root))["pass"] is True
    assert assertion(ASPIRIN, {"id": "fever"}, collection=str(clinic.root), measure="f3")["pass"] is False
    nothing = assertion(PLENTY, {"id": "burn"}, collection=str(clinic.root))
    assert (nothing["pass"], nothing["score"]) == (True, 1.0), "there is nothing that it could lack"
    nothing = assertion(PLENTY, {"id": "burn"}, collection=str(clinic.root), threshold=0.5)
    assert nothing["pass"] is False
    assert "rubric is undefined for question 'burn', which has no nugget" in nothing["reason"]


@pytest.mark.parametrize(
    ("output", "variables", "config", "reason"),
    [
        ("", {"q": "?"}, {}, "no question of the key has this id or text: '?'"),
        ({"a": 1}, {}, {}, "the output is not text"),
        ("", {}, {"colection": "qa"}, "config has an unknown 'colection'"),
        ("", {}, {"threshold": "high"}, "config.threshold is 'high'; write a number"),
        ("", {}, {"collection": "nowhere"}, "nowhere: there is no such folder"),
        ("", {}, {"measure": "f4x"}, "f4x"),
    ],
)
def test_what_cannot_be_scored_fails_and_says_why(sample, output, variables, config, reason):
    result = assertion(output, variables, **{"collection": str(sample.root), **config})
    assert (result["pass"], result["score"]) == (False, 0)
    assert reason in result["reason"]


def test_the_page_shows_an_assertion_that_works(sample, tmp_path, monkeypatch):
    configuration = pytest.importorskip("yaml").safe_load(PAGE_BLOCKS["yaml"])
    (check,) = configuration["defaultTest"]["assert"]
    (test,) = configuration["tests"]
    shutil.copytree(sample.root, tmp_path / "qa")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(PAGE_BLOCKS["python"], names)
    result = names["get_assert"]("She wrote.", {"vars": test["vars"], "config": check["config"]})
    assert result["reason"].startswith("F(3) 0.")
    section = PAGE.split("## promptfoo")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", section, re.M)[1:]) == SETTINGS


@pytest.mark.slow
def test_promptfoo_itself_calls_the_assertion(sample, tmp_path):
    """The real program with the page's configuration, where it is installed (npm install --global promptfoo)."""
    if not shutil.which("promptfoo"):
        pytest.skip("no promptfoo on the PATH")
    question = sample.key.questions[0]
    whole = " ".join(n.descriptions[0] for n in sample.key.nuggets if n.qid == question.qid)
    (tmp_path / "my_system.py").write_text(
        "def call_api(prompt, options, context):\n"
        f"    assert prompt == {question.text!r}\n"
        f"    return {{'output': {whole!r}}}\n",
        encoding="utf-8",
    )
    (tmp_path / "nuggets.py").write_text(PAGE_BLOCKS["python"], encoding="utf-8")
    other = {"vars": {"question": question.text, "id": question.qid}, "options": {"transform": "'?'"}}
    more = f"  - {json.dumps(other)}\n"  # JSON is YAML
    (tmp_path / "promptfooconfig.yaml").write_text(PAGE_BLOCKS["yaml"] + more, encoding="utf-8")
    shutil.copytree(sample.root, tmp_path / "qa")
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(tmp_path)}
    done = subprocess.run(
        ["promptfoo", "eval", "--no-cache", "--no-table", "--output", "out.json"],
        cwd=tmp_path,
        env={**os.environ, **quiet, "PROMPTFOO_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,  # a failed test is no failure of the program
    )
    assert (tmp_path / "out.json").is_file(), done.stdout + done.stderr
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]["results"]
    results.sort(key=lambda one: one["testIdx"])
    assert [one["success"] for one in results] == [True, False]
    for one, answer in zip(results, (whole, "?"), strict=True):
        expected = assertion(answer, {"id": question.qid}, collection=str(sample.root))
        (given,) = one["gradingResult"]["componentResults"]
        assert given["score"] == pytest.approx(expected["score"])
        assert given["reason"] == expected["reason"]
        assert one["namedScores"] == pytest.approx(expected["namedScores"])
