"""The content of a foreign file as our own records, before it is added to a collection or after it is read from one.

A bundle is added to a collection as a whole or not at all. A record with a new id is added, and an identical record is
left out, so converting a file twice changes nothing. If any record contradicts the collection, nothing is written.
Every line is read back before it is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeGuard, TypeVar

import orjson

from nuggeteer.display import counted
from nuggeteer.errors import InputError, NuggeteerError, Problem, same_answers, stop_at_errors
from nuggeteer.formats import canonical
from nuggeteer.formats.cache import own_path
from nuggeteer.formats.canonical import counts_as_known, read_folder, unretracted
from nuggeteer.formats.jsonl import LONGEST_LINE, bare_name, is_regular, json_lines_in, stored, write_file
from nuggeteer.formats.toml_settings import read_settings
from nuggeteer.records import Judgement, Nugget, Question, Response, RunInfo
from nuggeteer.text import normalised, says_nothing, verdict_form

Record = TypeVar("Record", Question, Nugget, RunInfo, Response, Judgement)
OfQuestion = TypeVar("OfQuestion", Nugget, Response)
KEPT_ASIDE = "the line is kept aside in garbled/; correct it and convert again"  # what to do about a garbled line
USED = "it is used so; the line is kept aside in garbled/ too, and may be corrected"  # one that is understood in part
NOT_ASSIGNED = "not_assigned"  # which we write for a nugget that nobody judged
BETWEEN = " / "  # joins several descriptions of a nugget
_SHOWN = 5
_LONGEST_NAME = 200


@dataclass
class Bundle:
    """Records without a folder. `garbled` has every line that the reader did not understand.

    `excluded` has the verdicts of a collection that were retracted, and those of machines that are not its standard. In
    `garbled`, bytes that are not UTF-8 are lone surrogates (`surrogateescape`), so they can be written unchanged.
    `left_out` counts what our files have no place for, and `unused` what is kept under other keys and nothing uses.
    """

    questions: dict[str, Question] = field(default_factory=dict)
    nuggets: list[Nugget] = field(default_factory=list)
    runs: dict[str, RunInfo] = field(default_factory=dict)
    responses: dict[str, list[Response]] = field(default_factory=dict)
    judgements: list[Judgement] = field(default_factory=list)
    excluded: list[Judgement] = field(default_factory=list)
    garbled: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unmatched: int = 0  # texts that no nugget of the key has
    unassigned: int = 0  # nuggets of the key that an answer's list lacks
    left_out: Counter[str] = field(default_factory=Counter)
    unused: Counter[str] = field(default_factory=Counter)
    counted: Literal["line", "object"] = "line"  # what the numbers of its problems count

    def add_question(self, question: Question) -> None:
        self.questions.setdefault(question.qid, question)

    def worded(self, path: Path, line: int, qid: str, text: object) -> None:
        """Say that a line words a question in another way than the first one did."""
        if isinstance(text, str) and text and text != self.questions[qid].text:
            what = f"{qid} is worded {text!r:.60} here, and in another way before"
            self.warn(path, line, what, "the first wording is the question's; this one is kept with the answer")

    def add_response(self, info: RunInfo, response: Response) -> None:
        self.runs.setdefault(info.run, info)
        self.responses.setdefault(info.run, []).append(response)

    def not_understood(self, path: Path, line: int, raw: str, what: str, remedy: str = KEPT_ASIDE) -> None:
        self.garbled.append(raw)
        self.warn(path, line, what, remedy)

    def warn(self, path: Path, line: int | None, what: str, remedy: str) -> None:
        """A warning about a line, or about an object of a document that has no lines of its own."""
        place, what = (line, what) if self.counted == "line" or line is None else (None, f"object {line}: {what}")
        self.problems.append(Problem(str(path), place, what, remedy, "warning"))

    def warn_of_questions(self, path: Path, qids: Sequence[str], what: str, remedy: str) -> None:
        """A warning about questions that have something in common, if there are any."""
        if qids:
            shown = ", ".join(qids[:_SHOWN]) + (", ..." if len(qids) > _SHOWN else "")
            self.warn(path, None, f"{counted(len(qids), 'question')} {what}: {shown}", remedy)

    def question(self, qid: str) -> Question:
        """The question of that id, without a text if there is none."""
        return self.questions.get(qid, Question(qid, ""))

    def nuggets_by_question(self) -> dict[str, list[Nugget]]:
        """The nuggets of every question, which may have none."""
        return {qid: [] for qid in self.questions} | by_question(self.nuggets)

    def warn_of_empty_answers(self, path: Path) -> None:
        """A warning about answers without a word, so that nobody takes the 0 of a lost answer for the system's."""
        words = Counter[tuple[str, str]]()
        for run, responses in self.responses.items():
            for response in responses:
                words[run, response.qid] += not says_nothing(response.text)
        empty = [qid for (_, qid), count in words.items() if not count]
        self.warn_of_questions(path, empty, "with an empty answer", "each scores 0; correct that if something was said")
        for run, responses in self.responses.items():
            answers = by_question(responses).values()
            self.problems += same_answers(path, [tuple(response.text for response in own) for own in answers], run)


def by_question(records: Iterable[OfQuestion]) -> dict[str, list[OfQuestion]]:
    """The records of each question."""
    found: dict[str, list[OfQuestion]] = {}
    for record in records:
        found.setdefault(record.qid, []).append(record)
    return found


def as_id(value: Any) -> str | None:
    """A string or a whole number as an id; None if it is not a valid id of a collection."""
    try:
        return canonical.MANIFEST.parse({"run": str(value) if type(value) is int else value}).run
    except canonical.WrongLine:
        return None


def are_texts(value: Any) -> TypeGuard[list[dict[str, Any]]]:
    """Whether it is a list of objects that each have a `text`."""
    return isinstance(value, list) and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in value)


def kept(record: Question | Nugget | Response | Judgement, key: str) -> dict[str, Any]:
    """The part of a foreign object that a reader kept under this extra key."""
    value = record.extra.get(key)
    return value if isinstance(value, dict) else {}


def as_json(value: Any) -> str:
    """A value on one line."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        raise NuggeteerError(f"a value cannot be written as JSON: {error}") from error


def read_bundle(folder: Path) -> Bundle:
    """All records of a collection with their unknown keys. Raises an error if any line is bad."""
    bundle = Bundle()
    problems: list[Problem] = []

    def lines(layout: canonical.Layout[Record], path: Path) -> Iterator[Record]:
        if path.exists() and is_regular(path, problems, folder):
            yield from (record for _, record in layout.read(path, problems))

    for question in lines(canonical.QUESTIONS, stored(folder / "questions.jsonl", problems)):
        bundle.add_question(question)
    bundle.nuggets.extend(lines(canonical.NUGGETS, stored(folder / "nuggets.jsonl", problems)))
    for info in lines(canonical.MANIFEST, folder / "runs.jsonl"):
        bundle.runs.setdefault(info.run, info)
    for path in json_lines_in(folder / "runs"):
        bundle.responses[bare_name(path)] = list(lines(canonical.RESPONSES, path))
    entries = read_folder(folder / "judgements", problems)
    as_truth = read_settings(folder / "nuggeteer.toml").judgements.as_truth
    bundle.judgements = [v.record for v in unretracted(entries) if counts_as_known(v.record, as_truth)]
    included = set(map(id, bundle.judgements))
    judgements = [entry.record for entry in entries if isinstance(entry.record, Judgement)]
    bundle.excluded = [judgement for judgement in judgements if id(judgement) not in included]
    stop_at_errors(problems)
    return bundle


def write_bundles(
    sources: Sequence[tuple[str, Bundle]], folder: Path, remedy: str = "convert into a new folder, or rename them"
) -> list[list[Path]]:
    """Add bundles to a collection, which is created if necessary. Returns the files that were written for each bundle.

    The source is the name for the bundle's file of judgements and for its file of garbled lines. `remedy` says what to
    do if something of that name is there already, and is different.
    """
    target = _Target(folder, read_bundle(folder) if folder.is_dir() else Bundle())
    plans = [target.plan(source, bundle) for source, bundle in sources]
    if target.clashes:
        shown = "; ".join(target.clashes[:_SHOWN]) + ("; ..." if len(target.clashes) > _SHOWN else "")
        raise NuggeteerError(f"nothing was written: {shown}; {remedy}")
    for plan in plans:
        for path, added in plan.items():
            _append(own_path(folder, str(path.relative_to(folder))), added)
    return [list(plan) for plan in plans]


class _Target:
    """A collection with the bundles added so far, and the clashes that prevent adding them."""

    def __init__(self, folder: Path, present: Bundle) -> None:
        self.folder = folder
        self.clashes: list[str] = []
        self._questions = dict(present.questions)
        self._nuggets = {(n.qid, n.nugget): n for n in present.nuggets}
        self._runs = dict(present.runs)
        self._responses = dict(present.responses)
        self._verdicts = set(map(_line, present.judgements + present.excluded))
        self._planned: dict[Path, bytes] = {}

    def plan(self, source: str, bundle: Bundle) -> dict[Path, bytes]:
        """The lines to add to each file."""
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
                    self._clash(f"the run {name!r} in {self.folder} is different")
            elif self._is_file_name(name):
                self._responses[name] = responses
                lines = self._lines(canonical.RESPONSES, responses)
                plan[self.folder / "runs" / f"{name}.jsonl"] = lines
        if (bundle.judgements or bundle.garbled) and self._is_file_name(source):
            path = self.folder / "judgements" / f"{source}.jsonl"
            verdicts = self._lines(canonical.JUDGEMENTS, bundle.judgements)
            if not self._verdicts.issuperset(verdicts):
                if self._before(path):
                    self._clash(f"{path} already exists and is different")
                self._verdicts.update(verdicts)
                plan[path] = verdicts
            path = self.folder / "garbled" / f"{source}.txt"
            aside = set(self._before(path).split(b"\n"))
            garbled = (raw.encode("utf-8", "surrogateescape") for raw in bundle.garbled)
            plan[path] = [raw + b"\n" for raw in garbled if raw not in aside]
        added = {path: b"".join(lines) for path, lines in plan.items() if lines}
        for path, new in added.items():
            if stored(path, []) != path:
                self._clash(f"{path}.gz is compressed; unpack it with gunzip first")
            self._planned[path] = self._planned.get(path, b"") + new
        return added

    def _clash(self, what: str) -> None:
        self.clashes.append(what)

    def _new(self, kind: str, old: dict[Any, Record], new: Iterable[tuple[Hashable, Record]]) -> list[Record]:
        """The records that the collection does not have. A record that differs from the collection's is a clash."""
        fresh = []
        for name, record in new:
            if name not in old:
                fresh.append(old.setdefault(name, record))
                continue
            line = canonical.as_line(old[name])
            if any(line.get(key) != value for key, value in _compared(record).items()):
                self._clash(f"the {kind} {name!r} in {self.folder} is different")
        return fresh

    def _lines(self, layout: canonical.Layout[Record], records: Iterable[Record]) -> list[bytes]:
        """Lines of records. A record whose line would be read differently is a clash."""
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
            self._clash(f"{name!r:.100} cannot be a file name")
        return fits

    def _before(self, path: Path) -> bytes:
        problems: list[Problem] = []
        if not is_regular(path, problems, self.folder):
            raise InputError(problems)
        return (path.read_bytes() if path.is_file() else b"") + self._planned.get(path, b"")


def _compared(record: Question | Nugget | RunInfo | Response | Judgement) -> Mapping[str, Any]:
    """The keys that must be the same in both records. Readers derive a question's kind and target, so these may
    differ, and so may a missing text."""
    line = canonical.as_line(record)
    if isinstance(record, Question):
        return {key: value for key, value in line.items() if value and key not in ("kind", "target")}
    return line


def _line(record: Question | Nugget | RunInfo | Response | Judgement) -> bytes:
    return as_json(canonical.as_line(record)).encode() + b"\n"


def _append(path: Path, added: bytes) -> None:
    """Add bytes to a file, replacing it in one step."""
    before = path.read_bytes() if path.is_file() else b""
    if before and not before.endswith(b"\n"):
        before += b"\n"
    write_file(path, before + added, follow=False)


def places(texts: Sequence[str], nuggets: Sequence[Nugget]) -> list[int | None]:
    """The index in `nuggets` of each text of a list without ids, such as AutoNuggetizer's; None if no nugget has it.

    A language model that labels nuggets drops some and changes the order of others, so a place in a list says nothing.
    A text is first compared as it is, then without regard to case and white space (`text.normalised`), then as verdicts
    are (`text.verdict_form`). Each nugget is taken once: of equal texts, the first is the first nugget with that
    text."""
    found: list[int | None] = [None] * len(texts)
    taken: set[int] = set()
    for form in (str, normalised, verdict_form):
        free: dict[str, list[int]] = {}
        for i in reversed([i for i in range(len(nuggets)) if i not in taken]):
            own = nuggets[i].descriptions
            for text in {form(text) for text in (*own, BETWEEN.join(own))}:
                free.setdefault(text, []).append(i)
        for at in [at for at, place in enumerate(found) if place is None]:
            candidates = free.get(form(texts[at]), [])
            while candidates and found[at] is None:
                if (place := candidates.pop()) not in taken:
                    found[at] = place
                    taken.add(place)
    return found
