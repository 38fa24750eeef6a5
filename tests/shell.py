"""Scripts that a page shows, run by a shell as a reader would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def environment(**more: str) -> dict[str, str]:
    """The variables of this process, with the commands of its environment first in the path."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", **more}


def run_script(script: str, folder: Path, timeout: int = 300, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a script that stops at the first error, with `more` variables."""
    return subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
