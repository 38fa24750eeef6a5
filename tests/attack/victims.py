"""Commands that write, as users start them, and what must hold after one was killed or a call of it failed.

A yard has a collection to copy, and a server for `ask`. Each command is a process of its own: its input and what it
says are files beside the collection.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from nuggeteer.collection.checking import check
from nuggeteer.collection.ledger import Ledger
from nuggeteer.formats.append import torn
from nuggeteer.records import Judgement
from tests.asking.fake_server import FakeServer, Request
from tests.conftest import ROOT, write_lines

FACTS = ("apples are red", "pears are green", "plums are blue")
TEXTS = ("Apples are red.", "Pears are green and plums are blue.", "Nobody knows.")
QUESTIONS = 3
IMPORTED = 40


@dataclass(frozen=True)
class Victim:
    """A command that writes. {root}, {who}, {label} and {file} in its words are filled in for each child. `without` is
    a file that the collection does not have yet."""

    name: str
    words: str
    keys: str = ""
    without: str = ""


VICTIMS = {
    victim.name: victim
    for victim in (
        Victim("judge", "judge r --plain --assessor {who} --collection {root}", "p v New fact\ny\nn\nu\ny\nn\na\nq\n"),
        Victim("import", "judge --import {file} --assessor {who} --collection {root}"),
        Victim("create", "score r --record --label {label} --collection {root}", without="history.sqlite3"),
        Victim("record", "score r --record --label {label} --collection {root}"),
        Victim("nightly", "nightly r --label {label} --collection {root}"),
        Victim("rescore", "history --rescore --collection {root}"),
        Victim("audit", "judge r --audit 4 --plain --assessor {who} --collection {root}", "n\ny\nq\n"),
        Victim("ask", "ask r --all --judge fake --collection {root}"),
    )
}


@dataclass
class Child:
    """A command that was started, and what it has said so far."""

    victim: Victim
    who: str
    label: str
    process: subprocess.Popen[bytes]
    folder: Path
    code: int | None = None

    @property
    def said(self) -> str:
        return (self.folder / "out").read_text(encoding="utf-8", errors="replace")

    @property
    def complained(self) -> str:
        return (self.folder / "err").read_text(encoding="utf-8", errors="replace")

    def wait(self) -> int:
        """Its exit code, or the negative number of the signal that ended it."""
        self.code = self.process.wait(300)
        return self.code


class Yard:
    """Use as a context."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._count = folder, 0
        folder.mkdir(exist_ok=True)
        state = str(folder / "state")
        users = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.environment = {**users, "XDG_STATE_HOME": state, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        self.server = FakeServer().__enter__()
        self.template = folder / "template"
        _make_collection(self.template, self.server)
        self.run(VICTIMS["record"], self.template)  # with caches, and with a history that has a build
        Ledger(self.template, "before").append(Judgement("q1", "0", TEXTS[0], True))  # so it needs scoring again

    def __enter__(self) -> Yard:
        return self

    def __exit__(self, *error: object) -> None:
        self.server.__exit__()

    def collection(self, victims: Iterable[Victim] = ()) -> Path:
        """A new copy of the collection, as these commands begin with it."""
        root = self.folder / "collection"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.template, root)
        for victim in victims:
            if victim.without:
                (root / victim.without).unlink(missing_ok=True)
        return root

    def begin(
        self, victim: Victim, root: Path, who: str = "ann", under: Sequence[str] = (), words: Sequence[str] = ()
    ) -> Child:
        """Start a command, with words of its own or these, under another one such as a tracer."""
        self._count += 1
        folder, label = self.folder / f"said-{self._count % 100}", f"build-{self._count}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "in").write_text(victim.keys)
        write_lines(folder / "v.jsonl", verdicts_of(label))
        own = victim.words.format(root=root, who=who, label=label, file=folder / "v.jsonl").split()
        words = words or own
        command = [*under, sys.executable, "-W", "error", "-m", "nuggeteer", *words]
        with ExitStack() as files:
            given, said, complained = (
                files.enter_context((folder / name).open(mode))
                for name, mode in (("in", "rb"), ("out", "wb"), ("err", "wb"))
            )
            process = subprocess.Popen(
                command, cwd=folder, env=self.environment, stdin=given, stdout=said, stderr=complained
            )
        return Child(victim, who, label, process, folder)

    def run(self, victim: Victim, root: Path, **how: Any) -> Child:
        """A command from its beginning to its end."""
        child = self.begin(victim, root, **how)
        child.wait()
        return child


def verdicts_of(label: str) -> list[dict[str, Any]]:
    """The verdicts that a child imports."""
    texts = (f"{label} says {number}" for number in range(IMPORTED))
    return [{"qid": "q0", "nugget": "1", "text": text, "verdict": True} for text in texts]


def _make_collection(root: Path, server: FakeServer) -> None:
    qids = [f"q{number}" for number in range(QUESTIONS)]
    write_lines(root / "questions.jsonl", [{"qid": qid, "text": f"Which fruit is in {qid}?"} for qid in qids])
    nuggets = [(qid, str(number), text) for qid in qids for number, text in enumerate(FACTS)]
    keys = ("qid", "nugget", "text")
    write_lines(root / "nuggets.jsonl", [dict(zip(keys, n, strict=True)) | {"importance": "vital"} for n in nuggets])
    write_lines(root / "runs" / "r.jsonl", [{"qid": qid, "text": text} for qid in qids for text in TEXTS])
    before = [{"qid": "q0", "nugget": "0", "text": text, "verdict": "red" in text} for text in TEXTS]
    for who in ("ann", "before"):
        write_lines(root / "judgements" / f"{who}.jsonl", [{**line, "assessor": who} for line in before])
    reports = 'page = "night.html"\nmarkdown = "night.md"\njunit = "night.xml"\n'
    (root / "nuggeteer.toml").write_text(f"[nightly]\n{reports}{server.settings()}", encoding="utf-8")


# What must hold.

RECORD = ("create", "record", "nightly")
_WRITTEN = re.compile(r"> (yes|no): (\S+)/(\S+), written$", re.MULTILINE)
_ALL_NO = re.compile(r"> no to (\d+) nuggets, written$", re.MULTILINE)


def broken(root: Path, template: Path, children: list[Child]) -> list[str]:
    """What was promised and does not hold after commands ended, however they did. Changes nothing."""
    found = []
    for path in sorted((template / "judgements").glob("*.jsonl")):
        if not (root / "judgements" / path.name).read_bytes().startswith(path.read_bytes()):
            found.append(f"{path.name}: earlier verdicts are gone")
    for who in sorted({child.who for child in children}):
        own = [child for child in children if child.who == who]
        written = Counter[tuple[str, str, bool]]()
        texts, content = set[str](), (root / "judgements" / f"{who}.jsonl").read_bytes()
        earlier = len((template / "judgements" / f"{who}.jsonl").read_bytes())
        for line in content.removesuffix(torn(content))[earlier:].splitlines():
            record = json.loads(line)
            texts.add(record["text"])
            if "verdict" in record:
                written[record["qid"], record["nugget"], record["verdict"]] += 1
        said, others = Counter[tuple[str, str, bool]](), 0
        for child in own:
            for word, qid, nugget in _WRITTEN.findall(child.said) if child.victim.name == "judge" else ():
                said[qid, nugget, word == "yes"] += 1
            others += sum(map(int, _ALL_NO.findall(child.said)))
            if child.victim.name == "import" and " written to " in child.said:
                gone = {line["text"] for line in verdicts_of(child.label)} - texts
                found += [f"{who}: {len(gone)} imported verdicts are gone"] if gone else []
            if child.victim.name == "judge" and "proposed, in" in child.said:
                proposed = root / "proposals.jsonl"
                found += [] if proposed.exists() and b"New fact" in proposed.read_bytes() else ["a proposal is gone"]
        found += [f"{who}: acknowledged and gone: {pair} × {count}" for pair, count in (said - written).items()]
        if (all_no := sum(n for (_, _, yes), n in (written - said).items() if not yes)) < others:
            found.append(f"{who}: acknowledged and gone: {others - all_no} times no to the others")
    found += _broken_history(root, children)
    for name, whole in (("night.html", "</html>"), ("night.md", "\n")):
        if (root / name).exists() and not (root / name).read_text(encoding="utf-8").endswith((whole, f"{whole}\n")):
            found.append(f"{name} is half-written")
    if (root / "night.xml").exists():
        ElementTree.parse(root / "night.xml")
    models = [child for child in children if child.victim.name == "ask"]
    told = sum(int(count) for child in models for count in re.findall(r"gave (\d+) verdicts?", child.said))
    if (count := len(list(objects(root / "judges" / "fake.jsonl")))) < told:
        found.append(f"{told - count} verdicts of a model are gone")
    return found


def objects(path: Path) -> Iterator[dict[str, Any]]:
    """The whole lines of a ledger."""
    content = path.read_bytes() if path.exists() else b""
    yield from map(json.loads, content.removesuffix(torn(content)).splitlines())


def _broken_history(root: Path, children: list[Child]) -> Iterator[str]:
    recorded = {child.label for child in children if child.victim.name in RECORD and "recorded" in child.said}
    if not (root / "history.sqlite3").exists():
        if recorded:
            yield f"{len(recorded)} recorded builds are gone"
        return
    with tempfile.TemporaryDirectory(
        dir=root.parent
    ) as folder:  # SQLite would recover the file itself, and end its log
        for path in root.glob("history.sqlite3*"):
            shutil.copy(path, folder)
        yield from _broken_copy(Path(folder) / "history.sqlite3", recorded)


def _broken_copy(path: Path, recorded: set[str]) -> Iterator[str]:
    with closing(sqlite3.connect(path)) as db:
        if db.execute("PRAGMA quick_check").fetchone() != ("ok",):
            yield "the history is damaged"
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            if recorded:
                yield "the history is empty"
            return
        builds = db.execute("SELECT id, label FROM builds").fetchall()
        if gone := recorded - {label for _, label in builds}:
            yield f"{len(gone)} recorded builds are gone"
        counts = {
            "answers WHERE build": QUESTIONS,
            "responses WHERE build": QUESTIONS * len(TEXTS),
            "scorings WHERE build": 1,
            "outcomes JOIN scorings ON scorings.id = scoring WHERE build": QUESTIONS * len(FACTS),
        }
        for build, label in builds:
            for table, count in counts.items():
                if db.execute(f"SELECT count(*) FROM {table} = ?", (build,)).fetchone()[0] < count:
                    yield f"the build {label} is half-recorded: {table}"


def not_recovered(root: Path) -> list[str]:
    """What is still wrong when the next verdict is written: torn lines must be set aside, and nothing else changed."""
    found = []
    for path in sorted((root / "judgements").glob("*.jsonl")):
        content = path.read_bytes()
        rest = torn(content)
        Ledger(root, path.stem).append(Judgement("q0", "0", "the next", True))
        after = path.read_bytes()
        if not after.startswith(content.removesuffix(rest)):
            found.append(f"{path.name}: lines changed when the next was written")
        if rest and rest not in {aside.read_bytes() for aside in path.parent.glob(f"{path.name}.torn-*")}:
            found.append(f"{path.name}: a torn line was dropped")
    return found + [str(problem) for problem in check(root) if problem.severity == "error"]


def not_going_on(yard: Yard, root: Path, names: Iterable[str]) -> list[str]:
    """What is wrong when commands run again, to their end. What a model has said is not paid for again."""
    found = []
    for name in names:
        answered = {(line["qid"], line["nugget"]) for line in objects(root / "judges" / "fake.jsonl")}
        yard.server.requests.clear()
        child = yard.run(VICTIMS[name], root, who="before")
        if child.code not in (0, 1) and "nothing left to judge" not in child.said:
            found.append(f"{name} ends with {child.code} afterwards: {child.complained}")
        found += broken(root, yard.template, [child])
        found += [f"paid for twice: {pair}" for pair in _asked(yard.server.requests) & answered]
    return found


def _asked(requests: Iterable[Request]) -> set[tuple[str, str]]:
    """The questions and nuggets that a model was asked about."""
    found = set[tuple[str, str]]()
    for request in requests:
        if question := re.search(r"Which fruit is in (q\d+)", request.prompt):
            found |= {(question[1], str(FACTS.index(nugget))) for nugget in request.nuggets}
    return found


def leftovers(root: Path) -> list[str]:
    """Drafts that were not removed."""
    usual = {".gitattributes", ".gitignore", ".nuggeteer"}
    return [str(path.relative_to(root)) for path in root.rglob(".*") if path.name not in usual]
