"""A verdict on a whole answer settles that answer exactly, and teaches what it says of the responses inside."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.ledger import Ledger
from nuggeteer.scoring.known import NO, UNKNOWN, YES
from nuggeteer.scoring.scorer import Scorer
from tests.conftest import write_lines

NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "the capital is Paris", "importance": "vital"},
    {"qid": "q1", "nugget": "2", "text": "the Seine flows through it", "importance": "okay"},
    {"qid": "q2", "nugget": "1", "text": "it fell in 1989", "importance": "vital"},
]
SENTENCES = ["The capital of France is Paris.", "It is old [1].", "A river flows there."]
ANSWER = " ".join(SENTENCES)
# The same answer in another dress, and another that shares a sentence with it.
DRESSED = "The capital of France is **Paris**.\nIt is old [1]. A river flows there"
OTHER = "A river flows there. Something else."


def judged(nugget, verdict, text=ANSWER, scope="answer", **more):
    line = {"qid": "q1", "nugget": nugget, "text": text, "verdict": verdict, "assessor": "ann", **more}
    return line | ({"scope": scope} if scope == "answer" else {})


@pytest.fixture
def collect(tmp_path):
    def make(judgements, split="sentences", manifest=(), **runs):
        write_lines(tmp_path / "nuggets.jsonl", NUGGETS)
        for name, texts in (runs or {"tonight": [ANSWER]}).items():
            records = [{"qid": "q1", "text": text} for text in texts]
            write_lines(tmp_path / "runs" / f"{name}.jsonl", [*records, {"qid": "q2", "text": "It fell."}])
        write_lines(tmp_path / "judgements" / "ann.jsonl", judgements)
        write_lines(tmp_path / "runs.jsonl", manifest)
        (tmp_path / "nuggeteer.toml").write_text(f'[answers]\nsplit = "{split}"\n')
        return read_collection(tmp_path)

    return make


def states(matched, nugget):
    return matched.states[matched.nugget == nugget].tolist()


@pytest.mark.parametrize("split", ["sentences", "none"])
@pytest.mark.parametrize("text", [ANSWER, f"  {ANSWER.upper()} "])
def test_a_yes_settles_the_answer(collect, split, text):
    scorer = Scorer(collect([judged("1", True, text)], split))
    outcome = scorer.find(scorer.read("tonight"))
    assert outcome.found[0]
    assert outcome.known[0]
    assert outcome.probability[0] == 1
    assert outcome.drawn is not None
    assert outcome.drawn[:, 0].all()
    assert outcome.response[0] == 0  # the sentence with the most words of the nugget gets the credit
    assert not outcome.known[1]
    assert not outcome.known[2]


@pytest.mark.parametrize("split", ["sentences", "none"])
def test_a_no_settles_the_answer(collect, split):
    scorer = Scorer(collect([judged("1", False)], split))
    matched = scorer.read("tonight")
    outcome = scorer.find(matched)
    assert not outcome.found[0]
    assert outcome.known[0]
    assert outcome.probability[0] == 0
    assert set(states(matched, 0)) == {NO}
    assert set(states(matched, 1)) == {UNKNOWN}


def test_the_answer_may_be_dressed_otherwise_but_not_have_other_words(collect):
    scorer = Scorer(
        collect([judged("1", True)], same=[DRESSED], less=[" ".join(SENTENCES[:2])], more=[ANSWER, "More."])
    )
    known = {name: bool(scorer.find(scorer.read(name)).known[0]) for name in ("same", "less", "more")}
    assert known == {"same": True, "less": False, "more": False}


def test_an_answer_of_several_records_is_their_texts_one_a_line(collect):
    text = "\n".join(SENTENCES)
    scorer = Scorer(collect([judged("1", True, text), judged("2", False, text)], "none", tonight=SENTENCES))
    outcome = scorer.find(scorer.read("tonight"))
    assert outcome.known[:2].tolist() == [True, True]
    assert outcome.found[:2].tolist() == [True, False]


def test_no_response_of_an_answer_judged_no_carries_the_nugget(collect):
    scorer = Scorer(collect([judged("2", False)], other=[OTHER]))
    assert states(scorer.read("other"), 1) == [NO, UNKNOWN]  # the shared sentence, and another


def test_a_yes_on_an_answer_does_not_decide_its_sentences_in_other_answers(collect):
    scorer = Scorer(collect([judged("1", True)], other=[f"{SENTENCES[0]} Something else."]))
    assert states(scorer.read("other"), 0) == [UNKNOWN, UNKNOWN]


def test_a_yes_inside_outweighs_a_no_on_the_answer_and_check_lists_it(collect, tmp_path):
    collection = collect([judged("1", False), judged("1", True, SENTENCES[1], "response")])
    scorer = Scorer(collection)
    matched = scorer.read("tonight")
    assert states(matched, 0) == [NO, YES, NO]
    assert scorer.find(matched).response[0] == 1
    assert [p.line for p in check(tmp_path) if "no on a whole answer contradicts" in p.what] == [1]


def test_a_yes_and_a_no_on_an_answer_are_a_yes_and_a_contradiction(collect, tmp_path):
    scorer = Scorer(collect([judged("1", False), judged("1", True, assessor="bob")]))
    assert scorer.find(scorer.read("tonight")).found[0]
    assert [p.line for p in check(tmp_path) if "contradicts" in p.what] == [2]


def test_a_yes_on_a_sentence_and_one_on_the_answer_that_is_it_do_not_contradict(collect, tmp_path):
    collect([judged("1", False, SENTENCES[1], "response"), judged("1", True)])
    assert not [p for p in check(tmp_path) if "contradicts" in p.what]


def test_where_all_responses_are_judged_no_the_yes_on_the_answer_counts(collect):
    lines = [judged("1", False, text, "response") for text in SENTENCES]
    scorer = Scorer(collect([*lines, judged("1", True)]))
    outcome = scorer.find(scorer.read("tonight"))
    assert outcome.found[0]
    assert outcome.response[0] == 0


def test_a_partial_no_on_an_answer_is_partly(collect):
    scorer = Scorer(collect([judged("1", False, partial=True)]))
    outcome = scorer.find(scorer.read("tonight"))
    assert outcome.partly[0]
    assert outcome.partial[0] == 1
    assert not outcome.found[0]
    assert outcome.known[0]


def test_what_is_learned_from_a_yes_is_its_likeliest_response(collect):
    known = Scorer(collect([judged("1", True), judged("2", False)])).known
    taught = {text: known.taught[2 * i : 2 * i + 2].tolist() for i, text in enumerate(known.texts)}
    assert taught == {
        SENTENCES[0].lower(): [YES, NO],
        SENTENCES[1].lower(): [UNKNOWN, NO],
        SENTENCES[2].lower(): [UNKNOWN, NO],
    }
    assert (known.states == YES).sum() == 0


def test_silence_on_a_run_says_nothing_of_a_nugget_that_its_answer_has(collect):
    scorer = Scorer(collect([judged("1", True)], manifest=[{"run": "tonight", "judged": "every"}]))
    assert np.isin(scorer.known.states, [NO, UNKNOWN]).all()
    outcome = scorer.find(scorer.read("tonight"))
    assert outcome.found.tolist() == [True, False, False]
    assert outcome.known.all()


def test_all_pairs_of_a_settled_answer_are_known(collect):
    scorer = Scorer(collect([judged("1", True), judged("2", False), {**judged("1", False, "It fell."), "qid": "q2"}]))
    outcome = scorer.find(scorer.read("tonight"))
    assert (outcome.pairs_known, outcome.pairs_guessed) == (7, 0)


def test_a_retraction_is_of_the_answer_or_of_the_response(collect, tmp_path):
    one = "One sentence only."
    lines = [judged("1", True, one), judged("1", False, one, "response")]
    collection = collect(lines, tonight=[one])
    answer = next(j for j in collection.judgements if j.scope == "answer")
    Ledger(tmp_path, "ann").retract(answer)
    assert [(j.scope, j.verdict) for j in read_collection(tmp_path).judgements] == [("response", False)]


def test_the_signature_sees_the_scope(collect):
    one = "One sentence only."
    signatures = {str(Scorer(collect([judged("1", True, one, scope)])).signature) for scope in ("answer", "response")}
    assert len(signatures) == 2
