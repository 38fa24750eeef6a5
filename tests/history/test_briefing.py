"""What a page is of, and that what it says is what the other functions say."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.errors import NuggeteerError
from nuggeteer.history.briefing import brief, brief_builds
from nuggeteer.history.nightly import nightly
from nuggeteer.history.store import History
from nuggeteer.history.trend import trends
from nuggeteer.judging.reading_order import suggest
from nuggeteer.scoring.scorer import Scorer, score
from tests.conftest import write_lines


@pytest.fixture
def folder(sample, tmp_path):
    return shutil.copytree(sample.root, tmp_path / "here")


def record(folder, *names):
    for name in names:
        collection = read_collection(folder)
        History.of(folder).record(score(collection, [name]), label=f"night of {name}")


def chosen(folder, *names):
    found = brief(read_collection(folder), *names)
    return (
        found.new.run.name,
        found.new.label,
        found.old.run.name if found.old else None,
        found.old.label if found.old else None,
    )


@pytest.mark.slow
def test_without_a_history_it_is_the_last_run_that_nobody_judged_against_the_one_before(folder):
    assert read_collection(folder).manifest["dune"].judged != "none"
    assert chosen(folder) == ("build-103", None, "build-102", None)
    assert chosen(folder, "build-102") == ("build-102", None, "build-101", None)
    assert chosen(folder, "build-102", "aurora") == ("build-102", None, "aurora", None)
    assert chosen(folder, "aurora")[2] is None


@pytest.mark.slow
def test_with_a_history_it_is_the_newest_build_against_the_one_recorded_before(folder):
    record(folder, "build-103", "build-101", "build-102")
    expected = ("build-102", "night of build-102", "build-101", "night of build-101")
    assert chosen(folder) == expected
    assert chosen(folder, "build-101")[2:] == ("build-103", "night of build-103")
    assert chosen(folder, "build-103")[2] is None
    assert chosen(folder, "build-103", "build-101")[3] == "night of build-101"
    assert chosen(folder, "aurora")[:2] == ("aurora", None)


@pytest.mark.slow
def test_builds_are_taken_from_the_history_when_their_files_were_overwritten(folder):
    """A nightly run keeps its name; last night's is in the history only."""
    runs = folder / "runs"
    for name in ("build-101", "build-102"):
        shutil.copy(runs / f"{name}.jsonl", runs / "tonight.jsonl")
        collection = read_collection(folder)
        History.of(folder).record(score(collection, ["tonight"]), label=name)
    found = brief(read_collection(folder))
    assert (found.new.label, found.old.label) == ("build-102", "build-101")
    assert found.new.run.texts == read_collection(folder).run("build-102").texts
    assert found.old.run.texts == read_collection(folder).run("build-101").texts
    assert len(found.trend.builds) == 2


@pytest.mark.slow
def test_a_file_is_compared_with_the_newest_build_of_its_group(folder):
    record(folder, "build-101", "build-102")
    with (folder / "runs.jsonl").open("a") as manifest:
        manifest.write('{"run": "fresh", "group": "build"}\n')
    assert read_collection(folder).group("build-101") == "build"
    shutil.copy(folder / "runs" / "build-103.jsonl", folder / "fresh.jsonl")
    assert chosen(folder, str(folder / "fresh.jsonl"))[0::2] == ("fresh", "build-102")


@pytest.mark.slow
def test_what_it_says_is_what_the_others_say(folder):
    record(folder, "build-101", "build-102")
    collection = read_collection(folder)
    found = brief(collection, seed=3)
    scores = score(collection, ["build-102"], seed=3)
    assert found.score.measures == scores["build-102"].measures
    assert found.scores.signature == scores.signature
    asked = diff(collection, "build-101", "build-102", seed=3, explain=True)
    assert found.diff.lost == asked.lost
    assert found.diff.headline.interval == asked.headline.interval
    scorer = Scorer(collection, seed=3)
    matched = scorer.read("build-102")
    wanted = suggest(scorer, matched, scorer.measures[0], len(found.suggested))
    assert [one.suggestion for one in found.suggested] == wanted
    for one in found.suggested:
        assert one.passage.text == found.new.run.texts[one.suggestion.response]


def test_each_nugget_has_its_evidence(folder):
    found = brief(read_collection(folder))
    outcome = found.diff.new
    assert len(found.sightings) == len(found.key.nuggets)
    for i, sighting in enumerate(found.sightings):
        assert sighting.found == outcome.found[i]
        assert sighting.known == outcome.known[i]
        if sighting.found:
            assert sighting.passage.text == found.new.run.texts[outcome.response[i]]
    by_change = {(c.question.qid, c.nugget.nugget): c.new for c in (*found.diff.gained, *found.diff.lost)}
    for nugget, sighting in zip(found.key.nuggets, found.sightings, strict=True):
        assert by_change.get((nugget.qid, nugget.nugget), sighting) == sighting


def test_a_collection_without_runs_says_so(tmp_path):
    write_lines(tmp_path / "c" / "nuggets.jsonl", [{"qid": "q", "nugget": "1", "text": "x", "importance": "vital"}])
    with pytest.raises(NuggeteerError, match="there are no runs here"):
        brief(read_collection(tmp_path / "c"))


def test_against_nobody_is_an_error(folder):
    with pytest.raises(NuggeteerError, match="nobody"):
        brief(read_collection(folder), "build-102", "nobody")


@pytest.mark.slow
@pytest.mark.parametrize("settings", ["", "measure = 'recall'\nfail_if_worse = 0.2\nmax_lost_vital = 2\nsure = 0.5"])
def test_the_gates_say_what_they_said_that_night(folder, settings):
    """With the same headline, the same reasons, and the builds that were there."""
    with (folder / "nuggeteer.toml").open("a") as file:
        file.write(f"\n[nightly]\n{settings}\n")
    nights = [nightly(read_collection(folder), f"build-{n}", label=str(n)) for n in (101, 102, 103)]
    assert nights[-1].gates
    collection = read_collection(folder)
    wanted = [(trend, build) for trend in trends(History.of(folder), nights[0].measure.name) for build in trend.builds]
    each = list(brief_builds(collection, History.of(folder), wanted))
    for number, (night, found) in enumerate(zip(nights, each, strict=True), 1):
        assert (found.ruling.decision, found.ruling.reason) == (night.decision, night.reason)
        assert [(gate.rule, gate.why) for gate in found.ruling.gates] == [(g.rule, g.why) for g in night.gates]
        assert found.headline.name == night.measure.name
        assert found.score.measures[found.headline.name] == night.interval
        assert (len(found.trend.builds), found.trend.measure) == (number, night.measure.name)
    assert brief(collection).ruling.reason == nights[-1].reason
    assert brief(collection, "build-102").ruling.reason == nights[1].reason


@pytest.mark.slow
def test_a_trend_until_a_build_is_what_it_was_then(folder):
    """With an alarm that comes, and one that is still to come."""
    history, seen = History.of(folder), []
    values = [0.5] * 12 + [0.2] * 6 + [0.8] * 9
    scores = score(read_collection(folder), ["build-101"])
    for i, value in enumerate(values):
        run = replace(scores.runs[0], measures={"f3": replace(scores.runs[0].measures["f3"], value=value + i / 1000)})
        history.record(replace(scores, runs=(run,)), label=str(i))
        seen.append(trends(history)[0])
    (last,) = trends(history)
    assert len(last.alarm.changes) > len(seen[len(values) // 2].alarm.changes)
    for then, build in zip(seen, last.builds, strict=True):
        until = last.until(build)
        assert until.builds == then.builds
        assert until.alarm.changes == then.alarm.changes
        assert until.alarm.evidence == pytest.approx(then.alarm.evidence)


@pytest.mark.slow
def test_after_new_verdicts_the_page_shows_what_history_shows(folder, few_pairs):
    """Builds of earlier days are scored again, for `report` and for the page of `nightly`."""
    record(folder, "build-101", "build-102")
    text = read_collection(folder).run("build-101")
    said = {"qid": "def-01", "nugget": "3", "verdict": True, "text": text.texts[0], "run": "build-101"}
    write_lines(folder / "judgements" / "me.jsonl", [said])
    record(folder, "build-103")
    assert [build.comparable for trend in trends(History.of(folder)) for build in trend.builds] == [False, False, True]
    told = []
    found = brief(read_collection(folder), notify=told.append)
    assert told[0].startswith("2 builds scored again with what is known today")
    assert all(build.comparable for build in found.trend.builds)
    said["verdict"] = False
    write_lines(folder / "judgements" / "you.jsonl", [{**said, "nugget": "4"}])
    night = nightly(read_collection(folder), "build-103", page=True)
    assert all(build.comparable for build in night.briefing.trend.builds)
