"""Nothing recorded is stale: what the sample or the project's own files can make is made again. After a change that
moves the figures, `scripts/update-golden` records them anew."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.scoring.scorer import compare_thresholds
from tests.conftest import ROOT

EXPERIMENTS = ROOT / "experiments"
UPDATE = bool(os.environ.get("NUGGETEER_UPDATE_GOLDEN"))
DEFINITIONS = sorted((ROOT / "nuggeteer" / "trust" / "experiments" / "definitions").glob("*.toml"))


def check(recorded: Path, made: str) -> None:
    if UPDATE:
        recorded.write_text(made, encoding="utf-8")
    assert recorded.read_text(encoding="utf-8") == made


@pytest.mark.slow
@pytest.mark.parametrize("name", [path.stem for path in DEFINITIONS])
def test_the_papers_tables_and_figures_of_the_sample_are_as_recorded(name, sample, tmp_path, monkeypatch):
    monkeypatch.chdir(sample.root.parent)
    assert main(["experiment", name, "--collection", sample.root.name, "--out", str(tmp_path)]) == 0
    made = sorted(tmp_path.iterdir())
    assert made
    for path in made:
        check(EXPERIMENTS / "recorded" / path.name, path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_the_threshold_models_of_the_sample_are_as_recorded(sample):
    """But for the seconds."""
    text = (EXPERIMENTS / "models.md").read_text(encoding="utf-8")
    (section,) = (part for part in text.split("\n## ") if part.startswith("sample: "))
    shown = {name: (evidence, score) for name, evidence, score in re.findall(ROW, section, re.MULTILINE)}
    found = compare_thresholds(read_collection(sample.root))
    assert shown == {one.name: (f"{one.log10_evidence:,.1f}", f"{one.log_score:.4f}") for one in found.models}
    assert f"Best held-out: {found.chosen}." in section


ROW = r"^\| ([a-z-]+) \| (-[\d,.]+) \| (-[\d.]+) \|"


@pytest.mark.slow
def test_the_matcher_s_settings_on_the_sample_are_as_recorded(sample):
    script = [sys.executable, "experiments/match_settings.py", str(sample.root)]
    done = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True)
    (section,) = (part for part in recorded("match-settings.md").split("\n## ") if part.startswith("sample\n"))
    rows = re.findall(r"^\| n=.*$", done.stdout, re.MULTILINE)
    assert rows
    assert rows == re.findall(r"^\| n=.*$", section, re.MULTILINE)


@pytest.mark.slow
def test_near_copies_in_other_languages_are_as_recorded():
    done = subprocess.run(
        [sys.executable, "experiments/languages.py"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    without_python = [re.sub("Python 3[.0-9]+", "Python", text) for text in (done.stdout, recorded("languages.md"))]
    assert without_python[0] == without_python[1]


def recorded(name: str) -> str:
    return (EXPERIMENTS / name).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_prior_is_what_the_recorded_measurements_say(monkeypatch):
    monkeypatch.syspath_prepend(str(EXPERIMENTS))
    import prior

    from nuggeteer.thresholds import public_prior

    assert prior.page() == recorded("prior.md")
    made: dict[str, object] = {}
    exec(prior.module(), made)
    for name in ("BY_WORDS", "BY_SCORE", "JUDGE", "SPREADS", "FEW", "CHANGE"):
        assert made[name] == getattr(public_prior, name)


def test_every_record_and_every_script_is_listed():
    listed = recorded("README.md")
    for path in EXPERIMENTS.glob("*.md"):
        assert path.name == "README.md" or f"]({path.name})" in listed, path.name
    for path in EXPERIMENTS.glob("*.py"):
        assert path.stem in ("index", "bench", "rag_sized") or f"`python experiments/{path.name}" in listed, path.name
    for script in re.findall(r"python experiments/(\w+\.py)", listed):
        assert (EXPERIMENTS / script).exists(), script


@pytest.mark.slow
def test_experiments_import_what_there_is():
    """They are run seldom, so nobody else would notice. Those are left out whose packages are not installed."""
    needed = {"bench": ("psutil", "rouge_score", "playwright"), "cluster": ("distributed",)}
    names = sorted(path.stem for path in EXPERIMENTS.glob("*.py"))
    names = [name for name in names if all(map(find_spec, needed.get(name, ())))]
    program = f"import sys; sys.path.insert(0, 'experiments'); sys.argv = ['x']; import {', '.join(names)}"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
