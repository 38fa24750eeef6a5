"""Collections from a stranger, given to commands as users start them: journals, logs, links and schemas that do harm.

Whatever lies there, no file outside of the collection changes, and no command ends with a traceback.
"""

from __future__ import annotations

import os
import random
import sqlite3
import struct
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.attack.victims import Victim, Yard

MAGIC = bytes.fromhex("d9d505f920a163d7")
PRECIOUS = b'{"qid": "q0", "nugget": "0", "text": "years of work", "verdict": true}\n'
COMMANDS = [
    Victim(words.split()[0], f"{words} --collection {{root}}", keys="y\nn\np v New fact\nq\n")
    for words in (
        *("history", "history --rescore", "score r --record --label {label}", "nightly r --label {label}", "report r"),
        *("judge r --list --against build-1", "judge r --plain --assessor ann", "judge --import {file} --assessor ann"),
        *("ask r --judge fake", "check", "diff r r"),
    )
]


def hot_journal(history: Path, victim: Path) -> bytes:
    """What a process leaves that was killed while it changed several files: it names the file that lists them all."""
    with history.open("rb") as file:
        size = int.from_bytes(file.read(18)[16:18], "big") % 65535 or 65536
    name, pages = os.fsencode(victim), history.stat().st_size // size
    head = (MAGIC + struct.pack(">IIIII", 0, 0, pages, 512, size)).ljust(512, b"\0")
    return head + struct.pack(">I", 0x40000000 // size + 1) + name + struct.pack(">II", len(name), sum(name)) + MAGIC


def _journal(root: Path, outside: Path, rng: random.Random) -> None:
    journal = bytearray(hot_journal(root / "history.sqlite3", outside))
    for _ in range(rng.choice((0, 0, 1, 3))):
        journal[rng.randrange(len(journal))] = rng.randrange(256)
    cut = rng.choice((len(journal), len(journal), rng.randrange(len(journal))))
    (root / "history.sqlite3-journal").write_bytes(journal[:cut])
    if rng.random() < 0.2:
        (root / "history.sqlite3").unlink()


def _log(root: Path, outside: Path, rng: random.Random) -> None:
    """A log and its index: of another history, cut, or of noise."""
    history = root / "history.sqlite3"
    db = sqlite3.connect(history)
    db.execute("UPDATE builds SET label = 'theirs'")
    db.commit()
    content = {suffix: Path(f"{history}{suffix}").read_bytes() for suffix in ("-wal", "-shm")}
    db.close()
    for suffix, own in content.items():
        made = rng.choice((own, own[: rng.randrange(len(own))], rng.randbytes(rng.randrange(9000)), b""))
        Path(f"{history}{suffix}").write_bytes(made)
    if rng.random() < 0.3:
        history.unlink()


def _link(root: Path, outside: Path, rng: random.Random) -> None:
    """A second name of the file outside, or a link to it, in the place of a file that commands write."""
    names = ("judgements/ann.jsonl", "proposals.jsonl", "judges/fake.jsonl", "night.md")
    names += ("judges/calls/fake.jsonl", "history.sqlite3", "history.sqlite3-wal", "history.sqlite3-shm", "night.html")
    path = root / rng.choice((*names, ".nuggeteer/reliability", ".nuggeteer/asking.lock", "judgements/.gitattributes"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.hardlink_to(outside) if rng.random() < 0.5 else path.symlink_to(outside)


def _schema(root: Path, outside: Path, rng: random.Random) -> None:
    steps = (
        "CREATE TRIGGER t AFTER INSERT ON builds BEGIN DELETE FROM builds; END",
        "CREATE TRIGGER t AFTER UPDATE ON builds BEGIN SELECT load_extension('/tmp/x'); END",
        "CREATE TRIGGER t AFTER INSERT ON scorings BEGIN DELETE FROM builds; END;"
        " PRAGMA writable_schema = ON; UPDATE sqlite_master SET type = 'Trigger' WHERE name = 't'",
        f"UPDATE builds SET id = {2**63 - 1}",
        "CREATE VIRTUAL TABLE v USING rtree(id, low, high)",
        "CREATE VIEW v AS SELECT writefile('x', 'y')",
        "ALTER TABLE builds ADD COLUMN more TEXT AS (hex(zeroblob(1000000)))",
        "UPDATE texts SET text = CAST(zeroblob(30000000) AS TEXT)",
        "CREATE INDEX i ON texts (length(text))",
        "DROP TABLE texts",
    )
    with closing(sqlite3.connect(root / "history.sqlite3", isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        with suppress(sqlite3.Error):
            db.executescript(rng.choice(steps))


def _draft(root: Path, outside: Path, rng: random.Random) -> None:
    """Somebody's history by a second name, and their folder by a link that is called as a draft."""
    history = root / "history.sqlite3"
    for path in root.glob("history.sqlite3-*"):
        path.unlink()
    history.rename(outside.with_name(history.name))
    history.hardlink_to(outside.with_name(history.name))
    (root / f".{history.name}.{rng.choice(('x', 'abcdefgh'))}").symlink_to(outside.parent)


GIFTS: dict[str, Callable[[Path, Path, random.Random], None]] = {
    "a journal": _journal,
    "a log": _log,
    "a link": _link,
    "a schema": _schema,
    "a draft": _draft,
}


@dataclass
class Given:
    """How many commands met which gift, what they ended with, and what was broken."""

    met: Counter[str] = field(default_factory=Counter)
    codes: Counter[int] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def give(yard: Yard, count: int, seed: int, until: float = float("inf")) -> Given:
    """Give collections to commands."""
    rng, result = random.Random(seed), Given()
    folder = yard.folder / "outside"
    folder.mkdir(exist_ok=True)
    while result.met.total() < count and time.monotonic() < until:
        (gift, make), victim = rng.choice(list(GIFTS.items())), rng.choice(COMMANDS)
        outside, root = folder / "precious.jsonl", yard.collection()
        outside.write_bytes(PRECIOUS)
        make(root, outside, rng)
        before = {path: path.read_bytes() for path in folder.iterdir()}
        child = yard.run(victim, root)
        assert child.code is not None
        result.met[gift] += 1
        result.codes[child.code] += 1
        where = f"{gift}, {victim.words}"
        if child.code not in (0, 1, 2) or "Traceback" in child.complained:
            result.broken.append(f"{where}: it ends with {child.code}: {child.complained[-600:]}")
        if {path: path.read_bytes() for path in folder.iterdir()} != before:
            result.broken.append(f"{where}: a file outside has changed")
        for path in folder.iterdir():
            path.unlink()
    return result
