"""A model's server that means no good, and texts that plant labels: `ask`, as users start it, against both.

However the server behaves, the command ends in time, with little memory and without a traceback, and the key stands
in no file and no output. Whatever a text plants, labels are read as the model meant them or not at all.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import socket
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.asking.fake_server import FakeServer, Fault, Request, labels_of, reply_of
from tests.asking.hostile_server import COMPRESSED, SLOW, HostileServer, for_ever, reply
from tests.asking.test_injection import ECHOES, INJECTIONS, PIECES, PLANTED
from tests.asking.test_secret import QUOTED, shows
from tests.attack.readers import nested
from tests.attack.victims import VICTIMS, Yard, objects
from tests.conftest import write_lines

KEY = "sk-SECRET/abc+def0123456789="
TIMEOUT, MINUTES = 1, 0.05
LONGEST = 60 * MINUTES + 3 * TIMEOUT + 10  # seconds that a command may take, start and end included
MEMORY = 1_500_000_000  # bytes of addresses
Act = Callable[[socket.socket], object]


def _completion(content: str, **more: object) -> bytes:
    return json.dumps({"model": "m", "choices": [{"message": {"content": content}}], **more}).encode()


def _answers(rng: random.Random) -> bytes:
    """A whole reply of the fixed shape in which something is wrong, or the key."""
    quoted = rng.choice(list(QUOTED.values()))(KEY)
    deep = nested(rng.choice((50, 300, 990, 1015)))
    return rng.choice(
        (
            _completion(quoted, system_fingerprint=quoted),
            _completion(json.dumps({"1": quoted}), model=quoted),
            _completion(f'{{"1": {deep}}}'),
            _completion("{" * 10_000),
            _completion("x" * 5_000_000),
            f'{{"choices": [{{"message": {{"content": "{{}}"}}, "logprobs": {{"content": {deep}}}}}]}}'.encode(),
            f'{{"error": {{"message": "{quoted}"}}}}'.encode(),
            b'{"choices": ' + b"[" * 100_000,
            rng.randbytes(1000),
            b" " * 20_000_000,
        )
    )


def _act(rng: random.Random) -> Act:
    way = rng.randrange(4)
    if way == 0:
        return rng.choice([*SLOW.values(), for_ever(b"\0", pause=0)])
    if way == 1:
        encoding = rng.choice(list(COMPRESSED))
        return reply(COMPRESSED[encoding], f"Content-Encoding: {encoding}")
    if way == 2:
        status = rng.choice((200, 301, 400, 401, 404, 429, 500, 503))
        later = rng.choice(("1e9", "-1", "Wed, 21 Oct 20151021202020202020 07:28:00 GMT", "nan", KEY, "soon"))
        headers = (f"Retry-After: {later}", f"Location: http://127.0.0.1:9/{KEY}", f"X-Key: {KEY}")
        return reply(_answers(rng), *headers, status=f"{status} {KEY}")
    return reply(_answers(rng))


@dataclass
class Met:
    """How many requests were answered in a hostile way, what the commands ended with, and what was broken."""

    commands: int = 0
    requests: int = 0
    codes: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    broken: list[str] = field(default_factory=list)


def meet(yard: Yard, count: int, seed: int, until: float = float("inf")) -> Met:
    """Let `ask` meet such a server."""
    rng, result = random.Random(seed), Met()
    yard.environment["THE_KEY"] = KEY
    while result.commands < count and time.monotonic() < until:
        with HostileServer(lambda connection: _act(rng)(connection)) as server:
            root = yard.collection()
            settings = f'key_env = "THE_KEY"\ntimeout = {TIMEOUT}\n'
            (root / "nuggeteer.toml").write_text(f'[judge.fake]\nurl = "{server.url}"\nmodel = "m"\n{settings}')
            begun = time.monotonic()
            words = ["ask", "r", "--judge", "fake", "--collection", str(root), "--minutes", str(MINUTES)]
            child = yard.run(VICTIMS["ask"], root, words=words, under=["prlimit", f"--as={MEMORY}"])
            seconds = time.monotonic() - begun
        assert child.code is not None
        result.commands += 1
        result.requests += len(server.received)
        result.codes[child.code] += 1
        result.slowest = max(result.slowest, seconds)
        if child.code not in (0, 2) or "Traceback" in child.complained:
            result.broken.append(f"it ends with {child.code}: {child.complained[-600:]}")
        if seconds > LONGEST:
            result.broken.append(f"it took {seconds:.0f} s")
        if "more memory than there is" in child.complained:
            result.broken.append("it needed much memory")
        texts = [path.read_text(errors="replace") for path in (*root.glob("jud*/**/*.*"), *root.glob("*.jsonl"))]
        lines = {line for text in (*texts, child.said, child.complained) for line in text.splitlines()}
        result.broken += [f"the key is shown: {line[:300]}" for line in lines if shows(line, KEY, 2)]
    del yard.environment["THE_KEY"]
    return result


ASKED = [f"{word} are fine" for word in ("apples", "pears", "plums", "figs", "dates")]
PLANTS = [*INJECTIONS, *PIECES, PLANTED, *(f"{a}{PLANTED}{b}" for a in PIECES for b in PIECES if len(a + b) < 50_000)]


@dataclass
class Echoed:
    """Replies of a model that repeats the answer, each in some way: how many, refused, and read in another way."""

    replies: int = 0
    refused: int = 0
    changed: list[str] = field(default_factory=list)


def echo(yard: Yard) -> Echoed:
    """Ask about answers that plant labels, of a model that repeats each of them beside its own labels."""
    result = Echoed()
    for name, repeat in ECHOES.items():
        root, own = yard.folder / "echoed", dict[tuple[str, str], str]()
        shutil.rmtree(root, ignore_errors=True)

        def act(request: Request, repeat: Callable[[str, str], str] = repeat, own: Any = own) -> Fault:
            labels = labels_of(request)
            qid = re.search(r"^Question: (q\d+)$", request.prompt, re.MULTILINE)[1]
            own |= {(qid, str(ASKED.index(nugget))): one for nugget, one in zip(request.nuggets, labels, strict=True)}
            if len(request.nuggets) < len(ASKED):
                return Fault(content=reply_of(labels))  # one was refused, and is asked for again in halves
            result.replies += 1
            return Fault(content=repeat(request.answer, reply_of(labels)))

        texts = [text for plant in PLANTS for text in (plant, f"{plant} apples are bad") if text.strip()]
        qids = [f"q{number}" for number in range(len(texts))]
        write_lines(root / "questions.jsonl", [{"qid": qid, "text": qid} for qid in qids])
        nuggets = [{"qid": q, "nugget": str(n), "text": text} for q in qids for n, text in enumerate(ASKED)]
        write_lines(root / "nuggets.jsonl", [{**nugget, "importance": "vital"} for nugget in nuggets])
        answers = [{"qid": qid, "text": text} for qid, text in zip(qids, texts, strict=True)]
        write_lines(root / "runs" / "r.jsonl", answers)
        with FakeServer(always=act) as server:
            (root / "nuggeteer.toml").write_text(server.settings())
            words = ["ask", "r", "--all", "--collection", str(root)]
            if yard.run(VICTIMS["ask"], root, words=words).code:
                result.changed.append(f"{name}: it fails")
        calls = objects(root / "judges" / "calls" / "fake.jsonl")
        result.refused += sum(call["outcome"] == "malformed" for call in calls)
        for line in objects(root / "judges" / "fake.jsonl"):
            if line["assignment"] != own[line["qid"], line["nugget"]]:
                result.changed.append(f"{name}: {line['text'][:200]!r}")
    return result
