"""What became of verdicts that were imported."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from nuggeteer.collection.importing import Imported
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.terminal import plain

NOT_KNOWN = "These are a machine's verdicts: they are kept and compared, but do not count as known."
AS_TRUTH = "These are a machine's verdicts, and they count as a human's ([judgements] as_truth in nuggeteer.toml)."


def as_json(done: Imported) -> dict[str, Any]:
    return {
        "assessor": done.assessor,
        "file": str(done.ledger),
        "written": len(done.written),
        "already": done.already,
        "retracted": done.retracted,
        "withdrawn": done.withdrawn,
        "proposed": done.proposed,
        "unjudged": done.unjudged,
        "contradicting": done.contradicting,
        "machine": any(judgement.machine for judgement in done.written),
        "as_truth": done.as_truth,
        "problems": [str(problem) for problem in done.problems],
    }


def draw(out: Console, done: Imported) -> None:
    """What became of each verdict of the file."""
    out.print(
        plain(f"{counted(len(done.written), 'verdict')} of {done.assessor} written to {done.ledger}"), soft_wrap=True
    )
    for count, what in (
        (done.already, "were there already, and are not written again"),
        (done.retracted, f"were taken back by {done.assessor} since, and are not written again"),
        (done.unjudged, "without a verdict are left out"),
    ):
        if count:
            out.print(plain(f"{counted(count, 'row')} {what}"), soft_wrap=True)
    if done.withdrawn:
        what = f"{counted(done.withdrawn, 'earlier verdict')} of {done.assessor} taken back, as the file says"
        out.print(plain(what), soft_wrap=True)
    if done.proposed:
        what = f"{counted(done.proposed, 'nugget')} proposed for the key, in proposals.jsonl"
        out.print(plain(what), soft_wrap=True)
    if done.contradicting:
        verb = "contradicts" if done.contradicting == 1 else "contradict"
        what = f"{done.contradicting:,} of them {verb} another assessor; nuggeteer check lists which"
        out.print(plain(what), soft_wrap=True)
    if any(judgement.machine for judgement in done.written):
        out.print(AS_TRUTH if done.as_truth else NOT_KNOWN, soft_wrap=True)
