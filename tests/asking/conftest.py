"""A small collection with a judge, and a server that plays it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.asking.fake_server import FakeServer
from tests.conftest import write_lines

NUGGETS = ["apples are red", "pears are green", "plums are blue", "cherries are dark", "figs are sweet"]
ANSWERS = ["Apples are red. Pears are green.", "Plums are blue and figs are sour."]


def write_fruit(root: Path, server: FakeServer | None, questions: int = 2, copies: int = 1, **settings: Any) -> Path:
    """A collection of `questions` × five nuggets, one run, and the settings of a judge."""
    nuggets = [
        {"qid": f"q{q}", "nugget": f"{c}-{n}", "text": f"{text} {c}" if c else text, "importance": "vital"}
        for q in range(questions)
        for c in range(copies)
        for n, text in enumerate(NUGGETS)
    ]
    write_lines(root / "nuggets.jsonl", nuggets)
    write_lines(root / "questions.jsonl", [{"qid": f"q{q}", "text": f"Which fruit {q}?"} for q in range(questions)])
    answers = [{"qid": f"q{q}", "text": ANSWERS[q % 2] + f" Number {q}."} for q in range(questions)]
    write_lines(root / "runs" / "night.jsonl", answers)
    if server is not None:
        (root / "nuggeteer.toml").write_text(server.settings(**settings), encoding="utf-8")
    return root


@pytest.fixture
def ask_folder(tmp_path: Path) -> Callable[..., Path]:
    """Writes such a collection."""
    return lambda server, *args, **settings: write_fruit(tmp_path / "collection", server, *args, **settings)
