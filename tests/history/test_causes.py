"""Nights judged by two judges: the change is split into the build, the judges and people's new verdicts."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.history import store
from nuggeteer.history.causes import find_causes
from nuggeteer.scoring.scorer import score
from tests.conftest import write_lines

THEN = datetime(2026, 11, 18, 2, tzinfo=UTC)
EARLIER, LATER = "2026-11-17T09:00:00Z", "2026-11-18T09:00:00Z"
MILD, STRICT = "judges/mild.jsonl", "judges/strict.jsonl"


def said(root, share, at):
    """What a judge says of the two builds: a yes where this share of the nugget's words is there."""
    collection = read_collection(root)
    for run in (collection.run("build-101"), collection.run("build-102")):
        for question, text in zip(run.question.tolist(), run.texts, strict=True):
            words = set(text.lower().split())
            for nugget in collection.key.nuggets[slice(*collection.key.offsets[question : question + 2])]:
                wanted = set(nugget.descriptions[0].lower().split())
                yes = len(words & wanted) >= share * len(wanted)
                yield {"qid": nugget.qid, "nugget": nugget.nugget, "text": text, "verdict": yes, "at": at}


def settings(root, *judges):
    path = root / "nuggeteer.toml"
    kept = path.read_text().split("[match]")[0] if path.exists() else ""
    path.write_text(f"{kept}[match]\njudges = {json.dumps(judges)}\n")


@pytest.fixture(scope="module")
def nights(copy_of_sample, tmp_path_factory):
    """build-101 was recorded with the mild judge. Then the strict one replaced it, and people judged more."""
    root = copy_of_sample(tmp_path_factory.mktemp("causes") / "qa")
    write_lines(root / MILD, said(root, 0.3, EARLIER))
    settings(root, MILD)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "now", lambda: THEN)
        assert main(["score", "build-101", "--record", "--collection", str(root)]) == 0
    shutil.copytree(root, root.parent / "then")
    lines = [{**line, "verdict": True, "assessor": "eve", "at": LATER} for line in list(said(root, 0.5, LATER))[:12]]
    write_lines(root / "judgements" / "eve.jsonl", lines)
    f3(root)  # which remembers the fit
    shutil.copytree(root, root.parent / "judged")
    write_lines(root / STRICT, said(root, 0.9, LATER))
    settings(root, STRICT)
    f3(root)
    return root.parent


@pytest.fixture
def night(nights, tmp_path):
    return Path(shutil.copytree(nights, tmp_path / "nights")) / "qa"


def f3(root, run="build-101"):
    return score(read_collection(root), [run]).runs[0].measures["f3"].value


@pytest.mark.slow
def test_the_parts_are_what_one_sees_who_changes_one_thing_after_the_other(night):
    collection = read_collection(night)
    causes = find_causes(collection, diff(collection, "build-101", "build-102"))
    then, judged = night.parent / "then", night.parent / "judged"
    assert causes.recorded == pytest.approx(f3(then), abs=1e-9)
    assert causes.rest == pytest.approx(0, abs=1e-9)
    assert causes.verdicts == pytest.approx(f3(judged) - f3(then), abs=1e-9)
    assert causes.judges == pytest.approx(f3(night) - f3(judged), abs=1e-9)
    change = diff(collection, "build-101", "build-102").headline.interval.value
    assert causes.build == pytest.approx(change, abs=1e-9)
    assert causes.change == pytest.approx(f3(night) + change - causes.recorded, abs=1e-9)
    assert min(abs(part) for part in (causes.verdicts, causes.judges, causes.build)) > 0.001
    assert (causes.judges_then, causes.judges_now) == (("mild",), ("strict",))


@pytest.mark.slow
def test_diff_says_so(night, capsys):
    capsys.readouterr()
    assert main(["diff", "build-101", "build-102", "--collection", str(night)]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "on 2026-11-18 (judges then: mild; now: strict). Of the change since then" in words
    assert main(["diff", "build-101", "build-102", "--json", "-", "--collection", str(night)]) == 0
    causes = json.loads(capsys.readouterr().out)["causes"]
    assert causes["change"] == pytest.approx(sum(causes[part] for part in ("build", "judges", "verdicts", "rest")))


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["then", "judged"])
def test_with_the_same_judges_nothing_is_split(night, folder):
    collection = read_collection(night.parent / folder)
    assert find_causes(collection, diff(collection, "build-101", "build-102")) is None


@pytest.mark.slow
def test_a_run_that_is_not_recorded_as_it_is_has_no_causes(night):
    collection = read_collection(night)
    assert find_causes(collection, diff(collection, "build-102", "build-101")) is None
    (night / "runs" / "build-101.jsonl").write_text((night / "runs" / "build-102.jsonl").read_text())
    collection = read_collection(night)
    assert find_causes(collection, diff(collection, "build-101", "build-102")) is None
