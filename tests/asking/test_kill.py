"""Killed at any moment, the next start goes on: nothing is lost, and nothing is paid for twice."""

from __future__ import annotations

import pytest

from tests.asking.kill import run


@pytest.mark.slow
def test_kill_9_at_random_moments_loses_nothing_and_pays_for_nothing_twice(tmp_path):
    """1,000 kills: python -m tests.asking.kill 1000"""
    figures = run(25, tmp_path)
    assert figures.kills == 25
    assert figures.verdicts
    assert figures.unread + figures.unwritten < figures.replies
