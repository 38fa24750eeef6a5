"""A whole track: 301 questions × 20 nuggets."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.asking.fake_server import FakeServer

DELAY, WORKERS = 0.05, 8


@pytest.mark.slow
def test_a_track_takes_the_time_that_concurrency_allows_in_300_mb(ask_folder):
    """The model takes 50 ms. Measured at the server: how many requests were open on average."""
    with FakeServer(delay=DELAY) as server:
        root = ask_folder(server, questions=301, copies=4, concurrency=WORKERS)
        command = [sys.executable, "-m", "nuggeteer", "ask", "night", "--all", "--collection", str(root)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, process.communicate()
        assert len(server.requests) == 602
        times = [request.at for request in server.requests]
        open_on_average = 602 * DELAY / (max(times) + DELAY - min(times))
        print(f"{open_on_average:.1f} of {WORKERS} open, {usage.ru_maxrss / 1024:.0f} MB")
        assert server.most_at_once == WORKERS
        assert open_on_average > WORKERS / 4  # on a machine that is busy with other things; else nearly all
        assert usage.ru_maxrss < 300_000
        process.communicate()
