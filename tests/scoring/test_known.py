"""Known or guessed: the rules against a naive reading of them."""

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
