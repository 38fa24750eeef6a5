"""Asking a judge where its verdicts narrow a score, or a difference, until it is narrow enough or narrows no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nuggeteer.asking.calls import Call, Identity
from nuggeteer.asking.order import OpenNuggets, OrderedCalls, order_calls
from nuggeteer.asking.plan import VerdictPlan, plan_verdicts, source_of
from nuggeteer.asking.prompts import Prompt, find_prompt
from nuggeteer.asking.session import Asked
from nuggeteer.asking.store import VerdictStore
from nuggeteer.asking.worth import Worth, learn_worth
from nuggeteer.judging.state import JudgingState, JudgingSubject
from nuggeteer.settings import JudgeSettings


@dataclass(frozen=True)
class AskingPlan:
    """The calls that would help, in their order, as of the verdicts on disk."""

    worth: Worth
    ordered: OrderedCalls

    @property
    def width(self) -> float:
        """The width of the judging part now."""
        return float(self.ordered.width[0])

    @classmethod
    def read(cls, subject: JudgingSubject, judge: JudgeSettings, prompt: Prompt, store: VerdictStore) -> AskingPlan:
        state = JudgingState.read(subject)
        worth = learn_worth(state.collection, state.scorer, store)
        open_ = _open_nuggets(state).unasked(state.key, state.matched_runs, store)
        return cls(worth, order_calls(state.key, state.matched_runs, open_, worth, judge, prompt))


def _open_nuggets(state: JudgingState) -> OpenNuggets:
    new, *old = state.matched_runs
    return OpenNuggets.find(state.scorer, new, state.measure, *old)


def plan_mixture(subject: JudgingSubject, judges: Sequence[JudgeSettings], person: float, width: float) -> VerdictPlan:
    """The cheapest mixture of judges and a person that makes the judging part of a score so wide. What the judges have
    already said is in the guesses. New calls are planned for the other nuggets."""
    state, sources = JudgingState.read(subject), []
    key, runs, every = state.key, state.matched_runs, _open_nuggets(state)
    for judge in judges:
        prompt = find_prompt(judge.prompt)
        store = VerdictStore(state.collection.root, Identity.of(judge, prompt))
        worth = learn_worth(state.collection, state.scorer, store)
        ordered = order_calls(key, runs, every.unasked(key, runs, store), worth, judge, prompt)
        sources.append(source_of(judge.name, key, every, ordered, worth))
        store.close()
    names = [run.run.name for run in runs]
    against = names[1] if len(names) > 1 else None
    return plan_verdicts(every, sources, person, width, names[0], against, state.measure.title)


@dataclass(frozen=True)
class Narrowed:
    """What has been asked so far, and how wide the judging part was at first and is expected to be now. If a width was
    asked for, it is the width after the last round."""

    asked: Asked
    before: float
    after: float
    checked: int  # pairs that humans have judged too, by which the judge's worth is known
    width: float | None  # that was asked for


def narrow(
    subject: JudgingSubject,
    width: float | None,
    read: Callable[[JudgingSubject], AskingPlan],
    ask: Callable[[list[Call]], Asked],
) -> Narrowed:
    """Ask until the judging part is `width` wide. Without a width, until more verdicts would hardly narrow it."""
    plan = read(subject)
    total, before = Asked(), plan.width
    while True:
        count = plan.ordered.enough(width)
        if width is not None and plan.width <= width:
            return Narrowed(total, before, plan.width, plan.worth.checked, width)
        total.add(ask(plan.ordered.calls[:count]))
        expected = float(plan.ordered.width[count])
        if width is None or total.stopped or not count:
            total.unneeded = sum(len(call.nuggets) for call in plan.ordered.calls[count:])
            after = expected if width is None else plan.width
            return Narrowed(total, before, after, plan.worth.checked, width)
        earlier, plan = plan.width, read(subject)
        if plan.width >= earlier:
            total.stopped = "no-gain"
