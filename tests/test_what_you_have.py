"""The guide to bringing what one has, done: its commands run as they stand, and print what it shows."""

from __future__ import annotations

import pytest

from tests import excerpts
from tests.conftest import ROOT

NAME = "docs/guides/what-you-have.md"


@pytest.mark.slow
def test_the_commands_run_and_print_what_the_page_shows(tmp_path):
    assert excerpts.check_guide(ROOT / NAME, tmp_path) == 7
