"""A run in memory, and the manifest `runs.jsonl`: the group of each run, and how it was judged.

The records of a run are grouped by question and, if the collection says so, cut into responses. TREC's tags have the
name of the institution that sent a run, often with the year and a letter: `lcc05a`, `nyu_05_1`, `MIT2006b`, `05lcca`.
Runs of one institution are alike. If they are not in one group, each is guessed from the others' verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import orjson

from nuggeteer.display import counted
from nuggeteer.errors import Problem, did_you_mean, errors_in, same_answers
from nuggeteer.formats import canonical
from nuggeteer.formats.jsonl import bare_name, is_regular, read_jsonl
from nuggeteer.formats.sentences import pieces
from nuggeteer.measures import ALL, is_measure
from nuggeteer.records import AnswerKey, AnswerParts, Run, RunInfo
from nuggeteer.settings import Split
from nuggeteer.text import says_nothing, verdict_form

# How the problems begin of a run that leaves a question out, or has no words for it.
NO_ANSWER: Final = "no answer to question"
NO_WORDS: Final = "no words in the answer to question"
TEXT_OR_NOT, NUMBER_OR_NOT = (str, type(None)), (int, type(None))


def read_run(
    path: Path,
    info: RunInfo,
    key: AnswerKey,
    split: Split,
    problems: list[Problem],
    root: Path | None = None,
    name: str | None = None,
) -> Run:
    """The run in a file; its records cut into responses if `split` says so. A file of the collection in `root` that
    leads out of it is not read. The run has the file's name unless it is given another."""
    position = key.position
    texts: list[str] = []
    docids: list[str | None] = []
    question: list[int] = []
    unknown: dict[str, tuple[int, int]] = {}
    last_rank: dict[str, int] = {}
    before = len(problems)
    objects = read_jsonl(path, problems, canonical.RESPONSES.checks) if is_regular(path, problems, root) else ()
    for line, record in objects:
        get: Callable[[str], Any] = record.get
        qid, text, docid, rank = get("qid"), get("text"), get("docid"), get("rank")
        place = position.get(qid) if type(qid) is str else None
        # To check every line field by field would take as long as everything else in reading it.
        if place is None or type(text) is not str or type(docid) not in TEXT_OR_NOT or type(rank) not in NUMBER_OR_NOT:
            response = canonical.RESPONSES.checked(str(path), line, record, problems)
            if response is None:
                continue
            qid, text, docid, rank = response.qid, response.text, response.docid, response.rank
            place = position.get(qid)
        if rank is not None:
            if rank <= last_rank.get(qid, rank - 1):
                what = f"rank {rank} of {qid!r} is out of order"
                remedy = "the order of lines counts; sort them by rank"
                problems.append(Problem(str(path), line, what, remedy, "warning"))
            last_rank[qid] = rank
        if place is None:
            first, count = unknown.get(qid, (line, 0))
            unknown[qid] = (first, count + 1)
            continue
        texts.append(text)
        docids.append(docid)
        question.append(place)
    for qid, (line, count) in unknown.items():
        what, remedy = key.why_not(qid)
        what = f"{what} ({counted(count, 'response')})"
        problems.append(Problem(str(path), line, what, f"not scored; {remedy}", "warning"))
    owners = np.array(question, dtype=np.int32)
    if len(owners) and bool((np.diff(owners) < 0).any()):
        order = np.argsort(owners, kind="stable")
        owners = owners[order]
        texts = [texts[i] for i in order]
        docids = [docids[i] for i in order]
    starts = [*np.flatnonzero(np.diff(owners, prepend=-1)).tolist(), len(texts)]
    answers = {int(owners[start]): tuple(texts[start:end]) for start, end in pairwise(starts)}
    whole = not errors_in(problems[before:])  # of a run with lines that cannot be read, nobody knows what it answers
    if whole:
        problems += same_answers(path, list(answers.values()))
        problems += _odd_answers(path, key, answers)
    parts = None
    if split == "sentences":
        texts, parts = cut(texts)
    if parts is not None:
        owners, docids = owners[parts.record], [docids[i] for i in parts.record.tolist()]
    counts = np.bincount(owners, minlength=len(key.questions)) if key.questions else np.zeros(0, np.int64)
    if whole and all(map(says_nothing, texts)):
        what = "answers no question of the key"
        problems.append(Problem(str(path), None, what, "it scores 0, and only with --allow-empty", "warning"))
    for i in np.flatnonzero(counts == 0) if whole and len(owners) else ():
        what = f"{NO_ANSWER} {key.questions[i].qid!r}"
        problems.append(Problem(str(path), None, what, "that scores 0", "warning"))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Run(name or bare_name(path), info, texts, docids if any(docids) else None, owners, offsets, parts)


def _odd_answers(path: Path, key: AnswerKey, answers: Mapping[int, tuple[str, ...]]) -> Iterator[Problem]:
    """Answers without words, and answers that are there twice, as in a file that was written twice."""
    half = {at: len(texts) // 2 for at, texts in answers.items()}
    twice = [key.questions[at].qid for at, texts in answers.items() if texts[: half[at]] * 2 == texts]
    if twice:
        more = f" (and {counted(len(twice) - 1, 'other answer')})" if len(twice) > 1 else ""
        what = f"the answer to {twice[0]!r} is there twice{more}"
        remedy = "each text counts twice in the length; delete one copy"
        yield Problem(str(path), None, what, remedy, "warning")
    for at, texts in answers.items():
        if all(map(says_nothing, texts)):
            what, remedy = f"{NO_WORDS} {key.questions[at].qid!r}", "that scores 0; look at what the system wrote"
            yield Problem(str(path), None, what, remedy, "warning")


def cut(records: list[str]) -> tuple[list[str], AnswerParts | None]:
    """The responses in the records, and where each is in its record; None if every record is one response."""
    texts: list[str] = []
    record: list[int] = []
    spans: list[tuple[int, int]] = []
    for i, text in enumerate(records):
        found = pieces(text)
        spans += found
        if len(found) == 1:
            texts.append(text)
            record.append(i)
        else:
            texts += [text[start:end] for start, end in found]
            record += [i] * len(found)
    if len(texts) == len(records):
        return records, None
    bounds = np.array(spans, dtype=np.int64)
    return texts, AnswerParts(records, np.array(record, dtype=np.int64), bounds[:, 0], bounds[:, 1])


_SHOWN = 5
_AHEAD = re.compile(r"([^\W\d_]{2,})()[_-]?\d")
_BEHIND = re.compile(r"(?:19|20)?\d\d[_-]?(?:([^\W\d_]{2,})[_-]?\d+|([^\W\d_]{3,})[^\W\d_])")
_YEAR = re.compile(r"\D*(?:19|20)?(\d\d)(?!\d)")


def read_manifest(path: Path, problems: list[Problem]) -> dict[str, RunInfo]:
    manifest: dict[str, RunInfo] = {}
    lines: dict[str, int] = {}  # in which a measure is named first
    if path.is_file() and is_regular(path, problems, path.parent):
        for line, info in canonical.MANIFEST.read(path, problems):
            if info.run in manifest:
                problems.append(Problem(str(path), line, f"the run {info.run!r} is listed twice", "delete one"))
            manifest[info.run] = info
            for name in info.official:
                lines.setdefault(name, line)
    problems.extend(_unknown_measures(path, lines))
    return manifest


def institution_of(tag: str) -> str | None:
    """The letters that a run's tag begins with, if digits follow: `lcc` for `lcc05a`. If the tag begins with a year,
    the letters after it, without the letter of the run: `lcc` for `05lcca`, too."""
    found = _AHEAD.match(tag) or _BEHIND.fullmatch(tag)
    return (found[1] or found[2]).casefold() if found else None


def alike_tags(path: Path, manifest: Mapping[str, RunInfo]) -> Iterator[Problem]:
    """Runs that look like those of one institution in one year, some of them in no group."""
    alike: dict[tuple[str, str], list[RunInfo]] = {}
    for info in manifest.values():
        if (name := institution_of(info.run)) and (year := _YEAR.match(info.run)):
            alike.setdefault((name, year[1]), []).append(info)
    for (name, _), runs in alike.items():
        if len({info.group or info.run for info in runs}) > 1 and not all(info.group for info in runs):
            shown = ", ".join(info.run for info in runs[:_SHOWN]) + (", ..." if len(runs) > _SHOWN else "")
            what = f"{shown} look like runs of one institution, and each is guessed from the verdicts on the others"
            yield Problem(str(path), None, what, f'give each its group, such as "group": "{name}"', "warning")


def runs_without_file(path: Path, names: Collection[str]) -> Iterator[Problem]:
    """Runs that the manifest lists but that are not among these."""
    readable = path.is_file() and is_regular(path, [], path.parent)
    for line, info in canonical.MANIFEST.read(path, []) if readable else ():
        if info.run not in names:
            remedy = f"add runs/{info.run}.jsonl or delete the line"
            yield Problem(str(path), line, f"the run {info.run!r} has no file", remedy, "warning")


def _unknown_measures(path: Path, lines: dict[str, int]) -> Iterator[Problem]:
    for name, line in lines.items():
        if not is_measure(name):
            meant = did_you_mean(name, map(str, ALL))
            remedy = f"{meant}compare holds such scores against another measure, by rank and correlation only"
            yield Problem(str(path), line, f"'official' names {name!r}, which is not a measure", remedy, "warning")


def run_hash(run: Run, key: AnswerKey) -> str:
    """What tells the builds of one name apart: a hash of the words of its answers, however they are cut and spaced."""
    asked = np.unique(run.question).tolist()
    words = [[key.questions[q].qid, verdict_form(run.answer(q))] for q in asked]
    return blake2b(orjson.dumps(words), digest_size=4).hexdigest()
