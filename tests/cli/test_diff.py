"""`nuggeteer diff`: exit codes, where its outputs go, and that it agrees with the library."""

from __future__ import annotations

import json
import shutil
from xml.etree import ElementTree as xml

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff


@pytest.fixture
def here(copy_of_sample, tmp_path, monkeypatch):
    """The current folder: a copy of the sample."""
    folder = copy_of_sample(tmp_path / "here")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    return folder


@pytest.mark.slow
def test_two_equal_runs_pass_every_gate(here, capsys):
    shutil.copy("runs/build-101.jsonl", "runs/again.jsonl")
    shutil.copy("runs/build-101.jsonl", "../same.jsonl")
    for new in ("again", "../same.jsonl"):
        assert main(["diff", "build-101", new, "--fail-if-worse", "0", "--max-lost-vital", "0"]) == 0
        out = capsys.readouterr().out
        assert out.count("\nPASS: ") == 1
        assert "Lost" not in out
        assert "Gained" not in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ([], 0),
        (["--fail-if-worse", "0.5"], 0),
        (["--max-lost-vital", "0", "--sure", "0.5"], 1),
        (["--max-lost-vital", "0"], 0),  # nothing of it is that sure
        (["--max-lost-vital", "99"], 0),
        (["--max-lost-vital", "0", "--sure", "1"], 0),
        (["--fail-if-worse", "0.5", "--max-lost-vital", "0", "--sure", "0.5"], 1),
    ],
)
def test_the_exit_code_is_the_gates_and_one_line_says_why(here, capsys, gate, code):
    assert main(["diff", "build-102", "build-103", *gate]) == code
    out = capsys.readouterr().out.splitlines()
    said = [line for line in out if line.startswith(("PASS: ", "FAIL: ", "UNDECIDED: "))]
    beyond = [line for line in out if line.startswith("For questions like these, ")]
    assert len(said) == bool(gate)
    assert len(beyond) == ("--fail-if-worse" in gate)
    assert out[len(out) - len(said) - len(beyond) :] == said + beyond
    assert any(line.startswith("FAIL: ") for line in said) == (code == 1)


@pytest.mark.slow
def test_a_build_that_is_worse_for_sure_fails(here, capsys):
    """One that answers nothing."""
    (here / "runs" / "silent.jsonl").write_text("")
    arguments = ["diff", "aurora", "silent", "--fail-if-worse", "0.01", "--allow-empty"]
    assert main(arguments) == 1
    assert "FAIL: F(3) is worse by more than 0.01 on these questions" in capsys.readouterr().out
    assert main([*arguments, "--measures", "recall,f3"]) == 1
    assert "FAIL: recall is worse" in capsys.readouterr().out
    assert main(["diff", "silent", "aurora", "--fail-if-worse", "0", "--allow-empty"]) == 0


@pytest.mark.slow
def test_every_output_is_written_also_when_a_gate_fails(here, capsys):
    outputs = ["--json", "d.json", "--markdown", "d.md", "--junit", "d.xml"]
    assert main(["diff", "build-102", "build-103", "--max-lost-vital", "0", "--sure", "0.5", *outputs]) == 1
    assert "FAIL: " in capsys.readouterr().out
    assert json.loads((here / "d.json").read_text())["decision"] == "FAIL"
    assert "❌" in (here / "d.md").read_text()
    assert xml.parse("d.xml").getroot().get("failures") != "0"
    assert not list(here.glob(".d*"))


@pytest.mark.slow
@pytest.mark.parametrize("output", ["--json", "--markdown"])
def test_standard_output_can_be_one_of_them_and_the_gates_go_to_standard_error(here, capfdbinary, output):
    assert main(["diff", "build-102", "build-103", "--max-lost-vital", "0", "--sure", "0.5", output, "-"]) == 1
    captured = capfdbinary.readouterr()
    if output == "--json":
        assert json.loads(captured.out)["old"] == "build-102"
    else:
        assert captured.out.startswith(b"<h3>")
    said = [line for line in captured.err.splitlines() if not line.startswith(b"warning: ")]
    assert len(said) == 1
    assert said[0].startswith(b"FAIL: ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["build-101"],
        ["build-101", "nobody"],
        ["build-101", "build-102", "--fail-if-worse", "x"],
        ["build-101", "build-102", "--fail-if-worse", "-1"],
        ["build-101", "build-102", "--fail-if-worse", "nan"],
        ["build-101", "build-102", "--fail-if-worse", "inf"],
        ["build-101", "build-102", "--max-lost-vital", "-1"],
        ["build-101", "build-102", "--max-lost-vital", "1", "--sure", "1.5"],
        ["build-101", "build-102", "--sure", "0.5"],
        ["build-101", "build-102", "--p", "0.05"],
        ["build-101", "build-102", "--json", "-", "--markdown", "-"],
        ["build-101", "build-102", "--measures", "nonsense"],
        ["build-101", "build-102", "--junit", "runs"],
        ["build-101", "build-102", "--markdown", "runs.jsonl/x"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_said_with_code_2(here, capsys, arguments):
    before = {path for path in here.rglob("*") if ".nuggeteer" not in path.parts}
    assert main(["diff", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.err
    assert "Traceback" not in captured.err
    assert {path for path in here.rglob("*") if ".nuggeteer" not in path.parts} == before


@pytest.mark.slow
def test_the_command_line_and_the_library_agree(here, capsys):
    assert main(["diff", "build-101", "build-102", "--seed", "3", "--measures", "f1", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    result = diff(read_collection(here), "build-101", "build-102", ["f1"], seed=3)
    assert data["delta"]["f1"]["value"] == result.headline.interval.value
    assert [c["nugget"] for c in data["lost"]] == [c.nugget.nugget for c in result.lost]
    assert data["signature"] == result.signature


@pytest.mark.slow
def test_a_run_file_of_a_hostile_name_is_shown_harmless_everywhere(here, capfdbinary):
    name = "[bold]:smile: \x1b]0;owned\x07\u202e<script>@someone\udcff.jsonl"
    shutil.copy("runs/build-102.jsonl", name)
    outputs = ["--json", "d.json", "--markdown", "d.md", "--junit", "d.xml"]
    assert main(["diff", "build-101", name, "--max-lost-vital", "0", "--sure", "0.5", *outputs]) in (0, 1)
    assert main(["diff", "build-101", name, "--markdown", "-"]) == 0
    captured = capfdbinary.readouterr()
    page, cases = ((here / f"d.{kind}").read_bytes() for kind in ("md", "xml"))
    for output in (captured.out, captured.err, page, cases):
        assert all(line.isprintable() for line in output.decode().split("\n"))
    assert b"<script>" not in page + cases
    assert json.loads((here / "d.json").read_bytes())["new"].startswith("[bold]:smile: \x1b]0;")
    assert "&lt;script&gt;@someone\\udcff</code></h3>" in page.decode()
    assert xml.parse("d.xml").find("testsuite/system-out").text.startswith("build-101 -> [bold]:smile: \\x1b]0;")
