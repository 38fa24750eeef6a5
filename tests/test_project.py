"""The files around the code: they parse, name what exists, and agree with each other."""

from __future__ import annotations

import os
import re
import tomllib
from datetime import date
from importlib.metadata import version
from itertools import pairwise

import pytest

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def parse(path):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_workflow_runs_what_the_build_server_runs():
    workflow = parse(".github/workflows/tests.yml")
    job = workflow["jobs"]["tests"]
    steps = job["steps"]
    assert [step["run"] for step in steps if "run" in step] == [".ci/run ${{ matrix.part }}"]
    parts = re.findall(r'"\$\{1:-(\w+)\}" = \1', (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
    assert job["strategy"]["matrix"] == {"part": parts}
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    (python,) = (step["with"]["python-version"] for step in steps if "setup-python" in step.get("uses", ""))
    assert PROJECT["project"]["requires-python"] == f">={python}"
    assert workflow["permissions"] == {"contents": "read"}


def test_the_hooks_before_a_commit_run_the_tools_of_the_dev_group():
    (local,) = parse(".pre-commit-config.yaml")["repos"]
    tools = {hook["entry"].split()[0] for hook in local["hooks"]}
    names = {
        re.split(r"[>=\[ ]", package)[0] for package in PROJECT["dependency-groups"]["dev"] if type(package) is str
    }
    assert tools == {".venv/bin/ruff", ".venv/bin/mypy"}
    assert {tool.rpartition("/")[2] for tool in tools} <= names


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_ask_questions_with_ids_of_their_own(path):
    form = parse(path)
    if path.stem == "config":
        assert form == {"blank_issues_enabled": True}
        return
    assert {"name", "description", "body"} <= set(form)
    ids = [question["id"] for question in form["body"]]
    assert len(set(ids)) == len(ids)
    assert all(question["attributes"]["label"] for question in form["body"])


def test_every_script_that_is_named_exists():
    """In the documents for contributors, the workflow and the templates."""
    files = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.*"), ROOT / ".ci" / "run", *(ROOT / "docs").rglob("*.md")]
    for file in files:
        for script in re.findall(r"(?<![\w/.-])scripts/([a-z-]+(?:\.sh)?)\b", file.read_text(encoding="utf-8")):
            assert (ROOT / "scripts" / script).is_file(), (file.name, script)


def test_scripts_ask_for_groups_that_exist():
    """`environment NAME` installs the dependency group of that name."""
    for script in (ROOT / "scripts").iterdir():
        if script.is_file():
            for group in re.findall(r"^environment (\S+)", script.read_text(encoding="utf-8"), re.M):
                assert group == '""' or group in PROJECT["dependency-groups"], script.name


def test_the_extra_all_is_all_extras():
    extras = dict(PROJECT["project"]["optional-dependencies"])
    (everything,) = extras.pop("all")
    assert everything == f"nuggeteer[{','.join(extras)}]"


def test_the_version_is_said_once():
    assert PROJECT["project"]["version"] == version("nuggeteer") == str(parse("CITATION.cff")["version"])


def test_the_changelog_keeps_its_form():
    """Unreleased on top, then versions with dates, the newest first; the sections of Keep a Changelog."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.M)
    assert headings[0] == "[Unreleased]"
    found = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)", heading) for heading in headings[1:]]
    assert all(found), headings
    dates = [date.fromisoformat(release[2]) for release in found if release]
    assert all(newer >= older for newer, older in pairwise(dates))
    assert PROJECT["project"]["version"] in {release[1] for release in found if release}
    allowed = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.M)) <= allowed
    for heading in headings:
        assert f"\n{heading.partition(' - ')[0]}: https://" in text


def test_contributors_are_sent_to_files_that_exist():
    """Those of the table, and those that the walks name."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| [^|`]*(?:`[^`]+`)?[^|`]* \| `([^`]+)` \|$", text, re.M)
    assert named
    paths = {*named, *re.findall(r"`((?:nuggeteer|tests|docs)/[\w/.-]+)`", text)}
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_contributors_are_told_of_names_that_exist():
    """The registries that the walks name are where the walks say."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.findall(r"`([A-Z]\w+)` +(?:in|\()\s*`((?:nuggeteer/)?[\w/]+\.py)`", text)
    assert {name for name, _ in found} == {"FIXED", "MATCHERS", "FORMATS", "Matcher", "Part", "SURE"}
    for name, path in found:
        source = (ROOT / "nuggeteer" / path.removeprefix("nuggeteer/")).read_text(encoding="utf-8")
        assert re.search(rf"^(class )?{name}\b", source, re.M), (name, path)


def test_no_page_names_a_download_that_does_not_work_yet():
    """The project is in no package index and at no public address: only an extra of an installed one can be named."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text(encoding="utf-8")
        assert "git clone" not in text, page.name
        assert not re.search(r"pip install '?nuggeteer(?!\[)\b", text), page.name


def test_the_page_on_installing_lists_every_extra():
    page = (ROOT / "docs" / "reference" / "installation.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == set(PROJECT["project"]["optional-dependencies"])
