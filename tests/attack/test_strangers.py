"""Commands as users start them, with what a stranger has put beside a history; `scripts/attack` gives them hundreds."""

from __future__ import annotations

import pytest

from tests.attack.strangers import GIFTS, give


@pytest.mark.slow
def test_no_gift_changes_a_file_outside_or_ends_a_command_with_a_traceback(yard):
    found = give(yard, 12, 2)
    assert set(found.met) == set(GIFTS)
    assert found.codes[2] > 1
    assert found.broken == []
