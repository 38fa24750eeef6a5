"""What changed between two runs: by hand, by brute force, and what never may differ."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.comparing.changes import PROBABLE
from nuggeteer.comparing.diff import diff, diff_matched_runs
from nuggeteer.comparing.gate import rule
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.text import normalised
from tests.conftest import shared, write_lines

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
    """Says that each answer has each nugget with the same probability, whatever it says."""

    signature = "chance"

    def __init__(self, probability):
        self.probability = probability

    def threshold(self, nugget):
        return np.full(len(nugget), 2.0)

    def draw(self, count, seed):
        self.count = count
        return self

    def chances(self, units):
        return np.full((len(units), self.count), self.probability, dtype=np.float32)


def test_the_probability_of_a_change_is_that_of_answers_whose_best_texts_differ(collect):
    """New has it and old has not: ⁷⁄₁₀ · ³⁄₁₀, and never where the same text is the best of both."""
    scorer = Scorer(collect(NUGGETS, RUNS), model=Chance(0.3))
    matched = [scorer.read(name) for name in ("old", "new")]
    result = diff_matched_runs(scorer, *matched)
    best = [[one.run.texts[one.response_of(one.best[i : i + 1])[0]] for i in (0, 1, 2, 4)] for one in matched]
    same = [one == other for one, other in zip(*best, strict=True)]
    assert same == [False, False, True, True]  # of q1: the prize; and of q3: it sank
    expected = [0.0 if each else 0.7 * 0.3 for each in same]
    assert result.gain[[0, 1, 2, 4]] == pytest.approx(expected, abs=0.04)
    assert result.loss[[0, 1, 2, 4]] == pytest.approx(expected, abs=0.04)
    assert result.gain[[2, 4]].tolist() == result.loss[[2, 4]].tolist() == [0.0, 0.0]
    assert result.gain[3] == 0.0  # q2: no longer answered
    assert result.loss[3] == pytest.approx(0.3, abs=0.04)
    assert result.expected_gained == pytest.approx(result.gain.sum())


@pytest.mark.slow
def test_the_difference_is_what_counting_draw_by_draw_gives(sample, monkeypatch):
    """Δ and its judging part again from the joint verdicts, with loops and the formula as it is printed. What the words
    of both builds add is left out: tests/comparing/test_builds.py has it."""
    monkeypatch.setattr("nuggeteer.comparing.builds.contrast_of", lambda scorer, old, new, alike: None)
    scorer = Scorer(sample, ["f3"])
    pair = [scorer.read("build-101"), scorer.read("build-103")]
    result = diff_matched_runs(scorer, *pair)
    drawn = [scorer.find(matched).drawn for matched in pair]
    key = sample.key
    values = np.full((2, 2000, len(key.questions)), np.nan)
    gained, lost = np.zeros((2, len(key.nuggets)))
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
    for i in range(len(key.nuggets)):
        for d in range(2000):
            gained[i] += drawn[1][d, i] and not drawn[0][d, i]
            lost[i] += drawn[0][d, i] and not drawn[1][d, i]
    difference = (values[1] - values[0])[:, ~np.isnan(values[0, 0])]
    delta = result.deltas["f3"]
    assert delta.old == pytest.approx(np.nanmean(values[0]))
    assert delta.new == pytest.approx(np.nanmean(values[1]))
    assert delta.interval.value == pytest.approx(difference.mean())
    assert delta.interval.judging == pytest.approx(np.quantile(difference.mean(axis=1), [0.025, 0.975]))
    assert (delta.p < 0.05) == (not delta.interval.low <= 0 <= delta.interval.high)
    differ = ~result.identical[key.question]
    assert result.gain == pytest.approx(np.where(differ, gained, 0) / 2000)
    assert result.loss == pytest.approx(np.where(differ, lost, 0) / 2000)


@pytest.mark.slow
@pytest.mark.parametrize("known", [0, 1])
def test_a_score_that_is_known_does_not_move_with_the_change(sample, known):
    """Whatever the words of both builds say of their difference is of the one in doubt; no score leaves its range."""
    runs = ("aurora", "build-102")[:: 1 if known == 0 else -1]
    scores = score(sample, runs)
    for name, delta in diff(sample, *runs).deltas.items():
        value = (delta.old, delta.new)[known]
        assert value == pytest.approx(scores["aurora"].measures[name].value, abs=1e-12)
        both = np.concatenate([delta.old_by_question, delta.new_by_question])
        assert np.nanmin(both) >= 0
        assert np.nanmax(both) <= 1


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


@pytest.mark.slow
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


def test_equal_answers_of_builds_that_nobody_judged_change_no_nugget_though_their_luck_differs(collect):
    """A guess near a half is a yes for one of them alone: with this seed, of two."""
    sizes, words = [(size, said) for size in range(4, 30) for said in range(1, 8)], [f"word{i}" for i in range(30)]
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": " ".join(words[:size])} for i, (size, _) in enumerate(sizes)]
    answer = [(f"q{i}", " ".join([*words[:said], f"end{i}"])) for i, (_, said) in enumerate(sizes)]
    collection = collect(nuggets, {"old": answer, "new": answer})
    for runs in (("old", "new"), ("new", "old")):
        result = diff(collection, *runs, seed=17)
        assert (result.old.found != result.new.found).any()
        assert (result.gained, result.lost, result.doubtful) == ((), (), ())


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
    assert "5 questions" in rule(result, 0.0, about="all").gates[0].why


def test_guesses_of_unknown_probability_count_as_lost(collect):
    result = replace(diff(collect(NUGGETS, RUNS, toml=FIXED), "old", "new"), anyone_judged=True)
    (gate,) = rule(result, most=0, sure=0.99).gates
    assert (named(gate.lost), gate.decision) == (["q1/1"], "FAIL")
    assert rule(result, most=1).gates[0].decision == "PASS"
    (gate,) = rule(result, by=0.0).gates
    assert (gate.decision, "cannot say how sure" in gate.why) == ("UNDECIDED", True)


@pytest.mark.slow
def test_where_a_score_is_undefined_so_is_its_change(sample):
    """def-02 has no vital nugget, also where both runs give it the same answer."""
    at = sample.key.position["def-02"]
    for pair in (("build-101", "build-101"), ("build-101", "build-102")):
        delta = diff(sample, *pair).headline
        assert np.isnan(delta.by_question[at])
        assert np.isnan(delta.by_question).sum() == 1


def test_chances_are_chances_and_what_is_known_on_both_sides_has_none(sample):
    found = diff(sample, "aurora", "cobalt")
    assert found.old.known.all()
    assert found.new.known.all()
    assert np.array_equal(found.gain, found.new.found & ~found.old.found)
    assert found.doubtful == ()
    guessed = diff(sample, "build-101", "build-102")
    for chance in (guessed.gain, guessed.loss):
        assert ((chance >= 0) & (chance <= 1)).all()
    assert (guessed.gain + guessed.loss <= 1 + 1e-9).all()


def test_listed_are_changes_that_are_more_probable_than_not_and_the_rest_is_counted(sample):
    found = diff(sample, "build-101", "build-102")
    listed = {(c.kind, c.question.qid, c.nugget.nugget) for c in (*found.gained, *found.lost, *found.doubtful)}
    key = found.key
    flips = np.flatnonzero(found.old.found != found.new.found)
    assert listed == {
        ("gained" if found.new.found[i] else "lost", key.nuggets[i].qid, key.nuggets[i].nugget) for i in flips
    }
    assert found.doubtful
    assert all(c.probability >= PROBABLE for c in (*found.gained, *found.lost))
    assert all(c.probability < PROBABLE for c in found.doubtful)
    assert found.expected_lost == pytest.approx(found.loss.sum())
    assert len(found.lost_places) == len(found.lost)


REWORDED = [
    {"qid": f"q{i}", "nugget": str(n), "text": f"fact {n} of {i}: w{n}{i} v{n}{i}"} for i in range(8) for n in "ab"
]


def reworded(word):
    return [(f"q{i}", f"{word} w{n}{i} is said of it, and more {word} words {i}") for i in range(8) for n in "ab"]


def test_a_verdict_on_one_answer_draws_the_guess_of_the_other(collect):
    """Of a question that somebody judged for the old build, the new build's answer in other words is guessed by it."""
    old = [(qid, text.replace("said", "told")) for qid, text in reworded("here")]
    chances = {}
    for yes in (True, False):
        judged = [{"qid": "q0", "nugget": "a", "text": text, "verdict": yes, "run": "old"} for _, text in old[:2]]
        collection = collect(REWORDED, {"old": old, "new": reworded("here")}, judged, folder=f"of-{yes}")
        found = diff(collection, "old", "new")
        assert (found.old.known[0], found.new.known[0], found.old.found[0]) == (True, False, yes)
        chances[yes] = found.new.probability[0]
        assert (found.loss[0], found.gain[0]) == pytest.approx(
            (1 - chances[yes], 0.0) if yes else (0.0, chances[yes]), abs=0.03
        )
    assert chances[False] < chances[True] - 0.2


@pytest.mark.slow
def test_on_judged_summaries_tenths_are_within_ten_points():
    """Probabilities of changes, between judged systems."""
    collection = read_collection(shared("summhay"))
    said, real = [], []
    for old, new in (("s0", "s1"), ("s2", "s3"), ("s4", "s5")):
        kept = tuple(j for j in collection.judgements if j.run not in (old, new))
        manifest = {k: v for k, v in collection.manifest.items() if k not in (old, new)}
        hidden = diff(Collection(collection.root, collection.key, kept, manifest, collection.settings), old, new)
        truth = diff(collection, old, new)
        open_ = ~(hidden.old.known & hidden.new.known)
        said += [*hidden.gain[open_], *hidden.loss[open_]]
        real += [*(truth.new.found & ~truth.old.found)[open_], *(truth.old.found & ~truth.new.found)[open_]]
    chance, truly = np.array(said), np.array(real)
    assert chance.mean() == pytest.approx(truly.mean(), abs=0.03)
    for low in (0.0, 0.1, 0.2):
        own = (chance >= low) & (chance < low + 0.1)
        assert chance[own].mean() == pytest.approx(truly[own].mean(), abs=0.1)
