"""A small collection to judge, and a session on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nuggeteer.collection.folder import Collection
from nuggeteer.collection.ledger import Ledger
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import JudgingState, JudgingSubject

NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "built the first nuclear reactor"},
    {"qid": "q1", "nugget": "2", "text": "born in Rome", "importance": "okay"},
    {"qid": "q2", "nugget": "1", "text": "sank on its first voyage"},
    {"qid": "q2", "nugget": "2", "text": "struck an iceberg"},
]
TONIGHT = [
    ("q1", "In 1942 his team started the first nuclear reactor."),
    ("q1", "Fermi was born in Rome in 1901."),
    ("q1", "His wife Laura wrote a book."),
    ("q2", "The ship struck an iceberg in April."),
    ("q2", "It went down on its very first voyage."),
]
EARLIER = [("q1", "Enrico Fermi built a reactor in Chicago."), ("q2", "It sank."), *TONIGHT[3:4]]


@pytest.fixture
def fermi(collect: Callable[..., Collection]) -> Collection:
    """Two questions, four nuggets, two runs, and one verdict of somebody else's on a text of an older run."""
    old = {"qid": "q1", "nugget": "1", "text": "He built the first reactor ever.", "verdict": True, "assessor": "bob"}
    return collect(NUGGETS, {"tonight": TONIGHT, "earlier": EARLIER}, [old])


@pytest.fixture
def begin(fermi: Collection) -> Callable[..., Session]:
    """Starts a session of ann's, as the command does."""

    def start(against: str | None = None, **how: Any) -> Session:
        state = JudgingState.read(JudgingSubject(fermi.root, "tonight", against))
        return Session(state, Ledger(fermi.root, "ann"), **how)

    return start
