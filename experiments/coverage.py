"""Do the intervals contain the true score 95 % of the time, and are the probabilities calibrated?

    python experiments/coverage.py COLLECTION...   > experiments/coverage.md
    python experiments/coverage.py --simulated     > experiments/coverage-simulated.md

On fully judged collections, each run in turn acts as tonight's build. Its judgements are hidden except for a share of
its pairs, and its score is compared with the one from all judgements. Questions stay the same, so the *judging* part
should contain the true score 95 % of the time. The whole interval also allows for other questions that could have been
asked, so it contains the true score more often.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.pairs import ragged
from nuggeteer.records import Bools, Judgement, Vector
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.scorer import score
from nuggeteer.text import normalised
from nuggeteer.thresholds.curve import COEFFICIENTS, SIZE_STEP, SIZES, SMALLEST, features
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.prior import PRIOR

SHARES = (0.0, 0.1, 0.5, 0.9)
MEASURES = ("f3", "recall", "precision", "pyramid_f3")


def hide(collection: Collection, name: str, share: float, rng: np.random.Generator) -> Collection:
    """The collection without the judgements of this run, except for a share of its pairs. Texts that other runs return
    too stay known, as they would be in real use."""
    key, run = collection.key, collection.run(name)
    others = {
        (q, normalised(text))
        for other in collection.judged_runs
        if other.name != name
        for q, text in zip(other.question.tolist(), other.texts, strict=True)
    }
    texts = [normalised(text) for text in run.texts]
    own = set(zip(run.question.tolist(), texts, strict=True)) - others
    states = VerdictIndex(key, collection.judgements, collection.judged_runs)(texts, run.question)
    begin, nugget = ragged(key.offsets[run.question], key.counts[run.question])
    response = np.repeat(np.arange(len(texts)), np.diff(begin))
    shown = [
        Judgement(
            key.nuggets[nugget[i]].qid,
            key.nuggets[nugget[i]].nugget,
            texts[response[i]],
            bool(states[i] == YES),
            run=name,
        )
        for i in np.flatnonzero((rng.random(len(states)) < share) & (states != UNKNOWN))
    ]
    kept = [j for j in collection.judgements if (key.position[j.qid], normalised(j.text)) not in own]
    manifest = {**collection.manifest, name: replace(collection.manifest[name], judged="none")}
    return Collection(collection.root, key, (*kept, *shown), manifest, collection.settings)


def calibration(chance: Vector, truth: Bools) -> tuple[float, float, list[tuple[int, float, float]]]:
    """Expected calibration error in ten bins, Brier score, and (size, predicted, true) of each bin."""
    decile = np.clip((chance * 10).astype(int), 0, 9)
    rows = []
    for k in range(10):
        own = decile == k
        if own.any():
            rows.append((int(own.sum()), float(chance[own].mean()), float(truth[own].mean())))
    error = sum(size * abs(predicted - true) for size, predicted, true in rows) / len(chance)
    return error, float(np.mean((chance - truth) ** 2)), rows


def covered(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] - 1e-9 <= truth <= interval[1] + 1e-9


def on_collection(folder: str) -> None:
    collection = read_collection(folder)
    names = [run.name for run in collection.judged_runs]
    truth = score(collection, names, MEASURES)
    print(f"## {Path(folder).name}: {len(names)} runs\n")
    print("| judged | measure | judging holds truth | whole holds it | width | rmse expected | rmse hard | z rms |")
    print("|---|---|---|---|---|---|---|---|")
    tables = {}
    for share in SHARES:
        rng = np.random.default_rng(1)
        results = {name: score(hide(collection, name, share, rng), [name], MEASURES)[name] for name in names}
        for measure in truth.measures:
            rows = []
            for name, result in results.items():
                value, interval = truth[name].measures[measure.name].value, result.measures[measure.name]
                low, high = interval.judging
                spread = (high - low) / 3.92
                rows.append(
                    (
                        covered(interval.judging, value),
                        covered((interval.low, interval.high), value),
                        high - low,
                        (interval.value - value) ** 2,
                        (interval.hard - value) ** 2,
                        ((interval.value - value) / max(spread, 1e-9)) ** 2,
                    )
                )
            inside, whole, width, error, hard, z = np.mean(rows, axis=0)
            print(
                f"| {share:.0%} | {measure} | {inside:.0%} | {whole:.0%} | {width:.3f} "
                f"| {error**0.5:.4f} | {hard**0.5:.4f} | {z**0.5:.2f} |"
            )
        guesses = [(results[n].outcome, truth[n].outcome.found) for n in names]
        chance = np.concatenate([o.probability[~o.known] for o, _ in guesses])
        found = np.concatenate([f[~o.known] for o, f in guesses])
        tables[share] = calibration(chance, found)
    print("\nGuessed (run, nugget) answers, by their probability:\n")
    print("| judged | guesses | ECE | Brier |\n|---|---|---|---|")
    for share, (error, brier, rows) in tables.items():
        print(f"| {share:.0%} | {sum(size for size, _, _ in rows):,} | {error:.4f} | {brier:.4f} |")
    print("\nReliability with nothing of the run judged:\n\n| guesses | predicted | true |\n|---|---|---|")
    for size, predicted, true in tables[0.0][2]:
        print(f"| {size:,} | {predicted:.3f} | {true:.3f} |")
    print(flush=True)


# Simulations: verdicts are drawn from each model, and the scores are like real ones.

QUESTIONS, NUGGETS, GROUPS, RESPONSES = 30, 8, 10, 3


def simulated(model: str, rng: np.random.Generator) -> Evidence:
    """Pairs of GROUPS systems, with verdicts from a step model of the paper or from the smooth model."""
    nuggets = QUESTIONS * NUGGETS
    nugget = np.tile(np.repeat(np.arange(nuggets), RESPONSES), GROUPS)
    group = np.repeat(np.arange(GROUPS), nuggets * RESPONSES)
    question = np.arange(nuggets) // NUGGETS
    scores, size = (
        np.round(rng.beta(0.7, 3.0, len(nugget)), 3),
        rng.choice(SMALLEST + SIZE_STEP * np.arange(SIZES), len(nugget)),
    )
    if model == "smooth":
        b = np.zeros(COEFFICIENTS)
        b[[0, 1, 2, -1]] = rng.multivariate_normal([-1.7, 7.9, -1.2, 0.5], np.diag([0.5, 1.0, 1.0, 0.1]))
        a, c = rng.normal(0, 1.5, nuggets), rng.normal(0, 0.5, QUESTIONS)
        t, v = np.exp(rng.normal(0, 0.4, nuggets)), rng.normal(0, 0.4, GROUPS)
        x = features(scores, size)
        logit = b[0] + t[nugget] * (x[:, 1:-1] @ b[1:-1]) + size * b[-1] + a[nugget] + c[question[nugget]] + v[group]
        chance = 1 / (1 + np.exp(-logit))
    else:
        alpha, beta = rng.uniform(0.01, 0.15), rng.uniform(0.05, 0.4)
        theta = {
            "global": np.full(nuggets, rng.uniform(0.1, 0.5)),
            "question": rng.uniform(0, 1, QUESTIONS)[question],
            "nugget": rng.uniform(0, 1, nuggets),
            "pooled": rng.beta(2, 5, nuggets),
        }[model]
        chance = np.where(scores > theta[nugget], 1 - beta, alpha)
    yes = rng.random(len(nugget)) < chance
    weight = np.full(nuggets, 1 / NUGGETS)
    return Evidence(scores, size, yes, nugget, group, tuple(f"g{i}" for i in range(GROUPS)), question, weight)


def one_simulation(model: str, share: float, seed: int) -> tuple[bool, float, float]:
    """Whether the interval of a held-out system's recall contains the true recall, its width, and z."""
    rng = np.random.default_rng(seed)
    evidence = simulated(model, rng)
    mine = evidence.group == GROUPS - 1
    hidden = mine & (rng.random(len(evidence)) >= share)
    fit = fit_smooth(evidence.only(~hidden), PRIOR)
    draws = fit.draw(1000, seed)
    chances = draws.chances(evidence.pairs[hidden], f"g{GROUPS - 1}")
    sure, true = np.zeros((2, evidence.nuggets), dtype=bool)
    sure[evidence.nugget[mine & ~hidden & evidence.yes]] = True
    true[evidence.nugget[mine & evidence.yes]] = True
    found = sure | (rng.random(chances.shape) < chances)
    recall = found.mean(axis=1)
    low, high = np.quantile(recall, [0.025, 0.975])
    spread = max(float(recall.std()), 1e-9)
    return bool(low <= true.mean() <= high), float(high - low), float((recall.mean() - true.mean()) / spread)


def on_simulations(trials: int = 100) -> None:
    print("# Coverage on simulations from each model\n")
    print("Made by `python experiments/coverage.py --simulated`.")
    print(
        f"{trials} collections of {QUESTIONS} questions × {NUGGETS} nuggets, {GROUPS} systems × {RESPONSES} responses;"
    )
    print("the recall of the last system, of whose pairs a share is judged. The smooth model judges them all.\n")
    print("| verdicts drawn from | judged | interval holds truth | width | z rms |\n|---|---|---|---|---|")
    for model in ("global", "question", "nugget", "pooled", "smooth"):
        for share in (0.0, 0.5):
            rows = np.array([one_simulation(model, share, seed) for seed in range(trials)], dtype=float)
            z = np.sqrt(np.mean(rows[:, 2] ** 2))
            print(
                f"| {model} | {share:.0%} | {rows[:, 0].mean():.1%} | {rows[:, 1].mean():.3f} | {z:.2f} |", flush=True
            )


def main() -> None:
    if "--simulated" in sys.argv[1:]:
        on_simulations()
        return
    names = " ".join(Path(name).name for name in sys.argv[1:])
    print(f"# Coverage and calibration\n\nMade by `python experiments/coverage.py {names}`.\n")
    for folder in sys.argv[1:]:
        on_collection(folder)


if __name__ == "__main__":
    main()
