"""What `pip install .` gives: the package, its types, the sample, the command."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling")
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", str(target), str(ROOT)], check=True)
    (path,) = target.glob("nuggeteer-*.whl")
    with zipfile.ZipFile(path) as opened:
        yield opened


def test_the_sample_ships_in_the_wheel(wheel):
    names = set(wheel.namelist())
    sample = ROOT / "judgements" / "sample"
    files = list(sample.rglob("*.jsonl"))
    assert len(files) == 12
    for path in files:
        assert f"nuggeteer/sample/{path.relative_to(sample)}" in names


def test_types_and_command_ship_and_tests_do_not(wheel):
    names = wheel.namelist()
    assert "nuggeteer/py.typed" in names
    entry = next(name for name in names if name.endswith("entry_points.txt"))
    assert b"nuggeteer = nuggeteer.cli.main:run" in wheel.read(entry)
    assert not [name for name in names if name.startswith(("tests", "experiments", "judgements"))]


def test_the_wheel_runs_by_itself(wheel, tmp_path):
    """Unpacked elsewhere, away from the checkout, the demo finds its sample."""
    wheel.extractall(tmp_path / "site")
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path / "site")!r})
from nuggeteer.cli.main import main
sys.exit(main(["demo", "d"]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "build-103" in done.stdout
    assert (tmp_path / "d" / "nuggets.jsonl").is_file()
