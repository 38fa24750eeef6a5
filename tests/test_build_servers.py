"""The page on build servers, done: its workflow, its script and its tests run as they stand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.sample import copy_sample
from nuggeteer.history.store import History
from tests.conftest import ROOT

PAGE = (ROOT / "docs/guides/build-servers.md").read_text(encoding="utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def collection(folder, tonight):
    """A collection with an accepted build and the page's settings, and a system whose answers are those of another."""
    copy_sample(folder)
    runs = folder / "runs"
    (runs / "build-101.jsonl").rename(runs / "accepted.jsonl")
    (folder / "nuggeteer.toml").write_text(block("toml"), encoding="utf-8")
    with (folder / "runs.jsonl").open("a", encoding="utf-8") as manifest:  # the system that the sample's verdicts name
        manifest.writelines(f'{{"run": "{run}", "group": "build"}}\n' for run in ("accepted", "tonight"))
    return f'#!/bin/sh\ntest -s "$1"\nexec cat "{runs / tonight}.jsonl"\n'


def program(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def environment(**more):
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **more}


def shell(script, folder, **more):
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("tonight", "code"), [("accepted", 0), ("build-103", 1)])
def test_the_workflow_runs(tmp_path, tonight, code):
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(block("yaml"))
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads `on` so; GitHub does not
    assert workflow[True]["schedule"] == [{"cron": "17 3 * * *"}]
    steps = workflow["jobs"]["nightly"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    program(tmp_path / "answer", collection(tmp_path / "qa", tonight))
    summary = tmp_path / "summary.md"
    commands = [step["run"] for step in steps if "run" in step and "pip install" not in step["run"]]
    assert len(commands) == 2
    assert shell(commands[0], tmp_path).returncode == 0
    done = shell(commands[1], tmp_path, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == code, done.stderr
    assert summary.read_text(encoding="utf-8").startswith("<h3>")
    kept = next(step for step in steps if "upload" in step.get("uses", ""))["with"]["path"].split()
    for name in kept:
        assert (tmp_path / name).is_file()
    assert json.loads((tmp_path / "nuggets.json").read_text())["decision"] == ("FAIL" if code else "PASS")
    assert (int(xml.parse(tmp_path / "nuggets.xml").getroot().get("failures")) > 0) == (code == 1)


@pytest.mark.slow
def test_the_nightly_script_compares_with_the_night_before(tmp_path):
    folder = tmp_path / "qa"
    answer, nights = collection(folder, "accepted"), []
    for tonight in ("accepted", "accepted", "build-103"):
        program(folder / "answer", answer.replace("accepted", tonight))
        program(folder / "nightly.sh", block("sh"))
        nights.append(shell(str(folder / "nightly.sh"), tmp_path))
    assert [night.returncode for night in nights] == [0, 0, 1], nights
    assert [night.stdout.split()[0] for night in nights] == ["UNDECIDED", "UNDECIDED", "FAIL"]
    assert all(len(night.stdout.splitlines()) <= 15 for night in nights)
    with History.of(folder)._database.read() as db:
        assert db.execute("SELECT count(*) FROM builds").fetchone() == (2,)
    (folder / "nuggets.jsonl").write_text("{")  # an input that is wrong is no failed gate
    assert shell(str(folder / "nightly.sh"), tmp_path).returncode == 2


@pytest.mark.slow
def test_the_tests_of_users_fail_with_a_message_that_lists_the_nuggets(tmp_path):
    collection(tmp_path / "qa", "accepted")
    (tmp_path / "qa" / "runs" / "build-102.jsonl").rename(tmp_path / "qa" / "runs" / "tonight.jsonl")
    (tmp_path / "test_qa.py").write_text(block("python"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, "test_qa.py"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "1 failed, 1 passed" in done.stdout
    shown = re.search(r"AssertionError: (.*?)\n```", PAGE, re.DOTALL)[1].splitlines()
    printed = [line[1:].strip() for line in done.stdout.splitlines() if line.startswith("E ")]
    printed[0] = printed[0].removeprefix("AssertionError: ")
    # But for the probabilities, and what the page leaves out.
    loose = [re.sub(r"\d+ %|\(\d less sure\)", "", line).strip() for line in printed]
    for line in shown:
        start = re.sub(r"\d+ %", "", line.removesuffix("...")).strip()
        assert any(one.startswith(start) for one in loose), line


def test_the_hook_for_pre_commit_fails_where_check_does(sample, tmp_path, monkeypatch):
    (hook,) = pytest.importorskip("yaml").safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert f"- id: {hook['id']}\n        args: [--collection, qa]" in PAGE
    assert all(re.search(hook["files"], name) for name in ("qa/runs/a.jsonl", "qa/runs/a.jsonl.gz", "nuggeteer.toml"))
    shutil.copytree(sample.root, tmp_path / "qa")
    monkeypatch.chdir(tmp_path)
    command = [*hook["entry"].split()[1:], "--collection", "qa"]
    assert main(command) == 0
    with (tmp_path / "qa" / "nuggets.jsonl").open("a", encoding="utf-8") as file:
        file.write("{")
    assert main(command) == 2
