"""`check`: every fault of a collection, by its file and line, with what to do; and what stops a score."""

from __future__ import annotations

import json

import orjson
import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import InputError, Problem
from tests.conftest import write_lines

QUESTIONS = [{"qid": "q1", "text": "Who?"}, {"qid": "q2", "text": "What?"}]
NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "built a reactor", "importance": "vital"},
    {"qid": "q1", "nugget": "2", "text": "born in Rome", "importance": "okay"},
    {"qid": "q2", "nugget": "1", "text": "sank in 1912", "importance": "vital"},
]
RUN = [{"qid": "q1", "text": "He built a reactor."}, {"qid": "q2", "text": "It sank."}]
JUDGEMENTS = [{"qid": "q1", "nugget": "1", "text": "He built a reactor.", "verdict": True}]


@pytest.fixture
def folder(tmp_path):
    """A small collection without any fault."""
    write_lines(tmp_path / "questions.jsonl", QUESTIONS)
    write_lines(tmp_path / "nuggets.jsonl", NUGGETS)
    write_lines(tmp_path / "runs.jsonl", [{"run": "old", "judged": "every"}, {"run": "new"}])
    write_lines(tmp_path / "runs" / "old.jsonl", RUN)
    write_lines(tmp_path / "runs" / "new.jsonl", RUN)
    write_lines(tmp_path / "judgements" / "a1.jsonl", JUDGEMENTS)
    (tmp_path / "nuggeteer.toml").write_text("[match]\nn = 2\n")
    return tmp_path


def add(path, line):
    """One more line at the end of a file; returns its number."""
    content = path.read_bytes() if path.exists() else b""
    path.write_bytes(content + (line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")
    return content.count(b"\n") + 1


def read_everything(folder):
    collection = read_collection(folder)
    for name in collection.run_names:
        collection.run(name)
    return collection


def found(folder):
    return [(p.file.removeprefix(f"{folder}/"), p.line, p.severity, p.what) for p in check(folder)]


def test_a_good_collection_has_no_problem(folder):
    assert check(folder) == []
    assert read_everything(folder).problems == []


def test_an_official_score_by_an_unknown_measure_is_named_once(folder):
    official = {"f3": 0.3, "piramid_f3": 0.4, "bleu": 12}
    write_lines(folder / "runs.jsonl", [{"run": "old", "official": official}, {"run": "new", "official": official}])
    what = [("runs.jsonl", 1, "warning", f"'official' names '{name}', which is not a measure") for name in official]
    assert found(folder) == what[1:]
    assert check(folder)[0].remedy.startswith("did you mean pyramid_f3?")


def test_nothing_but_nuggets_and_a_run_is_needed(tmp_path):
    write_lines(tmp_path / "nuggets.jsonl", NUGGETS)
    write_lines(tmp_path / "runs" / "r.jsonl", RUN)
    assert check(tmp_path) == []


FILES = ["questions.jsonl", "nuggets.jsonl", "runs.jsonl", "judgements/a1.jsonl", "runs/new.jsonl"]
BAD_LINES = {
    "bad JSON": (b"{", "not JSON"),
    "bad UTF-8": (b'{"qid": "\xff"}', "is not UTF-8"),
    "NaN": (b'{"weight": NaN, "rank": NaN}', "not JSON"),
    "a lone surrogate": (b'{"text": "\\ud800"}', "not JSON"),
    "deep nesting": (b'{"x": ' + b"[" * 10**5 + b"]" * 10**5 + b"}", "not JSON"),
    "no object": (b'"text"', "but a text"),
    "no key": (b"{}", "no '"),
    "a key twice": (b'{"qid": "q1", "qid": "q1", "run": "x", "run": "x"}', "occurs twice"),
    "a control character in an id": (b'{"qid": "q\\u001b1", "run": "\\u001b"}', "which is not a valid id"),
    "a fraction for an id": (b'{"qid": 1.5, "run": 1.5}', "is a number, not a string"),
    "null for an id": (b'{"qid": null, "run": null}', "is null, not a string"),
}


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("fault", BAD_LINES)
def test_a_bad_line_in_any_file_is_an_error_and_stops_reading(folder, file, fault):
    bad, says = BAD_LINES[fault]
    line = add(folder / file, bad)
    problems = found(folder)
    assert any(says in what for *_, what in problems)
    assert {(name, number) for name, number, *_ in problems} == {(file, line)}
    assert "error" in {severity for _, _, severity, _ in problems}
    with pytest.raises(InputError) as caught:
        read_everything(folder)
    assert f"{file}:{line}: " in str(caught.value)


@pytest.mark.parametrize("file", FILES)
def test_a_line_too_long_is_an_error_in_any_file(folder, file):
    line = add(folder / file, b'{"qid": "' + b"x" * 10_000_001 + b'"}')
    assert [(name, number, severity) for name, number, severity, _ in found(folder)] == [(file, line, "error")]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    ("change", "line", "says"),
    [
        (lambda b: b"\xef\xbb\xbf" + b, 1, "byte-order mark"),
        (lambda b: b.replace(b"\n", b"\r\n"), 1, "CRLF"),
        (lambda b: b"\n" + b, 1, "blank line"),
        (lambda b: b + b"  \t\n", None, "blank line"),
    ],
)
def test_how_a_file_was_saved_is_a_warning_and_changes_nothing(folder, file, change, line, says):
    before = read_everything(folder)
    path = folder / file
    lines = path.read_bytes().count(b"\n")
    path.write_bytes(change(path.read_bytes()))
    ((name, number, severity, what),) = found(folder)
    assert (name, number, severity) == (file, line or lines + 1, "warning")
    assert says in what
    after = read_everything(folder)
    assert [str(p) for p in after.problems] == [str(p) for p in check(folder)]
    assert (before.key.nuggets, before.judgements, before.manifest) == (
        after.key.nuggets,
        after.judgements,
        after.manifest,
    )
    assert [before.run(name).texts for name in before.run_names] == [after.run(name).texts for name in after.run_names]


@pytest.mark.parametrize("file", ["runs.jsonl", "judgements/a1.jsonl"])
def test_an_empty_file_that_need_not_be_is_a_warning(folder, file):
    (folder / file).write_text("")
    assert found(folder) == [(file, None, "warning", "the file is empty")]
    read_everything(folder)


def test_a_key_without_nuggets_is_an_error(folder):
    (folder / "nuggets.jsonl").write_text("")
    assert ("nuggets.jsonl", None, "error", "no nugget in this file") in found(folder)
    with pytest.raises(InputError, match="no nugget"):
        read_collection(folder)


def test_an_empty_run_answers_nothing(folder):
    (folder / "runs" / "new.jsonl").write_text("")
    assert found(folder) == [
        ("runs/new.jsonl", None, "warning", "the file is empty"),
        ("runs/new.jsonl", None, "warning", "answers no question of the key"),
    ]
    with pytest.raises(InputError, match="answers no question of the key"):
        read_collection(folder).run("new")
    assert len(read_collection(folder, allow_empty=True).run("new")) == 0


# What a line says that does not fit the other lines: (file, line to add, severity, what).
CONFLICTS = {
    "question twice": ("questions.jsonl", QUESTIONS[0], "error", "the question 'q1' is listed twice"),
    "question without nuggets": (
        "questions.jsonl",
        {"qid": "q9", "text": ""},
        "warning",
        "the question 'q9' has no nuggets",
    ),
    "nugget twice": (
        "nuggets.jsonl",
        {**NUGGETS[0], "text": "other"},
        "error",
        "the nugget '1' of 'q1' is listed twice",
    ),
    "nugget without words": (
        "nuggets.jsonl",
        {**NUGGETS[0], "nugget": "3", "text": " ... "},
        "warning",
        "a description of '3' has no word",
    ),
    "unrated nugget": (
        "nuggets.jsonl",
        {**NUGGETS[0], "nugget": "3", "importance": "unrated"},
        "warning",
        "the importance of '3' is unrated",
    ),
    "forbidden with a weight": (
        "nuggets.jsonl",
        {**NUGGETS[0], "nugget": "3", "importance": "forbidden", "weight": 2},
        "error",
        "a forbidden nugget has the 'weight' 2",
    ),
    "votes on what is forbidden": (
        "nuggets.jsonl",
        {**NUGGETS[0], "nugget": "3", "weight": -2, "votes": {"ann": "vital"}},
        "error",
        "a nugget with a negative 'weight' has 'votes'",
    ),
    "run twice": ("runs.jsonl", {"run": "new", "judged": "best"}, "error", "the run 'new' is listed twice"),
    "run without file": ("runs.jsonl", {"run": "gone"}, "warning", "the run 'gone' has no file"),
    "response to no question": (
        "runs/new.jsonl",
        {"qid": "q9", "text": "a"},
        "warning",
        "unknown question 'q9' (1 response)",
    ),
    "answer that is null": ("runs/new.jsonl", {"qid": "q1", "text": None}, "error", "'text' is null, not a string"),
    "verdict on no question": (
        "judgements/a1.jsonl",
        {**JUDGEMENTS[0], "qid": "q9"},
        "warning",
        "unknown question 'q9'",
    ),
    "verdict on no nugget": (
        "judgements/a1.jsonl",
        {**JUDGEMENTS[0], "nugget": "9"},
        "warning",
        "question 'q1' has no nugget '9'",
    ),
    "partial yes": ("judgements/a1.jsonl", {**JUDGEMENTS[0], "partial": True}, "error", "a yes cannot be partial"),
    "unknown key twice": (
        "runs/new.jsonl",
        b'{"qid": "q1", "text": "a", "x": 1, "x": 2}',
        "warning",
        "the key 'x' occurs twice in one object",
    ),
    "vote twice": (
        "nuggets.jsonl",
        b'{"qid":"q2","nugget":"3","text":"a","importance":"okay","votes":{"a":"vital","a":"okay"}}',
        "error",
        "the key 'a' occurs twice in one object",
    ),
}


@pytest.mark.parametrize("fault", CONFLICTS)
def test_a_line_that_does_not_fit_is_listed_and_only_errors_stop(folder, fault):
    file, bad, severity, says = CONFLICTS[fault]
    line = add(folder / file, bad)
    assert found(folder) == [(file, line, severity, says)]
    if severity == "error":
        with pytest.raises(InputError) as caught:
            read_everything(folder)
        assert str(caught.value) == str(check(folder)[0])
    else:
        read_everything(folder)


def test_nuggets_of_a_question_that_is_not_listed_are_told_once_and_scored(folder):
    """A misspelt qid shows in the runs too, which do not answer it."""
    line = add(folder / "nuggets.jsonl", {**NUGGETS[0], "qid": "q9"})
    add(folder / "nuggets.jsonl", {**NUGGETS[1], "qid": "q9"})
    assert found(folder) == [
        ("nuggets.jsonl", line, "warning", "unknown question 'q9'"),
        ("runs/old.jsonl", None, "warning", "no answer to question 'q9'"),
        ("runs/new.jsonl", None, "warning", "no answer to question 'q9'"),
    ]
    assert len(read_everything(folder).key.questions) == 3


@pytest.mark.parametrize("other_file", [False, True])
def test_a_verdict_that_contradicts_another_names_both_lines(folder, other_file):
    """Texts are the same whatever their case and spacing."""
    file = "judgements/b2.jsonl" if other_file else "judgements/a1.jsonl"
    line = add(folder / file, {**JUDGEMENTS[0], "text": " he  BUILT a reactor.", "verdict": False})
    (problem,) = check(folder)
    assert str(problem) == (
        f"{folder}/{file}:{line}: this contradicts {folder}/judgements/a1.jsonl:1 on nugget '1' of 'q1', "
        "where the text differs only in parts that do not matter; "
        "the yes counts; decide which is right and delete the other"
    )
    assert problem.severity == "warning"
    assert len(read_everything(folder).judgements) == 2


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({"assessor": "b"}, " by 'b' on nugget '1' of 'q1'"),
        ({"assessor": "a"}, " by 'a' too on nugget '1' of 'q1'"),
        ({}, " on nugget '1' of 'q1'"),
    ],
)
def test_a_contradiction_names_the_other_assessor(folder, others, says):
    path = write_lines(folder / "judgements" / "a1.jsonl", [{**JUDGEMENTS[0], **others}])
    line = add(path, {**JUDGEMENTS[0], "verdict": False, "assessor": "a"})
    assert found(folder) == [("judgements/a1.jsonl", line, "warning", f"this contradicts {path}:1{says}")]


def test_each_verdict_that_has_an_opposite_before_it_is_told_once(folder):
    path = folder / "judgements" / "a1.jsonl"
    for second, verdict in enumerate((False, True, False)):
        add(path, {**JUDGEMENTS[0], "verdict": verdict, "at": f"2026-01-01T00:00:0{second}Z"})
    assert [(line, what.split()[2]) for _, line, _, what in found(folder)] == [
        (2, f"{path}:1"),
        (3, f"{path}:2"),
        (4, f"{path}:1"),
    ]


def test_texts_that_differ_in_punctuation_only_and_are_judged_otherwise_are_hinted_at(folder):
    add(folder / "runs" / "new.jsonl", {"qid": "q1", "text": "He built – a réactor!"})
    add(folder / "judgements" / "a1.jsonl", {**JUDGEMENTS[0], "text": "He built – a réactor!", "verdict": False})
    ((file, line, severity, what),) = found(folder)
    assert (file, line, severity) == ("judgements/a1.jsonl", 2, "warning")
    assert "a1.jsonl:1 on nugget '1' of 'q1', where the text differs only in punctuation or accents" in what
    assert read_collection(folder).problems == []


def test_verdicts_on_a_nugget_in_other_words_are_named_once_a_file_and_used(folder):
    path = folder / "judgements" / "a1.jsonl"
    said = {**JUDGEMENTS[0], "nugget_hash": read_collection(folder).key.nuggets[0].hash}
    for text in ("He built a reactor.", "It sank."):
        add(path, {**said, "text": text, "run": "new"})
        add(folder / "runs" / "new.jsonl", {"qid": said["qid"], "text": text})
    assert check(folder) == []
    write_lines(folder / "nuggets.jsonl", [{**NUGGETS[0], "text": "something else"}, *NUGGETS[1:]])
    what = f"nugget {said['nugget']!r} of {said['qid']!r} had other words when this was judged (2 verdicts)"
    assert found(folder) == [("judgements/a1.jsonl", 2, "warning", what)]
    assert len(read_collection(folder).judgements) == 3


def test_a_verdict_that_names_no_run_is_told_once_a_file_and_used(folder):
    """A run of the manifest has a name, whether its file is there or not."""
    path = folder / "judgements" / "a1.jsonl"
    for text in ("He built a reactor.", "It sank."):
        add(path, {**JUDGEMENTS[0], "text": text, "run": "nwe"})
    add(path, {**JUDGEMENTS[0], "run": "new"})
    (folder / "runs" / "new.jsonl").unlink()
    told = [problem for problem in found(folder) if problem[0] == "judgements/a1.jsonl"]
    assert told == [("judgements/a1.jsonl", 2, "warning", "unknown run 'nwe' (2 verdicts)")]
    assert len(read_collection(folder).judgements) == 4


RETRACTION = {**JUDGEMENTS[0], "assessor": "a", "at": "2026-01-02T00:00:00Z", "retracted": True}
del RETRACTION["verdict"]


def test_a_contradiction_that_was_taken_back_is_none(folder):
    add(folder / "judgements" / "a1.jsonl", {**JUDGEMENTS[0], "verdict": False, "assessor": "a"})
    add(folder / "judgements" / "b.jsonl", RETRACTION)
    assert check(folder) == []
    assert len(read_collection(folder).judgements) == 1


def test_a_retraction_of_nothing_is_told(folder):
    """The first verdict there is nobody's."""
    line = add(folder / "judgements" / "a1.jsonl", RETRACTION)
    ((file, number, severity, what),) = found(folder)
    assert (file, number, severity) == ("judgements/a1.jsonl", line, "warning")
    assert "retracts nothing: 'a' had not judged nugget '1' of 'q1'" in what


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"retracted": False}, "'retracted' is false, not true"),
        ({"verdict": False}, "a line has 'retracted' and 'verdict'"),
        ({"at": "yesterday"}, "'at' is 'yesterday', not a time"),
        ({"at": "9999-12-31T23:59:59.999999Z"}, "'at' is '9999-12-31T23:59:59.999999Z', not a time"),
        ({"at": "0001-01-01T00:00:00+23:59"}, "'at' is '0001-01-01T00:00:00+23:59', not a time"),
        ({"at": None}, "'at' is null, not a string"),
        ({"assessor": None}, "'assessor' is null, not a string"),
    ],
)
def test_a_retraction_that_cannot_be_is_an_error(folder, wrong, says):
    line = add(folder / "judgements" / "a1.jsonl", {**RETRACTION, **wrong})
    assert found(folder) == [("judgements/a1.jsonl", line, "error", says)]


def test_machines_contradict_nobody(folder):
    for assessor in ("m1", "m2"):
        verdict = {**JUDGEMENTS[0], "assessor": assessor, "verdict": assessor == "m2", "machine": True}
        add(folder / "judgements" / "m.jsonl", verdict)
    assert check(folder) == []
    collection = read_collection(folder)
    assert len(collection.judgements) == 1
    assert [judgement.assessor for judgement in collection.machine] == ["m1", "m2"]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_last_line_is_told_for_what_it_is_and_stops_nothing(folder, cut):
    path = folder / "judgements" / "a1.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:cut])
    ((file, line, severity, what),) = found(folder)
    assert (file, line, severity) == ("judgements/a1.jsonl", 2, "warning")
    assert "torn" in what
    assert len(read_collection(folder).judgements) == 1


def test_a_file_of_judgements_that_cannot_be_read_is_an_error_among_the_rest(folder):
    (folder / "judgements" / "z.jsonl").mkdir()
    bad = add(folder / "judgements" / "a1.jsonl", b"{")
    assert [(file, line) for file, line, *_ in found(folder)] == [
        ("judgements/a1.jsonl", bad),
        ("judgements/z.jsonl", None),
    ]


def test_a_torn_line_that_was_set_aside_is_told_until_it_is_deleted(folder):
    (folder / "judgements" / "a1.jsonl.torn-20260101T000000.000000Z").write_bytes(b'{"qid": "q1", "nug')
    ((file, line, severity, what),) = found(folder)
    assert (file, line, severity) == ("judgements/a1.jsonl.torn-20260101T000000.000000Z", None, "warning")
    assert "a torn line" in what


def test_the_same_verdict_twice_is_no_problem(folder):
    add(folder / "judgements" / "b2.jsonl", JUDGEMENTS[0])
    assert check(folder) == []


def test_a_question_that_a_run_does_not_answer_is_told(folder):
    write_lines(folder / "runs" / "new.jsonl", RUN[:1])
    (problem,) = check(folder)
    assert str(problem) == f"{folder}/runs/new.jsonl: no answer to question 'q2'; that scores 0"
    collection = read_collection(folder)
    assert collection.problems == []
    collection.run("new")
    assert collection.problems == [problem]


def test_an_answer_that_is_null_is_not_to_be_put_in_quotes(folder):
    """It would be the word null."""
    add(folder / "runs" / "new.jsonl", {"qid": "q1", "text": None})
    add(folder / "runs" / "new.jsonl", {"qid": None, "text": "a"})
    remedies = ['write "" or delete the line if the system said nothing', "write an id"]
    assert [problem.remedy for problem in check(folder)] == remedies


def test_a_question_without_nuggets_is_not_called_unknown(folder):
    """Its id is right: there is nothing to correct in it."""
    add(folder / "questions.jsonl", {"qid": "q10", "text": "Why?"})
    run = add(folder / "runs" / "new.jsonl", {"qid": "q10", "text": "So."})
    verdict = add(folder / "judgements" / "a1.jsonl", {**JUDGEMENTS[0], "qid": "q10"})
    assert [(p.line, p.what, p.remedy) for p in check(folder)][1:] == [
        (verdict, "question 'q10' has no nuggets", "the verdict is not used; add nuggets to the question"),
        (run, "question 'q10' has no nuggets (1 response)", "not scored; add nuggets to the question"),
    ]


@pytest.mark.parametrize("said", ["", " \n"])
def test_questions_without_an_answer_are_one_line_of_each_run(folder, said, capsys):
    """There was a line for each, in every run."""
    qids = [f"q{number}" for number in range(1, 8)]
    write_lines(folder / "questions.jsonl", [{"qid": qid, "text": "Who?"} for qid in qids])
    write_lines(folder / "nuggets.jsonl", [{**NUGGETS[0], "qid": qid} for qid in qids])
    write_lines(folder / "runs" / "new.jsonl", [RUN[0], *({"qid": qid, "text": said} for qid in qids[1:] if said)])
    assert main(["check", "--collection", str(folder)]) == 0
    what = "no words in the answer to" if said else "no answer to"
    remedy = "that scores 0; look at what the system wrote" if said else "that scores 0"
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        f"warning {folder}/runs/old.jsonl: no answer to 5 questions: 'q3', 'q4', 'q5', 'q6', 'q7'; that scores 0",
        f"warning {folder}/runs/new.jsonl: {what} 6 questions: 'q2', 'q3', 'q4', 'q5', 'q6' and 1 more; {remedy}",
        f"{folder}: 0 errors, 11 warnings",
    ]


def test_many_responses_to_one_unknown_question_are_one_problem_at_the_first(folder):
    for _ in range(3):
        add(folder / "runs" / "new.jsonl", {"qid": "q9", "text": "a"})
    assert found(folder) == [("runs/new.jsonl", 3, "warning", "unknown question 'q9' (3 responses)")]


def test_ranks_out_of_order_are_told_where_they_are(folder):
    write_lines(
        folder / "runs" / "new.jsonl",
        [
            {"qid": q, "text": text, "rank": r}
            for q, text, r in [("q1", "a", 2), ("q2", "a", 1), ("q1", "b", 1), ("q1", "c", 1), ("q1", "d", 5)]
        ],
    )
    assert [(line, what) for _, line, _, what in found(folder)] == [
        (3, "rank 1 of 'q1' is out of order"),
        (4, "rank 1 of 'q1' is out of order"),
    ]


def test_votes_missing_on_some_nuggets_are_told_at_the_first(folder):
    votes = [{"a1": "vital", "a2": "okay"}, {"a1": "vital"}, {}]
    write_lines(folder / "nuggets.jsonl", [{**n, "votes": v} for n, v in zip(NUGGETS, votes, strict=True)])
    assert found(folder) == [("nuggets.jsonl", 2, "warning", "question 'q1': a2 voted on some nuggets only")]


def test_votes_and_a_weight_together_are_told(folder):
    write_lines(folder / "nuggets.jsonl", [{**n, "votes": {"a": "okay"}, "weight": 0.5} for n in NUGGETS])
    assert [(line, severity) for _, line, severity, _ in found(folder)] == [(n, "warning") for n in (1, 2, 3)]


def test_a_judged_text_that_is_in_no_run_is_told(folder):
    add(folder / "judgements" / "a1.jsonl", {**JUDGEMENTS[0], "text": "Nobody said this."})
    assert found(folder) == [("judgements", None, "warning", "1 judged texts are in none of the runs")]


@pytest.mark.parametrize(
    ("toml", "line", "says"),
    [
        ("[match]\nn = = 2", 2, "not TOML"),
        ("[match]\nm = 2", 2, "unknown setting [match] m"),
        ('[match]\nidf = "none.idf"', None, "cannot be read"),
        ('[match]\nidf = "x\\u0000"', None, "cannot be read"),
    ],
)
def test_settings_that_cannot_be_used_are_listed_among_the_rest(folder, toml, line, says):
    (folder / "nuggeteer.toml").write_text(toml)
    bad = add(folder / "runs" / "new.jsonl", b"{")
    problems = check(folder)
    assert [p.severity for p in problems] == ["error", "error"]
    assert f"runs/new.jsonl:{bad}: not JSON" in str(problems[0 if "idf" in toml else 1])
    settings = problems[1 if "idf" in toml else 0]
    assert settings.line == line
    assert says in settings.what


def test_a_bad_line_of_a_table_of_weights_is_listed(folder):
    (folder / "x.idf").write_text("# nuggeteer idf 1; documents: 3\nword\t5\n")
    (folder / "nuggeteer.toml").write_text('[match]\nidf = "x.idf"\n')
    assert [(file, line) for file, line, *_ in found(folder)] == [("x.idf", 2)]


def test_all_problems_of_all_files_are_listed_by_file_and_line(folder):
    """Not only the first, and those of a run that nobody asked for too."""
    for file in FILES:
        for bad in (b"{", b'{"qid": 7, "run": 7, "text": 7}', b"[]"):
            add(folder / file, bad)
    problems = check(folder)
    places = [(FILES.index(p.file.removeprefix(f"{folder}/")), p.line) for p in problems]
    assert places == sorted(places)
    assert {file for file, _ in places} == set(range(len(FILES)))
    assert sum("not JSON" in p.what for p in problems) == len(FILES)


def test_a_long_list_ends_in_its_length(folder):
    for _ in range(30):
        add(folder / "nuggets.jsonl", b"{")
    with pytest.raises(InputError) as caught:
        read_collection(folder)
    lines = str(caught.value).split("\n")
    assert len(lines) == 11
    assert lines[-1] == "... and 20 more (nuggeteer check lists all of a collection)"
    assert len(caught.value.problems) == 30


def test_a_file_that_cannot_be_read_is_listed_among_the_rest(folder):
    (folder / "runs" / "new.jsonl").unlink()
    (folder / "runs" / "new.jsonl").mkdir()
    bad = add(folder / "judgements" / "a1.jsonl", b"{")
    assert {(file, line) for file, line, *_ in found(folder)} == {
        ("runs/new.jsonl", None),
        ("judgements/a1.jsonl", bad),
    }


def test_a_problem_reads_as_place_what_and_remedy():
    assert str(Problem("a.jsonl", 3, "no 'qid'", "add it")) == "a.jsonl:3: no 'qid'; add it"
    assert str(Problem("a.jsonl", None, "empty", "fill it")) == "a.jsonl: empty; fill it"


def test_every_line_is_parsed_once_however_many_runs_and_verdicts_there_are(folder, monkeypatch):
    """But for the short manifest, which is looked through again for runs without a file."""
    for i in range(20):
        write_lines(folder / "runs" / f"r{i}.jsonl", RUN)
        write_lines(folder / "judgements" / f"j{i}.jsonl", JUDGEMENTS)
    count = 0
    loads = orjson.loads

    def counting(line):
        nonlocal count
        count += 1
        return loads(line)

    monkeypatch.setattr(orjson, "loads", counting)
    check(folder)
    lines = sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.jsonl"))
    assert count == lines + (folder / "runs.jsonl").read_bytes().count(b"\n")


def test_an_answer_without_words_is_named(folder):
    write_lines(folder / "runs" / "new.jsonl", [{"qid": "q1", "text": " ... "}, {"qid": "q2", "text": "a"}])
    assert [(where, severity, what) for where, _, severity, what in found(folder)] == [
        ("runs/new.jsonl", "warning", "no words in the answer to question 'q1'")
    ]


def test_a_run_that_was_written_twice_is_named_once(folder):
    """Not one that says a sentence twice, as systems do."""
    once = [
        {"qid": "q1", "text": "a"},
        {"qid": "q1", "text": "b"},
        {"qid": "q1", "text": "a"},
        {"qid": "q2", "text": "c"},
    ]
    write_lines(folder / "runs" / "new.jsonl", once)
    assert found(folder) == []
    write_lines(folder / "runs" / "new.jsonl", [*once, *once])
    assert [what for *_, what in found(folder)] == ["the answer to 'q1' is there twice (and 1 other answer)"]
