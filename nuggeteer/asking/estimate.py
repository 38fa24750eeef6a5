"""What asking would cost, before anything is sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nuggeteer.asking.budget import Price, estimated_tokens
from nuggeteer.asking.calls import Call
from nuggeteer.asking.prompts import Prompt
from nuggeteer.asking.store import VerdictStore
from nuggeteer.settings import JudgeSettings


@dataclass(frozen=True)
class Estimate:
    """Calls that would be made and what they are likely to take. `known` nuggets have a verdict of this judge."""

    calls: int
    nuggets: int
    known: int
    input_tokens: int
    output_tokens: int
    price: float


def estimate(calls: Iterable[Call], store: VerdictStore, judge: JudgeSettings, prompt: Prompt) -> Estimate:
    """Of the calls, those that the store has no answer for."""
    count = nuggets = known = sent = replied = 0
    for call in calls:
        pending = call.only(store.is_open)
        known += len(call.nuggets) - len(pending.nuggets)
        if pending.nuggets:
            count += 1
            nuggets += len(pending.nuggets)
            tokens = estimated_tokens(pending.size(prompt), len(pending.nuggets))
            sent, replied = sent + tokens[0], replied + tokens[1]
    return Estimate(count, nuggets, known, sent, replied, Price.of(judge)(sent, replied))
