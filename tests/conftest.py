"""What many tests need: small collections written from Python, and the public data where it is."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.sample import copy_sample
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.trust.reliability import trust

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("NUGGETEER_DATA", ROOT.parent / "shared" / "data"))

# The settings of every property test. No deadline and no check of speed: a loaded machine is no failure. A build
# server tries the same examples each time, so a failure there comes from the change; elsewhere the examples are new
# each time, and those that fail are kept in .hypothesis and tried first.
settings.register_profile(
    "nuggeteer", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize="CI" in os.environ
)
settings.load_profile("nuggeteer")


@pytest.fixture(scope="session")
def nuggetizer() -> Any:
    """The nuggetizer with its model. The test is skipped where spaCy or the model is not installed."""
    pytest.importorskip("spacy")
    from nuggeteer.gale.nuggetizer import Nuggetizer
    from nuggeteer.gale.parser import NoParser

    try:
        return Nuggetizer("en_core_web_sm")
    except NoParser as missing:
        pytest.skip(str(missing))


def shared(name: str) -> Path:
    """A folder of the public data (see CONTRIBUTING.md). The test is skipped where the folder is absent."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}; set NUGGETEER_DATA to the folder that holds {name!r}")
    return folder


def write_lines(path: Path, records: Iterable[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def collect(tmp_path: Path) -> Callable[..., Collection]:
    """Writes a collection from nuggets, runs ({name: [(qid, text), ...]}) and the rest, and reads it."""

    def make(
        nuggets: Iterable[dict[str, Any]],
        runs: dict[str, list[tuple[str, str]]] | None = None,
        judgements: Iterable[dict[str, Any]] = (),
        judged: dict[str, str] | None = None,
        toml: str = "",
        folder: str = "collection",
    ) -> Collection:
        root = tmp_path / folder
        write_lines(root / "nuggets.jsonl", ({"importance": "vital", **n} for n in nuggets))
        for name, responses in (runs or {}).items():
            write_lines(root / "runs" / f"{name}.jsonl", ({"qid": q, "text": t} for q, t in responses))
        write_lines(root / "runs.jsonl", ({"run": r, "judged": how} for r, how in (judged or {}).items()))
        write_lines(root / "judgements" / "all.jsonl", judgements)
        if toml:
            (root / "nuggeteer.toml").write_text(toml, encoding="utf-8")
        return read_collection(root)

    return make


@pytest.fixture(scope="session", autouse=True)
def _state_of_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The key that guards caches is made in a folder of the tests, not in the user's."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def copy_of_sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Path]:
    """Copies the sample into a new folder. What takes long is remembered in its `.nuggeteer`: the fitted model and the
    reliability of its guesses. So a copy need not be fitted again."""
    folder = tmp_path_factory.mktemp("sample") / "sample"
    copy_sample(folder)
    trust(Scorer(read_collection(folder)))
    return lambda copied: Path(shutil.copytree(folder, copied))


@pytest.fixture(scope="session")
def _sample_folder(copy_of_sample: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample for the whole session. A test may change what is remembered in it, so what is printed
    about that is tested on a copy of one's own."""
    return copy_of_sample(tmp_path_factory.mktemp("shared") / "sample")


@pytest.fixture(scope="session")
def copy_of_small_sample(
    copy_of_sample: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Path], Path]:
    """The same of eight questions, for what takes long."""
    folder = copy_of_sample(tmp_path_factory.mktemp("small") / "sample")
    qids = {f"{kind}-0{number}" for kind in ("def", "rag") for number in range(1, 5)}
    for path in folder.rglob("*.jsonl"):
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        write_lines(path, [line for line in lines if line.get("qid") in (None, *qids)])
    trust(Scorer(read_collection(folder)))
    return lambda copied: Path(shutil.copytree(folder, copied))


@pytest.fixture(scope="session")
def small_sample(copy_of_small_sample: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it for the whole session."""
    return copy_of_small_sample(tmp_path_factory.mktemp("shared-small") / "sample")


@pytest.fixture
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """How far guesses are to be trusted is looked at on a few judged pairs only: for tests about something else."""
    monkeypatch.setattr("nuggeteer.trust.reliability.PAIRS", 200)


@pytest.fixture(scope="session")
def _learned_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learned") / "sample"
    copy_sample(folder)
    (folder / "nuggeteer.toml").write_text('[match]\nmatcher = "learned"\n', encoding="utf-8")
    return folder


@pytest.fixture
def learned(_learned_folder: Path) -> Collection:
    """The sample with the matcher that learns."""
    return read_collection(_learned_folder)


@pytest.fixture
def sample(_sample_folder: Path) -> Collection:
    return read_collection(_sample_folder)
