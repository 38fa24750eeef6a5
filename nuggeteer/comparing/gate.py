"""Gates: rules that a diff passes or fails, each with its reason in one line."""

from __future__ import annotations

from dataclasses import dataclass

from nuggeteer.comparing.diff import Diff, NuggetChange
from nuggeteer.errors import NuggeteerError

PROBABLE_LOSS = 0.5


@dataclass(frozen=True)
class Gate:
    """A rule applied: whether it holds, and why in one line. `lost` are the nuggets that it counted."""

    rule: str
    passed: bool
    why: str
    lost: tuple[NuggetChange, ...] = ()

    def __str__(self) -> str:
        return f"gate {'passed' if self.passed else 'failed'}: {self.why}"


def not_worse(diff: Diff, by: float = 0.0, p: float | None = None) -> Gate:
    """Fails if the headline measure is lower by more than `by` and not just by chance: the whole 95 % interval of the
    difference is below −`by`. With `p`, fails if the difference is below −`by` and its p-value below `p`."""
    delta = diff.headline
    title, interval = delta.measure.title, delta.interval
    if interval.value is None or interval.low is None or interval.high is None or delta.p is None:
        raise NuggeteerError(
            f"{title} has no interval here, because that takes two questions for which it is defined: "
            "whether it is worse cannot be decided"
        )
    rule = f"{title} not worse by more than {by:g}"
    if p is None:
        passed = interval.high >= -by
        limits = f"{signed(interval.low)} to {signed(interval.high, -by)}"
        why = f"95 % interval of the change {limits}, {'not all' if passed else 'all'} of it below {_limit(by)}"
    elif interval.value >= -by:
        passed = True
        why = f"change {signed(interval.value, -by)}, not below {_limit(by)}"
    else:
        passed = delta.p >= p
        why = f"change {signed(interval.value, -by)}, below {_limit(by)}, and p {delta.p:.4f}"
        why += f", {'not ' if passed else ''}below {p:g}"
    return Gate(rule, passed, f"{title} {delta.old:.3f} → {delta.new:.3f}, {why}")


def vital_kept(diff: Diff, most: int = 0, sure: float = PROBABLE_LOSS) -> Gate:
    """Fails if more than `most` vital nuggets are lost with a probability of at least `sure`.

    A loss guessed by a model without probabilities counts as certain."""
    lost = tuple(change for change in diff.vital_lost if change.probability is None or change.probability >= sure)
    names = ", ".join(f"{change.question.qid}/{change.nugget.nugget}" for change in lost[:5])
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    unsure = len(diff.vital_lost) - len(lost)
    why = f"{_count(len(lost))} lost with a probability of at least {sure:g}, {most} allowed"
    why += f": {names}{more}" if lost else ""
    why += f" ({unsure} less sure)" if unsure else ""
    return Gate(f"at most {_count(most)} lost", len(lost) <= most, why, lost)


def _count(nuggets: int) -> str:
    return f"{nuggets} vital nugget{'' if nuggets == 1 else 's'}"


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
