"""The page on build servers, done: its workflow, its script and its tests run as they stand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import copy_sample
from nuggeteer.history.store import History
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.trust.reliability import trust
from tests import excerpts
from tests.conftest import ROOT
from tests.shell import environment, run_script

PAGE = (ROOT / "docs/guides/build-servers.md").read_text(encoding="utf-8")


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


@cache
def remembered():
    """What takes long to find out about the collection with an accepted build."""
    folder = Path(tempfile.mkdtemp()) / "qa"
    collection(folder, "accepted", remember=False)
    trust(Scorer(read_collection(folder)))
    return folder / ".nuggeteer"


def collection(folder, tonight, accepted="build-102", remember=True):
    """A collection with an accepted build and the page's settings, and a system whose answers are those of another."""
    copy_sample(folder)
    if remember and accepted == "build-102":
        shutil.copytree(remembered(), folder / ".nuggeteer")
    runs = folder / "runs"
    (runs / f"{accepted}.jsonl").rename(runs / "accepted.jsonl")
    (folder / "nuggeteer.toml").write_text(block("toml"), encoding="utf-8")
    with (folder / "runs.jsonl").open("a", encoding="utf-8") as manifest:  # the system that the sample's verdicts name
        manifest.writelines(f'{{"run": "{run}", "group": "build"}}\n' for run in ("accepted", "tonight"))
    return f'#!/bin/sh\ntest -s "$1"\nexec cat "{runs / tonight}.jsonl"\n'


def program(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def read_yaml(text):
    return pytest.importorskip("yaml").safe_load(text)


class Job:
    """The steps of our action, run in a job's folder as GitHub runs them: with its variables, and with the outputs of
    the steps before. Steps that use other actions are not run."""

    def __init__(self, folder, temporary, **inputs):
        self.action = read_yaml((ROOT / "action.yml").read_text(encoding="utf-8"))
        described = self.action["inputs"]
        assert set(inputs) <= set(described)
        self.values = {f"inputs.{name}": about.get("default", "") for name, about in described.items()}
        self.values |= {f"inputs.{name}": value for name, value in inputs.items()}
        self.values |= {"github.action_path": str(ROOT), "github.sha": "4f2c1ab", "runner.temp": str(temporary)}
        self.values |= {"github.run_id": "17", "github.run_attempt": "1"}
        self.values["steps.python.outputs.python-path"] = sys.executable
        self.folder, self.temporary, self.summary = folder, temporary, temporary / "summary.md"

    def filled(self, text):
        """The text with the values of its expressions."""
        while "${{" in text:
            text = re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: self.values[found[1]], text)
        return text

    def run(self, step, **more):
        """Run a step, keep its outputs, and return what it did."""
        outputs, script = self.temporary / "outputs", self.temporary / "script.sh"
        outputs.write_text("")
        assert "${{" not in step["run"], "an input would be run"
        script.write_text(step["run"], encoding="utf-8")
        given = {name: self.filled(value) for name, value in step.get("env", {}).items()}
        given |= {"GITHUB_OUTPUT": str(outputs), "GITHUB_STEP_SUMMARY": str(self.summary), **more}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script],
            cwd=self.folder,
            env=environment(RUNNER_TEMP=str(self.temporary), **given),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        for line in outputs.read_text().splitlines():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return done

    def step(self, name):
        """The step with this id, name or action."""
        steps = self.action["runs"]["steps"]
        (found,) = [s for s in steps if name in (s.get("id"), s.get("name"), s.get("uses", "").partition("@")[0])]
        return found


# In place of the package index: pip takes nothing but the action's own folder, which is built with what is here.
OFFLINE = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1"}  # 0: pip's word for "no isolation"


def site():
    """Where the packages of the tests are."""
    return os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))


@pytest.mark.slow
def test_the_workflow_runs_and_the_action_in_it(tmp_path):
    """The steps of the page's workflow, and in the place of ours those of action.yml; on a good night and a bad one,
    for which nothing is installed again."""
    pytest.importorskip("hatchling")
    workflow = read_yaml(block("yaml"))
    assert set(workflow) == {"name", True, "permissions", "jobs"}  # YAML 1.1 reads `on` so; GitHub does not
    assert workflow[True]["schedule"] == [{"cron": "17 3 * * *"}]
    steps = workflow["jobs"]["nightly"]["steps"]
    assert all(("uses" in step) != ("run" in step) for step in steps)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (answer,) = [step["run"] for step in steps if "run" in step]
    (ours,) = [step for step in steps if step.get("uses", "").startswith("./")]
    for tonight, code, decision in (("accepted", 0, "PASS"), ("build-103", 1, "FAIL")):
        folder = tmp_path / f"work-{code}"
        folder.mkdir()
        program(folder / "answer", collection(folder / "qa", tonight))
        assert run_script(answer, folder).returncode == 0
        job = Job(folder, temporary, **ours["with"])
        job.summary.unlink(missing_ok=True)
        assert job.run(job.step("key")).returncode == 0
        assert re.fullmatch(r"\d+-\d+", job.values["steps.key.outputs.packages"])
        if code == 0:
            done = job.run(job.step("Install Nuggeteer"), PYTHONPATH=site(), **OFFLINE)
            assert done.returncode == 0, done.stderr
            assert (temporary / "nuggeteer" / "bin" / "nuggeteer").is_file()
        done = job.run(job.step("nightly"), PYTHONPATH=site())
        assert done.returncode == code, done.stderr
        assert job.summary.read_text(encoding="utf-8").startswith("<h3>")
        assert job.filled(job.action["outputs"]["decision"]["value"]) == decision
        kept = Path(job.filled(job.step("actions/upload-artifact")["with"]["path"]))
        assert {path.name for path in kept.iterdir()} == {"page.html", "nuggets.xml", "nuggets.json", "nightly.txt"}
        assert json.loads((kept / "nuggets.json").read_text())["decision"] == decision
        assert (int(xml.parse(kept / "nuggets.xml").getroot().get("failures")) > 0) == (code == 1)
    saved, restored = job.step("actions/cache/save")["with"], job.step("actions/cache/restore")["with"]
    assert (folder / job.filled(saved["path"])).is_file()
    assert saved == {name: restored[name] for name in ("path", "key")}
    assert job.filled(restored["key"]).startswith(job.filled(restored["restore-keys"]))


@pytest.mark.slow
def test_the_action_compares_with_the_night_before_and_decides_nothing_on_wrong_input(tmp_path):
    collection(tmp_path / "qa", "accepted")
    (tmp_path / "nuggeteer" / "bin").mkdir(parents=True)
    program(tmp_path / "nuggeteer" / "bin" / "nuggeteer", f'#!/bin/sh\nexec {sys.executable} -m nuggeteer "$@"\n')
    codes, decisions = [], []
    for run, label in (("accepted", "one"), ("build-103", "two"), ("--help", "$(touch ran)"), ("no run", "")):
        job = Job(tmp_path, tmp_path, run=run, collection="qa", label=label)
        codes.append(job.run(job.step("nightly")).returncode)
        decisions.append(job.values["steps.nightly.outputs.decision"])
    assert codes == [0, 1, 2, 2]
    assert decisions == ["UNDECIDED", "FAIL", "", ""]
    assert not (tmp_path / "ran").exists()


def test_the_page_lists_the_inputs_of_the_action():
    action = read_yaml((ROOT / "action.yml").read_text(encoding="utf-8"))
    section = PAGE.split("## GitHub Actions")[1].split("\n## ")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", section, re.M) == list(action["inputs"])
    assert all(about.keys() <= {"description", "required", "default"} for about in action["inputs"].values())
    assert action["runs"]["using"] == "composite"
    assert all(step.get("shell") == "bash" for step in action["runs"]["steps"] if "run" in step)


@pytest.mark.slow
def test_what_the_dockerfile_installs_runs_without_root_and_without_a_home(tmp_path):
    """Its instructions in order, with folders of the test for those of the image: docker itself is not needed."""
    pytest.importorskip("hatchling")
    lines = [line for line in (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines() if line[:1].isupper()]
    instructions = [line.partition(" ")[::2] for line in lines]
    words = [word for word, _ in instructions]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert dict(instructions)["USER"] != "root"
    source, home = tmp_path / "source", tmp_path / "opt" / "nuggeteer"
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in allowed:  # only what reaches the image
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile)(ROOT / name, source / name)
    for line in [rest for word, rest in instructions if word == "RUN"][:2]:
        line = line.replace("/source", str(source)).replace("/opt/nuggeteer", str(home))
        line = re.sub(r"^pip|^python -m", f"{sys.executable} -m pip", line).replace("pip venv", "venv")
        done = run_script(line, tmp_path, PYTHONPATH=site(), **OFFLINE)
        assert done.returncode == 0, done.stderr
    collection(tmp_path / "qa", "accepted")
    (entry,) = json.loads(dict(instructions)["ENTRYPOINT"])
    path = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "HOME": os.devnull, "XDG_STATE_HOME": "", "PYTHONPATH": site()}
    night = run_script(f"{entry} nightly accepted", tmp_path / "qa", **given)
    assert night.returncode == 0, night.stderr
    assert night.stdout.startswith("UNDECIDED")


@pytest.mark.slow
def test_the_nightly_script_compares_with_the_night_before_and_leaves_a_page(tmp_path):
    """Whatever the decision: the morning of a FAIL is when a page is wanted."""
    folder = tmp_path / "qa"
    answer, nights, shown = collection(folder, "build-101"), [], []
    for tonight in ("build-101", "build-101", "accepted", "build-103"):
        program(folder / "answer", answer.replace("build-101", tonight))
        program(folder / "nightly.sh", block("sh"))
        nights.append(run_script(str(folder / "nightly.sh"), tmp_path))
        index = (folder / "public" / "index.html").read_text(encoding="utf-8")
        shown.append(re.search(r"<title>(\w+): ", index)[1])
    assert [night.returncode for night in nights] == [0, 0, 0, 1], nights
    assert [night.stdout.split()[0] for night in nights] == shown == ["UNDECIDED", "UNDECIDED", "PASS", "FAIL"]
    assert all(len(night.stdout.splitlines()) <= 15 for night in nights)
    with History.of(folder)._database.read() as db:
        assert db.execute("SELECT count(*) FROM builds").fetchone() == (3,)
    assert {f"build-{n}.html" for n in (1, 2, 3)} < {path.name for path in (folder / "public").iterdir()}
    (folder / "nuggets.jsonl").write_text("{")  # an input that is wrong is no failed gate
    assert run_script(str(folder / "nightly.sh"), tmp_path).returncode == 2


def pytest_says(folder, *arguments):
    """The output of pytest on the tests of a user, with our plugin."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "nuggeteer.plugins.pytest", *arguments],
        cwd=folder,
        env=environment(PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", PYTEST_ADDOPTS="", COLUMNS="80", PYTHONPATH=str(folder)),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    return [line.rstrip() for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_the_tests_of_users_fail_with_a_message_that_lists_the_nuggets(tmp_path):
    collection(tmp_path / "qa", "accepted", accepted="build-101")
    build = (tmp_path / "qa" / "runs" / "build-102.jsonl").rename(tmp_path / "qa" / "runs" / "tonight.jsonl")
    with_fixture, with_functions = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "test_qa.py").write_text(with_functions, encoding="utf-8")
    said = pytest_says(tmp_path, "test_qa.py")
    assert "1 failed, 1 passed" in said[-1]
    shown = re.search(r"AssertionError: (.*?)\n```", PAGE, re.DOTALL)[1].splitlines()
    printed = [line[1:].strip() for line in said if line.startswith("E ")]
    printed[0] = printed[0].removeprefix("AssertionError: ")
    # But for the probabilities, and what the page leaves out.
    loose = [re.sub(r"\d+ %|\(\d less sure\)", "", line).strip() for line in printed]
    for line in shown:
        start = re.sub(r"\d+ %", "", line.removesuffix("...")).strip()
        assert any(one.startswith(start) for one in loose), line

    (tmp_path / "my_system.py").write_text(
        f"""
import json
texts = {{q["text"]: q["qid"] for q in map(json.loads, open({str(tmp_path / "qa/questions.jsonl")!r}))}}
lines = [json.loads(line) for line in open({str(build)!r})]
def answer(question):
    return [line["text"] for line in lines if line["qid"] == texts[question]]
""",
        encoding="utf-8",
    )
    (tmp_path / "test_qa.py").write_text(with_fixture, encoding="utf-8")
    said = pytest_says(tmp_path, "--nuggets-collection", "qa")
    assert "1 failed, 2 passed" in said[-1]
    (summary,) = re.findall(r"```text\n(=+ nuggets =+\n.*?)```", PAGE, re.DOTALL)
    excerpts.check(ROOT / "docs/guides/build-servers.md", summary, said)


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
