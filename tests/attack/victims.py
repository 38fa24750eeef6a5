"""Commands that write, in processes that can be killed by the thousand or made to fail, and what must hold afterwards.

A nursery is a process that has imported the package. It forks a child for each command, so a child begins in
milliseconds. A child can be told to stop before it begins, so that a tracer can attach.
"""

from __future__ import annotations

import json
import os
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from nuggeteer.collection.folder import check
from nuggeteer.collection.ledger import Ledger
from nuggeteer.formats.append import torn
from nuggeteer.records import Judgement
from tests.asking.fake_server import FakeServer
from tests.conftest import ROOT, write_lines

FACTS = ("apples are red", "pears are green", "plums are blue")
TEXTS = ("Apples are red.", "Pears are green and plums are blue.", "Nobody knows.")
QUESTIONS = 3
IMPORTED = 40


@dataclass(frozen=True)
class Victim:
    """A command that writes. {root}, {who}, {label} and {file} in its words are filled in for each child."""

    name: str
    words: str
    keys: str = ""


VICTIMS = {
    victim.name: victim
    for victim in (
        Victim(
            "judge", "judge r --plain --assessor {who} --collection {root}", "y\nn\nw\nu\nN\ny\np v New fact\nn\nq\n"
        ),
        Victim("import", "judge --import {file} --assessor {who} --collection {root}"),
        Victim("record", "score r --record --label {label} --collection {root}"),
        Victim("nightly", "nightly r --label {label} --collection {root}"),
        Victim("ask", "ask r --judge fake --collection {root}"),
    )
}


@dataclass
class Child:
    """A running command, and what it has said so far."""

    victim: Victim
    who: str
    label: str
    pid: int
    folder: Path
    code: int | None = None

    @property
    def said(self) -> str:
        return self._read("out")

    @property
    def complained(self) -> str:
        return self._read("err")

    def _read(self, name: str) -> str:
        path = self.folder / name  # absent if the child was killed before it opened it
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


class Nursery:
    """Use as a context. Children write what they say beside the collection, in files that no one else reads."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.state, self._count = folder, folder / "state", 0
        environment = {**os.environ, "XDG_STATE_HOME": str(self.state), "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200"}
        command = [sys.executable, "-W", "error", "-m", "tests.attack.victims"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._server = FakeServer().__enter__()
        self.template = folder / "template"
        _make_collection(self.template, self._server)
        try:
            self._warm()
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Nursery:
        return self

    def __exit__(self, *error: object) -> None:
        for end in (self._process.stdin, self._process.stdout):
            assert end
            end.close()
        self._process.wait()
        self._server.__exit__()

    def collection(self, name: str = "collection") -> Path:
        """A new copy of the collection."""
        root = self.folder / name
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.template, root)
        return root

    def begin(
        self, victim: Victim, root: Path, who: str = "ann", stopped: bool = False, largest: int | None = None
    ) -> Child:
        """Begin a command. With `stopped`, it waits for SIGCONT; no file may grow beyond `largest` bytes."""
        self._count += 1
        folder, label = self.folder / f"said-{self._count % 100}", f"build-{self._count}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / "in").write_text(victim.keys)
        write_lines(folder / "v.jsonl", verdicts_of(label))
        words = victim.words.format(root=root, who=who, label=label, file=folder / "v.jsonl").split()
        pid = self._ask(words=words, folder=str(folder), stopped=stopped, largest=largest)
        return Child(victim, who, label, pid, folder)

    def wait(self, child: Child) -> int:
        """Its exit code, or the negative number of the signal that ended it."""
        child.code = self._ask(wait=child.pid)
        return child.code

    def run(self, victim: Victim, root: Path, **how: Any) -> Child:
        """A command from its beginning to its end."""
        child = self.begin(victim, root, **how)
        self.wait(child)
        return child

    def _ask(self, **request: Any) -> int:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], 300)[0]:
            raise TimeoutError(f"no answer for 300 s to {request}")
        return int(self._process.stdout.readline())

    def _warm(self) -> None:
        """Import in the nursery itself what the commands import, and fill the caches of the template."""
        for victim in VICTIMS.values():
            root = self.collection("warm")
            folder = self.folder / "said-warm"
            folder.mkdir(exist_ok=True)
            (folder / "in").write_text(victim.keys)
            write_lines(folder / "v.jsonl", verdicts_of("warm"))
            words = victim.words.format(root=root, who="ann", label="warm", file=folder / "v.jsonl").split()
            code = self._ask(words=words, folder=str(folder), here=True)
            if code not in (0, 1):
                raise AssertionError(f"{victim.name} ends with {code}: {(folder / 'err').read_text()}")
        self.run(VICTIMS["record"], self.template)
        (self.template / "history.sqlite3").unlink()


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

_WRITTEN = re.compile(r"> (yes|no)(?: to (\d+) responses| to the whole answer)?: (\S+)/(\S+), written$", re.MULTILINE)


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
        for line in content.removesuffix(torn(content)).splitlines():
            record = json.loads(line)
            texts.add(record["text"])
            if "verdict" in record:
                written[record["qid"], record["nugget"], record["verdict"]] += 1
        said = Counter[tuple[str, str, bool]]()
        for child in own:
            for word, count, qid, nugget in _WRITTEN.findall(child.said) if child.victim.name == "judge" else ():
                said[qid, nugget, word == "yes"] += int(count or 1)
            if child.victim.name == "import" and " written to " in child.said:
                gone = {line["text"] for line in verdicts_of(child.label)} - texts
                found += [f"{who}: {len(gone)} imported verdicts are gone"] if gone else []
            if child.victim.name == "judge" and "proposed, in" in child.said:
                proposed = root / "proposals.jsonl"
                found += [] if proposed.exists() and b"New fact" in proposed.read_bytes() else ["a proposal is gone"]
        found += [f"{who}: acknowledged and gone: {pair} × {count}" for pair, count in (said - written).items()]
    found += _broken_history(root, children)
    for name, whole in (("night.html", "</html>"), ("night.md", "\n")):
        if (root / name).exists() and not (root / name).read_text(encoding="utf-8").endswith((whole, f"{whole}\n")):
            found.append(f"{name} is half-written")
    if (root / "night.xml").exists():
        ElementTree.parse(root / "night.xml")
    models = [child for child in children if child.victim.name == "ask"]
    told = sum(int(count) for child in models for count in re.findall(r"gave (\d+) verdicts?", child.said))
    if (count := len(list(_objects(root / "judges" / "fake.jsonl")))) < told:
        found.append(f"{told - count} verdicts of a model are gone")
    return found


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    content = path.read_bytes() if path.exists() else b""
    yield from map(json.loads, content.removesuffix(torn(content)).splitlines())


def _broken_history(root: Path, children: list[Child]) -> Iterator[str]:
    path = root / "history.sqlite3"
    recorded = {
        child.label for child in children if child.victim.name in ("record", "nightly") and "recorded" in child.said
    }
    if not path.exists():
        if recorded:
            yield f"{len(recorded)} recorded builds are gone"
        return
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


def not_going_on(nursery: Nursery, root: Path, names: Iterable[str]) -> list[str]:
    """What is wrong when commands run again, to their end."""
    found = []
    for name in names:
        child = nursery.run(VICTIMS[name], root, who="before")
        if child.code not in (0, 1) and "nothing left to judge" not in child.said:
            found.append(f"{name} ends with {child.code} afterwards: {child.complained}")
        found += broken(root, nursery.template, [child])
    return found


def leftovers(root: Path) -> list[str]:
    """Drafts that were not removed."""
    usual = {".gitattributes", ".gitignore", ".nuggeteer"}
    return [str(path.relative_to(root)) for path in root.rglob(".*") if path.name not in usual]


# The nursery itself.


def _redirect(folder: Path) -> None:
    """Make files of standard input, output and errors."""
    for number, name in enumerate(("in", "out", "err")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if number else os.O_RDONLY
        descriptor = os.open(folder / name, flags, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))


def _perform(words: list[str]) -> int:
    from nuggeteer.cli.main import main

    code = main(words)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # main has said so already
            stream.flush()
    return code


def _child(request: dict[str, Any]) -> None:
    code = 70
    try:
        _redirect(Path(request["folder"]))
        if request["stopped"]:
            os.kill(os.getpid(), signal.SIGSTOP)
        if request["largest"] is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["largest"],) * 2)
        code = _perform(request["words"])
    finally:
        os._exit(code)


def _serve() -> None:
    """Fork, wait and reply, a line for each request."""
    with os.fdopen(os.dup(0)) as requests, os.fdopen(os.dup(1), "w") as replies:
        while line := requests.readline():
            request = json.loads(line)
            if "wait" in request:
                reply = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
            elif request.get("here"):
                _redirect(Path(request["folder"]))
                reply = _perform(request["words"])
            else:
                reply = os.fork()
                if not reply:
                    _child(request)
                if request["stopped"]:
                    os.waitpid(reply, os.WUNTRACED)
            print(reply, file=replies, flush=True)


if __name__ == "__main__":
    _serve()
