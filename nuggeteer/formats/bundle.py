"""What a foreign file holds, in our own records, on its way into a collection or out of one.

A bundle is added to a collection or refused, never merged over what is there: a record with a new id is
added, one that says nothing new is left out (so converting a file twice does nothing), and if any says
something else, nothing is written at all. Every line is read back before it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from nuggeteer.errors import InputError, NuggeteerError, Problem
from nuggeteer.formats import canonical
from nuggeteer.formats.jsonl import LONGEST_LINE, read_jsonl, write_whole
from nuggeteer.formats.judgements import read_folder, unretracted
from nuggeteer.records import Judgement, Nugget, Question, Response, RunInfo

Record = TypeVar("Record", Question, Nugget, RunInfo, Response, Judgement)
_SHOWN = 5
_LONGEST_NAME = 200


@dataclass
class Bundle:
    """Records without a folder. `garbled` keeps every line that its reader did not understand.

    `passed_over` are verdicts of a collection that were taken back, or a machine's. Bytes that are not UTF-8 stand in
    `garbled` as lone surrogates (`surrogateescape`), so that they can be written as they were.
    """

    questions: dict[str, Question] = field(default_factory=dict)
    nuggets: list[Nugget] = field(default_factory=list)
    runs: dict[str, RunInfo] = field(default_factory=dict)
    responses: dict[str, list[Response]] = field(default_factory=dict)
    judgements: list[Judgement] = field(default_factory=list)
    passed_over: list[Judgement] = field(default_factory=list)
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


def as_id(value: Any) -> str | None:
    """A string or a whole number as an id of ours; None if a collection would refuse it."""
    try:
        return canonical.MANIFEST.parse({"run": str(value) if type(value) is int else value}).run
    except canonical.WrongLine:
        return None


def kept(record: Question | Nugget | Response | Judgement, key: str) -> dict[str, Any]:
    """What a reader kept of a foreign object under an extra key of ours."""
    value = record.extra.get(key)
    return value if isinstance(value, dict) else {}


def as_json(value: Any) -> str:
    """A value on one line."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        raise NuggeteerError(f"a value cannot be written as JSON: {error}") from error


def read_objects(path: Path, bundle: Bundle, keys: Collection[str]) -> Iterator[tuple[int, dict[str, Any], str]]:
    """(line number, object, the object on one line) of each line of foreign JSON Lines."""
    for number, line in read_jsonl(path, bundle.problems, keys):
        try:
            raw = as_json(line)
        except NuggeteerError:
            what = "lists or objects too deep"
            bundle.problems.append(Problem(str(path), number, what, "flatten them"))
        else:
            yield number, line, raw


def read_bundle(folder: Path) -> Bundle:
    """All records of a collection, with the keys that we do not know; raises on any bad line."""
    bundle = Bundle()
    problems: list[Problem] = []

    def lines(layout: canonical.Layout[Record], path: Path) -> Iterator[Record]:
        if path.exists():
            yield from (record for _, record in layout.read(path, problems))

    for question in lines(canonical.QUESTIONS, folder / "questions.jsonl"):
        bundle.ask(question)
    bundle.nuggets.extend(lines(canonical.NUGGETS, folder / "nuggets.jsonl"))
    for info in lines(canonical.MANIFEST, folder / "runs.jsonl"):
        bundle.runs.setdefault(info.run, info)
    for path in sorted((folder / "runs").glob("*.jsonl")):
        bundle.responses[path.stem] = list(lines(canonical.RESPONSES, path))
    entries = read_folder(folder / "judgements", problems)
    bundle.judgements = [verdict.record for verdict in unretracted(entries) if not verdict.record.machine]
    stand = set(map(id, bundle.judgements))
    said = [entry.record for entry in entries if isinstance(entry.record, Judgement)]
    bundle.passed_over = [judgement for judgement in said if id(judgement) not in stand]
    if any(problem.severity == "error" for problem in problems):
        raise InputError(problems)
    return bundle


def write_bundles(sources: Sequence[tuple[str, Bundle]], folder: Path) -> list[list[Path]]:
    """Add bundles to a collection, making one if need be. Returns the files written for each.

    A bundle comes with the name of its source, which its judgement file and its garbled lines get.
    """
    target = _Target(folder, read_bundle(folder) if folder.is_dir() else Bundle())
    plans = [target.plan(source, bundle) for source, bundle in sources]
    if target.clashes:
        shown = "; ".join(target.clashes[:_SHOWN]) + ("; ..." if len(target.clashes) > _SHOWN else "")
        raise NuggeteerError(f"nothing was written: {shown}; convert into a new folder, or rename")
    for plan in plans:
        for path, added in plan.items():
            _append(path, added)
    return [list(plan) for plan in plans]


class _Target:
    """A collection as it will be, and what stands against adding to it."""

    def __init__(self, folder: Path, there: Bundle) -> None:
        self.folder = folder
        self.clashes: list[str] = []
        self._questions = dict(there.questions)
        self._nuggets = {(n.qid, n.nugget): n for n in there.nuggets}
        self._runs = dict(there.runs)
        self._responses = dict(there.responses)
        self._verdicts = set(map(_line, there.judgements + there.passed_over))
        self._planned: dict[Path, bytes] = {}

    def plan(self, source: str, bundle: Bundle) -> dict[Path, bytes]:
        """What is to be added to which file."""
        questions = self._new("question", self._questions, bundle.questions.items())
        nuggets = self._new("nugget", self._nuggets, (((n.qid, n.nugget), n) for n in bundle.nuggets))
        infos = self._new("manifest line of run", self._runs, bundle.runs.items())
        plan = {
            self.folder / "questions.jsonl": self._lines(canonical.QUESTIONS, questions),
            self.folder / "nuggets.jsonl": self._lines(canonical.NUGGETS, nuggets),
            self.folder / "runs.jsonl": self._lines(canonical.MANIFEST, infos),
        }
        for name, responses in bundle.responses.items():
            if name in self._responses:
                if self._responses[name] != responses:
                    self._clash(f"the run {name!r} is in {self.folder} already, and differs")
            elif self._is_file_name(name):
                self._responses[name] = responses
                lines = self._lines(canonical.RESPONSES, responses)
                plan[self.folder / "runs" / f"{name}.jsonl"] = lines
        if (bundle.judgements or bundle.garbled) and self._is_file_name(source):
            path = self.folder / "judgements" / f"{source}.jsonl"
            verdicts = self._lines(canonical.JUDGEMENTS, bundle.judgements)
            if not self._verdicts.issuperset(verdicts):
                if self._before(path):
                    self._clash(f"{path} is there already, and differs")
                self._verdicts.update(verdicts)
                plan[path] = verdicts
            path = self.folder / "garbled" / f"{source}.txt"
            aside = set(self._before(path).split(b"\n"))
            garbled = (raw.encode("utf-8", "surrogateescape") for raw in bundle.garbled)
            plan[path] = [raw + b"\n" for raw in garbled if raw not in aside]
        added = {path: b"".join(lines) for path, lines in plan.items() if lines}
        for path, new in added.items():
            self._planned[path] = self._planned.get(path, b"") + new
        return added

    def _clash(self, what: str) -> None:
        self.clashes.append(what)

    def _new(self, kind: str, old: dict[Any, Record], new: Iterable[tuple[Hashable, Record]]) -> list[Record]:
        """Those that are not there yet; a clash for each that says something else than the one there."""
        fresh = []
        for name, record in new:
            if name not in old:
                fresh.append(old.setdefault(name, record))
                continue
            said = canonical.as_line(old[name])
            if any(said.get(key) != value for key, value in _says(record).items()):
                self._clash(f"the {kind} {name!r} is in {self.folder} already, and differs")
        return fresh

    def _lines(self, layout: canonical.Layout[Record], records: Iterable[Record]) -> list[bytes]:
        """Lines that will be read as the records they are made of; a clash for any that would not."""
        lines = []
        for record in records:
            line = _line(record)
            try:
                same = len(line) <= LONGEST_LINE and layout.parse(orjson.loads(line)) == record
            except canonical.WrongLine:
                same = False
            if not same:
                self._clash(f"a collection cannot hold {record!r:.100}")
            lines.append(line)
        return lines

    def _is_file_name(self, name: str) -> bool:
        fits = name.isprintable() and not name.startswith(".") and not set(name) & set("/\\")
        fits = fits and 0 < len(name.encode()) <= _LONGEST_NAME
        if not fits:
            self._clash(f"{name!r:.100} cannot be a file's name")
        return fits

    def _before(self, path: Path) -> bytes:
        return (path.read_bytes() if path.is_file() else b"") + self._planned.get(path, b"")


def _says(record: Question | Nugget | RunInfo | Response | Judgement) -> Mapping[str, Any]:
    """What a record says that must not differ: of a question its text if it has one, for its kind and
    target are what a reader made of it."""
    line = canonical.as_line(record)
    if isinstance(record, Question):
        return {key: value for key, value in line.items() if value and key not in ("kind", "target")}
    return line


def _line(record: Question | Nugget | RunInfo | Response | Judgement) -> bytes:
    return as_json(canonical.as_line(record)).encode() + b"\n"


def _append(path: Path, added: bytes) -> None:
    """The file as it was, then what is added; replaced in one step."""
    before = path.read_bytes() if path.is_file() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    write_whole(path, lambda file: file.write(before + added))
