"""What a language model was asked and replied, what it cost, and what it proposes for the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import field
from rich.console import Console

from nuggeteer.asking.calls import UnansweredPair
from nuggeteer.asking.replies import LABELS
from nuggeteer.fields import Count, Number, Part, about, copied
from nuggeteer.records import Importance
from nuggeteer.reports.formatting import counted, number, shortened
from nuggeteer.reports.terminal import say
from nuggeteer.settings import JudgeSettings

if TYPE_CHECKING:  # each call has one of these
    from nuggeteer.asking.narrowing import Narrowed
    from nuggeteer.asking.proposing import Proposed
    from nuggeteer.asking.session import Asked, CostEstimate

FAILED_SHOWN = 10
PROPOSED_SHOWN = 20
STOPPED = {
    "max-calls": "--max-calls is reached",
    "max-cost": "the next request might cost more than --max-cost leaves",
    "minutes": "--minutes are over",
    "no-gain": "the verdicts do not narrow the score",
}


class JudgeRun(Part):
    """A judge, and the run that it reads."""

    judge: str
    model: str
    run: str


class NarrowedWidth(Part):
    """How wide the guesses make the interval."""

    before: Number
    after: Annotated[Number, about("Now, or as expected.")]


class AskOutput(JudgeRun, kw_only=True):
    """What was asked now."""

    ledger: Annotated[str, about("The file of the verdicts.")]
    calls: Annotated[Count, about("That were answered now.")]
    requests: Annotated[Count, about("That were sent for these calls and for those that failed.")]
    verdicts: Annotated[
        Mapping[str, Count],
        about(f"How many nuggets got each label now: {', '.join(f'`{label}`' for label in LABELS)}."),
    ]
    failed: Annotated[Sequence[UnansweredPair], about("Nuggets without a verdict. They count for nothing.")]
    left: Annotated[Count, about("Nuggets that were not asked about, because of `stopped`.")]
    unneeded: Annotated[
        Count, about("Nuggets that were not asked about because their verdicts would hardly narrow the score.")
    ]
    width: Annotated[NarrowedWidth | None, about("null with `--all`.")]
    checked: Annotated[
        Count | None,
        about("How many nuggets people have judged of those that the judge has read; null with `--all`."),
    ]
    stopped: Annotated[
        str | None,
        about(
            f"What ended the session: {', '.join(f'`{why}`' for why in STOPPED)} or a sentence; null if nothing did."
        ),
    ]
    spent: Annotated[float, about("What was spent now, by the prices in the settings.")] = field(name="price")
    seconds: float


class EstimateOutput(JudgeRun, kw_only=True):
    """What asking would cost. Nothing is sent."""

    calls: Count
    nuggets: Count
    known: Annotated[Count, about("Nuggets that have a verdict of this judge.")]
    input_tokens: Annotated[Count, about("Estimated, as are the next two.")]
    output_tokens: Count
    price: float


class ProposedNugget(Part):
    """A fact that is new."""

    qid: str
    text: str
    importance: Importance
    response: Annotated[str, about("The passage that has most of its words.")] = field(name="from")
    docid: str | None


class UnansweredQuestion(Part):
    """A question without a reply that can be used."""

    qid: str
    reason: str


class ProposalsOutput(JudgeRun, kw_only=True):
    """Nuggets that a model proposes for the key."""

    texts: Annotated[Count, about("Texts that were asked about now.")]
    proposals: Sequence[ProposedNugget]
    repeated: Annotated[Count, about("Facts that were left out because they are known already.")]
    unfounded: Annotated[Count, about("Facts that were left out because the text does not have their words.")]
    failed: Sequence[UnansweredQuestion]
    left: Annotated[Count, about("Texts that were not asked about.")]
    spent: float = field(name="price")


def as_json(judge: JudgeSettings, run: str, asked: Asked, ledger: str, narrowed: Narrowed | None) -> dict[str, Any]:
    return copied(
        AskOutput,
        asked,
        **_who(judge, run),
        ledger=ledger,
        verdicts={label: asked.labels[label] for label in LABELS},
        width=narrowed,
        checked=narrowed and narrowed.checked,
    ).as_data()


def estimate_as_json(judge: JudgeSettings, run: str, estimate: CostEstimate) -> dict[str, Any]:
    return copied(EstimateOutput, estimate, **_who(judge, run)).as_data()


def proposals_as_json(judge: JudgeSettings, run: str, proposed: Proposed) -> dict[str, Any]:
    failed = [UnansweredQuestion(qid=qid, reason=reason) for qid, reason in proposed.failed]
    return copied(ProposalsOutput, proposed, **_who(judge, run), failed=failed).as_data()


def _who(judge: JudgeSettings, run: str) -> dict[str, str]:
    return {"judge": judge.name, "model": judge.model, "run": run}


def draw(
    out: Console, judge: JudgeSettings, run: str, asked: Asked, ledger: str, narrowed: Narrowed | None = None
) -> None:
    """A few lines, and the nuggets that have no verdict."""
    verdicts = ", ".join(f"{asked.labels[label]:,} {label}" for label in LABELS)
    requests = f" ({counted(asked.requests, 'request')})" if asked.requests != asked.calls else ""
    total = asked.labels.total()
    say(out, f"{judge.name} gave {counted(total, 'verdict')} on {run} in {counted(asked.calls, 'call')}{requests}.")
    if total:
        say(out, f"  {verdicts}; price {price(asked.spent)}; {asked.seconds:.0f} s", f"  They are in {ledger}.")
    failed = [pair for pair in asked.failed if pair.reason not in asked.unavailable]
    if failed:
        verb = "counts" if len(failed) == 1 else "count"
        say(out, f"{counted(len(failed), 'nugget')} without a verdict, which {verb} for nothing:")
        say(out, *(f"  {pair.qid}/{pair.nugget}: {pair.reason}" for pair in failed[:FAILED_SHOWN]))
        more = f"and {len(failed) - FAILED_SHOWN:,} more; " if len(failed) > FAILED_SHOWN else ""
        say(out, f"  {more}--again asks for {'it' if len(failed) == 1 else 'them'} again")
    if asked.unavailable and asked.calls:
        lost = len(asked.failed) - len(failed)
        about = f" about {counted(lost, 'nugget')}" if lost else ""
        say(out, f"No reply{about}: {'; '.join(sorted(asked.unavailable))}. The same command asks again.")
    if asked.left:
        why = STOPPED.get(asked.stopped or "", asked.stopped or "stopped")
        say(out, f"{counted(asked.left, 'nugget')} not asked about: {why}. The same command goes on.")
    if narrowed is not None:
        _draw_narrowed(out, judge, narrowed)


def _draw_narrowed(out: Console, judge: JudgeSettings, narrowed: Narrowed) -> None:
    asked = narrowed.asked
    if asked.unneeded:
        rest = counted(asked.unneeded, "nugget")
        say(out, f"{rest} not asked about: more verdicts would hardly narrow the score.")
    widths = f"{number(narrowed.before)} wide"
    if asked.labels:
        widths += f", and about {number(narrowed.after)} with these verdicts"
    if narrowed.width is not None and narrowed.after > narrowed.width and not asked.left:
        far = f"Not {number(narrowed.width)} wide: more verdicts of {judge.name} would hardly narrow the score."
        say(out, f"{far} nuggeteer plan says what would.")
    checked = f"People have judged {counted(narrowed.checked, 'nugget')} that {judge.name} has read"
    say(out, f"The guesses made the interval {widths}. {checked}. The more they judge, the more its verdicts tell.")


def draw_estimate(out: Console, judge: JudgeSettings, run: str, estimate: CostEstimate) -> None:
    """Says that nothing is sent."""
    calls, nuggets = counted(estimate.calls, "call"), counted(estimate.nuggets, "nugget")
    say(out, f"{judge.name} on {run}: {calls} about {nuggets}; {estimate.known:,} are answered already.")
    tokens = f"about {estimate.input_tokens:,} tokens to send and {estimate.output_tokens:,} to receive"
    say(out, f"  {tokens}; price about {price(estimate.price)}")
    if not judge.input_price and not judge.output_price:
        say(out, f"  [judge.{judge.name}] has no input_price and output_price, so this is free or unknown.")
    say(out, "Nothing was sent.")


def draw_proposals(out: Console, judge: JudgeSettings, run: str, proposed: Proposed) -> None:
    """What is new, and what was left out."""
    count = counted(len(proposed.proposals), "nugget")
    texts = counted(proposed.texts, "text")
    say(out, f"{judge.name} read {texts} of {run}, price {price(proposed.spent)}, and proposes {count}:")
    shown = proposed.proposals[:PROPOSED_SHOWN]
    say(out, *(f"  {one.qid} ({one.importance}): {shortened(one.text, 60)}" for one in shown))
    if len(proposed.proposals) > PROPOSED_SHOWN:
        say(out, f"  and {len(proposed.proposals) - PROPOSED_SHOWN:,} more")
    known = f"{counted(proposed.repeated, 'fact')} of the key or proposed before"
    say(out, f"Left out: {known}, {proposed.unfounded:,} whose words are not in the text.")
    say(out, *(f"No reply to use on {qid}: {reason}" for qid, reason in proposed.failed[:PROPOSED_SHOWN]))
    if proposed.left:
        say(out, f"{counted(proposed.left, 'text')} not asked about; the same command goes on.")
    say(out, "They are in proposals.jsonl. Nothing counts until somebody moves it to nuggets.jsonl and gives it an id.")


def price(value: float) -> str:
    """In the currency of the settings; small prices keep their first digits."""
    return f"{value:,.2f}" if value >= 1 or value == 0 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"
