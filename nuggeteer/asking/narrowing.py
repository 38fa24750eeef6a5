"""Asking a judge where its verdicts narrow a score, or a difference, until it is narrow enough or narrows no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nuggeteer.asking.calls import Call, Identity
from nuggeteer.asking.order import OpenNuggets, OrderedCalls, order_calls
from nuggeteer.asking.plan import VerdictPlan, plan_verdicts, source_of
from nuggeteer.asking.prompts import Prompt, find_prompt
from nuggeteer.asking.session import Asked
from nuggeteer.asking.store import VerdictStore
from nuggeteer.asking.worth import Worth, learn_worth
from nuggeteer.collection.folder import read_collection
from nuggeteer.measures import DEFAULT
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import JudgeSettings


@dataclass(frozen=True)
class AskingSubject:
    """What is asked about: the score of a run or, with `against`, its difference from another run. `measure` is by
    default the first one that applies to the key."""

    root: Path
    run: str
    against: str | None = None
    measure: str | None = None
    seed: int = 0


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
    def read(cls, subject: AskingSubject, judge: JudgeSettings, prompt: Prompt, store: VerdictStore) -> AskingPlan:
        state = _State.read(subject)
        worth = learn_worth(state.scorer.collection, state.scorer, store)
        open_ = state.open_.unasked(state.scorer.key, state.runs, store)
        return cls(worth, order_calls(state.scorer.key, state.runs, open_, worth, judge, prompt))


@dataclass(frozen=True)
class _State:
    """The subject with what is open, as of the verdicts on disk."""

    scorer: Scorer
    runs: list[MatchedRun]
    open_: OpenNuggets

    @classmethod
    def read(cls, subject: AskingSubject) -> _State:
        collection = read_collection(subject.root)
        scorer = Scorer(collection, [subject.measure] if subject.measure else DEFAULT, seed=subject.seed)
        scorer.measures = scorer.measures[:1]
        new = scorer.read(subject.run)
        old = scorer.read(subject.against) if subject.against is not None else None
        open_ = OpenNuggets.find(scorer, new, scorer.measures[0], old)
        return cls(scorer, [new] if old is None else [new, old], open_)


def plan_mixture(subject: AskingSubject, judges: Sequence[JudgeSettings], person: float, width: float) -> VerdictPlan:
    """The cheapest mixture of judges and a person that makes the judging part of a score so wide. What the judges have
    already said is in the guesses. New calls are planned for the other nuggets."""
    state, sources = _State.read(subject), []
    scorer, runs = state.scorer, state.runs
    for judge in judges:
        prompt = find_prompt(judge.prompt)
        store = VerdictStore(scorer.collection.root, Identity.of(judge, prompt))
        worth = learn_worth(scorer.collection, scorer, store)
        open_ = state.open_.unasked(scorer.key, runs, store)
        ordered = order_calls(scorer.key, runs, open_, worth, judge, prompt)
        sources.append(source_of(judge.name, scorer.key, state.open_, ordered, worth))
        store.close()
    names = [run.run.name for run in runs]
    against = names[1] if len(names) > 1 else None
    return plan_verdicts(state.open_, sources, person, width, names[0], against, scorer.measures[0].title)


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
    subject: AskingSubject,
    width: float | None,
    read: Callable[[AskingSubject], AskingPlan],
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
