"""Known or guessed: each rule of DESIGN §4 as a property, and all of them against a naive reading."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key
from nuggeteer.records import AnswerKey, Judgement, Nugget, Question, Run, RunInfo
from nuggeteer.scoring.known import NO, PARTLY, UNKNOWN, YES, VerdictIndex
from nuggeteer.text import normalised

QIDS, NUGGETS, TEXTS = ("q1", "q2"), ("1", "2"), ("alpha", "beta", "gamma")
KEY = make_key([Question(q, "") for q in QIDS], [Nugget(q, n, ("x",), "vital") for q in QIDS for n in NUGGETS])


def run_of(name: str, judged: str, responses: list[tuple[str, str]], key: AnswerKey = KEY) -> Run:
    responses = sorted(responses, key=lambda r: key.position[r[0]])
    question = np.array([key.position[q] for q, _ in responses], dtype=np.int32)
    offsets = np.searchsorted(question, np.arange(len(key.questions) + 1)).astype(np.int64)
    return Run(name, RunInfo(name, judged=judged), [t for _, t in responses], None, question, offsets)


def state(known: VerdictIndex, qid: str, nugget: str, text: str) -> int:
    states = known([normalised(text)], np.array([KEY.position[qid]], dtype=np.int32))
    return int(states[NUGGETS.index(nugget)])


def naive(judgements: list[Judgement], runs: list[Run], qid: str, nugget: str, text: str) -> int:
    """The four rules, read aloud."""
    on_text = [j for j in judgements if (j.qid, j.nugget) == (qid, nugget) and j.text.lower() == text.lower()]
    if any(j.verdict for j in on_text):
        return YES
    if on_text:
        return PARTLY if any(j.partial for j in on_text) else NO
    for run in runs:
        answer = [t.lower() for q, t in zip(run.question, run.texts, strict=True) if QIDS[q] == qid]
        if text.lower() not in answer:
            continue
        yes = any(
            j.verdict and (j.qid, j.nugget) == (qid, nugget) and (j.text.lower() in answer or j.run == run.name)
            for j in judgements
        )
        if run.info.judged == "every" or (run.info.judged == "best" and not yes):
            return NO
    return UNKNOWN


judgement = st.builds(
    Judgement,
    qid=st.sampled_from(QIDS),
    nugget=st.sampled_from(NUGGETS),
    text=st.sampled_from([*TEXTS, "ALPHA", " beta "[1:-1]]),
    verdict=st.booleans(),
    run=st.sampled_from([None, "r1", "r2"]),
)
partial = judgement.map(lambda j: Judgement(j.qid, j.nugget, j.text, False, partial=True, run=j.run))
judgements_ = st.lists(judgement | partial, max_size=8)
runs_ = st.lists(
    st.tuples(
        st.sampled_from(["every", "best"]),
        st.lists(st.tuples(st.sampled_from(QIDS), st.sampled_from(TEXTS)), max_size=5),
    ),
    max_size=2,
).map(lambda rs: [run_of(f"r{i}", judged, responses) for i, (judged, responses) in enumerate(rs, 1)])


@settings(max_examples=300)
@given(judgements=judgements_, runs=runs_)
def test_all_rules_together_agree_with_a_naive_reading(judgements, runs):
    known = VerdictIndex(KEY, judgements, runs)
    for qid in QIDS:
        for nugget in NUGGETS:
            for text in TEXTS:
                assert state(known, qid, nugget, text) == naive(judgements, runs, qid, nugget, text)


@given(judgements=judgements_, runs=runs_, j=judgement)
def test_rule_1_a_yes_on_the_same_text_is_a_yes_whatever_else_was_said(judgements, runs, j):
    yes = Judgement(j.qid, j.nugget, j.text, True)
    assert state(VerdictIndex(KEY, [*judgements, yes], runs), j.qid, j.nugget, f"  {j.text.upper()}\n") == YES


@given(judgements=judgements_, runs=runs_, j=judgement)
def test_rule_2_a_written_no_is_a_no_unless_somebody_said_yes(judgements, runs, j):
    others = [o for o in judgements if not o.verdict and not o.partial]
    no = Judgement(j.qid, j.nugget, j.text, False)
    assert state(VerdictIndex(KEY, [*others, no], runs), j.qid, j.nugget, j.text) == NO


@given(text=st.sampled_from(TEXTS), other=st.sampled_from(TEXTS))
def test_rule_3_silence_about_a_run_judged_every_is_a_no(text, other):
    """Even for a nugget that was found elsewhere in the run."""
    run = run_of("r1", "every", [("q1", text), ("q1", other)])
    known = VerdictIndex(KEY, [Judgement("q1", "1", other, True, run="r1")], [run])
    assert state(known, "q1", "1", text) == (YES if text == other else NO)
    assert state(known, "q1", "2", text) == NO


def test_rule_3_silence_about_a_run_judged_best_is_a_no_only_for_nuggets_not_found_in_it():
    run = run_of("r1", "best", [("q1", "alpha"), ("q1", "beta")])
    known = VerdictIndex(KEY, [Judgement("q1", "1", "beta", True)], [run])
    assert state(known, "q1", "1", "alpha") == UNKNOWN  # only the best response was marked
    assert state(known, "q1", "2", "alpha") == NO


def test_in_a_run_judged_best_all_of_an_answer_was_read_whether_or_not_it_has_the_nugget():
    """Otherwise models see how many responses were read, and know the verdict."""
    run = run_of("r1", "best", [("q1", "alpha"), ("q1", "beta"), ("q1", "gamma")])
    known = VerdictIndex(KEY, [Judgement("q1", "1", "beta", True)], [run])
    asked = known.asked.reshape(3, 2)  # texts × nuggets
    assert asked.all()
    assert (known.states.reshape(3, 2)[:, 0] == UNKNOWN).sum() == 2


def test_of_a_text_that_another_run_had_first_a_run_judged_best_is_not_asked():
    """The yes counts for the other run, so what is left of this one would look like a no."""
    runs = [run_of("r1", "every", [("q1", "beta")]), run_of("r2", "best", [("q1", "alpha"), ("q1", "beta")])]
    known = VerdictIndex(KEY, [Judgement("q1", "1", "beta", True)], runs)
    alpha = known.texts.index("alpha")
    assert not known.asked.reshape(2, 2)[alpha, 0]


def test_rule_3_a_verdict_that_names_a_run_judged_best_counts_though_its_text_is_not_there():
    run = run_of("r1", "best", [("q1", "alpha")])
    known = VerdictIndex(KEY, [Judgement("q1", "1", "a text that was edited since", True, run="r1")], [run])
    assert state(known, "q1", "1", "alpha") == UNKNOWN
    assert state(known, "q1", "2", "alpha") == NO


@given(judgements=judgements_, runs=runs_)
def test_rule_4_a_text_that_nobody_saw_is_unknown(judgements, runs):
    known = VerdictIndex(KEY, judgements, runs)
    assert state(known, "q1", "1", "delta") == UNKNOWN


def test_a_verdict_holds_for_its_own_question_only():
    known = VerdictIndex(KEY, [Judgement("q1", "1", "alpha", True)], [])
    assert state(known, "q2", "1", "alpha") == UNKNOWN


@given(judgements=judgements_, runs=runs_, seed=st.randoms(use_true_random=False))
def test_the_order_of_judgements_and_runs_never_matters(judgements, runs, seed):
    before = VerdictIndex(KEY, judgements, runs)
    mixed_j, mixed_r = list(judgements), list(runs)
    seed.shuffle(mixed_j)
    seed.shuffle(mixed_r)
    after = VerdictIndex(KEY, mixed_j, mixed_r)
    for qid in QIDS:
        for nugget in NUGGETS:
            for text in TEXTS:
                assert state(before, qid, nugget, text) == state(after, qid, nugget, text)
