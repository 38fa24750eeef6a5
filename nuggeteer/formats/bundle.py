"""What a foreign file holds, in our own records, on its way into a collection or out of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nuggeteer.errors import InputError, NuggeteerError, Problem
from nuggeteer.formats import canonical
from nuggeteer.formats.jsonl import write_jsonl, write_whole
from nuggeteer.records import Judgement, Nugget, Question, Response, RunInfo


@dataclass
class Bundle:
    """Records without a folder. `garbled` keeps every line that its reader did not understand."""

    questions: dict[str, Question] = field(default_factory=dict)
    nuggets: list[Nugget] = field(default_factory=list)
    runs: dict[str, RunInfo] = field(default_factory=dict)
    responses: dict[str, list[Response]] = field(default_factory=dict)
    judgements: list[Judgement] = field(default_factory=list)
    garbled: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def ask(self, question: Question) -> None:
        self.questions.setdefault(question.qid, question)

    def respond(self, info: RunInfo, response: Response) -> None:
        self.runs.setdefault(info.run, info)
        self.responses.setdefault(info.run, []).append(response)

    def not_understood(self, path: Path, line: int, raw: str, what: str) -> None:
        self.garbled.append(raw)
        remedy = "the line is kept aside; mend it and convert again"
        self.problems.append(Problem(str(path), line, what, remedy, "warning"))


def read_bundle(folder: Path) -> Bundle:
    """All records of a collection, with the keys that we do not know; raises on any bad line."""
    bundle = Bundle()
    problems: list[Problem] = []

    def lines(layout: canonical.Layout[canonical.Record], path: Path) -> Iterator[canonical.Record]:
        if path.is_file():
            yield from (record for _, record in layout.read(path, problems))

    for question in lines(canonical.QUESTIONS, folder / "questions.jsonl"):
        bundle.ask(question)
    bundle.nuggets.extend(lines(canonical.NUGGETS, folder / "nuggets.jsonl"))
    for info in lines(canonical.MANIFEST, folder / "runs.jsonl"):
        bundle.runs[info.run] = info
    for path in sorted((folder / "runs").glob("*.jsonl")):
        bundle.responses[path.stem] = list(lines(canonical.RESPONSES, path))
    for path in sorted((folder / "judgements").glob("*.jsonl")):
        bundle.judgements.extend(lines(canonical.JUDGEMENTS, path))
    if any(problem.severity == "error" for problem in problems):
        raise InputError(problems)
    return bundle


def write_bundle(bundle: Bundle, folder: Path, source: str) -> list[Path]:
    """Add a bundle to a collection, making one if need be. Returns the files written.

    Nothing that is there is changed: what is new is added to the lists, what is the same is left, and
    what differs is refused before anything is written. `source` names the new judgement file.
    """
    there = read_bundle(folder) if folder.is_dir() else Bundle()
    clashes: list[str] = []

    def news(kind: str, old: Mapping[Any, Any], new: Iterable[tuple[Any, Any]]) -> list[Any]:
        fresh = []
        for name, record in new:
            if name not in old:
                fresh.append(record)
            elif old[name] != record:
                clashes.append(f"the {kind} {name!r} is in {folder} already, and differs")
        return fresh

    questions = news("question", there.questions, bundle.questions.items())
    nuggets = news(
        "nugget",
        {(n.qid, n.nugget): n for n in there.nuggets},
        (((n.qid, n.nugget), n) for n in bundle.nuggets),
    )
    infos = news("manifest line of run", there.runs, bundle.runs.items())
    runs = {
        name: responses
        for name, responses in bundle.responses.items()
        if there.responses.get(name) != responses
    }
    clashes += [
        f"the run {name!r} is in {folder} already, and differs" for name in runs if name in there.responses
    ]
    verdicts = folder / "judgements" / f"{source}.jsonl"
    if bundle.judgements and verdicts.exists():
        clashes.append(f"{verdicts} exists already")
    clashes += [f"{name!r} cannot be a file's name" for name in runs if not _is_file_name(name)]
    if clashes:
        shown = "; ".join(clashes[:5]) + ("; ..." if len(clashes) > 5 else "")
        raise NuggeteerError(f"nothing was written: {shown}; convert into a new folder, or rename")
    written = []
    files: list[tuple[Path, Sequence[Any]]] = [
        (folder / "questions.jsonl", questions),
        (folder / "nuggets.jsonl", nuggets),
        (folder / "runs.jsonl", infos),
        *((folder / "runs" / f"{name}.jsonl", responses) for name, responses in runs.items()),
        (verdicts, bundle.judgements),
    ]
    for path, records in files:
        if records:
            _append(path, records)
            written.append(path)
    if bundle.garbled:
        aside = folder / "garbled" / f"{source}.txt"
        write_whole(aside, lambda file: file.writelines(f"{raw}\n".encode() for raw in bundle.garbled))
        written.append(aside)
    return written


def _append(path: Path, records: Iterable[Any]) -> None:
    """The file as it was, then the new records; replaced in one step."""
    before = path.read_bytes() if path.is_file() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    staged = path.with_suffix(".new")
    write_jsonl(staged, (canonical.as_line(record) for record in records))
    try:
        write_whole(path, lambda file: file.write(before + staged.read_bytes()))
    finally:
        staged.unlink()


def _is_file_name(name: str) -> bool:
    return name not in (".", "..") and not set(name) & set("/\\\0") and len(name.encode()) <= 200
