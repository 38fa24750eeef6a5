"""Whatever faults a server has, in whatever order: verdicts are right or missing, paid for once, and never lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.asking import sender as sender_module
from tests.asking.conftest import NUGGETS, write_fruit
from tests.asking.fake_server import FakeServer, labels_of
from tests.asking.test_session import MALFORMED, UNAVAILABLE, ask, lines, prose, reordered, shouted, thinking, verdicts

QUESTIONS = 3
ANY = {"none": None, **{f.__name__: f for f in (thinking, prose, reordered, shouted)}, **MALFORMED, **UNAVAILABLE}
FAULTS = st.lists(st.sampled_from(sorted(ANY)), max_size=25)
SESSIONS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 3), st.booleans()), max_size=4)


@pytest.fixture(autouse=True, scope="module")
def _short_pauses():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sender_module, "FIRST_PAUSE", 0.001)
        yield


def truth():
    """What the model says without any fault."""
    with FakeServer() as server, tempfile.TemporaryDirectory() as folder:
        root = write_fruit(Path(folder), server, QUESTIONS)
        ask(root)
        return verdicts(root)


@pytest.mark.slow
@settings(max_examples=40)
@given(FAULTS, SESSIONS)
def test_verdicts_are_right_or_missing_and_no_nugget_is_asked_about_after_its_verdict(faults, sessions):
    expected = truth()
    with FakeServer([ANY[name] for name in faults]) as server, tempfile.TemporaryDirectory() as folder:
        known = {}
        for most, concurrency, again in [*sessions, (10_000, 2, True), (10_000, 2, True)]:
            root = write_fruit(Path(folder), server, QUESTIONS, concurrency=concurrency)
            if (most, concurrency, again) == (10_000, 2, True):
                server.faults.clear()
            before = len(server.requests)
            asked = ask(root, again=again, max_calls=most)
            assert asked.requests == len(server.requests) - before <= most
            for request in server.requests[before:]:
                qid = f"q{request.answer.rpartition(' ')[2].rstrip('.')}"
                for nugget, label in zip(request.nuggets, labels_of(request), strict=True):
                    name = next(n for q, n in expected if q == qid and NUGGETS[int(n[-1])] == nugget)
                    assert (qid, name) not in known
                    assert expected[qid, name] == label
            earlier, known = known, verdicts(root)
            assert earlier.items() <= known.items() <= expected.items()
            failed = {(pair.qid, pair.nugget) for pair in asked.failed}
            assert not failed & set(known)
        assert known == expected
        # One line of the calls for each reply that was paid for, and its verdicts once.
        answered = [line for line in lines(root, "judges/calls/fake.jsonl") if line["outcome"] == "answered"]
        assert sum(len(line["nuggets"]) for line in answered) == len(known)
