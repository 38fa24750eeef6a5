"""What answers must not claim: gaining it is bad news everywhere."""

from __future__ import annotations

import json

import pytest
from jsonschema import Draft202012Validator

from nuggeteer.cli.main import main
from nuggeteer.collection.memory import make_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.comparing.gate import possibly_lost, rule
from nuggeteer.history.store import History
from nuggeteer.reports import change_words, junit, markdown
from nuggeteer.testing import Nuggets
from tests.test_schemas import SCHEMAS

TEXTS = {"drink": "drink plenty of water", "aspirin": "give the child aspirin", "butter": "put butter on it"}
NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": TEXTS["drink"], "importance": "vital", "weight": 5},
    {"qid": "q1", "nugget": "2", "text": TEXTS["aspirin"], "weight": -8},
    {"qid": "q1", "nugget": "3", "text": TEXTS["butter"], "weight": -2},
]
RUNS = {"old": ["drink", "butter"], "new": ["drink", "aspirin"]}


@pytest.fixture
def folder(tmp_path):
    runs = {run: [{"qid": "q1", "text": TEXTS[word]} for word in words] for run, words in RUNS.items()}
    verdicts = [
        {"qid": "q1", "nugget": str(number), "text": text, "verdict": number == place}
        for number in (1, 2, 3)
        for place, text in enumerate(TEXTS.values(), 1)
    ]
    make_collection(NUGGETS, runs, judgements=verdicts, folder=tmp_path / "qa")
    return tmp_path / "qa"


def test_what_is_claimed_now_is_no_gain(folder):
    result = diff(folder, "old", "new")
    assert result.headline.measure.name == "rubric"
    assert (result.headline.old, result.headline.new) == pytest.approx((3 / 5, -3 / 5))
    assert [(c.nugget.nugget, c.effect) for c in result.claimed] == [("2", pytest.approx(-8 / 5))]
    assert not result.vital_lost
    titles = {title: [c.nugget.nugget for c in found] for title, found in change_words.by_news(result)}
    assert titles == {
        "Lost and contradicted": [],
        "Forbidden, and now claimed": ["2"],
        "Lost": [],
        "Gained": [],
        "Forbidden, and no longer claimed": ["3"],
    }
    assert change_words.worth(result.gained[0], "rubric") == "rubric −1.600"
    assert change_words.worth(result.lost[0], "rubric") == "rubric +0.400"
    assert next(change_words.nuggets_in_words(result)) == (
        "Nuggets: 1 gained (0 vital, 1 forbidden), 1 lost (0 vital, 1 forbidden), 1 kept."
    )


def test_the_summary_of_pytest_names_it(folder):
    """A test that failed for it stood beside "0 lost, 0 gained"."""
    nuggets = Nuggets(folder)
    nuggets.diff("old", "new")
    assert nuggets.lines[0].endswith("vital nuggets: 0 lost, 0 gained, forbidden and now claimed: q1/2")
    nuggets.diff("new", "old")
    assert nuggets.lines[1].endswith("forbidden and now claimed: q1/3")
    nuggets.diff("new", "new")
    assert nuggets.lines[2].endswith("vital nuggets: 0 lost, 0 gained")


def test_the_gates_count_it_like_a_vital_nugget_lost(folder):
    result = diff(folder, "old", "new")
    (gate,) = rule(result, most=0).gates
    assert gate.decision == "FAIL"
    assert gate.why == "1 vital nugget surely lost or forbidden one claimed; none is allowed (q1/2)"
    assert possibly_lost(result, 0.95) == [1]
    assert rule(diff(folder, "new", "new"), most=0).decision == "PASS"
    back = diff(folder, "new", "old")
    assert [c.nugget.nugget for c in rule(back, most=0).gates[0].lost] == ["3"]


def test_build_servers_see_it(folder):
    result = diff(folder, "old", "new")
    said = markdown.changes(result)
    assert "1 forbidden and now claimed" in said
    assert said.index("now claimed") < said.index("no longer claimed")
    assert b'classname="nuggeteer.forbidden-claimed" name="q1/2"' in junit.changes(result, rule(result, most=0))


@pytest.mark.slow
def test_what_the_commands_print_fits_the_schemas_and_is_kept(folder, capsys):
    """A night with a score below 0 is recorded, read again, and shown on the page. All is read, so it fails."""
    at = ["--collection", str(folder)]
    for command, name in (
        (["score"], "score"),
        (["diff", "old", "new"], "diff"),
        (["compare", "--measure", "rubric"], "compare"),
        (["nightly", "old"], "nightly"),
        (["nightly", "new"], "nightly"),
        (["history"], "history"),
    ):
        assert main([*command, *at, "--json", "-"]) == (1 if command == ["nightly", "new"] else 0)
        data = json.loads(capsys.readouterr().out)
        Draft202012Validator(SCHEMAS[name]).validate(data)
        if command == ["nightly", "new"]:
            assert data["measure"] == "rubric"
            assert [lost["nugget"] for lost in data["claimed"]] == ["2"]
            assert data["lost_vital"] == []
        if command == ["score"]:
            assert data["runs"][1]["per_question"][0]["forbidden"] == [1, 2]
    history = History.of(folder)
    assert not history.problems
    assert [s.interval.value for s in history.scorings("rubric")] == pytest.approx([3 / 5, -3 / 5])
    page = folder / "page.html"
    assert main(["report", "new", "--against", "old", *at, "--output", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Forbidden, and now claimed: 1" in text
    assert "forbidden, but claimed" in text
    assert 'class="cell yes forbidden gained"' in text


def test_a_key_without_it_says_nothing_of_it(folder):
    """The words of the gates and the counts stay as they were."""
    make_collection([NUGGETS[0]], {"old": [], "new": [{"qid": "q1", "text": "x"}]}, folder=folder.parent / "plain")
    result = diff(folder.parent / "plain", "new", "new")
    assert "forbidden" not in rule(result, most=0).gates[0].why + markdown.changes(result)
