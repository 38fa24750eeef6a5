"""What others get: the wheel, the source distribution, and an installed command that works away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_bytes

import pytest

from nuggeteer.collection.sample import copy_sample
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with a wheel and a source distribution."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], check=True, cwd=ROOT)
    return folder


@pytest.fixture
def wheel(built):
    (path,) = built.glob("nuggeteer-*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def source(built):
    """The names in the source distribution, without its top folder."""
    (path,) = built.glob("nuggeteer-*.tar.gz")
    with tarfile.open(path) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


def kept_files(*patterns):
    """The files of the checkout that git keeps, by its patterns."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()}


@pytest.mark.slow
def test_the_sample_ships_in_the_wheel(wheel):
    sample = ROOT / "judgements" / "sample"
    files = {f"nuggeteer/sample/{path.relative_to(sample)}" for path in sample.rglob("*.jsonl")}
    assert "nuggeteer/sample/nuggets.jsonl" in files
    assert files == {name for name in wheel.namelist() if name.startswith("nuggeteer/sample/") and ".jsonl" in name}


def test_every_file_of_the_package_ships_in_the_wheel_and_nothing_else(wheel):
    names = {
        name
        for name in wheel.namelist()
        if ".dist-info/" not in name and not name.startswith(("nuggeteer/sample/", "nuggeteer/truth/"))
    }
    assert names == kept_files("nuggeteer")


def test_licence_types_and_command_ship(wheel):
    names = wheel.namelist()
    assert "nuggeteer/py.typed" in names
    entry = next(name for name in names if name.endswith("entry_points.txt"))
    assert b"nuggeteer = nuggeteer.cli.main:run" in wheel.read(entry)
    licence = next(name for name in names if name.endswith(".dist-info/licenses/LICENSE"))
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_the_metadata_name_the_licence_and_every_dependency_once(wheel):
    metadata = message_from_bytes(wheel.read(next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA"))))
    assert metadata["License-Expression"] == "MIT"
    required = [name for name in metadata.get_all("Requires-Dist") if "extra ==" not in name]
    assert len(required) == len(PROJECT["dependencies"])
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])


def test_all_that_git_keeps_is_in_the_source_distribution(source):
    """Also the documents, the tests and what they read."""
    assert {"LICENSE", "CITATION.cff", "README.md", "tests/conftest.py", ".ci/run"} <= source
    assert kept_files() - source == set()


@pytest.mark.slow
def test_the_wheel_runs_by_itself(wheel, tmp_path):
    """Unpacked elsewhere, away from the checkout, the demo finds its sample."""
    wheel.extractall(tmp_path / "site")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path / "site")!r})
from nuggeteer.trust import reliability
from nuggeteer.cli.main import main
reliability.PAIRS = 200  # the page, which is not looked at, takes most of the time
sys.exit(main(["demo", "d"]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "build-103" in done.stdout
    assert (tmp_path / "d" / "nuggets.jsonl").is_file()


@pytest.mark.slow
def test_scoring_reporting_and_judging_on_a_pipe_need_no_screen_and_no_learning(tmp_path):
    """What installation.md says is imported only when it is used."""
    copy_sample(tmp_path / "c")
    code = """
import sys
for name in ("matplotlib", "sklearn", "textual"):
    sys.modules[name] = None
from nuggeteer.cli.main import main
first = ("score build-103", "diff build-102 build-103", "compare", "report build-103 --output page.html")
for words in (*first, "judge build-103 --assessor ann"):
    assert main([*words.split(), "--collection", "c"]) == 0, words
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, input="y\nq\n", capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "c" / "judgements" / "ann.jsonl").read_text(encoding="utf-8").count("\n") == 1


@pytest.mark.slow
def test_pytest_finds_the_plugin_of_an_installed_wheel(wheel, tmp_path):
    """By its entry point, and without changing what a run says that does not use it."""
    wheel.extractall(tmp_path / "site")
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTEST_ADDOPTS": ""}
    environment.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
    help_, done = (
        subprocess.run([*command, *more], cwd=tmp_path, env=environment, capture_output=True, text=True)
        for more in (["--help"], ["-q"])
    )
    assert "--nuggets-collection=DIR" in help_.stdout
    assert done.returncode == 0
    assert "nuggets" not in done.stdout


PIP = """\
#!/bin/sh
echo 'Collecting numpy'
echo 'WARNING: Location is ignored: it is neither a file nor a directory.' >&2
{end}
"""


@pytest.mark.parametrize("works", [True, False])
def test_the_first_installation_is_quiet_and_says_where_the_log_is_if_it_fails(tmp_path, works):
    for name in ("scripts/environment.sh", "pyproject.toml", "tests/packages.txt", "tests/nuggetize-model.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PIP.format(end="" if works else "echo 'ERROR: No matching distribution found' >&2; exit 1"))
    python.chmod(0o755)
    script = ". scripts/environment.sh; environment ''"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    first, *others = done.stderr.splitlines()
    assert first.startswith("Installing nuggeteer and the packages it needs")
    assert done.stdout == ""
    if works:
        assert (done.returncode, others) == (0, [])
    else:
        assert done.returncode == 2
        assert others == [
            "ERROR: No matching distribution found",
            "the installation failed; the package registry must be reachable. All that pip said is in "
            ".venv/install.log",
        ]
    assert "WARNING: Location" in (tmp_path / ".venv" / "install.log").read_text()
