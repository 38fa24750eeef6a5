"""How good a judge is: counted by hand, and an alarm when it becomes another one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import fisher_exact
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, recall_score

from nuggeteer.cli.main import main
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.trust.judges import judge_qualities
from tests.conftest import write_lines

QUESTIONS = 12


def verdict(question, text, yes, **more):
    return {"qid": f"q{question}", "nugget": "1", "text": text, "verdict": bool(yes), **more}


@pytest.fixture
def judged_by(collect):
    """A collection of twelve questions with three texts each; people judged the first two of each."""
    rng = np.random.default_rng(0)
    people = rng.random((QUESTIONS, 2)) < 0.5
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": "a fox"} for i in range(QUESTIONS)]
    texts = [[f"t{i} " + "word " * (1 + 4 * j) for j in range(3)] for i in range(QUESTIONS)]

    def make_it(*lines, name="judge"):
        collection = collect(
            nuggets,
            {"r": [(f"q{i}", text) for i, own in enumerate(texts) for text in own]},
            judgements=[
                verdict(i, texts[i][j], people[i, j], assessor="anna") for i in range(QUESTIONS) for j in range(2)
            ],
        )
        questions = [{"qid": f"q{i}", "text": "?", "kind": "odd" if i % 2 else "even"} for i in range(QUESTIONS)]
        write_lines(collection.root / "questions.jsonl", questions)
        write_lines(collection.root / "judges" / f"{name}.jsonl", lines)
        from nuggeteer.collection.folder import read_collection

        return read_collection(collection.root)

    return make_it, people, texts


def qualities(collection, since=None):
    return judge_qualities(collection, Scorer(collection).known, since)


def test_coefficients_are_those_of_another_package_on_the_shared_pairs(judged_by):
    make_it, people, texts = judged_by
    says = people ^ (np.random.default_rng(1).random(people.shape) < 0.3)
    lines = [verdict(i, texts[i][j], says[i, j]) for i in range(QUESTIONS) for j in range(2)]
    (quality,) = qualities(make_it(*lines, verdict(0, texts[0][2], True)))
    true, own = people.ravel(), says.ravel()
    whole = quality.whole
    assert (quality.judged, whole.pairs, whole.questions) == (25, 24, 12)
    assert whole.kappa.value == pytest.approx(cohen_kappa_score(true, own))
    assert whole.sensitivity.value == pytest.approx(recall_score(true, own))
    assert whole.specificity.value == pytest.approx(recall_score(~true, ~own))
    assert whole.balanced_error.value == pytest.approx(1 - balanced_accuracy_score(true, own))
    false_yes, false_no = (own & ~true).sum(), (true & ~own).sum()
    assert whole.bias.value == pytest.approx(abs(false_yes - false_no) / (false_yes + false_no))
    assert whole.kappa.low < whole.kappa.value < whole.kappa.high
    assert len(quality.errors) == false_yes + false_no


def test_kinds_of_questions_and_lengths_are_told_apart(judged_by):
    """A judge that is right about short texts and odd questions only."""
    make_it, people, texts = judged_by
    lines = [
        verdict(i, texts[i][j], people[i, j] ^ (j == 1 and i % 2 == 0)) for i in range(QUESTIONS) for j in range(2)
    ]
    (quality,) = qualities(make_it(*lines))
    even, odd = quality.kinds
    assert (even.name, odd.name) == ("even", "odd")
    assert odd.balanced_error.value == 0
    assert even.balanced_error.value > 0.3
    assert quality.lengths[0].balanced_error.value == 0
    assert quality.lengths[-1].balanced_error.value > 0.3
    assert sum(part.pairs for part in quality.lengths) == 24


def test_partly_is_a_no_and_calibration_shows_what_it_is_worth(judged_by):
    make_it, people, texts = judged_by
    lines = [
        {"qid": f"q{i}", "nugget": "1", "text": texts[i][0], "assignment": "partial_support"} for i in range(QUESTIONS)
    ]
    (quality,) = qualities(make_it(*lines))
    assert quality.whole.judge_yes == 0
    (only,) = quality.calibration.bins
    assert (only.chance, only.yes, only.pairs) == (0.5, pytest.approx(people[:, 0].mean()), 12)


def test_a_whole_answer_is_a_yes_if_people_found_it_in_a_response(judged_by):
    make_it, people, texts = judged_by
    lines = [{**verdict(i, "\n".join(texts[i]), True), "scope": "answer", "run": "r"} for i in range(QUESTIONS)]
    (quality,) = qualities(make_it(*lines))
    found = people.any(axis=1)  # the third response is open, so without a yes nothing is known
    assert (quality.whole.pairs, quality.whole.people_yes) == (found.sum(), 1.0)


def test_an_alarm_when_a_judge_changes_and_none_when_it_does_not(judged_by):
    make_it, people, texts = judged_by
    times = ("2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z")

    def lines(worse):
        for i in range(QUESTIONS):
            for j in range(2):
                yield verdict(i, texts[i][j], people[i, j] ^ (worse and j == 1), at=times[j])

    (same,) = qualities(make_it(*lines(False)), "2026-02-01T00:00:00")
    assert same.change.p == 1
    assert not same.change.alarm
    (other,) = qualities(make_it(*lines(True)), "2026-02-01T00:00:00")
    yes, no = ([(people[:, j] == of).sum() for j in range(2)] for of in (True, False))
    p = [fisher_exact([[count[0], 0], [0, count[1]]]).pvalue for count in (yes, no)]
    assert other.change.p == pytest.approx(min(1, 2 * min(p)))
    assert other.change.alarm


def test_another_model_behind_a_name_is_told_and_verdicts_given_anew_are_counted(judged_by):
    make_it, people, texts = judged_by
    lines = [
        verdict(i, texts[i][0], people[i, 0] ^ (new and i == 0), at=f"2026-0{1 + new}-01T00:00:00Z", model=f"m{new}")
        for new in (0, 1)
        for i in range(QUESTIONS)
    ]
    (quality,) = qualities(make_it(*lines), "2026-02-01T00:00:00")
    change = quality.change
    assert (change.models_before, change.models_since) == (("m0",), ("m1",))
    assert (change.judged_anew, change.differing) == (12, 1)
    assert change.alarm


def test_the_command_shows_it_and_json_has_it(judged_by, capsys):
    make_it, people, texts = judged_by
    lines = [verdict(i, texts[i][0], not people[i, 0], at="2026-01-01T00:00:00Z") for i in range(QUESTIONS)]
    root = str(make_it(*lines).root)
    assert main(["agree", "--collection", root, "--list", "1", "--since", "2026-06-01"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Judges against people" in shown
    assert "judge and people differ on 12 pairs" in shown
    assert "nothing to compare" in shown
    assert main(["agree", "--collection", root, "--json", "-"]) == 0
    (judge,) = json.loads(capsys.readouterr().out)["judges"]
    assert judge["all"]["kappa"]["value"] == pytest.approx(cohen_kappa_score(people[:, 0], ~people[:, 0]))
    assert len(judge["errors"]) == 12
    assert main(["agree", "--collection", root, "--since", "soon"]) == 2
