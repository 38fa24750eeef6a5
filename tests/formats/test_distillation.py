"""The file of an evaluation of distillers: read strictly, written as it was read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.errors import InputError
from nuggeteer.formats.distillation import (
    Corpus,
    Distillation,
    DistilledAnswer,
    DistilledNugget,
    Distiller,
    Nug,
    Query,
    read_distillation,
    write_distillation,
)
from nuggeteer.gale.distillation import EXAMPLE
from tests.conftest import write_lines

QUERY = {"type": "query", "qid": "q", "text": "?"}
NUG = {"type": "nug", "qid": "q", "nug": "1", "relevance": 1.0}
NUGGET = {"type": "nugget", "qid": "q", "distiller": "A", "text": "x", "nugs": {"1": 1.0}}
GOOD = [QUERY, NUG, NUGGET]


def read(tmp_path, lines, **options):
    return read_distillation([write_lines(tmp_path / "gale.jsonl", lines)], **options)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([*GOOD, {"qid": "q"}], "gale.jsonl:4: 'type' is not one of corpus, query"),
        ([*GOOD, {"type": ["nug"]}], "gale.jsonl:4: 'type' is not one of"),
        ([*GOOD, *[{"qid": "q"}] * 20], "answer, here and on 19 lines after this one; write the type"),
        ([*GOOD, {"type": "nug", "qid": "q", "nug": "2"}], "no 'relevance'"),
        ([*GOOD, {**NUG, "nug": "2", "relevance": 1.2}], "'relevance' is not a number from 0 to 1"),
        ([*GOOD, {**NUG, "nug": "2", "relevance": True}], "'relevance' is not a number from 0 to 1"),
        ([*GOOD, {**NUG, "nug": "2", "proposed": 1}], "'proposed' is a number, not true or false"),
        ([*GOOD, NUG], "gale.jsonl:4: nug q 1 is already in"),
        ([*GOOD, QUERY], "gale.jsonl:4: query q is already in"),
        ([*GOOD, {**NUGGET, "qid": "p"}], "no query has the qid 'p'"),
        ([*GOOD, {**NUGGET, "nugs": {"2": 1}}], "no nug of q is called '2'"),
        ([*GOOD, {**NUGGET, "nugs": ["1"]}], "'nugs' must map each nug to a degree"),
        ([*GOOD, {**NUGGET, "nugs": {"1": -0.1}}], "'nugs' must map each nug to a degree"),
        ([*GOOD, {**NUG, "nug": "2"}, {**NUGGET, "nugs": {"1": 0.6, "2": 0.5}}], "that add up to 1.1"),
        ([*GOOD, {**NUG, "nug": "2"}], "gale.jsonl:4: nug 2 of q has no nugget; delete it"),
        ([*GOOD, {**NUG, "nug": "2", "proposed": True}], "gale.jsonl:4: 1 nug is only proposed, the first one here"),
        ([*GOOD, {**NUGGET, "nugs": {}}], "gale.jsonl:4: 1 nugget is in no nug, the first one here; sort by hand"),
        (
            [*GOOD, {"type": "answer", "qid": "q", "distiller": "A", "irrelevant": 40}],
            "irrelevant text, but no characters_per_nug",
        ),
        (
            [*GOOD, {"type": "answer", "qid": "q", "distiller": "A", "irrelevant": -1}],
            "'irrelevant' is not a number from 0",
        ),
        ([*GOOD, {"type": "corpus", "characters_per_nug": 0}], "'characters_per_nug' is not a number above 0"),
        (
            [*GOOD, {"type": "distiller", "distiller": "A", "kind": "cyborg"}],
            "'kind' is 'cyborg', not one of machine, human",
        ),
        ([], "no query in it"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, lines, message):
    with pytest.raises(InputError) as caught:
        read(tmp_path, lines)
    assert message in str(caught.value)


def test_one_error_lists_everything_that_is_wrong(tmp_path):
    """Several problems of one line too."""
    with pytest.raises(InputError) as caught:
        read(tmp_path, [*GOOD, {**NUG, "relevance": 2, "proposed": "yes"}, {**NUGGET, "nugs": {"9": 1}}])
    assert [problem.line for problem in caught.value.problems] == [4, 4, 5]


def test_degrees_that_sum_to_one_but_for_rounding_are_at_most_one(tmp_path):
    three = [{**NUG, "nug": str(i)} for i in (2, 3)]
    whole = [{**NUGGET, "nugs": {str(i): 1.0}} for i in (2, 3)]
    read(tmp_path, [*GOOD, *three, *whole, {**NUGGET, "nugs": {"1": 0.7, "2": 0.2, "3": 0.1}}])


def test_a_nug_without_a_nugget_of_degree_1_is_warned_of(tmp_path):
    one = read(tmp_path, [QUERY, NUG, {**NUGGET, "nugs": {"1": 0.5}}])
    (problem,) = one.problems
    assert (problem.severity, problem.line) == ("warning", 2)
    assert "has no nugget of degree 1" in problem.what


def test_distillers_are_those_of_any_line_and_files_are_read_together(tmp_path):
    a = write_lines(tmp_path / "a.jsonl", [NUGGET, {"type": "answer", "qid": "q", "distiller": "C", "irrelevant": 0}])
    b = write_lines(tmp_path / "b.jsonl", [QUERY, NUG, {"type": "distiller", "distiller": "B", "kind": "human"}])
    one = read_distillation([a, b])
    assert [(d.distiller, d.kind) for d in one.distillers] == [("A", None), ("B", "human"), ("C", None)]


def test_unsorted_nuggets_and_proposed_nugs_can_be_read_without_scoring(tmp_path):
    bare = {key: value for key, value in NUGGET.items() if key != "nugs"}
    one = read(tmp_path, [QUERY, {**NUG, "proposed": True}, bare], ready=False)
    assert one.nugs[0].proposed
    assert one.nuggets[0].nugs is None


def test_what_is_read_is_written_with_unknown_keys_too(tmp_path):
    """The example, line by line but for their order and the distillers, which no line of it declares."""
    path = tmp_path / "copy.jsonl"
    write_distillation(path, read_distillation([EXAMPLE]))
    was, is_ = (sorted(map(json.dumps, map(json.loads, p.read_text().splitlines()))) for p in (EXAMPLE, path))
    assert [line for line in is_ if '"type": "distiller"' not in line] == was


names = st.text("abcé.é ", min_size=1, max_size=3).filter(lambda name: name == name.strip() and name.isprintable())
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=50)
@given(st.data())
def test_writing_and_reading_give_the_same_again(tmp_path_factory, data):
    draw = data.draw
    queries = [Query(qid, draw(texts)) for qid in draw(st.lists(names, min_size=1, max_size=3, unique=True))]
    nugs, nuggets, answers = [], [], []
    for query in queries:
        for name in draw(st.lists(names, max_size=3, unique=True)):
            support = draw(st.none() | st.lists(texts, max_size=2).map(tuple))
            tags = draw(st.lists(texts, max_size=2).map(tuple))
            nugs.append(Nug(query.qid, name, draw(st.floats(0, 1)), draw(st.none() | texts), support, tags))
            cited = draw(st.none() | st.lists(texts, max_size=2).map(tuple))
            nuggets.append(DistilledNugget(query.qid, draw(names), draw(texts), {name: 1.0}, cited))
        for who in draw(st.lists(names, max_size=2, unique=True)):
            answers.append(DistilledAnswer(query.qid, who, draw(st.floats(0, 1e6))))
    who = sorted({one.distiller for one in (*nuggets, *answers)})
    people = tuple(Distiller(name, draw(st.sampled_from([None, "machine", "human"]))) for name in who)
    corpus = Corpus(draw(st.none() | st.floats(0, 1e12)), draw(st.floats(1, 100)))
    one = Distillation(corpus, tuple(queries), people, tuple(nugs), tuple(nuggets), tuple(answers))
    path = tmp_path_factory.mktemp("gale") / "one.jsonl"
    write_distillation(path, one)
    assert read_distillation([path]) == one
