"""What clues of judged texts are worth on texts that nobody judged, for `nuggeteer/matching/carried_weights.py`.

    python experiments/carry_over.py COLLECTION... > experiments/carry-over.md

In each collection some runs play judged builds and others play tonight's: a hundred verdicts on one run, one run, three
runs, all other runs. The threshold model is fitted to the verdicts that are left, with the prior of the *other*
collections. Of each guess the clues of `matching/clues.py` are kept with its verdict. A logistic regression on top of
the model's belief learns their weights, each collection and scenario weighing the same, by what its verdicts are worth
to somebody who knows their rate. The first table has, for each collection, guesses by weights of the other ones, which
`carry_over.json` gets; the last has the weights of all.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching.clues import CLUES
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.pairs import ragged
from nuggeteer.records import Vector
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.matched_run import read
from nuggeteer.scoring.scorer import material
from nuggeteer.text import normalised
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.prior import FITS, prior_from
from nuggeteer.trust.quality import average_precision

# Weights learned without each collection, for experiments on it.
WITHOUT = Path(__file__).with_suffix(".json")
FEW = 100  # verdicts of the first scenario
TIMES = 4  # runs that are judged, or left out, in turn
TARGETS = 3  # runs that are guessed each time
MOST = 25_000  # pairs of a scenario: all with the nugget, and some of those without, which then weigh more
CERTAIN = 1e-6  # a chance is never believed to be nearer to 0 or 1
RIDGE = 1e-3  # on weights in units of their features' spread


@dataclass(frozen=True)
class Guesses:
    """Guessed pairs: what the threshold model believes, as logits, the clues, the verdicts; `weight` is how many pairs
    each stands for."""

    belief: Vector
    clues: Vector
    yes: Vector
    weight: Vector


def with_verdicts(collection: Collection, judged: set[str], rng: np.random.Generator, few: bool) -> Collection:
    """The collection as if only these runs had been judged, or only some pairs of them."""
    texts = {
        (collection.key.questions[question].qid, text)
        for run in map(collection.run, sorted(judged))
        for question, text in zip(run.question.tolist(), run.normalised_texts, strict=True)
    }
    kept = [j for j in collection.judgements if (j.qid, normalised(j.text)) in texts]
    manifest = {
        name: info if name in judged and not few else replace(info, judged="none")
        for name, info in collection.manifest.items()
    }
    if few:
        (name,) = judged
        run, truth = collection.run(name), _truth(collection)
        begin, nugget = ragged(collection.key.offsets[run.question], collection.key.counts[run.question])
        states = truth(run.normalised_texts, run.question)
        known = np.flatnonzero(states != UNKNOWN)
        drawn = rng.choice(known, min(FEW, len(known)), replace=False)
        row = np.searchsorted(begin, drawn, side="right") - 1
        sample = kept[0]
        kept = [
            replace(
                sample,
                qid=collection.key.nuggets[nugget[pair]].qid,
                nugget=collection.key.nuggets[nugget[pair]].nugget,
                text=run.texts[response],
                verdict=bool(states[pair] == YES),
                partial=False,
                run=name,
            )
            for pair, response in zip(drawn.tolist(), row.tolist(), strict=True)
        ]
    rest = replace(collection, judgements=tuple(kept), manifest=manifest)
    rest._runs.update(collection._runs)
    return rest


def _truth(collection: Collection) -> VerdictIndex:
    return VerdictIndex(collection.key, collection.judgements, collection.judged_runs)


def scenarios(collection: Collection, rng: np.random.Generator) -> Iterator[tuple[str, set[str], list[str], bool]]:
    """The name, the judged runs, the runs to be guessed, and whether only a few pairs are judged."""
    names = [run.name for run in collection.assessed_runs]
    spread = [names[round(i * (len(names) - 1) / (TIMES - 1))] for i in range(TIMES)]
    for name in spread:
        others = [other for other in names if other != name]
        some = list(rng.choice(others, min(TARGETS, len(others)), replace=False))
        yield "100 verdicts", {name}, [name, *some[:1]], True
        yield "one run", {name}, some, False
        yield "three runs", set(rng.choice(others, 3, replace=False)), [name], False
        yield "all other runs", set(others), [name], False


def guesses(collection: Collection, name: str, judged: set[str], targets: list[str], few: bool, seed: int) -> Guesses:
    rest = with_verdicts(collection, judged, np.random.default_rng(seed), few)
    known, truth, key = _truth(rest), _truth(collection), collection.key
    matcher = LearnedMatcher(material(rest, known))
    prior = prior_from({other: row for other, row in FITS.items() if other != name})
    fit = fit_smooth(gather_evidence(rest, matcher, known), prior)
    parts = []
    for target in targets:
        run = collection.run(target)
        matched = read(run, collection.group(target), key, matcher, known)
        states = truth(run.normalised_texts, run.question)
        clues = matcher.features(run.normalised_texts, run.question)
        kept = matched.guessed & (states != UNKNOWN) & ~np.isnan(clues[:, 0])
        belief = logit(np.clip(fit.probability(matched.pairs[kept], matched.group), CERTAIN, 1 - CERTAIN))
        parts.append(Guesses(belief, clues[kept], states[kept] == YES, np.ones(int(kept.sum()))))
    return joined(parts)


def joined(parts: list[Guesses]) -> Guesses:
    return Guesses(*(np.concatenate([getattr(part, name) for part in parts]) for name in Guesses.__annotations__))


def thinned(many: Guesses, rng: np.random.Generator) -> Guesses:
    no = np.flatnonzero(~many.yes)
    room = max(MOST - int(many.yes.sum()), MOST // 2)
    if len(no) <= room:
        return many
    kept = rng.choice(no, room, replace=False)
    weight = np.concatenate([np.ones(int(many.yes.sum())), np.full(room, len(no) / room)])
    rows = np.concatenate([np.flatnonzero(many.yes), kept])
    return Guesses(many.belief[rows], many.clues[rows], many.yes[rows], weight)


def learn(parts: list[Guesses]) -> Vector:
    everything = joined(parts)
    clues, belief, yes = everything.clues, everything.belief, everything.yes.astype(float)
    weights = []
    for part in parts:
        rate = float(np.average(part.yes, weights=part.weight))
        entropy = -(rate * np.log(rate) + (1 - rate) * np.log(1 - rate))
        weights.append(part.weight / part.weight.sum() / entropy)
    weight = np.concatenate(weights) / sum(own.sum() for own in weights)
    scale = np.sqrt(weight @ clues**2) + 1e-9
    scaled = clues / scale

    def loss(coefficients: Vector) -> tuple[float, Vector]:
        logits = belief + scaled @ coefficients
        value = weight @ (np.logaddexp(0, logits) - yes * logits) + RIDGE * coefficients @ coefficients
        return float(value), scaled.T @ (weight * (expit(logits) - yes)) + 2 * RIDGE * coefficients

    return np.asarray(minimize(loss, np.zeros(clues.shape[1]), jac=True, method="L-BFGS-B").x / scale)


def taught(parts: dict[tuple[str, str], Guesses]) -> list[Guesses]:
    """Without the scenario of a hundred verdicts: there the level is still uncertain, and clues would learn to mend
    it."""
    return [part for (_, scenario), part in parts.items() if scenario != "100 verdicts"]


def measures(chance: Vector, part: Guesses) -> str:
    """Average precision, F1 and the mean log score."""
    found = chance >= 0.5
    f1 = 2 * (part.weight * (found & part.yes)).sum() / (part.weight * (1.0 * found + part.yes)).sum()
    score = np.average(np.log(np.where(part.yes, chance, 1 - chance)), weights=part.weight)
    order = np.repeat(np.arange(len(chance)), np.rint(part.weight).astype(int))
    return f"{average_precision(part.yes[order], chance[order]):.3f} | {f1:.3f} | {score:.4f}"


def main() -> None:
    parts: dict[tuple[str, str], Guesses] = {}
    for folder in map(Path, sys.argv[1:]):
        collection = read_collection(folder)
        rng = np.random.default_rng(0)
        found: dict[str, list[Guesses]] = {}
        for seed, (scenario, judged, targets, few) in enumerate(scenarios(collection, rng)):
            found.setdefault(scenario, []).append(guesses(collection, folder.name, judged, targets, few, seed))
            print(f"{folder.name}: {scenario}", file=sys.stderr)
        for scenario, several in found.items():
            parts[folder.name, scenario] = thinned(joined(several), rng)
    names = list(dict.fromkeys(name for name, _ in parts))
    print("# What is carried over from judged texts\n")
    print(
        "`python experiments/carry_over.py COLLECTION...`: guessed pairs, with the weights of the other collections.\n"
    )
    without: dict[str, dict[str, float]] = {}
    print("| collection | judged | pairs | n-grams: AP | F1 | log score | carried over: AP | F1 | log score |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        others = learn(taught({of: part for of, part in parts.items() if of[0] != name}))
        without[name] = dict(zip(CLUES, others.round(4).tolist(), strict=True))
        for (own, scenario), part in parts.items():
            if own == name:
                before, after = expit(part.belief), expit(part.belief + part.clues @ others)
                size = f"{part.weight.sum():,.0f}"
                print(
                    f"| {name} | {scenario} | {size} | {measures(before, part)} | {measures(after, part)} |", flush=True
                )
    print("\nThe weights of all:\n\n```")
    for feature, weight in zip(CLUES, learn(taught(parts)), strict=True):
        print(f'    "{feature}": {weight:.4g},')
    print("```")
    WITHOUT.write_text(json.dumps(without, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
