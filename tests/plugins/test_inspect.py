"""The scorer in a real evaluation of Inspect, with its stand-in for a model."""

from __future__ import annotations

import math
import re
import shutil

import pytest

from nuggeteer.plugins.grading import Grader
from tests.conftest import ROOT

inspect_ai = pytest.importorskip("inspect_ai", reason="Inspect is not installed (pip install inspect-ai)")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Inspect and of what it imports
def test_an_evaluation_has_the_scores_of_the_answers(sample, tmp_path):
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from nuggeteer.plugins.inspect import nuggets

    first, second = [q for q, own in sample.key if any(n.importance == "vital" for n in own)][:2]
    undefined = next(q for q, own in sample.key if all(n.importance != "vital" for n in own))
    whole = " ".join(n.descriptions[0] for n in sample.key.nuggets if n.qid == first.qid)
    answers = {"Say all.": whole, second.text: "I do not know.", undefined.text: "Nor that.", "Who else?": "Me."}
    data = [Sample(input="Say all.", id=first.qid), *(Sample(input=text) for text in [*answers][1:])]

    def answer(messages, *_):
        output = ModelOutput.from_content(model="mockllm/model", content=answers[messages[-1].text])
        output.usage = ModelUsage()  # or Inspect counts tokens with a table that it fetches
        return output

    model = get_model("mockllm/model", custom_outputs=answer)
    (log,) = evaluate(
        Task(dataset=data, scorer=nuggets(str(sample.root))), model=model, log_dir=str(tmp_path), display="none"
    )
    assert log.status == "success", log.error
    log = read_eval_log(log.location)  # also what is written can be read
    scores = [one.scores["nuggets"] for one in sorted(log.samples, key=lambda one: [*answers].index(one.input))]
    grader = Grader(sample.root)
    expected = [grader.grade(first.qid, whole), grader.grade(second.qid, answers[second.text])]
    assert [one.value for one in scores[:2]] == [one.score for one in expected]
    assert [one.metadata["scores"] for one in scores[:2]] == [one.scores for one in expected]
    assert scores[0].explanation == str(expected[0])
    assert [one["found"] for one in scores[0].metadata["nuggets"]] == [one.found for one in expected[0].nuggets]
    assert all(math.isnan(one.value) for one in scores[2:])
    assert scores[2].explanation.startswith("F(3) –")
    assert "no question of the key" in scores[3].explanation
    (result,) = log.results.scores
    mean = sum(one.score for one in expected) / 2
    assert result.metrics["mean"].value == pytest.approx(mean)
    assert {"mean", "stderr"} <= result.metrics.keys()


@pytest.mark.filterwarnings("ignore")
def test_the_page_shows_a_task(sample, tmp_path, monkeypatch):
    shutil.copytree(sample.root, tmp_path / "qa")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/guides/other-tools.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(from inspect_ai .*?)```", page, re.DOTALL)[1]
    names = {}
    exec(code, names)
    assert names["task"].dataset[0].input == sample.key.questions[0].text
