"""Checks across judgements: contradictions, retractions without effect, unknown runs, and torn lines."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from nuggeteer.errors import Problem
from nuggeteer.formats.canonical import Anything, Verdict
from nuggeteer.formats.sentences import responses_in
from nuggeteer.records import Judgement, Retraction
from nuggeteer.settings import Split
from nuggeteer.text import verdict_form, words


def contradictions(verdicts: Sequence[Verdict]) -> Iterator[Problem]:
    """A yes and a no on the same nugget and text."""
    for verdict, earlier in _opposed(verdicts, verdict_form):
        record, opposite = verdict.record, earlier.record
        by = f" by {opposite.assessor!r}" if opposite.assessor else ""
        if record.assessor and record.assessor == opposite.assessor:
            by = f" by {record.assessor!r} too"
        what = f"this contradicts {earlier.location}{by} on nugget {record.nugget!r} of {record.qid!r}"
        if record.text != opposite.text:
            what += ", where the text differs only in parts that do not matter"
        yield _warning(verdict, what, "the yes counts; decide which is right and delete the other")


def contradicted_answers(verdicts: Sequence[Verdict], split: Split) -> Iterator[Problem]:
    """A no on a whole answer, and a yes on a response in it."""
    refused = [verdict for verdict in verdicts if verdict.record.scope == "answer" and not verdict.record.verdict]
    about = {(verdict.record.qid, verdict.record.nugget) for verdict in refused}
    found = {
        (v.record.qid, v.record.nugget, verdict_form(v.record.text)): v
        for v in reversed(verdicts)
        if v.record.verdict and v.record.scope == "response" and (v.record.qid, v.record.nugget) in about
    }
    inside: dict[str, list[str]] = {}
    for verdict in refused if found else ():
        record = verdict.record
        if record.text not in inside:
            inside[record.text] = responses_in(record.text, split)
        for text in inside[record.text]:
            if credited := found.get((record.qid, record.nugget, verdict_form(text))):
                what = f"this no on a whole answer contradicts {credited.location}, a yes on a response in it"
                what += f", on nugget {record.nugget!r} of {record.qid!r}"
                yield _warning(verdict, what, "the yes counts; decide which is right and delete the other")


def near_contradictions(verdicts: Sequence[Verdict]) -> Iterator[Problem]:
    """A yes and a no on texts that have the same words in the same order."""
    joined = dict[str, str]()

    def words_of(text: str) -> str:
        if text not in joined:
            joined[text] = " ".join(words(text)) or verdict_form(text)
        return joined[text]

    for verdict, earlier in _opposed(verdicts, words_of):
        if verdict_form(verdict.record.text) != verdict_form(earlier.record.text):
            what = f"this is the opposite of {earlier.location} on nugget {verdict.record.nugget!r} of "
            what += f"{verdict.record.qid!r}, where the text differs only in punctuation or accents"
            yield _warning(verdict, what, "both count, each for its own text; check whether one of them is a mistake")


def _opposed(verdicts: Sequence[Verdict], same: Callable[[str], str]) -> Iterator[tuple[Verdict, Verdict]]:
    """Each verdict with the first opposite verdict before it on the same nugget and the `same` text or answer."""
    about: dict[tuple[str, str, str], list[int]] = {}
    for i, verdict in enumerate(verdicts):
        record = verdict.record
        about.setdefault((record.qid, record.nugget, record.scope), []).append(i)
    found: list[tuple[int, int]] = []
    for those in about.values():
        if len({verdicts[i].record.verdict for i in those}) < 2:
            continue
        first: dict[tuple[str, bool], int] = {}
        for i in those:
            record = verdicts[i].record
            text = same(record.text)
            first.setdefault((text, record.verdict), i)
            if (earlier := first.get((text, not record.verdict))) is not None:
                found.append((i, earlier))
    for i, earlier in sorted(found):
        yield verdicts[i], verdicts[earlier]


def idle_retractions(entries: Sequence[Anything], verdicts: Sequence[Verdict]) -> Iterator[Problem]:
    """Retractions of verdicts that do not exist."""
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
            what = f"this retracts nothing: {entry.record.assessor!r} had not judged nugget {entry.record.nugget!r} of "
            what += f"{entry.record.qid!r} on this text before"
            yield _warning(entry, what, "restore the file with the verdict if it is missing, or delete the line")


def unknown_runs(verdicts: Sequence[Verdict], runs: Collection[str]) -> Iterator[Problem]:
    """Verdicts that name an unknown run: one warning for each run and file, at the first such line."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.record.run is not None and verdict.record.run not in runs:
            found.setdefault((verdict.file, verdict.record.run), []).append(verdict)
    for (_, run), those in found.items():
        what = f"unknown run {run!r} ({len(those)} verdicts)"
        remedy = "the verdicts count anyway; correct the name, unless the run was removed on purpose"
        yield _warning(those[0], what, remedy)


def set_aside(folder: Path) -> Iterator[Problem]:
    """Torn lines that were moved to separate files."""
    for path in sorted(folder.glob("*.jsonl.torn-*")):
        if path.suffix != ".jsonl":
            what = "this is a torn line: it was not completely written, and its writing was never confirmed"
            yield Problem(str(path), None, what, "judge that pair again if necessary, then delete this file", "warning")


def _warning(entry: Anything | Verdict, what: str, remedy: str) -> Problem:
    return Problem(entry.file, entry.line, what, remedy, "warning")
