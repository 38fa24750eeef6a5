"""A run of whole answers becomes responses, each of which knows where it stands in its answer."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.runs import cut, read_run
from nuggeteer.formats.canonical import RESPONSES as RESPONSES_FILE
from nuggeteer.records import AnswerKey, Question, RunInfo
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.text import length
from tests.conftest import write_lines

NUGGETS = [
    {"qid": qid, "nugget": "1", "text": "the capital is Paris", "importance": "vital"} for qid in ("q1", "q2", "q3")
]
ANSWER = "# Paris\n\nIt is the capital [1]. Dr. Smith lives there.\n- It is old.\n- It has 2.1 million people."
RESPONSES = [
    "# Paris",
    "It is the capital [1].",
    "Dr. Smith lives there.",
    "- It is old.",
    "- It has 2.1 million people.",
]
RECORDS = [
    {"qid": "q2", "text": "One. Two.", "docid": "d2"},
    {"qid": "q1", "text": ANSWER, "docid": "d1"},
    {"qid": "q2", "text": "Three"},
    {"qid": "q3", "text": ""},
]
SPLIT = '[answers]\nsplit = "sentences"\n'


def collection(folder, toml=SPLIT, records=RECORDS):
    write_lines(folder / "nuggets.jsonl", NUGGETS)
    write_lines(folder / "runs" / "tonight.jsonl", records)
    (folder / "nuggeteer.toml").write_text(toml)
    return read_collection(folder)


def test_records_are_cut_and_responses_know_their_place(tmp_path):
    run = collection(tmp_path).run("tonight")
    assert run.texts == [*RESPONSES, "One.", "Two.", "Three", ""]
    assert run.question.tolist() == [0] * 5 + [1, 1, 1, 2]
    assert [run.docid(i) for i in range(len(run))] == ["d1"] * 5 + ["d2", "d2", None, None]
    assert [run.rank(i) for i in range(len(run))] == [1, 2, 3, 4, 5, 1, 2, 3, 1]
    for i, text in enumerate(run.texts[:5]):
        record, start = run.context(i)
        assert record == ANSWER
        assert record[start : start + len(text)] == text
    assert run.context(6) == ("One. Two.", 5)
    assert run.context(7) == ("Three", 0)
    assert [run.answer(q) for q in range(3)] == [ANSWER, "One. Two.\nThree", ""]


ODD = [{}, {"qid": None}, {"qid": 1}, {"qid": 2.0}, {"qid": True}, {"qid": "q9"}, {"qid": " q1"}, {"qid": ["q1"]}]
ODD += [{"text": None}, {"text": 1}, {"docid": None}, {"docid": 7}, {"docid": ["d1"]}, {"other": 1}]
ODD += [{"rank": rank} for rank in (None, 3, 0, True, 1.0, "1")]


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_a_line_of_a_run_is_what_its_checks_make_of_it(tmp_path, odd):
    """Lines of the usual form are not checked field by field, and nothing comes out that the checks would refuse."""
    line = {"qid": "q1", "text": "One.", "docid": "d1", "rank": 2, **odd}
    write_lines(tmp_path / "run.jsonl", [line, {key: line[key] for key in line if key not in odd}])
    expected, found = [], []
    good = [response for _, response in RESPONSES_FILE.read(tmp_path / "run.jsonl", expected)]
    questions = tuple(Question(qid, "?") for qid in ("q1", "1"))
    key = AnswerKey(questions, (), np.zeros(3, dtype=np.int64))
    run = read_run(tmp_path / "run.jsonl", RunInfo("run"), key, "none", found)
    good = sorted((r for r in good if r.qid in key.position), key=lambda r: key.position[r.qid])
    assert [(key.questions[q].qid, t) for q, t in zip(run.question, run.texts, strict=True)] == [
        (r.qid, r.text) for r in good
    ]
    assert [run.docid(i) for i in range(len(run))] == [r.docid for r in good]
    assert [p for p in found if p.severity == "error"] == expected


def test_without_the_setting_a_record_is_a_response(tmp_path):
    run = collection(tmp_path, "").run("tonight")
    assert run.texts == [ANSWER, "One. Two.", "Three", ""]
    assert run.context(0) == ("", 0)
    assert [run.answer(q) for q in range(3)] == [ANSWER, "One. Two.\nThree", ""]


def test_lengths_and_answered_questions_stay(tmp_path):
    """The official F counts the characters of the whole answer, cut or not."""
    cut_, whole = (score(collection(tmp_path, toml), ["tonight"])["tonight"] for toml in (SPLIT, ""))
    expected = [length(ANSWER), length("One. Two.") + length("Three"), 0]
    assert cut_.outcome.length.tolist() == whole.outcome.length.tolist() == expected
    assert cut_.outcome.answered.tolist() == whole.outcome.answered.tolist() == [True, True, False]


def test_the_signature_names_the_setting_only_where_it_is_on(tmp_path):
    cut_, whole = (str(Scorer(collection(tmp_path, toml)).signature) for toml in (SPLIT, ""))
    assert "|answers:sentences(" in cut_
    assert "answers" not in whole


def test_a_run_of_single_sentences_has_no_parts():
    records = ["One sentence.", "Another", "", "3.5"]
    assert cut(records) == (records, None)


def test_a_wrong_setting_is_refused(tmp_path):
    with pytest.raises(Exception, match=r"\[answers\] split is 'words'"):
        collection(tmp_path, '[answers]\nsplit = "words"\n')


def test_where_responses_stand():
    texts, parts = cut(["A.", "It is. It was."])
    assert texts == ["A.", "It is.", "It was."]
    assert parts is not None
    assert parts.record.tolist() == [0, 1, 1]
    assert np.column_stack([parts.start, parts.end]).tolist() == [[0, 2], [0, 6], [7, 14]]
