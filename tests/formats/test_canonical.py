"""The lines of a collection: records and lines say the same, and every wrong value is named."""

from __future__ import annotations

import json
from datetime import datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.fields import moment
from nuggeteer.formats.canonical import (
    JUDGEMENTS,
    MANIFEST,
    NUGGETS,
    QUESTIONS,
    RESPONSES,
    RETRACTIONS,
    WrongLine,
    as_line,
)
from nuggeteer.records import Judgement, Nugget, Question, Response, Retraction, RunInfo

KINDS = {
    "question": (QUESTIONS, {"qid": "q1", "text": "Who?"}),
    "nugget": (NUGGETS, {"qid": "q1", "nugget": "1", "text": "a fact", "importance": "vital"}),
    "run": (MANIFEST, {"run": "r1"}),
    "response": (RESPONSES, {"qid": "q1", "text": "An answer."}),
    "judgement": (JUDGEMENTS, {"qid": "q1", "nugget": "1", "text": "An answer.", "verdict": False}),
    "retraction": (
        RETRACTIONS,
        {"qid": "q1", "nugget": "1", "text": "An answer.", "assessor": "a", "at": "2026-01-31", "retracted": True},
    ),
}
EVERY = pytest.mark.parametrize(("layout", "least"), KINDS.values(), ids=KINDS)

ids = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=8) | st.just("two words")
scopes = st.sampled_from(["response", "answer"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
maybe = st.none() | texts
TIMES = st.datetimes(datetime(2, 1, 1), datetime(8999, 12, 31))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
KNOWN_KEYS = {key for layout, _ in KINDS.values() for key in layout.checks}
extras = st.dictionaries(texts.filter(lambda key: key not in KNOWN_KEYS), json_values, max_size=3)
shares = st.floats(0, 1)
votes = st.sampled_from(["vital", "okay", 0, 1]) | shares

records = st.one_of(
    st.tuples(st.just(QUESTIONS), st.builds(Question, ids, texts, maybe, maybe, maybe, extra=extras)),
    st.tuples(
        st.just(NUGGETS),
        st.builds(
            Nugget,
            ids,
            ids,
            st.lists(texts, min_size=1, max_size=3).map(tuple),
            st.sampled_from(["vital", "okay", "unrated"]),
            st.none() | st.floats(0, 1_000_000),
            st.dictionaries(texts, votes, max_size=3),
            st.lists(texts, max_size=3).map(tuple),
            extra=extras,
        ),
    ),
    st.tuples(
        st.just(NUGGETS),
        st.builds(
            lambda qid, nugget, members, every: Nugget(
                qid, nugget, (), "okay", 2.0, **{"all_of" if every else "any_of": tuple(members)}
            ),
            ids,
            ids,
            st.lists(ids, min_size=1, max_size=3, unique=True),
            st.booleans(),
        ),
    ),
    st.tuples(
        st.just(NUGGETS),
        st.builds(
            lambda qid, nugget, text, weight: Nugget(qid, nugget, (text,), "forbidden", weight),
            ids,
            ids,
            texts,
            st.floats(-1_000_000, 0, exclude_max=True),
        ),
    ),
    st.tuples(
        st.just(MANIFEST),
        st.builds(
            RunInfo,
            ids,
            maybe,
            st.sampled_from(["none", "best", "every"]),
            st.dictionaries(texts, shares),
            extra=extras,
        ),
    ),
    st.tuples(
        st.just(RESPONSES), st.builds(Response, ids, texts, maybe, st.none() | st.integers(-5, 2**53), extra=extras)
    ),
    st.tuples(
        st.just(JUDGEMENTS),
        st.builds(
            Judgement,
            ids,
            ids,
            texts,
            st.booleans(),
            st.booleans(),
            *[maybe] * 5,
            json_values,
            st.booleans(),
            scopes,
            st.booleans(),
            maybe,
            maybe,
            extra=extras,
        ),
    ),
    st.tuples(
        st.just(RETRACTIONS),
        st.builds(Retraction, ids, ids, texts, texts, TIMES.map(str), maybe, maybe, scopes, extra=extras),
    ),
)


@given(records)
def test_a_record_written_and_parsed_is_the_same_record(pair):
    layout, record = pair
    line = as_line(record)
    assert layout.parse(line) == record
    assert layout.parse(orjson.loads(orjson.dumps(line))) == record


@st.composite
def lines(draw):
    """Lines of every kind in which no key says what its absence would say, or in more words than needed."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    optional = {
        "question": {"kind": texts, "target": texts, "template": texts},
        "nugget": {
            "weight": shares,
            "votes": st.dictionaries(texts, votes, min_size=1),
            "tags": st.lists(texts, min_size=1),
        },
        "run": {
            "group": texts,
            "judged": st.sampled_from(["best", "every"]),
            "official": st.dictionaries(texts, shares, min_size=1),
        },
        "response": {"docid": texts, "rank": st.integers(0, 1000)},
        "judgement": {
            "partial": st.just(True),
            **dict.fromkeys(["docid", "run", "assessor", "at", "reason", "run_hash", "nugget_hash"], texts),
            "span": json_values.filter(lambda value: value is not None),
            "machine": st.just(True),
            "scope": st.just("answer"),
        },
        "retraction": {"run": texts, "reason": texts},
    }[kind]
    layout, least = KINDS[kind]
    line = {**least, **draw(st.fixed_dictionaries({}, optional=optional)), **draw(extras)}
    if kind == "nugget" and draw(st.booleans()):
        del line["text"]
        line["descriptions"] = draw(st.lists(texts, min_size=2))
    return layout, line


@given(lines())
def test_a_line_parsed_and_written_says_the_same_with_every_unknown_key(pair):
    layout, line = pair
    assert as_line(layout.parse(line)) == line


@EVERY
def test_an_absent_key_and_null_mean_the_same(layout, least):
    optional = set(layout.checks) - set(least) - set(layout.required)
    assert layout.parse({**least, **dict.fromkeys(optional)}) == layout.parse(least)


@EVERY
def test_a_missing_key_is_named(layout, least):
    for key in layout.required:
        with pytest.raises(WrongLine) as caught:
            layout.parse({k: v for k, v in least.items() if k != key})
        ((what, remedy),) = caught.value.args
        assert f"'{key}'" in what
        assert remedy


def test_every_wrong_key_of_a_line_is_listed():
    with pytest.raises(WrongLine) as caught:
        JUDGEMENTS.parse({"qid": True, "text": None, "verdict": "yes"})
    assert [what for what, _ in caught.value.args] == [
        "'qid' is true or false, not a string",
        "'text' is null, not a string",
        "'verdict' is a string, not true or false",
        "no 'nugget'",
    ]


# Of each key, values that it may not have. What is said of a type by itself is `msgspec`'s, and is not tried for each.
WRONG = {
    "question": {"qid": [1.5, True, " q1", ""], "text": [7, None], "kind": [False], "target": [["x"]]},
    "nugget": {
        "text": [7],
        "importance": ["Vital", 1],
        "weight": [1_000_001, -1_000_001, True, "2"],
        "votes": [{"a": 1.5}, {"a": True}, {"a": "unrated"}, ["vital"]],
        "tags": ["x", [1]],
    },
    "run": {"judged": ["all", True], "official": [{"f3": "0.5"}, {"f3": True}, [0.5]], "group": [1]},
    "response": {"rank": [1.5, "1", True], "docid": [3]},
    "judgement": {
        "verdict": ["yes", 1, None],
        "scope": ["page"],
        **{key: [1, "no"] for key in ["partial", "contradicts", "machine"]},
        **{key: [1, ["x"]] for key in ["run", "assessor", "at", "reason", "run_hash", "nugget_hash"]},
    },
    "retraction": {"retracted": [False, 1], "at": ["yesterday", 2026], "assessor": [None]},
}
GROUPED = {"descriptions": [[], "x", [1]], **{key: [[], "1", [1.5], ["1", 1]] for key in ["any_of", "all_of"]}}


@pytest.mark.parametrize(("kind", "key"), [(kind, key) for kind in KINDS for key in WRONG[kind]])
def test_a_key_takes_only_what_it_should(kind, key):
    layout, least = KINDS[kind]
    for value in WRONG[kind][key]:
        with pytest.raises(WrongLine) as caught:
            layout.parse({**least, key: value})
        assert all(what and remedy for what, remedy in caught.value.args), value


@pytest.mark.parametrize("key", GROUPED)
def test_lists_of_a_nugget_have_texts_or_ids(key):
    _, least = KINDS["nugget"]
    for value in GROUPED[key]:
        with pytest.raises(WrongLine):
            NUGGETS.parse({**{k: v for k, v in least.items() if k != "text"}, key: value})


def test_a_number_is_the_same_id_as_its_digits():
    assert {QUESTIONS.parse({"qid": qid, "text": ""}).qid for qid in (7, 7.0, "7")} == {"7"}


def test_a_nugget_without_importance_is_vital_and_one_warning_says_how_many_are(tmp_path):
    path = tmp_path / "nuggets.jsonl"
    key = [{"qid": 1, "nugget": i, "text": "a fact"} | ({"importance": "okay"} if i == 2 else {}) for i in (1, 2, 3)]
    path.write_text("\n".join(map(json.dumps, key)), encoding="utf-8")
    problems = []
    assert [nugget.importance for _, nugget in NUGGETS.read(path, problems)] == ["vital", "okay", "vital"]
    assert [str(p) for p in problems] == [
        f"{path}:1: no 'importance' on 2 lines, which is taken as 'vital'; add the key 'importance'"
    ]


@pytest.mark.parametrize(
    "qid", ["", " q1", "q1 ", "a\tb", "a\nb", "\x1b[31m", "a\x00", "a\u202eb", "a\u200bb", "\x9b1m", "\ue000"]
)
def test_an_id_with_characters_that_nobody_sees_is_refused_and_shown(qid):
    with pytest.raises(WrongLine) as caught:
        QUESTIONS.parse({"qid": qid, "text": ""})
    ((what, _),) = caught.value.args
    assert repr(qid) in what
    assert what.isprintable()


@pytest.mark.parametrize("layout", [NUGGETS, RESPONSES])
def test_a_huge_or_deep_value_makes_a_short_message(layout):
    deep = []
    for _ in range(1010):
        deep = [deep]
    for value in ("x" * 10**6 + "\n", deep, {"a": deep}, 10**300):
        with pytest.raises(WrongLine) as caught:
            layout.parse({"qid": value, "weight": value, "importance": value, "rank": value})
        assert all(len(what) < 200 for what, _ in caught.value.args)


@pytest.mark.parametrize(
    "line", [{"text": "a", "descriptions": ["b"]}, {"text": "", "descriptions": ["b"]}, {"descriptions": []}, {}]
)
def test_a_nugget_has_either_a_text_or_descriptions(line):
    with pytest.raises(WrongLine, match="either 'text' or 'descriptions'"):
        NUGGETS.parse({"qid": "q", "nugget": "1", "importance": "vital", **line})


def test_reading_goes_on_after_a_bad_line(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"run": "a"}\n{"run": 2.5}\n[]\n{"run": "b", "judged": "every"}\n', encoding="utf-8")
    problems = []
    assert list(MANIFEST.read(path, problems)) == [(1, RunInfo("a")), (4, RunInfo("b", judged="every"))]
    assert [p.line for p in problems] == [2, 3]


def test_a_retraction_is_no_verdict_to_a_reader_who_knows_nothing_of_retractions():
    """The layout of verdicts, which is all that an older reader has, refuses the line."""
    with pytest.raises(WrongLine, match="no 'verdict'"):
        JUDGEMENTS.parse(KINDS["retraction"][1])


def test_a_line_is_a_verdict_or_a_retraction_and_not_both():
    with pytest.raises(WrongLine, match="a line has 'retracted' and 'verdict'"):
        RETRACTIONS.parse({**KINDS["retraction"][1], "verdict": True})


@pytest.mark.parametrize(
    ("at", "means"),
    [
        ("2026-01-31T09:30:00.000001Z", "2026-01-31 09:30:00.000001+00:00"),
        ("2026-01-31T10:30:00+01:00", "2026-01-31 10:30:00+01:00"),
        ("2026-01-31", "2026-01-31 00:00:00+00:00"),
        ("last week", "None"),
        ("", "None"),
    ],
)
def test_a_time_is_iso_8601_and_utc_without_a_zone(at, means):
    assert str(moment(at)) == means
