"""The plugin of pytest, in a project of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from tests.conftest import ROOT

TESTS = """
import pytest

@pytest.fixture(scope="session")
def tonight(nuggets):
    return nuggets.run(lambda question: ["Nothing is known.", f"{question} \\x1b[31mNobody knows."])

def test_one(nuggets):
    assert 0 < nuggets.score("build-103").measures["f3"].value < 1

def test_two(nuggets):
    assert nuggets.diff("build-102", "build-102").lost == ()

def test_three(nuggets, tonight):
    assert len(tonight) == 2 * len(nuggets.collection.key.questions)
    nuggets.assert_no_vital_lost(tonight, baseline="build-102")

def test_four(nuggets):
    nuggets.assert_not_worse("build-102", "build-102", by=0.01)
"""


def run(folder, *arguments, plugin=True):
    """pytest in a project, with this plugin and no others but those that the arguments name."""
    loaded = ["-p", "nuggeteer.plugins.pytest"] if plugin else []
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *loaded, *arguments],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def project(copy_of_sample, tmp_path):
    copy_of_sample(tmp_path / "qa")
    (tmp_path / "test_qa.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --nuggets-collection qa\n", encoding="utf-8")
    return tmp_path


def summary(output):
    return output.split("= nuggets =")[1].split("\n=")[0].splitlines()[1:]


@pytest.mark.slow
def test_the_fixture_scores_and_asserts_and_the_summary_says_what_it_found(project):
    done = run(project, "--junit-xml", "out.xml")
    assert "1 failed, 3 passed" in done.stdout, done.stdout
    lines = summary(done.stdout)
    same = "build-102 → build-102"
    assert [line.split(":")[0] for line in lines] == ["build-103", same, "build-102 → tonight", same]
    assert "F(3) 0 (for questions like these 0), vital nuggets: 0 lost, 0 gained" in lines[1]
    assert lines[3].startswith(f"{same}: PASS: F(3) is not worse by more than 0.01 on these questions")
    assert "\x1b" not in done.stdout
    assert "AssertionError: build-102 → tonight: " in done.stdout
    properties = [one.get("value") for one in xml.parse(project / "out.xml").iter("property")]
    assert set(properties) == set(lines)


@pytest.mark.slow
def test_workers_and_folders_below_change_nothing(project):
    """The summary under pytest-xdist, and the option in the settings seen from a folder below."""
    pytest.importorskip("xdist")
    alone = sorted(summary(run(project).stdout))
    below = project / "below"
    below.mkdir()
    done = run(below, "-p", "xdist", "-n", "2", "..")
    assert "1 failed, 3 passed" in done.stdout, done.stdout
    assert sorted(summary(done.stdout)) == alone


@pytest.mark.slow
def test_a_collection_that_is_missing_is_said_without_a_traceback(project):
    done = run(project, "--nuggets-collection", "qb", "-k", "one")
    said = done.stdout.split("ERROR at setup of test_one")[1].splitlines()[1:3]
    assert "qb: there is no such folder" in said[0]
    assert said[1].startswith("===")
    (project / "pytest.ini").write_text("[pytest]\n")
    assert "name the collection with --nuggets-collection DIR" in run(project, "-k", "one").stdout


def test_runs_that_do_not_use_it_import_nothing_and_have_no_more_hooks(tmp_path):
    """Only the package's own `__init__` and the plugin; and no hook that is called for each test."""
    (tmp_path / "conftest.py").write_text("""
def pytest_sessionfinish(session):
    import sys
    plugin = sys.modules["nuggeteer.plugins.pytest"]
    print("\\nloaded", sorted(name for name in sys.modules if name.startswith("nuggeteer")))
    print("heavy", [name for name in ("numpy", "scipy", "rich", "orjson") if name in sys.modules])
    print("hooks", sorted(c.name for c in session.config.pluginmanager.get_hookcallers(plugin)))
""")
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    done = run(tmp_path)
    assert done.returncode == 0
    assert "loaded ['nuggeteer', 'nuggeteer.plugins', 'nuggeteer.plugins.pytest']" in done.stdout
    assert "heavy []" in done.stdout
    assert "hooks ['pytest_addoption', 'pytest_terminal_summary']" in done.stdout
    assert done.stdout.count("nuggets") == 0
    assert run(tmp_path, plugin=False).stdout.splitlines()[0] == done.stdout.splitlines()[0]


def test_properties_of_other_tests_and_plugins_are_left_alone(tmp_path):
    """Of any name, any type and any length."""
    (tmp_path / "test_it.py").write_text("""
def test_it(record_property, request):
    for name in ("nuggets", "nuggeteer"):
        for value in ({"a": 1}, ["a"], None, 7):
            record_property(name, value)
    record_property("nuggets", "theirs")
    request.node.user_properties += [("nuggeteer", "three", "parts"), ("nuggeteer",), (), 7, None, "nuggeteer"]
""")
    (tmp_path / "conftest.py").write_text("""
def pytest_terminal_summary(terminalreporter):
    class Report: when = "teardown"
    terminalreporter.stats["strange"] = [Report(), None]
""")
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "INTERNALERROR" not in done.stdout
    assert "= nuggets =" not in done.stdout


def test_the_entry_point_names_the_plugin():
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    (module,) = points.values()
    assert Path(import_module(module).__file__) == ROOT / "nuggeteer" / "plugins" / "pytest.py"
