"""Checks every file of a collection, including all runs. What reading finds (`folder`) is found here too."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from nuggeteer.collection.contradictions import idle_retractions, near_contradictions, set_aside, unknown_runs
from nuggeteer.collection.folder import Collection, read_files, with_formats
from nuggeteer.collection.proposals import read_proposals
from nuggeteer.collection.runs import alike_tags, runs_without_file
from nuggeteer.errors import InputError, Problem
from nuggeteer.formats.audits import read_audit
from nuggeteer.formats.canonical import Anything, counts_as_known, unretracted
from nuggeteer.formats.matches import read_matches
from nuggeteer.matching.idf import read_table
from nuggeteer.text import verdict_form


def check(root: Path | str) -> list[Problem]:
    """All problems in any file of a collection, in the order of files and lines."""
    problems: list[Problem] = []
    collection, entries = read_files(Path(root), problems)
    judged = {(j.qid, verdict_form(j.text)) for j in collection.judgements if j.scope == "response"}
    for path in [collection.files_of_runs[name] for name in collection.run_names]:
        run = collection.read_run_file(path, problems, named=False)
        for question, text in zip(run.question.tolist(), run.texts, strict=True) if judged else ():
            judged.discard((collection.key.questions[question].qid, verdict_form(text)))
    _check_texts_of_judgements(collection, judged, problems)
    _check_judgements(collection, entries, problems)
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
    absent = sum(j.scope == "response" and (j.qid, verdict_form(j.text)) in unseen for j in collection.judgements)
    if absent:
        what = f"{absent} judged texts are in none of the runs"
        remedy = "fine for old builds' answers; else check that no text was edited"
        problems.append(Problem(str(collection.root / "judgements"), None, what, remedy, "warning"))


def _check_judgements(collection: Collection, entries: list[Anything], problems: list[Problem]) -> None:
    verdicts = unretracted(entries)
    as_truth = collection.settings.judgements.as_truth
    problems.extend(near_contradictions([v for v in verdicts if counts_as_known(v.record, as_truth)]))
    problems.extend(idle_retractions(entries, verdicts))
    problems.extend(unknown_runs(verdicts, {*collection.run_names, *collection.manifest}))
    problems.extend(set_aside(collection.root / "judgements"))
