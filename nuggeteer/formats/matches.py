"""The verdicts of a judge (a language model), or the scores of another matcher. JSON Lines of one of these kinds:

    {"qid", "nugget", "text", "score": 0..1}     or "verdict": true | false
                                                 or "assignment": "support" | "partial_support" | "not_support"
                                                 or "probability": 0..1, and "partial_probability"?
    AutoNuggetizer's assignments                 {"qid", "answer_text", "nuggets": [{"text", "assignment"}, ...]}

A verdict scores 1 or 0, and so do support and not_support; partial_support scores ½, and probabilities of both are
weighed in the same way. A probability beside an assignment says more, so it counts. With "scope": "answer", and in
AutoNuggetizer's files, `text` is the whole answer.

AutoNuggetizer's nuggets have no ids. Each is recognised by its text (`bundle.places`), as `convert` does. An assignment
that an LLM garbled scores 0 with a warning, as in AutoNuggetizer; `not_assigned` says nothing. Of two answers with the
same text, the higher score counts, with a warning. Other keys are ignored. Lines on unknown questions or nuggets are
not used, with a warning. Of two lines with `at` about one pair, the later one counts. Two different scores of one pair
without `at` are an error.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from nuggeteer.errors import Problem
from nuggeteer.fields import WrongField
from nuggeteer.formats.append import read_appended
from nuggeteer.formats.bundle import NOT_ASSIGNED, places
from nuggeteer.formats.jsonl import is_regular
from nuggeteer.records import AnswerKey, Nugget
from nuggeteer.text import normalised

KEYS = (
    *("qid", "nugget", "text", "score", "verdict", "assignment", "probability", "partial_probability"),
    *("scope", "run", "at", "served", "model", "answer_text", "nuggets"),
)
ASSIGNED = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}
_SCORES = ("score", "verdict", "assignment")


class Match(NamedTuple):
    """A verdict or score of one pair: the positions of the question and the nugget in the key, the text
    (`text.normalised`, and as it is `written`), the score, and how much of the score is a yes, None if it is a number
    of another kind. `whole` is set if the text is a whole answer. Where the file has them: `run` is the run that the
    text is from, `at` the time of the verdict, and `model` the model that gave it."""

    question: int
    nugget: int
    text: str
    written: str
    score: float
    yes: float | None
    whole: bool
    run: str | None = None
    at: str | None = None
    model: str | None = None


def read_matches(path: Path, key: AnswerKey, problems: list[Problem], every: bool = False) -> list[Match]:
    """The scores in a file, each pair once; or every line, in their order."""
    reader = _Reader(key, problems, str(path))
    for reader.line, record in read_appended(path, problems, KEYS) if is_regular(path, problems) else ():
        try:
            if "nuggets" in record:
                reader.assignments(record)
            else:
                qid, nugget, text = (_string(record, name) for name in ("qid", "nugget", "text"))
                if record.get("scope") not in (None, "response", "answer"):
                    raise WrongField(f"'scope' is {record['scope']!r:.60}", "write response or answer")
                reader.add(record, qid, nugget, text, *_score(record))
        except WrongField as wrong:
            problems.append(Problem(str(path), reader.line, *wrong.args))
    return reader.lines if every else [match for match, _, _ in reader.found.values()]


class _Reader:
    """Collects the scores of a file and its problems."""

    def __init__(self, key: AnswerKey, problems: list[Problem], file: str) -> None:
        self.key, self.problems, self.file, self.line = key, problems, file, 0
        # By nugget and text: what was said, when, and in which line.
        self.found: dict[tuple[int, str], tuple[Match, str, int]] = {}
        self.nuggets: dict[str, list[Nugget]] = defaultdict(list)
        for nugget in key.nuggets:
            self.nuggets[nugget.qid].append(nugget)
        self.lines: list[Match] = []
        self._normalised: dict[str, str] = {}  # a text has a line for each nugget

    def warn(self, what: str, remedy: str) -> None:
        self.problems.append(Problem(self.file, self.line, what, remedy, "warning"))

    def add(self, record: dict[str, Any], qid: str, nugget: str, text: str, score: float, yes: float | None) -> None:
        if (qid, nugget) not in self.key.nugget_position:
            what = (
                f"question {qid!r} has no nugget {nugget!r:.80}" if qid in self.key.position else f"no question {qid!r}"
            )
            self.warn(what, "the score is not used; correct the line, or nuggets.jsonl")
            return
        if text not in self._normalised:
            self._normalised[text] = normalised(text)
        same, position = self._normalised[text], self.key.nugget_position[qid, nugget]
        run, when, served, model = (
            value if isinstance(value := record.get(name), str) else None for name in ("run", "at", "served", "model")
        )
        whole = record.get("scope") == "answer" or "nuggets" in record
        match = Match(self.key.position[qid], position, same, text, score, yes, whole, run, when, served or model)
        self.lines.append(match)
        first, before, line = self.found.setdefault((position, same), (match, when or "", self.line))
        if before and when:
            if (when, self.line) > (before, line):
                self.found[position, same] = match, when, self.line
        elif first.score != score:
            what = f"line {line} has a different score of nugget {nugget!r} and this text"
            if "nuggets" not in record:
                raise WrongField(what, "keep one of them")
            self.warn(what, "the higher one counts")
            said = (match, when or "", self.line), self.found[position, same]
            self.found[position, same] = max(said, key=lambda one: one[0].score)

    def assignments(self, record: dict[str, Any]) -> None:
        """A line of AutoNuggetizer, whose nuggets are found by their texts, as `convert` finds them."""
        qid, text, listed = str(record.get("qid")), _string(record, "answer_text"), record["nuggets"]
        if not isinstance(listed, list) or not all(isinstance(nugget, dict) for nugget in listed):
            raise WrongField("'nuggets' is not a list of objects", 'write [{"text", "assignment"}, ...]')
        texts = [_string(nugget, "text") for nugget in listed]
        own = self.nuggets.get(qid, [])
        for nugget, words, place in zip(listed, texts, places(texts, own), strict=True):
            assignment = nugget.get("assignment")
            if assignment == NOT_ASSIGNED:
                continue
            if assignment not in tuple(ASSIGNED):
                self.warn(f"unknown assignment {assignment!r:.60}", f"it scores 0; write one of {', '.join(ASSIGNED)}")
            score = ASSIGNED.get(assignment, 0.0) if isinstance(assignment, str) else 0.0
            self.add(record, qid, words if place is None else own[place].nugget, text, score, float(score == 1))


def _string(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise WrongField(f"{key!r} is missing or not a string", "each line needs qid, nugget, text and a score")
    return value


def _score(record: dict[str, Any]) -> tuple[float, float | None]:
    """The score, and how much of it is a yes."""
    said = {key: record[key] for key in _SCORES if record.get(key) is not None}
    with_probability = record.get("probability") is not None
    if len(said) > 1 or (with_probability and "score" in said) or not (said or with_probability):
        both = " beside 'probability'" if with_probability else ""
        raise WrongField(f"{len(said)} of 'score', 'verdict' and 'assignment'{both}", "write exactly one of them")
    if with_probability:
        for key, value in said.items():
            _one_score(key, value)
        yes, partly = (_number(record, key) for key in ("probability", "partial_probability"))
        if yes + partly > 1.001:
            raise WrongField("the probabilities add up to more than 1", "write those of support and partial support")
        return min(yes + partly / 2, 1.0), yes
    ((key, value),) = said.items()
    score = _one_score(key, value)
    return score, None if key == "score" else float(score == 1)


def _one_score(key: str, value: Any) -> float:
    if key == "verdict" and isinstance(value, bool):
        return float(value)
    if key == "assignment" and isinstance(value, str) and value in ASSIGNED:
        return ASSIGNED[value]
    if key == "score" and _is_share(value):
        return float(value)
    allowed = {"score": "a number from 0 to 1", "verdict": "true or false", "assignment": ", ".join(ASSIGNED)}
    raise WrongField(f"{key!r} is {value!r:.60}", f"write {allowed[key]}")


def _number(record: dict[str, Any], key: str) -> float:
    value = record.get(key)
    if value is not None and not _is_share(value):
        raise WrongField(f"{key!r} is {value!r:.60}", "write a number from 0 to 1")
    return float(value or 0.0)


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
