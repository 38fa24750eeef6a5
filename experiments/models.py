"""Which threshold model explains the judgements best? `nuggeteer thresholds` on several collections.

python experiments/models.py COLLECTION... > experiments/models.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from nuggeteer.collection.folder import read_collection
from nuggeteer.scoring.scorer import compare_thresholds


def main() -> None:
    names = sys.argv[1:]
    print(f"# Threshold models\n\nMade by `python experiments/models.py {' '.join(Path(n).name for n in names)}`.\n")
    print("Evidence: log₁₀ P(data | model). Held-out: the mean logarithm of the probability given to the verdicts of")
    print("systems left out, in nats a pair. Seconds: of one fit to all pairs.\n")
    for name in names:
        result = compare_thresholds(read_collection(name))
        print(f"## {Path(name).name}: {result.pairs:,} pairs, {result.positive:,} yes, {result.groups} groups\n")
        print("| model | evidence | held-out | seconds |\n|---|---|---|---|")
        for model in result.models:
            score = "–" if model.log_score is None else f"{model.log_score:.4f}"
            print(f"| {model.name} | {model.log10_evidence:,.1f} | {score} | {model.seconds:.2f} |")
        print(f"\nBest held-out: {result.chosen}.\n", flush=True)


if __name__ == "__main__":
    main()
