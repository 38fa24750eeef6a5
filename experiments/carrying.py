"""Does it help to learn on the collection itself what carried-over log odds are worth (`thresholds/carrying.py`)?

    python experiments/carrying.py COLLECTION...        of ../../shared/data, or any folders

Each group of systems is left out in turn and guessed from the others: with the weights that are shipped, and as it is
done now. `weight` and `level` are those of all groups together. Read `holds` with care where only some pairs were
judged (kpa, semeval): there the true recall is that of the nuggets that verdicts settle, and a yes settles more easily.
"""

from __future__ import annotations

import sys
from pathlib import Path

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.scoring import fitting
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.trust.crossval import crossval

DATA = Path(__file__).parent.parent.parent / "shared" / "data"


def main(*names: str) -> None:
    print("# What carried-over log odds are worth on a collection\n")
    print(f"Made by `python experiments/carrying.py {' '.join(names)}`, whose head says what it is.\n")
    print("| collection | weights | level | weight | F1 of pairs | AP | ECE | F1 of answers | rmse of recall | holds |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in names:
        collection = read_collection(DATA / name if (DATA / name).is_dir() else Path(name))
        learned = fitting.leave_out
        fitting.leave_out = lambda *_: None
        print(row(name, "shipped", collection), flush=True)
        fitting.leave_out = learned
        print(row(name, "learned", collection), flush=True)


def row(name: str, weights: str, collection: Collection) -> str:
    scorer = Scorer(collection)
    fit = fitting.fit_smooth(
        fitting.gather_evidence(collection, scorer.matcher, scorer.known),
        fitting.prior_of(collection, scorer.matcher),
    )
    found = crossval(collection)
    pairs, answers = found.pairs, found.answers
    return (
        f"| {name} | {weights} | {fit.carry_over.level:.2f} | {fit.carry_over.weight:.2f} | {pairs.f1:.3f} | "
        f"{pairs.average_precision:.3f} | {pairs.ece:.3f} | {answers.f1:.3f} | {found.runs.rmse:.3f} | "
        f"{found.coverage95:.0%} |"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
