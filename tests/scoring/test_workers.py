"""Workers: what they write is there, what goes wrong in one is said, and a run is the same with any number of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.errors import NuggeteerError
from nuggeteer.scoring import matched_run, outcomes
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.workers import can_share, copies, work_on, zeros

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="one process does the work where none is forked")


def test_what_workers_write_is_there():
    squares, by = zeros(100, np.int64, 3), zeros((100, 2), np.int64, 3)

    def work(part):
        squares[part] = part * part
        by[part] = os.getpid(), part

    work_on(range(100), work, 3)
    assert squares.tolist() == [i * i for i in range(100)]
    assert by[:, 1].tolist() == list(range(100))
    workers = set(by[:, 0].tolist())
    assert len(workers) == 3
    assert os.getpid() in workers
    for worker in workers - {os.getpid()}:  # none is left
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def test_one_worker_is_this_process():
    found = []
    work_on("abc", found.append, 1)
    assert found == ["a", "b", "c"]
    assert zeros((2, 3), bool, 1).tolist() == [[False] * 3] * 2


@pytest.mark.parametrize(("jobs", "parts", "workers"), [(1, 9, 1), (2, 1, 1), (2, 9, 2), (8, 3, 3)])
def test_there_are_as_many_workers_as_there_is_work_for(jobs, parts, workers):
    assert can_share(jobs, parts) == workers


def test_an_error_in_a_worker_is_an_error():
    def work(part):
        if part == 3:
            raise NuggeteerError("the third part is wrong")

    with pytest.raises(NuggeteerError, match="the third part is wrong"):
        work_on(range(4), work, 2)


@pytest.mark.parametrize("texts", [[], [""], ["a", ""], ["a\nb", "c"], ["a\nb", "c\0"], ["é\ud800"]])
def test_copies_of_texts_are_the_texts(texts):
    """Whatever stands in them."""
    assert copies(texts) == texts


def test_a_worker_that_is_killed_is_an_error():
    def work(part):
        if part == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(NuggeteerError, match=r"ended early \(exit code -9\).*--jobs 1"):
        work_on(range(4), work, 2)


def test_a_worker_does_not_hear_an_interrupt():
    """A terminal interrupts it too; the command ends it."""
    found, command = zeros(4, np.int64, 2), os.getpid()

    def work(part):
        if os.getpid() != command:
            os.kill(os.getpid(), signal.SIGINT)
        found[part] = 1

    work_on(range(4), work, 2)
    assert found.tolist() == [1] * 4


ORPHAN = """
import os, signal, time
from nuggeteer.scoring.workers import work_on, zeros
command, begun = os.getpid(), zeros(1, bool, 2)
def work(part):
    if os.getpid() == command:
        while not begun[0]:
            time.sleep(0.01)
        os.kill(command, signal.SIGKILL)
    begun[0] = True
    while os.getppid() == command:
        time.sleep(0.01)
    print(part, flush=True)
work_on(range(10), work, 2)
"""


def test_a_worker_ends_after_its_part_when_the_command_was_killed():
    done = subprocess.run([sys.executable, "-c", ORPHAN], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGKILL, "1\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("judged", [0, 1])
def test_a_run_is_the_same_with_any_number_of_workers(tmp_path, monkeypatch, judged):
    """Also when it is read and drawn in many parts, with verdicts on some texts and with texts that repeat."""
    simulate(tmp_path / "c", Shape(questions=12, nuggets=5, systems=2, judged=judged, responses=6, words=5), seed=1)
    run = tmp_path / "c" / "runs" / "s2.jsonl"
    run.write_text(run.read_text() * 2)
    found = []
    for at_once, units, jobs in ((1_000_000, 512, 1), (50, 5, 1), (50, 5, 3)):
        monkeypatch.setattr(matched_run, "PAIRS_AT_ONCE", at_once)
        monkeypatch.setattr(outcomes, "UNITS", units)
        scorer = Scorer(read_collection(tmp_path / "c"), jobs=jobs)
        matched = scorer.read("s2")
        assert matched.is_repeat is not None
        outcome = scorer.find(matched)
        assert outcome.drawn is not None
        columns = (matched.scores, matched.states, matched.text, matched.length, matched.is_repeat)
        found.append([np.asarray(c).tobytes() for c in (*columns, outcome.drawn, outcome.probability, outcome.found)])
    assert found[0] == found[1] == found[2]
