"""What the words of two builds, or judges who read both, say of the difference between them.

    python experiments/changes.py FOLDER    # from the collections in this folder, recorded anew

Nights are made of the answers of a collection (`nights.py`), and nobody has judged any, or a made-up judge has read
all. Of each change is recorded what the package says of it before it knows that the two are builds (`base`), by how
much that moves with δ (`slope`) and varies without it (`noise`), the contrast of the two builds, and the truth. For
each collection, and each judge, γ and σ follow by maximum likelihood from

    truth − base   ~   N(slope γ m, slope² σ² room + noise²)

and `between` makes of them what is believed of another collection. `prior.py` writes that into the package.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nights
import numpy as np
import prior
from joblib import Parallel, delayed
from scipy.optimize import minimize

from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.builds import contrast_of, same_texts

JUDGES = ((), (0.85, 0.92), (0.7, 0.97))  # nobody, or how often a judge is right on a yes and on a no
FIRSTS, SEEDS = (0, 0.5, 1, 1.5, 2), range(100, 106)  # not those of nights.md
RECORDED = Path(__file__).resolve().parent / "recorded" / "changes.npz"
FIELDS = ("truth", "base", "slope", "noise", "words", "judges", "room")


def changes(path: Path, first: float, seed: int, judge: Sequence[float]) -> list[list[float]]:
    """The nights of a chain, each as a row of FIELDS."""
    prior.leave_out(path.name)
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
        rows.append([after - before, base, slope, noise, contrast.words, contrast.judges, contrast.room])
    return rows


def likeliest(rows: np.ndarray, clue: str) -> tuple[float, float]:
    """γ and σ of one collection."""
    given = dict(zip(FIELDS, rows.T, strict=True))

    def surprise(p: np.ndarray) -> float:
        expected = given["base"] + given["slope"] * p[0] * given[clue]
        variance = (given["slope"] * p[1]) ** 2 * given["room"] + given["noise"] ** 2
        return float((np.log(variance) + (given["truth"] - expected) ** 2 / variance).mean())

    factor, spread = minimize(surprise, [1.0, 0.3], method="Nelder-Mead").x
    return float(factor), abs(float(spread))


def between(found: np.ndarray) -> tuple[tuple[float, float], float]:
    """What is believed of another collection, of which these are few: the mean and the spread of γ, and σ."""
    factor, spread, few = found[:, 0], found[:, 1], 1 + 1 / len(found)
    return (float(factor.mean()), float(np.sqrt(factor.var(ddof=1) * few))), float(np.sqrt((spread**2).mean() * few))


def believed(without: str | None = None) -> dict[str, Any]:
    """CHANGE of the package, from all collections but one."""
    words, judges = [], []
    with np.load(RECORDED) as stored:
        for name in prior.PLAYED:
            if name != without:
                words.append(likeliest(stored[f"{name}.0"], "words"))
                own = [likeliest(stored[f"{name}.{i}"], "judges") for i in range(1, len(JUDGES))]
                judges.append(np.mean(own, axis=0))
    (by_words, unread), (by_judges, read) = between(np.array(words)), between(np.array(judges))
    return {"words": by_words, "judges": by_judges, "unread": unread, "read": read}


def main() -> None:
    folder, arrays = Path(sys.argv[1]), {}
    for name in prior.PLAYED:
        for i, judge in enumerate(JUDGES):
            parts = Parallel(n_jobs=2)(
                delayed(changes)(folder / name, first, seed, judge) for first in FIRSTS for seed in SEEDS
            )
            arrays[f"{name}.{i}"] = np.array([row for part in parts for row in part])
            print(f"{name} {judge}: {len(arrays[f'{name}.{i}'])} nights", file=sys.stderr)
    np.savez_compressed(RECORDED, **arrays)
    for without in (None, *prior.PLAYED):
        print(without, believed(without))


if __name__ == "__main__":
    import changes as by_name  # by its name, so that workers find it

    by_name.main()
