"""AutoNuggetizer's files: everything in them comes back, garbled or not, and nothing in them breaks us."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.formats import autonuggetizer
from nuggeteer.formats.autonuggetizer import assignment_objects, nugget_objects, read_nuggets
from nuggeteer.formats.bundle import KEPT_ASIDE, USED, Bundle
from nuggeteer.records import Judgement, Nugget, Question, Response, RunInfo
from tests.made_up import ids, json_values, names, texts

Object = dict[str, Any]


def read(reader: Callable[[Path], Bundle], lines: Iterable[Object | bytes]) -> Bundle:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.jsonl"
        path.write_bytes(b"".join((x if isinstance(x, bytes) else orjson.dumps(x)) + b"\n" for x in lines))
        return reader(path)


def read_assignments(path: Path) -> Bundle:
    (bundle,) = autonuggetizer.read_assignments([path])
    return bundle


def canonical(objects: Iterable[Any]) -> list[bytes]:
    """Objects as bytes that are the same only if they are: 1 is neither 1.0 nor true."""
    return [orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in objects]


def answer(nuggets: list[Object], run: str = "r", qid: str = "q", text: str = "an answer", **more: Any) -> Object:
    return {"query": "why?", "qid": qid, "run_id": run, "answer_text": text, "nuggets": nuggets, **more}


def nugget(text: str = "a fact", importance: Any = "vital", assignment: Any = "support", **more: Any) -> Object:
    return {"text": text, "importance": importance, "assignment": assignment, **more}


def without(one: Object, key: str) -> Object:
    return {k: v for k, v in one.items() if k != key}


# --- examples


def test_an_answer_becomes_a_response_and_a_verdict_for_each_nugget():
    names = ["support", "partial_support", "not_support"]
    bundle = read(read_assignments, [answer([nugget(name, assignment=name) for name in names])])
    assert bundle.questions == {"q": Question("q", "why?", kind="rag")}
    assert [(n.nugget, n.descriptions, n.importance) for n in bundle.nuggets] == [
        (str(place), (name,), "vital") for place, name in enumerate(names, 1)
    ]
    assert bundle.responses == {"r": [Response("q", "an answer")]}
    assert [(j.nugget, j.verdict, j.partial, j.run) for j in bundle.judgements] == [
        ("1", True, False, "r"),
        ("2", False, True, "r"),
        ("3", False, False, "r"),
    ]
    assert not bundle.problems


def test_a_garbled_importance_is_unrated_kept_and_reported():
    bundle = read(read_nuggets, [{"query": "why?", "qid": "q", "nuggets": [nugget("a", "failed", "support")]}])
    assert [(n.importance, n.extra["importance_as_found"]) for n in bundle.nuggets] == [("unrated", "failed")]
    assert [(p.line, p.severity) for p in bundle.problems] == [(1, "warning")]
    assert "nugget 1 of q has the importance 'failed'" in bundle.problems[0].what


@pytest.mark.parametrize("assignment", ["ming_dynasty_support", "", None, ["support"], {"support": 1}, 7])
def test_a_garbled_assignment_is_a_no_kept_and_reported(assignment):
    found = nugget(assignment=assignment)
    bundle = read(read_assignments, [answer([nugget("first")]), answer([found], qid="p")])
    assert [(j.verdict, j.partial, j.extra) for j in bundle.judgements[1:]] == [
        (False, False, {"assignment": assignment})
    ]
    assert [orjson.loads(raw) for raw in bundle.garbled] == [found]
    assert [p.line for p in bundle.problems] == [2]


def test_a_nugget_that_was_not_assigned_has_no_verdict_rather_than_a_no():
    bundle = read(read_assignments, [answer([nugget(assignment="not_assigned")])])
    assert not bundle.judgements
    assert not bundle.problems


LINE = answer([nugget()])
NO_IDS = ["", " q", "a\nb", "\0", None, 1.5, True, []]
NO_NUGGETS = [{}, "x", [5], [{}], [{"text": None}], None]
UNUSABLE = [
    *(without(LINE, key) for key in ("qid", "run_id", "answer_text", "nuggets")),
    *({**LINE, key: value} for key in ("qid", "run_id") for value in NO_IDS),
    *({**LINE, "answer_text": value} for value in (None, 5, ["x"])),
    *({**LINE, "nuggets": value} for value in NO_NUGGETS),
]


@pytest.mark.parametrize("line", UNUSABLE)
def test_an_answer_that_cannot_be_used_is_kept_aside_whole(line):
    bundle = read(read_assignments, [answer([nugget()], qid="before"), line])
    assert canonical(map(orjson.loads, bundle.garbled)) == canonical([line])
    assert [p.line for p in bundle.problems] == [2]
    assert list(bundle.questions) == ["before"]


@pytest.mark.parametrize(
    "line", [*({**LINE, "qid": value} for value in NO_IDS), *({**LINE, "nuggets": value} for value in NO_NUGGETS)]
)
def test_a_question_that_cannot_be_used_is_kept_aside_whole(line):
    bundle = read(read_nuggets, [{"query": "", "qid": "before", "nuggets": []}, line])
    assert canonical(map(orjson.loads, bundle.garbled)) == canonical([line])
    assert [p.line for p in bundle.problems] == [2]
    assert list(bundle.questions) == ["before"]


def test_a_second_answer_of_a_run_to_a_question_is_kept_aside():
    again = answer([nugget(assignment="not_support")], text="another")
    bundle = read(read_assignments, [answer([nugget()]), again])
    assert bundle.responses == {"r": [Response("q", "an answer")]}
    assert [j.verdict for j in bundle.judgements] == [True]
    assert [orjson.loads(raw) for raw in bundle.garbled] == [again]


def verdicts(bundle: Bundle) -> dict[tuple[str | None, str], str]:
    """Each verdict in words, by run and by the text of its nugget."""
    text = {nugget.nugget: nugget.descriptions[0] for nugget in bundle.nuggets}
    assert all(judgement.machine and judgement.assessor == "autonuggetizer" for judgement in bundle.judgements)
    words = {(True, False): "yes", (False, True): "partly", (False, False): "no"}
    return {(j.run, text[j.nugget]): words[j.verdict, j.partial] for j in bundle.judgements}


def test_nuggets_that_a_labeller_moved_or_dropped_are_matched_by_their_texts_and_reported():
    """By place, b's support would go to a."""
    full = [nugget("a", assignment="not_support"), nugget("b"), nugget("c", assignment="partial_support")]
    moved = [nugget("C", assignment="not_support"), nugget("b ")]
    bundle = read(read_assignments, [answer(moved, run="s", text="another"), answer(full)])
    assert [(n.nugget, n.descriptions) for n in bundle.nuggets] == [("1", ("a",)), ("2", ("b",)), ("3", ("c",))]
    assert verdicts(bundle) == {
        ("s", "c"): "no",
        ("s", "b"): "yes",
        ("r", "a"): "no",
        ("r", "b"): "yes",
        ("r", "c"): "partly",
    }
    (told,) = bundle.problems
    assert (told.line, told.what) == (1, "s has no assignment of 1 of the 3 nuggets of q: 1")
    assert [n["assignment"] for n in next(assignment_objects(bundle, "s"))["nuggets"]] == [
        "not_assigned",
        "support",
        "not_support",
    ]


def test_a_nugget_that_only_a_shorter_list_has_follows_the_longest_and_is_reported():
    bundle = read(read_assignments, [answer([nugget("a"), nugget("b")]), answer([nugget("x")], run="s")])
    assert [n.descriptions[0] for n in bundle.nuggets] == ["a", "b", "x"]
    assert verdicts(bundle) == {("r", "a"): "yes", ("r", "b"): "yes", ("s", "x"): "yes"}
    assert [problem.line for problem in bundle.problems] == [2, 1, 2]
    assert bundle.problems[0].what == "'x' is not in the longest list of q; it is nugget 3 now"


def test_with_a_key_other_texts_are_kept_aside_and_another_importance_is_reported(tmp_path):
    key = [Nugget("q", "n1", ("a",), "vital"), Nugget("q", "n2", ("b", "or c"), "okay")]
    line = answer([nugget("b / or c", "vital"), nugget("x"), nugget("a", "vital", "not_support")])
    path = tmp_path / "file.jsonl"
    path.write_bytes(orjson.dumps(line))
    (bundle,) = autonuggetizer.read_assignments([path], key)
    assert bundle.nuggets == key
    assert [(j.nugget, j.verdict) for j in bundle.judgements] == [("n2", True), ("n1", False)]
    assert [orjson.loads(raw) for raw in bundle.garbled] == line["nuggets"][:2]
    assert [problem.what for problem in bundle.problems] == [
        "nugget n2 of q is 'vital' here and 'okay' before, which counts",
        "q has no nugget 'x', so its assignment has no place",
    ]
    assert next(assignment_objects(bundle, "r"))["nuggets"] == [line["nuggets"][2], line["nuggets"][0]]


def test_of_equal_texts_the_first_is_the_first_nugget_and_exact_texts_come_first():
    """A text that differs in case only never takes the nugget of an equal text that follows."""
    full = [nugget("a", assignment="support"), nugget("a", assignment="not_support"), nugget("A")]
    turned = [nugget("A", assignment="not_support"), nugget("a"), nugget("a", assignment="partial_support")]
    bundle = read(read_assignments, [answer(full), answer(turned, run="s")])
    assert [(j.nugget, j.verdict, j.partial) for j in bundle.judgements if j.run == "s"] == [
        ("3", False, False),
        ("1", True, False),
        ("2", False, True),
    ]


def test_several_files_share_one_key(tmp_path):
    """Every file names the whole key of its questions, so that each nugget has one id."""
    for name, listed in {"one": ["a", "c"], "two": ["c", "b", "a"]}.items():
        (tmp_path / name).write_bytes(orjson.dumps(answer([nugget(text) for text in listed], run=name)))
    one, two = autonuggetizer.read_assignments([tmp_path / "one", tmp_path / "two"])
    assert one.nuggets == two.nuggets
    assert verdicts(one) == {("one", "a"): "yes", ("one", "c"): "yes"}
    assert verdicts(two) == dict.fromkeys([("two", text) for text in "abc"], "yes")


def test_a_question_for_the_second_time_is_kept_aside():
    first, again = ({"query": "why?", "qid": "q", "nuggets": [nugget(text)]} for text in "ab")
    bundle = read(read_nuggets, [first, again])
    assert [n.descriptions for n in bundle.nuggets] == [("a",)]
    assert [orjson.loads(raw) for raw in bundle.garbled] == [again]


def test_verdicts_on_the_run_itself_go_before_those_on_another_run_with_the_same_text():
    lines = [answer([nugget(assignment="not_support")]), answer([nugget()], run="s")]
    bundle = read(read_assignments, lines)
    assert list(assignment_objects(bundle, "r")) == lines[:1]
    bundle.judgements = [j for j in bundle.judgements if j.run == "s"]
    assert [one["nuggets"][0]["assignment"] for one in assignment_objects(bundle, "r")] == ["support"]


def test_an_answer_of_several_responses_is_joined_and_has_the_best_of_their_verdicts():
    bundle = Bundle()
    bundle.nuggets += [Nugget("q", name, (name, "or so"), "okay") for name in ("x", "y", "z")]
    for text in ("one", "Two"):
        bundle.add_response(RunInfo("r"), Response("q", text, docid="d", extra={"as_found": {"kept": 1}}))
    bundle.judgements += [
        Judgement("q", "x", "one", False),
        Judgement("q", "x", "two", True),
        Judgement("q", "y", "one", False, partial=True),
        Judgement("q", "y", "two", False, extra={"assignment": "garbled"}),
    ]
    (written,) = assignment_objects(bundle, "r")
    assert written["answer_text"] == "one Two"
    assert [n["text"] for n in written["nuggets"]] == ["x / or so", "y / or so", "z / or so"]
    assert [n["assignment"] for n in written["nuggets"]] == ["support", "partial_support", "not_assigned"]
    assert "kept" not in written


# --- there and back

values = json_values(st.sampled_from(["vital", "okay", "support", "failed"]))
OURS = [
    "docid",
    "rank",
    "weight",
    "votes",
    "tags",
    "extra",
    "text",
    "descriptions",
    "verdict",
    "as_found",
    "assignment",
]
more = st.dictionaries(texts | st.sampled_from(OURS), values, max_size=2)
importances = st.sampled_from(["vital", "okay", "unrated"]) | values
rated = st.lists(
    st.builds(
        lambda rest, text, importance: {**rest, "text": text, "importance": importance}, more, texts, importances
    ),
    max_size=3,
)
assignments = st.sampled_from(["support", "partial_support", "not_support", "garbled"]) | values


@st.composite
def nugget_lines(draw: st.DrawFn) -> list[Object]:
    qids = draw(st.lists(ids, unique_by=str, min_size=1, max_size=3))
    return [{**draw(more), "qid": qid, "query": draw(texts | values), "nuggets": draw(rated)} for qid in qids]


@st.composite
def assignment_lines(draw: st.DrawFn) -> list[Object]:
    """Answers of some runs to some questions, in any order; a run may leave questions out.

    Runs may give the same answer, but then every nugget is assigned: else, what was found in the one
    rightly counts for the other.
    """
    same = draw(st.booleans())
    qids, runs = (draw(st.lists(ids, unique_by=str, min_size=1, max_size=3)) for _ in range(2))
    keys = [[(n["text"], n["importance"]) for n in draw(rated)] for _ in qids]
    pairs = draw(st.permutations([(run, i) for run in runs for i in range(len(qids))]))
    return [
        {
            **draw(more),
            "query": draw(texts | values),
            "qid": qids[i],
            "run_id": run,
            "answer_text": "yes" if same else f"{run} of {i}: {draw(texts)}",
            "nuggets": [
                {"assignment": "not_assigned", "text": text, "importance": importance}
                if not same and draw(st.booleans())
                else {**draw(more), "text": text, "importance": importance, "assignment": draw(assignments)}
                for text, importance in keys[i]
            ],
        }
        for run, i in pairs
        if draw(st.integers(0, 3))
    ]


def records(bundle: Bundle) -> tuple[Any, ...]:
    return bundle.questions, bundle.nuggets, bundle.runs, bundle.responses, bundle.judgements


@pytest.mark.slow
@settings(max_examples=60)
@given(nugget_lines())
def test_nuggets_come_back_as_they_were(lines):
    """Objects with any keys, ids that are numbers and garbled importances, and the records made of them."""
    bundle = read(read_nuggets, lines)
    written = list(nugget_objects(bundle))
    assert canonical(written) == canonical(lines)
    assert records(read(read_nuggets, written)) == records(bundle)


@pytest.mark.slow
@settings(max_examples=60)
@given(assignment_lines())
def test_assignments_come_back_as_they_were(lines):
    """Objects with any keys, garbled importances and assignments, of several runs in one file."""
    bundle = read(read_assignments, lines)
    assert len(lines) == sum(map(len, bundle.responses.values()))
    for run in bundle.responses:
        own = [line for line in lines if str(line["run_id"]) == run]
        assert canonical(assignment_objects(bundle, run)) == canonical(own)


@pytest.mark.slow
@given(
    st.dictionaries(names, st.tuples(texts, st.lists(st.tuples(texts, st.sampled_from(["vital", "okay", "unrated"])))))
)
def test_questions_and_nuggets_of_our_own_come_back_from_their_objects(made):
    bundle = Bundle()
    for qid, (text, nuggets) in made.items():
        bundle.add_question(Question(qid, text, kind="rag"))
        bundle.nuggets += [Nugget(qid, str(i), (t,), kind) for i, (t, kind) in enumerate(nuggets, 1)]
    assert records(read(read_nuggets, nugget_objects(bundle))) == records(bundle)


# --- anything at all

KEYS = ["qid", "query", "run_id", "answer_text", "nuggets", "text", "importance", "assignment", "as_found", "other"]
anything = json_values(st.sampled_from(["q", "r", "vital", "support"]), keys=st.sampled_from(KEYS), size=5, leaves=12)
one = st.fixed_dictionaries({"text": texts | anything}, optional=dict.fromkeys(["importance", "assignment"], anything))
changed = st.fixed_dictionaries(
    {"qid": st.just("q") | anything, "nuggets": st.lists(one, max_size=2) | anything},
    optional={"run_id": st.just("r") | anything, "answer_text": texts | anything, "query": anything, "other": anything},
)


def told(bundle: Bundle) -> list[bytes]:
    """What was kept aside, after a look that each piece has its problem."""
    assert sum(problem.remedy in (KEPT_ASIDE, USED) for problem in bundle.problems) == len(bundle.garbled)
    return canonical(orjson.loads(raw) for raw in bundle.garbled)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(changed | st.dictionaries(st.sampled_from(KEYS), anything), min_size=1, max_size=4))
def test_any_objects_are_read_or_kept_aside_whole(lines):
    bundle = read(read_assignments, lines)
    aside = told(bundle)
    assert sum(map(len, bundle.responses.values())) + sum(x in aside for x in canonical(lines)) >= len(lines)
    bundle = read(read_nuggets, lines)
    aside = told(bundle)
    assert len(bundle.questions) + sum(x in aside for x in canonical(lines)) >= len(lines)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.binary(max_size=40) | anything.map(orjson.dumps), max_size=4))
def test_any_bytes_are_read_or_told_as_problems(lines):
    for reader in (read_assignments, read_nuggets):
        bundle = read(reader, lines)
        assert bundle.questions or bundle.problems or not any(line.strip() for line in lines)


@pytest.mark.parametrize("depth", [300, 1000])
def test_lists_too_deep_to_be_written_again_are_told_as_a_problem(depth):
    deep = b'{"qid": "q", "query": "", "nuggets": [], "x": ' + b"[" * depth + b"]" * depth + b"}"
    bundle = read(read_nuggets, [deep])
    assert [(p.line, p.severity) for p in bundle.problems] == [(1, "error")]
