"""The trend: an alarm that keeps its word, builds that compare, and what became of each nugget."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from itertools import permutations, product

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import NuggeteerError
from nuggeteer.history.store import History
from nuggeteer.history.trend import nugget_timelines, timelines_of, trends
from nuggeteer.scoring.scorer import score
from nuggeteer.statistics import alarm
from nuggeteer.statistics.alarm import ALARM, builds_until_alarm, e_value, watch_trend
from tests.conftest import write_lines


def orders(count):
    return [np.array(order, dtype=float) for order in permutations(range(count))]


def by_hand(scores):
    """The capital by the definition: for each τ and h, the product of weight / sum of weights left, from the lowest
    up, over 1 / how many are left."""
    total = 0.0
    for share, sign in ((alarm.DROP_SHARE, 1), (1 - alarm.DROP_SHARE, -1)):
        order = sorted(range(len(scores)), key=lambda i: (sign * scores[i], i))
        rest = 1.0
        for tau in range(1, len(scores)):
            prior = alarm.HAZARD * (1 - alarm.HAZARD) ** (tau - 1)
            rest -= prior
            for h in alarm.STRENGTHS:
                weight = [h if i >= tau else 1.0 for i in order]
                left = [sum(weight[place:]) / (len(order) - place) for place in range(len(order))]
                total += (
                    share * prior / len(alarm.STRENGTHS) * math.prod(w / s for w, s in zip(weight, left, strict=True))
                )
        total += share * rest
    return total


def test_the_capital_is_what_its_definition_says():
    rng = np.random.default_rng(1)
    for count in (2, 3, 8, 15):
        scores = rng.integers(0, 6, count).astype(float)
        assert e_value(scores)[0] == pytest.approx(by_hand(scores.tolist()))


def test_each_bet_is_fair_whatever_came_before():
    """If all orders are equally likely, the capital after the next build is on average what it is now: the places
    where the next may fall are as likely as each other. That is all that Ville's inequality asks for."""
    for so_far in orders(5):
        now = e_value(so_far)[0]
        then = [e_value(np.append(so_far, place - 0.5))[0] for place in range(6)]
        assert np.mean(then) == pytest.approx(now)


@pytest.mark.slow
def test_equal_scores_never_pay_more_than_ties_broken_any_way():
    for scores in product((0.0, 1.0, 2.0), repeat=5):
        tied = np.array(scores)
        broken = [e_value(tied + 0.01 * order)[0] for order in orders(5)]
        assert e_value(tied)[0] <= min(broken) + 1e-12


def test_builds_that_are_all_the_same_never_raise_an_alarm():
    seen = watch_trend(np.full(100, 0.3))
    assert seen.changes == ()
    assert seen.evidence.max() == 1.0
    wobble = 0.3 + np.arange(100) % 7 * 1e-13  # the last bits of another processor
    assert watch_trend(wobble).evidence.tolist() == seen.evidence.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["continuous", "lumpy"])
def test_false_alarms_are_rarer_than_one_in_twenty(noise):
    """300 histories of 80 nights without a change. 5 % would be 15; more than 23 has a chance of 1 % at 5 %. Only the
    order counts, so one continuous distribution stands for all."""
    rng = np.random.default_rng(2)
    nights = (rng.random(80) if noise == "continuous" else rng.integers(0, 3, 80).astype(float) for _ in range(300))
    assert sum(bool(watch_trend(scores).changes) for scores in nights) <= 23


def test_a_drop_is_noticed_and_its_beginning_found():
    rng = np.random.default_rng(3)
    scores = np.concatenate([rng.normal(0.5, 0.01, 30), rng.normal(0.45, 0.01, 12)])
    (change,) = watch_trend(scores).changes
    assert change.worse
    assert abs(change.since - 30) <= 1
    assert 30 < change.at < 40
    assert change.before == pytest.approx(0.5, abs=0.01)
    assert change.after == pytest.approx(0.45, abs=0.01)


def test_after_a_rise_the_trend_starts_anew_so_that_a_fall_to_the_old_level_is_a_drop():
    rng = np.random.default_rng(4)
    levels = np.repeat([0.4, 0.5, 0.4], 25)
    changes = watch_trend(levels + rng.normal(0, 0.01, 75)).changes
    assert [change.worse for change in changes] == [False, True]
    assert [abs(change.since - place) <= 1 for change, place in zip(changes, (25, 50), strict=True)] == [True, True]


def test_what_was_seen_does_not_change_when_more_builds_come():
    rng = np.random.default_rng(5)
    scores = np.concatenate([rng.normal(0.5, 0.02, 20), rng.normal(0.4, 0.02, 20)])
    whole = watch_trend(scores)
    for end in range(1, 41):
        part = watch_trend(scores[:end])
        assert part.evidence.tolist() == whole.evidence[:end].tolist()
        assert part.changes == tuple(change for change in whole.changes if change.at < end)


def test_only_the_order_of_scores_counts():
    rng = np.random.default_rng(6)
    scores = rng.random(30)
    assert watch_trend(scores).evidence.tolist() == watch_trend(np.exp(3 * scores)).evidence.tolist()


@pytest.mark.parametrize("builds", [10, 30, 100])
def test_a_drop_below_everything_is_noticed_after_about_as_many_builds_as_are_told(builds):
    rng = np.random.default_rng(7)
    taken = []
    for _ in range(25):
        scores = np.concatenate([rng.random(builds) + 1.0, rng.random(20)])
        taken.append(next(n for n in range(1, 20) if e_value(scores[: builds + n])[0] >= ALARM))
    assert abs(np.median(taken) - builds_until_alarm(builds)) <= 1


NUGGETS = [{"qid": q, "nugget": str(n), "text": f"{q} fact number{n}"} for q in ("q2", "q10") for n in (1, 2, 3)]
FIXED = "[threshold]\nmodel = 'fixed'\nvalue = 0.5\n"
BUILDS = ["11 01", "10 01", "11 10", "10 11", "01 10"]  # found or not: nuggets 1, 2 of q2, then of q10


def said(flags):
    return [
        (q, f"{q} fact number{n}")
        for q, own in zip(("q2", "q10"), flags.split(), strict=True)
        for n, flag in enumerate(own, 1)
        if flag == "1"
    ]


class Clock:
    def __init__(self):
        self.time = datetime(2026, 1, 1, 2, tzinfo=UTC)

    def __call__(self):
        self.time += timedelta(days=1)
        return self.time


@pytest.fixture
def recorded(collect):
    """A collection and its history: five builds of one group, each with the nuggets that BUILDS says."""
    collection = collect(NUGGETS, {f"b{i}": said(flags) for i, flags in enumerate(BUILDS)}, toml=FIXED)
    lines = [{"run": f"b{i}", "group": "ours"} for i in range(len(BUILDS))]
    write_lines(collection.root / "runs.jsonl", lines)
    collection = read_collection(collection.root)
    history = History.of(collection.root, Clock())
    for i in range(len(BUILDS)):
        history.record(score(collection, [f"b{i}"]), f"n{i}")
    return collection, history


def test_a_trend_has_the_scores_of_its_builds_in_the_order_of_time(recorded):
    collection, history = recorded
    (trend,) = trends(history)
    expected = [score(collection, [f"b{i}"])[f"b{i}"].measures["f3"] for i in range(5)]
    assert trend.group == "ours"
    assert [build.scoring.label for build in trend.builds] == ["n0", "n1", "n2", "n3", "n4"]
    assert [build.interval for build in trend.builds] == expected
    assert trend.value.tolist() == [interval.value for interval in expected]
    assert np.isnan(trend.low).all()  # two questions have no interval
    assert {interval.low for interval in expected} == {None}
    assert trend.comparable.all()
    assert np.isnan(trend.delta[0])
    assert trend.delta[1:].tolist() == np.diff(trend.value).tolist()
    assert trend.alarm.evidence.tolist() == watch_trend(trend.value).evidence.tolist()


def test_nuggets_gained_and_lost_are_those_of_the_sets(recorded):
    """Against sets made from BUILDS, which never saw the database."""
    _, history = recorded
    (trend,) = trends(history)
    fate = nugget_timelines(history, trend.builds)
    names = [(fact.qid, fact.nugget) for fact in fate.nuggets]
    assert names == [(q, str(n)) for q in ("q2", "q10") for n in (1, 2, 3)]
    sets = [{(q, text[-1]) for q, text in said(flags)} for flags in BUILDS]
    for place in range(5):
        before = sets[place - 1] if place else sets[0]
        assert {names[i] for i in np.flatnonzero(fate.found[:, place])} == sets[place]
        assert {names[i] for i in np.flatnonzero(fate.gained[:, place])} == sets[place] - before
        assert {names[i] for i in np.flatnonzero(fate.lost[:, place])} == before - sets[place]
    assert {names[i] for i in np.flatnonzero(fate.missing)} == {("q2", "1"), ("q10", "2")}
    assert [names[i] for i in fate.flickering] == [("q2", "2"), ("q10", "2")]
    assert fate.turns.tolist() == [1, 4, 0, 1, 3, 0]
    assert fate.last_lost.tolist() == [4, 3, -1, -1, 4, -1]
    assert fate.compared.tolist() == [False, True, True, True, True]


def test_a_nuggets_life_names_the_text_that_got_the_credit(recorded):
    _, history = recorded
    (story,) = timelines_of(history, trends(history), "q2/2")
    text = "q2 fact number2"
    assert story.texts == (text, None, text, None, text)
    assert story.timelines.found[0].tolist() == [True, False, True, False, True]
    with pytest.raises(NuggeteerError, match="no recorded build has this nugget"):
        timelines_of(history, trends(history), "q2/9")


def test_builds_scored_otherwise_do_not_compare_and_the_alarm_passes_over_them(recorded):
    collection, history = recorded
    no = {"qid": "q2", "nugget": "1", "text": "anything", "verdict": False}
    write_lines(collection.root / "judgements" / "new.jsonl", [no])
    judged = read_collection(collection.root)
    history.record(score(judged, ["b0"]), "n5")
    (trend,) = trends(history)
    assert trend.comparable.tolist() == [False] * 5 + [True]
    assert {build.unlike for build in trend.builds[:5]} == {("judgements",)}
    assert np.isnan(trend.delta).all()
    assert np.isnan(trend.alarm.evidence).tolist() == [True] * 5 + [False]
    assert not nugget_timelines(history, trend.builds).gained.any()
    assert history.rescore(judged) == (5, 0)
    (trend,) = trends(history)
    assert trend.comparable.all()
    assert history.rescore(judged) == (0, 0)


def test_a_build_that_was_never_asked_a_question_does_not_compare(recorded):
    """Its silence on a question that was added later is not its fault."""
    collection, history = recorded
    with (collection.root / "nuggets.jsonl").open("a") as file:
        file.write('{"qid": "q11", "nugget": "1", "text": "a later fact", "importance": "vital"}\n')
    write_lines(collection.root / "runs" / "b5.jsonl", [{"qid": "q11", "text": "a later fact"}])
    write_lines(collection.root / "runs.jsonl", [{"run": "b5", "group": "ours"}])
    grown = read_collection(collection.root)
    history.record(score(grown, ["b5"]), "n5")
    history.rescore(grown)
    (trend,) = trends(history)
    assert trend.comparable.tolist() == [False] * 5 + [True]
    assert {(build.unlike, build.unasked) for build in trend.builds[:5]} == {((), ("q11",))}


def test_groups_are_trends_of_their_own_and_runs_without_one_share_theirs(recorded, collect):
    collection, history = recorded
    collection = collect(NUGGETS, {"x": said("11 11"), "y": said("00 01")}, toml=FIXED, folder="other")
    history.record(score(collection, ["x", "y"]))
    found = trends(history)
    assert [(trend.group, len(trend.builds)) for trend in found] == [("ours", 5), (None, 2)]


def test_a_measure_that_nobody_recorded_is_refused_with_those_that_are(recorded):
    _, history = recorded
    with pytest.raises(NuggeteerError, match="recorded are: f3, recall, precision"):
        trends(history, "f1")
    assert trends(history, "recall")[0].measure == "recall"
