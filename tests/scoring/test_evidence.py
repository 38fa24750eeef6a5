"""What the models learn from: units that are answers, whoever judged how much of them."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.memory import make_run
from nuggeteer.collection.runs import run_hash
from nuggeteer.comparing.diff import diff
from nuggeteer.formats.canonical import as_line
from nuggeteer.formats.jsonl import write_jsonl
from nuggeteer.records import Judgement, RunInfo
from nuggeteer.scoring.evidence import build_of, builds_of, gather_evidence
from nuggeteer.scoring.known import known_in
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.trust.crossval import without

NUGGETS = [{"qid": "q", "nugget": n, "text": t} for n, t in (("1", "a red fox"), ("2", "two birds"))]
TEXTS = ["a red fox came", "it rained", "two birds sang", "nothing more"]
YES = {"qid": "q", "nugget": "1", "text": TEXTS[0], "verdict": True, "run": "old"}


@pytest.fixture(scope="module")
def scorer(_sample_folder):
    return Scorer(read_collection(_sample_folder), ["f3"])


@pytest.mark.parametrize("judged", ["every", "best"])
def test_a_unit_of_a_judged_run_is_its_whole_answer(collect, judged):
    """Also where only the best response with a nugget was marked: what was found would else be what stands alone."""
    collection = collect(NUGGETS, {"old": [("q", text) for text in TEXTS]}, [YES], {"old": judged})
    scorer = Scorer(collection)
    evidence = gather_evidence(collection, scorer.matcher, scorer.known)
    assert evidence.yes.tolist() == [True, False]
    responses = scorer.read("old").names.index("responses")
    assert evidence.units.clues[:, responses] == pytest.approx([np.log(len(TEXTS))] * 2)


def test_what_is_asked_of_a_run_has_the_clues_that_it_had_as_evidence(collect):
    """The same answers, judged and not."""
    runs = {"old": [("q", text) for text in TEXTS], "new": [("q", f"{text}") for text in reversed(TEXTS)]}
    judged = collect(NUGGETS, runs, [YES], {"old": "every"})
    unjudged = collect(NUGGETS, runs, judged={"old": "none"}, folder="unjudged")
    scorer, other = Scorer(judged), Scorer(unjudged)
    evidence = gather_evidence(judged, scorer.matcher, scorer.known)
    units = other.read("old").units(unjudged.key, np.arange(2))
    np.testing.assert_allclose(evidence.units.clues, units.clues, atol=1e-6)
    np.testing.assert_array_equal(evidence.units.text, units.text)
    assert evidence.units.answers.key.tolist() == units.answers.key.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("system", ["aurora", "dune"])
def test_others_verdicts_say_as_much_of_a_judged_answer_as_of_one_that_nobody_judged(scorer, system):
    """What is carried over to a system as evidence is what would be if the system had not been judged. With a part of
    it left out on one side, ten runs of TREC TS 2014 were guessed 0.08 too high."""
    evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known)
    other = Scorer(without(scorer.collection, system))
    matched = other.read(system)
    units = evidence.units
    own = [number for number, build in enumerate(units.answers.builds) if build.run == system]
    of_system = np.isin(units.answers.build[units.answer], own)
    nuggets = units.nugget[of_system]
    open_ = matched.open_nuggets[nuggets]
    assert open_.mean() > 0.9
    asked = matched.units(other.key, nuggets[open_])
    carried = [scorer.model.names.index(name) for name in ("hint", "carried")]
    found = units.clues[of_system][open_][:, carried]
    assert np.abs(found).max() > 0.1
    away = np.abs(found - asked.clues[:, carried])
    assert (away < 2e-4).mean() > 0.97  # of verdicts on single texts, few are left out
    assert away.max() < 0.05


def test_an_answer_that_says_nothing_has_nothing(scorer):
    """In a collection where each judged answer has several responses."""
    collection, key = scorer.collection, scorer.key
    for text in ("hello", "The weather was fine."):
        run = make_run(collection, "silent", [(question.qid, text) for question in key.questions])
        assert scorer.find(scorer.read(run)).probability.max() < 0.15


@pytest.mark.parametrize("name", ["aurora", "basalt", "cobalt", "dune"])
def test_judged_answers_in_slightly_other_words_are_believed_as_they_were_judged(scorer, name):
    """However few other systems were judged."""
    run = scorer.collection.run(name)
    true = scorer.find(scorer.read(run)).found
    reworded = [
        (scorer.key.questions[question].qid, f"{text.replace('the ', 'this ')} too")
        for question, text in zip(run.question.tolist(), run.texts, strict=True)
    ]
    matched = scorer.read(make_run(scorer.collection, f"{name} again", reworded))
    open_, chance = matched.open_nuggets, scorer.find(matched).probability
    assert chance[open_ & true].mean() > chance[open_ & ~true].mean() + 0.25


def test_by_response_each_judged_text_is_a_unit_to_which_nothing_need_be_carried_over(scorer):
    evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known, by="response", carried_over=False)
    texts, own = len(scorer.known.texts), evidence.units
    assert len(np.unique(own.answer)) <= texts
    names = scorer.read("build-103").names
    assert (own.clues[:, names.index("responses")] == 0).all()
    assert (own.clues[:, names.index("carried")] == 0).all()
    assert len(evidence) == (scorer.known.taught != -1).sum()


def test_builds_of_one_name_are_told_apart_by_their_answers(collect):
    """The file of `tonight` is overwritten each night. Verdicts of a judging session have the hash of its answers."""
    nights = [[("q", "a red fox came")], [("q", "it rained")], [("q", "two birds sang")]]
    first, second, third = ([{"qid": q, "text": t} for q, t in night] for night in nights)
    empty = collect(NUGGETS, {"tonight": nights[2]}, folder="empty")
    hashes = [run_hash(make_run(empty, "tonight", rows), empty.key) for rows in (first, second, third)]
    assert len(set(hashes)) == 3
    said = [
        {"qid": "q", "nugget": "1", "text": text, "verdict": True, "run": "tonight"}
        | ({"run_hash": hash_} if hash_ else {})
        for text, hash_ in (("a red fox came", hashes[0]), ("two birds sang", hashes[2]), ("it rained", None))
    ]
    collection = collect(NUGGETS, {"tonight": nights[2]}, said)
    known = known_in(collection)
    builds, of_text = builds_of(collection, known)
    names = {known.texts[row]: builds[number].run for row, number in enumerate(of_text.tolist())}
    earlier = f"tonight/{hashes[0]}"
    assert names == {"a red fox came": earlier, "two birds sang": "tonight", "it rained": "tonight/earlier"}
    assert {build.system for build in builds} == {collection.group("tonight")}
    recorded = [
        replace(make_run(collection, "tonight", rows), recorded="2026-11-19T00:00:00Z") for rows in (first, third)
    ]
    assert [build_of(collection, known, run).run for run in recorded] == [earlier, "tonight"]
    assert build_of(collection, known, collection.run("tonight")).run == "tonight"


@pytest.mark.parametrize("text", ["a red fox came", "two birds sang"])
def test_a_run_that_says_nothing_now_keeps_no_other_from_being_scored(collect, text):
    runs = {"old": [("q", " ")], "new": [("q", text)]}
    said = [{**YES, "run_hash": "0123abcd"}, {**YES, "nugget": "2"}]
    assert len(Scorer(collect(NUGGETS, runs, said)).read("new").states) == 2


def test_a_text_of_a_judged_run_is_its_own_whatever_hash_a_verdict_on_another_run_has(collect):
    runs = {"judged": [("q", "a red fox came")], "new": [("q", "a red fox came")]}
    collection = collect(NUGGETS, runs, [{**YES, "run": "new", "run_hash": "0123abcd"}], {"judged": "every"})
    assert [build.run for build in builds_of(collection, known_in(collection))[0]] == ["judged"]


def test_without_a_hash_a_verdict_is_on_the_run_that_it_names_as_long_as_its_answers_have_the_text(collect):
    """A part of a response, or a whole answer, in other space and case, is in the answer too."""
    runs = {"old": [("q", "A red fox came. It rained."), ("q", "| two |\n| birds |")]}
    whole = "a red fox came. it rained.\n| two |\n| birds |"
    said = [{**YES, "text": "it rained."}, {**YES, "text": whole, "scope": "answer", "nugget": "2"}]
    assert not collect(NUGGETS, runs, said).changed_runs
    assert collect(NUGGETS, runs, [*said, {**YES, "text": "it snowed"}], folder="changed").changed_runs == {"old"}


@pytest.mark.slow
@pytest.mark.parametrize("hashed", [True, False])
def test_a_change_between_two_nights_is_as_sure_whether_they_have_one_name_or_two(sample, tmp_path, hashed):
    """Every second answer of the first night was read. Once, builds of one name had no room for a difference."""
    found = []
    for first, second in (("tonight", "tonight"), ("monday", "tuesday")):
        root = shutil.copytree(sample.root, tmp_path / first, ignore=shutil.ignore_patterns(".nuggeteer", "build-*"))
        old = replace(sample.run("build-102"), name=first, info=RunInfo(first), recorded="2026-11-19T00:00:00Z")
        for build, name in (("102", first), ("103", second)):
            shutil.copy(sample.root / "runs" / f"build-{build}.jsonl", root / "runs" / f"{name}.jsonl")
        manifest = (line for line in (root / "runs.jsonl").read_text().splitlines() if "build-" not in line)
        (root / "runs.jsonl").write_text("\n".join(manifest) + "\n")
        key, hash_ = sample.key, run_hash(old, sample.key) if hashed else None
        said = (
            Judgement(n.qid, n.nugget, old.answer(q), i % 3 == 0, run=first, scope="answer", run_hash=hash_)
            for i, (n, q) in enumerate(zip(key.nuggets, key.question.tolist(), strict=True))
            if q % 2 and old.answered[q]
        )
        write_jsonl(root / "judgements" / "x.jsonl", map(as_line, said))
        found.append(diff(read_collection(root), old if first == second else first, second, ["f3"]).headline.interval)
    one, two = found
    assert one.value == pytest.approx(two.value, abs=0.02)
    assert one.judging[1] - one.judging[0] == pytest.approx(two.judging[1] - two.judging[0], rel=0.12)


def test_an_answer_that_two_builds_give_is_guessed_alike_though_one_is_in_the_history_only(collect):
    said = [{**YES, "run": "monday", "text": "two birds sang"}]
    nuggets = [*NUGGETS, {"qid": "r", "nugget": "1", "text": "a red fox"}]
    collection = collect(nuggets, {"tuesday": [("q", "it rained"), ("r", "the fox was red")]}, said)
    rows = [{"qid": "q", "text": "two birds sang"}, {"qid": "r", "text": "the fox was red"}]
    monday = replace(make_run(collection, "monday", rows), recorded="2026-11-19T00:00:00Z")
    for old, new in ((monday, "tuesday"), ("tuesday", monday)):
        result = diff(collection, old, new, ["recall"])
        chances = [outcome.probability[2] for outcome in (result.old, result.new)]
        assert chances[0] == chances[1] != 0
        assert not result.gain[2]
        assert not result.loss[2]


def test_the_hash_of_a_run_is_that_of_its_words(collect):
    """However its answers are cut, spaced and cited; and whatever else the collection has."""
    runs = {
        "plain": [("q", "A red fox came. It rained.")],
        "dressed": [("q", "a red fox  came."), ("q", "It rained [1].")],
        "other": [("q", "A red fox came. It snowed.")],
    }
    collection = collect(NUGGETS, runs)
    hashes = {name: run_hash(collection.run(name), collection.key) for name in runs}
    assert hashes["plain"] == hashes["dressed"] != hashes["other"]


@pytest.mark.parametrize("run", [{}, {"run": "old"}])
def test_answers_of_builds_that_nobody_knows_are_answers_of_their_own(collect, run):
    """Together they would have whatever one of them has. The file of the run has none of them."""
    asked = {"qid": "q", "nugget": "1", "scope": "answer", **run}
    said = [{**asked, "text": f"fact {i}\nmore {i}", "verdict": i == 3} for i in range(6)]
    collection = collect(NUGGETS, {"old": [("q", "the fox was red")]}, said)
    scorer = Scorer(collection)
    evidence = gather_evidence(collection, scorer.matcher, scorer.known)
    assert sorted(evidence.yes.tolist()) == [False] * 5 + [True]
    assert len(np.unique(evidence.units.answers.key)) == 6


def test_what_the_file_has_is_one_answer_though_a_verdict_is_on_a_text_that_it_lost(collect):
    """And a run that the manifest calls judged is the one that was judged."""
    said = [{"qid": "q", "nugget": "1", "text": text, "verdict": False, "run": "old"} for text in ("it rained", "gone")]
    said.append({**said[0], "text": "two birds sang", "verdict": True})
    for judged, keys in ((None, 2), ({"old": "every"}, 1)):
        runs = {"old": [("q", "two birds sang"), ("q", "it rained")]}
        collection = collect(NUGGETS, runs, said, judged, folder=f"judged-{keys}")
        scorer = Scorer(collection)
        units = gather_evidence(collection, scorer.matcher, scorer.known).units
        assert len(np.unique(units.answers.key)) == keys
        assert {build.run for build in units.answers.builds} == {"old/earlier" if judged is None else "old"}


def test_an_answer_that_was_read_in_part_is_guessed_as_the_answer_that_was_read(collect):
    """Whatever the names of the runs that give it. One response that another build's answer has too does not say whose
    answer it is."""
    answer, whole = [("q", "two birds sang"), ("q", "nothing more")], "two birds sang\nnothing more"
    nuggets = [*NUGGETS, {"qid": "r", "nugget": "1", "text": "a red fox"}]
    for first, second in (("a", "b"), ("b", "a")):
        said = [
            {"qid": "q", "nugget": "1", "text": whole, "scope": "answer", "verdict": False, "run": first},
            {"qid": "r", "nugget": "1", "text": "it rained", "verdict": True, "run": second},
        ]
        runs = {first: answer, second: [*answer, ("r", "it rained")], "other": [answer[0], ("q", "and more")]}
        scorer = Scorer(collect(nuggets, runs, said, folder=first))
        assert {scorer.read(name).owners[0].run for name in (first, second)} == {first}
        assert not scorer.read("other").owners
