"""What a language model was asked and replied, and what it cost."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from nuggeteer.asking.estimate import Estimate
from nuggeteer.asking.narrowing import Narrowed
from nuggeteer.asking.replies import LABELS
from nuggeteer.asking.session import Asked
from nuggeteer.reports.formatting import counted, number
from nuggeteer.reports.terminal import plain
from nuggeteer.settings import JudgeSettings

FAILED_SHOWN = 10
STOPPED = {
    "max-calls": "--max-calls is reached",
    "max-cost": "the next request might cost more than --max-cost leaves",
    "minutes": "--minutes are over",
    "no-gain": "the verdicts do not narrow the score",
}


def as_json(judge: JudgeSettings, run: str, asked: Asked, ledger: str, narrowed: Narrowed | None) -> dict[str, Any]:
    """What was asked now; `left` nuggets were not, because of `stopped`."""
    return {
        "judge": judge.name,
        "model": judge.model,
        "run": run,
        "ledger": ledger,
        "calls": asked.calls,
        "requests": asked.requests,
        "verdicts": {label: asked.labels[label] for label in LABELS},
        "failed": [
            {"qid": pair.qid, "nugget": pair.nugget, "run": pair.run, "reason": pair.reason} for pair in asked.failed
        ],
        "left": asked.left,
        "unneeded": asked.unneeded,
        "width": None if narrowed is None else {"before": narrowed.before, "after": narrowed.after},
        "checked": None if narrowed is None else narrowed.checked,
        "stopped": asked.stopped,
        "price": asked.spent,
        "seconds": asked.seconds,
    }


def draw(
    out: Console, judge: JudgeSettings, run: str, asked: Asked, ledger: str, narrowed: Narrowed | None = None
) -> None:
    """A few lines, and the nuggets that have no verdict."""
    verdicts = ", ".join(f"{asked.labels[label]:,} {label}" for label in LABELS)
    requests = f" ({counted(asked.requests, 'request')})" if asked.requests != asked.calls else ""
    total = asked.labels.total()
    out.print(
        plain(f"{judge.name} gave {counted(total, 'verdict')} on {run} in {counted(asked.calls, 'call')}{requests}.")
    )
    if total:
        out.print(plain(f"  {verdicts}; price {price(asked.spent)}; {asked.seconds:.0f} s"))
        out.print(plain(f"  They are in {ledger}."))
    if asked.failed:
        out.print(plain(f"{counted(len(asked.failed), 'nugget')} without a verdict, which count for nothing:"))
        for pair in asked.failed[:FAILED_SHOWN]:
            out.print(plain(f"  {pair.qid}/{pair.nugget}: {pair.reason}"))
        if len(asked.failed) > FAILED_SHOWN:
            out.print(plain(f"  and {len(asked.failed) - FAILED_SHOWN:,} more; --again asks for them again"))
    if asked.left:
        why = STOPPED.get(asked.stopped or "", asked.stopped or "stopped")
        out.print(plain(f"{counted(asked.left, 'nugget')} not asked about: {why}. The same command goes on."))
    if narrowed is not None:
        _draw_narrowed(out, judge, narrowed)


def _draw_narrowed(out: Console, judge: JudgeSettings, narrowed: Narrowed) -> None:
    asked = narrowed.asked
    if asked.unneeded:
        rest = counted(asked.unneeded, "nugget")
        out.print(plain(f"{rest} not asked about: more verdicts would hardly narrow the score."))
    widths = f"{number(narrowed.before)} wide, and about {number(narrowed.after)} with these verdicts"
    if narrowed.width is not None and narrowed.after > narrowed.width and not asked.left:
        far = f"Not {number(narrowed.width)} wide: more verdicts of {judge.name} would hardly narrow the score."
        out.print(plain(f"{far} nuggeteer plan says what would."))
    checked = f"People have judged {counted(narrowed.checked, 'nugget')} that {judge.name} has read"
    out.print(
        plain(f"The guesses made the interval {widths}. {checked}. The more they judge, the more its verdicts tell.")
    )


def estimate_as_json(judge: JudgeSettings, run: str, estimate: Estimate) -> dict[str, Any]:
    return {
        "judge": judge.name,
        "model": judge.model,
        "run": run,
        "calls": estimate.calls,
        "nuggets": estimate.nuggets,
        "known": estimate.known,
        "input_tokens": estimate.input_tokens,
        "output_tokens": estimate.output_tokens,
        "price": estimate.price,
    }


def draw_estimate(out: Console, judge: JudgeSettings, run: str, estimate: Estimate) -> None:
    """Nothing is sent, and this says so."""
    calls, nuggets = counted(estimate.calls, "call"), counted(estimate.nuggets, "nugget")
    out.print(plain(f"{judge.name} on {run}: {calls} about {nuggets}; {estimate.known:,} are answered already."))
    tokens = f"about {estimate.input_tokens:,} tokens to send and {estimate.output_tokens:,} to receive"
    out.print(plain(f"  {tokens}; price about {price(estimate.price)}"))
    if not judge.input_price and not judge.output_price:
        out.print(plain(f"  [judge.{judge.name}] has no input_price and output_price, so this is free or unknown."))
    out.print("Nothing was sent.")


def price(value: float) -> str:
    """In the currency of the settings; small prices keep their first digits."""
    return f"{value:,.2f}" if value >= 1 or value == 0 else f"{value:.2g}" if value < 0.01 else f"{value:.3f}"
