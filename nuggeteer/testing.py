"""Assertions for your own tests: a run is compared with its baseline, and a failure lists the nuggets.

from nuggeteer.testing import assert_no_vital_lost

def test_tonight():
    assert_no_vital_lost("build-103", baseline="build-102", collection="qa")
"""

from __future__ import annotations

from pathlib import Path

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.names import find_collection
from nuggeteer.comparing.diff import Diff, diff
from nuggeteer.comparing.gate import PROBABLE_LOSS, Gate, not_worse, vital_kept
from nuggeteer.measures import DEFAULT
from nuggeteer.measures.base import Measure
from nuggeteer.records import Run
from nuggeteer.text import escaped


def assert_no_vital_lost(
    run: str | Run,
    baseline: str | Run,
    collection: Collection | Path | str | None = None,
    *,
    most: int = 0,
    sure: float = PROBABLE_LOSS,
    seed: int = 0,
) -> Diff:
    """Fail if the run has lost more than `most` vital nuggets of the baseline. Only losses whose probability is
    at least `sure` count. Returns what changed.

    `collection` is a collection or its folder; by default, the nearest folder upwards."""
    __tracebackhide__ = True
    result = diff(_collection(collection), baseline, run, seed=seed)
    _check(vital_kept(result, most, sure), result)
    return result


def assert_not_worse(
    run: str | Run,
    baseline: str | Run,
    collection: Collection | Path | str | None = None,
    *,
    by: float = 0.0,
    p: float | None = None,
    measure: str | Measure = DEFAULT[0],
    seed: int = 0,
) -> Diff:
    """Fail if the run is worse than the baseline by more than `by`, as `--fail-if-worse` does: if the whole 95 %
    interval of the difference is below −`by` or, with `p`, if the difference is below −`by` and its p-value below `p`.
    Returns what changed."""
    __tracebackhide__ = True
    result = diff(_collection(collection), baseline, run, [measure], seed=seed)
    _check(not_worse(result, by, p), result)
    return result


def _collection(given: Collection | Path | str | None) -> Collection:
    return given if isinstance(given, Collection) else read_collection(given or find_collection())


def _check(gate: Gate, result: Diff) -> None:
    from nuggeteer.reports.change_words import in_words

    __tracebackhide__ = True
    if gate.passed:
        return
    lines = [f"{result.old_run.name} → {result.new_run.name}: {gate.why}"]
    for change in gate.lost or result.lost[:5]:
        first, *rest = in_words(change)
        lines += [f"  {first}", *(f"    {line}" for line in rest)]
    raise AssertionError("\n".join(map(escaped, lines)))
