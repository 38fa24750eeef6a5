"""The measures. Each is a value, and goes by the same name in Python, on the command line and in tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from nuggeteer.errors import NuggeteerError, did_you_mean
from nuggeteer.measures.base import Answers, Measure
from nuggeteer.measures.kinds import (
    AUTONUGGETIZER,
    WHOLE_ANSWERS,
    f,
    macro_f,
    pourpre_f,
    precision,
    pyramid_f,
    recall,
    rubric,
    strict_rubric,
)
from nuggeteer.records import AnswerKey

__all__ = ["ALL", "DEFAULT", "FAMILIES", "FIXED", "Answers", "Measure", "applicable", "headline", "is_measure", "parse"]

FIXED = {m.name: m for m in (recall, precision, rubric, strict_rubric, *AUTONUGGETIZER, *WHOLE_ANSWERS)}
FAMILIES = {"f": f, "pyramid_f": pyramid_f, "macro_f": macro_f, "pourpre_f": pourpre_f}
DEFAULT = (f(3), recall, precision, pyramid_f(3), macro_f(3))
ALL = (*DEFAULT, rubric, strict_rubric, *AUTONUGGETIZER, pourpre_f(3), *WHOLE_ANSWERS)


def parse(name: str) -> Measure:
    """The measure with this name: f3, f1, recall, precision, pyramid_f3, macro_f3, vital_score, ..."""
    if name in FIXED:
        return FIXED[name]
    parts = re.fullmatch(r"(f|pyramid_f|macro_f|pourpre_f)(\d+(?:\.\d+)?)", name)
    if parts and float(parts[2]) > 0:
        return FAMILIES[parts[1]](float(parts[2]))
    known = ", ".join(["f3 (any β)", "pyramid_f3", "macro_f3", "pourpre_f3", *FIXED])
    raise NuggeteerError(f"no measure is called {name!r}; {did_you_mean(name, map(str, ALL))}there are {known}")


def applicable(measures: Sequence[str | Measure], key: AnswerKey) -> tuple[Measure, ...]:
    """The measures that apply to a key. It is an error if none of them does. Of a rubric, the default ones begin with
    the rubric's own."""
    if measures is DEFAULT and key.rubric:
        measures = (rubric, *DEFAULT)
    parsed = [measure if isinstance(measure, Measure) else parse(measure) for measure in measures]
    found = tuple(measure for measure in parsed if measure.applies(key))
    if parsed and not found:
        names = ",".join(measure.name for measure in parsed)
        raise NuggeteerError(f"{names}: these nuggets have no votes or weights to measure it by")
    return found


def headline(key: AnswerKey) -> Measure:
    """The measure that sums up an answer: F(3), or of a rubric the rubric's own."""
    return applicable(DEFAULT, key)[0]


def is_measure(name: str) -> bool:
    """Whether a measure goes by this name."""
    try:
        return parse(name).name == name
    except NuggeteerError:
        return False
