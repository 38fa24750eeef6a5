"""Rows of questions and answers, whatever they are called; what becomes of references; ids of questions."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.collection.convert import convert_into, convert_out
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats.bundle import Bundle, read_bundle
from nuggeteer.formats.dataset import choose, roles_of
from nuggeteer.formats.objects import open_file
from nuggeteer.formats.question_rows import NULLS, read_answers, recognises
from nuggeteer.records import Nugget, Question
from tests.conftest import write_lines

# As RAGAS 0.4's and DeepEval 4.3's own functions write them, and older versions.
RAGAS = """\
user_input,retrieved_contexts,response,reference
What is the capital of France?,['France ...'],Paris is the capital.,Paris
When was the Great Exhibition?,"['a', 'b']",In 1850.,It opened in 1851. It was in London.
"""
OLD_RAGAS = [
    {
        "question": "What is the capital of France?",
        "answer": "Paris is the capital.",
        "contexts": ["France ..."],
        "ground_truths": ["Paris"],
        "faithfulness": 1.0,
    },
    {
        "question": "When was the Great Exhibition?",
        "answer": "In 1850.",
        "contexts": ["a", "b"],
        "ground_truths": ["It opened in 1851. It was in London."],
    },
]
METRIC = {"name": "Exact Match", "threshold": 1.0, "success": False, "score": 0.0, "strictMode": False}
DEEPEVAL = {
    "testCases": [
        {
            "name": "test_case_0",
            "input": "What is the capital of France?",
            "actualOutput": "Paris is the capital.",
            "expectedOutput": "Paris",
            "retrievalContext": ["France ..."],
            "success": False,
            "metricsData": [METRIC],
            "order": 0,
        },
        {
            "name": "t2",
            "input": "When was the Great Exhibition?",
            "actualOutput": "In 1850.",
            "expectedOutput": "It opened in 1851. It was in London.",
            "metricsData": [METRIC],
            "order": 1,
        },
    ],
    "conversationalTestCases": [],
    "metricsScores": [{"metric": "Exact Match", "scores": [0.0, 0.0]}],
}
GOLDENS = [
    {"input": case["input"], "actual_output": case["actualOutput"], "expected_output": case["expectedOutput"]}
    for case in DEEPEVAL["testCases"]
]
SAME = {
    "ragas.csv": RAGAS,
    "old-ragas.jsonl": "".join(json.dumps(row) + "\n" for row in OLD_RAGAS),
    "deepeval.json": json.dumps(DEEPEVAL, indent=4),
    "goldens.json": json.dumps(GOLDENS),
    "semicolons.csv": "Question;Answer;Ground Truth\n"
    + "".join(f"{row['input']};{row['actual_output']};{row['expected_output']}\n" for row in GOLDENS),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_answers_are_the_same_from_every_tool(tmp_path, name):
    path = tmp_path / name
    path.write_text(SAME[name])
    assert recognises(open_file(path))
    bundle = read_answers(path, run="r")
    assert {q.qid: q.text for q in bundle.questions.values()} == {
        "q1": "What is the capital of France?",
        "q2": "When was the Great Exhibition?",
    }
    assert [(r.qid, r.text) for r in bundle.responses["r"]] == [("q1", "Paris is the capital."), ("q2", "In 1850.")]
    assert [(n.qid, n.nugget, n.descriptions, n.importance, n.extra) for n in bundle.nuggets] == [
        ("q1", "1", ("Paris",), "vital", {"source": "reference"}),
        ("q2", "1", ("It opened in 1851.",), "vital", {"source": "reference"}),
        ("q2", "2", ("It was in London.",), "vital", {"source": "reference"}),
    ]
    assert not bundle.problems


def test_what_nothing_uses_is_kept_and_counted(tmp_path):
    path = tmp_path / "d.json"
    path.write_text(json.dumps(DEEPEVAL))
    bundle = read_answers(path)
    assert bundle.unused["metricsData"] == 2
    assert bundle.unused["retrievalContext"] == bundle.unused["success"] == 1
    first, _ = bundle.responses["d"]
    assert first.extra["as_found"]["metricsData"] == [METRIC]
    talk = {"testCases": [], "conversationalTestCases": [{"turns": []}, {"turns": []}]}
    path.write_text(json.dumps(talk))
    assert read_answers(path).left_out["conversations of several turns"] == 2


def rows(tmp_path, *found, run="r", present=None, columns=()):
    return read_answers(write_lines(tmp_path / "x.jsonl", found), columns, present, run)


def test_a_question_is_the_one_of_the_collection_with_its_text(tmp_path):
    present = Bundle(
        questions={"a7": Question("a7", "Why  not?"), "q2": Question("q2", "Where?")},
        nuggets=[Nugget("a7", "3", ("because",), "vital")],
    )
    bundle = rows(
        tmp_path,
        {"question": "why not?", "answer": "So.", "reference": "Therefore."},
        {"question": "Who?", "answer": "Me.", "reference": "You."},
        present=present,
    )
    assert [r.qid for r in bundle.responses["r"]] == ["a7", "q3"]
    assert [(n.qid, n.nugget) for n in bundle.nuggets] == [("q3", "1")]
    assert bundle.unused["references of questions that have nuggets"] == 1


def test_ids_are_those_of_questions_only_if_each_question_has_one(tmp_path):
    asked = [{"question": "a?", "answer": "1"}, {"question": "b?", "answer": "2"}]
    one = rows(tmp_path, *({"id": i, **row} for i, row in enumerate(asked, 7)))
    assert list(one.questions) == ["7", "8"]
    several = rows(tmp_path, *({"id": i, "question": "a?", "answer": str(i)} for i in range(2)))
    assert list(several.questions) == ["q1"]
    assert several.unused["id"] == 2


def test_a_second_answer_belongs_to_another_run_and_this_is_said(tmp_path):
    bundle = rows(tmp_path, *({"question": "a?", "answer": text} for text in "xyz"))
    assert {run: [r.text for r in some] for run, some in bundle.responses.items()} == {
        "r": ["x"],
        "r-2": ["y"],
        "r-3": ["z"],
    }
    assert "answers 2 questions again" in bundle.problems[0].what


def test_several_runs_may_stand_in_one_file(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", [{"question": "a?", "answer": m, "model": m} for m in ("gpt", "bot")])
    bundle = read_answers(path)
    assert list(bundle.responses) == list(bundle.runs) == ["gpt", "bot"]
    monday = read_answers(path, run="monday")
    assert list(monday.responses) == ["monday-gpt", "monday-bot"]
    assert {info.run: info.group for info in monday.runs.values()} == {"monday-gpt": "gpt", "monday-bot": "bot"}


def test_a_second_answer_of_a_system_is_another_build_of_it(tmp_path):
    """It was another system, so the two were compared as if nothing had to do with the other."""
    path = write_lines(
        tmp_path / "x.jsonl",
        [
            {"question": "a?", "answer": answer, "model": model, "reference": "It is so."}
            for model, answer in (("gpt", "x"), ("gpt", "y"), ("bot", "z"))
        ],
    )
    for run in (None, "monday", None, "monday"):
        convert_into("qa", [path], tmp_path / "c", run=run)
    collection = read_collection(tmp_path / "c")
    assert {run: collection.group(run) for run in collection.run_names} == {
        **{"gpt": "gpt", "gpt-2": "gpt", "bot": "bot"},
        **{"monday-gpt": "gpt", "monday-gpt-2": "gpt", "monday-bot": "bot"},
    }


def test_a_question_that_is_answered_in_another_row_is_not_called_unanswered(tmp_path):
    lines = [("a?", "x", "gpt"), ("a?", None, "gpt"), ("a?", None, "bot"), ("b?", "y", "bot")]
    path = write_lines(
        tmp_path / "x.jsonl", [dict(zip(("question", "answer", "model"), one, strict=True)) for one in lines]
    )
    assert [problem.what for problem in read_answers(path).problems] == [
        "1 question whose answer is null or missing: q1"
    ]


def test_a_second_answer_is_never_put_among_those_of_another_system(tmp_path):
    models = ["gpt-2", "gpt", "gpt", "bot", "bot"]
    lines = [{"question": "a?", "answer": f"{i}", "model": model} for i, model in enumerate(models)]
    lines[0]["question"] = "b?"
    bundle = read_answers(write_lines(tmp_path / "x.jsonl", lines))
    texts = {run: [one.text for one in own] for run, own in bundle.responses.items()}
    assert texts == {"gpt-2": ["0"], "gpt": ["1"], "gpt-3": ["2"], "bot": ["3"], "bot-2": ["4"]}
    with pytest.raises(NuggeteerError, match="has a run 'gpt-2'; 'gpt' answers a question again, and its second"):
        read_answers(write_lines(tmp_path / "y.jsonl", [*lines[1:], lines[0]]))


def test_an_answer_that_is_a_list_of_texts_has_a_response_for_each(tmp_path):
    """It became the source text of JSON. An empty list is no answer."""
    asked = zip("abcd", (["One.", "Two."], [], ["x", 1], "so"), strict=True)
    bundle = rows(tmp_path, *({"question": q, "answer": answer, "more": q} for q, answer in asked))
    assert [(r.qid, r.text, r.extra) for r in bundle.responses["r"]] == [
        ("q1", "One.", {"as_found": {"more": "a"}}),
        ("q1", "Two.", {}),
        ("q3", '["x",1]', {"as_found": {"more": "c"}}),
        ("q4", "so", {"as_found": {"more": "d"}}),
    ]
    assert [problem.what for problem in bundle.problems] == ["1 question whose answer is null or missing: q2"]
    assert bundle.problems[0].remedy.startswith("each scores 0")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_column_that_is_not_there_is_an_error_with_those_that_are(tmp_path, ending):
    """A column of a table without any cell is there."""
    path = tmp_path / f"x.{ending}"
    if ending == "csv":
        path.write_text("question,reply,notes\na?,so,\n")
    else:
        write_lines(path, [{"question": "a?", "reply": "so", "notes": None}])
    said = r"there is no column 'Rply'; did you mean reply\? the columns are: question, reply, notes$"
    with pytest.raises(InputError, match=rf"x\.\w+: --columns answer=Rply: {said}"):
        convert_into("qa", [path], tmp_path / "c", ["answer=Rply"])
    assert read_answers(path, ["answer=reply", "docid=notes"]).responses


def test_of_different_references_to_a_question_the_first_is_used_and_the_others_are_counted(tmp_path):
    """They became one nugget with alternative descriptions: any one sentence of any of them would have been enough."""
    references = ["It was in 1851. In London.", "it was in 1851.  In London.", "In Hyde Park.", "Nobody knows."]
    asked = [{"question": "a?", "answer": str(i), "reference": text} for i, text in enumerate(references)]
    bundle = rows(tmp_path, *asked, {"question": "b?", "answer": "x", "reference": "So."})
    assert [n.descriptions for n in bundle.nuggets] == [("It was in 1851.",), ("In London.",), ("So.",)]
    said = [problem for problem in bundle.problems if "reference" in problem.what]
    assert [p.what for p in said] == ["1 question with 2 other references in later rows, left out: q1"]
    assert "the first one is kept" in said[0].remedy


def test_a_run_that_the_file_does_not_name_is_a_build_of_ones_own_system(tmp_path):
    """The manifest lists systems; runs that it does not list are builds of one system."""
    assert not rows(tmp_path, {"question": "a?", "answer": "x"}, run=None).runs
    assert not rows(tmp_path, {"question": "a?", "answer": "x", "model": "m"}, run="monday").runs


@pytest.mark.parametrize("reference", ["B", "(c)", "yes", "No.", "n/a"])
def test_a_reference_that_states_no_fact_is_left_out_and_counted(tmp_path, reference):
    bundle = rows(tmp_path, {"question": "a?", "answer": "x", "target": reference})
    assert not bundle.nuggets
    assert sum(bundle.left_out.values()) == 1


def test_alternatives_are_the_descriptions_of_one_nugget(tmp_path):
    bundle = rows(tmp_path, {"question": "a?", "answer": "x", "targets": ["1851", "eighteen fifty-one", "1851"]})
    assert [n.descriptions for n in bundle.nuggets] == [("1851", "eighteen fifty-one")]


def test_columns_may_be_named(tmp_path):
    bundle = rows(tmp_path, {"Ask": "a?", "Reply": "x", "input": "y"}, columns=["question=Ask", "answer=Reply"])
    assert bundle.questions["q1"].text == "a?"
    assert bundle.responses["r"][0].text == "x"
    assert bundle.unused == {"input": 1}
    with pytest.raises(NuggeteerError, match="did you mean answer"):
        choose(["anwser=x"])
    with pytest.raises(NuggeteerError, match="is not ROLE=NAME"):
        choose(["x"])


def test_answer_is_the_reference_where_another_name_is_the_answers():
    assert roles_of(["question", "answer", "response"]) == {
        "question": "question",
        "answer": "response",
        "reference": "answer",
    }
    assert roles_of(["question", "answer"])["answer"] == "answer"
    assert roles_of(["Question ", "Generated-Answer"]) == {"question": "Question ", "answer": "Generated-Answer"}


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
CELLS = CELLS.filter(lambda text: text.strip() and text not in NULLS)


@pytest.mark.slow
@given(
    st.dictionaries(st.integers(0, 9), st.tuples(CELLS, CELLS), min_size=1), st.sampled_from(["csv", "tsv", "jsonl"])
)
def test_what_is_written_is_read_again(tmp_path_factory, asked, ending):
    """Formulas of spreadsheets too, which are defused in tables."""
    folder = tmp_path_factory.mktemp("c")
    lines = [{"qid": qid, "question": question, "answer": answer} for qid, (question, answer) in asked.items()]
    convert_into("qa", [write_lines(folder / "r.jsonl", lines)], folder / "c")
    convert_out("qa", folder / "c", folder / f"r.{ending}", "r")
    convert_into("qa", [folder / f"r.{ending}"], folder / "again")
    first, again = (read_bundle(folder / name) for name in ("c", "again"))
    assert first.questions == again.questions
    assert [(r.qid, r.text) for r in first.responses["r"]] == [(r.qid, r.text) for r in again.responses["r"]]
    if ending == "csv":
        with (folder / "r.csv").open(newline="", encoding="utf-8") as file:
            assert not any(cell[:1] in "=+-@\t\r\n＝＋－＠" for row in csv.reader(file) for cell in row if cell)


def test_what_is_no_row_of_answers_is_not_taken_for_one(tmp_path):
    path = tmp_path / "x.csv"
    for content in ("question,nugget\na,b\n", "answer,b\n1,2\n", '{"question": 1}', "question"):
        path.write_text(content)
        assert not recognises(open_file(path))


def test_a_row_without_a_question_is_kept_aside(tmp_path):
    bundle = rows(tmp_path, {"question": "  ", "answer": "x"}, {"qid": " a", "question": "y", "answer": "x"})
    assert len(bundle.garbled) == len(bundle.problems) == 2


def test_another_night_of_the_same_name_is_refused_with_a_word_on_names(tmp_path):
    for text in "ab":
        path = write_lines(tmp_path / "x.jsonl", [{"question": "a?", "answer": text}])
        if text == "a":
            convert_into("qa", [path], tmp_path / "c")
        else:
            with pytest.raises(NuggeteerError, match=r"the run 'x' in .* is different; name the run with --run NAME"):
                convert_into("qa", [path], tmp_path / "c")
            convert_into("qa", [path], tmp_path / "c", run="tuesday")
    assert sorted(read_bundle(tmp_path / "c").responses) == ["tuesday", "x"]


def test_names_of_runs_that_are_no_file_names_are_refused(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", [{"question": "a?", "answer": "x", "run": "../../evil"}])
    with pytest.raises((InputError, NuggeteerError), match="cannot be a file name"):
        convert_into("qa", [path], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_what_has_no_words_is_said(tmp_path):
    """A null, a missing and an empty answer; a question that is only an id. Blank questions are not the same one."""
    rows = [
        {"question": "Red?", "answer": None, "reference": "Apples are red."},
        {"question": "Blue?", "answer": " "},
        {"question": "Green?"},
        {"question": "", "qid": "z", "answer": "Pears."},
        {"question": None, "answer": "Figs."},
        {"question": "Pink?", "answer": "Plums."},
    ]
    path = write_lines(tmp_path / "x.jsonl", rows)
    bundle = read_answers(path)
    said = [problem.what for problem in bundle.problems]
    assert said == [
        "no question, and no valid id of one",
        "1 question without a text: z",
        "1 question with an empty answer: q2",
        "2 questions whose answer is null or missing: q1, q3",
    ]
    assert [(r.qid, r.text) for r in bundle.responses["x"]] == [("q2", " "), ("z", "Pears."), ("q5", "Plums.")]
    assert read_answers(write_lines(tmp_path / "y.jsonl", [{"question": "Who?", "reference": "He."}])).problems == []
