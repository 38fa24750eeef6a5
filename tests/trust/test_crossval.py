"""Guesses on systems left out, held against the truth: nothing leaks, and numbers are those of others' libraries."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.errors import NuggeteerError
from nuggeteer.measures import parse
from nuggeteer.records import Judgement
from nuggeteer.reports.crossval import draw
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.text import normalised
from nuggeteer.trust.crossval import MODELS, crossval, without
from nuggeteer.trust.experiments.left_out import leave_out_groups
from nuggeteer.trust.reliability import Guesses, quality
from tests.conftest import write_lines

FOX = [{"qid": "q", "nugget": "1", "text": "a red fox"}, {"qid": "q", "nugget": "2", "text": "two blue birds"}]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Four judged systems, of which two are one group, and one that nobody judged."""
    folder = tmp_path_factory.mktemp("crossval") / "simulated"
    simulate(folder, Shape(questions=6, nuggets=4, systems=5, judged=4, responses=4), seed=5)
    lines = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
    write_lines(
        folder / "runs.jsonl",
        ({**line, "group": "twins" if line["run"] in ("s3", "s4") else line["group"]} for line in lines),
    )
    # What s1 said first, s2 says too.
    shared = (folder / "runs" / "s1.jsonl").read_text().splitlines()[0]
    with (folder / "runs" / "s2.jsonl").open("a") as file:
        file.write(shared + "\n")
    return folder


def states_of(collection, run):
    known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    loaded = collection.run(run)
    return known([normalised(t) for t in loaded.texts], loaded.question)


@pytest.mark.slow
def test_runs_are_compared_by_a_measure_if_one_is_named(simulated):
    """The true scores are those from all judgements; at recall by weight the two ways agree."""
    collection = read_collection(simulated)
    true = {run.name: run.measures["f3"].value for run in score(collection, ["s1", "s2", "s3", "s4"]).runs}
    result = crossval(collection, measure="f3")
    assert {one.run: one.true for one in result.scores} == pytest.approx(true)
    assert all(one.judging[0] <= one.value <= one.judging[1] for one in result.scores)
    assert str(result.measure) == "f3"
    same = {one.run: one.value for one in crossval(collection, measure="recall").scores}
    by_weight = {one.run: one.value for one in crossval(collection).scores}
    if not collection.key.weighted:
        assert same == pytest.approx(by_weight, abs=0.01)
    fixed = crossval(collection, "fixed", measure="f3")
    assert all(one.judging is None or one.judging == (one.value, one.value) for one in fixed.scores)


def test_one_run_is_one_run(simulated):
    result = crossval(read_collection(simulated))
    out = Console(file=StringIO(), width=100)
    draw(out, replace(result, groups=1, runs=replace(result.runs, n=1)))
    assert out.file.getvalue().startswith("1 group of runs, each left out in turn.")
    assert "\n1 run: Kendall's tau" in out.file.getvalue()


def test_of_a_group_left_out_only_what_others_said_too_is_known(simulated):
    whole = read_collection(simulated)
    for group, runs in {"s1": ["s1"], "s2": ["s2"], "twins": ["s3", "s4"]}.items():
        rest = without(whole, group)
        for run in ("s1", "s2", "s3", "s4"):
            before, after = states_of(whole, run), states_of(rest, run)
            assert (before != UNKNOWN).all()
            if run in runs:
                shared = 4 if group in ("s1", "s2") else 0  # the four nuggets of the one text that s1 and s2 share
                assert (after != UNKNOWN).sum() == shared
            np.testing.assert_array_equal(before[after != UNKNOWN], after[after != UNKNOWN])


def test_verdicts_on_texts_of_old_builds_go_with_their_group(collect):
    """What a verdict says of itself counts, where its text is in no run any more; without that it stays."""
    said = [
        {"qid": "q", "nugget": "1", "text": "of an old build", "verdict": True, "run": "old"},
        {"qid": "q", "nugget": "1", "text": "of another's build", "verdict": True, "run": "b"},
        {"qid": "q", "nugget": "1", "text": "of nobody knows whom", "verdict": True},
        {"qid": "q", "nugget": "1", "text": "said by both", "verdict": True, "run": "a"},
        {"qid": "q", "nugget": "2", "text": "said by both", "verdict": True, "run": "b"},
    ]
    collection = collect(FOX, {"a": [("q", "said by both")], "b": [("q", "x")]}, said, {"a": "every", "b": "every"})
    manifest = {
        name: structs.replace(info, group="mine" if name == "a" else None) for name, info in collection.manifest.items()
    }
    manifest["old"] = structs.replace(manifest["a"], run="old", judged="none")
    left = [j.text for j in without(replace(collection, manifest=manifest), "mine").judgements]
    assert left == ["of another's build", "of nobody knows whom", "said by both", "said by both"]


@pytest.mark.slow
def test_guesses_are_those_that_score_makes_in_a_collection_where_nobody_judged_the_group(simulated, tmp_path):
    """The other way round: the judgements are deleted from the files, and `score` is asked."""
    result = {one.run: one for one in crossval(read_collection(simulated)).scores}
    for group, runs in {"s2": ["s2"], "twins": ["s3", "s4"]}.items():
        folder = shutil.copytree(simulated, tmp_path / group)
        own = {
            (r["qid"], normalised(r["text"]))
            for run in runs
            for r in map(json.loads, (folder / "runs" / f"{run}.jsonl").read_text().splitlines())
        }
        first = json.loads((folder / "runs" / "s1.jsonl").read_text().splitlines()[0])
        own.discard((first["qid"], normalised(first["text"])))
        for path in (folder / "judgements").glob("*.jsonl"):
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            write_lines(path, (line for line in lines if (line["qid"], normalised(line["text"])) not in own))
        manifest = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
        write_lines(
            folder / "runs.jsonl", ({**m, **({"judged": "none"} if m["run"] in runs else {})} for m in manifest)
        )
        collection = read_collection(folder)
        weight = collection.key.weight
        for run in runs:
            outcome = score(collection, [run])[run].outcome
            of_question = np.bincount(collection.key.question, weight * outcome.probability)
            expected = np.mean(of_question / np.bincount(collection.key.question, weight))
            assert result[run].value == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_nothing_that_was_said_of_a_group_reaches_its_guesses(simulated):
    """All verdicts on the group are turned round: its guesses stay as they are, to the bit, and so does no other's."""
    whole = read_collection(simulated)
    texts = [(q, normalised(t)) for q, t in zip(whole.run("s3").question.tolist(), whole.run("s3").texts, strict=True)]
    known = VerdictIndex(whole.key, whole.judgements, whole.judged_runs)
    states = states_of(whole, "s3").reshape(-1, 4)
    turned = [
        Judgement(n.qid, n.nugget, text, states[row, i] != YES, run="s3")
        for row, (q, text) in enumerate(texts)
        for i, n in enumerate(whole.key.nuggets[whole.key.offsets[q] : whole.key.offsets[q + 1]])
    ]
    own = {(whole.key.questions[q].qid, text) for q, text in texts}
    kept = [j for j in whole.judgements if (j.qid, normalised(j.text)) not in own]
    assert len(known.texts) > len(texts)
    other = replace(whole, judgements=(*kept, *turned))
    before, after = ({one.run: one for one in crossval(c).scores} for c in (whole, other))
    assert before["s3"].true != after["s3"].true
    for run in ("s3", "s4"):
        assert (before[run].value, before[run].judging) == (after[run].value, after[run].judging)
    assert before["s1"].value != after["s1"].value


@pytest.mark.slow
def test_the_result_is_the_same_from_two_workers(simulated):
    one, two = (crossval(read_collection(simulated), jobs=jobs) for jobs in (1, 2))
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)


@pytest.fixture(scope="module")
def coin(simulated):
    return crossval(read_collection(simulated), "coin")


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_threshold_model_guesses_better_than_the_coin(simulated, coin, model):
    result = crossval(read_collection(simulated), model)
    assert (result.pairs.n, result.answers.n, result.runs.n) == (4 * 6 * 4 * 4 + 4, 4 * 6 * 4, 4)
    assert 0 < result.answers.positive < result.answers.n
    if model != "coin":
        assert result.answers.average_precision > coin.answers.average_precision
    assert (result.pairs.brier is None) == (result.coverage95 is None) == (model == "fixed")


def test_quality_is_what_scikit_learn_says():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    true = rng.random(500) < 0.3
    chance = np.round(np.clip(0.4 * true + rng.random(500) * 0.6, 0.01, 0.99), 2)  # with ties
    found = chance >= 0.5
    ours = quality(Guesses(true, found, chance, chance, np.ones(500, dtype=bool)))
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(true, found, average="binary")
    assert (ours.n, ours.positive) == (500, true.sum())
    expected = (precision, recall, f1, metrics.average_precision_score(true, chance))
    assert (ours.precision, ours.recall, ours.f1, ours.average_precision) == pytest.approx(expected)
    assert ours.brier == pytest.approx(metrics.brier_score_loss(true, chance))
    assert ours.log_score == pytest.approx(-metrics.log_loss(true, chance))


def test_what_cannot_be_said_is_not_said():
    none = np.zeros(3, dtype=bool)
    nothing = quality(Guesses(none, none, np.full(3, np.nan), np.zeros(3), none))
    assert (nothing.n, nothing.positive) == (3, 0)
    assert [nothing.precision, nothing.recall, nothing.f1, nothing.average_precision, nothing.brier] == [None] * 5


def test_a_run_of_which_only_the_best_was_marked_is_asked_about_whole_answers(collect):
    """Judged `best`: another response than the marked one may carry the nugget too, so that pair is no truth."""
    collection = collect(
        FOX,
        {"a": [("q", "a red fox"), ("q", "the fox again"), ("q", "no birds")], "b": [("q", "two blue birds")]},
        [{"qid": "q", "nugget": "1", "text": "a red fox", "verdict": True, "run": "a"}],
        {"a": "best", "b": "every"},
    )
    result = crossval(collection)
    assert (result.pairs.n, result.pairs.positive) == (1 + 3 + 2, 1)
    assert (result.answers.n, result.answers.positive) == (4, 1)


@pytest.mark.parametrize("named", [True, False])
def test_verdicts_on_whole_answers_are_hidden_and_are_the_truth_as_those_on_responses_are(collect, named):
    """A yes on an answer leaves open which response has the nugget. So nothing that is said of answers is a truth of
    pairs: only the no's would be left."""
    runs = {"a": [("q", "a red fox"), ("q", "the fox again")], "b": [("q", "two blue birds"), ("q", "no fox")]}
    runs["c"] = [("q", "it sleeps"), ("q", "all day")]
    said = [
        {
            "qid": "q",
            "nugget": nugget,
            "text": "\n".join(text for _, text in answer),
            "verdict": (run, nugget) in {("a", "1"), ("b", "2")},
            "scope": "answer",
        }
        | ({"run": run} if named else {})
        for run, answer in runs.items()
        for nugget in ("1", "2")
    ]
    collection = collect(FOX, runs, said, dict.fromkeys(runs, "none"))
    assert not [j for j in without(collection, "a").judgements if j.text.startswith("a red fox")]
    by_recall, by_f3 = crossval(collection), crossval(collection, measure="f3")
    assert (by_recall.answers.n, by_recall.answers.positive) == (6, 2)
    assert (by_recall.pairs.n, by_recall.pairs.positive) == (0, 0)
    whole = Scorer(collection, ["recall", "f3"])
    scores = {name: whole.score(whole.read(name)).measures for name in runs}
    assert {one.run: one.true for one in by_f3.scores} == {name: scores[name]["f3"].value for name in runs}
    assert {one.run: one.true for one in by_recall.scores} == {name: scores[name]["recall"].value for name in runs}
    found = leave_out_groups(collection).with_scores
    assert found.true_scores(parse("f3")) == [scores[run.name]["f3"].value for run in found.runs]


def test_with_one_group_nothing_can_be_left_out(collect):
    collection = collect(FOX, {"a": [("q", "x")], "b": [("q", "y")]}, [], {"a": "every"})
    with pytest.raises(NuggeteerError, match="left out in turn, and there are 1"):
        crossval(collection)
    with pytest.raises(NuggeteerError, match="no threshold model is called 'magic'"):
        crossval(collection, "magic")
