"""Match scores that are kept for the next command: what is matched again, and that no bit depends on it."""

from __future__ import annotations

import json
import random
import shutil

import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.scoring.scorer import Scorer


@pytest.fixture
def folder(sample, tmp_path):
    shutil.copytree(sample.root, tmp_path / "sample", ignore=shutil.ignore_patterns(".nuggeteer"))
    return tmp_path / "sample"


@pytest.fixture
def matched(monkeypatch):
    """The questions whose texts are matched (score), and compared with judged texts (carried)."""
    asked = {"score": set(), "carried": set()}

    def watch(kind, of):
        original = getattr(of, kind)

        def watched(self, texts, question, *rest):
            asked[kind] |= {self.key.questions[q].qid for q in question.tolist()}
            return original(self, texts, question, *rest)

        monkeypatch.setattr(of, kind, watched)

    watch("score", NgramMatcher)
    watch("carried", LearnedMatcher)
    return asked


def pairs_of(folder, run="build-103"):
    matched = Scorer(read_collection(folder)).read(run)
    return matched.pairs.scores.tobytes(), matched.pairs.carried.tobytes()


def change(path, number, **fields):
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | fields)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def judge(folder, number, verdict, nugget="2"):
    line = json.loads((folder / "runs" / "build-102.jsonl").read_text(encoding="utf-8").splitlines()[number])
    path = folder / "judgements" / "me.jsonl"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    verdict = {"qid": line["qid"], "nugget": nugget, "text": line["text"], "verdict": verdict}
    path.write_text(f"{before}{json.dumps(verdict)}\n", encoding="utf-8")
    return line["qid"]


def test_the_second_time_nothing_is_matched(folder, matched):
    first = pairs_of(folder)
    assert len(matched["score"]) > 1
    assert len(matched["carried"]) > 1
    for own in matched.values():
        own.clear()
    assert pairs_of(folder) == first
    assert matched == {"score": set(), "carried": set()}


def test_a_verdict_concerns_its_question_only(folder, matched):
    before = pairs_of(folder)
    for own in matched.values():
        own.clear()
    qid = judge(folder, 0, True)
    after = pairs_of(folder)
    assert matched["score"] <= {qid}
    assert matched["carried"] == {qid}
    assert before[0] == after[0]
    assert before[1] != after[1]
    shutil.rmtree(folder / ".nuggeteer")
    assert pairs_of(folder) == after


def test_a_response_concerns_its_question_only(folder, matched):
    pairs_of(folder)
    for own in matched.values():
        own.clear()
    path = folder / "runs" / "build-103.jsonl"
    qid = json.loads(path.read_text(encoding="utf-8").splitlines()[3])["qid"]
    change(path, 3, text="It was said of the first nuclear reactor.")
    pairs_of(folder)
    assert matched == {"score": {qid}, "carried": {qid}}


def test_whatever_changes_the_values_are_those_of_a_collection_that_remembers_nothing(folder, tmp_path):
    rng = random.Random(0)
    pairs_of(folder)
    nuggets, runs, toml = folder / "nuggets.jsonl", folder / "runs" / "build-103.jsonl", folder / "nuggeteer.toml"
    for step in range(12):
        match rng.choice(["verdict", "nugget", "response", "settings", "nothing"]):
            case "verdict":
                judge(folder, rng.randrange(20), rng.random() < 0.5, nugget="1")
            case "nugget":
                change(nuggets, rng.randrange(10), text=f"another nugget {step} in 1942")
            case "response":
                change(runs, rng.randrange(20), text=f"another response {step} in 1942")
            case "settings":
                toml.write_text(f"[match]\nstem = {rng.choice(['true', 'false'])}\n", encoding="utf-8")
        shutil.copytree(folder, tmp_path / "fresh", ignore=shutil.ignore_patterns(".nuggeteer"))
        shutil.copytree(
            folder / ".nuggeteer", tmp_path / "fresh" / ".nuggeteer", ignore=shutil.ignore_patterns("matches")
        )
        assert pairs_of(folder) == pairs_of(tmp_path / "fresh")
        shutil.rmtree(tmp_path / "fresh")


def test_a_damaged_file_is_ignored_and_replaced(folder, matched):
    first = pairs_of(folder)
    (own, *_) = sorted((folder / ".nuggeteer" / "matches").iterdir())
    good = own.read_bytes()
    for bad in (good[:-100], good[:200] + bytes([good[200] ^ 1]) + good[201:], b"", b"PK\x03\x04"):
        own.write_bytes(bad)
        for questions in matched.values():
            questions.clear()
        assert pairs_of(folder) == first
        assert pairs_of(folder) == first
    assert own.read_bytes() == good


def test_what_another_user_remembered_is_not_believed(folder, matched, tmp_path, monkeypatch):
    first = pairs_of(folder)
    for questions in matched.values():
        questions.clear()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
    assert pairs_of(folder) == first
    assert len(matched["score"]) > 1


def test_a_matcher_that_says_nothing_of_what_it_depends_on_is_always_asked(folder):
    (folder / "nuggeteer.toml").write_text('[match]\nmatcher = "pourpre"\n', encoding="utf-8")
    scorer = Scorer(read_collection(folder))
    scorer.read("build-103")
    assert not (folder / ".nuggeteer" / "matches").exists()
