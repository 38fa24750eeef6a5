"""Nuggeteer: which facts does each answer contain, and how sure are we?

    import nuggeteer as ng
    collection = ng.read_collection("my-collection")
    scores = ng.score(collection, ["build-102", "build-103"])
    scores["build-103"].measures["f3"]          # Interval(value=..., low=..., high=...)

Names are imported when they are first used, so that `import nuggeteer` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuggeteer.collection.convert import convert_into, convert_out
    from nuggeteer.collection.folder import Collection, check, read_collection
    from nuggeteer.collection.names import find_collection
    from nuggeteer.collection.sample import copy_sample
    from nuggeteer.collection.simulation import Shape, simulate
    from nuggeteer.comparing.comparison import Comparison, compare
    from nuggeteer.errors import InputError, NuggeteerError, Problem
    from nuggeteer.history.store import History
    from nuggeteer.history.trend import nugget_timelines, trends
    from nuggeteer.records import AnswerKey, Judgement, Nugget, Question, Response, Run, RunInfo
    from nuggeteer.scoring.outcomes import Outcome
    from nuggeteer.scoring.scorer import RunScore, Scorer, Scores, Thresholds, compare_thresholds, score
    from nuggeteer.settings import Match, Settings, Threshold
    from nuggeteer.statistics.intervals import Interval
    from nuggeteer.thresholds import FixedThreshold, ThresholdModel

_HOMES = {
    "collection.folder": ("Collection", "check", "read_collection"),
    "collection.names": ("find_collection",),
    "comparing.comparison": ("Comparison", "compare"),
    "collection.convert": ("convert_into", "convert_out"),
    "errors": ("InputError", "NuggeteerError", "Problem"),
    "history.store": ("History",),
    "statistics.intervals": ("Interval",),
    "records": ("AnswerKey", "Judgement", "Nugget", "Question", "Response", "Run", "RunInfo"),
    "collection.sample": ("copy_sample",),
    "scoring.outcomes": ("Outcome",),
    "scoring.scorer": ("RunScore", "Scorer", "Scores", "Thresholds", "compare_thresholds", "score"),
    "settings": ("Match", "Settings", "Threshold"),
    "collection.simulation": ("Shape", "simulate"),
    "history.trend": ("nugget_timelines", "trends"),
    "thresholds": ("FixedThreshold", "ThresholdModel"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AnswerKey",
    "Collection",
    "Comparison",
    "FixedThreshold",
    "History",
    "InputError",
    "Interval",
    "Judgement",
    "Match",
    "Nugget",
    "NuggeteerError",
    "Outcome",
    "Problem",
    "Question",
    "Response",
    "Run",
    "RunInfo",
    "RunScore",
    "Scorer",
    "Scores",
    "Settings",
    "Shape",
    "Threshold",
    "ThresholdModel",
    "Thresholds",
    "check",
    "compare",
    "compare_thresholds",
    "convert_into",
    "convert_out",
    "copy_sample",
    "find_collection",
    "nugget_timelines",
    "read_collection",
    "score",
    "simulate",
    "trends",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"nuggeteer.{_HOME[name]}"), name)
    raise AttributeError(f"module 'nuggeteer' has no attribute {name!r}")
