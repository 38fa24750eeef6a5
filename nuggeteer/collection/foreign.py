"""The formats of other projects that can be converted: how each is recognised, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from nuggeteer.collection.own_files import own_kind
from nuggeteer.errors import NuggeteerError, Problem, did_you_mean, errors_in
from nuggeteer.formats import (
    autonuggetizer,
    inspect_log,
    labelled,
    nugget_bank,
    nugget_rows,
    promptfoo,
    question_rows,
    rubrics,
    trec_key,
    trec_qa,
    trec_rag,
)
from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.jsonl import LONGEST_LINE
from nuggeteer.formats.objects import Opening, open_file, read_whole
from nuggeteer.records import Nugget


@dataclass(frozen=True)
class Format:
    """A foreign format with its functions that recognise and read a file, and that write a run or the key."""

    about: str
    recognises: Callable[[Opening], bool]
    read: Callable[..., Bundle]
    of_run: Callable[[Bundle, str], Iterable[Any]] | None = None
    of_key: Callable[[Bundle], Iterable[Any]] | None = None
    columns: bool = False
    tags: bool = False  # its runs have TREC's tags, which begin with the name of an institution
    whole_answers: bool = False  # what it has of runs are answers of any length; a new collection cuts them
    # Reads files together, for a key that they share or that the collection has.
    read_together: Callable[[Sequence[Path], Iterable[Nugget]], list[Bundle]] | None = None
    machine: str = ""  # who gave the verdicts, if no human did
    # Its reader takes the records of the collection, in which questions are looked up, and a name for the run.
    dataset: bool = False
    document: bool = False  # it is written as one list
    rows: bool = False  # it is written as a table where the file is called .csv or .tsv


FORMATS: Mapping[str, Format] = {
    "trec-key": Format(
        "TREC QA answer key", trec_key.recognises, trec_key.read_key, of_key=trec_key.key_lines, columns=True
    ),
    "trec-run": Format(
        "TREC QA run", trec_qa.recognises_run, trec_qa.read_runs, of_run=trec_qa.run_lines, columns=True, tags=True
    ),
    "trec-judgements": Format(
        "TREC QA judgement file",
        trec_qa.recognises_judgements,
        trec_qa.read_judgements,
        of_run=trec_qa.judgement_lines,
        columns=True,
        tags=True,
    ),
    "nuggetizer-nuggets": Format(
        "AutoNuggetizer nuggets",
        autonuggetizer.recognises_nuggets,
        autonuggetizer.read_nuggets,
        of_key=autonuggetizer.nugget_objects,
        whole_answers=True,
    ),
    "nuggetizer-assignments": Format(
        "AutoNuggetizer assignments",
        autonuggetizer.recognises_assignments,
        lambda path: autonuggetizer.read_assignments([path])[0],
        of_run=autonuggetizer.assignment_objects,
        whole_answers=True,
        read_together=autonuggetizer.read_assignments,
        machine=autonuggetizer.ASSESSOR,
    ),
    "rag-answers": Format(
        "answers of TREC RAG, RAGTIME, NeuCLIR or DRAGUN",
        trec_rag.recognises,
        trec_rag.read_answers,
        of_run=trec_rag.answer_objects,
        whole_answers=True,
    ),
    "nugget-bank": Format(
        "NuggetBanks of TREC Auto-Judge",
        nugget_bank.recognises,
        nugget_bank.read_banks,
        of_key=nugget_bank.bank_objects,
        whole_answers=True,
    ),
    "rubrics": Format(
        "rubrics: weighted criteria, as ResearchRubrics has them",
        rubrics.recognises,
        rubrics.read_rubrics,
        of_key=rubrics.rubric_objects,
        whole_answers=True,
    ),
    "label-studio": Format(
        "annotations of Label Studio",
        labelled.recognises_label_studio,
        labelled.read_label_studio,
        of_run=labelled.task_objects,
        whole_answers=True,
        dataset=True,
        document=True,
    ),
    "argilla": Format(
        "records of Argilla",
        labelled.recognises_argilla,
        labelled.read_argilla,
        whole_answers=True,
        dataset=True,
    ),
    "promptfoo": Format(
        "promptfoo's results",
        promptfoo.recognises,
        promptfoo.read_results,
        whole_answers=True,
        machine=promptfoo.ASSESSOR,
        dataset=True,
    ),
    "inspect": Format("log of Inspect", inspect_log.recognises, inspect_log.read_log, whole_answers=True, dataset=True),
    "nugget-rows": Format(
        "nuggets in rows: anybody's",
        nugget_rows.recognises,
        nugget_rows.read_nuggets,
        of_key=nugget_rows.nugget_rows,
        whole_answers=True,
        dataset=True,
        rows=True,
    ),
    "qa": Format(
        "questions and answers in rows: anybody's, RAGAS's, DeepEval's",
        question_rows.recognises,
        question_rows.read_answers,
        of_run=question_rows.answer_rows,
        columns=True,
        whole_answers=True,
        dataset=True,
        rows=True,
    ),
}


LOOKED_AT = 20  # files with errors whose format is looked for
ALIASES = {"ragas": "qa", "deepeval": "qa"}  # tools whose rows are like anybody's


def format_of(name: str) -> Format:
    name = ALIASES.get(name, name)
    if name not in FORMATS:
        known = f"{did_you_mean(name, FORMATS)}the formats are: {', '.join(FORMATS)}"
        raise NuggeteerError(f"there is no format {name!r}; {known}")
    return FORMATS[name]


def recognised(opening: Opening) -> str | None:
    """The name of the first format that recognises a file by its beginning."""
    return next((name for name, format_ in FORMATS.items() if format_.recognises(opening)), None)


def name_formats(problems: Sequence[Problem], read_here: str | None = None) -> list[Problem]:
    """The problems, with one in place of all errors of a file in another project's format: the file stands where a file
    of a collection belongs, and can be converted. Nothing in such a file can be read, from its first line on. The
    format `read_here` may stand there. A document that is longer than a line may be is not read for this."""
    found: dict[str, Problem] = {}
    wrong = (p.file for p in errors_in(problems) if p.line in (None, 1))
    for file in list(dict.fromkeys(wrong))[:LOOKED_AT]:
        try:
            opening = open_file(Path(file))
            if opening.kind == "document":
                read_whole(opening.path, LONGEST_LINE)
            name = None if own_kind(opening) else recognised(opening)
        except NuggeteerError:
            continue
        if name not in (None, read_here):
            assert name
            remedy = f"bring it into one: nuggeteer convert {name} {quote(file)} --into DIR"
            found[file] = Problem(file, None, f"is not a file of a collection, but: {FORMATS[name].about}", remedy)
    kept = [p for p in problems if p.severity != "error" or p.file not in found]
    return [*found.values(), *kept]


def common_format(paths: Sequence[Path]) -> str:
    """The name of the format that all these files have."""
    names = {path: recognised(open_file(path)) for path in paths}
    for path, name in names.items():
        if name is None:
            raise NuggeteerError(f"{path} is in no format that convert can read; nuggeteer doctor says what it is")
        if name != names[paths[0]]:
            first = names[paths[0]]
            raise NuggeteerError(f"{path} is in the format {name}, and {paths[0]} in {first}; convert them one by one")
    return str(names[paths[0]])
