"""`ask` as users start it, against a server that means no good, and a model that repeats what it reads."""

from __future__ import annotations

import pytest

from tests.asking.test_injection import ECHOES
from tests.asking.test_secret import shows
from tests.attack.peers import KEY, PLANTS, echo, meet

pytestmark = pytest.mark.slow


def test_no_server_holds_a_command_up_or_learns_it_to_show_the_key(yard):
    found = meet(yard, 3, 0)
    assert found.requests > 3
    assert found.broken == []


def test_a_key_that_is_shown_is_found():
    assert shows("".join(f"\\u{ord(char):04x}" for char in KEY), KEY)


def test_no_planted_label_is_read(yard, monkeypatch):
    some = PLANTS[::25]
    monkeypatch.setattr("tests.attack.peers.PLANTS", some)
    found = echo(yard)
    assert found.replies == len(ECHOES) * 2 * len(some)
    assert 0 < found.refused < found.replies
    assert found.changed == []
