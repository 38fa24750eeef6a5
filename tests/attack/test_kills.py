"""A few killed commands; `scripts/attack` kills thousands. And what is lost or torn is found."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from tests.attack.kills import SHARES, kill
from tests.attack.victims import VICTIMS, broken, leftovers, not_going_on, not_recovered

pytestmark = pytest.mark.slow


def test_nothing_acknowledged_is_lost_and_nothing_torn_stays(yard):
    found = kill(yard, 8, 0)
    assert found.kills.total() >= 8
    assert found.broken == []


def test_every_command_that_writes_is_a_victim():
    assert set(SHARES) == set(VICTIMS)


@pytest.mark.parametrize("name", VICTIMS)
def test_commands_end_well_when_nobody_kills_them(yard, name):
    """Otherwise a kill would test nothing."""
    root = yard.collection([VICTIMS[name]])
    child = yard.run(VICTIMS[name], root)
    assert child.code == 0, child.complained
    assert broken(root, yard.template, [child]) == []
    assert not_recovered(root) + not_going_on(yard, root, [name]) == []
    assert leftovers(root) == []


def _cut(path):
    path.write_bytes(path.read_bytes()[:-200])


def _forget(path):
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DELETE FROM outcomes")


@pytest.mark.parametrize(
    ("name", "file", "damage", "told"),
    [
        ("judge", "judgements/ann.jsonl", _cut, "acknowledged and gone"),
        ("import", "judgements/ann.jsonl", _cut, "imported verdicts are gone"),
        ("judge", "judgements/before.jsonl", _cut, "earlier verdicts are gone"),
        ("record", "history.sqlite3", _forget, "half-recorded"),
        ("nightly", "night.html", _cut, "half-written"),
        ("ask", "judges/fake.jsonl", _cut, "verdicts of a model are gone"),
    ],
)
def test_what_is_lost_is_found(yard, name, file, damage, told):
    root = yard.collection()
    child = yard.run(VICTIMS[name], root)
    damage(root / file)
    assert any(told in line for line in broken(root, yard.template, [child]))


def test_what_is_paid_for_twice_is_found(yard):
    """Where the ledger has a verdict, and the command does not know it."""
    root = yard.collection()
    yard.run(VICTIMS["ask"], root)
    for path in (root / "judges").rglob("*.jsonl"):
        path.write_bytes(path.read_bytes().replace(b'"pair"', b'"paid"').replace(b'"pairs"', b'"paids"'))
    assert any("paid for twice" in line for line in not_going_on(yard, root, ["ask"]))
