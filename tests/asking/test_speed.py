"""A whole track: 301 questions × 20 nuggets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.asking.fake_server import FakeServer

DELAY, WORKERS = 0.05, 8
# Says its own peak at the end. What a parent is told of a child begins at the parent's own size.
MEASURED = """
import re, sys
from pathlib import Path
from nuggeteer.cli.main import main
code = main(sys.argv[1:])
print(*re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_a_track_takes_the_time_that_concurrency_allows_in_300_mb(ask_folder):
    """The model takes 50 ms. Measured at the server: how many requests were open on average."""
    with FakeServer(delay=DELAY) as server:
        root = ask_folder(server, questions=301, copies=4, concurrency=WORKERS)
        command = [sys.executable, "-c", MEASURED, "ask", "night", "--all", "--collection", str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        peak = int(done.stderr.split()[-1])
        assert len(server.requests) == 602
        times = [request.at for request in server.requests]
        open_on_average = 602 * DELAY / (max(times) + DELAY - min(times))
        print(f"{open_on_average:.1f} of {WORKERS} open, {peak / 1024:.0f} MB")
        assert server.most_at_once == WORKERS
        assert open_on_average > WORKERS / 4  # on a machine that is busy with other things; else nearly all
        assert peak < 300_000
