"""The values that every JSON report has. Keys that are in a report stay; more may come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # `check` needs neither, and they take a quarter of a second
    from nuggeteer.comparing.gate import Gate
    from nuggeteer.statistics.intervals import Interval


def file_name(name: str) -> str:
    """A file's name. Bytes that are not UTF-8 are written out, because JSON cannot hold them."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def interval_as_json(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {
        "value": interval.value,
        "hard": interval.hard,
        "low": interval.low,
        "high": interval.high,
        "judging": interval.judging,
        "sampling": interval.sampling,
    }


def gates_as_json(gates: Sequence[Gate]) -> list[dict[str, Any]]:
    return [{"rule": gate.rule, "decision": gate.decision, "why": gate.why} for gate in gates]
