"""A briefing as JSON: what the HTML page draws, in the shapes of the commands that say the same."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from nuggeteer.history.briefing import BriefedRun, Briefing
from nuggeteer.reports import as_json


def briefing(found: Briefing) -> dict[str, Any]:
    """`scores` is as from score, `changes` as from diff, `history` as from history, `thresholds` as from thresholds;
    null where there is nothing to say."""
    trust = found.trust
    return {
        "collection": as_json.named(found.collection),
        "new": _subject(found.new),
        "old": _subject(found.old) if found.old else None,
        "scores": as_json.scores(found.scores),
        "changes": as_json.changes(found.diff) if found.diff else None,
        "history": as_json.history([found.trend], [found.timelines], len(found.trend.builds))
        if found.trend and found.timelines
        else None,
        "evidence": [
            {"qid": nugget.qid, "nugget": nugget.nugget, **as_json.sighting_of(sighting)}
            for nugget, sighting in zip(found.key.nuggets, found.sightings, strict=True)
        ],
        "judge_next": [
            {
                "qid": found.key.nuggets[one.suggestion.nugget].qid,
                "nugget": found.key.nuggets[one.suggestion.nugget].nugget,
                "probability": one.suggestion.probability,
                "share": one.suggestion.share,
                "text": one.passage.text,
                "docid": one.passage.docid,
                "rank": one.passage.rank,
                "marks": [list(mark) for mark in one.passage.marks],
            }
            for one in found.suggested
        ],
        "thresholds": as_json.thresholds(trust.thresholds) | {"nuggets": trust.nuggets, "judged_nuggets": trust.judged}
        if trust
        else None,
        "reliability": asdict(trust.reliability) if trust and trust.reliability else None,
    }


def _subject(subject: BriefedRun) -> dict[str, Any]:
    return {
        "run": as_json.named(subject.run.name),
        "build": subject.build.scoring.build if subject.build else None,
        "label": subject.label,
        "time": subject.build.scoring.time if subject.build else None,
    }
