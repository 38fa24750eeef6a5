"""Verdicts made elsewhere: all or none, none twice, none against the same assessor's, and a machine's never known."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.importing import import_verdicts
from nuggeteer.collection.ledger import Ledger
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.scoring.known import UNKNOWN, VerdictIndex
from nuggeteer.text import normalised
from tests.conftest import write_lines

NUGGETS = [
    {"qid": "q1", "nugget": "a", "text": "built a reactor", "importance": "vital"},
    {"qid": "q1", "nugget": "b", "descriptions": ["born in Rome", "a Roman"], "importance": "okay"},
    {"qid": "q2", "nugget": "a", "text": "sank in 1912", "importance": "vital"},
]
TEXTS = ("He built a reactor; in Chicago.", "It sank.")
CSV = "qid,nugget,text,verdict,reason\n"


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "collection"
    write_lines(root / "nuggets.jsonl", NUGGETS)
    write_lines(root / "runs" / "r.jsonl", [{"qid": q, "text": t} for q, t in zip(("q1", "q2"), TEXTS, strict=True)])
    return root


@pytest.fixture
def take(folder, tmp_path):
    """Imports a file with that content, by default as ann's."""

    def take(content, assessor="ann", name="verdicts", as_truth=False):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return import_verdicts(read_collection(folder), path, assessor, as_truth)

    return take


def said(folder):
    return [(j.qid, j.nugget, j.text, j.verdict, j.assessor) for j in read_collection(folder).judgements]


def files(folder):
    return {path.name: path.read_bytes() for path in (folder / "judgements").glob("*")}


ROW = f'q1,a,"{TEXTS[0]}",%s,says so'
EXPECTED = ("q1", "a", TEXTS[0], True, "ann")


@pytest.mark.parametrize(
    ("word", "verdict"),
    [(w, True) for w in ("yes", "YES", " y ", "true", "1")] + [(w, False) for w in ("no", "N", "FALSE", "0")],
)
def test_words_for_yes_and_no(folder, take, word, verdict):
    done = take(CSV + ROW % word)
    assert said(folder) == [(*EXPECTED[:3], verdict, "ann")]
    assert (len(done.written), done.already, done.retracted, done.unjudged) == (1, 0, 0, 0)
    (judgement,) = done.written
    assert (judgement.reason, judgement.extra["source"]) == ("says so", "import")
    assert judgement.at is not None
    assert check(folder) == []


LAYOUTS = {
    "commas": CSV + ROW % "yes" + "\n",
    "a byte-order mark": "\ufeff" + CSV + ROW % "yes",
    "Windows line ends": (CSV + ROW % "yes").replace("\n", "\r\n") + "\r\n",
    "semicolons": f'qid;nugget;text;verdict\nq1;a;"{TEXTS[0]}";yes\n',
    "tabs": f"qid\tnugget\ttext\tverdict\nq1\ta\t{TEXTS[0]}\tyes\n",
    "another order and case": f'Verdict,TEXT,Nugget,QID\nyes,"{TEXTS[0]}",a,q1\n',
    "blank rows and columns": f'qid,nugget,text,verdict,,\nq1,a,"{TEXTS[0]}",yes,,\n,,,,,\n\n',
    "spaces around ids": f'qid,nugget,text,verdict\n q1 , a,"{TEXTS[0]}",yes\n',
    "canonical": json.dumps({"qid": "q1", "nugget": "a", "text": TEXTS[0], "verdict": True}) + "\n",
    "canonical without an end": "\n" + json.dumps({"qid": "q1", "nugget": "a", "text": TEXTS[0], "verdict": True}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_spreadsheets_and_canonical_lines_say_the_same(folder, take, layout):
    take(LAYOUTS[layout])
    assert said(folder) == [EXPECTED]


def test_a_cell_may_have_lines_and_quotes_and_other_columns_are_kept(folder, take):
    done = take('qid,nugget,text,verdict,partial,sheet\nq1,a,"He ""built""\na reactor",no,yes,7\n')
    assert done.written[0].text == 'He "built"\na reactor'
    assert done.written[0].partial is True
    assert done.written[0].extra["sheet"] == "7"


def test_rows_that_nobody_judged_are_counted(folder, take):
    done = take(CSV + ROW % "yes" + "\n" + ROW % "" + "\n" + f"q2,a,{TEXTS[1]},,")
    assert (len(done.written), done.unjudged) == (1, 2)


BAD_ROWS = {
    "q1,a,t,perhaps,": "'verdict' is 'perhaps'; write yes or no",
    "q9,a,t,yes,": "unknown question 'q9'",
    "q1,z,t,yes,": "question 'q1' has no nugget 'z'",
    "q1,a,,yes,": "no 'text'",
    ",a,t,yes,": "no 'qid'",
    "q1,a,one, two,yes,": "6 cells, but only 5 columns",
    "q1,a,one, no ,yes,": "6 cells, but only 5 columns",
}


@pytest.mark.parametrize("row", BAD_ROWS)
def test_a_bad_row_is_named_with_its_line_and_nothing_is_imported(folder, take, tmp_path, row):
    """Rows before it and after it, bad or good, stand on two lines."""
    with pytest.raises(NuggeteerError) as caught:
        take(f'{CSV}q1,a,"two\nlines",yes,\n{row}x\n{row}"two\nlines"\n{row}\n')
    for line in (4, 5, 7):
        assert f"{tmp_path}/verdicts:{line}: {BAD_ROWS[row]}" in str(caught.value)
    assert str(caught.value).endswith("\nnothing was imported")
    assert not files(folder)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "the first row does not name the columns qid, nugget, text, verdict"),
        ("q1,a,t,yes\n", "the first row does not name the columns"),
        ("qid,nugget,text,verdict,QID\nq1,a,t,yes,q1\n", "the column 'qid' occurs twice"),
        (CSV.encode() + b"q1,a,\xff,yes,\n", "2: is not UTF-8; save it as CSV UTF-8"),
        ((CSV + ROW % "yes").encode("utf-16"), "is not UTF-8; save it as CSV UTF-8"),
        (CSV + 'q1,a,"t,yes,\n', "2: not CSV"),
        (CSV + 'q1,a,"t" t,yes,\n', "2: not CSV"),
        ('{"qid": "q1"}\n', "no 'verdict'"),
        ('{"qid": "q1", "nugget": "a", "text": "t", "verdict": true}\n{"qid": "q', "the last line is incomplete"),
        (
            '{"qid":"q1","nugget":"a","text":"t","assessor":"ann","at":"2026-01-01","retracted":true}\n',
            "a retraction cannot",
        ),
        (CSV.replace("reason", "retracted") + "q1,a,t,yes,yes", "retracted"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(folder, take, tmp_path, content, says):
    with pytest.raises(NuggeteerError) as caught:
        take(content)
    assert says in str(caught.value)
    assert not any(name.endswith(".jsonl") for name in files(folder))


def test_many_bad_rows_are_counted(take):
    with pytest.raises(NuggeteerError, match=r"\.\.\. and 15 more\nnothing was imported"):
        take(CSV + "q9,a,t,yes,\n" * 35)


def test_importing_twice_writes_nothing_the_second_time(folder, take):
    content = CSV + ROW % "yes" + "\n" + ROW % "yes" + f"\nq2,a,{TEXTS[1]},no,\n"
    assert (len(take(content).written), take(content).already) == (2, 3)
    before = files(folder)
    assert len(take(content + f"q1,b,{TEXTS[0]},no,\n").written) == 1
    assert files(folder)["ann.jsonl"].startswith(before["ann.jsonl"])
    assert len(said(folder)) == 3


def test_what_was_taken_back_since_does_not_come_back(folder, take):
    content = CSV + ROW % "yes" + f"\nq2,a,{TEXTS[1]},no,\n"
    first, _ = take(content).written
    Ledger(folder, "ann").retract(first)
    done = take(content)
    assert (len(done.written), done.already, done.retracted) == (0, 1, 1)
    assert [j[0] for j in said(folder)] == ["q2"]


def test_a_contradiction_of_ones_own_is_refused_and_another_s_is_not(folder, take):
    """Texts are the same whatever their case; in the file or in the ledger."""
    take(CSV + ROW % "yes")
    before = files(folder)
    with pytest.raises(NuggeteerError) as caught:
        take(CSV + (ROW % "no").upper().replace("Q1,A", "q1,a") + f"\nq2,a,{TEXTS[1]},no,\nq2,a,{TEXTS[1]},yes,\n")
    first, second, end = str(caught.value).split("\n")
    assert ":2: no on nugget 'a' of 'q1' contradicts " in first
    assert f"{folder}/judgements/ann.jsonl:1, where the same assessor says yes" in first
    assert ":4: yes on nugget 'a' of 'q2' contradicts " in second
    assert "verdicts:3, where the same assessor says no" in second
    assert end == "nothing was imported"
    assert files(folder) == before
    assert take(CSV + ROW % "no", "bob").contradicting == 1
    assert len(said(folder)) == 2
    assert take(CSV + ROW % "no", "cy").contradicting == 1
    assert take(CSV + f"q2,a,{TEXTS[1]},no,", "cy").contradicting == 0


def test_a_retraction_that_nothing_can_be_later_than_is_refused(folder, take):
    """Otherwise its assessor could never judge that text again."""
    page = {"qid": "q1", "nugget": "a", "text": TEXTS[0], "source": "page", "page": "p", "retracted": True}
    with pytest.raises(NuggeteerError, match=r"verdicts:1: 'at' is '9999-12-31T23:59:59.999999Z', not a time"):
        take(json.dumps({**page, "at": "9999-12-31T23:59:59.999999Z"}) + "\n")
    assert files(folder) == {}


def line(assessor, **more):
    return (
        json.dumps({"qid": "q1", "nugget": "a", "text": TEXTS[0], "verdict": True, "assessor": assessor, **more}) + "\n"
    )


def test_the_file_says_whose_verdicts_these_are_or_the_command_does(folder, take):
    assert take(line("bob"), None).assessor == "bob"
    assert take(line("cy"), "cy").assessor == "cy"
    with pytest.raises(InputError, match="its verdicts are by 'bob', not by 'ann'"):
        take(line("bob"), "ann")
    with pytest.raises(InputError, match="its verdicts are by 'bob', 'cy'; import one file for each"):
        take(line("bob") + line("cy"), None)
    with pytest.raises(InputError, match="--assessor NAME"):
        take(LAYOUTS["canonical"], None)
    with pytest.raises(NuggeteerError, match="cannot be an assessor's name"):
        take(line("../bob"), None)


def test_time_and_origin_that_the_file_names_are_kept(take):
    (written,) = take(line("ann", at="2020-01-01", source="judge", guess={"score": 0.5})).written
    assert written.at == "2020-01-01"
    assert written.extra["source"] == "judge"
    assert written.extra["guess"] == {"score": 0.5}


def answers(*assignments, importance="vital", texts=("built a reactor", "Born  in Rome / a Roman")):
    listed = [
        {"text": text, "importance": importance, "assignment": assignment}
        for text, assignment in zip(texts, assignments, strict=True)
    ]
    answer = {"query": "Who?", "qid": "q1", "answer_text": TEXTS[0], "response_length": 9, "run_id": "r"}
    return json.dumps({**answer, "nuggets": listed}) + "\n"


def test_assignments_are_a_machine_s_and_their_nuggets_are_found_by_their_texts(folder, take):
    done = take(answers("support", "partial_support"), "gpt")
    assert [(j.nugget, j.verdict, j.partial, j.machine, j.run) for j in done.written] == [
        ("a", True, False, True, "r"),
        ("b", False, True, True, "r"),
    ]
    collection = read_collection(folder)
    assert (collection.judgements, len(collection.machine)) == ((), 2)
    known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    assert set(known([normalised(TEXTS[0])], np.array([0], dtype=np.int32))) == {UNKNOWN}
    assert take(answers("support", "partial_support"), "gpt").already == 2
    assert check(folder) == []


def test_a_garbled_assignment_is_a_no_as_convert_has_it_and_is_told(take, tmp_path):
    done = take(answers("support", "ming_dynasty_support", importance="failed"), "gpt")
    assert [(j.nugget, j.verdict) for j in done.written] == [("a", True), ("b", False)]
    assert done.written[1].extra["assignment"] == "ming_dynasty_support"
    told = [str(problem) for problem in done.problems]
    assert any(text.startswith(f"{tmp_path}/verdicts:1: ") and "ming_dynasty_support" in text for text in told)


def test_an_assignment_of_a_nugget_that_the_key_lacks_is_told_and_the_rest_imported(folder, take):
    done = take(answers("support", "support", texts=("another", "built  a Reactor")), "gpt")
    assert [j.nugget for j in done.written] == ["a"]
    assert any("q1 has no nugget 'another'" in problem.what for problem in done.problems)
    with pytest.raises(NuggeteerError, match="no verdict on a nugget of the key"):
        take(answers("support", "support", texts=("another", "one more")), "gpt")


def test_nuggets_of_one_text_are_taken_in_the_order_of_the_key(folder, take):
    twins = [{"qid": "q1", "nugget": n, "text": "a twin", "importance": "vital"} for n in ("x1", "x2")]
    write_lines(folder / "nuggets.jsonl", twins)
    done = take(answers("support", "not_support", texts=("a twin", "a twin")), "gpt")
    assert [(j.nugget, j.verdict) for j in done.written] == [("x1", True), ("x2", False)]


def test_a_machine_s_verdicts_are_known_where_they_are_the_standard(folder, take):
    done = take(answers("support", "partial_support"), "gpt", as_truth=True)
    assert done.as_truth
    collection = read_collection(folder)
    assert ([j.machine for j in collection.judgements], collection.machine) == ([True, True], ())
    assert collection.machine_truth == {"gpt": 2}
    take(answers("support", "not_support"), "other")
    collection = read_collection(folder)
    assert (len(collection.judgements), {j.assessor for j in collection.machine}) == (2, {"other"})


def test_verdicts_of_people_need_no_as_truth(folder, take):
    with pytest.raises(NuggeteerError, match="leave out --as-truth"):
        take(line("ann"), as_truth=True)
    assert not (folder / "nuggeteer.toml").exists()


def test_nobody_is_a_human_and_a_machine(folder, take):
    take(line("ann"))
    with pytest.raises(InputError, match="'ann' is a machine in some verdicts and a human in others"):
        take(answers("support", "support"), "ann")
    assert len(read_collection(folder).machine) == 0


def test_a_column_may_say_that_a_machine_judged(folder, take):
    take(f'qid,nugget,text,verdict,machine\nq1,a,"{TEXTS[0]}",yes,yes\n', "gpt")
    assert [j.assessor for j in read_collection(folder).machine] == ["gpt"]
    assert said(folder) == []
