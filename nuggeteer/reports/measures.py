"""What `nuggeteer score --help-measures` prints about each measure."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from nuggeteer.measures import ALL, FAMILIES
from nuggeteer.measures.base import Measure

WIDTH = 79
_LABELS = ("formula", "edge cases", "source")


def describe_measures() -> str:
    """Every measure with its formula, its edge cases and its source."""
    families = ", ".join(f"{name}1" for name in FAMILIES)
    heading = wrap(f"The F measures below have β = 3; write another β behind the name: {families}.", WIDTH)
    heading += wrap("Only rubric and strict_rubric count what is forbidden; the others leave it out.", WIDTH)
    return "\n".join([*heading, *(line for measure in ALL for line in ("", *_describe(measure)))])


def _describe(measure: Measure) -> Iterator[str]:
    yield measure.name
    indent = " " * (len(max(_LABELS, key=len)) + 4)
    for label, text in zip(_LABELS, (measure.formula, measure.edge_cases, measure.citation), strict=True):
        start = f"  {label}".ljust(len(indent))
        yield from wrap(text, WIDTH, initial_indent=start, subsequent_indent=indent, break_on_hyphens=False)
