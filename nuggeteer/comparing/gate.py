"""Gates: rules that a diff passes or fails, each with its reason in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from nuggeteer.comparing.changes import Delta, NuggetChange
from nuggeteer.comparing.diff import Diff
from nuggeteer.display import p_value
from nuggeteer.errors import NuggeteerError
from nuggeteer.statistics.intervals import MIN_QUESTIONS, ROUNDING

PROBABLE_LOSS = 0.5
Decision = Literal["PASS", "FAIL", "UNDECIDED"]


@dataclass(frozen=True)
class Gate:
    """A rule applied: whether it holds, and why in one line. `lost` are the nuggets that it counted.

    A gate that is not `decided` passes, because it only fails on evidence."""

    rule: str
    passed: bool
    why: str
    lost: tuple[NuggetChange, ...] = ()
    decided: bool = True

    @property
    def decision(self) -> Decision:
        return "UNDECIDED" if not self.decided else "PASS" if self.passed else "FAIL"

    def __str__(self) -> str:
        return f"gate {'passed' if self.passed else 'failed'}: {self.why}"


def decide(gates: Sequence[Gate]) -> Decision:
    """Of all gates together: one that fails decides; otherwise each must be decided."""
    decisions = {gate.decision for gate in gates}
    return "FAIL" if "FAIL" in decisions else "UNDECIDED" if "UNDECIDED" in decisions else "PASS"


def not_worse(diff: Diff, by: float = 0.0, p: float | None = None) -> Gate:
    """Fails if the headline measure is lower by more than `by` and not just by chance: the whole 95 % interval of the
    difference is below −`by`. With `p`, fails if the difference is below −`by` and its p-value below `p`."""
    delta = diff.headline
    title, interval = delta.measure.title, delta.interval
    rule = f"{title} not worse by more than {by:g}"
    if _changed_alike(diff.headline):
        passed = (interval.value or 0.0) >= -by
        why = _same_change(diff.headline)
    elif interval.value is None or interval.low is None or interval.high is None or delta.p is None:
        raise NuggeteerError(f"{_no_interval(title)}: whether it is worse cannot be decided")
    elif p is None:
        passed = interval.high >= -by
        limits = f"{signed(interval.low)} to {signed(interval.high, -by)}"
        why = f"95 % interval of the change {limits}, {'not all' if passed else 'all'} of it below {_limit(by)}"
    elif interval.value >= -by:
        passed = True
        why = f"change {signed(interval.value, -by)}, not below {_limit(by)}"
    else:
        passed = delta.p >= p
        why = f"change {signed(interval.value, -by)}, below {_limit(by)}, and p {p_value(delta.p)}"
        why += f", {'not ' if passed else ''}below {p:g}"
    return Gate(rule, passed, f"{title} {delta.old:.3f} → {delta.new:.3f}, {why}")


def vital_kept(diff: Diff, most: int = 0, sure: float = PROBABLE_LOSS) -> Gate:
    """Fails if more than `most` vital nuggets are lost with a probability of at least `sure`. A forbidden nugget that
    is claimed now counts like one.

    A loss guessed by a model without probabilities counts as certain."""
    possible = [change for change in (*diff.lost, *diff.claimed, *diff.doubtful) if change.worse]
    lost = tuple(change for change in possible if change.probability is None or change.probability >= sure)
    names = ", ".join(f"{change.question.qid}/{change.nugget.nugget}" for change in lost[:5])
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    unsure = len(possible) - len(lost)
    why = f"{_losses(diff, len(lost))} with a probability of at least {sure:g}, {most} allowed"
    why += f": {names}{more}" if lost else ""
    why += f" ({unsure} less sure)" if unsure else ""
    return Gate(f"at most {_losses(diff, most)}", len(lost) <= most, why, lost)


def surely_not_worse(diff: Diff, by: float) -> Gate:
    """Passes if the whole 95 % interval of the change of the headline measure is at or above −`by`, fails if all of it
    is below, and is undecided otherwise."""
    title, interval = diff.headline.measure.title, diff.headline.interval
    rule = f"{title} not worse by more than {by:g}"
    if _changed_alike(diff.headline):
        return Gate(rule, (interval.value or 0.0) >= -by, f"{title}: {_same_change(diff.headline)}")
    if interval.low is None or interval.high is None:
        return Gate(rule, True, _no_interval(title), decided=False)
    worse = f"worse by more than {by:g}" if by else "worse"
    is_worse = "may or may not be" if interval.low < -by <= interval.high else "is" if interval.high < -by else "is not"
    limits = f"{signed(interval.low, -by)} and {signed(interval.high, -by)}"
    why = f"{title} {is_worse} {worse}: the change is between {limits}"
    return Gate(rule, interval.high >= -by, why, decided=is_worse != "may or may not be")


def surely_kept(diff: Diff, most: int, sure: float) -> Gate:
    """Fails if more than `most` vital nuggets are lost with a probability of at least `sure`. Passes if no more than
    `most` are lost with a probability above 1 − `sure`. Otherwise it is undecided. A forbidden nugget that is claimed
    now counts like a vital one lost."""
    gate = vital_kept(diff, most, sure)
    possible = len(possibly_lost(diff, sure))
    doubtful = max(possible - len(gate.lost), 0)
    be = "is" if len(gate.lost) == 1 else "are"
    why = f"{_losses(diff, len(gate.lost), f'{be} surely ')}" + (f" and {doubtful} possibly" if doubtful else "")
    why += f"; {most} {'is' if most == 1 else 'are'} allowed"
    if gate.lost:
        why += " (" + ", ".join(f"{change.question.qid}/{change.nugget.nugget}" for change in gate.lost[:3])
        why += f" and {len(gate.lost) - 3} more)" if len(gate.lost) > 3 else ")"
    return Gate(gate.rule, gate.passed, why, gate.lost, decided=not gate.passed or possible <= most)


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
    """Whether all of several questions changed by the same amount, which leaves no interval and no doubt."""
    changes = delta.by_question[~np.isnan(delta.by_question)]
    alike = len(changes) >= MIN_QUESTIONS and float(np.ptp(changes)) < ROUNDING
    return alike and delta.interval.low is None


def _same_change(delta: Delta) -> str:
    return f"the change is {signed(delta.interval.value or 0.0)} in every question"


def _no_interval(title: str) -> str:
    return f"{title} has no interval here, because that takes {MIN_QUESTIONS} questions for which it is defined"


def _losses(diff: Diff, nuggets: int, are: str = "") -> str:
    lost = f"{nuggets} vital nugget{'' if nuggets == 1 else 's'} {are}lost"
    return f"{lost} or forbidden one{'' if nuggets == 1 else 's'} claimed" if diff.key.forbidden.any() else lost


def _limit(by: float) -> str:
    return f"−{by:g}" if by else "0"


def signed(value: float, limit: float | None = None) -> str:
    """With a sign, to three digits, or to as many as distinguish it from `limit`. Zero has no sign."""
    if value == 0:
        return "0"
    digits = 3
    while limit is not None and value != limit and digits < 9 and round(value, digits) == round(limit, digits):
        digits += 1
    return f"{value:+.{digits}f}".replace("-", "−")
