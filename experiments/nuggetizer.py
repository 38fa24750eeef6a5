"""How fast is text cut into nuggets, and how much of a key's nuggets do they keep? Writes experiments/nuggetizer.md.

    python experiments/nuggetizer.py SAMPLE

Words kept: for each yes verdict, the nugget's words in the response, by weight, are compared with those in the best
fact proposed from this response. The share is below 1 if a cut separates the nugget's words. The whole response would
keep all of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.formats.annotation import Snippet
from nuggeteer.gale.nuggetizer import Nuggetizer, find
from nuggeteer.gale.nugs import containment
from nuggeteer.gale.parser import tokens
from nuggeteer.gale.proposal import propose
from nuggeteer.text import normalised

RUNS = ("aurora", "cobalt")  # in which every response was read


def answers(collection: Collection) -> list[Snippet]:
    found = []
    for name in RUNS:
        run = collection.run(name)
        for i, text in enumerate(run.texts):
            found.append(Snippet(f"{name}-{i}", text, qid=collection.key.questions[run.question[i]].qid))
    return found


def kept(collection: Collection, texts: Sequence[Snippet], nuggetizer: Nuggetizer | None) -> list[str]:
    candidates = propose(texts, nuggetizer)
    facts: dict[tuple[str, str], set[str]] = {}
    for candidate in candidates:
        for fact in candidate.facts:
            facts.setdefault((candidate.qid, normalised(fact.source.text)), set()).add(fact.text)
    shares, lengths = [], []
    for judgement in collection.judgements:
        own = sorted(facts.get((judgement.qid, normalised(judgement.text)), ()))
        position = collection.key.nugget_position.get((judgement.qid, judgement.nugget))
        if not judgement.verdict or not own or position is None:
            continue
        description = collection.key.nuggets[position].descriptions[0]
        has = containment([description, judgement.text, *own])
        if has[1, 0] > 0:
            best = int(np.argmax(has[2:, 0]))
            shares.append(has[2 + best, 0] / has[1, 0])
            lengths.append(len(own[best]) / len(judgement.text))
    wanted = len(collection.key.nuggets)
    return [
        f"{len(candidates):,}",
        f"{wanted:,}",
        str(len(shares)),
        f"{np.mean(shares):.2f}",
        f"{np.mean(lengths):.2f}",
    ]


def main() -> None:
    collection = read_collection(sys.argv[1])
    texts = answers(collection)
    nuggetizer = Nuggetizer()
    list(nuggetizer.all(snippet.text for snippet in texts))  # loads the model before the clock starts
    start = time.process_time()
    docs = list(nuggetizer.nlp.pipe((tokens(nuggetizer.nlp, snippet.text) for snippet in texts), batch_size=256))
    parsed = time.process_time()
    nuggets = sum(len(find(doc)) for doc in docs)
    done = time.process_time()
    sentences = sum(1 for doc in docs for _ in doc.sents)
    out = [
        "# The nuggetizer",
        "",
        f"Made by `python experiments/nuggetizer.py sample`, with {nuggetizer.name}.",
        "",
        f"{len(texts)} responses of {np.mean([len(doc) for doc in docs]):.0f} words and signs, {sentences} sentences, "
        f"{nuggets:,} nuggets: {sentences / (done - start):.0f} sentences a second of one core; the parser takes "
        f"{100 * (parsed - start) / (done - start):.0f} %.",
        "",
        "| cut by | candidates | nuggets in the key | yes verdicts | words kept | length |",
        "|---|---|---|---|---|---|",
    ]
    for name, cutter in (("parser", nuggetizer), ("full stops", None)):
        out.append("| " + " | ".join([name, *kept(collection, texts, cutter)]) + " |")
    Path(__file__).with_suffix(".md").write_text("\n".join(out) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
