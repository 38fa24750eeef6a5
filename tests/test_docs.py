"""What the documents say, done."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from nuggeteer.cli.main import COMMANDS, main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.foreign import FORMATS
from nuggeteer.collection.sample import copy_sample
from nuggeteer.scoring.scorer import score
from tests import excerpts
from tests.conftest import ROOT


def blocks(document: str | Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_the_page_on_python_runs_as_it_stands(tmp_path, monkeypatch, capsys):
    """Its blocks one after the other."""
    pytest.importorskip("pandas")
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    code = blocks("docs/reference/python.md", "python")
    for block in code:
        exec(compile(block, "docs/reference/python.md", "exec"), names)
    out = capsys.readouterr().out
    assert "build-102  F(3) = " in out
    assert "is guessed to be there" in out
    assert (tmp_path / "difference.png").stat().st_size > 10_000


def test_the_readme_shows_what_the_demo_prints():
    """Line by line."""
    golden = (ROOT / "tests" / "golden" / "demo.txt").read_text(encoding="utf-8")
    shown = next(block for block in blocks("README.md", "") if "The true change in" in block)
    assert len(shown.splitlines()) >= 7
    excerpts.check(ROOT / "README.md", shown, [line.rstrip() for line in golden.splitlines()])


def transcripts() -> list[tuple[str, str]]:
    """Every block of the documentation that begins with `$ nuggeteer`: a command on the sample, and its output."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    return [
        (str(p.relative_to(ROOT)), block) for p in pages for block in blocks(p, "") if block.startswith("$ nuggeteer ")
    ]


def test_some_page_shows_a_command_with_its_output():
    """Otherwise the next test would have nothing to check."""
    assert transcripts()


@pytest.mark.slow
@pytest.mark.parametrize(("page", "transcript"), transcripts())
def test_commands_print_what_the_pages_show(page, transcript, tmp_path, monkeypatch, capsys):
    """From the first line on, as far as it is shown."""
    monkeypatch.setenv("COLUMNS", "80")
    copy_sample(tmp_path / "nuggeteer-demo")
    monkeypatch.chdir(tmp_path)
    command, *shown = transcript.splitlines()
    assert main(shlex.split(command)[2:]) == 0
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    excerpts.check(ROOT / page, "".join(f"{line}\n" for line in [command, *shown]), [command, *printed], True)


def test_the_readme_names_commands_that_there_are():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:^\$? *|`)nuggeteer ([a-z]+)\b", text, re.MULTILINE))
    assert set() < named <= set(COMMANDS)


def test_the_true_scores_in_the_readme_are_the_true_scores(sample, tmp_path):
    shutil.copytree(sample.root, tmp_path / "whole", ignore=shutil.ignore_patterns(".nuggeteer"))
    truth = (ROOT / "judgements" / "truth" / "builds.jsonl").read_bytes()
    (tmp_path / "whole" / "judgements" / "truth.jsonl").write_bytes(truth)
    manifest = tmp_path / "whole" / "runs.jsonl"
    manifest.write_text(manifest.read_text().replace('"none"', '"every"'))
    builds = ["build-101", "build-102", "build-103"]
    result = score(read_collection(tmp_path / "whole"), builds)
    true = "{:.3f}, {:.3f} and {:.3f}".format(*(result[b].measures["f3"].value for b in builds))
    assert true in (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")


def test_the_json_in_the_documents_is_json():
    lines = re.findall(r'^\S+\s+(\{"qid".*\})$', (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        assert json.loads(line)["qid"] == "q1"


def test_the_page_on_files_names_the_module_of_each_format():
    page = (ROOT / "docs/reference/files.md").read_text(encoding="utf-8")
    said = " ".join(page.split("Each is described at the head of its module")[1].split("\n\n")[0].split())
    others = {
        name: module for module, names in re.findall(r"`(\w+)` \((`[^)]*`)\)", said) for name in names.split(", ")
    }
    modules = {name: format_.recognises.__module__.rpartition(".")[2] for name, format_ in FORMATS.items()}
    assert {name: others.get(f"`{name}`", name.replace("-", "_")) for name in FORMATS} == modules


def test_nothing_in_the_project_names_a_machine_or_a_registry():
    """No absolute home or work paths, no package hosts, in any file that git would take."""
    word = re.compile("/" + r"(?:home|work|root|farm)/|pypi\.|files\.pythonhosted")
    for folder in ("nuggeteer", "scripts", "experiments", "judgements"):
        for path in (ROOT / folder).rglob("*"):
            if (
                path.is_file()
                and path.suffix in (".py", ".md", ".jsonl", "", ".json", ".sh")
                and ".nuggeteer" not in path.parts
            ):
                assert not word.search(Path(path).read_text(encoding="utf-8")), path
