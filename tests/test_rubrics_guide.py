"""The guide to rubrics, done: its commands run as they stand, and print what it shows."""

from __future__ import annotations

from tests import excerpts
from tests.conftest import ROOT


def test_the_commands_run_and_print_what_the_page_shows(tmp_path):
    assert excerpts.check_guide(ROOT / "docs/guides/rubrics.md", tmp_path) == 3
