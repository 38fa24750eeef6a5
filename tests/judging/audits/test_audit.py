"""Audits: unbiased by enumeration, right by simulation, drawn once, and as said on the screen."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import stdtrit

from nuggeteer.cli.main import main
from nuggeteer.collection.answer_key import make_key
from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.audits import Head, read_audit, write_audit
from nuggeteer.judging.audits import audit
from nuggeteer.judging.audits.design import AuditCosts, Designs
from nuggeteer.judging.audits.estimate import DrawnAudit, NuggetState, bound_measure, estimates_of
from nuggeteer.measures import Answers, parse
from nuggeteer.records import Nugget, Question
from nuggeteer.reports.scores import draw_audits
from nuggeteer.reports.terminal import console
from nuggeteer.scoring.scorer import Scorer

HEAD = Head("a", "run", "", "", "f3", 20, 0, "", "", {})
BY_ANSWER = replace(HEAD, by="answer")


def key_of(questions, each, rng):
    nuggets = [
        Nugget(f"q{q}", str(i), ("x",), "vital" if i == 0 or rng.random() < 0.6 else "okay")
        for q in range(questions)
        for i in range(each)
    ]
    return make_key([Question(f"q{q}", "") for q in range(questions)], nuggets)


def nothing_known(key, length):
    none = np.zeros(len(key.nuggets), dtype=bool)
    return NuggetState(~none, none, none, np.full(len(key.questions), length))


def designs_of(state, guess, measure, key, rng, words=40):
    """With answers of so many words, and verdicts drawn by the guesses."""
    drawn = rng.random((200, len(guess))) < guess
    costs = AuditCosts(key, SimpleNamespace(answer=lambda question: "word " * words))
    return Designs(state, guess, drawn, measure.composition(key), measure, costs, 0)


def single(order, guess, size, head=HEAD):
    """An audit of nuggets one by one."""
    return DrawnAudit(head, order, np.arange(len(order) + 1), guess[order], size[order], head.planned)


def sequences(drawn, state, judged, measure, key):
    return estimates_of(drawn, state, measure.composition(key), measure).first(judged)


def score(measure, key, found, length):
    lengths = np.full(len(key.questions), length)
    return float(np.nanmean(measure(Answers(key, found, np.zeros_like(found), lengths))))


def orders(size):
    """All orders of nuggets drawn without replacement by size, each with its probability."""
    for order in permutations(range(len(size))):
        chosen = size[list(order)]
        yield np.array(order), float(np.prod(chosen / np.cumsum(chosen[::-1])[::-1]))


@pytest.mark.parametrize("name", ["recall", "strict_all_score"])
def test_of_a_linear_measure_every_estimate_is_right_on_average_whatever_the_guesses(name):
    """By enumeration of all 120 orders: of the first estimate, the second, ..., and with wrong guesses."""
    rng, measure = np.random.default_rng(0), parse(name)
    key = make_key(
        [Question("a", ""), Question("b", "")],
        [Nugget("a" if i < 3 else "b", str(i), ("x",), "vital") for i in range(5)],
    )
    truth, guess, size = np.array([1, 0, 0, 1, 1], dtype=bool), np.array([0.1, 0.9, 1, 0, 0.3]), rng.random(5) + 0.1
    state = replace(nothing_known(key, 100), found=truth)
    total = np.zeros(5)
    for order, probability in orders(size):
        below, above = sequences(single(order, guess, size), state, 5, measure, key)
        assert below.sequence.estimate == pytest.approx(-above.sequence.estimate)
        total += probability * below.sequence.estimate
    assert total == pytest.approx(score(measure, key, truth, 100))


@pytest.mark.parametrize("name", ["f3", "f1", "precision"])
def test_of_f_the_estimates_are_on_average_below_and_above_and_draw_closer(name):
    rng, measure = np.random.default_rng(1), parse(name)
    key = key_of(2, 2, rng)
    for _ in range(5):
        truth, guess, size = rng.random(4) < 0.5, rng.random(4), rng.random(4) + 0.1
        state, true = replace(nothing_known(key, 250), found=truth), score(measure, key, truth, 250)
        low, high = np.zeros(4), np.zeros(4)
        for order, probability in orders(size):
            below, above = sequences(single(order, guess, size), state, 4, measure, key)
            low += probability * below.sequence.estimate
            high -= probability * above.sequence.estimate
            assert (below.sequence.least <= below.sequence.estimate + 1e-12).all()
        assert (low <= true + 1e-12).all()
        assert (high >= true - 1e-12).all()
        assert high[-1] - low[-1] <= 0.6 * (high[0] - low[0]) + 1e-9 or name == "precision"


@pytest.mark.slow
def test_the_mean_of_first_draws_is_the_prediction_powered_one():
    """Draws with replacement and unequal chances, against the package ppi-python with 1 / probability as weights."""
    ppi = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(2)
    key = make_key([Question("q", "")], [Nugget("q", str(i), ("x",), "vital") for i in range(300)])
    guess = rng.random(300)
    truth = rng.random(300) < guess**2  # the guesses are too high
    size = np.maximum(np.sqrt(guess * (1 - guess)), 0.2)
    state = replace(nothing_known(key, 100), found=truth)
    drawn = rng.choice(300, 40, p=size / size.sum())
    estimates = []
    for one in drawn:
        order = np.concatenate([[one], np.delete(np.arange(300), one)])
        below, _ = sequences(single(order, guess, size), state, 1, parse("recall"), key)
        estimates.append(below.sequence.estimate[0])
    weight = size.sum() / size[drawn] / 300
    # The package takes weights for a mean's, and makes them sum to their number; ours need not.
    rectifier = ppi.ppi_mean_pointestimate(
        truth[drawn] * weight, guess[drawn] * weight, guess, lam=1, w=np.ones(len(drawn)), w_unlabeled=np.ones(300)
    )
    assert np.mean(estimates) == pytest.approx(float(np.squeeze(rectifier)))


def test_with_equal_chances_the_interval_is_a_little_wider_than_the_prediction_powered_one():
    """That one is right for many draws only; √(ln 40 / 2) · 2 / 1.96 = 1.39 is what it costs to be right for any."""
    ppi = pytest.importorskip("ppi_py")
    rng, size = np.random.default_rng(3), 3000
    key = make_key([Question("q", "")], [Nugget("q", str(i), ("x",), "vital") for i in range(size)])
    guess = rng.random(size)
    truth = rng.random(size) < guess
    order = rng.permutation(size)
    state, composition = replace(nothing_known(key, 100), found=truth), parse("recall").composition(key)
    head = replace(HEAD, planned=200)
    drawn = single(order, guess, np.ones(size), head)
    audited = bound_measure(drawn, _shown(state, order[:200]), 200, parse("recall"), key)
    first = order[:200]
    low, high = ppi.ppi_mean_ci(truth[first].astype(float), guess[first], guess, alpha=0.05, lam=1)
    assert audited.low < low[0] < truth.mean() < high[0] < audited.high
    assert 1.1 < (audited.high - audited.low) / (high[0] - low[0]) < 1.5
    assert audited.value == pytest.approx((low[0] + high[0]) / 2, abs=0.01)
    assert composition.defined.all()


def _shown(state, settled):
    """The state of one who knows of these nuggets only."""
    open_ = np.ones(len(state.open_), dtype=bool)
    open_[settled] = False
    return replace(state, open_=open_, found=state.found & ~open_)


GUESSES = {
    "right": lambda truth, chance, rng: chance,
    "inverted": lambda truth, chance, rng: 1 - chance,
    "rarely wrong": lambda truth, chance, rng: np.where(truth != (rng.random(len(truth)) < 0.05), 0.98, 0.02),
}


@pytest.mark.slow
@pytest.mark.parametrize("guesses", GUESSES)
@pytest.mark.parametrize("name", ["recall", "f3"])
def test_of_20_nuggets_the_interval_holds_the_true_score_95_times_in_100(name, guesses):
    """Student's interval of the same estimates does not where errors are rare, so the simulation can tell."""
    rng, measure = np.random.default_rng(4), parse(name)
    missed = student = 0
    widths, trials = [], 100 if name == "recall" else 60
    for _ in range(trials):
        key = key_of(15, 4, rng)
        chance = rng.beta(0.5, 0.5, 60)
        truth = rng.random(60) < chance
        guess = GUESSES[guesses](truth, chance, rng)
        state = nothing_known(key, 300)
        drawn = replace(designs_of(state, guess, measure, key, rng).draw("nugget", rng), planned=20)
        shown = _shown(replace(state, found=truth), drawn.nugget[:20])
        found, true = bound_measure(drawn, shown, 20, measure, key), score(measure, key, truth, 300)
        missed += not found.low - 1e-12 <= true <= found.high + 1e-12
        widths.append(found.high - found.low)
        if name == "recall":  # where both are the same
            first = sequences(drawn, shown, 20, measure, key)[0].sequence.estimate
            student += abs(first.mean() - true) > stdtrit(19, 0.975) * first.std(ddof=1) / np.sqrt(20)
    assert missed <= 0.05 * trials
    assert np.mean(widths) < 0.8
    if (name, guesses) == ("recall", "rarely wrong"):
        assert student > 0.07 * trials


@pytest.mark.parametrize("name", ["recall", "f3", "precision"])
def test_of_whole_answers_every_estimate_is_right_on_average_whatever_the_guesses(name):
    """By enumeration of all 24 orders of four answers, also of measures that are not linear: a read answer is exact."""
    rng, measure = np.random.default_rng(0), parse(name)
    key = key_of(4, 3, rng)
    truth, guess, size = rng.random(12) < 0.4, rng.random(12), rng.random(4) + 0.1
    state, true = replace(nothing_known(key, 250), found=truth), score(measure, key, truth, 250)
    total = np.zeros(4)
    for order, probability in orders(size):
        nugget = np.concatenate([np.arange(3 * q, 3 * q + 3) for q in order])
        drawn = DrawnAudit(BY_ANSWER, nugget, np.arange(0, 13, 3), guess[nugget], size[order])
        below, above = sequences(drawn, state, 4, measure, key)
        assert below.sequence.estimate == pytest.approx(-above.sequence.estimate)
        assert (below.sequence.least <= below.sequence.estimate + 1e-12).all()
        assert (above.sequence.least <= above.sequence.estimate + 1e-12).all()
        assert below.sequence.estimate[-1] == pytest.approx(true), "the last answer makes it exact"
        total += probability * below.sequence.estimate
    assert total == pytest.approx(true)


@pytest.mark.slow
@pytest.mark.parametrize("guesses", GUESSES)
@pytest.mark.parametrize("name", ["recall", "f3"])
def test_of_whole_answers_the_interval_holds_the_true_score_at_every_stop(name, guesses):
    """Where the nuggets of an answer hang together, and at whichever of 30 answers one stops: all at once in 95 of 100
    audits."""
    rng, measure = np.random.default_rng(8), parse(name)
    missed, widths, trials = 0, [], 60
    for _ in range(trials):
        key = key_of(30, 5, rng)
        chance = np.clip(np.repeat(rng.beta(0.5, 0.5, 30), 5) + rng.normal(0, 0.1, 150), 0.01, 0.99)
        truth = rng.random(150) < chance
        guess = GUESSES[guesses](truth, chance, rng)
        state, true = nothing_known(key, 300), score(measure, key, truth, 300)
        drawn = replace(designs_of(state, guess, measure, key, rng).draw("answer", rng), planned=15)
        held = []
        for judged in (1, 3, 6, 10, 15, 20, 25, 30):
            shown = _shown(replace(state, found=truth), drawn.nugget[: drawn.begin[judged]])
            found = bound_measure(drawn, shown, judged, measure, key)
            held.append(found.low - 1e-9 <= true <= found.high + 1e-9)
            widths += [found.high - found.low] if judged == 15 else []
        missed += not all(held)
        assert [found.low, found.high] == pytest.approx([true, true])
    assert missed <= 0.05 * trials
    assert np.mean(widths) < 0.75


def test_what_is_known_of_an_answer_before_it_is_drawn_decides_no_estimate():
    """A verdict of partial support on a nugget that is drawn later must not be seen by the estimates before it."""
    rng, measure = np.random.default_rng(9), parse("weighted_score")
    key = key_of(3, 2, rng)
    guess, size = rng.random(6), np.ones(3)
    state = replace(nothing_known(key, 100), found=np.array([1, 0, 0, 0, 0, 1], dtype=bool))
    drawn = DrawnAudit(BY_ANSWER, np.arange(6), np.arange(0, 7, 2), guess, size)
    first = sequences(drawn, state, 1, measure, key)[0].sequence
    later = replace(state, partly=np.array([0, 0, 1, 1, 1, 0], dtype=bool))
    again = sequences(drawn, later, 1, measure, key)[0].sequence
    assert (first.estimate, first.least, first.centre) == (again.estimate, again.least, again.centre)


def test_whole_answers_are_drawn_where_they_prove_more_in_the_same_time():
    """Long answers whose nuggets are independent are read whole; short ones whose nuggets all say the same are not."""
    rng, measure = np.random.default_rng(10), parse("recall")
    key = key_of(40, 6, rng)
    state, guess = nothing_known(key, 300), np.full(240, 0.5)
    long = designs_of(state, guess, measure, key, rng, words=300)
    assert long.best(40) == "answer"
    same = np.repeat(rng.random((200, 40)) < 0.5, 6, axis=1)
    short = replace(designs_of(state, guess, measure, key, rng, words=1), drawn=same)
    assert short.best(40) == "nugget"
    units = long.costs.units(long.draw("answer", rng), 40)
    seconds = long.costs.seconds(long.draw("answer", rng))
    assert units * seconds.mean() == pytest.approx(40 * long.costs.of_single(long.draw("nugget", rng)), rel=0.1)


@pytest.mark.parametrize("by", ["nugget", "answer"])
def test_when_all_is_judged_the_score_is_exact_in_any_order(by):
    rng = np.random.default_rng(5)
    key = key_of(4, 4, rng)
    for name in ("recall", "f3", "precision"):
        measure = parse(name)
        guess, truth, length = rng.random(16), rng.random(16) < 0.4, 400
        state = nothing_known(key, length)
        drawn = designs_of(state, guess, measure, key, rng).draw(by, rng)
        done = replace(state, open_=np.zeros(16, dtype=bool), found=truth)
        found = bound_measure(drawn, done, len(drawn.size), measure, key)
        assert [found.value, found.low, found.high] == pytest.approx([score(measure, key, truth, length)] * 3)


def test_nuggets_are_drawn_as_often_as_their_sizes_say():
    rng = np.random.default_rng(6)
    key = key_of(1, 3, rng)
    designs = designs_of(nothing_known(key, 100), np.array([0.5, 0.5, 0.01]), parse("recall"), key, rng)
    first = np.zeros(3)
    for _ in range(3000):
        drawn = designs.draw("nugget", rng)
        first[drawn.nugget[0]] += 1 / 3000
    by_nugget = drawn.size[np.argsort(drawn.nugget)] / drawn.size.sum()
    assert first[np.sort(drawn.nugget)] == pytest.approx(by_nugget, abs=0.03)
    assert by_nugget[0] > by_nugget[-1]  # the surer guess is drawn less often


# An audit of the sample's last build: of nuggets one by one, unless a test says otherwise.


@pytest.fixture
def folder(sample, tmp_path, monkeypatch):
    """With the model that is remembered in it."""
    monkeypatch.setattr(Designs, "best", lambda self, count: "nugget")
    return Path(shutil.copytree(sample.root, tmp_path / "sample"))


def judge(folder, name, places, verdict=False):
    """Append verdicts on the units at these places of the audit: on every response of the run."""
    scorer, matched = now(folder, name)
    collection, drawn = scorer.collection, audit.find_audit(scorer, matched)
    with (folder / "judgements" / "ann.jsonl").open("a", encoding="utf-8") as file:
        for nugget in [collection.key.nuggets[n] for place in places for n in drawn.unit(place)]:
            question = collection.key.position[nugget.qid]
            for text in matched.run.texts[matched.run.offsets[question] : matched.run.offsets[question + 1]]:
                line = {"qid": nugget.qid, "nugget": nugget.nugget, "text": text, "verdict": verdict}
                file.write(json.dumps(line) + "\n")


def now(folder, name="build-103"):
    scorer = Scorer(read_collection(folder))
    matched = scorer.read(name)
    return scorer, matched


@pytest.mark.slow
def test_an_audit_is_drawn_once_and_keeps_the_guesses_of_that_time(folder):
    scorer, matched = now(folder)
    first = audit.draw_audit(scorer, matched, scorer.measures[0], 30)
    (path,) = (folder / "judgements" / "audits").iterdir()
    written = path.read_bytes()
    judge(folder, "build-103", range(5), verdict=True)
    other = Scorer(read_collection(folder), ["recall"], seed=7)
    again = audit.draw_audit(other, other.read("build-103"), other.measures[0], 100)
    assert path.read_bytes() == written
    assert again.head == first.head
    assert first.head.at.endswith("Z")
    assert (again.nugget == first.nugget).all()
    assert (again.guess == first.guess).all()
    outcome = other.score(other.read("build-103")).outcome
    assert not np.allclose(outcome.probability[first.nugget], first.guess)  # the model has learned meanwhile
    head, units = read_audit(path)
    assert not write_audit(path, head, units[:3])
    assert path.read_bytes() == written
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_is_judged_is_what_was_drawn_with_what_probability(folder):
    scorer, matched = now(folder)
    drawn = audit.draw_audit(scorer, matched, scorer.measures[0], 30)
    asked = audit.units_to_judge(scorer, matched, drawn, 3)
    _, units = read_audit(next((folder / "judgements" / "audits").iterdir()))
    left = sum(unit.size for unit in units)
    for place, ((nugget,), mark) in enumerate(asked):
        assert (scorer.key.nuggets[nugget].qid, scorer.key.nuggets[nugget].nugget) == (
            units[place].qid,
            units[place].nugget,
        )
        assert mark == {
            "id": drawn.head.audit,
            "place": place + 1,
            "probability": pytest.approx(units[place].size / left),
        }
        left -= units[place].size
    state = NuggetState.of(matched, scorer.key)
    assert set(drawn.nugget) == set(np.flatnonzero(state.open_ & scorer.measures[0].composition(scorer.key).matters))


@pytest.mark.slow
def test_another_seed_draws_another_order_and_other_responses_another_audit(folder, tmp_path):
    scorer, matched = now(folder)
    first = audit.draw_audit(scorer, matched, scorer.measures[0], 30)
    second = shutil.copytree(folder, tmp_path / "second", ignore=shutil.ignore_patterns("audits"))
    other = Scorer(read_collection(second), seed=1)
    second = audit.draw_audit(other, other.read("build-103"), other.measures[0], 30)
    assert sorted(first.nugget) == sorted(second.nugget)
    assert list(first.nugget) != list(second.nugget)
    run = folder / "runs" / "build-103.jsonl"
    run.write_text("".join(run.read_text(encoding="utf-8").splitlines(keepends=True)[1:]), encoding="utf-8")
    changed, matched = now(folder)
    assert audit.find_audit(changed, matched) is None
    with pytest.raises(NuggeteerError, match="for other responses or another key"):
        audit.audit_result(changed, matched, changed.measures)


@pytest.mark.slow
def test_an_audit_of_whole_answers_has_all_their_open_nuggets_and_says_so(folder, monkeypatch):
    """Read back as it was drawn, and as large as the time that so many single nuggets take."""
    monkeypatch.setattr(Designs, "best", lambda self, count: "answer")
    scorer, matched = now(folder)
    drawn = audit.draw_audit(scorer, matched, scorer.measures[0], 30)
    assert drawn.head.by == "answer"
    open_ = NuggetState.of(matched, scorer.key).open_ & scorer.measures[0].composition(scorer.key).matters
    units = [drawn.unit(i).tolist() for i in range(len(drawn.size))]
    for unit in units:
        (question,) = set(scorer.key.question[unit].tolist())
        assert unit == np.flatnonzero(open_ & (scorer.key.question == question)).tolist()
    assert sorted(place for unit in units for place in unit) == np.flatnonzero(open_).tolist()
    asked = audit.units_to_judge(scorer, matched, drawn, 30)
    assert [list(unit) for unit, _ in asked] == units[: len(asked)]
    assert 5 < len(asked) == drawn.planned < 30
    judge(folder, "build-103", [0, 2])
    result = audit.audit_result(*now(folder), scorer.measures)
    assert (result.planned, result.judged, result.waiting) == (drawn.planned, 1, 1)
    judge(folder, "build-103", [1])
    assert audit.audit_result(*now(folder), scorer.measures).judged == 3


def test_an_audit_of_an_earlier_version_is_one_of_nuggets(folder):
    """Its file says nothing of what was drawn."""
    scorer, matched = now(folder)
    first = audit.draw_audit(scorer, matched, scorer.measures[0], 30)
    (path,) = (folder / "judgements" / "audits").iterdir()
    path.write_text(path.read_text(encoding="utf-8").replace(',"by":"nugget"', ""), encoding="utf-8")
    again = audit.find_audit(scorer, matched)
    assert again.head == first.head
    assert again.begin.tolist() == first.begin.tolist()


@pytest.mark.slow
def test_only_nuggets_before_which_all_are_settled_count(folder):
    scorer, matched = now(folder)
    audit.draw_audit(scorer, matched, scorer.measures[0], 10)
    judge(folder, "build-103", [0, 1, 2, 4, 5])
    result = audit.audit_result(*now(folder), scorer.measures)
    assert (result.planned, result.judged, result.waiting) == (10, 3, 2)
    judge(folder, "build-103", [6])
    assert audit.audit_result(*now(folder), scorer.measures).judged == 3
    judge(folder, "build-103", [3])
    assert audit.audit_result(*now(folder), scorer.measures).judged == 7


@pytest.mark.slow
def test_guesses_that_were_sure_and_wrong_are_found_out(folder):
    """The same verdicts agree with guesses that left room for them, and not with guesses that did not."""
    scorer, matched = now(folder)
    drawn = audit.draw_audit(scorer, matched, scorer.measures[0], 60)
    judge(folder, "build-103", range(60))
    scorer, matched = now(folder)
    state = NuggetState.of(matched, scorer.key)
    for expected, disagrees in (((0.4, 0.0, 0.8), False), ((0.9, 0.85, 0.95), True)):
        guessed = replace(drawn, head=replace(drawn.head, expected={"f3": expected}))
        assert bound_measure(guessed, state, 60, scorer.measures[0], scorer.key).disagrees is disagrees


@pytest.mark.slow
@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[:-1],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
        lambda lines: [lines[0], lines[1].replace('"guess":0.', '"guess":0.1'), *lines[2:]],
        lambda lines: ["{}", *lines[1:]],
        lambda lines: [],
    ],
)
def test_an_audit_that_was_changed_is_refused(folder, spoil):
    scorer, matched = now(folder)
    audit.draw_audit(scorer, matched, scorer.measures[0], 30)
    (path,) = (folder / "judgements" / "audits").iterdir()
    path.write_text("\n".join(spoil(path.read_text(encoding="utf-8").splitlines())), encoding="utf-8")
    with pytest.raises(NuggeteerError, match=r"was changed|empty"):
        audit.find_audit(scorer, matched)
    assert str(path) in {problem.file for problem in check(folder)}


@pytest.mark.slow
def test_a_verdict_withdrawn_since_the_draw_leaves_nothing_to_say(folder):
    """A nugget that was known then could not be drawn; now it is open."""
    scorer, matched = now(folder)
    one = int(np.flatnonzero(NuggetState.of(matched, scorer.key).open_ & scorer.key.vital)[0])
    nugget, question = scorer.key.nuggets[one], int(scorer.key.question[one])
    line = {"qid": nugget.qid, "nugget": nugget.nugget, "verdict": False}
    texts = matched.run.texts[matched.run.offsets[question] : matched.run.offsets[question + 1]]
    extra = folder / "judgements" / "early.jsonl"
    extra.write_text("".join(json.dumps({**line, "text": text}) + "\n" for text in texts), encoding="utf-8")
    scorer, matched = now(folder)
    assert one not in audit.draw_audit(scorer, matched, scorer.measures[0], 5).nugget
    assert audit.audit_result(scorer, matched, scorer.measures).measures["f3"] is not None
    extra.unlink()
    assert audit.audit_result(*now(folder), scorer.measures).measures["f3"] is None


def test_what_cannot_be_audited_is_said(folder):
    scorer, matched = now(folder)
    with pytest.raises(NuggeteerError, match="macro_f3 cannot be audited"):
        audit.draw_audit(scorer, matched, parse("macro_f3"), 5)
    with pytest.raises(NuggeteerError, match="there is nothing to audit"):
        audit.draw_audit(scorer, scorer.read("aurora"), scorer.measures[0], 5)
    assert not (folder / "judgements" / "audits").exists()


@pytest.mark.slow
def test_score_says_what_the_audit_proves(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["score", "--audited"]) == 2
    assert "no run has an audit" in capsys.readouterr().err
    scorer, matched = now(folder)
    audit.draw_audit(scorer, matched, scorer.measures[0], 40)
    judge(folder, "build-103", range(25))
    assert main(["score", "build-102", "--audited"]) == 2
    assert "build-102: it has no audit; draw one with nuggeteer judge build-102" in capsys.readouterr().err
    assert main(["score", "--audited", "--json", "scores.json"]) == 0
    out = capsys.readouterr().out
    (run,) = json.loads((folder / "scores.json").read_text(encoding="utf-8"))["runs"]
    found = run["audited"]
    assert (run["run"], found["planned"], found["judged"], found["waiting"]) == ("build-103", 40, 25, 0)
    f3 = found["scores"]["f3"]
    assert f3["low"] <= f3["value"] <= f3["high"]
    assert f3["expected"]["low"] <= f3["expected"]["value"] <= f3["expected"]["high"]
    assert found["scores"]["macro_f3"] is None
    assert f"{f3['value']:.3f}  {f3['low']:.3f}–{f3['high']:.3f}" in out
    assert "25/40" in out
    assert "15 of 40 nuggets are not judged" in " ".join(out.split())
    assert all(len(line) <= 80 for line in out.split("Audited")[1].splitlines())


def test_a_hostile_name_stays_a_name(folder, capsys):
    evil = "\x1b[31m[bold]x\udcff"
    shutil.copy(folder / "runs" / "build-103.jsonl", folder / "runs" / f"{evil}.jsonl")
    scorer, matched = now(folder, evil)
    audit.draw_audit(scorer, matched, scorer.measures[0], 5)
    (path,) = (folder / "judgements" / "audits").iterdir()
    assert path.name.isascii()
    assert path.name.isprintable()
    draw_audits(console(), [audit.audit_result(scorer, matched, scorer.measures)])
    out = capsys.readouterr().out
    assert "\x1b[31m" not in out
    assert "[bold]x" in out
