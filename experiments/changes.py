"""What the words of two builds, or judges who read both, say of the difference between them.

    python experiments/changes.py           # from what was recorded
    python experiments/changes.py FOLDER    # from the collections in this folder, recorded anew

Nights are made of the answers of a collection (`nights.py`), and nobody has judged any, or a made-up judge has read
all. Of each change is recorded what the package says of it before it knows that the two are builds (`base`), by how
much that moves with δ (`slope`) and varies without it (`noise`), the contrast of the two builds (m, e² with its degrees
of freedom, room), and the truth. By `comparing/builds`, m is a measurement of a change μ ~ N(0, V room), with Student's
error, and δ ~ N(γ μ, σ² room). So, about,

    truth − base   ~   N(slope γ E(μ | m), slope² (γ² var(μ | m) + σ² room) + noise²)

γ, which is another in each collection, with its mean and spread, and σ and V follow by maximum likelihood.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

import nights
import numpy as np
import prior
from joblib import Parallel, delayed
from scipy.optimize import minimize
from scipy.special import logsumexp

from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.builds import contrast_of, real_change, same_texts

JUDGES = ((), (0.85, 0.92), (0.7, 0.97))  # nobody, or how often a judge is right on a yes and on a no
FIRSTS, SEEDS = (0, 0.5, 1, 1.5, 2), range(100, 106)  # not those of nights.md
FACTORS = np.linspace(-2, 10, 241)  # that are tried
TRIES = {"maxiter": 4000, "maxfev": 4000}
RECORDED = Path(__file__).resolve().parent / "recorded" / "changes.npz"
CLUES = ("words", "judges")
MEASURED = ("", "_error", "_freedom")
FIELDS = ("truth", "base", "slope", "noise", *(clue + what for clue in CLUES for what in MEASURED), "room")


def changes(path: Path, first: float, seed: int, judge: Sequence[float]) -> list[list[float]]:
    """The nights of a chain, each as a row of FIELDS."""
    prior.leave_out_of_clues(path.name)
    chain = nights.Chain.of(read_collection(path), first, seed, judge)
    scorer = nights.Reader(chain.world).scorer()
    matched, rows = [scorer.read(run) for run in chain.runs], []
    for old, new, before, after in zip(matched, matched[1:], chain.truth, chain.truth[1:], strict=False):
        alike, _ = same_texts(scorer.key, old, new)
        contrast = contrast_of(scorer, old, new, alike)
        if contrast is None:
            continue
        delta = (scorer.draws.level(new.build) - scorer.draws.level(old.build)).astype(float)
        values = [nights.F3(scorer.find(run).drawn_answers(scorer.key)) for run in (old, new)]
        whole = np.where(alike, 0.0, values[1] - values[0]).mean(axis=1)
        slope = float(np.cov(delta, whole)[0, 1] / delta.var(ddof=1))
        base, noise = float(whole.mean()) - slope * float(delta.mean()), float((whole - slope * delta).std())
        measured = [*astuple(contrast.words), *astuple(contrast.judges)]
        rows.append([after - before, base, slope, noise, *measured, contrast.room])
    return rows


def likeliest(collections: Sequence[np.ndarray], clue: str) -> tuple[float, float, float, float]:
    """γ, its spread between collections, σ and V: those that make the nights of all collections likeliest, each
    collection with a γ of its own."""
    given = [dict(zip(FIELDS, rows.T, strict=True)) for rows in collections]

    def surprise(p: np.ndarray) -> float:
        mean, doubt, spread, moved = p[0], *np.exp(p[1:])
        weights = -((FACTORS - mean) ** 2) / (2 * doubt**2)
        weights -= logsumexp(weights)
        likely = (logsumexp(weights + _log_likelihood(one, clue, spread, moved)) / len(one["truth"]) for one in given)
        return -float(sum(likely))

    found = minimize(surprise, [2.0, np.log(0.5), np.log(0.3), np.log(0.1)], method="Nelder-Mead", options=TRIES).x
    return float(found[0]), *map(float, np.exp(found[1:]))


def _log_likelihood(one: Mapping[str, np.ndarray], clue: str, spread: float, moved: float) -> np.ndarray:
    """Of the nights of a collection, by its γ."""
    factor = FACTORS[:, None]
    mean, left = real_change(*(one[clue + what] for what in MEASURED), moved * one["room"])
    expected = one["base"] + one["slope"] * factor * mean
    variance = one["slope"] ** 2 * (factor**2 * left + spread**2 * one["room"]) + one["noise"] ** 2
    return np.asarray(-0.5 * (np.log(variance) + (one["truth"] - expected) ** 2 / variance).sum(axis=1))


def believed(without: str | None = None) -> dict[str, tuple[float, float, float, float]]:
    """CHANGE of the package, from all collections but one."""
    names = [name for name in prior.PLAYED if name != without]
    with np.load(RECORDED) as stored:
        words = [stored[f"{name}.0"] for name in names]
        judges = [stored[f"{name}.{i}"] for name in names for i in range(1, len(JUDGES))]
    by_words, (factor, doubt, spread, moved) = likeliest(words, "words"), likeliest(judges, "judges")
    # Made-up judges err at random. Real ones may like one build better, at least as much as words do.
    return {"words": by_words, "judges": (factor, doubt, max(spread, by_words[2]), moved)}


def held(name: str) -> float:
    """In how many nights of a collection, before any verdict, the interval by what the others say holds the truth."""
    factor, doubt, spread, moved = believed(name)["words"]
    with np.load(RECORDED) as stored:
        one = dict(zip(FIELDS, stored[f"{name}.0"].T, strict=True))
    mean, left = real_change(*(one["words" + what] for what in MEASURED), moved * one["room"])
    variance = prior.FEW * (factor**2 * left + spread**2 * one["room"]) + (doubt * mean) ** 2
    off = one["truth"] - one["base"] - one["slope"] * factor * mean
    return float((np.abs(off) <= 1.96 * np.sqrt(one["slope"] ** 2 * variance + one["noise"] ** 2)).mean())


def main() -> None:
    if sys.argv[1:]:
        record(Path(sys.argv[1]))
    for name in prior.PLAYED:
        print(
            name, {of: tuple(round(one, 3) for one in own) for of, own in believed(name).items()}, round(held(name), 3)
        )


def record(folder: Path) -> None:
    """Play the nights of all collections of a folder anew."""
    arrays = {}
    for name in prior.PLAYED:
        for i, judge in enumerate(JUDGES):
            parts = Parallel(n_jobs=2)(
                delayed(changes)(folder / name, first, seed, judge) for first in FIRSTS for seed in SEEDS
            )
            arrays[f"{name}.{i}"] = np.array([row for part in parts for row in part])
            print(f"{name} {judge}: {len(arrays[f'{name}.{i}'])} nights", file=sys.stderr)
    np.savez_compressed(RECORDED, **arrays)


if __name__ == "__main__":
    import changes as by_name  # by its name, so that workers find it

    by_name.main()
