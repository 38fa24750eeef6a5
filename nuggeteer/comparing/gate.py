"""The gates: whether a build may ship, with the reason in one line. Every door asks here: `nightly`, `diff`, pytest,
JUnit, Markdown, the pages, the history and the servers.

A gate asks about *these questions*: a suite is fixed, so only verdicts that nobody gave are unknown, and when all is
read the answer is exact. What the change means for questions like these stands in a second line. With
`about = "all"` the gate asks about such questions.

No build passes on guesses of a model that nobody has taught; and a strange night (`strange`) must be looked at first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nuggeteer.comparing.changes import Delta, NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.settings import About
from nuggeteer.statistics.intervals import MIN_QUESTIONS, ROUNDING, Interval

SURE = 0.95  # how probable a loss must be to fail a gate, unless somebody says otherwise
Decision = Literal["PASS", "FAIL", "UNDECIDED"]
Basis = Literal["read", "guessed", "nobody"]  # somebody read some of tonight's answers; only earlier ones; none at all
NOBODY = "Nobody has judged any answer yet, so nothing can pass. nuggeteer judge asks for the most telling verdicts"


@dataclass(frozen=True)
class Gate:
    """A rule applied. `lost` are the nuggets that it counted, and `beyond` is what it means for other questions."""

    rule: str
    decision: Decision
    why: str
    lost: tuple[NuggetChange, ...] = ()
    beyond: str = ""

    def __str__(self) -> str:
        return f"{self.decision}: {self.why}"


@dataclass(frozen=True)
class Ruling:
    """All gates of a change together. `strange` says what is unlike other nights and must be looked at before anything
    passes."""

    gates: tuple[Gate, ...]
    basis: Basis
    strange: tuple[str, ...] = ()

    @property
    def decision(self) -> Decision:
        """One gate that fails decides; otherwise each must pass, somebody must have judged something, and the night
        must not be strange."""
        decisions = {gate.decision for gate in self.gates}
        if "FAIL" in decisions:
            return "FAIL"
        passes = decisions == {"PASS"} and self.basis != "nobody" and not self.strange
        return "PASS" if passes else "UNDECIDED"

    @property
    def title(self) -> str:
        return title_of(self.decision, self.basis)

    @property
    def reason(self) -> str:
        if self.decision == "UNDECIDED":
            if self.basis == "nobody":
                return f"{NOBODY}."
            if self.strange:
                return f"{self.strange[0]} Read a few of these answers first: nuggeteer judge begins with them."
        return " ".join(f"{gate.why}." for gate in self.gates if gate.decision == self.decision)


def title_of(decision: Decision, basis: Basis | None) -> str:
    """The decision; and if nobody read any of the answers, that too."""
    return "PASS (guessed)" if decision == "PASS" and basis == "guessed" else decision


def rule(
    diff: Diff,
    by: float | None = None,
    most: int | None = None,
    sure: float = SURE,
    about: About = "these",
) -> Ruling:
    """The gates of a change: the headline measure is not worse by more than `by`, and no more than `most` vital nuggets
    are lost with a probability of at least `sure`. A gate that nobody asks for (None) is left out."""
    gates = []
    if by is not None:
        gates.append(_not_worse(diff, by, about))
    if most is not None:
        gates.append(_kept(diff, most, sure))
    return Ruling(tuple(gates), basis_of(diff), tuple(one.what for one in diff.strange))


def basis_of(diff: Diff) -> Basis:
    """What people have read of it."""
    if not diff.anyone_judged:
        return "nobody"
    return "read" if diff.new.pairs_known else "guessed"


def _not_worse(diff: Diff, by: float, about: About) -> Gate:
    delta = diff.headline
    title, interval = delta.measure.title, delta.interval
    rule_, worse = f"{title} not worse by more than {by:g}", f"worse by more than {by:g}" if by else "worse"
    if _changed_alike(delta):
        change = interval.value or 0.0
        return Gate(
            rule_, "PASS" if change >= -by else "FAIL", f"{title} changed by {signed(change)} in every question"
        )
    ends = interval.judging if about == "these" else _whole(interval)
    if ends is None:
        return Gate(rule_, "UNDECIDED", _no_interval(title, about, interval))
    low, high = ends
    decision: Decision = "PASS" if low >= -by else "FAIL" if high < -by else "UNDECIDED"
    verb = {"PASS": "is not", "FAIL": "is", "UNDECIDED": "may be"}[decision]
    where = "on these questions" if about == "these" else "for questions like these"
    why = f"{title} {verb} {worse} {where}: the change is {_between(low, high, -by)}"
    return Gate(rule_, decision, why, (), _beyond(delta, by, about))


def _beyond(delta: Delta, by: float, about: About) -> str:
    """What the change means for other questions, if the gate is about these."""
    ends = _whole(delta.interval)
    if about == "all" or ends is None:
        return ""
    return f"For questions like these, the change is {_between(*ends, -by)}"


def _kept(diff: Diff, most: int, sure: float) -> Gate:
    """A forbidden nugget that is claimed now counts like a vital one lost. A loss guessed by a model without
    probabilities counts as certain."""
    worse = [change for change in (*diff.lost, *diff.claimed, *diff.doubtful) if change.worse]
    lost = tuple(change for change in worse if change.probability is None or change.probability >= sure)
    possible = len(possibly_lost(diff, sure))
    doubtful = max(possible - len(lost), 0)
    why = _losses(diff, len(lost), "surely " if sure > 0.9 else "probably ")
    why += f" and {doubtful} possibly" if doubtful else ""
    why += f"; {most} {'is' if most == 1 else 'are'} allowed"
    if lost:
        why += " (" + ", ".join(f"{change.question.qid}/{change.nugget.nugget}" for change in lost[:3])
        why += f" and {len(lost) - 3} more)" if len(lost) > 3 else ")"
    decision: Decision = "FAIL" if len(lost) > most else "PASS" if possible <= most else "UNDECIDED"
    return Gate(f"at most {_losses(diff, most)}", decision, why, lost)


def possibly_lost(diff: Diff, sure: float) -> list[int]:
    """The positions in the key of the vital nuggets whose loss cannot be excluded at this level, and of the forbidden
    ones that may be claimed now. A loss guessed by a model without probabilities counts, and a nugget without a
    probability that was not lost does not."""
    old, new = diff.old.found, diff.new.found
    lost = np.where(np.isnan(diff.loss), old & ~new, diff.loss)
    claimed = np.where(np.isnan(diff.gain), new & ~old, diff.gain)
    probability = np.where(diff.key.vital, lost, np.where(diff.key.forbidden, claimed, 0.0))
    return [int(i) for i in np.flatnonzero(probability > 1 - sure)]


def _changed_alike(delta: Delta) -> bool:
    """Whether all of several questions changed by the same amount, which leaves no doubt."""
    changes = delta.by_question[~np.isnan(delta.by_question)]
    alike = len(changes) >= MIN_QUESTIONS and float(np.ptp(changes)) < ROUNDING
    return alike and delta.interval.low is None


def _whole(interval: Interval) -> tuple[float, float] | None:
    return None if interval.low is None or interval.high is None else (interval.low, interval.high)


def _no_interval(title: str, about: About, interval: Interval) -> str:
    if interval.value is None:
        return f"{title} is undefined in every question"
    if about == "these":
        return f"{title} is guessed by a threshold that cannot say how sure it is"
    return f"{title} has no interval here, because that takes {MIN_QUESTIONS} questions for which it is defined"


def _losses(diff: Diff, nuggets: int, how: str = "") -> str:
    lost = f"{nuggets} vital nugget{'' if nuggets == 1 else 's'} {how}lost"
    return f"{lost} or forbidden one{'' if nuggets == 1 else 's'} claimed" if diff.key.forbidden.any() else lost


def _between(low: float, high: float, limit: float) -> str:
    """A range of changes; a single one if it is exact."""
    if high - low < ROUNDING:
        return signed(low, limit)
    return f"between {signed(low, limit)} and {signed(high, limit)}"


def signed(value: float, limit: float | None = None) -> str:
    """With a sign, to three digits, or to as many as distinguish it from `limit`. Zero has no sign."""
    if value == 0:
        return "0"
    digits = 3
    while limit is not None and value != limit and digits < 9 and round(value, digits) == round(limit, digits):
        digits += 1
    return f"{value:+.{digits}f}".replace("-", "−")
