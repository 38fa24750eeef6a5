"""Lines torn at every byte: the next command reads the others, sets the rest aside as it is, and goes on."""

from __future__ import annotations

import json

import pytest

from nuggeteer.asking.calls import Call
from nuggeteer.asking.replies import Label
from nuggeteer.asking.sender import Spending
from nuggeteer.asking.store import VerdictStore
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.proposals import Proposal, propose
from nuggeteer.errors import Problem
from nuggeteer.formats.matches import read_matches
from nuggeteer.records import Judgement
from tests.attack import faults
from tests.attack.readers import IDENTITY
from tests.attack.tears import tear

NUGGET = {"qid": "q", "nugget": "1", "text": "a red fox", "importance": "vital"}


def _judge(collection):
    Ledger(collection.root, "ann").append(Judgement("q", "1", "a «red» fox", True))


def _propose(collection):
    propose(collection.root, Proposal("q", "a «new» fact", "vital", "x", "r", None, "ann"))


def _ask(collection):
    store = VerdictStore(collection.root, IDENTITY)
    call = Call(collection.key.questions[0], "r", "a «red» fox", tuple(collection.key.nuggets))
    store.keep(call, "answered", Spending(requests=1), labels=[Label("support")])
    store.close()


WRITTEN = {
    "judgements/ann.jsonl": _judge,
    "proposals.jsonl": _propose,
    "judges/gpt.jsonl": _ask,
    "judges/calls/gpt.jsonl": _ask,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_a_line_that_is_torn_at_any_byte_is_set_aside_as_it_is_and_no_other_is_lost(collect, name):
    collection = collect([NUGGET], {"r": [("q", "a «red» fox")]})
    path, write = collection.root / name, WRITTEN[name]
    write(collection)
    write(collection)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole)):
        path.write_bytes(whole[:end])
        problems: list[Problem] = []
        read_collection(collection.root)
        if name == "judges/gpt.jsonl":
            assert len(read_matches(path, collection.key, problems)) == 1
        assert [problem for problem in problems if problem.severity == "error"] == []
        write(collection)
        aside = list(path.parent.glob("*.torn-*"))
        rest = whole[first:end]
        is_whole = end == len(whole) - 1  # only its line end is missing
        assert [one.read_bytes() for one in aside] == ([] if is_whole or not rest else [rest])
        assert path.read_bytes().startswith(whole[:first] + (rest + b"\n" if is_whole else b""))
        assert all(json.loads(line) for line in path.read_bytes().splitlines())
        for one in aside:
            one.unlink()


@pytest.mark.slow
@pytest.mark.skipif(faults.tracer() is None, reason="strace is not installed")
def test_commands_go_on_behind_lines_that_commands_tore(yard):
    found = tear(yard, ["import", "judge", "ask"], 0, step=200)
    assert all(found.bytes.values()), "each of the files was torn"
    assert found.broken == []
