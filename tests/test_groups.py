"""Groups: nuggets that count as one, against brute force, and in every report."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from nuggeteer.cli.main import main
from nuggeteer.collection.answer_key import make_key
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.foreign import FORMATS
from nuggeteer.collection.memory import make_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.comparing.gate import possibly_lost, rule
from nuggeteer.measures import ALL, Answers, parse
from nuggeteer.records import AnswerKey, Nugget, Question
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.trust.crossval import weights_in_recall
from tests.test_schemas import SCHEMAS

MEASURES = [measure.name for measure in ALL if not measure.by_text]
LEVELS = {"no": 0, "partly": 1, "yes": 2}


@st.composite
def trees(draw, depth=2):
    """A nugget's number of votes, or a group of trees."""
    if depth == 0 or draw(st.booleans()):
        return None
    return draw(st.sampled_from(["any", "all"])), draw(st.lists(trees(depth - 1), min_size=1, max_size=3))


class Built:
    """A key from trees, and a key in which each tree is one nugget."""

    def __init__(self, forest, weights):
        self.nuggets, self.groups, self.flat, self.trees = [], [], [], []
        for number, (tree, weight) in enumerate(zip(forest, weights, strict=True)):
            importance = "forbidden" if weight < 0 else "vital" if weight > 2 else "okay"
            self.trees.append(self.add(tree, importance, weight))
            self.flat.append(Nugget("q", f"flat{number}", ("x",), importance, weight))
        self.key = make_key([Question("q", "")], [*self.groups, *self.nuggets])
        self.one = make_key([Question("q", "")], self.flat)

    def add(self, tree, importance, weight):
        """The tree with ids in place of None."""
        if tree is None:
            self.nuggets.append(Nugget("q", f"n{len(self.nuggets):03}", ("x",), importance, weight))
            return self.nuggets[-1].nugget
        name = f"g{len(self.groups)}"
        self.groups.append(None)
        at = len(self.groups) - 1
        below = [self.add(each, "okay", None) for each in tree[1]]
        ids = tuple(each if isinstance(each, str) else each[2] for each in below)
        self.groups[at] = Nugget("q", name, (), importance, weight, **{f"{tree[0]}_of": ids})
        return tree[0], below, name


def level(tree, said):
    if isinstance(tree, str):
        return said[tree]
    return (max if tree[0] == "any" else min)(level(each, said) for each in tree[1])


@pytest.mark.slow
@given(st.lists(st.tuples(trees(), st.sampled_from([-3.0, 1.0, 2.0, 5.0])), min_size=1, max_size=4), st.data())
def test_a_group_is_one_nugget_with_the_highest_or_the_lowest_level(forest, data):
    """Every measure, in draws too, equals that of a key in which each group is one nugget judged by brute force."""
    built = Built(*zip(*forest, strict=True))
    draws = 3
    said = data.draw(
        st.lists(
            st.lists(st.sampled_from([0, 1, 2]), min_size=len(built.nuggets), max_size=len(built.nuggets)),
            min_size=draws,
            max_size=draws,
        )
    )
    names = [nugget.nugget for nugget in built.nuggets]
    rows = np.array(said)
    ones = np.array([[level(tree, dict(zip(names, row, strict=True))) for tree in built.trees] for row in said])
    place = [built.one.nugget_position["q", nugget.nugget] for nugget in built.flat]
    order = np.argsort(place)
    length = np.array([123])
    ours = Answers(built.key, rows == 2, rows == 1, length)
    theirs = Answers(built.one, (ones == 2)[:, order], (ones == 1)[:, order], length)
    for name in MEASURES:
        if parse(name).applies(built.key):
            np.testing.assert_allclose(parse(name)(ours), parse(name)(theirs), err_msg=name)
    spread = built.key.grouping.spread(rows)
    np.testing.assert_array_equal(built.key.grouping.spread(spread), spread)
    again = Answers(built.key, spread == 2, spread == 1, length)
    np.testing.assert_allclose(parse("rubric")(again), parse("rubric")(ours))


def test_a_key_without_groups_is_as_it_was():
    key = make_key([Question("q", "")], [Nugget("q", "1", ("x",), "vital"), Nugget("q", "2", ("y",), "okay")])
    assert key.grouping.counted == key.nuggets
    levels = np.array([1, 0])
    assert key.grouping.combine(levels) is levels
    assert isinstance(key, AnswerKey)


TEXTS = ["the hull is of steel", "the hull is of iron", "she sails on Sunday", "she calls at Oban"]
LINES = [
    {"qid": "q1", "nugget": "steel", "text": TEXTS[0]},
    {"qid": "q1", "nugget": "iron", "text": TEXTS[1]},
    {"qid": "q1", "nugget": "hull", "any_of": ["steel", "iron"], "importance": "vital", "weight": 3},
    {"qid": "q1", "nugget": "sunday", "text": TEXTS[2]},
    {"qid": "q1", "nugget": "oban", "text": TEXTS[3]},
    {"qid": "q1", "nugget": "way", "all_of": ["sunday", "oban"], "importance": "okay", "weight": 2},
]
RUNS = {"old": [0, 2, 3], "same": [1, 3, 2], "new": [2], "none": [3]}


def written(folder, lines=LINES, judged=True):
    ids = ["steel", "iron", "sunday", "oban"]
    verdicts = [
        {"qid": "q1", "nugget": name, "text": text, "verdict": name == ids[at]}
        for name in ids
        for at, text in enumerate(TEXTS)
    ]
    runs = {run: [{"qid": "q1", "text": TEXTS[at]} for at in texts] for run, texts in RUNS.items()}
    return make_collection(lines, runs, judgements=verdicts if judged else None, folder=folder)


@pytest.fixture
def collection(tmp_path):
    return written(tmp_path / "qa")


def test_the_files_are_read_and_scored(collection):
    assert not collection.problems
    scores = score(collection, measures=["rubric", "recall", "all_score", "strict_all_score"])
    values = {run.name: [run.measures[m.name].value for m in scores.measures] for run in scores}
    assert values["old"] == values["same"] == [1, 1, 1, 1]
    assert values["new"] == values["none"] == [0, 0, 0, 0]
    assert scores.found_of_total(scores["old"], 0) == ([1, 1], [1, 1])
    assert scores.found_of_total(scores["new"], 0) == ([0, 1], [0, 1])


def test_another_nugget_of_the_group_in_its_place_is_no_change(collection):
    result = diff(collection, "old", "same")
    assert (result.gained, result.lost) == ((), ())
    assert [c.nugget.nugget for c in result.kept] == ["hull", "way"]
    assert result.headline.interval.value == 0


def test_a_group_is_lost_as_one(collection):
    """Of two that were needed one is left, and of two that were as good none."""
    result = diff(collection, "old", "new")
    assert [(c.nugget.nugget, c.nugget.importance) for c in result.lost] == [("hull", "vital"), ("way", "okay")]
    hull, way = result.lost
    assert hull.nugget.descriptions == ("one of: the hull is of iron; the hull is of steel",) or (
        hull.nugget.descriptions == ("one of: the hull is of steel; the hull is of iron",)
    )
    assert hull.old.passage.text == TEXTS[0]
    assert (hull.effect, way.effect) == pytest.approx((3 / 5, 2 / 5))
    assert (hull.probability, hull.known) == (1.0, True)
    assert result.expected_lost == 2
    assert rule(result, most=0).decision == "FAIL"
    assert len(possibly_lost(result, 0.95)) == 1
    assert len(result.lost_places) == 2


def test_guessed_groups_have_the_probability_of_their_draws(tmp_path):
    """The chance that any, or that all, are found: the mean over the same draws as the score's."""
    collection = written(tmp_path / "qa", judged=False)
    scorer = Scorer(collection)
    run = scorer.score(scorer.read("old"))
    drawn = run.outcome.drawn
    position = collection.key.nugget_position
    steel, iron, sunday, oban = (position["q1", name] for name in ("steel", "iron", "sunday", "oban"))
    place = collection.key.counted_position
    chance = run.counted.probability
    assert chance[place["q1", "hull"]] == pytest.approx((drawn[:, steel] | drawn[:, iron]).mean())
    assert chance[place["q1", "way"]] == pytest.approx((drawn[:, sunday] & drawn[:, oban]).mean())
    assert not run.counted.known[place["q1", "hull"]]
    expected = (3 * (drawn[:, steel] | drawn[:, iron]) + 2 * (drawn[:, sunday] & drawn[:, oban])).mean() / 5
    assert run.measures["rubric"].value == pytest.approx(expected)


def test_one_that_is_known_settles_a_group_of_any(tmp_path):
    collection = written(tmp_path / "qa", judged=False)
    (collection.root / "judgements").mkdir()
    line = {"qid": "q1", "nugget": "steel", "text": TEXTS[0], "verdict": True}
    (collection.root / "judgements" / "ann.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    scorer = Scorer(read_collection(collection.root))
    run = scorer.score(scorer.read("old"))
    place = scorer.key.counted_position
    assert run.counted.known[place["q1", "hull"]]
    assert run.counted.found[place["q1", "hull"]]
    assert not run.counted.known[place["q1", "way"]]


def test_the_commands_show_groups(collection, capsys):
    at = ["--collection", str(collection.root)]
    for command, name in ((["score"], "score"), (["diff", "old", "new"], "diff"), (["compare"], "compare")):
        assert main([*command, *at, "--json", "-"]) == 0
        data = json.loads(capsys.readouterr().out)
        Draft202012Validator(SCHEMAS[name]).validate(data)
        if name == "score":
            groups = {run["run"]: [(g["group"], g["found"]) for g in run["groups"]] for run in data["runs"]}
            assert groups["old"] == [("hull", True), ("way", True)]
            assert groups["new"] == [("hull", False), ("way", False)]
    assert main(["score", "new", "--nuggets", *at]) == 0
    assert "all of: " in capsys.readouterr().out
    page = collection.root / "page.html"
    assert main(["report", "new", "--against", "old", "--output", str(page), *at]) == 0
    assert "q1/hull" in page.read_text(encoding="utf-8")
    assert main(["nightly", "old", *at]) == 0
    assert main(["nightly", "new", *at]) in (0, 1)
    assert "q1/hull" in capsys.readouterr().out
    assert main(["judge", "new", "--list", "2", *at]) == 0
    assert main(["check", *at]) == 0


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ({"any_of": ["steel", "wood"]}, "the group 'g' of 'q1' has the member 'wood', which is not a nugget of 'q1'"),
        ({"any_of": ["steel"]}, "the nugget 'steel' of 'q1' is in the groups 'hull' and 'g'"),
        ({"all_of": ["g"]}, "a group of 'q1' contains itself"),
        ({"any_of": ["hull"], "text": "x"}, "a group has 'any_of' or 'all_of', and no description of its own"),
        ({"any_of": ["hull"], "all_of": ["way"]}, "a group has 'any_of' or 'all_of'"),
        ({"any_of": ["hull", "hull"]}, "'any_of' names a nugget twice"),
        ({"any_of": "hull"}, "'any_of' is a string, not a list of ids"),
        ({"any_of": []}, "a nugget has either 'text' or 'descriptions'"),
    ],
)
def test_what_makes_no_sense_is_an_error_with_its_line(collection, line, what, capsys):
    path = collection.root / "nuggets.jsonl"
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"qid": "q1", "nugget": "g", **line}) + "\n")
    assert main(["score", "--collection", str(collection.root)]) == 2
    assert f"{path}:7: {what}" in capsys.readouterr().err


def test_deep_groups_are_refused_and_not_followed(collection, capsys):
    path = collection.root / "nuggets.jsonl"
    with path.open("a", encoding="utf-8") as file:
        for i in range(3000):
            member = f"g{i - 1}" if i else "hull"
            file.write(json.dumps({"qid": "q1", "nugget": f"g{i}", "any_of": [member]}) + "\n")
    assert main(["check", "--collection", str(collection.root)]) == 2
    assert "groups are more than 10 deep" in capsys.readouterr().out


def test_a_weight_inside_a_group_is_warned_of(tmp_path, capsys):
    lines = [{**LINES[0], "weight": 2}, *LINES[1:]]
    collection = written(tmp_path / "qa", lines)
    assert [p.what for p in collection.problems] == [
        "'steel' is in the group 'hull' of 'q1', so its own weight does not count"
    ]


def test_nuggets_of_a_group_share_its_weight_in_a_linear_recall(collection):
    """Which is how runs are compared in cross-validation, by default."""
    shares = weights_in_recall(collection.key)
    position = collection.key.nugget_position
    by_name = {name: shares[at] for (_, name), at in position.items()}
    assert by_name == pytest.approx({"steel": 0.3, "iron": 0.3, "sunday": 0.2, "oban": 0.2})


def test_audits_say_that_they_cannot(tmp_path, capsys):
    collection = written(tmp_path / "qa", judged=False)
    assert main(["judge", "old", "--audit", "3", "--plain", "--collection", str(collection.root)]) == 2
    assert "a key with groups of nuggets cannot be audited" in capsys.readouterr().err


def test_other_projects_files_have_no_place_for_groups(collection, tmp_path, capsys):
    """They are left out, which is said, and stay where they are."""
    key = collection.key
    lines = [json.loads(line) for line in (collection.root / "nuggets.jsonl").read_text().splitlines()]
    assert [line["nugget"] for line in lines if "any_of" in line or "all_of" in line] == ["hull", "way"]
    assert main(["convert", "trec-key", "--out", str(tmp_path / "k.txt"), "--collection", str(collection.root)]) == 0
    assert "2 groups of nuggets" in capsys.readouterr().out
    assert "hull" not in (tmp_path / "k.txt").read_text(encoding="utf-8").replace("the hull", "")
    assert len(key.groups) == 2
    before = (collection.root / "nuggets.jsonl").read_bytes()
    assert main(["convert", "trec-key", str(tmp_path / "k.txt"), "--into", str(tmp_path / "other")]) == 0
    for name in ("labelstudio", "rubrics", "nugget-bank"):
        if name in FORMATS and FORMATS[name].of_key:
            target = tmp_path / f"{name}.json"
            assert main(["convert", name, "--out", str(target), "--collection", str(collection.root)]) == 0
            assert '"hull"' not in target.read_text(encoding="utf-8")
    assert (collection.root / "nuggets.jsonl").read_bytes() == before
