"""Does judging make the score truer, and is the interval right while one judges?

    python experiments/judging.py COLLECTION[:RUNS][:cold]...              > experiments/judging.md
    python experiments/judging.py --inverted COLLECTION[:RUNS][:cold]...   > experiments/judging-inverted.md

On fully judged collections, some runs in turn act as tonight's build. All their verdicts are hidden, then asked for and
answered as the people did. With `cold`, no other run has verdicts either. Two orders:

    drawn     as `nuggeteer judge` asks: drawn at random, mostly where a verdict narrows the score
    random    any pair of the run

The model is fitted again after 25 verdicts at most, and at every step. `rmse` is the root mean squared error of F(3),
`holds` says how often the judging part of the interval holds the true score, `width` is its mean width. `said` is the
width that the forecast before the first verdict promised.

With `--inverted`, the guesses on the run are turned around before anything is judged: 1 − p for p.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.formats.draws import DrawnPair
from nuggeteer.judging.suggest import VerdictValues
from nuggeteer.matching.base import Matcher
from nuggeteer.records import AnswerKey, Judgement
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.text import verdict_form

MEASURE = "f3"
STEPS = (0, 10, 25, 50, 100, 200, 400)
BATCH = 25
ORDERS = ("drawn", "random")


@dataclass(frozen=True)
class Looked:
    """The score and its judging part after so many verdicts."""

    verdicts: int
    value: float
    low: float
    high: float
    said: float


class Inverted:
    """A matcher with which the guesses on one run are the wrong way round. `rows` has what it carries over to each
    text of that run."""

    def __init__(self, matcher: Matcher, key: AnswerKey, rows: dict[tuple[int, str], np.ndarray]) -> None:
        self._matcher, self._key, self._rows = matcher, key, rows

    @property
    def signature(self) -> str:  # or a fit of the matcher's would be taken from the cache
        return f"inverted({self._matcher.signature})"

    def depends_on(self, question: int, carried: bool) -> None:
        """Nothing of it is remembered."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matcher, name)

    def carried(self, texts: Sequence[str], question: np.ndarray) -> np.ndarray:
        found = self._matcher.carried(texts, question)
        parts = np.split(found, np.cumsum(self._key.counts[question])[:-1])
        rows = zip(question.tolist(), texts, parts, strict=True)
        return np.concatenate([self._rows.get((asked, text), part) for asked, text, part in rows])


def hidden(collection: Collection, name: str, cold: bool) -> Collection:
    """The collection without the verdicts on a run, or without any."""
    others = {
        (collection.key.questions[q].qid, verdict_form(text))
        for other in collection.run_names
        if other != name
        for q, text in zip(collection.run(other).question.tolist(), collection.run(other).texts, strict=True)
    }
    kept = [] if cold else [j for j in collection.judgements if (j.qid, verdict_form(j.text)) in others]
    manifest = {
        run: replace(info, judged="none") if cold or run == name else info for run, info in collection.manifest.items()
    }
    return Collection(collection.root, collection.key, tuple(kept), manifest, collection.settings)


def followed(collection: Collection, name: str, cold: bool, order: str, inverted: bool) -> list[Looked]:
    """Judge a run and follow its score."""
    before, key, run = hidden(collection, name, cold), collection.key, collection.run(name)
    yes = {(j.qid, j.nugget, verdict_form(j.text)) for j in collection.judgements if j.verdict}
    qids = [key.questions[q].qid for q in run.question.tolist()]
    named: dict[str, list[str]] = {}
    for nugget in key.nuggets:
        named.setdefault(nugget.qid, []).append(nugget.nugget)
    pool = [(q, nugget, text) for q, text in zip(qids, run.texts, strict=True) for nugget in named[q]]
    random.Random(1).shuffle(pool)
    said: dict[tuple[str, str, str], Judgement] = {}
    drawn: list[DrawnPair] = []
    turned = turn_around(before, name) if inverted else None

    def scorer() -> Scorer:
        judged = replace(before, judgements=(*before.judgements, *said.values()), draws=tuple(drawn))
        plain = Scorer(judged, [MEASURE])
        return plain if turned is None else Scorer(judged, [MEASURE], matcher=Inverted(plain.matcher, key, turned))

    now, looks, promised = scorer(), list[Looked](), None
    for step in STEPS:
        while len(said) < step:
            if order == "drawn":
                values = VerdictValues(now, now.read(name), now.measures[0])
                rng = np.random.default_rng([1, len(said)])
                batch = []
                for pair in values.draw(min(BATCH, step - len(said)), rng):
                    nugget, text = key.nuggets[pair.nugget], run.texts[pair.response]
                    batch.append((nugget.qid, nugget.nugget, text))
                    drawn.append(DrawnPair(name, "", *batch[-1], pair.probability, pair.chance, pair.spread))
            else:
                batch, pool = pool[: step - len(said)], pool[step - len(said) :]
            if not batch:
                break
            for qid, nugget, text in batch:
                same = qid, nugget, verdict_form(text)
                said[same] = Judgement(qid, nugget, text, same in yes, run=name)
            now = scorer()
        matched = now.read(name)
        if promised is None:
            promised = VerdictValues(now, matched, now.measures[0]).forecast()
        found = now.score(matched).measures[MEASURE]
        looks.append(Looked(len(said), float(found.value), *found.judging, promised.width_after(step)))
        if len(said) < step:
            break
    return looks


def turn_around(collection: Collection, name: str) -> dict[tuple[int, str], np.ndarray]:
    """For each text of a run, what to carry over instead, so that each guess is turned around."""
    scorer = Scorer(collection, [MEASURE])
    matched = scorer.read(name)
    every = np.arange(len(matched.pairs))
    odds = logit(np.clip(matched.probability(scorer.model, every), 1e-3, 1 - 1e-3))
    carried = matched.pairs.carried if matched.pairs.carried is not None else np.zeros(len(every))
    turned = carried - 2 * odds
    rows = zip(matched.run.question.tolist(), matched.run.normalised_texts, strict=True)
    return {row: turned[matched.begin[i] : matched.begin[i + 1]] for i, row in enumerate(rows)}


def report(argument: str, inverted: bool) -> None:
    folder, *options = argument.split(":")
    cold, many = "cold" in options, next((int(one) for one in options if one.isdigit()), 6)
    collection = read_collection(folder)
    names = sorted(collection.run_names)
    chosen = [names[i] for i in np.linspace(0, len(names) - 1, min(many, len(names))).round().astype(int)]
    truth = {run.name: run.measures[MEASURE].value for run in score(collection, chosen, [MEASURE]).runs}
    columns: dict[str, list[list[Looked]]] = {}
    for order in ORDERS[: 1 if inverted else 2]:
        columns[order] = []
        for name in chosen:
            columns[order].append(followed(collection, name, cold, order, inverted))
            print(f"{argument} {order} {name}", file=sys.stderr, flush=True)
    where = "no other run judged" if cold else "all other runs judged"
    print(f"## {Path(folder).name}: {len(chosen)} of {len(names)} runs, {where}\n")
    heads = ["verdicts", *(f"{what} {order}" for what in ("rmse", "holds", "width") for order in columns), "said"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    goals = np.array([truth[name] for name in chosen])
    for i in range(min(len(looks) for rows in columns.values() for looks in rows)):
        cells: dict[str, list[str]] = {"rmse": [], "holds": [], "width": []}
        for rows in columns.values():
            looks = [looks[i] for looks in rows]
            value, low, high = (np.array([getattr(one, part) for one in looks]) for part in ("value", "low", "high"))
            cells["rmse"].append(f"{np.sqrt(np.mean((value - goals) ** 2)):.4f}")
            cells["holds"].append(f"{int(((low - 1e-9 <= goals) & (goals <= high + 1e-9)).sum())}/{len(goals)}")
            cells["width"].append(f"{(high - low).mean():.4f}")
        said = f"{np.mean([rows[i].said for rows in columns['drawn']]):.4f}"
        row = [f"{STEPS[i]:,}", *cells["rmse"], *cells["holds"], *cells["width"], said]
        print(f"| {' | '.join(row)} |")
    print(flush=True)


def main() -> None:
    arguments = [one for one in sys.argv[1:] if one != "--inverted"]
    inverted = "--inverted" in sys.argv
    named = [Path(one.split(":")[0]).name + "".join(f":{part}" for part in one.split(":")[1:]) for one in arguments]
    print("# Judging: does it make the score truer?\n")
    print(f"Made by `python experiments/judging.py {'--inverted ' if inverted else ''}{' '.join(named)}`.\n")
    print((__doc__ or "").split("\n\n", 2)[2])
    for argument in arguments:
        report(argument, inverted)


if __name__ == "__main__":
    main()
