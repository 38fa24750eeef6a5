"""Does the prior, which was learned from n-gram scores, help or hurt other matchers, and how much?

    python experiments/doubt.py COLLECTION > experiments/doubt.md

The smooth model is fitted to zero, one, three, and all but one of the groups. The prior variance of its curve is
multiplied by 1, 4 and 16. The model then guesses groups that were left out. Besides our own matchers there are three
made-up ones: verdicts of which one in ten is wrong, noisy scores around ½, and the same scores squeezed between 0.7 and
0.9, as similarities of embeddings often are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching.base import Matcher
from nuggeteer.matching.choice import make
from nuggeteer.matching.remembered import Remembered
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.known import YES, VerdictIndex
from nuggeteer.scoring.scorer import material
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.prior import PRIOR

DOUBTS = (1.0, 4.0, 16.0)
NUGGETS = 200  # if there are more than 200,000 pairs, so many nuggets are sampled
TIMES = 2


def matchers(collection: Collection, known: VerdictIndex, rng: np.random.Generator) -> Iterator[tuple[str, Matcher]]:
    made_from = material(collection, known)
    for name in ("ngram", "pourpre", "qaviar", "rouge"):
        yield name, make(replace(made_from, settings=replace(made_from.settings, matcher=name)))
    truth = known.states == YES
    noisy = 1 / (1 + np.exp(-(rng.normal(0, 1.5, len(truth)) + np.where(truth, 1.5, -1.5))))
    scores = {"verdicts, 10 % wrong": (truth ^ (rng.random(len(truth)) < 0.1)).astype(float)}
    scores |= {"noisy scores": noisy, "noisy, 0.7 to 0.9": 0.7 + 0.2 * noisy}
    for name, own in scores.items():
        yield name, Remembered(collection.key, name, known.texts, known.question, own)


def log_score(evidence: Evidence, groups: int, doubt: float) -> float:
    """Nats per pair of groups that were left out, after fitting to so many other groups."""
    prior, present, scores = replace(PRIOR, b_covariance=doubt * PRIOR.b_covariance), np.unique(evidence.group), []
    for time in range(TIMES):
        order = np.random.default_rng(time).permutation(present)
        left = evidence.only(np.isin(evidence.group, order[max(groups, 3) :][:5]))
        fit = fit_smooth(evidence.only(np.isin(evidence.group, order[:groups])), prior)
        chance = fit.probability(left.pairs)
        scores.append(np.log(np.where(left.yes, chance, 1 - chance)).mean())
    return float(np.mean(scores))


def main() -> None:
    collection = read_collection(sys.argv[1])
    known = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    name, rng = Path(sys.argv[1]).name, np.random.default_rng(0)
    print(f"# The prior with other matchers: {name}\n\nMade by `python experiments/doubt.py {name}`.")
    print("Held-out log score (nats a pair) with the curve's prior variance times 1, 4 and 16.\n")
    total = len({collection.group(run.name) for run in collection.judged_runs})
    counts = (0, 1, 3, total - 1)
    print("| matcher | " + " | ".join(f"{count} groups: ×1, ×4, ×16" for count in counts) + " |")
    print("|---" * (len(counts) + 1) + "|")
    for matcher, own in matchers(collection, known, rng):
        evidence = gather_evidence(collection, own, known)
        if len(evidence) > 200_000:
            some = np.random.default_rng(0).permutation(evidence.nuggets)[:NUGGETS]
            evidence = evidence.only(np.isin(evidence.nugget, some))
        cells = [", ".join(f"{log_score(evidence, count, doubt):.3f}" for doubt in DOUBTS) for count in counts]
        print(f"| {matcher} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
