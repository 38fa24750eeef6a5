"""What a score depends on, in one line. Two scores can be compared if their signatures are equal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from importlib.metadata import version

from nuggeteer.collection.folder import Collection
from nuggeteer.formats import sentences
from nuggeteer.records import WORLD_KNOWLEDGE, AnswerKey, Judgement
from nuggeteer.settings import IntervalMethod
from nuggeteer.text import VERDICT_FORM, verdict_form


@dataclass(frozen=True)
class Basis:
    """Everything that a fitted model depends on."""

    version: str
    key: str
    judgements: str
    texts: str  # which texts are the same for a verdict
    match: str
    idf: str
    answers: str = ""  # how records are cut into responses, if they are
    truth: str = ""  # the machines whose verdicts are the standard, if there are any
    judges: str = ""  # the judges that are heard, if there are any

    @classmethod
    def of(cls, collection: Collection, matcher: str, idf: str, judges: Sequence[tuple[str, str]] = ()) -> Basis:
        """`matcher` is the matcher's signature, `idf` the name of the word weights. For each judge, `judges` has the
        name and a hash of what it said."""
        key, judgements = _digest_key(collection.key), _digest_judgements(collection)
        split = collection.settings.answers.split
        answers = f"{split}({sentences.VERSION})" if split == "sentences" else ""
        truth = ",".join(_name(machine) for machine in sorted(collection.machine_truth))
        heard = ",".join(f"{_name(judge)}={digest}" for judge, digest in judges)
        return cls(version("nuggeteer"), key, judgements, str(VERDICT_FORM), matcher, idf, answers, truth, heard)

    def __str__(self) -> str:
        data = f"nuggeteer:{self.version}|key:{self.key}|judgements:{self.judgements}|texts:{self.texts}"
        answers = f"|answers:{self.answers}" if self.answers else ""
        truth = f"|truth:{self.truth}" if self.truth else ""
        judges = f"|judges:{self.judges}" if self.judges else ""
        return f"{data}|match:{self.match}|idf:{self.idf}{judges}{answers}{truth}"


@dataclass(frozen=True)
class Signature:
    """The basis, the threshold model fitted on it, and how intervals are drawn."""

    basis: Basis
    threshold: str
    draws: int
    seed: int
    interval: IntervalMethod = "t"

    def __str__(self) -> str:
        return f"{self.basis}|threshold:{self.threshold}|interval:{self.interval}({self.draws})|seed:{self.seed}"


def signature_parts(recorded: str) -> dict[str, str]:
    """The parts of a recorded signature, by their names."""
    return dict(part.partition(":")[::2] for part in recorded.split("|"))


def differing_parts(one: str, other: str) -> list[str]:
    """The names of the parts in which two recorded signatures differ."""
    a, b = signature_parts(one), signature_parts(other)
    return [name for name in {**a, **b} if a.get(name) != b.get(name)]


def _name(machine: str) -> str:
    return re.sub("[%|,:=]", _escaped, machine)


def _escaped(mark: re.Match[str]) -> str:
    return f"%{ord(mark[0]):02X}"


def _digest_key(key: AnswerKey) -> str:
    """A hash of everything in the key that scores depend on, whatever the order of its lines."""
    lines = sorted(
        repr((n.qid, n.nugget, n.descriptions, n.importance, n.weight, sorted(n.votes.items())))
        + (WORLD_KNOWLEDGE if WORLD_KNOWLEDGE in n.tags else "")
        for n in key.nuggets
    )
    lines += sorted(
        repr((g.qid, g.nugget, g.any_of, g.all_of, g.importance, g.weight, sorted(g.votes.items()), g.tags))
        for g in key.groups
    )
    return blake2b("\n".join(lines).encode(), digest_size=4).hexdigest()


def _digest_judgements(collection: Collection) -> str:
    """A hash of everything known, and of whose builds, whatever the order of its lines and files."""
    silent = []
    for run in collection.judged_runs:
        ids = (collection.key.questions[q].qid for q in run.question.tolist())
        how = f"{run.info.judged}\t{collection.group(run.name)}\t{run.name}"
        silent += [f"{how}\t{q}\t{verdict_form(t)}" for q, t in zip(ids, run.texts, strict=True)]
    digest = blake2b(digest_size=4)
    for number, line in enumerate(merge(_verdicts(collection), sorted(silent))):
        digest.update((f"\n{line}" if number else line).encode())
    return digest.hexdigest()


def _verdicts(collection: Collection) -> Iterator[str]:
    """The verdicts as lines, in order. Each has a text, so only those on one question are kept at a time."""
    asked: dict[str, list[Judgement]] = {}
    for judgement in collection.judgements:
        asked.setdefault(f"{judgement.qid}\t", []).append(judgement)
    for begin, judgements in sorted(asked.items()):
        lines = []
        for j in judgements:
            owner = collection.owner(j)
            parts = (j.nugget, f"{j.verdict}\t{j.partial}", collection.group(owner), owner, verdict_form(j.text))
            lines.append(begin + "\t".join(parts) + ("\tanswer" if j.scope == "answer" else ""))
        yield from sorted(lines)
