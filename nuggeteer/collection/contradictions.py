"""Checks across judgements: contradictions, retractions without effect, unknown runs, torn lines set aside."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from nuggeteer.errors import Problem
from nuggeteer.formats.judgements import Anything, Verdict
from nuggeteer.formats.sentences import responses_in
from nuggeteer.records import Judgement, Retraction
from nuggeteer.settings import Split
from nuggeteer.text import verdict_form, words


def contradictions(verdicts: Sequence[Verdict]) -> Iterator[Problem]:
    """A yes and a no on the same nugget and text."""
    for verdict, other in _opposed(verdicts, _verdict_form_in_scope):
        mine, yours = verdict.record, other.record
        by = f" by {yours.assessor!r}" if yours.assessor else ""
        if mine.assessor and mine.assessor == yours.assessor:
            by = f", by {mine.assessor!r} too,"
        what = f"this contradicts {other.place}{by} on nugget {mine.nugget!r} of {mine.qid!r}"
        if mine.text != yours.text:
            what += ", where the text differs only in what does not count"
        yield _warning(verdict, what, "the yes counts; settle it and delete one")


def contradicted_answers(verdicts: Sequence[Verdict], split: Split) -> Iterator[Problem]:
    """A no on a whole answer, and a yes on a response in it."""
    refused = [verdict for verdict in verdicts if verdict.record.scope == "answer" and not verdict.record.verdict]
    about = {(verdict.record.qid, verdict.record.nugget) for verdict in refused}
    found = {
        (v.record.qid, v.record.nugget, verdict_form(v.record.text)): v
        for v in reversed(verdicts)
        if v.record.verdict and v.record.scope == "response" and (v.record.qid, v.record.nugget) in about
    }
    for verdict in refused if found else ():
        record = verdict.record
        for text in responses_in(record.text, split):
            if other := found.get((record.qid, record.nugget, verdict_form(text))):
                what = f"this no on a whole answer contradicts {other.place}, a yes on a response in it"
                what += f", on nugget {record.nugget!r} of {record.qid!r}"
                yield _warning(verdict, what, "the yes counts; settle it and delete one")


def _verdict_form_in_scope(record: Judgement) -> str:
    return f"{record.scope} {verdict_form(record.text)}"


def _words_in_scope(record: Judgement) -> str:
    return f"{record.scope} {' '.join(words(record.text)) or verdict_form(record.text)}"


def near_contradictions(verdicts: Sequence[Verdict]) -> Iterator[Problem]:
    """A yes and a no on texts that have the same words in the same order."""
    for verdict, other in _opposed(verdicts, _words_in_scope):
        if verdict_form(verdict.record.text) != verdict_form(other.record.text):
            what = f"this is judged otherwise than {other.place} on nugget {verdict.record.nugget!r} of "
            what += f"{verdict.record.qid!r}, where the text differs in punctuation or accents only"
            yield _warning(verdict, what, "both count, each for its own text; see whether one of them is a slip")


def _opposed(verdicts: Sequence[Verdict], same: Callable[[Judgement], str]) -> Iterator[tuple[Verdict, Verdict]]:
    """Each verdict with the first before it that says the opposite of the same nugget and the `same` text."""
    verdicts_of: dict[tuple[str, str], set[bool]] = {}
    for _, _, record in verdicts:
        verdicts_of.setdefault((record.qid, record.nugget), set()).add(record.verdict)
    split = {nugget for nugget, both in verdicts_of.items() if len(both) == 2}
    first: dict[tuple[str, str, str, bool], Verdict] = {}
    for verdict in verdicts:
        _, _, record = verdict
        if (record.qid, record.nugget) in split:
            text = same(record)
            first.setdefault((record.qid, record.nugget, text, record.verdict), verdict)
            if other := first.get((record.qid, record.nugget, text, not record.verdict)):
                yield verdict, other


def idle_retractions(entries: Sequence[Anything], verdicts: Sequence[Verdict]) -> Iterator[Problem]:
    """Retractions that take nothing back."""
    if not any(isinstance(entry.record, Retraction) for entry in entries):
        return
    stand = {(verdict.file, verdict.line) for verdict in verdicts}
    gone = {
        (entry.record.assessor, entry.record.pair)
        for entry in entries
        if isinstance(entry.record, Judgement) and (entry.file, entry.line) not in stand
    }
    for entry in entries:
        if isinstance(entry.record, Retraction) and (entry.record.assessor, entry.record.pair) not in gone:
            what = (
                f"this takes nothing back: {entry.record.assessor!r} had not judged nugget {entry.record.nugget!r} of "
            )
            what += f"{entry.record.qid!r} on this text before"
            yield _warning(entry, what, "look for the verdict in a file that is missing, or delete the line")


def unknown_runs(verdicts: Sequence[Verdict], runs: Collection[str]) -> Iterator[Problem]:
    """Verdicts that name a run which is not there, by the first of each file."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.record.run is not None and verdict.record.run not in runs:
            found.setdefault((verdict.file, verdict.record.run), []).append(verdict)
    for (_, run), those in found.items():
        what = f"unknown run {run!r} ({len(those)} verdicts)"
        yield _warning(those[0], what, "fine if it was taken away; else correct the name: the verdicts hold in any run")


def set_aside(folder: Path) -> Iterator[Problem]:
    """Torn lines that were set aside."""
    for path in sorted(folder.glob("*.jsonl.torn-*")):
        if path.suffix != ".jsonl":
            what = "a torn line was set aside here: writing it was cut short, and nobody was told that it was written"
            yield Problem(str(path), None, what, "judge that pair again if need be, then delete this file", "warning")


def _warning(entry: Anything | Verdict, what: str, remedy: str) -> Problem:
    return Problem(entry.file, entry.line, what, remedy, "warning")
