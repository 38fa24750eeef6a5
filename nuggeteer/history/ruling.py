"""The gates of `[nightly]` applied to a build: whether it passes, and why."""

from __future__ import annotations

from dataclasses import dataclass

from nuggeteer.collection.folder import Collection
from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.gate import Decision, Gate, decide, surely_kept, surely_not_worse
from nuggeteer.display import Shown
from nuggeteer.errors import NuggeteerError
from nuggeteer.history.baseline import BriefedRun
from nuggeteer.history.store import History
from nuggeteer.measures import DEFAULT, Measure, headline, parse
from nuggeteer.scoring.scorer import Scorer


@dataclass(frozen=True, repr=False)
class Ruling(Shown):
    """What the gates say of a build. There are none on the first night, when there is nothing to compare with, and none
    where some questions are new: the `old` build was not asked them."""

    gates: tuple[Gate, ...]
    old: BriefedRun | None
    new_questions: tuple[str, ...] = ()

    @property
    def decision(self) -> Decision:
        return decide(self.gates) if self.gates else "UNDECIDED"

    @property
    def reason(self) -> str:
        if self.old is None:
            return "This is the first night, and there is nothing to compare it with."
        if self.new_questions:
            one = len(self.new_questions) == 1
            what = "1 question is" if one else f"{len(self.new_questions)} questions are"
            return f"{what} new since {self.old.title}. The next night can be compared."
        return ". ".join(gate.why for gate in self.gates if gate.decision == self.decision) + "."


def nightly_measure(collection: Collection) -> Measure:
    """The measure of `[nightly]`, or else the headline of such a key."""
    name = collection.settings.nightly.measure
    found = parse(name) if name else headline(collection.key)
    if found.by_text:
        raise NuggeteerError(
            f"[nightly] measure {found}: it compares texts, and gates need verdicts; name f3, or another"
        )
    return found


def nightly_scorer(collection: Collection, seed: int = 0, jobs: int = 1) -> Scorer:
    """The default measures, the one of `[nightly]` first."""
    first = nightly_measure(collection)
    measures = [first, *(measure for measure in DEFAULT if measure.name != first.name)]
    scorer = Scorer(collection, measures, seed=seed, jobs=jobs)
    if first not in scorer.measures:
        raise NuggeteerError(f"[nightly] measure {first}: these nuggets have no votes or weights to measure it by")
    return scorer


def rule(collection: Collection, history: History, old: BriefedRun | None, diff: Diff | None) -> Ruling:
    """The gates of the settings, applied to the change since the old build."""
    if old is None or diff is None:
        return Ruling((), old)
    if old.build:
        asked = history.asked(old.build.scoring.build)
        if new := tuple(question.qid for question in collection.key.questions if question.qid not in asked):
            return Ruling((), old, new)
    settings = collection.settings.nightly
    gates = [surely_not_worse(diff, settings.fail_if_worse)]
    if settings.max_lost_vital != "any":
        gates.append(surely_kept(diff, settings.max_lost_vital, settings.sure))
    return Ruling(tuple(gates), old)
