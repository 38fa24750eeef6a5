"""A whole track: 301 questions × 20 nuggets."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from tests.asking.fake_server import FakeServer, Fault

WORKERS = 8
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
def test_a_track_is_asked_about_as_concurrency_allows_in_300_mb(ask_folder):
    """The model replies when as many requests are open as may be, and not before, so a worker that waits for another
    would stop all of them. What that takes in time is no fact."""
    all_open = threading.Barrier(WORKERS, timeout=60)
    with FakeServer() as server:
        requests = 602
        server.always = lambda request: Fault(until=None if len(server.requests) > requests - 2 else all_open.wait)
        root = ask_folder(server, questions=301, copies=4, concurrency=WORKERS)
        command = [sys.executable, "-c", MEASURED, "ask", "night", "--all", "--collection", str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        peak = int(done.stderr.split()[-1])
        assert len(server.requests) == requests
        assert server.most_at_once == WORKERS
        assert peak < 300_000
