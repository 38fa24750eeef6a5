"""What a score depends on, in one line: two scores with equal signatures can be compared."""

from __future__ import annotations

from hashlib import blake2b
from importlib.metadata import version

from nuggeteer.collection.folder import Collection
from nuggeteer.records import WORLD_KNOWLEDGE, AnswerKey
from nuggeteer.text import normalised


def basis(collection: Collection, matcher: str, idf: str) -> str:
    """Version, key, judgements, matcher and word weights: everything that a fitted model depends on."""
    return "|".join(
        [
            f"nuggeteer:{version('nuggeteer')}",
            f"key:{_digest_key(collection.key)}",
            f"judgements:{_digest_judgements(collection)}",
            f"match:{matcher}",
            f"idf:{idf}",
        ]
    )


def _digest_key(key: AnswerKey) -> str:
    """A hash of everything in the key that scores depend on, whatever the order of its lines."""
    lines = sorted(
        repr((n.qid, n.nugget, n.descriptions, n.importance, n.weight, sorted(n.votes.items())))
        + (WORLD_KNOWLEDGE if WORLD_KNOWLEDGE in n.tags else "")
        for n in key.nuggets
    )
    return blake2b("\n".join(lines).encode(), digest_size=4).hexdigest()


def _digest_judgements(collection: Collection) -> str:
    """A hash of everything known, and of whose systems, whatever the order of its lines and files."""
    lines = [
        f"{j.qid}\t{j.nugget}\t{j.verdict}\t{j.partial}\t{collection.group(j.run or '')}\t{normalised(j.text)}"
        for j in collection.judgements
    ]
    for run in collection.judged_runs:
        ids = (collection.key.questions[q].qid for q in run.question.tolist())
        judged = f"{run.info.judged}\t{collection.group(run.name)}"
        lines += [f"{judged}\t{q}\t{normalised(t)}" for q, t in zip(ids, run.texts, strict=True)]
    return blake2b("\n".join(sorted(lines)).encode(), digest_size=4).hexdigest()
