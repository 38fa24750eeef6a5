"""The page on the papers: each row's command exists, with the options that it names."""

from __future__ import annotations

import argparse
import re

from nuggeteer.cli.main import parser
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "understanding" / "papers.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"`(nuggeteer [a-z][^`]*)`", PAGE.split("\n## What each paper has", 1)[1])))


def test_the_page_has_a_table_for_each_of_the_gale_papers():
    for paper in ("White et al. 2008", "Babko-Malaya 2008", "Babko-Malaya et al. 2010"):
        assert f"\n### {paper}\n" in PAGE
    assert len(COMMANDS) >= 12


def test_every_command_on_the_page_is_one():
    (commands,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    for command in COMMANDS:
        _, name, *rest = command.split()
        assert name in commands.choices
        known = {option for action in commands.choices[name]._actions for option in action.option_strings}
        assert {word for word in rest if word.startswith("--")} <= known, command
