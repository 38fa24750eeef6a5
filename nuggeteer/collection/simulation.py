"""Simulate a collection of any size, together with its true verdicts.

English words are drawn by Zipf's law. A nugget is a short description of rarer words. Some nuggets are easier to find
than others, and some systems find more. A response that has a nugget contains each of its words with probability
1 − `difficulty`, and otherwise another word instead. Some of the other responses borrow words of a nugget that they do
not have. The first `judged` systems are judged `every`, and each of their verdicts is wrong with probability
`judge_error`. `truth/RUN.jsonl` lists the pairs of a run that are truly a yes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nuggeteer.collection.names import refuse_file
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.jsonl import write_jsonl

VOCABULARY = 20_000
COMMON = 2_000  # the words of nuggets are rarer than these
KINDS = ("definition", "other", "relationship", "rag")


@dataclass(frozen=True)
class Shape:
    """The size and the difficulty of a simulated collection."""

    questions: int = 50
    nuggets: int = 10
    systems: int = 10
    judged: int = 9
    responses: int = 20
    words: int = 20
    difficulty: float = 0.3
    judge_error: float = 0.0


class _Language:
    """English words drawn by Zipf's law. Facts are made of the rarer ones."""

    def __init__(self, rng: np.random.Generator) -> None:
        import wordfreq

        listed = wordfreq.top_n_list("en", VOCABULARY * 2, wordlist="best")
        self.words = [word for word in listed if word.isascii() and word.isalnum()][:VOCABULARY]
        weight = 1 / np.arange(1, len(self.words) + 1)
        self.cumulative = np.cumsum(weight / weight.sum())
        self.rng = rng

    def draw(self, count: int) -> list[str]:
        ranks = np.searchsorted(self.cumulative, self.rng.random(count))
        return [self.words[i] for i in np.minimum(ranks, len(self.words) - 1)]

    def fact(self) -> list[str]:
        count = int(self.rng.integers(4, 9))
        return [self.words[i] for i in self.rng.integers(COMMON, len(self.words), count)]


def simulate(folder: Path | str, shape: Shape | None = None, seed: int = 0) -> None:
    """Write a collection into a new folder."""
    folder, shape = Path(folder), shape or Shape()
    _refuse(folder, shape)
    rng = np.random.Generator(np.random.PCG64(seed))
    language = _Language(rng)
    qids = [f"q{i:0{len(str(shape.questions))}d}" for i in range(1, shape.questions + 1)]
    facts = [[language.fact() for _ in range(shape.nuggets)] for _ in qids]
    ease = rng.normal(-0.5, 1.0, (shape.questions, shape.nuggets))
    vital = rng.random((shape.questions, shape.nuggets)) < 0.4
    vital[:, 0] = True
    skill = rng.normal(0.0, 0.5, shape.systems)
    names = [f"s{i:0{len(str(shape.systems))}d}" for i in range(1, shape.systems + 1)]

    write_jsonl(folder / "questions.jsonl", _questions(qids, language))
    write_jsonl(folder / "nuggets.jsonl", _nuggets(qids, facts, vital, rng))
    write_jsonl(folder / "runs.jsonl", _manifest(names, shape.judged))
    truth = _Truth(folder, shape)
    for system, name in enumerate(names):
        chance = 1 / (1 + np.exp(-(ease + skill[system])))
        run = _responses(qids, facts, chance, shape, language, truth.start(name, system < shape.judged, rng))
        write_jsonl(folder / "runs" / f"{name}.jsonl", run)
        truth.write()


def _refuse(folder: Path, shape: Shape) -> None:
    refuse_file(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise NuggeteerError(f"{folder}: already exists and is not empty; name a new folder")
    if not 0 <= shape.difficulty <= 1 or not 0 <= shape.judge_error <= 1:
        raise NuggeteerError("difficulty and judge error must be from 0 to 1")
    if min(shape.questions, shape.nuggets, shape.systems, shape.responses, shape.words) < 1:
        raise NuggeteerError("questions, nuggets, systems, responses and words must be 1 or more")
    if not 0 <= shape.judged <= shape.systems:
        raise NuggeteerError(f"the judged systems must be from 0 to {shape.systems}, not {shape.judged}")


def _questions(qids: list[str], language: _Language) -> Iterator[dict[str, Any]]:
    for i, qid in enumerate(qids):
        yield {"qid": qid, "text": " ".join([*language.draw(8), "?"]), "kind": KINDS[i % len(KINDS)]}


def _nuggets(qids: list[str], facts: list[list[list[str]]], vital: Any, rng: Any) -> Iterator[dict[str, Any]]:
    for q, qid in enumerate(qids):
        for n, fact in enumerate(facts[q]):
            chance = 0.8 if vital[q, n] else 0.3
            votes = {f"a{a}": "vital" if rng.random() < chance else "okay" for a in range(2, 6)}
            importance = "vital" if vital[q, n] else "okay"
            yield {
                "qid": qid,
                "nugget": str(n + 1),
                "text": " ".join(fact),
                "importance": importance,
                "votes": {"a1": importance, **votes},
            }


def _manifest(names: list[str], judged: int) -> Iterator[dict[str, Any]]:
    for i, name in enumerate(names):
        yield {"run": name, "group": name, "judged": "every" if i < judged else "none"}


class _Truth:
    """The true pairs of a run, and the verdicts of a judge who makes mistakes, collected while the run is written."""

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.folder, self.shape = folder, shape

    def start(self, name: str, judged: bool, rng: np.random.Generator) -> _Truth:
        self.name, self.judged, self.rng = name, judged, rng
        self.true: list[dict[str, Any]] = []
        self.verdicts: list[dict[str, Any]] = []
        return self

    def add(self, qid: str, nugget: int, text: str) -> None:
        self.true.append({"qid": qid, "nugget": str(nugget + 1), "text": text, "verdict": True, "run": self.name})

    def judge(self, qid: str, carried: set[int], text: str) -> None:
        """Add the judge's yes verdicts on a response, some of them wrong. Nuggets without a verdict are a no."""
        if not self.judged:
            return
        wrong = set(np.flatnonzero(self.rng.random(self.shape.nuggets) < self.shape.judge_error).tolist())
        for nugget in sorted(carried ^ wrong):
            self.verdicts.append(
                {"qid": qid, "nugget": str(nugget + 1), "text": text, "verdict": True, "run": self.name}
                | {"assessor": "simulated"}
            )

    def write(self) -> None:
        write_jsonl(self.folder / "truth" / f"{self.name}.jsonl", self.true)
        if self.judged:
            write_jsonl(self.folder / "judgements" / f"{self.name}.jsonl", self.verdicts)


def _responses(
    qids: list[str],
    facts: list[list[list[str]]],
    chance: Any,
    shape: Shape,
    language: _Language,
    truth: _Truth,
) -> Iterator[dict[str, Any]]:
    rng = language.rng
    for q, qid in enumerate(qids):
        carried = [n for n in range(shape.nuggets) if rng.random() < chance[q, n]]
        rank_of = dict(zip(carried, rng.integers(0, shape.responses, len(carried)).tolist(), strict=True))
        borrowed = rng.random(shape.responses) < 0.3
        fillers = language.draw(shape.responses * shape.words)
        for rank in range(shape.responses):
            words = fillers[rank * shape.words : (rank + 1) * shape.words]
            here = {n for n in carried if rank_of[n] == rank}
            for n in here:
                own = facts[q][n]
                kept = [w if rng.random() >= shape.difficulty else language.draw(1)[0] for w in own]
                at = int(rng.integers(0, len(words) + 1))
                words[at:at] = kept
            if borrowed[rank] and not here:
                own = facts[q][int(rng.integers(0, shape.nuggets))]
                words[0:0] = own[: int(rng.integers(1, len(own)))]
            text = " ".join(words)
            for n in sorted(here):
                truth.add(qid, n, text)
            truth.judge(qid, here, text)
            yield {"qid": qid, "docid": f"D{q}.{rank}", "rank": rank + 1, "text": text}
