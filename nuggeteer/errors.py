"""Problems with the input, and how they are reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

SHOWN = 10
_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"|[0-9]+")
LONGEST_NAME = 200  # of a wrong name that is compared with the right ones
_SAME, _SAME_SHARE = 3, 0.1  # questions with the same answer, and their share, from which that is strange


class NuggeteerError(Exception):
    """The base class of our errors. The command line prints the message and exits with 2."""


class NoSuchName(NuggeteerError, KeyError):
    """A name that is not there, with those that are."""

    __str__ = Exception.__str__  # KeyError's is the repr of the message


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in one place: what it is, and what to do about it.

    An `error` would make a score wrong, so reading stops. A `warning` is reported, and work goes on.
    """

    file: str
    line: int | None
    what: str
    remedy: str
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.what}; {self.remedy}"


class InputError(NuggeteerError):
    """Input that cannot be used, with every problem that was found."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        errors = errors_in(self.problems) or list(self.problems)
        lines = [str(p) for p in errors[:SHOWN]]
        if len(errors) > SHOWN:
            lines.append(f"... and {len(errors) - SHOWN} more (nuggeteer check lists all of a collection)")
        super().__init__("\n".join(lines))


def fail(file: object, what: str, remedy: str, line: int | None = None) -> InputError:
    """The error for a single problem, ready to raise."""
    return InputError([Problem(str(file), line, what, remedy)])


def stop_at_errors(problems: Sequence[Problem]) -> None:
    """Raise the error that has all problems, unless they are only warnings."""
    if errors_in(problems):
        raise InputError(problems)


def errors_in(problems: Iterable[Problem]) -> list[Problem]:
    """Those that stop the reading."""
    return [problem for problem in problems if problem.severity == "error"]


def same_answers(file: object, answers: Sequence[tuple[str, ...]], run: str = "") -> Iterator[Problem]:
    """A warning about an answer that many questions have, given the texts of each."""
    for texts, count in Counter(answers).most_common():
        if count < max(_SAME, _SAME_SHARE * len(answers)):
            break
        if said := " ".join(" ".join(texts).split()):
            what = f"{run and f'{run}: '}{count} questions have the same answer, {said!r:.60}"
            remedy = "if that is a refusal or an error, see why; it is scored like any other"
            yield Problem(str(file), None, what, remedy, "warning")
            return


def by_kind(problems: Sequence[Problem]) -> list[list[Problem]]:
    """The problems of each file that differ only in quoted names and numbers, together."""
    kinds: dict[tuple[str, str, str], list[Problem]] = {}
    for p in problems:
        kinds.setdefault((p.file, _NAMES.sub("", p.what), _NAMES.sub("", p.remedy)), []).append(p)
    return list(kinds.values())


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """A question for the name that is most like a wrong one, and a space; "" if none is like it."""
    from difflib import get_close_matches

    by_form = {name.casefold(): name for name in known}
    close = get_close_matches(wrong.casefold()[:LONGEST_NAME], by_form, 1)
    return f"did you mean {by_form[close[0]]}? " if close else ""
