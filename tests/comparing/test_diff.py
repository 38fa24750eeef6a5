"""What changed between two runs: by hand, by brute force, and what never may differ."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff, diff_matched_runs
from nuggeteer.comparing.gate import Gate, not_worse, signed, vital_kept
from nuggeteer.errors import NuggeteerError
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.text import normalised
from tests.conftest import write_lines

NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "built the first nuclear reactor"},
    {"qid": "q1", "nugget": "2", "text": "born in Rome 1901"},
    {"qid": "q1", "nugget": "3", "text": "won the Nobel prize", "importance": "okay"},
    {"qid": "q2", "nugget": "1", "text": "launched by NASA", "importance": "okay"},
    {"qid": "q3", "nugget": "1", "text": "sank in 1912"},
    {"qid": "q3", "nugget": "2", "text": "hit an iceberg", "importance": "okay"},
]
OLD = [
    ("q1", "He built the first nuclear reactor."),
    ("q1", "He won the Nobel prize."),
    ("q2", "It was launched by NASA."),
    ("q3", "It sank in 1912."),
]
NEW = [
    ("q1", "Fermi was born in Rome in 1901."),
    ("q1", "He won the Nobel prize."),
    ("q3", "It sank in 1912."),
    ("q3", "She sank since she hit an iceberg, " + "as everybody knows, " * 20),
]
RUNS = {"old": OLD, "new": NEW}
FIXED = "[threshold]\nmodel = 'fixed'\nvalue = 0.4\n"


def verdict(qid, nugget, text, yes):
    return {"qid": qid, "nugget": nugget, "text": text, "verdict": yes}


# Everything that either run says, judged.
TRUTH = {("q1", "1", OLD[0][1]), ("q1", "3", OLD[1][1]), ("q2", "1", OLD[2][1]), ("q3", "1", OLD[3][1])}
TRUTH |= {("q1", "2", NEW[0][1]), ("q3", "1", NEW[3][1]), ("q3", "2", NEW[3][1])}
JUDGED = [
    verdict(n["qid"], n["nugget"], text, (n["qid"], n["nugget"], text) in TRUTH)
    for n in NUGGETS
    for qid, text in dict.fromkeys(OLD + NEW)
    if qid == n["qid"]
]


def test_one_draw_stands_for_all_of_a_run_that_is_known(collect, monkeypatch):
    """As if the verdicts of the known run had been drawn as often as those of the other one."""
    known = [one for one in JUDGED if one["text"] in {text for _, text in OLD}]
    collection = collect(NUGGETS, RUNS, known)
    short = diff(collection, "old", "new")
    assert short.old.known.all()
    assert not short.new.known.all()

    def repeated(*outcomes):
        draws = max(len(one.drawn) for one in outcomes if one.drawn is not None)
        return [np.tile(one.found, (draws, 1)) if one.drawn is None else one.drawn for one in outcomes]

    monkeypatch.setattr("nuggeteer.comparing.diff._drawn_alike", repeated)
    whole = diff(collection, "old", "new")
    for name, delta in whole.deltas.items():
        found = short.deltas[name]
        for field in ("value", "low", "high", "judging", "sampling"):
            assert getattr(found.interval, field) == pytest.approx(getattr(delta.interval, field), abs=1e-12)
        np.testing.assert_allclose(found.by_question, delta.by_question, atol=1e-12)
    np.testing.assert_allclose([short.gain, short.loss], [whole.gain, whole.loss], atol=1e-12)


def named(changes):
    return [f"{c.question.qid}/{c.nugget.nugget}" for c in changes]


def f3(found_vital, vital, found, length):
    recall, allowance = found_vital / vital, 100 * found
    precision = 0 if not length else 1 if length < allowance else 1 - (length - allowance) / length
    return 10 * precision * recall / (9 * precision + recall) if recall else 0.0


def characters(responses, qid):
    return sum(len("".join(text.split())) for q, text in responses if q == qid)


def test_two_runs_that_are_judged_through_and_through(collect):
    """Everything is known: each change is certain, and the scores are those of the formula."""
    result = diff(collect(NUGGETS, RUNS, JUDGED), "old", "new")
    assert named(result.gained) == ["q1/2", "q3/2"]
    assert named(result.lost) == ["q1/1", "q2/1"]
    assert named(result.kept) == ["q1/3", "q3/1"]
    assert all(c.known and c.probability == 1.0 for c in (*result.gained, *result.lost, *result.kept))
    old = [f3(1, 2, 2, characters(OLD, "q1")), f3(1, 1, 1, characters(OLD, "q3"))]
    new = [f3(1, 2, 2, characters(NEW, "q1")), f3(1, 1, 2, characters(NEW, "q3"))]
    delta = result.deltas["f3"]
    assert delta.old_by_question[[0, 2]] == pytest.approx(old)
    assert delta.new_by_question[[0, 2]] == pytest.approx(new)
    assert math.isnan(delta.by_question[1])
    assert delta.interval.value == pytest.approx(sum(new) / 2 - sum(old) / 2)
    assert delta.interval.judging == (delta.interval.value, delta.interval.value)
    assert (delta.interval.low, delta.interval.high, delta.p) == (None, None, None)  # two questions are too few
    assert (result.expected_gained, result.expected_lost) == (2.0, 2.0)


def test_the_words_of_both_answers_are_there_and_marked(collect):
    result = diff(collect(NUGGETS, RUNS, JUDGED), "old", "new")
    lost = result.lost[0]
    old = lost.old.passage
    assert [old.text[a:b] for a, b in old.marks] == ["built the first nuclear reactor"]
    assert (old.rank, old.docid) == (1, None)
    assert lost.new.passage is None or lost.new.passage.text in dict(map(reversed, NEW))
    gained = next(c for c in result.gained if c.nugget.nugget == "2" and c.question.qid == "q1")
    assert [gained.new.passage.text[a:b] for a, b in gained.new.passage.marks] == ["born in Rome", "1901"]
    assert gained.old.passage is None  # nothing of it was said


def test_a_nugget_is_worth_what_it_adds_to_its_question(collect):
    result = diff(collect(NUGGETS, RUNS, JUDGED), "old", "new")
    worth = {f"{c.kind} {c.question.qid}/{c.nugget.nugget}": c.effect for c in (*result.gained, *result.lost)}
    length = characters(OLD, "q1")
    assert worth["lost q1/1"] == pytest.approx(f3(1, 2, 2, length) - f3(0, 2, 1, length))
    assert worth["lost q2/1"] == 0.0  # its question has no F
    length = characters(NEW, "q3")
    assert worth["gained q3/2"] == pytest.approx(f3(1, 1, 2, length) - f3(1, 1, 1, length))
    assert worth["gained q3/2"] > 0


def test_what_changed_in_the_texts(collect):
    result = diff(collect(NUGGETS, RUNS, JUDGED), "old", "new")
    assert [result.key.questions[i].qid for i in result.emptied] == ["q2"]
    assert result.answered_anew.tolist() == []
    assert [result.key.questions[i].qid for i in result.grown] == ["q3"]
    assert result.identical.tolist() == [False, False, False]
    back = diff(collect(NUGGETS, RUNS, JUDGED), "new", "old")
    assert [back.key.questions[i].qid for i in back.answered_anew] == ["q2"]
    assert [back.key.questions[i].qid for i in back.shrunk] == ["q3"]


def test_a_fixed_threshold_states_no_probability_of_its_guesses(collect):
    result = diff(collect(NUGGETS, RUNS, [JUDGED[0]], toml=FIXED), "old", "new")
    assert {c.probability for c in (*result.gained, *result.lost)} == {None}
    assert named(result.lost) == ["q1/1", "q2/1"]
    assert result.expected_gained is None
    interval = result.deltas["f3"].interval
    assert interval.judging is None
    assert (interval.low, interval.high, interval.sampling) == (None, None, None)
    hard = score(collect(NUGGETS, RUNS, [JUDGED[0]], toml=FIXED), ["old", "new"])
    assert interval.value == pytest.approx(hard["new"].measures["f3"].value - hard["old"].measures["f3"].value)


def test_with_a_fixed_threshold_what_is_known_is_certain(collect):
    result = diff(collect(NUGGETS, RUNS, JUDGED, toml=FIXED), "old", "new")
    assert {c.probability for c in (*result.gained, *result.lost)} == {1.0}
    assert (result.expected_gained, result.expected_lost) == (2.0, 2.0)


class Chance:
    """Says that each response carries each nugget with the same probability, whatever it says."""

    signature = "chance"
    pairs = 1
    answer_correlation = 0.0

    def __init__(self, probability):
        self.probability = probability

    def threshold(self, nugget):
        return np.full(len(nugget), 2.0)

    def draw(self, count, seed):
        self.count = count
        return self

    def kinds(self, pairs):
        return np.argsort(np.argsort(pairs.nugget, kind="stable"))

    def chances(self, pairs, group, cell=None):
        place = pairs.nugget if cell is None else cell
        size = int(place.max()) + 1 if cell is not None else 6
        none = np.ones(size)
        np.multiply.at(none, place, 1 - self.probability)
        return np.broadcast_to(1 - none, (self.count, size)).astype(np.float32)


def test_the_probability_of_a_change_is_that_of_the_texts_that_are_not_shared(collect):
    """Of two texts each, one in common: new has it and old has not, where the shared one has not, old's own has not
    and new's own has: ⁷⁄₁₀ · ⁷⁄₁₀ · ³⁄₁₀."""
    scorer = Scorer(collect(NUGGETS, RUNS), model=Chance(0.3))
    result = diff_matched_runs(scorer, scorer.read("old"), scorer.read("new"))
    own = slice(0, 3)  # q1: one response of two is the same
    assert result.gain[own] == pytest.approx([0.7 * 0.7 * 0.3] * 3, abs=0.04)
    assert result.loss[own] == pytest.approx([0.7 * 0.7 * 0.3] * 3, abs=0.04)
    assert result.gain[3] == 0.0  # q2: no longer answered
    assert result.loss[3] == pytest.approx(0.3, abs=0.04)
    assert result.gain[4:] == pytest.approx([0.7 * 0.3] * 2, abs=0.04)  # q3: a response came
    assert result.loss[4:].tolist() == [0.0, 0.0]
    assert result.expected_gained == pytest.approx(3 * 0.147 + 2 * 0.21, abs=0.1)


@pytest.mark.slow
def test_the_difference_is_what_counting_draw_by_draw_gives(sample):
    """Δ and its judging part again from the joint verdicts, with loops and the formula as it is printed."""
    scorer = Scorer(sample, ["f3"])
    pair = [scorer.read("build-101"), scorer.read("build-103")]
    result = diff_matched_runs(scorer, *pair)
    drawn = [scorer.find(matched).drawn for matched in pair]
    key = sample.key
    values = np.full((2, 2000, len(key.questions)), np.nan)
    for side in range(2):
        for q in range(len(key.questions)):
            own = range(key.offsets[q], key.offsets[q + 1])
            vital = [i for i in own if key.vital[i]]
            okay = [i for i in own if key.okay[i]]
            if vital:
                for d in range(2000):
                    v = sum(bool(drawn[side][d, i]) for i in vital)
                    o = sum(bool(drawn[side][d, i]) for i in okay)
                    asked = sum(bool(drawn[side][d, i]) or not key.world_knowledge[i] for i in vital)
                    values[side, d, q] = f3(v, asked, v + o, int(pair[side].length[q]))
    difference = (values[1] - values[0])[:, ~np.isnan(values[0, 0])]
    delta = result.deltas["f3"]
    assert delta.old == pytest.approx(np.nanmean(values[0]))
    assert delta.new == pytest.approx(np.nanmean(values[1]))
    assert delta.interval.value == pytest.approx(difference.mean())
    assert delta.interval.judging == pytest.approx(np.quantile(difference.mean(axis=1), [0.025, 0.975]))
    assert (delta.p < 0.05) == (not delta.interval.low <= 0 <= delta.interval.high)
    # Changes are less probable than two runs that know nothing of each other would have them.
    apart = (drawn[1] & ~drawn[0]).mean(axis=0).sum() + (drawn[0] & ~drawn[1]).mean(axis=0).sum()
    assert 0.8 * apart < result.gain.sum() + result.loss.sum() < apart


@pytest.mark.parametrize("pair", [("build-101", "build-103"), ("aurora", "build-102")])
def test_new_less_old_is_the_difference(sample, pair):
    for delta in diff(sample, *pair).deltas.values():
        assert delta.new - delta.old == pytest.approx(delta.interval.value, abs=1e-12)


@pytest.mark.slow
def test_gains_and_losses_are_those_of_the_scores(sample):
    """What is found in one and not in the other by `score` is what a diff lists, where the texts differ."""
    result = diff(sample, "build-101", "build-103")
    scores = score(sample, ["build-101", "build-103"])
    old, new = (one.outcome.found for one in scores.runs)
    differ = ~result.identical[sample.key.question]
    place = sample.key.nugget_position
    listed = {place[c.question.qid, c.nugget.nugget] for c in (*result.gained, *result.doubtful) if c.kind == "gained"}
    assert listed == set(np.flatnonzero(new & ~old & differ).tolist())
    listed = {place[c.question.qid, c.nugget.nugget] for c in (*result.lost, *result.doubtful) if c.kind == "lost"}
    assert listed == set(np.flatnonzero(old & ~new & differ).tolist())
    assert listed


def test_what_matters_most_comes_first(sample):
    for changes in (diff(sample, "aurora", "dune").gained, diff(sample, "aurora", "dune").lost):
        assert len(changes) > 5
        order = [(not c.vital, -c.effect * c.probability) for c in changes]
        assert order == sorted(order)


def nothing_changed(result):
    assert (result.gained, result.lost) == ((), ())
    assert not result.gain.any()
    assert not result.loss.any()
    for delta in result.deltas.values():
        interval = delta.interval
        assert interval.value == 0
        assert interval.hard == 0
        assert (interval.low, interval.high) == (0, 0)
        assert interval.sampling == (0, 0)
        assert interval.judging in ((0, 0), None)
        assert (delta.p, delta.p_randomisation) == (1.0, 1.0)
        assert delta.p_bootstrap == 1.0
        assert delta.old == delta.new


@pytest.mark.parametrize("toml", ["", FIXED])
def test_a_run_differs_from_itself_by_nothing(sample, collect, toml):
    nothing_changed(diff(sample, "build-102", "build-102"))
    nothing_changed(diff(collect(NUGGETS, RUNS, JUDGED[:3], toml=toml), "new", "new"))


@pytest.mark.slow
@pytest.mark.parametrize("other", ["another-group", "z-group"])
def test_the_same_texts_in_another_order_of_another_group_differ_by_nothing(sample, tmp_path, other):
    """Responses turned about, other docids, spelled in capitals with more space, of a system that judges unlike."""
    import json
    import shutil

    root = tmp_path / "copy"
    shutil.copytree(sample.root, root, ignore=shutil.ignore_patterns(".nuggeteer"))
    lines = [json.loads(line) for line in (root / "runs" / "aurora.jsonl").read_text().splitlines()]
    write_lines(
        root / "runs" / "twin.jsonl",
        [{"qid": r["qid"], "text": f" {r['text'].upper()}\n", "docid": f"x{i}"} for i, r in enumerate(lines[::-1])],
    )
    with (root / "runs.jsonl").open("a") as file:
        file.write(json.dumps({"run": "twin", "group": other}) + "\n")
    # Without their judgements, so that all is guessed.
    for path in (root / "judgements").iterdir():
        path.unlink()
    manifest = (root / "runs.jsonl").read_text().replace('"best"', '"none"').replace('"every"', '"none"')
    (root / "runs.jsonl").write_text(manifest)
    collection = read_collection(root)
    chances = [one.outcome.probability for one in score(collection, ["aurora", "twin"]).runs]
    for pair in (("aurora", "twin"), ("twin", "aurora")):
        result = diff(collection, *pair)
        nothing_changed(result)
        assert result.identical.all()
        assert not all(c.known for c in result.kept)
    assert len(chances) == 2


def test_a_text_twice_is_no_new_nugget_but_costs_precision(collect):
    twice = [*OLD, OLD[0]]
    result = diff(collect(NUGGETS, {"old": OLD, "new": twice}), "old", "new")
    assert (result.gained, result.lost) == ((), ())
    assert not result.gain.any()
    assert not result.identical[0]
    assert result.deltas["recall"].interval.value == 0


def mirrored(one, other):
    assert named(one.gained) == named(other.lost)
    assert named(one.lost) == named(other.gained)
    assert named(one.kept) == named(other.kept)
    assert [c.probability for c in one.gained] == [c.probability for c in other.lost]
    assert [c.effect for c in one.lost] == pytest.approx([c.effect for c in other.gained])
    for name, delta in one.deltas.items():
        back = other.deltas[name]
        assert (delta.old, delta.new) == (back.new, back.old)
        assert delta.interval.value == pytest.approx(-back.interval.value, abs=1e-12)
        for ends in ("judging", "sampling"):
            mine, theirs = getattr(delta.interval, ends), getattr(back.interval, ends)
            assert mine == (theirs and pytest.approx((-theirs[1], -theirs[0]), abs=1e-9))
        if delta.interval.low is not None:
            assert delta.interval.low == pytest.approx(-back.interval.high, abs=1e-9)
        assert delta.p == pytest.approx(back.p, abs=1e-9)
        assert (delta.p_randomisation, delta.p_bootstrap) == (back.p_randomisation, back.p_bootstrap)


@pytest.mark.slow
def test_turning_the_two_about_turns_everything_about(sample):
    for pair in (("build-101", "build-103"), ("aurora", "build-101")):
        mirrored(diff(sample, *pair), diff(sample, *pair[::-1]))


texts = st.sampled_from([text for _, text in OLD + NEW] + ["", "Rome", "nothing of it", "RoMe  "])
answers = st.lists(st.tuples(st.sampled_from(["q1", "q2", "q3"]), texts), max_size=6)


@pytest.mark.slow
@settings(max_examples=25)
@given(old=answers, new=answers, judged=st.lists(st.sampled_from(JUDGED), max_size=4), fixed=st.booleans())
def test_any_two_runs_mirror_each_other_and_equal_answers_never_differ(tmp_path_factory, old, new, judged, fixed):
    root = tmp_path_factory.mktemp("any")
    write_lines(root / "nuggets.jsonl", ({"importance": "vital", **n} for n in NUGGETS))
    for name, responses in (("a", old), ("b", new)):
        write_lines(root / "runs" / f"{name}.jsonl", ({"qid": q, "text": t} for q, t in responses))
    write_lines(root / "judgements" / "j.jsonl", judged)
    (root / "nuggeteer.toml").write_text(FIXED if fixed else "")
    collection = read_collection(root, allow_empty=True)
    result = diff(collection, "a", "b")
    mirrored(result, diff(collection, "b", "a"))
    changed = {c.question.qid for c in (*result.gained, *result.lost)}
    for i, question in enumerate(result.key.questions):
        sets = [{normalised(t) for q, t in run if q == question.qid} for run in (old, new)]
        if sets[0] == sets[1]:
            assert question.qid not in changed
            own = slice(result.key.offsets[i], result.key.offsets[i + 1])
            assert not np.nan_to_num(result.gain[own]).any()
            assert not np.nan_to_num(result.loss[own]).any()
    if not fixed:
        assert ((result.gain >= 0) & (result.gain + result.loss <= 1)).all()


def test_runs_without_any_response(collect):
    result = diff(replace(collect(NUGGETS, {"old": [], "new": OLD}, JUDGED), allow_empty=True), "old", "new")
    assert len(result.gained) == 4
    assert result.answered_anew.tolist() == [0, 1, 2]
    both = replace(collect(NUGGETS, {"old": [], "new": []}, folder="none"), allow_empty=True)
    nothing_changed(diff(both, "old", "new"))


def test_few_questions_have_a_difference_and_no_interval(collect):
    runs = {"old": OLD[:1], "new": NEW[:1]}
    result = diff(collect(NUGGETS[:3], runs, JUDGED[:0]), "old", "new")
    delta = result.headline
    assert delta.interval.value is not None
    assert (delta.interval.low, delta.p, delta.p_bootstrap) == (None, None, None)
    with pytest.raises(NuggeteerError, match="5 questions"):
        not_worse(result)


# Gates.


def judged_gate(result, *arguments):
    return not_worse(result, *arguments).passed


def with_delta(result, **fields):
    """The same diff with another headline."""
    headline = result.headline
    interval = replace(headline.interval, **{k: v for k, v in fields.items() if k in ("value", "low", "high")})
    changed = replace(headline, interval=interval, **{k: v for k, v in fields.items() if k == "p"})
    return replace(result, deltas={**result.deltas, "f3": changed})


@pytest.fixture(scope="module")
def some(tmp_path_factory):
    from nuggeteer.collection.sample import copy_sample

    folder = tmp_path_factory.mktemp("gate") / "sample"
    copy_sample(folder)
    return diff(read_collection(folder), "build-101", "build-103")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "low", "high", "by", "passes"),
    [
        (-0.05, -0.08, -0.02, 0.01, False),
        (-0.05, -0.08, -0.005, 0.01, True),  # worse for sure, by more than 0.01 perhaps not
        (-0.05, -0.08, -0.005, 0.0, False),
        (-0.05, -0.12, 0.02, 0.01, True),
        (0.05, 0.02, 0.08, 0.01, True),
        (0.0, 0.0, 0.0, 0.0, True),
        (-0.02, -0.02, -0.02, 0.02, True),
    ],
)
def test_the_gate_fails_when_the_whole_interval_is_below(some, value, low, high, by, passes):
    gate = not_worse(with_delta(some, value=value, low=low, high=high), by)
    assert gate.passed == passes
    assert ("not all of it below" in gate.why) == passes


@pytest.mark.parametrize(
    ("value", "p", "by", "passes"),
    [(-0.05, 0.01, 0.01, False), (-0.05, 0.2, 0.01, True), (-0.005, 0.001, 0.01, True), (0.05, 0.001, 0.0, True)],
)
def test_by_its_p_the_gate_fails_when_the_difference_is_below_and_not_by_chance(some, value, p, by, passes):
    gate = not_worse(with_delta(some, value=value, low=-0.1, high=0.1, p=p), by, 0.05)
    assert gate.passed == passes


def test_numbers_are_printed_so_that_the_reason_can_be_seen(some):
    """−0.0104 is below −0.01, which −0.010 would not show."""
    assert signed(-0.0104, -0.01) == "−0.0104"
    assert signed(-0.0204, -0.01) == "−0.020"
    assert (
        "to −0.0104, all of it below −0.01"
        in not_worse(with_delta(some, value=-0.02, low=-0.1, high=-0.0104), 0.01).why
    )


def test_the_lost_gate_counts_vital_nuggets_that_are_lost_surely_enough(some):
    lost = [c for c in (*some.lost, *some.doubtful) if c.vital and c.kind == "lost"]
    assert lost
    assert len(some.vital_lost) < len(lost), "less probable ones count where --sure says so"
    probabilities = sorted(c.probability for c in lost)
    for sure in (0.0, probabilities[0], probabilities[-1], 1.0):
        count = sum(p >= sure for p in probabilities)
        assert vital_kept(some, count, sure).passed
        if count:
            gate = vital_kept(some, count - 1, sure)
            assert not gate.passed
            assert len(gate.lost) == count
            assert f"{lost[0].question.qid}/" in gate.why or len(lost) > 5


def test_guesses_of_unknown_probability_count_as_lost(collect):
    result = diff(collect(NUGGETS, RUNS, toml=FIXED), "old", "new")
    assert [named(vital_kept(result, 0, 0.99).lost), vital_kept(result, 0).passed] == [["q1/1"], False]
    assert isinstance(vital_kept(result, 1), Gate)
