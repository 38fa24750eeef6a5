"""Gates: they decide only what is sure, about the questions that were asked, and say why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.comparing.gate import Gate, Ruling, basis_of, possibly_lost, rule, signed
from nuggeteer.statistics.intervals import DIFFERENCES, Interval, mean_interval

ORDER = "FAIL", "UNDECIDED", "PASS"


@pytest.fixture(scope="module")
def folder(copy_of_sample, tmp_path_factory):
    return copy_of_sample(tmp_path_factory.mktemp("gate") / "sample")


@pytest.fixture(scope="module")
def result(folder):
    return diff(read_collection(folder), "build-101", "build-102", ["f3"])


def with_draws(result, drawn, whole=(-1.0, 1.0)):
    """The same change, if it is this in each draw; None for a model that draws nothing."""
    drawn = None if drawn is None else np.asarray(drawn, dtype=float)
    value = 0.0 if drawn is None else float(drawn.mean())
    judging = None if drawn is None else tuple(np.quantile(drawn, [0.025, 0.975]).tolist())
    low, high = whole if whole else (None, None)
    interval = Interval(value, value, low, high, judging, whole)
    return replace(result, deltas={"f3": replace(result.headline, interval=interval, drawn=drawn)})


def share_below(share, limit=-0.05, draws=1000):
    """So large a share of the draws is just below a limit, and the rest is at it."""
    below = round(share * draws)
    return [limit - 0.001] * below + [limit] * (draws - below)


def with_losses(result, *probabilities):
    """Only these vital nuggets may be lost."""
    loss = np.zeros(len(result.loss))
    loss[np.flatnonzero(result.key.vital)[: len(probabilities)]] = probabilities
    changes = tuple(replace(result.lost[0], probability=p) for p in probabilities if p >= 0.5)
    assert all(change.vital for change in changes)
    return replace(result, loss=loss, gain=np.zeros(len(loss)), lost=changes, doubtful=())


def score_gate(result, by, about="these"):
    (gate,) = rule(result, by, about=about).gates
    return gate


def loss_gate(result, most, sure=0.95):
    (gate,) = rule(result, most=most, sure=sure).gates
    return gate


@pytest.mark.parametrize(
    ("below", "decision", "words"),
    [
        (0.0, "PASS", "is not worse by more than 0.05 on these questions: the change is −0.050"),
        (0.004, "PASS", "is not worse by more than 0.05 on these questions (>99 % sure): the change is "),
        (0.05, "PASS", "(95 % sure)"),
        (
            0.051,
            "UNDECIDED",
            "may be worse by more than 0.05 on these questions (6 % probable): the change is ",
        ),
        (0.949, "UNDECIDED", "(94 % probable)"),
        (0.95, "FAIL", "is worse by more than 0.05 on these questions (95 % sure): the change is between "),
        (1.0, "FAIL", "is worse by more than 0.05 on these questions: the change is −0.051"),
    ],
)
def test_the_score_gate_decides_what_is_probable_enough(result, below, decision, words):
    """The limit itself is allowed. The whole interval, which is about other questions, says nothing here."""
    gate = score_gate(with_draws(result, share_below(below)), 0.05)
    assert (gate.decision, gate.probability) == (decision, below)
    assert words in gate.why


@pytest.mark.parametrize("known", [False, True])
def test_the_last_bits_of_a_number_decide_nothing(result, known):
    """A change of just the limit, as it comes out of a sum."""
    change = -(0.1 + 0.2) / 6
    assert change < -0.05
    found = with_draws(result, [change, change])
    if known:
        found = replace(found, deltas={"f3": replace(found.headline, drawn=None)})
    assert score_gate(found, 0.05).decision == "PASS"


def test_a_model_that_draws_nothing_decides_nothing(result):
    gate = score_gate(with_draws(result, None), 0.05)
    assert (gate.decision, gate.probability) == ("UNDECIDED", None)
    assert "cannot say how sure it is" in gate.why


@pytest.mark.parametrize("by", [0.0, 0.02, 0.05, 0.08])
@pytest.mark.parametrize("mean", [-0.12, -0.05, -0.02, 0.03])
def test_about_all_questions_a_one_sided_test_decides(result, by, mean):
    """Where all is known: that of Student, which has little to do with the bounds of a score so far from them."""
    changes = np.random.default_rng(1).normal(mean, 0.1, 40)
    interval = mean_interval(changes, certain=True, scale=DIFFERENCES)
    delta = replace(
        result.headline, interval=interval, drawn=None, old_by_question=0 * changes, new_by_question=changes
    )
    gate = score_gate(replace(result, deltas={"f3": delta}), by, "all")
    worse = float(ttest_1samp(changes, -by, alternative="greater").pvalue)
    assert gate.probability == pytest.approx(worse, abs=0.005)
    assert gate.decision == ("FAIL" if worse >= 0.95 else "PASS" if worse <= 0.05 else "UNDECIDED")
    assert "for questions like these" in gate.why
    assert gate.beyond == ""


@pytest.mark.parametrize(("ends", "decision"), [((-0.1, 0.05), "UNDECIDED"), ((0.0, 0.05), "PASS")])
def test_what_no_resample_reaches_is_not_possible(result, ends, decision):
    """About all questions, by a bootstrap whose interval begins at the value itself."""
    delta = replace(result.headline, interval=Interval(0.0, 0.0, *ends, (0.0, 0.0), ends), drawn=None)
    assert score_gate(replace(result, deltas={"f3": delta}), 0.05, "all").decision == decision


def test_what_it_means_for_other_questions_stands_in_a_second_line(result):
    gate = score_gate(with_draws(result, (0.01, 0.02), (-0.3, 0.3)), 0.05)
    assert gate.beyond == "For questions like these, the change is between −0.300 and +0.300"
    assert score_gate(with_draws(result, (0.01, 0.02), None), 0.05).beyond == ""


def test_few_questions_say_nothing_of_others_and_all_of_themselves(result):
    few = with_draws(result, (0.01, 0.02), None)
    assert score_gate(few, 0.05).decision == "PASS"
    gate = score_gate(few, 0.05, "all")
    assert (gate.decision, "takes 5 questions" in gate.why) == ("UNDECIDED", True)


def test_a_measure_that_no_question_has_decides_nothing(result):
    delta = replace(result.headline, interval=Interval(None))
    gate = score_gate(replace(result, deltas={"f3": delta}), 0.05)
    assert (gate.decision, gate.why) == ("UNDECIDED", "F(3) is undefined in every question")


@pytest.mark.parametrize(("change", "decision"), [(-0.25, "PASS"), (-0.375, "FAIL"), (0.0, "PASS")])
def test_where_every_question_changed_alike_there_is_no_doubt(result, change, decision):
    """No interval can be had from changes that do not vary; both limits are exact in binary."""
    flat = np.full(len(result.headline.by_question), change)
    delta = replace(result.headline, interval=Interval(change), old_by_question=0 * flat, new_by_question=flat)
    gate = score_gate(replace(result, deltas={"f3": delta}), 0.25)
    assert gate.decision == decision
    how = f"changed by {signed(change)} in" if change else "is the same for"
    assert gate.why == f"F(3) {how} every question"


@pytest.mark.parametrize(
    ("probabilities", "decision", "why"),
    [
        ((), "PASS", "0 vital nuggets surely lost; 1 is allowed"),
        ((0.94,), "PASS", "Up to 1 vital nugget may be lost, but none surely; 1 is allowed"),
        ((0.99,), "PASS", "1 vital nugget surely lost; 1 is allowed (X)"),
        ((0.99, 0.04), "PASS", "1 vital nugget surely lost; 1 is allowed (X)"),
        ((0.99, 0.06), "UNDECIDED", "1 vital nugget surely lost and 1 possibly; 1 is allowed (X)"),
        ((0.94, 0.94), "UNDECIDED", "Up to 2 vital nuggets may be lost, but none surely; 1 is allowed"),
        ((0.95, 1.0, 0.5), "FAIL", "2 vital nuggets surely lost and 1 possibly; 1 is allowed (X, X)"),
        ((1.0,) * 5, "FAIL", "5 vital nuggets surely lost; 1 is allowed (X, X, X and 2 more)"),
    ],
)
def test_the_gate_of_losses_counts_the_sure_ones_against_and_the_possible_ones_as_doubt(
    result, probabilities, decision, why
):
    gate = loss_gate(with_losses(result, *probabilities), 1)
    first = result.lost[0]
    assert (gate.decision, gate.why) == (decision, why.replace("X", f"{first.question.qid}/{first.nugget.nugget}"))


@pytest.mark.parametrize(
    ("probabilities", "most", "decision"),
    [
        ((0.75,), 0, "FAIL"),
        ((0.75,), 1, "PASS"),
        ((0.7499,), 0, "UNDECIDED"),
        ((0.25,), 0, "PASS"),
        ((0.2501,), 0, "UNDECIDED"),
        ((0.2501,), 1, "PASS"),
        ((0.75, 0.2501), 1, "UNDECIDED"),
        ((0.75, 0.75), 1, "FAIL"),
    ],
)
def test_sure_is_at_least_and_possible_is_more_than_the_rest(result, probabilities, most, decision):
    """¾ and ¼ are exact in binary: a loss of ¾ is sure where ¾ is asked for, and one of ¼ is excluded."""
    assert loss_gate(with_losses(result, *probabilities), most, 0.75).decision == decision


@pytest.mark.parametrize(
    ("decisions", "together"),
    [("PASS", "PASS"), ("PASS UNDECIDED", "UNDECIDED"), ("UNDECIDED FAIL PASS", "FAIL"), ("PASS PASS", "PASS")],
)
def test_one_failure_decides_and_a_pass_takes_all(decisions, together):
    gates = tuple(Gate("", decision, decision) for decision in decisions.split())
    ruling = Ruling(gates, "read")
    assert ruling.decision == ruling.title == together
    assert ruling.reason == " ".join(f"{d}." for d in decisions.split() if d == together)


STRANGE = "9 answers are refusals, and last night's were not."


@pytest.mark.parametrize("decision", ORDER)
@pytest.mark.parametrize("strange", [(), (STRANGE,)])
def test_nothing_is_decided_before_the_first_verdict(decision, strange):
    """Neither well nor badly. The reason is the command with which to begin."""
    ruling = Ruling((Gate("", decision, "so it is"),), "nobody", strange, "nuggeteer judge b --against a")
    assert ruling.decision == ruling.title == "UNDECIDED"
    assert ruling.reason == (
        "Nobody has read any answer yet, so this cannot be decided. Begin with: nuggeteer judge b --against a"
    )


@pytest.mark.parametrize("decision", ["PASS", "UNDECIDED"])
def test_nothing_passes_on_a_strange_night(decision):
    ruling = Ruling((Gate("", decision, "so it is"),), "read", (STRANGE,), "nuggeteer judge b --against a")
    assert ruling.decision == "UNDECIDED"
    assert ruling.reason == f"{STRANGE} Read a few of these answers first: nuggeteer judge b --against a"
    assert ruling.remarks == ()


@pytest.mark.parametrize("basis", ["read", "guessed"])
def test_a_failure_is_one_however_strange_the_night_is_and_says_so(basis):
    ruling = Ruling((Gate("", "FAIL", "worse", beyond="Elsewhere, who knows"),), basis, (STRANGE, "also this"))
    assert (ruling.decision, ruling.title, ruling.reason) == (
        "FAIL",
        "FAIL" if basis == "read" else "FAIL (guessed)",
        "worse.",
    )
    assert ruling.remarks == (STRANGE, "Elsewhere, who knows.")


def test_where_nobody_judged_anything_no_gate_fails(result):
    """Nor does one in the report for a build server, which counts each by itself."""
    bad = replace(with_draws(with_losses(result, 1.0, 1.0), (-0.5, -0.4)), anyone_judged=False)
    ruling = rule(bad, 0.05, 0)
    assert [gate.decision for gate in ruling.gates] == ["UNDECIDED", "UNDECIDED"]
    assert "nuggeteer judge build-102 --against build-101" in ruling.reason


def test_a_decision_about_what_nobody_read_says_so():
    titles = {
        decision: [Ruling((Gate("", decision, "so"),), basis).title for basis in ("read", "guessed", "nobody")]
        for decision in ("PASS", "FAIL", "UNDECIDED")
    }
    assert titles["PASS"] == ["PASS", "PASS (guessed)", "UNDECIDED"]
    assert titles["FAIL"][:2] == ["FAIL", "FAIL (guessed)"]  # of nobody, no gate fails
    assert titles["UNDECIDED"] == ["UNDECIDED"] * 3


def test_the_basis_is_what_people_read_of_tonights_answers(collect):
    """A sentence that stood in last night's answer was not read tonight, and neither was an answer that is the same."""
    nuggets = [{"qid": q, "nugget": n, "text": f"fact {n}"} for q in "ab" for n in "12"]
    old = [("a", "This is fact 1."), ("b", "This is fact 2.")]
    new = [*old, ("a", "Here is fact 2.")]

    def basis(*said, tonight=new):
        verdicts = [{"qid": q, "nugget": n, "text": t, "verdict": v, "run": r} for q, n, t, v, r in said]
        return basis_of(diff(collect(nuggets, {"old": old, "new": tonight}, verdicts), "old", "new"))

    kept, other = ("a", "1", "This is fact 1.", True, "old"), ("b", "2", "This is fact 2.", True, "new")
    assert basis() == "nobody"
    assert basis(kept) == basis(kept, other) == "guessed"
    assert basis(kept, ("a", "2", "Here is fact 2.", True, "new")) == "read"
    assert basis(("a", "1", "Here is fact 2.", False, "new"), ("a", "1", "This is fact 1.", False, "old")) == "read"
    assert basis(kept, tonight=old) == "read"
    every = [("a", n, "Here is fact 2.", n == "2", "new") for n in "12"]
    assert basis(*every, tonight=[("a", "Here is fact 2.")]) == "read"


def test_a_gate_that_nobody_asks_for_is_left_out(result):
    assert [gate.rule for gate in rule(result, 0.05, 2).gates] == [
        "F(3) not worse by more than 0.05",
        "at most 2 vital nuggets lost",
    ]
    assert len(rule(result, by=0.0).gates) == len(rule(result, most=0).gates) == 1


@given(
    drawn=st.lists(st.integers(-500, 500), min_size=2, max_size=60),
    limits=st.tuples(st.integers(0, 600), st.integers(0, 600)),
)
def test_who_allows_more_never_gets_a_worse_decision(result, drawn, limits):
    """And the decision is what one counts in the draws, here in thousandths: nearly all are allowed, some, or hardly
    any."""
    changed = with_draws(result, [one / 1000 for one in drawn])
    strict, lax = (score_gate(changed, by / 1000).decision for by in (min(limits), max(limits)))
    assert ORDER.index(strict) <= ORDER.index(lax)
    below = sum(one < -min(limits) for one in drawn)
    allowed = len(drawn) - below
    assert strict == ("FAIL" if allowed * 20 <= len(drawn) else "PASS" if below * 20 <= len(drawn) else "UNDECIDED")


@given(
    probabilities=st.lists(st.floats(0, 1), max_size=6),
    most=st.integers(0, 6),
    sure=st.sampled_from([0.5, 0.75, 0.9375]),
)
def test_the_gate_of_losses_is_two_counts(result, probabilities, most, sure):
    changed = with_losses(result, *probabilities)
    lost = sum(p >= sure for p in probabilities)
    possible = sum(p > 1 - sure for p in probabilities)
    decision = "FAIL" if lost > most else "PASS" if possible <= most else "UNDECIDED"
    gate = loss_gate(changed, most, sure)
    assert gate.decision == decision
    assert len(gate.lost) == lost
    assert len(possibly_lost(changed, sure)) == possible


def test_numbers_are_printed_so_that_the_reason_can_be_seen(result):
    """−0.0104 is below −0.01, which −0.010 would not show."""
    assert signed(-0.0104, -0.01) == "−0.0104"
    assert signed(-0.0204, -0.01) == "−0.020"
    assert signed(0.0) == signed(-0.0002) == "0"
    assert signed(-0.0002, 0.0) == "−0.0002"
    tiny = score_gate(with_draws(result, (-0.0002, -0.0002)), 0.05)
    assert tiny.why.endswith("the change is less than 0.0005")
    why = score_gate(with_draws(result, [-0.1] * 50 + [-0.0104] * 50), 0.01).why
    assert (
        why
        == "F(3) is worse by more than 0.01 on these questions (>99 % sure): the change is between −0.100 and −0.0104"
    )
    assert score_gate(with_draws(result, (-0.1, -0.1)), 0.0).why.endswith(
        "worse on these questions: the change is −0.100"
    )


def test_where_all_is_read_the_answer_is_exact(folder):
    """Two systems of which everything was judged: no doubt is left about these questions, and some about others."""
    collection = read_collection(folder)
    found = diff(collection, "aurora", "cobalt", ["f3"])
    change = found.headline.interval
    assert change.judging == (change.value, change.value)
    assert change.low < change.value < change.high
    for by in (abs(change.value) * 0.99, abs(change.value) * 1.01):
        for one, sign in ((found, 1), (diff(collection, "cobalt", "aurora", ["f3"]), -1)):
            assert score_gate(one, by).decision == ("PASS" if sign * change.value >= -by else "FAIL")
