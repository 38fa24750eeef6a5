"""The library as somebody explores it: what there is, how it shows itself, what it takes."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import nuggeteer as ng
from nuggeteer.collection.memory import rows_of
from nuggeteer.display import LINE, Framed, Shown

EVIL = "<script>alert(1)</script>\x1b[31m&\u202e"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return ng.make_collection(
        [
            {"qid": i, "text": text, "importance": "vital"}
            for i in range(1, 7)
            for text in ("built the first reactor in Chicago", f"{EVIL} was born in Rome")
        ],
        runs={
            "monday": [{"qid": i, "text": f"He built the first reactor in Chicago. {EVIL}"} for i in range(1, 7)],
            "tuesday": {i: [f"He was born in Rome {EVIL}", "He sailed."] for i in range(1, 7)},
        },
        questions={str(i): "Who was Fermi?" for i in range(1, 7)},
        judgements=[
            {"qid": 1, "nugget": n, "text": "He sailed.", "verdict": False, "assessor": who}
            for n in (1, 2)
            for who in ("ann", "bob")
        ],
    )


@pytest.fixture(scope="module")
def objects(small):
    """One of every kind of result."""
    scores = ng.score(small)
    changed = ng.diff(small, "monday", "tuesday")
    history = ng.History.of(small.root)
    history.record(scores, "first")
    (trend,) = ng.trends(history, "f3")
    timelines = ng.nugget_timelines(history, trend.builds)
    compared = ng.compare(small)
    return [
        *(small, small.key, small.run("monday"), scores, scores.runs[0], scores.runs[0].outcome, scores.model),
        *(changed, changed.headline, *changed.lost[:1], *changed.gained[:1], compared, compared.standings[0]),
        *(trend, trend.builds[0], timelines, ng.agree(small), ng.Scorer(small), scores.measures[0]),
    ]


class _Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags = set()
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert all(name == "style" for name, _ in attrs)


def test_every_object_has_a_short_repr_without_control_characters(objects):
    for one in objects:
        assert isinstance(one, Shown)
        assert len(repr(one)) <= LINE
        assert repr(one).startswith(f"<{type(one).__name__}")
        assert repr(one).isprintable()


def test_every_object_has_html_in_which_nothing_of_an_answer_is_a_tag(objects):
    for one in objects:
        html = one._repr_html_()
        assert _Tags(html).tags <= {"p", "b", "table", "thead", "tbody", "tr", "th", "td"}
        assert "\x1b" not in html
        assert len(html) < 50_000


def test_every_table_is_a_data_frame_with_all_rows(objects):
    pytest.importorskip("pandas")
    framed = [one for one in objects if isinstance(one, Framed)]
    assert {type(one).__name__ for one in framed} == {"Diff", "Comparison", "Trend", "AssessorAgreement"}
    for one in framed:
        assert len(one.to_frame()) == len(list(one._rows())) > 0


def test_a_frame_of_a_diff_has_what_the_diff_has(small):
    pytest.importorskip("pandas")
    changed = ng.diff(small, "monday", "tuesday")
    frame = changed.to_frame()
    lost = [*changed.lost, *(change for change in changed.doubtful if change.kind == "lost")]
    assert (frame["change"] == "lost").sum() == len(lost)
    assert (frame["probable"] & (frame["change"] == "lost")).sum() == len(changed.lost)
    assert frame["effect"].iloc[0] == lost[0].effect
    assert frame["old text"].iloc[0] == lost[0].old.passage.text


def test_everything_in_all_is_offered_for_completion():
    assert set(ng.__all__) <= set(dir(ng))
    assert {"diff", "agree", "crossval", "make_collection", "score"} <= set(dir(ng))
    with pytest.raises(AttributeError, match="did you mean diff"):
        _ = ng.dif


def test_a_name_that_is_not_there_says_what_is(small):
    scores = ng.score(small, "monday")
    for error in (KeyError, ng.NuggeteerError):
        with pytest.raises(error) as caught:
            scores["mondey"]
        assert str(caught.value) == "no run 'mondey' was scored; did you mean monday? there are: monday"
    assert "monday" in scores._ipython_key_completions_()


def test_a_collection_may_be_a_folder_and_a_single_run_needs_no_list(small):
    expected = ng.score(small, ["monday"])["monday"].measures["f3"]
    file = small.root / "runs" / "monday.jsonl"
    for collection in (small, small.root, str(small.root)):
        for run in ("monday", file, small.run("monday")):
            assert ng.score(collection, run)["monday"].measures["f3"] == expected
    assert [run.name for run in ng.score(small)] == ["monday", "tuesday"]
    assert ng.diff(str(small.root), "monday", file.with_name("tuesday.jsonl")).new_run.name == "tuesday"


class Polars:
    def to_dicts(self):
        return [{"qid": 1, "text": "a"}, {"qid": 2, "text": "b"}]


class Arrow:
    def to_pylist(self):
        return Polars().to_dicts()


class Dataset:
    """As `datasets.Dataset`: rows by iteration."""

    column_names = ("qid", "text")

    def __iter__(self):
        return iter(Polars().to_dicts())


def pandas_frame():
    return pytest.importorskip("pandas").DataFrame({"qid": [1, 2], "text": ["a", "b"], "docid": [float("nan"), None]})


@pytest.mark.parametrize(
    "data",
    [
        Polars(),
        Arrow(),
        Dataset(),
        pandas_frame,
        [("1", "a"), ("2", "b")],
        {1: "a", 2: ["b"]},
        {"qid": [1, 2], "text": ["a", "b"]},
        [ng.Response("1", "a"), ng.Response("2", "b")],
        iter([{"qid": 1, "text": "a"}, {"qid": 2, "text": "b"}]),
    ],
    ids=lambda data: type(data).__name__,
)
def test_rows_may_come_from_anything_that_has_rows(data):
    rows = list(rows_of(data() if callable(data) else data))
    assert [(str(row["qid"]), row["text"]) for row in rows] == [("1", "a"), ("2", "b")]
    assert all(set(row) == {"qid", "text"} for row in rows)


@pytest.mark.parametrize("data", ["text", b"", 7, [7], ["text"], None])
def test_what_has_no_rows_is_refused(data):
    with pytest.raises(ng.NuggeteerError, match="give"):
        list(rows_of(data))


def test_a_run_from_memory_is_checked_and_scored_and_leaves_no_file(small):
    before = sorted(small.root.rglob("*.jsonl"))
    run = ng.make_run(small, "tonight", [(1, "He built the first reactor in Chicago."), ("9", "nothing")])
    assert ng.score(small, run)["tonight"].outcome.found[0]
    assert any("unknown question '9'" in str(problem) for problem in small.problems)
    assert sorted(small.root.rglob("*.jsonl")) == before
    with pytest.raises(ng.InputError, match="no 'text'"):
        ng.make_run(small, "wrong", [{"qid": 1}])
    with pytest.raises(ng.InputError, match="answers no question"):
        ng.make_run(small, "empty", [])


def test_a_collection_from_memory_is_the_one_that_its_files_make(small, tmp_path):
    folder = tmp_path / "kept"
    kept = ng.make_collection([("1", "a fact")], runs={"r": [("1", "a fact")]}, folder=folder)
    assert ng.read_collection(folder).key.nuggets == kept.key.nuggets
    assert kept.key.nuggets[0].nugget == "1"
    assert kept.key.nuggets[0].importance == "vital"
    with pytest.raises(ng.InputError, match="not empty"):
        ng.make_collection([("1", "a fact")], folder=folder)
    for name in ("../out", "", ".hidden", "a/b"):
        with pytest.raises(ng.NuggeteerError, match="cannot be the name of a run"):
            ng.make_collection([("1", "a fact")], runs={name: [("1", "x")]}, folder=tmp_path / f"bad{len(name)}")
    assert not Path(tmp_path / "out.jsonl").exists()
