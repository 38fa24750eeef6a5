"""Match scores that other programs made, such as an LLM judge. JSON Lines of one of two kinds:

    {"qid", "nugget", "text", "score": 0..1}     or "verdict": true | false
                                                 or "assignment": "support" | "partial_support" | "not_support"
    AutoNuggetizer's assignments                 {"qid", "answer_text", "nuggets": [{"text", "assignment"}, ...]}

A verdict scores 1 or 0, and so do support and not_support; partial_support scores ½. AutoNuggetizer's nuggets have no
ids. Each is recognised as the nugget of its question that has the same words. An assignment that an LLM garbled scores
0 with a warning, as in AutoNuggetizer. Other keys are ignored. Lines on unknown questions or nuggets are not used, with
a warning. Two different scores of one pair are an error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from nuggeteer.errors import Problem
from nuggeteer.formats.fields import WrongField
from nuggeteer.formats.jsonl import is_regular, read_jsonl
from nuggeteer.records import AnswerKey
from nuggeteer.text import normalised

KEYS = ("qid", "nugget", "text", "score", "verdict", "assignment", "answer_text", "nuggets")
ASSIGNED = {"support": 1.0, "partial_support": 0.5, "not_support": 0.0}

Match = tuple[int, int, str, float]  # the positions of a question and a nugget in the key, a text, its score


def read_matches(path: Path, key: AnswerKey, problems: list[Problem]) -> list[Match]:
    """The scores in a file, each pair once, with normalised texts (`text.normalised`)."""
    reader = _Reader(key, problems, str(path))
    for reader.line, record in read_jsonl(path, problems, KEYS) if is_regular(path, problems) else ():
        try:
            if "nuggets" in record:
                reader.assignments(record)
            else:
                qid, nugget, text = (_string(record, name) for name in ("qid", "nugget", "text"))
                reader.add(qid, nugget, text, _score(record))
        except WrongField as wrong:
            problems.append(Problem(str(path), reader.line, *wrong.args))
    return [(question, nugget, text, score) for (nugget, text), (question, score, _) in reader.found.items()]


class _Reader:
    """Collects the scores of a file and its problems."""

    def __init__(self, key: AnswerKey, problems: list[Problem], file: str) -> None:
        self.key, self.problems, self.file, self.line = key, problems, file, 0
        self.found: dict[tuple[int, str], tuple[int, float, int]] = {}
        self.described: dict[tuple[str, str], list[str]] = defaultdict(list)
        for nugget in key.nuggets:
            for words in dict.fromkeys(map(normalised, nugget.descriptions)):
                self.described[nugget.qid, words].append(nugget.nugget)

    def warn(self, what: str, remedy: str) -> None:
        self.problems.append(Problem(self.file, self.line, what, remedy, "warning"))

    def add(self, qid: str, nugget: str, text: str, score: float) -> None:
        if (qid, nugget) not in self.key.nugget_position:
            what = (
                f"question {qid!r} has no nugget {nugget!r:.80}" if qid in self.key.position else f"no question {qid!r}"
            )
            self.warn(what, "the score is not used; correct the line, or nuggets.jsonl")
            return
        pair = self.key.nugget_position[qid, nugget], normalised(text)
        _, first_score, line = self.found.setdefault(pair, (self.key.position[qid], score, self.line))
        if first_score != score:
            raise WrongField(
                f"line {line} has a different score of nugget {nugget!r} and this text", "keep one of them"
            )

    def assignments(self, record: dict[str, Any]) -> None:
        """A line of AutoNuggetizer. Nuggets with the same words are taken in the order of the key."""
        qid, text, listed = str(record.get("qid")), _string(record, "answer_text"), record["nuggets"]
        if not isinstance(listed, list) or not all(isinstance(nugget, dict) for nugget in listed):
            raise WrongField("'nuggets' is not a list of objects", 'write [{"text", "assignment"}, ...]')
        count = Counter[str]()
        for nugget in listed:
            words = normalised(_string(nugget, "text"))
            nuggets, assignment = self.described.get((qid, words), []), nugget.get("assignment")
            if assignment not in tuple(ASSIGNED):
                self.warn(f"unknown assignment {assignment!r:.60}", f"it scores 0; write one of {', '.join(ASSIGNED)}")
            score = ASSIGNED.get(assignment, 0.0) if isinstance(assignment, str) else 0.0
            self.add(qid, nuggets[count[words]] if count[words] < len(nuggets) else words, text, score)
            count[words] += 1


def _string(record: dict[str, Any], key: str) -> str:
    value = record.get(key)
    if not isinstance(value, str):
        raise WrongField(f"{key!r} is missing or not a string", "each line needs qid, nugget, text and a score")
    return value


def _score(record: dict[str, Any]) -> float:
    scores = {key: record[key] for key in ("score", "verdict", "assignment") if record.get(key) is not None}
    if len(scores) != 1:
        raise WrongField(f"{len(scores)} of 'score', 'verdict' and 'assignment'", "write exactly one of them")
    ((key, value),) = scores.items()
    if key == "verdict" and isinstance(value, bool):
        return float(value)
    if key == "assignment" and isinstance(value, str) and value in ASSIGNED:
        return ASSIGNED[value]
    if key == "score" and isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1:
        return float(value)
    allowed = {"score": "a number from 0 to 1", "verdict": "true or false", "assignment": ", ".join(ASSIGNED)}
    raise WrongField(f"{key!r} is {value!r:.60}", f"write {allowed[key]}")
