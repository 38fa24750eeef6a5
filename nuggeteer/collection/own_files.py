"""Which of our own files a file is, what it holds, and which commands take it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from nuggeteer.errors import Problem
from nuggeteer.formats import canonical
from nuggeteer.formats.canonical import read_file
from nuggeteer.formats.handed_in import is_handed_in, read_handed_in
from nuggeteer.formats.jsonl import bare_name, read_jsonl
from nuggeteer.formats.objects import Opening
from nuggeteer.formats.spreadsheet import read_verdicts

Counts = dict[str, int]
Step = tuple[str, str]  # what a command does, and the command


@dataclass(frozen=True)
class OwnFile:
    """One kind of file of ours."""

    about: str
    recognises: Callable[[Opening], bool]
    count: Callable[[Path, list[Problem]], Counts]
    templates: tuple[Step, ...]

    def steps(self, opening: Opening, folder: str) -> tuple[Step, ...]:
        """What commands do with a file and a collection, which is named as on a command line."""
        named = any("assessor" in one for one in opening.objects[:1])
        names = {"file": quote(str(opening.path)), "folder": folder, "who": "" if named else " --assessor NAME"}
        names["name"] = json.dumps(opening.path.name, ensure_ascii=False)  # as TOML has it
        return tuple((what.format(**names), command.format(**names)) for what, command in self.templates)


def own_kind(opening: Opening) -> str | None:
    """Which of our own files a file is, judged by its beginning, if any."""
    return next((name for name, kind in OWN_FILES.items() if kind.recognises(opening)), None)


def _lines_of(layout: canonical.Layout[canonical.Record], what: str) -> Callable[[Path, list[Problem]], Counts]:
    def count(path: Path, problems: list[Problem]) -> Counts:
        qids: set[str] = set()
        number = 0
        for _, record in layout.read(path, problems):
            number += 1
            if (qid := getattr(record, "qid", None)) is not None:
                qids.add(qid)
        return ({"questions": len(qids)} if qids and what != "questions" else {}) | {what: number}

    return count


def _objects(what: str) -> Callable[[Path, list[Problem]], Counts]:
    return lambda path, problems: {what: sum(1 for _ in read_jsonl(path, problems))}


def _ledger(path: Path, problems: list[Problem]) -> Counts:
    return _verdicts(entry.record for entry in read_file(path, problems))


def _page(path: Path, problems: list[Problem]) -> Counts:
    return _verdicts(entry.record for entry in read_handed_in(path, problems))


def _table(path: Path, problems: list[Problem]) -> Counts:
    verdicts, unjudged = read_verdicts(path, problems)
    return _verdicts(entry.record for entry in verdicts) | {"rows without a verdict": unjudged}


def _verdicts(records: Iterator[object]) -> Counts:
    counts = {"judgements": 0, "retractions": 0, "proposals": 0}
    names = {"Judgement": "judgements", "Retraction": "retractions", "Proposed": "proposals"}
    for record in records:
        counts[names[type(record).__name__]] += 1
    return counts


def _has(*keys: str, without: tuple[str, ...] = ()) -> Callable[[Opening], bool]:
    return lambda opening: (
        opening.kind != "text" and opening.every(*keys) and not any(key in opening.objects[0] for key in without)
    )


def _is_questions(opening: Opening) -> bool:
    typical = {"kind", "target", "template"} & opening.keys or bare_name(opening.path) == "questions"
    return bool(typical) and _has("qid", "text", without=("nugget", "docid", "rank", "importance"))(opening)


def _is_ledger(opening: Opening) -> bool:
    return _has("qid", "nugget", "text")(opening) and bool({"verdict", "retracted"} & opening.keys)


def _is_judge(opening: Opening) -> bool:
    scored = {"assignment", "probability", "score"} & opening.keys
    return _has("qid", "nugget", "text")(opening) and bool(scored)


_JUDGED = (
    ("to count its verdicts as known", "nuggeteer judge --import {file}{who} --collection {folder}"),
    ("to see what they change", "nuggeteer score --collection {folder}"),
)
OWN_FILES: Mapping[str, OwnFile] = {
    "page": OwnFile("verdicts that an assessor handed back from a page", is_handed_in, _page, _JUDGED),
    "judgements": OwnFile("judgements: verdicts on texts, as judge writes them", _is_ledger, _ledger, _JUDGED),
    "judge": OwnFile(
        "verdicts or scores of a judge, such as a language model",
        _is_judge,
        _objects("verdicts"),
        (
            (
                "to make them evidence beside the words, write in {folder}/nuggeteer.toml",
                "[match]\njudges = [{name}]",
            ),
            ("to see how good they are, by people's verdicts", "nuggeteer agree --collection {folder}"),
        ),
    ),
    "verdicts": OwnFile(
        "a table of verdicts",
        lambda opening: set(canonical.JUDGEMENTS.required) <= {column.casefold() for column in opening.columns},
        _table,
        _JUDGED,
    ),
    "nuggets": OwnFile(
        "nuggets: the answer key of a collection",
        lambda opening: (
            _has("qid", "nugget")(opening) and bool({"text", "descriptions", "any_of", "all_of"} & opening.keys)
        ),
        _lines_of(canonical.NUGGETS, "nuggets"),
        (
            ("to make it the key of a collection, copy it there", "cp {file} {folder}/nuggets.jsonl"),
            ("to score runs in the collection's folder runs/", "nuggeteer score --collection {folder}"),
        ),
    ),
    "proposals": OwnFile(
        "nuggets that somebody proposed",
        _has("qid", "text", "importance", "from"),
        _objects("proposals"),
        (
            (
                "to accept one, give it an id and move it to {folder}/nuggets.jsonl; then",
                "nuggeteer check --collection {folder}",
            ),
        ),
    ),
    "annotation": OwnFile(
        "annotated snippets",
        _has("snippet", "text", "nuggets"),
        _objects("snippets"),
        (
            ("to see how two annotators agree", "nuggeteer agree {file} OTHER"),
            ("to score distillers that it names", "nuggeteer distill {file}"),
        ),
    ),
    "judged": OwnFile(
        "judged snippets",
        _has("qid", "distiller", "text", "judged"),
        _objects("snippets"),
        (("to compute precision and recall", "nuggeteer nuggetize --score {file}"),),
    ),
    "distillers": OwnFile(
        "an evaluation of distillers",
        lambda opening: (
            opening.every("type")
            and all(
                one["type"] in ("corpus", "query", "distiller", "nug", "nugget", "answer") for one in opening.objects
            )
        ),
        _objects("records"),
        (("to score the distillers", "nuggeteer distill {file}"),),
    ),
    "manifest": OwnFile(
        "the manifest of a collection's runs",
        _has("run", without=("qid", "text", "run_id")),
        _lines_of(canonical.MANIFEST, "runs"),
        (("to add it to a collection, copy it there", "cp {file} {folder}/runs.jsonl"),),
    ),
    "questions": OwnFile(
        "questions of a collection",
        _is_questions,
        _lines_of(canonical.QUESTIONS, "questions"),
        (("to add them to a collection, copy them there", "cp {file} {folder}/questions.jsonl"),),
    ),
    "responses": OwnFile(
        "a run: responses to questions",
        _has("qid", "text", without=("nugget",)),
        _lines_of(canonical.RESPONSES, "responses"),
        (
            ("to score it", "nuggeteer score {file} --collection {folder}"),
            ("to propose nuggets from it, if there are none", "nuggeteer nuggetize {file} --propose proposed.jsonl"),
        ),
    ),
    "history": OwnFile(
        "the recorded builds of a collection",
        lambda opening: opening.head.startswith(b"SQLite format 3\0"),
        lambda path, problems: {},
        (("to see the trend", "nuggeteer history --collection {folder}"),),
    ),
}
