"""Nuggeteer: which facts does each answer contain, and how sure are we?

    import nuggeteer as ng
    scores = ng.score("my-collection", ["build-102", "build-103"])
    scores["build-103"].measures["f3"]                        # Interval(value=..., low=..., high=...)
    ng.diff("my-collection", "build-102", "build-103").lost   # nuggets, with their probabilities

Names are imported when they are first used, so that `import nuggeteer` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nuggeteer.collection.checking import check
    from nuggeteer.collection.convert import convert_into, convert_out
    from nuggeteer.collection.doctor import Finding, examine
    from nuggeteer.collection.folder import Collection, read_collection
    from nuggeteer.collection.log import read_log
    from nuggeteer.collection.memory import make_collection, make_run
    from nuggeteer.collection.names import find_collection
    from nuggeteer.collection.sample import copy_sample
    from nuggeteer.collection.simulation import Shape, simulate
    from nuggeteer.comparing.comparison import Comparison, compare
    from nuggeteer.comparing.diff import Diff, diff
    from nuggeteer.comparing.gate import Gate, Ruling, rule
    from nuggeteer.errors import InputError, NoSuchName, NuggeteerError, Problem
    from nuggeteer.history.briefing import Briefing, brief
    from nuggeteer.history.nightly import Night, nightly
    from nuggeteer.history.store import History
    from nuggeteer.history.trend import NuggetTimelines, Trend, nugget_timelines, trends
    from nuggeteer.judging.reading_order import suggest
    from nuggeteer.matching.idf import write_table
    from nuggeteer.records import AnswerKey, Judgement, Nugget, Question, Response, Run, RunInfo
    from nuggeteer.scoring.outcomes import Outcome
    from nuggeteer.scoring.scorer import Scorer, compare_thresholds, score
    from nuggeteer.scoring.scores import RunScore, Scores
    from nuggeteer.settings import Match, Settings, Threshold
    from nuggeteer.statistics.intervals import Interval
    from nuggeteer.thresholds import FixedThreshold, ThresholdModel
    from nuggeteer.thresholds.selection import Thresholds
    from nuggeteer.trust.agreement import AssessorAgreement, agree
    from nuggeteer.trust.crossval import Crossval, crossval

_HOMES = {
    "collection.memory": ("make_collection", "make_run"),
    "collection.log": ("read_log",),
    "comparing.diff": ("Diff", "diff"),
    "comparing.gate": ("Gate", "Ruling", "rule"),
    "history.briefing": ("Briefing", "brief"),
    "history.nightly": ("Night", "nightly"),
    "history.trend": ("NuggetTimelines", "Trend", "nugget_timelines", "trends"),
    "trust.agreement": ("AssessorAgreement", "agree"),
    "trust.crossval": ("Crossval", "crossval"),
    "errors": ("InputError", "NoSuchName", "NuggeteerError", "Problem"),
    "judging.reading_order": ("suggest",),
    "matching.idf": ("write_table",),
    "collection.checking": ("check",),
    "collection.folder": ("Collection", "read_collection"),
    "collection.names": ("find_collection",),
    "comparing.comparison": ("Comparison", "compare"),
    "collection.convert": ("convert_into", "convert_out"),
    "collection.doctor": ("Finding", "examine"),
    "history.store": ("History",),
    "statistics.intervals": ("Interval",),
    "records": ("AnswerKey", "Judgement", "Nugget", "Question", "Response", "Run", "RunInfo"),
    "collection.sample": ("copy_sample",),
    "scoring.outcomes": ("Outcome",),
    "scoring.scorer": ("Scorer", "compare_thresholds", "score"),
    "scoring.scores": ("RunScore", "Scores"),
    "settings": ("Match", "Settings", "Threshold"),
    "collection.simulation": ("Shape", "simulate"),
    "thresholds": ("FixedThreshold", "ThresholdModel"),
    "thresholds.selection": ("Thresholds",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "AnswerKey",
    "AssessorAgreement",
    "Briefing",
    "Collection",
    "Comparison",
    "Crossval",
    "Diff",
    "Finding",
    "FixedThreshold",
    "Gate",
    "History",
    "InputError",
    "Interval",
    "Judgement",
    "Match",
    "Night",
    "NoSuchName",
    "Nugget",
    "NuggetTimelines",
    "NuggeteerError",
    "Outcome",
    "Problem",
    "Question",
    "Response",
    "Ruling",
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
    "Trend",
    "agree",
    "brief",
    "check",
    "compare",
    "compare_thresholds",
    "convert_into",
    "convert_out",
    "copy_sample",
    "crossval",
    "diff",
    "examine",
    "find_collection",
    "make_collection",
    "make_run",
    "nightly",
    "nugget_timelines",
    "read_collection",
    "read_log",
    "rule",
    "score",
    "simulate",
    "suggest",
    "trends",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"nuggeteer.{_HOME[name]}"), name)
    from nuggeteer.errors import did_you_mean

    raise AttributeError(f"module 'nuggeteer' has no attribute {name!r}; {did_you_mean(name, __all__)}".rstrip("; "))


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
