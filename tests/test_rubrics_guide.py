"""The guide to rubrics, done: its commands run as they stand, and print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests import excerpts
from tests.conftest import ROOT

PAGE = ROOT / "docs/guides/rubrics.md"


def test_the_commands_run_and_print_what_the_page_shows(tmp_path):
    blocks = re.findall(r"```(sh|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = [block if language == "sh" else "echo '=== shown'" for language, block in blocks]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", "\n".join(script)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shown = [block for language, block in blocks if language == "text"]
    printed = done.stdout.split("=== shown\n")
    assert len(printed) == len(shown) + 1
    for block, before in zip(shown, printed, strict=False):
        excerpts.check(PAGE, block, [line.rstrip() for line in before.splitlines()])
