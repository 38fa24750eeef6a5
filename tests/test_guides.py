"""Guides, done: their commands run as they stand, and print what they show."""

from __future__ import annotations

import pytest

from tests import excerpts
from tests.conftest import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rubrics", "what-you-have"])
def test_the_commands_run_and_print_what_the_page_shows(name, tmp_path):
    assert excerpts.check_guide(ROOT / "docs" / "guides" / f"{name}.md", tmp_path)
