"""TREC RAG's answers: a response a sentence, and the whole object back again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.trec_rag import answer_objects, read_answers
from nuggeteer.records import Question, Response, RunInfo
from tests.made_up import ids, json_values, names, texts

Object = dict[str, Any]


def read(lines: Iterable[Object | bytes]) -> Bundle:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file.jsonl"
        path.write_bytes(b"".join((x if isinstance(x, bytes) else orjson.dumps(x)) + b"\n" for x in lines))
        return read_answers(path)


def canonical(objects: Iterable[Any]) -> list[bytes]:
    """Objects as bytes that are the same only if they are: 1 is neither 1.0 nor true."""
    return [orjson.dumps(one, option=orjson.OPT_SORT_KEYS) for one in objects]


def of_2024(answer: Any, qid: Any = "q", run: Any = "r", **more: Any) -> Object:
    return {"run_id": run, "topic_id": qid, "topic": "why?", "references": ["d0", "d1"], "answer": answer, **more}


def of_2025(answer: Any, qid: Any = 7, run: Any = "r", **more: Any) -> Object:
    about = {"team_id": "t", "run_id": run, "type": "automatic", "narrative_id": qid, "narrative": "Why is it so?"}
    return {"metadata": about, "references": ["d0", "d1"], "answer": answer, **more}


# --- examples


@pytest.mark.parametrize(
    ("line", "question"),
    [
        (of_2024([{"text": "One.", "citations": [1, 0]}, {"text": "Two."}]), Question("q", "why?", kind="rag")),
        (
            of_2025([{"text": "One.", "citations": [1, 0]}, {"text": "Two."}]),
            Question("7", "Why is it so?", kind="rag"),
        ),
    ],
    ids=["2024", "2025"],
)
def test_a_sentence_becomes_a_response_with_its_first_citation_as_docid(line, question):
    bundle = read([line])
    assert bundle.questions == {question.qid: question}
    assert [(r.qid, r.text, r.docid, r.rank) for r in bundle.responses["r"]] == [
        (question.qid, "One.", "d1", 1),
        (question.qid, "Two.", None, 2),
    ]
    assert not bundle.problems


@pytest.mark.parametrize(
    ("citations", "docid"),
    [
        ([0], "d0"),
        (["msmarco#3"], "msmarco#3"),
        ({"msmarco#3": 0.7}, "msmarco#3"),
        ([2], None),
        ([-1], None),
        ([True], None),
        ([[0]], None),
        ([], None),
        (None, None),
        ("d1", None),
        (0, None),
    ],
)
def test_a_citation_that_points_nowhere_gives_no_docid(citations, docid):
    line = of_2024([{"text": "One.", "citations": citations}])
    bundle = read([line])
    assert bundle.responses["r"][0].docid == docid
    assert canonical(answer_objects(bundle, "r")) == canonical([line])


def test_an_answer_without_sentences_is_an_answer_with_nothing_in_it():
    lines = [of_2024([]), of_2024([{"text": ""}], qid="p")]
    bundle = read(lines)
    assert [(r.qid, r.text) for r in bundle.responses["r"]] == [("q", ""), ("p", "")]
    assert canonical(answer_objects(bundle, "r")) == canonical(lines)


GOOD = [{"text": "One."}]
NO_IDS = ["", "r ", "a\nb", None, 1.5, False, {}]


@pytest.mark.parametrize(
    "line",
    [
        *(of_2024(answer) for answer in (None, "One.", {}, [5], ["One."], [{}], [{"text": 5}])),
        *(of_2024(GOOD, qid=value) for value in NO_IDS),
        *(of_2025(GOOD, run=value) for value in NO_IDS),
        {"topic_id": "q", "answer": GOOD},
        {"run_id": "r", "topic_id": "q"},
        {},
    ],
)
def test_a_line_that_cannot_be_used_is_kept_aside_whole(line):
    bundle = read([of_2024(GOOD, qid="before"), line])
    assert canonical(map(orjson.loads, bundle.garbled)) == canonical([line])
    assert [p.line for p in bundle.problems] == [2]
    assert list(bundle.questions) == ["before"]


def test_a_second_answer_of_a_run_to_a_question_is_kept_aside():
    again = of_2025(GOOD, qid="q")
    bundle = read([of_2024(GOOD), again])
    assert len(bundle.responses["r"]) == 1
    assert [orjson.loads(raw) for raw in bundle.garbled] == [again]


def test_responses_added_to_an_answer_are_written_with_it_and_edited_ones_as_edited():
    bundle = read([of_2024([{"text": "One.", "citations": [0]}, {"text": "Two."}])])
    first, second = bundle.responses["r"]
    bundle.responses["r"] = [first, Response("q", "Second.", extra=second.extra), Response("q", "Third.")]
    (written,) = answer_objects(bundle, "r")
    assert [s["text"] for s in written["answer"]] == ["One.", "Second.", "Third."]


def test_responses_from_elsewhere_are_written_in_the_form_of_2024():
    bundle = Bundle(questions={"q": Question("q", "Why?")})
    for text, docid in [("It is so.", "d1"), ("Yes.", None), ("It is.", "d2"), ("Still.", "d1")]:
        bundle.add_response(RunInfo("r"), Response("q", text, docid, extra={"answer": "mine", "sentence": 3}))
    assert list(answer_objects(bundle, "r")) == [
        {
            "run_id": "r",
            "topic_id": "q",
            "topic": "Why?",
            "references": ["d1", "d2"],
            "response_length": 7,
            "answer": [
                {"text": "It is so.", "citations": [0]},
                {"text": "Yes.", "citations": []},
                {"text": "It is.", "citations": [1]},
                {"text": "Still.", "citations": [0]},
            ],
        }
    ]


# --- there and back

values = json_values()
OURS = ["qid", "docid", "rank", "extra", "answer", "sentence", "empty", "references", "response_length", "team_id"]
more = st.dictionaries(texts | st.sampled_from(OURS), values, max_size=2)
citations = st.lists(st.integers(-1, 3) | texts, max_size=3) | values
sentences = st.builds(lambda rest, cited, text: {**rest, "citations": cited, "text": text}, more, citations, texts)
answers = st.lists(sentences | st.fixed_dictionaries({"text": texts}), max_size=3)


@st.composite
def answer_lines(draw: st.DrawFn) -> list[Object]:
    """Answers of either year, of some runs to some questions, in any order, each with keys of its own."""
    qids, runs = (draw(st.lists(ids, unique_by=str, min_size=1, max_size=3)) for _ in range(2))
    lines = []
    for qid, run in draw(st.permutations([(qid, run) for qid in qids for run in runs])):
        rest = {"references": draw(st.lists(texts, max_size=3) | values)}
        year = draw(st.sampled_from(["2024", "2025"]))
        if year == "2024":
            rest |= {"run_id": run, "topic_id": qid, "topic": draw(texts | values)}
        else:
            rest |= {"metadata": {**draw(more), "run_id": run, "narrative_id": qid, "narrative": draw(texts | values)}}
        lines.append({**draw(more), **rest, "answer": draw(answers)})
    return lines


@pytest.mark.slow
@settings(max_examples=60)
@given(answer_lines())
def test_answers_come_back_as_they_were(lines):
    """Objects of both years with any keys, and the records made of them."""
    bundle = read(lines)
    for run in bundle.responses:
        own = [x for x in lines if run in (str(x.get("run_id")), str(x.get("metadata", {}).get("run_id")))]
        written = list(answer_objects(bundle, run))
        assert canonical(written) == canonical(own)
        assert read(written).responses == {run: bundle.responses[run]}


own = st.lists(st.tuples(texts, st.none() | texts), min_size=1, max_size=4)


@given(st.dictionaries(names, st.tuples(texts, own), min_size=1, max_size=3))
def test_texts_and_docids_of_our_own_come_back_from_their_objects(made):
    bundle = Bundle()
    for qid, (question, listed) in made.items():
        bundle.add_question(Question(qid, question, kind="rag"))
        for text, docid in listed:
            bundle.add_response(RunInfo("r"), Response(qid, text, docid))
    again = read(answer_objects(bundle, "r"))
    assert again.questions == bundle.questions
    assert [(r.qid, r.text, r.docid) for r in again.responses["r"]] == [
        (r.qid, r.text, r.docid) for r in bundle.responses["r"]
    ]


# --- anything at all

KEYS = ["run_id", "topic_id", "topic", "metadata", "narrative_id", "narrative", "references", "answer", "text"]
anything = json_values(st.sampled_from(["q", "r", "d0"]), keys=st.sampled_from(KEYS), size=5, leaves=12)
one = st.fixed_dictionaries({"text": texts | anything}, optional={"citations": anything})
some = st.lists(one, max_size=2) | anything
changed = st.fixed_dictionaries(
    {"topic_id": st.just("q") | anything, "run_id": st.just("r") | anything, "answer": some},
    optional=dict.fromkeys(["metadata", "topic", "references", "sentence"], anything),
)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.lists(changed | st.dictionaries(st.sampled_from(KEYS), anything), min_size=1, max_size=4))
def test_any_object_is_an_answer_or_kept_aside_whole(lines):
    bundle = read(lines)
    assert len([problem for problem in bundle.problems if problem.line is not None]) == len(bundle.garbled)
    aside = canonical(orjson.loads(raw) for raw in bundle.garbled)
    written = [x for run in bundle.responses for x in canonical(answer_objects(bundle, run))]
    assert sorted(written + aside) == sorted(canonical(lines))


@settings(max_examples=60)
@given(st.lists(st.binary(max_size=40) | anything.map(orjson.dumps), max_size=4))
def test_any_bytes_are_read_or_told_as_problems(lines):
    bundle = read(lines)
    assert bundle.questions or bundle.problems or not any(line.strip() for line in lines)


def test_a_report_of_ragtime_comes_back_object_for_object():
    """The docid is the citation with the highest confidence."""
    about = {"team_id": "t", "run_id": "r", "topic_id": "7", "task": "english"}
    cited = [{"text": "One.", "citations": {"d0": 0.2, "d1": 0.9}}, {"text": "Two.", "citations": ["d2", "d0"]}]
    report = {"is_ragtime": True, "metadata": about, "responses": cited, "references": ["d0"]}
    bundle = read([report])
    assert [(r.text, r.docid) for r in bundle.responses["r"]] == [("One.", "d1"), ("Two.", "d2")]
    assert canonical(answer_objects(bundle, "r")) == canonical([report])


def test_another_wording_of_a_question_is_told_and_kept_with_its_answer():
    """The question has the first; a file that is written again has each where it was."""
    lines = [of_2024([{"text": "So."}], run=run, topic=topic) for run, topic in (("a", "why?"), ("b", "Why, then?"))]
    bundle = read(lines)
    assert bundle.questions["q"].text == "why?"
    assert [(problem.line, problem.severity) for problem in bundle.problems] == [(2, "warning")]
    assert "worded 'Why, then?' here" in bundle.problems[0].what
    written = [line for run in ("a", "b") for line in answer_objects(bundle, run)]
    assert canonical(written) == canonical(lines)


def test_an_answer_without_a_word_is_said():
    found = read([of_2024([], "q1"), of_2024([{"text": " "}], "q2"), of_2024([{"text": ""}, {"text": "So."}], "q3")])
    assert [problem.what for problem in found.problems] == ["2 questions with an empty answer: q1, q2"]
