"""The same experiment on a Dask cluster: a scheduler and two workers, processes of their own, on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.simulation import Shape, simulate

distributed = pytest.importorskip("distributed")
# Dask warns of what it does by itself, such as of a graph's size.
pytestmark = [pytest.mark.filterwarnings("default")]
PATIENCE = 60  # seconds, for a machine that has much to do

SCHEDULER = """
import asyncio, sys
from distributed import Scheduler
async def serve():
    async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(serve())
"""
WORKER = """
import asyncio, sys
from distributed import Worker
async def serve():
    async with Worker(sys.argv[1], nthreads=1, name=sys.argv[2], dashboard=False) as worker:
        print(worker.address, flush=True)
        await worker.finished()
asyncio.run(serve())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("cluster") / "simulated"
    simulate(path, Shape(questions=4, nuggets=3, systems=8, judged=8, responses=3), seed=2)
    return path


@pytest.fixture
def cluster(tmp_path):
    """(the scheduler's address, {address: process} of two workers)"""
    with ExitStack() as stack:

        def start(code, *arguments):
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-W", "ignore", "-c", code, *arguments],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    cwd=tmp_path,
                    env={**os.environ, "DASK_TEMPORARY_DIRECTORY": str(tmp_path)},
                )
            )
            stack.callback(process.kill)
            return process

        scheduler = start(SCHEDULER)
        address = scheduler.stdout.readline().strip()
        processes = [start(WORKER, address, name) for name in ("one", "two")]
        yield address, {process.stdout.readline().strip(): process for process in processes}


def results(path):
    return {key: value for key, value in json.loads(path.read_text()).items() if key != "seconds"}


def kill_one_at_work(address, workers, watching, killed):
    """Ends one worker for good when it has tasks. Until then it is stopped, so it cannot be done with them before."""
    victim, process = next(iter(workers.items()))
    with distributed.Client(address) as client:
        process.send_signal(signal.SIGSTOP)
        watching.set()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not killed:
            if client.processing().get(victim):
                killed.append(victim)
            time.sleep(0.01)
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["experiment", "crossval"])
def test_a_cluster_gives_the_same_to_the_bit_though_a_worker_dies_at_work(cluster, folder, tmp_path, command):
    address, workers = cluster
    definition = ["figure-5"] if command == "experiment" else []
    asked = [command, *definition, "--collection", str(folder), "--json"]
    assert main([*asked, str(tmp_path / "here.json")]) == 0
    killed: list[str] = []
    watching = threading.Event()
    killer = threading.Thread(target=kill_one_at_work, args=(address, workers, watching, killed))
    killer.start()
    assert watching.wait(PATIENCE)
    on_cluster = ["--backend", "dask", "--scheduler", address]
    try:
        assert main([*asked, str(tmp_path / "there.json"), *on_cluster]) == 0
    finally:
        killer.join(PATIENCE)
    assert len(killed) == 1
    assert results(tmp_path / "there.json") == results(tmp_path / "here.json")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--backend", "dask"], "--backend dask needs --scheduler ADDRESS"),
        (["--scheduler", "tcp://127.0.0.1:1"], "--backend dask needs --scheduler ADDRESS"),
        (["--backend", "dask", "--scheduler", "nonsense://"], "no Dask scheduler answers"),
    ],
)
def test_what_is_wrong_with_the_cluster_is_said(folder, capsys, arguments, says):
    assert main(["crossval", "--collection", str(folder), *arguments]) == 2
    assert says in capsys.readouterr().err
