"""The prior of the default model, from public collections.

    python experiments/prior.py           # from what was recorded
    python experiments/prior.py FOLDER    # from the collections in this folder, recorded anew

For each collection, the model is fitted to all its verdicts with hardly any prior. From what the fits say of the clues'
weights, their mean and how they differ between collections follow, by EM for a normal distribution of each weight. This
writes `nuggeteer/thresholds/public_prior.py` and `experiments/prior.md`. What they are made from stands in
`experiments/recorded/prior.npz`, so that other experiments can make the prior without a collection.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing import builds
from nuggeteer.scoring.evidence import gather_evidence
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.units import names_of
from nuggeteer.thresholds import prior
from nuggeteer.thresholds.model import Evidence
from nuggeteer.thresholds.prior import Prior
from nuggeteer.thresholds.propagation import fit_smooth

COLLECTIONS = ("realsumm", "summhay", "kpa", "semeval", "ts2013", "ts2014")
PLAYED = COLLECTIONS[:4]  # those of which nights are made
ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "experiments" / "recorded" / "prior.npz"
TARGET = ROOT / "nuggeteer" / "thresholds" / "public_prior.py"
WIDE = 50.0  # the variance of a weight in the fit to one collection
FIRST, COUNTS = 0.6, 2.0  # the spread of a weight between collections at first, and how many collections it counts as
LEAST = 0.2
# The factor of the variances of the level, and of what builds differ by: few collections do not show them well.
# For six, it is as wide at 95 % as Student's t.
FEW = 1.5
# A verdict carried over is worth more where many judged texts carry it over, so its weight is not that of the whole
# collections. Chosen by trial, with one judged run of each: from 2 to 8 all did about as well.
CARRIED = (4.0, 3.0)
BUILDS = 0.4  # the spread of builds, which collections of systems that were judged once do not show: chosen by trial
LEAST_OF_ANSWERS = 0.8  # the spread of answers; that of the collections left intervals too narrow
# Of judges, from SummHay's six: the weight of a verdict and of having read it, and the correlation of their errors.
JUDGE = {"weight": (1.9, 0.7), "level": (-0.5, 0.9), "correlation": (0.44, 0.0)}


def summary(evidence: Evidence, names: Sequence[str]) -> dict[str, np.ndarray]:
    """What a collection says of the weights: the precision and the precision times the mean, and the spreads."""
    clues = evidence.units.clues.copy()
    clues[:, [names.index(name) for name in prior.POSITIVE]] = 0
    evidence = replace(evidence, units=replace(evidence.units, clues=clues))
    count = len(names)
    wide = Prior(tuple(names), np.zeros(count), WIDE * np.eye(count), 1.4, 0.6, 0.25, 0.25, 0.6, weight=2.0)
    fit = fit_smooth(evidence, wide)
    whole = np.linalg.inv(fit.core_covariance[:count, :count])
    usual = np.eye(count)  # the level is that of a usual answer
    usual[0] -= [prior.USUAL.get(name, 0.0) for name in names]
    usual[0, 0] = 1.0
    return {
        "precision": usual.T @ (whole - np.eye(count) / WIDE) @ usual,
        "shift": usual.T @ whole @ fit.b,
        "spreads": np.array(fit.spreads),
    }


def between(parts: Sequence[Mapping[str, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the spread of each weight over collections, by EM."""
    count = len(parts[0]["shift"])
    mean, spread = np.zeros(count), np.ones(count)
    for _ in range(500):
        inverses = [np.linalg.inv(part["precision"] + np.diag(spread**-2)) for part in parts]
        of = np.array([own @ (part["shift"] + mean / spread**2) for own, part in zip(inverses, parts, strict=True)])
        mean = of.mean(axis=0)
        squares = ((of - mean) ** 2 + np.array([np.diag(own) for own in inverses])).sum(axis=0)
        spread = np.sqrt(np.maximum((squares + COUNTS * FIRST**2) / (len(parts) + COUNTS - 1), LEAST**2))
    spread[0] *= np.sqrt(FEW)
    return mean, spread * np.sqrt(1 + 1 / len(parts))


def recorded() -> dict[str, dict[str, dict[str, np.ndarray]]]:
    """The summaries of each collection, by kind of matcher."""
    found: dict[str, dict[str, dict[str, np.ndarray]]] = {"learned": {}, "ngram": {}}
    with np.load(RECORDED) as stored:
        for name in stored.files:
            kind, collection, field = name.split(".")
            if collection != "names":
                found[kind].setdefault(collection, {})[field] = stored[name]
    return found


def tables(without: str | None = None) -> dict[str, dict[str, tuple[float, float]]]:
    """The prior's weights by kind of matcher, from all collections but one."""
    result = {}
    with np.load(RECORDED) as stored:
        names = {kind: tuple(map(str, stored[f"{kind}.names.names"])) for kind in ("learned", "ngram")}
    for kind, parts in recorded().items():
        mean, spread = between([part for name, part in parts.items() if name != without])
        own = dict(zip(names[kind], zip(mean.tolist(), spread.tolist(), strict=True), strict=True))
        result[kind] = own | dict.fromkeys(prior.POSITIVE, CARRIED)
    return result


def spreads(without: str | None = None) -> tuple[float, ...]:
    """The prior's spreads of nuggets, questions, systems, builds and answers."""
    parts = [part["spreads"] for name, part in recorded()["learned"].items() if name != without]
    nugget, question, system, _, answer = np.sqrt((np.array(parts) ** 2).mean(axis=0)).tolist()
    return nugget, question, system, BUILDS, max(answer, LEAST_OF_ANSWERS)


@cache
def change(without: str | None = None) -> dict[str, tuple[float, float, float, float]]:
    """What is believed of the difference between two builds."""
    import changes

    return changes.believed(without)


def leave_out(collection: str | None) -> None:
    """Make the package believe what it would without a collection."""
    leave_out_of_clues(collection)
    builds.CHANGE = change(collection)


def leave_out_of_clues(collection: str | None) -> None:
    """The same, but for the difference between two builds."""
    found = tables(collection)
    prior.BY_WORDS, prior.BY_SCORE = found["learned"], found["ngram"]
    prior.SPREADS = spreads(collection)


def record(folder: Path) -> None:
    """Measure all collections of a folder anew."""
    arrays: dict[str, np.ndarray] = {}
    for kind in ("learned", "ngram"):
        for name in COLLECTIONS:
            collection = read_collection(folder / name)
            match = replace(collection.settings.match, matcher=kind)
            collection = replace(collection, settings=replace(collection.settings, match=match))
            scorer = Scorer(collection)
            names = names_of(scorer.matcher.match([], np.zeros(0, dtype=np.int32)).names, ())
            evidence = gather_evidence(collection, scorer.matcher, scorer.known)
            arrays[f"{kind}.names.names"] = np.array(names)
            arrays.update({f"{kind}.{name}.{key}": value for key, value in summary(evidence, names).items()})
            print(f"{kind} {name}: {len(evidence):,} units", file=sys.stderr)
    np.savez_compressed(RECORDED, **arrays)


def page() -> str:
    """What each collection would have been given by the others."""
    found, others = tables(), {name: tables(name) for name in COLLECTIONS}
    without = "| all | " + " | ".join(f"without {name}" for name in COLLECTIONS) + " |"
    rule = "---|" * (len(COLLECTIONS) + 1)
    lines = [
        "# The prior",
        "",
        "Made by `python experiments/prior.py`. The mean and the standard deviation of each clue's weight before any",
        "verdict: from all six collections, and without one of them, which is what other experiments use on it.",
        "",
        f"| clue | matcher {without}",
        f"|---|---|{rule}",
    ]
    for kind, clues in found.items():
        for clue, believed in clues.items():
            row = (believed, *(others[name][kind][clue] for name in COLLECTIONS))
            lines.append(f"| `{clue}` | {kind} | " + " | ".join(f"{mean:.2f} ± {sd:.2f}" for mean, sd in row) + " |")
    effects = ("nuggets", "questions", "systems", "builds", "answers")
    lines += ["", "The spreads of the effects:", "", f"| of {without}", f"|---|{rule}"]
    for i, effect in enumerate(effects):
        values = (spreads(), *map(spreads, COLLECTIONS))
        lines.append(f"| {effect} | " + " | ".join(f"{value[i]:.2f}" for value in values) + " |")
    lines += [
        "",
        "Of two builds, by their words and by judges who read both (`python experiments/changes.py FOLDER`):",
        "",
        "| | all | " + " | ".join(f"without {name}" for name in PLAYED) + " |",
        "|---|" + "---|" * (len(PLAYED) + 1),
    ]
    for of in ("words", "judges"):
        own = [change(name)[of] for name in (None, *PLAYED)]
        lines.append(f"| γ by {of} | " + " | ".join(f"{one[0]:.2f} ± {one[1]:.2f}" for one in own) + " |")
        lines.append(f"| σ by {of} | " + " | ".join(f"{one[2]:.3f}" for one in own) + " |")
        lines.append(f"| V by {of} | " + " | ".join(f"{one[3]:.3f}" for one in own) + " |")
    return "\n".join(lines).replace("| -", "| −") + "\n"


def module() -> str:
    """The text of `public_prior.py`, as ruff formats it but for the lines' breaks."""
    rounded = {
        kind: {clue: (round(mean, 3), round(spread, 3)) for clue, (mean, spread) in own.items()}
        for kind, own in tables().items()
    }
    weights = "dict[str, tuple[float, float]]"
    changes = {name: tuple(round(one, 3) for one in own) for name, own in change().items()}
    lines = (
        '"""What public collections say about clues and spreads; `python experiments/prior.py` writes it."""',
        "",
        "from typing import Final",
        "",
        f"BY_WORDS: Final[{weights}] = {rounded['learned']!r}",
        f"BY_SCORE: Final[{weights}] = {rounded['ngram']!r}",
        f"JUDGE: Final[{weights}] = {JUDGE!r}",
        f"SPREADS: Final[tuple[float, float, float, float, float]] = {tuple(round(one, 3) for one in spreads())!r}",
        f"FEW: Final = {FEW}",
        f"CHANGE: Final[dict[str, tuple[float, float, float, float]]] = {changes!r}",
        "",
    )
    return "\n".join(lines)


def main() -> None:
    if sys.argv[1:]:
        record(Path(sys.argv[1]))
    formatted = [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", str(TARGET)]
    done = subprocess.run(formatted, input=module(), capture_output=True, text=True, check=True)
    TARGET.write_text(done.stdout, encoding="utf-8")
    (ROOT / "experiments" / "prior.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
