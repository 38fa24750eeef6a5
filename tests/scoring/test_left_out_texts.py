"""Judged texts as they would be guessed if nobody had judged their systems."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.matching.choice import make
from nuggeteer.matching.learned import LearnedMatcher, weigh
from nuggeteer.pairs import ragged
from nuggeteer.scoring import left_out_texts
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.scorer import Scorer, material

QUESTIONS = [f"q{i}" for i in range(6)]
NUGGETS = [{"qid": qid, "nugget": str(n), "text": f"fact {n} of {qid}"} for qid in QUESTIONS for n in (1, 2)]
SAID = ["the minister resigned over a tax scandal", "sales of diamonds fell sharply", "nothing new was heard today"]


def night(number):
    """Answers of one night: what is said moves from night to night, in words of its own."""
    return [(qid, f"{SAID[(i + j + number) % 3]} x{number}") for i, qid in enumerate(QUESTIONS) for j in range(2)]


def judged(number, said=None):
    return [
        {"qid": qid, "nugget": n, "text": text, "verdict": SAID[int(n) - 1] in text} | (said or {})
        for qid, text in night(number)
        for n in ("1", "2")
    ]


@pytest.fixture
def nights(collect):
    def make_(*names, how="every", **more):
        runs = {name: night(number) for number, name in enumerate(names)}
        judgements = [line for number in range(len(names)) for line in judged(number)]
        return collect(NUGGETS, runs, judgements, dict.fromkeys(names, how), **more)

    return make_


def left_out_of(collection):
    scorer = Scorer(collection)
    return gather_evidence(collection, scorer.matcher, scorer.known).left_out


def test_it_is_what_the_matcher_says_that_never_saw_the_system(nights):
    collection = nights("a", "b", "c")
    scorer = Scorer(collection)
    evidence, known = gather_evidence(collection, scorer.matcher, scorer.known), scorer.known
    carried = np.full(int(collection.key.counts[known.question].sum()), np.nan)
    begin, nugget = ragged(collection.key.offsets[known.question], collection.key.counts[known.question])
    share = carried.copy()
    for name in "abc":
        kept = tuple(j for j in collection.judgements if not j.text.endswith(f"x{'abc'.index(name)}"))
        manifest = {run: info for run, info in collection.manifest.items() if run != name}
        rest = replace(collection, judgements=kept, manifest=manifest)
        others = VerdictIndex(rest.key, rest.judgements, rest.judged_runs)
        matcher = make(material(rest, others))
        rows = np.flatnonzero(np.array(known.runs) == name)
        where = ragged(begin[rows], np.diff(begin)[rows])[1]
        clues = matcher.features([known.texts[row] for row in rows], known.question[rows])
        carried[where] = weigh(clues)
        of_others = np.repeat(np.array(others.runs) != name, collection.key.counts[others.question])
        _, theirs = ragged(collection.key.offsets[others.question], collection.key.counts[others.question])
        yes, pairs = (
            np.bincount(theirs[of_others], w[of_others], len(collection.key.nuggets))
            for w in (others.taught == YES, (others.taught != UNKNOWN).astype(float))
        )
        share[where] = ((yes + 0.5) / (pairs + 1))[nugget[where]]
    told = ~np.isnan(evidence.left_out.carried)
    assert told.sum() == len(told) / 3  # of three systems, one of each question
    assert np.abs(carried[told]).max() > 0.5
    np.testing.assert_allclose(evidence.left_out.carried[told], carried[told], atol=1e-4)
    np.testing.assert_allclose(evidence.left_out.share[told], share[told])


def test_builds_of_one_system_are_left_out_one_at_a_time(nights):
    apart, together = nights("a", "b", "c", folder="apart"), nights("a", "b", "c", folder="together")
    together = replace(
        together, manifest={name: replace(info, group="one") for name, info in together.manifest.items()}
    )
    np.testing.assert_array_equal(left_out_of(apart).carried, left_out_of(together).carried)


def test_one_run_tells_nothing(nights):
    assert left_out_of(nights("a")) is None


def test_where_the_response_with_a_nugget_is_unknown_nothing_is_told(nights, collect):
    assert left_out_of(nights("a", "b", how="best")) is None
    runs = {"a": night(0), "b": night(1)}
    answers = [
        {
            "qid": qid,
            "nugget": "1",
            "text": " ".join(text for q, text in own if q == qid),
            "scope": "answer",
            "verdict": True,
        }
        for own in runs.values()
        for qid in QUESTIONS
    ]
    assert left_out_of(collect(NUGGETS, runs, answers, folder="answers")) is None


def test_n_grams_carry_nothing(nights):
    assert left_out_of(nights("a", "b", toml='[match]\nmatcher = "ngram"\n')) is None


def test_enough_is_taken_from_as_many_questions_as_there_are(nights, monkeypatch):
    """Six systems of six questions with two nuggets: 7 units of the 36 are enough for 13 nuggets."""
    monkeypatch.setattr(left_out_texts, "NUGGETS", 13)
    collection = nights(*"abcdef")
    found, known = left_out_of(collection), Scorer(collection).known
    told = ~np.isnan(found.carried)
    of_pair = np.repeat(np.arange(len(known.texts)), collection.key.counts[known.question])
    units = {(int(known.question[row]), known.runs[row]) for row in of_pair[told].tolist()}
    assert len(units) == 7
    assert {question for question, _ in units} == set(range(6))
    assert told.sum() == 7 * 2 * 2


def test_most_of_what_was_taken_stays_when_questions_are_added(collect, monkeypatch):
    monkeypatch.setattr(left_out_texts, "NUGGETS", 13)

    def taken(questions, folder):
        runs = {name: [line for line in night(i) if line[0] in questions] for i, name in enumerate("abcdef")}
        lines = [line for i in range(6) for line in judged(i) if line["qid"] in questions]
        nuggets = [nugget for nugget in NUGGETS if nugget["qid"] in questions]
        collection = collect(nuggets, runs, lines, dict.fromkeys("abcdef", "every"), folder=folder)
        found, known = left_out_of(collection), Scorer(collection).known
        of_pair = np.repeat(np.arange(len(known.texts)), collection.key.counts[known.question])
        return {known.texts[row] + str(known.question[row]) for row in of_pair[~np.isnan(found.carried)].tolist()}

    before, after = taken(QUESTIONS[:5], "five"), taken(QUESTIONS, "six")
    assert len(before & after) >= 0.7 * len(before)


def test_it_is_remembered_by_question(nights, monkeypatch):
    asked, original = [], LearnedMatcher.left_out

    def watched(self, texts, question, group):
        asked.append({self.key.questions[q].qid for q in question.tolist()})
        return original(self, texts, question, group)

    monkeypatch.setattr(LearnedMatcher, "left_out", watched)
    collection = nights("a", "b", "c")
    first, again = left_out_of(collection), left_out_of(collection)
    assert asked == [set(QUESTIONS)]
    assert first.carried.tobytes() == again.carried.tobytes()
    wrong = {"qid": "q3", "nugget": "2", "text": night(0)[6][1], "verdict": True}
    with (collection.root / "judgements" / "me.jsonl").open("w", encoding="utf-8") as file:
        json.dump(wrong, file)
    left_out_of(read_collection(collection.root))
    assert asked[1:] == [{"q3"}]


def test_where_nobody_else_judged_the_same_question_nothing_is_left_out(collect):
    """Two verdicts on the answers of two systems to two questions: the first day of a collection."""
    said = [
        {"qid": qid, "nugget": "1", "text": text, "verdict": True, "run": run, "assessor": "ann"}
        for qid, run, text in (("q0", "a", "the minister resigned"), ("q1", "b", "sales of diamonds fell"))
    ]
    collection = collect(NUGGETS, {"a": night(0), "b": night(1)}, said)
    assert left_out_of(collection) is None
