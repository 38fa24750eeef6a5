"""A briefing as JSON: the data of the HTML page, in the form of the commands that report the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from nuggeteer.comparing.gate import Decision
from nuggeteer.fields import Count, Number, Of, Part, Share, about, copied
from nuggeteer.history.briefing import Briefing
from nuggeteer.reports import changes, history, scores
from nuggeteer.reports.changes import GateResult, SightedNugget
from nuggeteer.reports.model import NuggetId, ReportedRun
from nuggeteer.thresholds.selection import Thresholds
from nuggeteer.trust.reliability import Reliability


class Evidence(SightedNugget, kw_only=True):
    """Where the new run has a nugget; or, if it does not, the response that comes nearest."""

    qid: str
    nugget: str

    def as_data(self) -> dict[str, Any]:
        return {"qid": self.qid, "nugget": self.nugget} | super().as_data()


class SuggestedPair(NuggetId, kw_only=True):
    """A guess worth judging, and its response."""

    probability: Annotated[Share | None, about("That it is a yes.")]
    share: Annotated[
        Number, about("The share of the judging variance that this verdict is expected to remove by itself.")
    ]
    text: str
    docid: str | None
    rank: Count
    marks: Annotated[Sequence[Of], about("[start, end) in characters (code points) of `text`.")]


class BriefedThresholds(Thresholds, kw_only=True):
    """Threshold models, compared."""

    nuggets: Annotated[Count, about("How many of the judged nuggets were used.")]
    judged_nuggets: Count


class BriefingOutput(Part):
    """Everything that the page says of one build."""

    collection: str
    new: Annotated[ReportedRun, about("The build that this is about.")]
    old: Annotated[ReportedRun | None, about("What it is compared with; null if there is nothing.")]
    decision: Annotated[Decision, about("What was recorded; without that, what today's verdicts decide.")]
    reason: Annotated[str, about("Why, in a sentence.")]
    today: Annotated[Decision, about("What today's verdicts decide.")]
    gates: Sequence[GateResult]
    scores: Annotated[Mapping[str, Any], about("As `nuggeteer score` writes them.")]
    changes: Annotated[
        Mapping[str, Any] | None, about("As `nuggeteer diff` writes them; null if there is nothing to compare with.")
    ]
    history: Annotated[
        Mapping[str, Any] | None, about("As `nuggeteer history` writes it; null if no build is recorded.")
    ]
    evidence: Sequence[Evidence]
    judge_next: Sequence[SuggestedPair]
    thresholds: Annotated[BriefedThresholds | None, about("null if nobody has judged anything.")]
    reliability: Annotated[
        Reliability | None, about("null where there are fewer than two groups of systems, or no judgements.")
    ]


def as_json(found: Briefing) -> dict[str, Any]:
    trust, nuggets = found.trust, found.key.nuggets
    # First, because guesses are explained question by question, and changes have the same guesses in another order.
    evidence = [
        copied(Evidence, changes.sighted(sighting), qid=nugget.qid, nugget=nugget.nugget)
        for nugget, sighting in zip(nuggets, found.sightings, strict=True)
    ]
    suggested = [(one.suggestion, nuggets[one.suggestion.nugget], one.passage) for one in found.suggested]
    return BriefingOutput(
        collection=found.collection,
        new=ReportedRun.of(found.new),
        old=ReportedRun.of(found.old) if found.old else None,
        decision=found.decision,
        reason=found.reason,
        today=found.ruling.decision,
        gates=[GateResult.of(gate) for gate in found.ruling.gates],
        scores=scores.as_json(found.scores),
        changes=changes.as_json(found.diff) if found.diff else None,
        history=history.as_json([(found.trend, found.timelines)], len(found.trend.builds))
        if found.trend and found.timelines
        else None,
        evidence=evidence,
        judge_next=[
            copied(
                SuggestedPair,
                passage,
                qid=nugget.qid,
                nugget=nugget.nugget,
                probability=suggestion.probability,
                share=suggestion.share,
            )
            for suggestion, nugget, passage in suggested
        ],
        thresholds=copied(BriefedThresholds, trust.thresholds, nuggets=trust.nuggets, judged_nuggets=trust.judged)
        if trust
        else None,
        reliability=trust.reliability if trust else None,
    ).as_data()
