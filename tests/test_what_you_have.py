"""The guide to bringing what one has, done: its commands run as they stand, and print what it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import excerpts
from tests.conftest import ROOT

NAME = "docs/guides/what-you-have.md"


@pytest.mark.slow
def test_the_commands_run_and_print_what_the_page_shows(tmp_path):
    blocks = re.findall(r"```(sh|text)\n(.*?)```", (ROOT / NAME).read_text(encoding="utf-8"), re.DOTALL)
    script = [
        block if language == "sh" else f"echo '=== before the output {number}'"
        for number, (language, block) in enumerate(blocks)
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", "\n".join(script)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = re.split(r"=== before the output \d+\n", done.stdout)
    shown = [block for language, block in blocks if language == "text"]
    assert len(shown) == 7
    for block, before in zip(shown, printed, strict=False):
        excerpts.check(ROOT / NAME, block, [line.rstrip() for line in before.splitlines()])
