"""The made-up collection: reproducible, of the size asked for, and with a truth that is one."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.errors import NuggeteerError

SMALL = Shape(questions=6, nuggets=5, systems=4, judged=3, responses=7, words=9)


def made(tmp_path, shape=SMALL, seed=0, name="made"):
    simulate(tmp_path / name, shape, seed)
    return tmp_path / name


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def content(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def yeses(path):
    return {(line["qid"], line["nugget"], line["text"]) for line in lines(path)}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    first, again, other = (content(made(tmp_path, seed=s, name=str(i))) for i, s in enumerate((7, 7, 8)))
    assert first == again
    assert first["nuggets.jsonl"] != other["nuggets.jsonl"]
    assert first["runs/s1.jsonl"] != other["runs/s1.jsonl"]


def test_it_has_the_size_that_was_asked_for(tmp_path):
    folder = made(tmp_path)
    collection = read_collection(folder)
    assert len(collection.key.questions) == 6
    assert collection.key.counts.tolist() == [5] * 6
    assert collection.run_names == ("s1", "s2", "s3", "s4")
    assert [collection.manifest[name].judged for name in collection.run_names] == ["every"] * 3 + ["none"]
    for name in collection.run_names:
        counts = Counter(line["qid"] for line in lines(folder / "runs" / f"{name}.jsonl"))
        assert counts == dict.fromkeys((q.qid for q in collection.key.questions), 7)
    assert {p.stem for p in (folder / "judgements").iterdir()} == {"s1", "s2", "s3"}
    assert {p.stem for p in (folder / "truth").iterdir()} == {"s1", "s2", "s3", "s4"}


def test_check_finds_nothing_wrong_with_it(tmp_path):
    assert check(made(tmp_path)) == []


def test_every_question_has_a_vital_nugget_and_importance_is_the_first_vote(tmp_path):
    nuggets = lines(made(tmp_path) / "nuggets.jsonl")
    assert {n["qid"] for n in nuggets if n["importance"] == "vital"} == {n["qid"] for n in nuggets}
    assert all(n["votes"]["a1"] == n["importance"] and len(n["votes"]) == 5 for n in nuggets)


def test_the_truth_is_of_texts_in_the_run_that_say_the_nugget(tmp_path):
    """Without difficulty a response that carries a nugget has all its words, in order, as one can count."""
    folder = made(tmp_path, Shape(questions=8, nuggets=6, systems=3, judged=3, difficulty=0.0))
    words = {(n["qid"], n["nugget"]): n["text"].split() for n in lines(folder / "nuggets.jsonl")}

    def in_order(fact, text):
        rest = iter(text.split())
        return all(word in rest for word in fact)

    for name in ("s1", "s2", "s3"):
        texts = {(line["qid"], line["text"]) for line in lines(folder / "runs" / f"{name}.jsonl")}
        true = yeses(folder / "truth" / f"{name}.jsonl")
        assert true
        assert all((qid, text) in texts for qid, _, text in true)
        assert all(in_order(words[qid, nugget], text) for qid, nugget, text in true)
        said = {(q, n, t) for (q, t) in texts for (q2, n), fact in words.items() if q == q2 and in_order(fact, t)}
        assert said == true


def test_judgements_without_error_are_the_truth_of_the_judged_systems(tmp_path):
    folder = made(tmp_path)
    for name in ("s1", "s2", "s3"):
        assert yeses(folder / "judgements" / f"{name}.jsonl") == yeses(folder / "truth" / f"{name}.jsonl")
        assert {line["run"] for line in lines(folder / "judgements" / f"{name}.jsonl")} == {name}


def test_the_error_of_the_judge_is_the_share_of_yeses_missed_and_of_noes_taken_for_yeses(tmp_path):
    shape = Shape(questions=20, nuggets=10, systems=2, judged=2, responses=20, judge_error=0.1)
    folder = made(tmp_path, shape)
    said, true = (
        {(name, *pair) for name in ("s1", "s2") for pair in yeses(folder / part / f"{name}.jsonl")}
        for part in ("judgements", "truth")
    )
    assert len(true - said) / len(true) == pytest.approx(0.1, abs=0.07)
    assert len(said - true) / (2 * 20 * 20 * 10 - len(true)) == pytest.approx(0.1, abs=0.015)


def test_difficulty_is_the_share_of_a_nuggets_words_that_its_responses_lack(tmp_path):
    folder = made(tmp_path, Shape(questions=30, nuggets=10, systems=2, judged=1, responses=20, difficulty=0.4))
    words = {(n["qid"], n["nugget"]): n["text"].split() for n in lines(folder / "nuggets.jsonl")}
    have = defaultdict(int)
    for qid, nugget, text in yeses(folder / "truth" / "s1.jsonl"):
        said = set(text.split())
        for word in words[qid, nugget]:
            have[word in said] += 1
    assert have[False] / (have[False] + have[True]) == pytest.approx(0.4, abs=0.04)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(questions=0),
        Shape(nuggets=0),
        Shape(systems=0, judged=0),
        Shape(responses=0),
        Shape(words=0),
        Shape(systems=3, judged=4),
        Shape(judged=-1),
        Shape(difficulty=1.1),
        Shape(difficulty=float("nan")),
        Shape(judge_error=-0.1),
    ],
)
def test_a_shape_that_cannot_be_is_refused_before_anything_is_written(tmp_path, shape):
    with pytest.raises(NuggeteerError):
        simulate(tmp_path / "new", shape)
    assert not (tmp_path / "new").exists()


def test_a_folder_in_use_is_refused_and_an_empty_one_is_not(tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("mine")
    for path in (tmp_path / "used", tmp_path / "used" / "file"):
        with pytest.raises(NuggeteerError, match=r"name a (new )?folder"):
            simulate(path, SMALL)
    (tmp_path / "empty").mkdir()
    simulate(tmp_path / "empty", SMALL)
    assert read_collection(tmp_path / "empty").key.questions


@pytest.mark.parametrize("shape", [Shape(1, 1, 1, 0, 1, 1), Shape(1, 1, 1, 1, 1, 1, 1.0, 1.0)])
def test_the_smallest_collections_can_be_read(tmp_path, shape):
    assert len(read_collection(made(tmp_path, shape)).run("s1")) == 1
