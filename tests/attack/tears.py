"""Lines torn at every byte: a command may write so many bytes, and is killed where it would cut the line off again.

The next command finds what is left. Whole lines must stand, and the rest must be set aside byte for byte.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nuggeteer.formats.append import torn
from tests.attack.faults import traced
from tests.attack.victims import VICTIMS, Yard, broken, not_recovered

# The files of lines that a command writes, and how many of the lines are torn.
LEDGERS = {
    "import": {"judgements/ann.jsonl": 2},
    "judge": {"judgements/ann.jsonl": 2},
    "ask": {"judges/calls/fake.jsonl": 1, "judges/fake.jsonl": 3},
}
# Of a model: several threads write in any order, and a line may never be the one that is cut off.
ONE_AT_A_TIME = "concurrency = 1\n"


@dataclass
class Torn:
    """At which bytes each file was torn, how many bytes the lines have, and what was broken."""

    bytes: dict[str, set[int]] = field(default_factory=dict)
    whole: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


def tear(yard: Yard, names: Iterable[str], seed: int, until: float = float("inf"), step: int = 1) -> Torn:
    """Tear what these commands write at every `step`-th byte, in random order."""
    result = Torn()
    order: list[tuple[str, int]] = []
    for name in names:
        sizes = set[int]()
        for path, (first, last) in _written(yard, name).items():
            result.bytes[_key(name, path)], result.whole[_key(name, path)] = set(), last - first - 1
            sizes |= set(range(first + 1, last, step))
        order += [(name, size) for size in sorted(sizes)]
    random.Random(seed).shuffle(order)
    for name, size in order:
        if time.monotonic() > until:
            break
        result.broken += [f"{name}, torn at byte {size}: {what}" for what in _tear(yard, name, size, result)]
    return result


def _key(name: str, path: str) -> str:
    return f"{name}: {path}"


def _written(yard: Yard, name: str) -> dict[str, tuple[int, int]]:
    """The sizes between which each file of a command grows with its first lines."""
    root, found = yard.collection(), {}
    before = {path: (root / path).stat().st_size if (root / path).exists() else 0 for path in LEDGERS[name]}
    yard.run(VICTIMS[name], root)
    for path, count in LEDGERS[name].items():
        lines = (root / path).read_bytes()[before[path] :].splitlines(keepends=True)
        found[path] = before[path], before[path] + sum(map(len, lines[:count]))
    return found


def _tear(yard: Yard, name: str, size: int, result: Torn) -> Iterator[str]:
    victim, root = VICTIMS[name], yard.collection()
    with (root / "nuggeteer.toml").open("a", encoding="utf-8") as settings:
        settings.write(ONE_AT_A_TIME)
    killed = traced(yard.folder / "strace.log", ["ftruncate"], "-e", "inject=ftruncate:signal=KILL:when=1")
    child = yard.run(victim, root, under=[*killed, "prlimit", f"--fsize={size}"])
    before = {path: (root / path).read_bytes() for path in LEDGERS[name] if (root / path).exists()}
    rests = {path: rest for path, content in before.items() if (rest := torn(content))}
    for path in rests:
        result.bytes[_key(name, path)].add(size)
    yield from broken(root, yard.template, [child])
    again = yard.run(victim, root)
    if again.code not in (0, 1):
        yield f"the next command ends with {again.code}: {again.complained}"
    for path, content in before.items():
        if not (root / path).read_bytes().startswith(content.removesuffix(rests.get(path, b""))):
            yield f"{path}: lines changed when the next was written"
    for path, rest in rests.items():
        if [aside.read_bytes() for aside in root.glob(f"{path}.torn-*")] != [rest]:
            yield f"{path}: the torn line was not set aside as it was"
    yield from broken(root, yard.template, [again])
    yield from not_recovered(root)
