"""The experiments that have a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from nuggeteer.reports.terminal import plain, table
from nuggeteer.trust.experiments.definition import Definition


def as_json(definitions: Mapping[str, Definition]) -> dict[str, Any]:
    return {
        "experiments": [
            {"experiment": name, "title": one.title, "source": one.source} for name, one in definitions.items()
        ]
    }


def draw(out: Console, definitions: Mapping[str, Definition]) -> None:
    rows = [[plain(name), plain(one.title), plain(one.source)] for name, one in definitions.items()]
    out.print(table("", [("experiment", "left"), ("what", "wrap"), ("source", "wrap")], rows))
