"""Converting into a collection and out of one: nothing there is changed, and nothing is lost on the way."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from nuggeteer.cli.main import main
from nuggeteer.collection.checking import check
from nuggeteer.collection.convert import convert_into, convert_out
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.foreign import FORMATS
from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.runs import alike_tags, institution_of
from nuggeteer.collection.sample import sample_folder
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats.bundle import read_bundle
from nuggeteer.records import RunInfo
from nuggeteer.scoring.scorer import score
from nuggeteer.trust.crossval import without
from tests.conftest import shared, write_lines

KEY = "Qid 1: Who?\n1 vital a\nnothing\n2 okay b\n"
RUN = "1 r NYT1 1 some text\n1 r NYT2 2 more text\n2 s NYT1 1 other text\n"
JUDGEMENTS = "1 j NYT1 1,2 some text\n1 j NYT2 - more text\n"
ASSIGNMENT = {
    "query": "why?",
    "qid": "q",
    "run_id": "a",
    "answer_text": "so",
    "nuggets": [
        {"text": "x", "importance": "vital", "assignment": "support"},
        {"text": "y", "importance": "failed", "assignment": "garbled"},
    ],
}
ANSWER = {"run_id": "g", "topic_id": "q", "topic": "why?", "references": [], "answer": [{"text": "So."}]}
ROWS = "question,response,reference\nwhy?,So.,It is so. It was so.\n"
RESULT = {
    "vars": {"question": "why?"},
    "promptIdx": 0,
    "provider": {"id": "bot"},
    "response": {"output": "So."},
    "gradingResult": {"componentResults": [{"pass": True, "assertion": {"type": "icontains", "value": "so"}}]},
}
LOG = {
    "version": 2,
    "status": "success",
    "eval": {"task": "t", "model": "m"},
    "samples": [{"id": "q", "epoch": 1, "input": "why?", "target": "so it is", "output": {"completion": "So."}}],
}
BANK = {"query_id": "q", "title_query": "why?", "claim_bank": {"it is so": {"claim": "it is so", "importance": "okay"}}}
SHOWN = {"question": "why?", "answer": "So.", "nugget": "it is so"}
CHOICE = {"from_name": "verdict", "type": "choices", "value": {"choices": ["Yes"]}}
TASK = {"id": 1, "data": SHOWN, "annotations": [{"completed_by": 3, "result": [CHOICE]}]}
RECORD = {"id": "1", "fields": SHOWN, "responses": {"verdict": [{"value": "yes", "user_id": "u"}]}, "suggestions": {}}
EXAMPLES = {
    "trec-key": KEY,
    "trec-run": RUN,
    "trec-judgements": JUDGEMENTS,
    "nuggetizer-nuggets": json.dumps({key: ASSIGNMENT[key] for key in ("query", "qid", "nuggets")}),
    "nuggetizer-assignments": json.dumps(ASSIGNMENT),
    "rag-answers": json.dumps(ANSWER),
    "nugget-bank": json.dumps(BANK),
    "rubrics": json.dumps({"sample_id": "q", "prompt": "why?", "rubrics": [{"criterion": "so", "weight": -2}]}),
    "label-studio": json.dumps([TASK]),
    "argilla": json.dumps([RECORD]),
    "promptfoo": json.dumps({"results": {"results": [RESULT]}}),
    "inspect": json.dumps(LOG),
    "nugget-rows": "question,nugget,text,importance\nwhy?,a,It is so.,okay\nwhy?,a,so it is,\n",
    "qa": ROWS,
}


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def objects(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# --- the public files


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "name"),
    [
        ("rag-answers", "answers.gpt4o.jsonl"),
        ("rag-answers", "answers.command-r-plus.jsonl"),
        ("nuggetizer-assignments", "assignments.gpt4o.jsonl"),
        ("nuggetizer-assignments", "assignments.command-r-plus.jsonl"),
        ("nuggetizer-nuggets", "nuggets.jsonl"),
    ],
)
def test_public_files_come_back_object_for_object(tmp_path, format_, name):
    """Garbled ones too, through a collection on disk."""
    source = shared("autonuggetizer") / name
    (done,) = convert_into(format_, [source], tmp_path / "c", as_truth=format_ == "nuggetizer-assignments")
    run = next(iter(read_bundle(tmp_path / "c").responses), None)
    assert convert_out(format_, tmp_path / "c", tmp_path / "out.jsonl", run) == 100
    assert objects(tmp_path / "out.jsonl") == objects(source)
    garbled = {"nuggets.jsonl": 14, "assignments.gpt4o.jsonl": 21, "assignments.command-r-plus.jsonl": 18}
    assert done.counts["garbled"] == len(done.problems) == garbled.get(name, 0)


@pytest.mark.slow
def test_public_assignments_score_as_their_metrics_files_say(tmp_path):
    """All 200 rows to 1e-9, both runs in one collection, without a guess."""
    folder = shared("autonuggetizer")
    names = ["gpt4o", "command-r-plus"]
    files = [folder / f"assignments.{n}.jsonl" for n in names]
    convert_into("nuggetizer-assignments", files, tmp_path / "c", as_truth=True)
    collection = read_collection(tmp_path / "c")
    measures = [f"{strict}{kind}_score" for strict in ("strict_", "") for kind in ("vital", "weighted", "all")]
    rows = 0
    for name in names:
        run = objects(folder / f"assignments.{name}.jsonl")[0]["run_id"]
        scored = score(collection, [run], measures)[run]
        assert scored.outcome.pairs_guessed == 0
        place = collection.key.position
        for row in objects(folder / f"metrics.{name}.jsonl"):
            rows += 1
            for measure in measures:
                assert scored.by_question[measure][place[row["qid"]]] == pytest.approx(row[measure], abs=1e-9)
    assert rows == 200


def test_what_was_taken_back_or_a_machine_said_is_not_written_and_converting_again_does_not_bring_it_back(tmp_path):
    source = tmp_path / "a.jsonl"
    source.write_text(json.dumps(ASSIGNMENT) + "\n")
    convert_into("nuggetizer-assignments", [source], tmp_path / "c", as_truth=True)
    first, *others = read_collection(tmp_path / "c").judgements
    ledger = Ledger(tmp_path / "c", "autonuggetizer")
    ledger.retract(first)
    Ledger(tmp_path / "c", "gpt").append(replace(first, verdict=not first.verdict, assessor=None, machine=True))
    before = sorted((path, path.read_bytes()) for path in (tmp_path / "c").rglob("*.jsonl"))
    convert_into("nuggetizer-assignments", [source], tmp_path / "c")
    assert sorted((path, path.read_bytes()) for path in (tmp_path / "c").rglob("*.jsonl")) == before
    assert list(read_collection(tmp_path / "c").judgements) == others
    convert_out("nuggetizer-assignments", tmp_path / "c", tmp_path / "out.jsonl", first.run)
    (line,) = objects(tmp_path / "out.jsonl")
    assert [nugget["assignment"] for nugget in line["nuggets"]] == [
        "not_assigned",
        *(nugget["assignment"] for nugget in ASSIGNMENT["nuggets"][1:]),
    ]


def test_the_nuggets_file_adds_nothing_to_its_assignments(tmp_path):
    folder = shared("autonuggetizer")
    convert_into("nuggetizer-assignments", [folder / "assignments.gpt4o.jsonl"], tmp_path / "c")
    before = snapshot(tmp_path / "c")
    (done,) = convert_into("nuggetizer-nuggets", [folder / "nuggets.jsonl"], tmp_path / "c")
    assert [path.parent.name for path in done.written] == ["garbled"]
    assert before.items() <= snapshot(tmp_path / "c").items()


# --- what is there stays


@pytest.mark.parametrize("format_", EXAMPLES)
def test_converting_a_file_twice_does_nothing_the_second_time(tmp_path, format_):
    source = put(tmp_path / "file.txt", EXAMPLES[format_])
    (first,) = convert_into(format_, [source], tmp_path / "c")
    before = snapshot(tmp_path / "c")
    (again,) = convert_into(format_, [source], tmp_path / "c")
    assert snapshot(tmp_path / "c") == before
    assert again.written == ()
    assert again.problems == first.problems
    assert FORMATS[format_].dataset or again.counts == first.counts  # those look up what the collection has


@pytest.mark.slow
@pytest.mark.parametrize("format_", EXAMPLES)
def test_a_collection_that_is_there_is_only_added_to(tmp_path, format_):
    """Its files stay byte for byte, or get lines after those they had, even after a torn last line end."""
    shutil.copytree(sample_folder(), tmp_path / "c")
    put(tmp_path / "c" / "notes" / "questions.new", "mine")
    put(tmp_path / "c" / "nuggets.jsonl", (tmp_path / "c" / "nuggets.jsonl").read_bytes().rstrip())
    before, was = snapshot(tmp_path / "c"), read_bundle(tmp_path / "c")
    (done,) = convert_into(format_, [put(tmp_path / "file.txt", EXAMPLES[format_])], tmp_path / "c")
    after, now = snapshot(tmp_path / "c"), read_bundle(tmp_path / "c")
    written = {str(path.relative_to(tmp_path / "c")) for path in done.written}
    assert written == {name for name in after if after[name] != before.get(name)}
    assert all(after[name].startswith(content) for name, content in before.items())
    assert was.nuggets == now.nuggets[: len(was.nuggets)]
    assert was.questions.items() <= now.questions.items()
    assert was.responses.items() <= now.responses.items()
    assert all(judgement in now.judgements for judgement in was.judgements)


OTHER = {**ASSIGNMENT, "answer_text": "not so"}
CLASHES = [
    ("trec-key", KEY, KEY.replace("Who?", "What?"), "the question '1'"),
    ("trec-key", KEY, KEY.replace("vital a", "okay a"), "the nugget"),
    ("trec-key", KEY, KEY.replace("vital a", "vital A"), "the nugget"),
    ("trec-run", RUN, RUN.replace("more", "less"), "the run 'r'"),
    ("trec-run", RUN, RUN + "2 r NYT1 1 new\n", "the run 'r'"),
    ("trec-judgements", JUDGEMENTS, JUDGEMENTS.replace("1,2", "1"), None),
    ("trec-judgements", JUDGEMENTS, JUDGEMENTS.replace("1,2", "1,3"), "already exists"),
    ("nuggetizer-assignments", json.dumps(ASSIGNMENT), json.dumps(OTHER), "the run 'a'"),
]


@pytest.mark.parametrize(("format_", "content", "other", "what"), CLASHES)
def test_a_file_that_says_something_else_is_refused_whole(tmp_path, format_, content, other, what):
    """Also what it says that is new is not written."""
    convert_into(format_, [put(tmp_path / "file.txt", content)], tmp_path / "c")
    before = snapshot(tmp_path / "c")
    new = "Qid 9: New?\n1 vital new\n" if format_ == "trec-key" else ""
    source = put(tmp_path / "file.txt", other + new)
    if what:
        with pytest.raises(NuggeteerError, match=f"nothing was written.*{what}"):
            convert_into(format_, [source], tmp_path / "c")
    else:  # fewer verdicts than are there: no new one, and none is lost
        convert_into(format_, [source], tmp_path / "c")
    assert snapshot(tmp_path / "c") == before


def test_if_one_of_several_files_cannot_be_taken_none_is(tmp_path):
    good = put(tmp_path / "a.txt", RUN)
    for bad in (RUN.replace("more", "less"), ""):
        with pytest.raises(NuggeteerError):
            convert_into("trec-run", [good, put(tmp_path / "b.txt", bad)], tmp_path / "c")
    with pytest.raises(NuggeteerError):
        convert_into("trec-run", [good, tmp_path / "absent.txt"], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_two_files_of_one_name_do_not_write_over_each_other(tmp_path):
    """Garbled lines of both are kept; verdicts of two files would be mixed up, and are refused."""
    first, second = (put(tmp_path / one / "x.txt", f"{one}\nq 1 okay a\n") for one in ("one", "two"))
    convert_into("trec-key", [first], tmp_path / "c")
    convert_into("trec-key", [second], tmp_path / "c")
    assert (tmp_path / "c" / "garbled" / "trec-key-x.txt").read_text() == "one\ntwo\n"
    both = [put(tmp_path / f / "j.txt", JUDGEMENTS.replace(" j ", f" {f} ")) for f in "ab"]
    with pytest.raises(NuggeteerError, match="already exists"):
        convert_into("trec-judgements", both, tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_a_mended_file_can_be_converted_again(tmp_path):
    """What was kept aside the first time stays there; the line that was mended is added."""
    source = put(tmp_path / "key.txt", "Qid 1: Who?\n1 vital a\n2 vtal b\nnothing\n")
    convert_into("trec-key", [source], tmp_path / "c")
    put(source, "Qid 1: Who?\n1 vital a\n2 vital b\nnothing\n")
    (done,) = convert_into("trec-key", [source], tmp_path / "c")
    assert [path.name for path in done.written] == ["nuggets.jsonl"]
    assert [n.nugget for n in read_bundle(tmp_path / "c").nuggets] == ["1", "2"]
    assert (tmp_path / "c" / "garbled" / "trec-key-key.txt").read_text() == "2 vtal b\nnothing\n"


def test_what_says_less_than_what_is_there_does_not_clash(tmp_path):
    """A key that only names its questions, a run whose manifest line was filled in by hand, and a
    question whose kind we would have guessed otherwise."""
    write_lines(tmp_path / "c" / "questions.jsonl", [{"qid": "1", "text": "Who?", "kind": "other"}])
    write_lines(tmp_path / "c" / "runs.jsonl", [{"run": "r", "group": "g", "judged": "every"}])
    nugget = {"qid": "1", "nugget": "1", "text": "a", "importance": "vital", "tags": ["t"]}
    write_lines(tmp_path / "c" / "nuggets.jsonl", [nugget])
    before = snapshot(tmp_path / "c")
    convert_into("trec-key", [put(tmp_path / "k.txt", "1 1 vital a\n")], tmp_path / "c")
    convert_into("trec-run", [put(tmp_path / "r.txt", "1 r NIL 1 x\n")], tmp_path / "c")
    line = {"query": "Who?", "qid": "1", "nuggets": [{"text": "a", "importance": "vital"}]}
    convert_into("nuggetizer-nuggets", [put(tmp_path / "n.jsonl", json.dumps(line))], tmp_path / "c")
    after = snapshot(tmp_path / "c")
    assert set(after) - set(before) == {"runs/r.jsonl"}
    assert before.items() <= after.items()


def test_a_broken_collection_is_not_added_to(tmp_path):
    put(tmp_path / "c" / "nuggets.jsonl", "{broken\n")
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=r"nuggets\.jsonl:1"):
        convert_into("trec-key", [put(tmp_path / "key.txt", KEY)], tmp_path / "c")
    assert before.items() <= snapshot(tmp_path).items()
    assert not (tmp_path / "c" / "questions.jsonl").exists()


def test_a_line_that_is_no_json_is_an_error_with_its_place_and_nothing_is_written(tmp_path):
    source = put(tmp_path / "a.jsonl", json.dumps(ANSWER) + "\n{broken\n")
    with pytest.raises(InputError, match=r"a\.jsonl:2"):
        convert_into("rag-answers", [source], tmp_path / "c")
    assert not (tmp_path / "c").exists()


# --- what was not understood


@pytest.mark.parametrize(
    ("format_", "content", "why"),
    [
        ("trec-key", "no\nnugget\n", "line 1: neither a nugget"),
        ("promptfoo", json.dumps({"results": {"results": [{"vars": 1}]}}), "object 1: no vars or no provider"),
        ("qa", "question,answer\n", None),
    ],
)
def test_a_file_in_which_nothing_is_understood_is_refused_and_nothing_is_written(tmp_path, format_, content, why):
    """It made a folder with nothing but garbled lines, which looked like a collection."""
    what = re.escape(f"nothing in it was understood ({why}") if why else "nothing was found in it"
    good = put(tmp_path / "good", EXAMPLES[format_])
    with pytest.raises(NuggeteerError, match=f"/bad: {what}.*; check that it is in the format {format_}"):
        convert_into(format_, [good, put(tmp_path / "bad", content)], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_garbled_lines_are_kept_byte_for_byte_counted_and_reported(tmp_path):
    garbled = [b"no \xff nugget \x00 at\rall", b"7 vtal \xe2\x80\xa8 x"]
    source = put(tmp_path / "key.txt", b"q 1 okay a\n" + b"\r\n".join(garbled) + b"\r\n")
    (done,) = convert_into("trec-key", [source], tmp_path / "c")
    kept = tmp_path / "c" / "garbled" / "trec-key-key.txt"
    assert kept.read_bytes() == b"".join(raw + b"\n" for raw in garbled)
    assert kept in done.written
    assert done.counts["garbled"] == 2
    told = [(p.file, p.line) for p in done.problems if "kept aside" in p.remedy]
    assert told == [(str(source), 2), (str(source), 3)]
    before = snapshot(tmp_path / "c")
    convert_into("trec-key", [source], tmp_path / "c")
    assert snapshot(tmp_path / "c") == before


# --- hostile names

HOSTILE = [
    "../x",
    "..",
    ".",
    "a/b",
    "/tmp/x",
    "..\\x",
    ".hidden",
    "a\0b",
    "",
    " ",
    "a\nb",
    "x" * 300,
    "é" * 150,
    "\u202egnp",
    "\ud7ff\u0600",
]


def try_run(run: str, format_: str) -> None:
    """Convert a run of that name: it lies in `runs` under its name, or nothing lies anywhere."""
    with TemporaryDirectory() as name:
        around = Path(name)
        if format_ == "trec-run":
            source = put(around / "file", f"q {run} NIL 1 text\n")
        elif format_ == "rag-answers":
            source = put(around / "file", orjson.dumps({**ANSWER, "run_id": run}))
        else:
            source = put(around / "file", orjson.dumps({**ASSIGNMENT, "run_id": run}))
        folder = around / "in" / "c"
        before = snapshot(around)
        try:
            convert_into(format_, [source], folder)
        except NuggeteerError:
            assert snapshot(around) == before
            return
        outside = {k: v for k, v in snapshot(around).items() if not k.startswith("in/c/")}
        assert outside == before
        bundle = read_bundle(folder)
        assert [str(p.relative_to(folder)) for p in folder.glob("runs/*")] == [
            f"runs/{run}.jsonl" for run in bundle.responses
        ]
        assert set(bundle.responses) == set(bundle.runs)
        assert bundle.responses or list(folder.glob("garbled/*"))


@pytest.mark.parametrize("format_", ["trec-run", "rag-answers", "nuggetizer-assignments"])
@pytest.mark.parametrize("run", HOSTILE)
def test_a_hostile_run_id_writes_no_file_but_in_the_folder(run, format_):
    try_run(run, format_)


@settings(max_examples=60)
@given(
    st.text(st.sampled_from("./\\\0 ~a\n:*\u00ad\u2028é"), max_size=6),
    st.sampled_from(["trec-run", "rag-answers", "nuggetizer-assignments"]),
)
def test_any_run_id_is_a_file_in_runs_or_refused(run, format_):
    try_run(run, format_)


@pytest.mark.parametrize("run", ["../x", "a/b", "a\\b", ".hidden", "x" * 300])
def test_a_run_id_that_no_file_can_have_is_named_when_refused(tmp_path, run):
    source = put(tmp_path / "file", f"q {run} NIL 1 text\n")
    with pytest.raises(NuggeteerError, match="cannot be a file name"):
        convert_into("trec-run", [source], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_source_whose_name_is_too_long_is_refused_before_anything_is_written(tmp_path):
    source = put(tmp_path / ("x" * 250), JUDGEMENTS)
    with pytest.raises(NuggeteerError, match="cannot be a file name"):
        convert_into("trec-judgements", [source], tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_a_line_that_could_not_be_read_again_is_not_written(tmp_path):
    """Quotes double in JSON; past the longest line, the collection would be unreadable."""
    source = put(tmp_path / "file", "q r NIL 1 " + '"' * 6_000_000)
    with pytest.raises(NuggeteerError, match="cannot hold"):
        convert_into("trec-run", [source], tmp_path / "c")
    assert not (tmp_path / "c").exists()


# --- any bytes

tokens = st.sampled_from(b"Qid 1:|1|vital|r|NYT1|-|x|\xff|#|\t|\n".split(b"|"))
trec = st.lists(tokens, max_size=25).map(b" ".join)
scalars = st.none() | st.integers(-1, 3) | st.sampled_from(["q", "r", "", "../x", "vital", "support"])
KEYS = ["text", "importance", "assignment", "weight", "votes", "docid", "rank", "references", "citations"]
KEYS += ["sentence", "metadata", "as_found", "query", "topic", "narrative_id"]
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
one = st.fixed_dictionaries({"text": st.sampled_from("xy")}, optional=dict.fromkeys(KEYS[1:], values))
usable = st.fixed_dictionaries(
    {
        **dict.fromkeys(["qid", "topic_id"], st.sampled_from(["q", "p", 1])),
        "run_id": st.sampled_from(["r", "s", "r", "s", "a/b"]),
        "answer_text": st.sampled_from("xy"),
        **dict.fromkeys(["nuggets", "answer"], st.lists(one, max_size=2)),
    },
    optional=dict.fromkeys(KEYS, values),
)
rag = st.lists((usable | values).map(orjson.dumps), max_size=4).map(b"\n".join)
BOTH = {"qid": "q", "topic_id": "q", "run_id": "r", "answer_text": "x", "nuggets": []}
TWO_ANSWERS = b"\n".join(orjson.dumps(BOTH | {"answer": answer}) for answer in ([], [{"text": "x"}]))


@pytest.mark.slow
@settings(max_examples=120)
@given(st.sampled_from(list(FORMATS)), st.binary(max_size=40) | trec | rag)
@example("label-studio", TWO_ANSWERS)
def test_any_bytes_are_refused_whole_or_make_a_folder_that_can_be_read(format_, content):
    """And converting them again changes nothing."""
    with TemporaryDirectory() as name:
        source, folder = put(Path(name) / "file", content), Path(name) / "c"
        try:
            convert_into(format_, [source], folder)
        except NuggeteerError:
            assert not folder.exists()
            return
        before = snapshot(folder)
        read_bundle(folder)
        convert_into(format_, [source], folder)
        assert snapshot(folder) == before


@pytest.mark.slow
@settings(max_examples=60)
@given(rag, st.sampled_from(["rag-answers", "nuggetizer-assignments"]))
def test_nothing_is_lost_on_the_way_in_and_out_and_in_again(content, format_):
    """But for the wording of a question whose lines do not agree on it: the question has the first one."""
    with TemporaryDirectory() as name:
        folder, again = Path(name) / "c", Path(name) / "again"
        try:
            convert_into(format_, [put(Path(name) / "file", content)], folder)
        except NuggeteerError:
            return
        made = read_bundle(folder)
        files = [Path(name) / f"{i}.jsonl" for i in range(len(made.responses))]
        for run, file in zip(made.responses, files, strict=True):
            convert_out(format_, folder, file, run)
        if files:
            convert_into(format_, files, again)
            remade = read_bundle(again)
            assert without_wording(remade.responses) == without_wording(made.responses)
            assert remade.questions == made.questions
            assert all(judgement in remade.judgements for judgement in made.judgements)


def without_wording(responses):
    return {
        run: [
            (one.qid, one.text, one.docid, one.rank, {**one.extra, "as_found": as_found})
            for one in of_run
            for as_found in [{k: v for k, v in one.extra.get("as_found", {}).items() if k != "query"}]
        ]
        for run, of_run in responses.items()
    }


# --- out


READ_ONLY = [name for name, format_ in FORMATS.items() if not (format_.of_run or format_.of_key)]


@pytest.mark.parametrize("format_", [name for name, format_ in FORMATS.items() if format_.of_run])
def test_every_format_of_a_run_can_be_written_from_the_sample_and_read_again(tmp_path, format_):
    """With all its texts and, where there are any, its yes verdicts."""
    convert_out(format_, sample_folder(), tmp_path / "out", "aurora")
    convert_into(format_, [tmp_path / "out"], tmp_path / "c")
    sample, again = read_bundle(sample_folder()), read_bundle(tmp_path / "c")
    words = [
        sorted((qid, " ".join(" ".join(r.text for r in responses if r.qid == qid).split())) for qid in sample.questions)
        for responses in (sample.responses["aurora"], again.responses["aurora"])
    ]
    assert words[0] == words[1]
    if again.judgements:
        yes = [
            {(j.qid, j.nugget) for j in bundle.judgements if j.verdict and j.run == "aurora"}
            for bundle in (sample, again)
        ]
        assert yes[0] == yes[1] != set()


@pytest.mark.parametrize("format_", [name for name, format_ in FORMATS.items() if format_.of_key])
def test_every_format_of_a_key_can_be_written_from_the_sample_and_read_again(tmp_path, format_):
    convert_out(format_, sample_folder(), tmp_path / "out")
    convert_into(format_, [tmp_path / "out"], tmp_path / "c")
    sample, again = read_bundle(sample_folder()), read_bundle(tmp_path / "c")
    assert {q.qid: q.text for q in again.questions.values()} == {q.qid: q.text for q in sample.questions.values()}
    assert [(n.qid, n.importance, n.descriptions) for n in again.nuggets] == [
        (n.qid, n.importance, n.descriptions if FORMATS[format_].rows else (" / ".join(n.descriptions),))
        for n in sample.nuggets
    ]


@pytest.mark.parametrize(
    "name", ["nuggets.jsonl", "questions.jsonl", "runs.jsonl", "runs/x.jsonl", "judgements/x.jsonl"]
)
def test_a_collections_own_files_are_not_written_over(tmp_path, name):
    shutil.copytree(sample_folder(), tmp_path / "c")
    before = snapshot(tmp_path / "c")
    with pytest.raises(NuggeteerError, match="reserved for the collection's own files"):
        convert_out("nuggetizer-nuggets", tmp_path / "c", tmp_path / "c" / "runs" / ".." / name)
    assert snapshot(tmp_path / "c") == before


@pytest.mark.parametrize(
    ("format_", "run", "what"),
    [
        ("trec-run", None, "aurora"),
        ("trec-run", "nobody", "aurora"),
        ("csv", None, "there is no format 'csv'"),
        *((one, "aurora", "can be read, not written; those that can be: trec-key, .*qa$") for one in READ_ONLY),
    ],
)
def test_what_cannot_be_written_is_said_with_what_can(tmp_path, format_, run, what):
    with pytest.raises(NuggeteerError, match=what):
        convert_out(format_, sample_folder(), tmp_path / "out", run)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("format_", ["trec-key", "nuggetizer-nuggets"])
def test_a_folder_without_a_key_is_not_written_as_an_empty_one(tmp_path, format_):
    with pytest.raises(NuggeteerError, match="nothing to write"):
        convert_out(format_, tmp_path / "absent", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_columns_are_refused_where_there_are_none(tmp_path):
    with pytest.raises(NuggeteerError, match="no columns"):
        convert_into("rag-answers", [put(tmp_path / "a", json.dumps(ANSWER))], tmp_path / "c", ["qid", "text"])


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n"])
def test_a_file_with_nothing_in_it_is_refused(tmp_path, content):
    with pytest.raises(NuggeteerError, match="nothing was found in it; check that it is in the format trec-run"):
        convert_into("trec-run", [put(tmp_path / "a", content)], tmp_path / "c")
    assert not (tmp_path / "c").exists()


ASSIGNMENT = {
    "query": "What?",
    "qid": "q1",
    "answer_text": "Paris is big. It is old.",
    "run_id": "r",
    "nuggets": [{"text": "big", "importance": "vital", "assignment": "support"}],
}


def test_a_new_collection_of_whole_answers_cuts_them_and_its_verdicts_are_on_answers(tmp_path):
    write_lines(tmp_path / "a.jsonl", [ASSIGNMENT])
    convert_into("nuggetizer-assignments", [tmp_path / "a.jsonl"], tmp_path / "c")
    collection = read_collection(tmp_path / "c")
    assert collection.settings.answers.split == "sentences"
    assert collection.run("r").texts == ["Paris is big.", "It is old."]
    assert [(j.scope, j.text) for j in collection.machine] == [("answer", ASSIGNMENT["answer_text"])]
    before = {path: path.read_bytes() for path in (tmp_path / "c").rglob("*.*") if path.is_file()}
    convert_into("nuggetizer-assignments", [tmp_path / "a.jsonl"], tmp_path / "c")
    assert {path: path.read_bytes() for path in before} == before


def test_a_collection_that_is_there_keeps_its_settings(tmp_path):
    write_lines(tmp_path / "a.jsonl", [ASSIGNMENT])
    write_lines(tmp_path / "c" / "runs" / "other.jsonl", [{"qid": "q1", "text": "Rome."}])
    convert_into("nuggetizer-assignments", [tmp_path / "a.jsonl"], tmp_path / "c")
    collection = read_collection(tmp_path / "c")
    assert collection.settings.answers.split == "none"
    assert [j.scope for j in collection.machine] == ["response"]


# --- a machine's verdicts, and whether they are the standard


def test_verdicts_of_a_machine_are_known_only_as_the_standard_which_may_be_said_later(tmp_path):
    source = put(tmp_path / "a.jsonl", json.dumps(ASSIGNMENT))
    (done,) = convert_into("nuggetizer-assignments", [source], tmp_path / "c")
    collection = read_collection(tmp_path / "c")
    assert (collection.judgements, len(collection.machine), done.as_truth) == ((), 1, False)
    assert score(collection, ["r"])["r"].outcome.pairs_known == 0
    (done,) = convert_into("nuggetizer-assignments", [source], tmp_path / "c", as_truth=True)
    assert (done.machine, done.as_truth) == (True, True)
    collection = read_collection(tmp_path / "c")
    assert (len(collection.judgements), collection.machine) == (1, ())
    assert collection.settings.answers.split == "sentences"  # what was there stays
    assert score(collection, ["r"])["r"].outcome.pairs_guessed == 0


def test_a_section_of_judgements_is_its_owners(tmp_path):
    source = put(tmp_path / "a.jsonl", json.dumps(ASSIGNMENT))
    own = b'[judgements]\nas_truth = ["gpt"]  # mine'
    put(tmp_path / "c" / "nuggeteer.toml", own)
    with pytest.raises(InputError, match=r'write in it: as_truth = \["gpt", "autonuggetizer"\]'):
        convert_into("nuggetizer-assignments", [source], tmp_path / "c", as_truth=True)
    assert snapshot(tmp_path / "c") == {"nuggeteer.toml": own}
    convert_into("nuggetizer-assignments", [source], tmp_path / "c")
    assert any(
        "no verdict of a machine is by that assessor" in p.what for p in read_collection(tmp_path / "c").problems
    )


def test_only_verdicts_of_machines_can_be_made_the_standard(tmp_path):
    with pytest.raises(NuggeteerError, match="leave out --as-truth"):
        convert_into("trec-judgements", [put(tmp_path / "j", JUDGEMENTS)], tmp_path / "c", as_truth=True)


@pytest.fixture
def truthful(tmp_path):
    """A collection with two runs whose verdicts a machine gave."""
    lines = [ASSIGNMENT, {**ASSIGNMENT, "run_id": "s", "answer_text": "Paris is old."}]
    lines[1]["nuggets"] = [{**ASSIGNMENT["nuggets"][0], "assignment": "not_support"}]
    write_lines(tmp_path / "a.jsonl", lines)
    convert_into("nuggetizer-assignments", [tmp_path / "a.jsonl"], tmp_path / "c", as_truth=True)
    return tmp_path / "c"


@pytest.mark.parametrize(
    "command", [["score"], ["diff", "r", "s"], ["compare"], ["crossval"], ["nightly", "r"], ["report", "r"]]
)
def test_every_report_names_the_machine_that_is_the_standard(truthful, capsys, tmp_path, command):
    page = tmp_path / "page.html"
    more = ["--output", str(page)] if command[0] == "report" else []
    assert main([*command, *more, "--collection", str(truthful), "--json", str(tmp_path / "out.json")]) == 0
    text = page.read_text(encoding="utf-8") if more else capsys.readouterr().out
    assert "autonuggetizer" in text.replace("truth:autonuggetizer", "")
    data = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    data = data["scores"] if command[0] == "report" else data
    assert data["as_truth"] == ["autonuggetizer"]
    assert "|truth:autonuggetizer|" in data.get("signature", "|truth:autonuggetizer|") + "|"


TAGGED = """\
q1 lcc05a D1 1 Fermi built it.
q1 lcc05b D1 - He built it.
q1 uams05l D2 - Who knows.
q1 solo D2 - Not me.
"""


def test_runs_of_one_institution_are_left_out_together(tmp_path):
    """Nuggeteer 4.1: by their tags, or by a column. Without it `check` says that they train each other."""
    (tmp_path / "j").write_text(TAGGED)
    (tmp_path / "key").write_text("q1 1 vital built it\n")
    convert_into("trec-key", [tmp_path / "key"], tmp_path / "c", ("qid", "nugget", "importance", "text"))
    convert_into("trec-judgements", [tmp_path / "j"], tmp_path / "c")
    said = [problem.what for problem in check(tmp_path / "c")]
    assert [what for what in said if "lcc" in what] == [
        "lcc05a, lcc05b look like runs of one institution, and each is guessed from the verdicts on the others"
    ]
    convert_into("trec-judgements", [tmp_path / "j"], tmp_path / "d", by_institution=True)
    convert_into("trec-key", [tmp_path / "key"], tmp_path / "d", ("qid", "nugget", "importance", "text"))
    found = read_collection(tmp_path / "d")
    assert [found.group(run) for run in ("lcc05a", "lcc05b", "uams05l", "solo")] == ["lcc", "lcc", "uams", "solo"]
    assert not [problem for problem in check(tmp_path / "d") if "lcc" in problem.what]
    left = without(found, "lcc")
    assert {run: left.manifest[run].judged for run in ("lcc05a", "lcc05b", "solo")} == {
        **{"lcc05a": "none", "lcc05b": "none"},
        "solo": "best",
    }


def test_a_column_names_the_institutions(tmp_path):
    lines = (f"{line[:2]} {where} {line[3:]}" for line, where in zip(TAGGED.splitlines(), "aabc", strict=True))
    (tmp_path / "j").write_text("\n".join(lines))
    columns = ("qid", "group", "run", "docid", "nuggets", "text")
    convert_into("trec-judgements", [tmp_path / "j"], tmp_path / "c", columns, by_institution=True)
    manifest = [json.loads(line) for line in (tmp_path / "c" / "runs.jsonl").read_text().splitlines()]
    assert {info["run"]: info.get("group") for info in manifest} == {
        **{"lcc05a": "a", "lcc05b": "a"},
        **{"uams05l": "b", "solo": "c"},
    }


@pytest.mark.parametrize(
    ("tags", "name"),
    [
        (["MIT2006a", "MIT2006b"], "mit"),
        (["nyu_05_1", "nyu_05_2"], "nyu"),
        (["05lcca", "05lccb"], "lcc"),
        (["2006-uams1", "2006-uams2"], "uams"),
        (["csail1999x", "CSAIL99y"], "csail"),
    ],
)
def test_tags_of_an_institution_are_known_in_several_forms(tags, name):
    (problem,) = alike_tags(Path("runs.jsonl"), {tag: RunInfo(tag) for tag in tags})
    assert problem.what.startswith(f"{tags[0]}, {tags[1]} look like runs of one institution")
    assert f'"group": "{name}"' in problem.remedy
    assert {institution_of(tag) for tag in tags} == {name}


@pytest.mark.parametrize("tag", ["solo", "x05a", "build-a", "2024", "05", "2024-run-a", "05x"])
def test_other_tags_name_none(tag):
    assert institution_of(tag) is None


@pytest.mark.parametrize(
    "tags",
    [["run01", "run02"], ["gpt4", "gpt5"], ["x05a", "x05b"], ["lcc2005a", "lcc2006a"], ["build-101", "build-102"]],
)
def test_tags_of_other_kinds_are_not_taken_for_an_institution_s(tags):
    assert list(alike_tags(Path("runs.jsonl"), {tag: RunInfo(tag) for tag in tags})) == []


def test_a_second_answer_of_a_system_is_in_its_group_already():
    """A listed run without a group is a group of its own."""
    manifest = {"gpt35": RunInfo("gpt35"), "gpt35-2": RunInfo("gpt35-2", group="gpt35")}
    assert list(alike_tags(Path("runs.jsonl"), manifest)) == []


def test_only_trecs_runs_have_tags(tmp_path, capsys):
    (tmp_path / "x.csv").write_text(EXAMPLES["qa"])
    words = ["convert", "qa", str(tmp_path / "x.csv"), "--into", str(tmp_path / "c"), "--by-institution"]
    assert main(words) == 2
    assert "have no tags of TREC" in " ".join(capsys.readouterr().err.split())
