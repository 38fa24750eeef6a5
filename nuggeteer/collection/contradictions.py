"""Verdicts that contradict each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from nuggeteer.errors import Problem
from nuggeteer.formats.canonical import Verdict
from nuggeteer.formats.sentences import responses_in
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

    @cache
    def words_of(text: str) -> str:
        return " ".join(words(text)) or verdict_form(text)

    for verdict, earlier in _opposed(verdicts, words_of):
        if verdict_form(verdict.record.text) != verdict_form(earlier.record.text):
            what = f"this is the opposite of {earlier.location} on nugget {verdict.record.nugget!r} of "
            what += f"{verdict.record.qid!r}, where the text differs only in punctuation or accents"
            yield _warning(verdict, what, "both count, each for its own text; check whether one of them is a mistake")


def _opposed(verdicts: Sequence[Verdict], same: Callable[[str], str]) -> Iterator[tuple[Verdict, Verdict]]:
    """Each verdict with the first opposite verdict before it on the same nugget and the `same` text or answer."""
    about: defaultdict[tuple[str, str, str], tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for record in (verdict.record for verdict in verdicts):
        about[record.qid, record.nugget, record.scope][record.verdict].append(record.text)
    disputed = {
        pair for pair, (no, yes) in about.items() if no and yes and not set(map(same, no)).isdisjoint(map(same, yes))
    }
    first: dict[tuple[tuple[str, str, str], str, bool], Verdict] = {}
    for verdict in verdicts if disputed else ():
        record = verdict.record
        pair = record.qid, record.nugget, record.scope
        if pair in disputed:
            text = same(record.text)
            first.setdefault((pair, text, record.verdict), verdict)
            if earlier := first.get((pair, text, not record.verdict)):
                yield verdict, earlier


def _warning(verdict: Verdict, what: str, remedy: str) -> Problem:
    return Problem(verdict.file, verdict.line, what, remedy, "warning")
