"""What many tests need: small collections written from Python, and the public data where it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.sample import copy_sample

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared" / "data"


def shared(name: str) -> Path:
    """A folder of the public data; the test is skipped where it is absent."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"the public data {name!r} is not here")
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


@pytest.fixture(scope="session")
def _sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sample for the whole session, so that a fitted model is remembered in it and not in the
    checkout."""
    folder = tmp_path_factory.mktemp("sample") / "sample"
    copy_sample(folder)
    return folder


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
