"""A briefing as JSON: the data of the HTML page, in the form of the commands that report the same."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from nuggeteer.history.baseline import BriefedRun
from nuggeteer.history.briefing import Briefing
from nuggeteer.reports import changes, history, scores, thresholds
from nuggeteer.reports.model import GateResult, file_name


def as_json(found: Briefing) -> dict[str, Any]:
    """`scores`, `changes`, `history` and `thresholds` have the form of the commands score, diff, history and
    thresholds. They are null if there is nothing to report."""
    trust = found.trust
    # First, because guesses are explained question by question, and changes have the same ones in another order.
    evidence = [
        {"qid": nugget.qid, "nugget": nugget.nugget, **changes.sighted(sighting).as_data()}
        for nugget, sighting in zip(found.key.nuggets, found.sightings, strict=True)
    ]
    return {
        "collection": file_name(found.collection),
        "new": _subject(found.new),
        "old": _subject(found.old) if found.old else None,
        "decision": found.decision,
        "reason": found.reason,
        "today": found.ruling.decision,
        "gates": [GateResult.of(gate).as_data() for gate in found.ruling.gates],
        "scores": scores.as_json(found.scores),
        "changes": changes.as_json(found.diff) if found.diff else None,
        "history": history.as_json([(found.trend, found.timelines)], len(found.trend.builds))
        if found.trend and found.timelines
        else None,
        "evidence": evidence,
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
        "thresholds": thresholds.as_json(trust.thresholds) | {"nuggets": trust.nuggets, "judged_nuggets": trust.judged}
        if trust
        else None,
        "reliability": asdict(trust.reliability) if trust and trust.reliability else None,
    }


def _subject(subject: BriefedRun) -> dict[str, Any]:
    return {
        "run": file_name(subject.run.name),
        "build": subject.build.scoring.build if subject.build else None,
        "label": subject.label,
        "time": subject.build.scoring.time if subject.build else None,
    }
