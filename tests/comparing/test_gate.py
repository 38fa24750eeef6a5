"""Gates that decide only what is sure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.sample import copy_sample
from nuggeteer.comparing.diff import diff
from nuggeteer.comparing.gate import Gate, decide, surely_kept, surely_not_worse
from nuggeteer.statistics.intervals import Interval


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gate") / "sample"
    copy_sample(folder)
    return diff(read_collection(folder), "build-101", "build-102", ["f3"])


def with_interval(result, low, high):
    delta = result.headline
    return replace(result, deltas={"f3": replace(delta, interval=Interval(0.0, 0.0, low, high))})


def with_losses(result, *probabilities):
    """Only these vital nuggets may be lost."""
    loss = np.zeros(len(result.loss))
    loss[np.flatnonzero(result.key.vital)[: len(probabilities)]] = probabilities
    changes = tuple(replace(result.lost[0], probability=p) for p in probabilities if p >= 0.5)
    assert all(change.vital for change in changes)
    return replace(result, loss=loss, lost=changes)


@pytest.mark.parametrize(
    ("low", "high", "decision", "words"),
    [
        (-0.05, 0.2, "PASS", "is not worse by more than 0.05"),
        (0.0, 0.0, "PASS", "is not worse"),
        (-0.0501, 0.2, "UNDECIDED", "may or may not be worse by more than 0.05"),
        (-0.2, -0.05, "UNDECIDED", "may or may not be"),
        (-0.2, -0.0501, "FAIL", "is worse by more than 0.05"),
        (None, None, "UNDECIDED", "no interval"),
    ],
)
def test_the_score_gate_decides_when_the_interval_excludes_the_limit(result, low, high, decision, words):
    gate = surely_not_worse(with_interval(result, low, high), 0.05)
    assert gate.decision == decision
    assert words in gate.why
    assert gate.passed == (decision != "FAIL")


@pytest.mark.parametrize(
    ("probabilities", "decision", "why"),
    [
        ((), "PASS", "0 vital nuggets are surely lost; 1 is allowed"),
        ((0.99,), "PASS", "1 vital nugget is surely lost; 1 is allowed (def-01/7)"),
        ((0.99, 0.04), "PASS", "1 vital nugget is surely lost; 1 is allowed (def-01/7)"),
        ((0.99, 0.06), "UNDECIDED", "1 vital nugget is surely lost and 1 possibly; 1 is allowed (def-01/7)"),
        ((0.94, 0.94), "UNDECIDED", "0 vital nuggets are surely lost and 2 possibly; 1 is allowed"),
        ((0.95, 1.0, 0.5), "FAIL", "2 vital nuggets are surely lost and 1 possibly; 1 is allowed (def-01/7, def-01/7)"),
    ],
)
def test_the_gate_of_losses_counts_the_sure_ones_against_and_the_possible_ones_as_doubt(
    result, probabilities, decision, why
):
    gate = surely_kept(with_losses(result, *probabilities), 1, 0.95)
    assert (gate.decision, gate.why) == (decision, why)


@pytest.mark.parametrize(
    ("decisions", "together"),
    [
        ("PASS", "PASS"),
        ("PASS UNDECIDED", "UNDECIDED"),
        ("UNDECIDED FAIL PASS", "FAIL"),
    ],
)
def test_one_failure_decides_and_a_pass_takes_all(decisions, together):
    gates = [Gate("", d != "FAIL", "", decided=d != "UNDECIDED") for d in decisions.split()]
    assert decide(gates) == together
