"""The gates: whether a build may ship, with the reason in one line. Every door asks here: `nightly`, `diff`, pytest,
JUnit, Markdown, the pages, the history and the servers.

A gate asks about *these questions*: a suite is fixed, so only verdicts that nobody gave are unknown, and when all is
read the answer is exact. What the change means for questions like these stands in a second line. With
`about = "all"` the gate asks about such questions.

A gate decides once one answer is probable enough (`SURE`), and says how probable it is.

Nothing is decided by guesses of a model that nobody has taught; and a strange night (`strange`) must be looked at
before it passes.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from nuggeteer.comparing.builds import forms_of
from nuggeteer.comparing.changes import Delta, NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.display import chance, listed
from nuggeteer.fields import about
from nuggeteer.settings import SURE, About
from nuggeteer.statistics.intervals import MIN_QUESTIONS, ROUNDING, Interval
from nuggeteer.text import verdict_form

Decision = Literal["PASS", "FAIL", "UNDECIDED"]
Basis = Literal["read", "guessed", "nobody"]
BasisOrNone = Annotated[
    Basis | None,
    about(
        "What people have read: some of the new answers, only earlier ones, or nothing; null where no gate was applied."
    ),
]
LEAST_OPEN = round(100 * (1 - SURE)) + 1  # per cent that are printed of what is undecided
NOBODY = "Nobody has read any answer yet, so this cannot be decided."


@dataclass(frozen=True)
class Gate:
    """A rule applied. `probability` is that of a score below its limit, None for other rules and where nobody knows.
    `lost` are the nuggets that it counted, and `beyond` is what it means for other questions."""

    rule: str
    decision: Decision
    why: str
    probability: float | None = None
    lost: tuple[NuggetChange, ...] = ()
    beyond: str = ""

    def __str__(self) -> str:
        return f"{self.decision}: {self.why}"


@dataclass(frozen=True)
class Ruling:
    """All gates of a change together. `strange` says what is unlike other nights and must be looked at before anything
    passes. `reading` is the command that asks for the most telling verdicts; there is none if all that is strange are
    empty answers."""

    gates: tuple[Gate, ...]
    basis: Basis
    strange: tuple[str, ...] = ()
    reading: str = "nuggeteer judge"

    @property
    def decision(self) -> Decision:
        """Somebody must have judged something. Then one gate that fails decides; otherwise each must pass, and the
        night must not be strange."""
        if self.basis == "nobody":
            return "UNDECIDED"
        decisions = {gate.decision for gate in self.gates}
        if "FAIL" in decisions:
            return "FAIL"
        return "PASS" if decisions == {"PASS"} and not self.strange else "UNDECIDED"

    @property
    def title(self) -> str:
        return title_of(self.decision, self.basis)

    @property
    def reason(self) -> str:
        if self.basis == "nobody":
            return f"{NOBODY} Begin with: {self.reading}"
        if self.strange and self.decision == "UNDECIDED":
            read = (
                f"Read a few of these answers first: {self.reading}" if self.reading else "See why, and run it again."
            )
            return f"{self.strange[0]} {read}"
        return " ".join(f"{gate.why}." for gate in self.gates if gate.decision == self.decision)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What every door says beside decision and reason: that the night is strange, whatever was decided, and what
        the change means for other questions."""
        strange = [one for one in self.strange[:1] if not self.reason.startswith(one)]
        return (*strange, *(f"{gate.beyond}." for gate in self.gates if gate.beyond))


def title_of(decision: Decision, basis: Basis | None) -> str:
    """The decision; and if nobody has read what is new, that too."""
    return f"{decision} (guessed)" if decision != "UNDECIDED" and basis == "guessed" else decision


def rule(
    diff: Diff,
    by: float | None = None,
    most: int | None = None,
    sure: float = SURE,
    about: About = "these",
) -> Ruling:
    """The gates of a change: the headline measure is not worse by more than `by`, and no more than `most` vital nuggets
    are lost with a probability of at least `sure`. A gate that nobody asks for (None) is left out. Where nobody has
    judged anything, none fails."""
    gates = []
    if by is not None:
        gates.append(_not_worse(diff, by, about))
    if most is not None:
        gates.append(_kept(diff, most, sure))
    basis = basis_of(diff)
    if basis == "nobody":
        gates = [replace(gate, decision="UNDECIDED") if gate.decision == "FAIL" else gate for gate in gates]
    old = diff.old_run.label or diff.old_run.name
    reading = f"nuggeteer judge {shlex.quote(diff.new_run.name)} --against {shlex.quote(old)}"
    if basis != "nobody" and diff.strange and all(one.empty for one in diff.strange):
        reading = ""
    return Ruling(tuple(gates), basis, tuple(one.what for one in diff.strange), reading)


def basis_of(diff: Diff) -> Basis:
    """What people have read of it: all of it, or something that is new in tonight's answers; only what the answers had
    before; or nothing at all. A known nugget counts as read where no text of last night's answer has it already."""
    if not diff.anyone_judged:
        return "nobody"
    known = diff.new.known
    if known[diff.key.counted].all():
        return "read"
    before, after = (
        [frozenset(forms_of(run, question)) for question in range(len(diff.key.questions))]
        for run in (diff.old_run, diff.new_run)
    )
    new = np.array([bool(after[q] - before[q]) for q in range(len(after))], dtype=bool)
    if not new.any():
        return "read" if diff.new.pairs_known else "guessed"
    for i in np.flatnonzero(known & new[diff.key.question]).tolist():
        credited = diff.new.response[i] if diff.new.found[i] else -1
        if credited < 0 or verdict_form(diff.new_run.texts[credited]) not in before[diff.key.question[i]]:
            return "read"
    return "guessed"


def _not_worse(diff: Diff, by: float, about: About) -> Gate:
    delta = diff.headline
    title, interval = delta.measure.title, delta.interval
    where = "on these questions" if about == "these" else "for questions like these"
    rule_ = f"{title} not worse by more than {by:g}" + (f" {where}" if about == "all" else "")
    worse = f"worse by more than {by:g}" if by else "worse"
    if _changed_alike(delta):
        change = interval.value or 0.0
        how = f"changed by {signed(change)} in" if signed(change) != "0" else "is the same for"
        return Gate(rule_, "PASS" if change >= -by else "FAIL", f"{title} {how} every question")
    ends, below = delta.ends(about), delta.chance_below(-by, about)
    if ends is None or below is None:
        return Gate(rule_, "UNDECIDED", _no_interval(title, about, interval))
    decision: Decision = "FAIL" if below >= SURE else "PASS" if 1 - below >= SURE else "UNDECIDED"
    verb = {"PASS": "is not", "FAIL": "is", "UNDECIDED": "may be"}[decision]
    how = f"{chance(max(below, 1 - below))} sure"
    if decision == "UNDECIDED":
        how = f"{min(max(round(100 * below), LEAST_OPEN), 100 - LEAST_OPEN)} % probable"
    exact = ends[1] - ends[0] < ROUNDING and below in (0.0, 1.0)
    why = f"{title} {verb} {worse} {where}{'' if exact else f' ({how})'}: the change is {_between(*ends, -by)}"
    return Gate(rule_, decision, why, below, beyond=_beyond(delta, by, about))


def _beyond(delta: Delta, by: float, about: About) -> str:
    """What the change means for other questions, if the gate is about these."""
    ends = delta.ends("all")
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
    how = "surely" if sure > 0.9 else "probably"
    why = _losses(diff, len(lost), f"{how} ") + (f" and {doubtful} possibly" if doubtful else "")
    if doubtful and not lost:
        why = f"Up to {_losses(diff, doubtful, 'may be ')}, but none {how}"
    why += f"; {most or 'none'} {'are' if most > 1 else 'is'} allowed"
    if lost:
        why += f" ({listed([f'{change.question.qid}/{change.nugget.nugget}' for change in lost], 3)})"
    decision: Decision = "FAIL" if len(lost) > most else "PASS" if possible <= most else "UNDECIDED"
    counts = "" if sure == SURE else f", of those at least {100 * sure:g} % sure"
    return Gate(f"at most {_losses(diff, most)}{counts}", decision, why, lost=lost)


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
    if high - low < ROUNDING or signed(low, limit) == signed(high, limit):
        return "less than 0.0005" if low and signed(low, limit) == "0" else signed(low, limit)
    return f"between {signed(low, limit)} and {signed(high, limit)}"


def signed(value: float, limit: float | None = None) -> str:
    """With a sign, to three digits, or to as many as distinguish it from `limit`. Zero has no sign, and nothing that
    would be printed as zero has one."""
    digits = 3
    while limit is not None and value != limit and digits < 9 and round(value, digits) == round(limit, digits):
        digits += 1
    return f"{value:+.{digits}f}".replace("-", "−") if round(value, digits) else "0"
