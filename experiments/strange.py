"""Which nights are called strange? `python experiments/strange.py COLLECTION... > experiments/strange.md`

Ordinary nights are those of `nights.py`: other systems' answers, reworded ones, worse and better ones. Each strange
night is made from the first of them, by one change to all of its answers or to a fifth of them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

from nights import KINDS, QUESTIONS, World

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.memory import make_run
from nuggeteer.comparing.strange import strange_answers
from nuggeteer.records import Run
from nuggeteer.settings import Match

SEEDS, FIRSTS = 4, 3
FOREIGN = "Das ist ein ganz anderer Text in einer anderen Sprache, der mit der Frage nichts zu tun hat."
STRANGE: dict[str, Callable[[str], str]] = {
    "every sentence is denied": lambda text: ". ".join(f"It is not true that {part}" for part in text.split(". ")),
    "the same answer to every question": lambda text: "The answer is yes.",
    "is not, in every sentence": lambda text: (
        text.replace(" is ", " is not ").replace(" are ", " are not ").replace(" was ", " was not ")
    ),
    "nobody believes every sentence": lambda text: ". ".join(
        f"Nobody today believes that {part}" for part in text.split(". ")
    ),
    "refusals": lambda text: "I'm sorry, I cannot answer this question.",
    "refusals for want of documents": lambda text: (
        "The provided documents do not contain any information about this. Please ask something else."
    ),
    "a quarter of the words": lambda text: " ".join(text.split()[: max(len(text.split()) // 4, 1)]),
    "another language": lambda text: FOREIGN,
}


def spoilt(world: World, night: Run, change: Callable[[str], str], share: float, rng: random.Random) -> Run:
    qids = [question.qid for question in world.collection.key.questions]
    some = set(rng.sample(qids, round(share * len(qids))))
    rows = [
        {"qid": qids[q], "text": change(text) if qids[q] in some else text}
        for q, text in zip(night.question.tolist(), night.texts, strict=True)
    ]
    return make_run(world.collection, "spoilt", rows)


def main() -> None:
    folders = [Path(name) for name in sys.argv[1:]]
    ordinary, alarms = 0, list[str]()
    caught = {(name, share): [0, 0] for name in STRANGE for share in (1.0, 0.2)}
    for folder in folders:
        collection = read_collection(folder)
        runs = World.of(collection, QUESTIONS, random.Random(0)).runs
        for first in runs[:: max(1, len(runs) // FIRSTS)][:FIRSTS]:
            for seed in range(SEEDS):
                rng = random.Random(seed)
                world = World.of(collection, QUESTIONS, rng)
                if first not in world.runs:
                    continue
                nights = [dict.fromkeys(world.qids, first)]
                for kind in KINDS:
                    nights.append(world.next_night(nights[-1], kind, rng))
                made = [world.run(f"night-{i}", night) for i, night in enumerate(nights)]
                for kind, old, new in zip(KINDS, made, made[1:], strict=False):
                    found = strange_answers(world.collection.key, Match(), old, new)
                    ordinary += 1
                    alarms += [f"{folder.name}, {kind}: {one.what}" for one in found[:1]]
                for (name, share), count in caught.items():
                    night = spoilt(world, made[1], STRANGE[name], share, rng)
                    count[0] += bool(strange_answers(world.collection.key, Match(), made[0], night))
                    count[1] += 1
    print("# Strange nights\n")
    print(f"Made by `python experiments/strange.py {' '.join(folder.name for folder in folders)}`.\n")
    print(f"Of {ordinary} ordinary nights, {len(alarms)} were called strange.\n")
    if alarms:
        print("\n".join(f"- {line}" for line in sorted(set(alarms))), end="\n\n")
    print("| made strange | all answers: found | a fifth of them: found | nights |\n|---|---|---|---|")
    for name in STRANGE:
        whole, fifth = caught[name, 1.0], caught[name, 0.2]
        print(f"| {name} | {whole[0]} | {fifth[0]} | {whole[1]} |")


if __name__ == "__main__":
    main()
