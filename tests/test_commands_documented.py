"""Every command is in the reference of commands, and the documents call no other."""

from __future__ import annotations

import re

from nuggeteer.cli.main import COMMANDS
from tests.conftest import ROOT

README = ROOT / "README.md"
REFERENCE = ROOT / "docs" / "reference" / "commands.md"
PAGES = [path for path in (README, REFERENCE) if path.exists()]


def called() -> set[str]:
    """The first word after `nuggeteer` in code, and the first cell of a table of commands."""
    found: set[str] = set()
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"^\|? *`(?:nuggeteer )?([a-z]+)[^`|]*` *\|", text, re.MULTILINE))
        found |= set(re.findall(r"(?:^\$? *|`)nuggeteer ([a-z]+)\b", text, re.MULTILINE))
    return found


def test_every_command_is_documented():
    assert set(COMMANDS) <= called()


def test_the_readme_and_the_reference_call_no_other_command():
    assert called() <= set(COMMANDS)
