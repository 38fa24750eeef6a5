"""Checks every file of a collection, including all runs. What reading finds (`folder`) is found here too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from pathlib import Path

from nuggeteer.collection.contradictions import near_contradictions
from nuggeteer.collection.folder import Collection, read_files, with_formats
from nuggeteer.collection.proposals import read_proposals
from nuggeteer.collection.runs import alike_tags, runs_without_file
from nuggeteer.display import counted
from nuggeteer.errors import InputError, Problem
from nuggeteer.formats.audits import read_audit
from nuggeteer.formats.canonical import Anything, Verdict, counts_as_known
from nuggeteer.formats.matches import read_matches
from nuggeteer.matching.idf import read_table
from nuggeteer.records import AnswerKey, Judgement, Retraction
from nuggeteer.text import verdict_form


def check(root: Path | str) -> list[Problem]:
    """All problems in any file of a collection, in the order of files and lines."""
    problems: list[Problem] = []
    collection, entries, verdicts = read_files(Path(root), problems)
    judged = {(j.qid, verdict_form(j.text)) for j in collection.judgements if j.scope == "response"}
    for path in [collection.files_of_runs[name] for name in collection.run_names]:
        run = collection.read_run_file(path, problems, named=False)
        for question, text in zip(run.question.tolist(), run.texts, strict=True) if judged else ():
            judged.discard((collection.key.questions[question].qid, verdict_form(text)))
    _check_texts_of_judgements(collection, judged, problems)
    _check_judgements(collection, entries, verdicts, problems)
    problems.extend(runs_without_file(collection.root / "runs.jsonl", collection.run_names))
    problems.extend(alike_tags(collection.root / "runs.jsonl", collection.manifest))
    if table := collection.settings.match.table:
        try:
            read_table(table, collection.settings.match.language)
        except InputError as error:
            problems.extend(error.problems)
    read_proposals(collection.root, problems)
    for path in sorted((collection.root / "judgements" / "audits").glob("*.jsonl")):
        try:
            read_audit(path)
        except InputError as error:
            problems.extend(error.problems)
    if collection.settings.match.matcher == "external":
        read_matches(Path(collection.settings.match.external), collection.key, problems)
    for named in collection.judges:
        if named.endswith(".jsonl"):
            read_matches(Path(named), collection.key, problems)
    problems = with_formats(problems)
    order: dict[str, int] = {}
    for problem in problems:
        order.setdefault(problem.file, len(order))
    return sorted(problems, key=lambda p: (order[p.file], p.line or 0))


def _check_texts_of_judgements(collection: Collection, unseen: Set[tuple[str, str]], problems: list[Problem]) -> None:
    """A verdict whose text is in none of the runs is still valid, but often a sign of an edited text."""
    given = collection.judgements if unseen else ()
    absent = sum(j.scope == "response" and (j.qid, verdict_form(j.text)) in unseen for j in given)
    if absent:
        what = f"{absent} judged texts are in none of the runs"
        remedy = "fine for old builds' answers; else check that no text was edited"
        problems.append(Problem(str(collection.root / "judgements"), None, what, remedy, "warning"))


def _check_judgements(
    collection: Collection, entries: list[Anything], verdicts: list[Verdict], problems: list[Problem]
) -> None:
    as_truth = collection.settings.judgements.as_truth
    problems.extend(near_contradictions([v for v in verdicts if counts_as_known(v.record, as_truth)]))
    problems.extend(_idle_retractions(entries, verdicts))
    problems.extend(_unknown_runs(verdicts, {*collection.run_names, *collection.manifest}))
    problems.extend(_reworded_nuggets(verdicts, collection.key))
    problems.extend(_set_aside(collection.root / "judgements"))


def _idle_retractions(entries: Sequence[Anything], verdicts: Sequence[Verdict]) -> Iterator[Problem]:
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
            remedy = "restore the file with the verdict if it is missing, or delete the line"
            yield Problem(entry.file, entry.line, what, remedy, "warning")


def _unknown_runs(verdicts: Sequence[Verdict], runs: Set[str]) -> Iterator[Problem]:
    """Verdicts that name an unknown run: one warning for each run and file, at the first such line."""
    found: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.record.run is not None and verdict.record.run not in runs:
            found.setdefault((verdict.file, verdict.record.run), []).append(verdict)
    for (_, run), those in found.items():
        what = f"unknown run {run!r} ({len(those)} verdicts)"
        remedy = "the verdicts count anyway; correct the name, unless the run is elsewhere or was removed on purpose"
        yield Problem(those[0].file, those[0].line, what, remedy, "warning")


def _reworded_nuggets(verdicts: Sequence[Verdict], key: AnswerKey) -> Iterator[Problem]:
    """Verdicts on nuggets that had other words then: one warning for each nugget and file, at the first such line."""
    hashes = {(nugget.qid, nugget.nugget): nugget.hash for nugget in key.nuggets}
    found: dict[tuple[str, str, str], list[Verdict]] = {}
    for verdict in verdicts:
        qid, nugget, then = verdict.record.qid, verdict.record.nugget, verdict.record.nugget_hash
        if then is not None and then != hashes.get((qid, nugget), then):
            found.setdefault((verdict.file, qid, nugget), []).append(verdict)
    for (_, qid, nugget), those in found.items():
        what = f"nugget {nugget!r} of {qid!r} had other words when this was judged ({counted(len(those), 'verdict')})"
        remedy = "if it means something else now, give it a new id; the verdicts count as they are"
        yield Problem(those[0].file, those[0].line, what, remedy, "warning")


def _set_aside(folder: Path) -> Iterator[Problem]:
    """Torn lines that were moved to separate files."""
    for path in sorted(folder.glob("*.jsonl.torn-*")):
        if path.suffix != ".jsonl":
            what = "this is a torn line: it was not completely written, and its writing was never confirmed"
            yield Problem(str(path), None, what, "judge that pair again if necessary, then delete this file", "warning")
