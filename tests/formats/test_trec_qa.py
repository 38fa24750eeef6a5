"""TREC QA's files: what they hold comes back as it was, and what is no part of them is kept aside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.jsonl import GZIP
from nuggeteer.formats.trec_key import key_lines, read_key
from nuggeteer.formats.trec_qa import judgement_lines, read_judgements, read_runs, run_lines
from nuggeteer.records import Judgement, Nugget, Question, Response, RunInfo
from nuggeteer.text import normalised

FERMI = """\
Qid 87.8: 'other' question for target Enrico Fermi
1 vital belived in partical's existence and named it neutrino
2 vital Called the atomic Bomb an evil thing
3 okay Achieved the first controlled nuclear chain reaction
4 vital Designed and built the first nuclear reactor
5 okay Concluded that the atmosphere was in no real danger before Trinity test
6 okay co-developer of the atomic bomb
7 okay pointed out that the galaxy is 100,000 light years across
"""
COLOMBIA = """\
Qid 11:
The analyst is looking for links between Colombian businessmen and paramilitary forces.
Specifically, the analyst would like to know of evidence that business interests in
Colombia are still funding the AUC paramilitary organization.
1 vital Commander of the national paramilitary umbrella organization claimed his group enjoys growing support
2 vital Columbia's Chief prosecutor said he had a list of businessmen who supported right-wing squads
3 okay some landowners support AUC for protections services
"""


def read(reader: Callable[..., Bundle], content: str | bytes, columns: str = "") -> Bundle:
    options = {"columns": columns.split(",")} if columns else {}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "tuesday.txt"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return reader(path, **options)


def key(content: str | bytes, columns: str = "") -> Bundle:
    return read(read_key, content, columns)


def rows(bundle: Bundle) -> list[tuple[str, str, str, str]]:
    return [(n.qid, n.nugget, n.importance, n.descriptions[0]) for n in bundle.nuggets]


def aside(bundle: Bundle) -> list[tuple[int | None, str]]:
    """(line number, line) of what was not understood."""
    told = [p for p in bundle.problems if "kept aside" in p.remedy]
    return [(p.line, raw) for p, raw in zip(told, bundle.garbled, strict=True)]


# --- the papers' figures


def test_the_key_of_figure_1_is_read():
    bundle = key(FERMI)
    head = "'other' question for target Enrico Fermi"
    assert bundle.questions == {"87.8": Question("87.8", head, kind="other", target="Enrico Fermi")}
    importances = ["vital", "vital", "okay", "vital", "okay", "okay", "okay"]
    assert [(n.nugget, n.importance) for n in bundle.nuggets] == list(zip("1234567", importances, strict=True))
    assert bundle.nuggets[0].descriptions == ("belived in partical's existence and named it neutrino",)
    assert not bundle.garbled
    assert not bundle.problems


def test_a_topic_over_several_lines_before_the_first_nugget_as_in_figure_2_is_one_text():
    bundle = key(COLOMBIA)
    assert bundle.questions["11"].text == " ".join(COLOMBIA.splitlines()[1:4])
    assert [n.importance for n in bundle.nuggets] == ["vital", "vital", "okay"]
    assert not bundle.problems


def test_nuggets_may_carry_their_questions_id_instead_of_a_head():
    bundle = key("1901 1 vital born brooklyn ny 1900\n1901 2 okay composer\n2001 1 okay x\n")
    assert rows(bundle) == [
        ("1901", "1", "vital", "born brooklyn ny 1900"),
        ("1901", "2", "okay", "composer"),
        ("2001", "1", "okay", "x"),
    ]
    assert list(bundle.questions) == ["1901", "2001"]


def test_several_heads_share_a_file_with_nuggets_that_carry_an_id():
    bundle = key(FERMI + COLOMBIA + "1901 1 vital born brooklyn ny 1900\n")
    assert [n.qid for n in bundle.nuggets] == ["87.8"] * 7 + ["11"] * 3 + ["1901"]
    assert not bundle.garbled


# --- what is tolerated


@pytest.mark.parametrize(
    ("head", "qid", "text"),
    [
        ("Qid 87.8: Who?", "87.8", "Who?"),
        ("qid 87.8 : Who?", "87.8", "Who?"),
        ("QID 87.8 Who?", "87.8", "Who?"),
        ("Qid: 87.8 Who?", "87.8", "Who?"),
        ("Qid\t87.8:\tWho?", "87.8", "Who?"),
        ("Qid 87.8:Who?", "87.8", "Who?"),
        ("Qid 87.8:", "87.8", ""),
        ("Qid 87.8", "87.8", ""),
        ("Qid a:b: Who: you?", "a:b", "Who: you?"),
        ("Qid other: Who?", "other", "Who?"),
    ],
)
def test_a_head_has_a_colon_or_not(head, qid, text):
    bundle = key(f"{head}\n1 vital x\n")
    assert bundle.questions == {qid: Question(qid, text)}
    assert rows(bundle) == [(qid, "1", "vital", "x")]


def test_a_row_of_column_names_is_no_head():
    bundle = key("qid nugget importance text\n1901 1 vital x\n")
    assert list(bundle.questions) == ["1901"]
    assert aside(bundle) == [(1, "qid nugget importance text")]


@pytest.mark.parametrize(
    ("word", "importance"),
    [("VITAL", "vital"), ("Vital", "vital"), ("Okay", "okay"), ("OK", "okay"), ("unrated", "unrated")],
)
def test_importance_is_read_in_any_case_and_ok_is_okay(word, importance):
    assert rows(key(f"q 1 {word} x\n")) == [("q", "1", importance, "x")]


def test_columns_stand_between_blanks_or_tabs_and_blank_lines_and_comments_are_passed_over():
    bundle = key("# nuggets of 2003\n\n1901\t1 \t vital   born in  Brooklyn\r\n\n# end\n")
    assert rows(bundle) == [("1901", "1", "vital", "born in  Brooklyn")]
    assert not bundle.garbled


def test_a_line_that_is_not_utf8_is_read_as_windows_1252_and_the_others_as_utf8():
    bundle = key("q 1 okay Caf\xe9 \u201cAda\u201d\n".encode("cp1252") + "q 2 okay Żółw\n".encode())
    assert [n.descriptions[0] for n in bundle.nuggets] == ["Café “Ada”", "Żółw"]


def test_a_head_that_comes_again_is_tolerated_but_another_text_for_it_is_kept_aside():
    bundle = key("Qid 1: Who?\n1 vital a\nQid 1: Who?\n2 okay b\nQid 1: What?\n3 okay c\n")
    assert bundle.questions == {"1": Question("1", "Who?")}
    assert [n.nugget for n in bundle.nuggets] == ["1", "2", "3"]
    assert aside(bundle) == [(5, "Qid 1: What?")]


def test_a_response_without_text_is_a_response():
    bundle = read(read_runs, "1.2 nistqa05M NIL\n", "qid,run,docid,text")
    assert bundle.responses == {"nistqa05M": [Response("1.2", "")]}


def test_a_run_without_a_column_for_its_name_has_the_files():
    bundle = read(read_runs, "q1 some text\n", "qid,text")
    assert bundle.responses == {"tuesday": [Response("q1", "some text")]}


def test_columns_can_stand_in_another_order_and_be_passed_over():
    columns = "_,qid,run,docid,rank,nuggets,text"
    bundle = read(read_judgements, "x 87.8 lcc05 NYT1 3 1,4b Fermi\n", columns)
    assert bundle.responses == {"lcc05": [Response("87.8", "Fermi", "NYT1", 3)]}
    assert [j.nugget for j in bundle.judgements] == ["1", "4b"]
    weighted = key("q 1 vital 0.25 x\nq 2 okay 1.5 y\n", "qid,nugget,importance,weight,text")
    assert [n.weight for n in weighted.nuggets] == [0.25]
    assert aside(weighted) == [(2, "q 2 okay 1.5 y")]


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ("qid,text", "nugget, importance"),
        ("qid,nugget,importance,text,weight", "text is not last"),
        ("qid,qid,nugget,importance,text", "qid twice"),
        ("qid,nugget,importance,when,text", "when"),
        (",", "qid"),
    ],
)
def test_columns_that_make_no_sense_are_refused(columns, what):
    with pytest.raises(NuggeteerError, match=what):
        key("x\n", columns)


def test_judgements_of_2005_as_nist_describes_them_are_responses_and_then_marks():
    content = (
        "52.6 RUN-1 1 NYT19990101.0001 Burger King has stores\n"
        "52.6 RUN-1 2 NIL over 10,000 Burger Kings worldwide\n"
        "52.6 RUN-1 2 6\n"
        "52.6 RUN-1 9 1\n"
        "52.6 RUN-1 2 APW1 again\n"
    )
    bundle = read(read_judgements, content, "qid,run,item,docid,text")
    first = Response("52.6", "Burger King has stores", "NYT19990101.0001")
    second = Response("52.6", "over 10,000 Burger Kings worldwide")
    assert bundle.responses == {"RUN-1": [first, second]}
    assert bundle.runs == {"RUN-1": RunInfo("RUN-1", judged="best")}
    assert bundle.judgements == [Judgement("52.6", "6", second.text, True, run="RUN-1", assessor="trec")]
    assert aside(bundle) == [(4, "52.6 RUN-1 9 1"), (5, "52.6 RUN-1 2 APW1 again")]


def test_judgements_of_2005_read_with_the_wrong_columns_are_kept_aside_not_misread():
    content = "52.6 RUN-1 2 NYT19990101.0001 Burger Kings\n52.6 RUN-1 2 6\n"
    bundle = read(read_judgements, content)
    assert [raw + "\n" for _, raw in aside(bundle)] == content.splitlines(keepends=True)
    assert not bundle.responses


# --- what is not understood


def test_what_is_not_understood_is_kept_aside_as_it_was_with_its_file_and_line():
    lines = [b"Qid 1: Who?", b"1 vital a", b"2 vtal \xff b", b"3  okay  c", b"nothing", b"3 okay again"]
    bundle = key(b"\n".join(lines))
    assert [n.nugget for n in bundle.nuggets] == ["1", "3"]
    kept = [raw.encode("utf-8", "surrogateescape") for raw in bundle.garbled]
    assert kept == [lines[2], lines[4], lines[5]]
    assert [line for line, _ in aside(bundle)] == [3, 5, 6]
    assert all(p.file.endswith("tuesday.txt") and p.severity == "warning" for p in bundle.problems)


def test_a_broken_first_nugget_does_not_slip_into_the_questions_text():
    bundle = key("Qid 1: Who?\n1 vtal a\n2 okay\n3 okay c\n")
    assert bundle.questions["1"].text == "Who?"
    assert aside(bundle) == [(2, "1 vtal a"), (3, "2 okay")]


def test_nuggets_under_a_head_that_nobody_understood_do_not_go_to_the_question_before():
    bundle = key("Qid 1: Who?\n1 vital a\nQuestion no. 2\n1 vital b\n2 vital c\nQid 3: What?\n2 vital d\n")
    assert rows(bundle) == [("1", "1", "vital", "a"), ("3", "2", "vital", "d")]
    assert [line for line, _ in aside(bundle)] == [3, 4, 5]


def test_nuggets_under_a_head_without_a_usable_id_are_kept_aside():
    bundle = key("Qid 1: Who?\n1 vital a\nQid \u00ad\u00ad: What?\n2 vital b\n")
    assert rows(bundle) == [("1", "1", "vital", "a")]
    assert [line for line, _ in aside(bundle)] == [3, 4]


@pytest.mark.parametrize(
    "line",
    [
        "87.8 lcc05 NYT1 first text",  # no rank
        "87.8 lcc05",
        "87.8 lcc05 NYT1 " + "9" * 5000 + " text",
        "87.8 lcc\x0005 NYT1 1 text",
        "87\u200b.8 lcc05 NYT1 1 text",
    ],
)
def test_a_line_that_is_no_response_is_kept_aside(line):
    bundle = read(read_runs, line)
    assert aside(bundle) == [(1, line)]
    assert not bundle.responses


@pytest.mark.parametrize("nuggets", ["1;4", "1,,4", "vital", "1,", "1,-"])
def test_nuggets_that_are_no_list_of_numbers_are_kept_aside(nuggets):
    bundle = read(read_judgements, f"87.8 lcc05 NYT1 {nuggets} text")
    assert aside(bundle) == [(1, f"87.8 lcc05 NYT1 {nuggets} text")]


# --- there and back

words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=6)
ids = words.filter(lambda word: not word.startswith("#"))
traps = st.sampled_from(["1", "vital", "Qid", "-", "NIL", "#"])
texts = st.lists(words | traps, max_size=5).map(" ".join)
some_text = texts.filter(bool)
numbers = st.from_regex("[0-9]{1,2}[ab]?", fullmatch=True)
docids = st.none() | words.filter(lambda word: word != "NIL")
asked = st.builds(
    lambda kind, target: (f"'{kind}' question for target {target}", kind, target), words.filter(str.isalnum), some_text
)
questions = asked | texts.map(lambda text: (text, None, None))
importances = st.sampled_from(["vital", "okay", "unrated"])
nuggets = st.dictionaries(numbers, st.tuples(importances, some_text), max_size=4)
responses = st.tuples(ids, texts, docids)
ranked = st.lists(st.tuples(responses, st.integers(-9, 10**18 - 1)), min_size=1, max_size=5)
judged = st.lists(
    st.tuples(responses, st.lists(numbers, unique=True, max_size=3)),
    min_size=1,
    max_size=4,
    unique_by=lambda row: (row[0][0], normalised(row[0][1]), row[0][2]),
)


@pytest.mark.slow
@given(st.dictionaries(ids, st.tuples(questions, nuggets), max_size=4))
def test_a_key_comes_back_from_its_lines(made):
    """Question texts, nugget numbers, importances and descriptions, in their order."""
    bundle = Bundle()
    for qid, ((text, kind, target), nuggets) in made.items():
        bundle.add_question(Question(qid, text, kind, target))
        bundle.nuggets += [Nugget(qid, n, (text,), importance) for n, (importance, text) in nuggets.items()]
    again = key("".join(line + "\n" for line in key_lines(bundle)))
    assert list(again.questions.items()) == list(bundle.questions.items())
    assert again.nuggets == bundle.nuggets
    assert not again.garbled


@pytest.mark.slow
@given(st.dictionaries(ids, ranked, max_size=3))
def test_runs_come_back_from_their_lines(made):
    """Several runs in one file, with ranks and docids, and responses without text."""
    bundle = Bundle()
    for run, listed in made.items():
        for response, rank in listed:
            bundle.add_response(RunInfo(run), Response(*response, rank))
    again = read(read_runs, "".join(f"{line}\n" for run in made for line in run_lines(bundle, run)))
    assert again.responses == bundle.responses
    assert again.runs == bundle.runs
    assert not again.garbled


@pytest.mark.slow
@given(st.dictionaries(ids, judged, max_size=3))
def test_judgements_come_back_from_their_lines(made):
    """Each yes goes to its own response, even where a text stands twice with two docids."""
    bundle = Bundle()
    for run, listed in made.items():
        for (qid, text, docid), nuggets in listed:
            bundle.add_response(RunInfo(run, judged="best"), Response(qid, text, docid))
            bundle.judgements += [
                Judgement(qid, n, text, True, docid=docid, run=run, assessor="trec") for n in nuggets if text
            ]
    again = read(read_judgements, "".join(f"{line}\n" for run in made for line in judgement_lines(bundle, run)))
    assert again.responses == bundle.responses
    assert again.runs == bundle.runs
    assert again.judgements == bundle.judgements
    assert not again.garbled


def test_ranks_are_counted_within_each_question_where_a_run_has_none():
    bundle = Bundle(responses={"r": [Response("a", "x"), Response("b", "y"), Response("a", "z")]})
    assert [line.split()[3] for line in run_lines(bundle, "r")] == ["1", "1", "2"]


def test_verdicts_are_found_by_what_makes_texts_the_same():
    bundle = Bundle(responses={"r": [Response("q", "Born in  Brooklyn")]})
    bundle.judgements.append(Judgement("q", "1", "born in brooklyn", True))
    assert list(judgement_lines(bundle, "r")) == ["q r NIL 1 Born in Brooklyn"]


def test_of_two_responses_with_one_text_the_one_with_the_verdicts_docid_is_marked():
    bundle = Bundle(responses={"r": [Response("q", "x", "d1"), Response("q", "X", "d2")]})
    bundle.judgements += [Judgement("q", "1", "x", True, docid="d2"), Judgement("q", "2", "x", True)]
    assert list(judgement_lines(bundle, "r")) == ["q r d1 2 x", "q r d2 1 X"]


def test_only_yes_verdicts_on_the_run_or_on_none_mark_a_nugget():
    bundle = Bundle(responses={"r": [Response("q", "x")]})
    for number, (verdict, run) in enumerate([(True, "r"), (True, None), (True, "other"), (False, "r")], 1):
        bundle.judgements.append(Judgement("q", str(number), "x", verdict, run=run))
    assert list(judgement_lines(bundle, "r")) == ["q r NIL 1,2 x"]


def test_what_a_file_cannot_hold_is_brought_to_what_it_can():
    """White space runs, several descriptions, ids of nuggets that are no numbers, blanks in docids."""
    bundle = Bundle()
    bundle.add_question(Question("q", "Who\n is \u2028 it?"))
    bundle.nuggets += [Nugget("q", "V.1", ("a  b", "c"), "vital"), Nugget("q", "V.2", ("d",), "okay")]
    assert list(key_lines(bundle)) == ["Qid q: Who is it?", "1 vital a b / c", "2 okay d"]
    bundle.add_response(RunInfo("r"), Response("q", "x\ty", "my doc"))
    bundle.judgements.append(Judgement("q", "V.2", "x y", True))
    assert list(judgement_lines(bundle, "r")) == ["q r my_doc 2 x y"]


@pytest.mark.parametrize("bad", ["my run", "#1", "a\u00a0b"])
def test_ids_that_would_be_read_as_something_else_are_not_written(bad):
    with pytest.raises(NuggeteerError, match="cannot be an id"):
        list(run_lines(Bundle(responses={bad: [Response("q", "x")]}), bad))
    with pytest.raises(NuggeteerError, match="cannot be an id"):
        list(key_lines(Bundle(questions={bad: Question(bad, "")})))


def test_a_verdict_on_a_nugget_without_a_number_is_not_written():
    bundle = Bundle(responses={"r": [Response("q", "x")]}, judgements=[Judgement("q", "V.1", "x", True)])
    with pytest.raises(NuggeteerError, match=r"'V\.1'"):
        list(judgement_lines(bundle, "r"))


# --- any bytes

FIGURE_3 = """\
147 Britain's Prince Edward marries
Nugget 0 1 2 3 4 5 6 7 8
The couple had a long courtship 1 0 0 0 0 0 1 1 0
Queen Elizabeth II was delighted with the match 0 1 0 1 0 0 0 0 1
Queen named couple Earl and Contessa of Wessex 0 1 0 0 1 1 1 0 0
All marriages of Edward's siblings ended in divorce 0 0 0 0 0 1 0 0 1
Edward arranged for William to appear more cheerful in photo 0 0 0 0 0 0 0 0 0
they were married in St. Georges Chapel, Windsor 1 1 1 0 1 0 1 1 0
"""
NINTHS = [3, 3, 4, 2, 0, 6]  # counted in the figure by hand


def test_the_table_of_figure_3_of_dang_and_lin_becomes_votes_and_weights():
    bundle = key(FIGURE_3)
    assert [q.text for q in bundle.questions.values()] == ["147 Britain's Prince Edward marries"]
    assert [n.nugget for n in bundle.nuggets] == list("123456")
    assert bundle.nuggets[0].descriptions == ("The couple had a long courtship",)
    assert [n.importance for n in bundle.nuggets] == ["vital", "okay", "okay", "okay", "okay", "vital"]
    weights = make_key(list(bundle.questions.values()), bundle.nuggets).weight
    assert weights == pytest.approx([ninths / 9 for ninths in NINTHS])
    assert not bundle.garbled


@pytest.mark.parametrize("columns", ["", "qid,nugget,importance,text,votes"])
def test_votes_behind_each_nugget_are_read_and_no_part_of_its_text(columns):
    head, *rows_ = FERMI.splitlines()
    voted = "\n".join([head, *(f"{row} {i % 2} 0 1" for i, row in enumerate(rows_))])
    bundle = key(voted, columns)
    assert rows(bundle) == rows(key(FERMI))
    assert [n.votes["0"] for n in bundle.nuggets] == ["okay", "vital"] * 3 + ["okay"]
    assert all(dict(n.votes) | {"0": ""} == {"0": "", "1": "okay", "2": "vital"} for n in bundle.nuggets)
    assert bool(bundle.problems) == (not columns), "votes that nobody announced are named"


def test_a_text_that_ends_in_a_number_keeps_it_beside_the_votes():
    bundle = key("Qid 1:\n1 vital won in round 1 0 1\n2 okay a 1 0\n3 okay b 0 0\n", "nugget,importance,text,votes")
    assert bundle.nuggets[0].descriptions == ("won in round 1",)
    assert bundle.nuggets[0].votes == {"0": "okay", "1": "vital"}


def test_votes_may_be_grades_and_a_key_may_have_nothing_but_texts_and_votes():
    bundle = key("q1 the first 0.7 1\nq1 the second .25 0\n", "qid,text,votes")
    assert [n.votes for n in bundle.nuggets] == [{"0": 0.7, "1": "vital"}, {"0": 0.25, "1": "okay"}]
    assert [n.importance for n in bundle.nuggets] == ["vital", "okay"]


def test_some_columns_of_0_and_1_are_reported_and_stay_in_the_text():
    bundle = key("Qid 1:\n1 vital one 1 0 0\n2 okay two\n")
    assert bundle.nuggets[0].descriptions == ("one 1 0 0",)
    assert "'1 0 0'" in bundle.problems[0].what
    assert "votes" in bundle.problems[0].remedy
    assert not key("Qid 1:\n1 vital founded in 1\n2 okay two\n").problems


def test_questions_without_ids_are_numbered_as_in_figure_2_of_marton_and_radul():
    bare = "\n".join(COLOMBIA.splitlines()[1:]) + "\n"
    bundle = key(bare + "A second question?\n1 okay its nugget\n")
    assert list(bundle.questions) == ["1", "2"]
    assert bundle.questions["1"].text == key(COLOMBIA).questions["11"].text
    assert rows(bundle)[:3] == [("1", *row[1:]) for row in rows(key(COLOMBIA))]
    assert rows(bundle)[3] == ("2", "1", "okay", "its nugget")
    assert "numbered" in bundle.problems[0].what


def test_garbage_within_the_nuggets_of_a_question_without_an_id_starts_no_question():
    bundle = key("What?\n1 vital one\ngarbage\n2 vital two\n")
    assert list(bundle.questions) == ["1"]
    assert bundle.garbled == ["garbage"]
    assert [n.nugget for n in bundle.nuggets] == ["1", "2"]


tokens = st.sampled_from(
    b"Qid|87.8|87.8:|1|1|2|3|vital|vital|OK|okay|-|1,2|1,|NYT1|lcc05|#|text|\xff|\0|\x1f|\r|\xef\xbb\xbf".split(b"|")
)
starts = st.sampled_from(
    [b"", b"", b"Qid 87.8:", b"1 vital", b"2 okay", b"q 1", b"q run 1", b"q run NYT1 1", b"q run 1 2"]
)
lines = st.builds(lambda start, rest: b" ".join([start, *rest]), starts, st.lists(tokens, max_size=5))
contents = (st.binary(max_size=100) | st.lists(lines, max_size=8).map(b"\n".join)).filter(
    lambda content: not content.startswith(GZIP)  # which would be unpacked
)


def check_garbled(bundle: Bundle, content: bytes) -> None:
    lines = [line.strip(b" \t\r\n") for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    for number, raw in aside(bundle):
        assert number is not None
        assert lines[number - 1] == raw.encode("utf-8", "surrogateescape")


def count_lines(content: bytes) -> int:
    lines = [line.strip(b" \t\r\n") for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    return sum(bool(line) and not line.startswith(b"#") for line in lines)


@pytest.mark.slow
@settings(max_examples=300)
@given(contents)
def test_any_bytes_are_a_key_or_kept_aside_as_they_were(content):
    bundle = key(content)
    check_garbled(bundle, content)
    assert len(bundle.nuggets) + len(bundle.garbled) <= count_lines(content)


@pytest.mark.slow
@settings(max_examples=300)
@given(contents, st.sampled_from(["qid,run,docid,rank,text", "qid,run,docid,text", "qid,text"]))
def test_any_line_is_a_response_or_kept_aside_as_it_was(content, columns):
    bundle = read(read_runs, content, columns)
    check_garbled(bundle, content)
    assert sum(map(len, bundle.responses.values())) + len(bundle.garbled) == count_lines(content)


layouts = st.sampled_from(["qid,run,docid,nuggets,text", "qid,run,item,docid,text", "qid,item,nuggets,text"])


@pytest.mark.slow
@settings(max_examples=300)
@given(contents, layouts)
def test_any_line_is_a_judged_response_a_mark_or_kept_aside_as_it_was(content, columns):
    bundle = read(read_judgements, content, columns)
    check_garbled(bundle, content)
    understood = sum(map(len, bundle.responses.values())) + len(bundle.garbled)
    assert understood <= count_lines(content) <= understood + len(bundle.judgements)


@pytest.mark.parametrize("line", ["9" * 300_000, "a " * 150_000, "1," * 150_000, "Qid " + ":" * 300_000])
@pytest.mark.parametrize("reader", [read_key, read_runs, read_judgements])
def test_no_line_takes_more_than_time_in_its_length(reader, line):
    """A pattern that tries every way to cut such a line would take hours."""
    bundle = read(reader, line)
    assert len(bundle.garbled) + len(bundle.questions) + len(bundle.responses) >= 1
