"""What a judge's verdicts are worth: how often it gives each label where humans say yes, and where they say no.

The rates are learned from pairs that both have judged, and start from those of SummHay's six LLM judges
(experiments/asking.md). So a judge that nobody has checked counts for something, with the doubt of how little is known.

A judge is often right where the words and people's verdicts on other texts are right too. Only a part of what its label
says is new (`novelty`), and this part falls the more people have judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from nuggeteer.asking.calls import every_call
from nuggeteer.asking.replies import LABELS
from nuggeteer.asking.store import VerdictStore
from nuggeteer.collection.folder import Collection
from nuggeteer.judging.audits.estimate import NuggetState
from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds.smooth import SmoothFit

# The mean rates of the six judges, as counts of as many verdicts as the spread between the judges is worth.
PRIOR: Final = np.array([[1.19, 3.56, 3.35], [14.21, 7.12, 0.88]])  # no, yes × LABELS


# The part of a label's log likelihood ratio that is new, without any human verdict, and how fast it falls with human
# verdicts for each nugget; beyond that many it is not known. Measured on SummHay, with the model of version 0.1.0.
NEW, FALL, MOST = 0.81, 5.0, 4.75


def novelty(verdicts: float) -> float:
    """The part of a label that is new, after so many human verdicts for each nugget on average."""
    return float(NEW * (1 + FALL * min(verdicts, MOST)) ** -0.25)


@dataclass(frozen=True)
class Worth:
    """Counts of labels where the answer lacks the nugget, and where it has it; (no, yes) × `LABELS`, prior included.
    `checked` is how many pairs humans have judged too, and `novelty` the part of a label that is new."""

    counts: Vector
    checked: int = 0
    novelty: float = 1.0

    @classmethod
    def learned(cls, labels: Vector | Ints, yes: Bools, novelty: float = 1.0) -> Worth:
        """From labels, as positions in `LABELS`, of pairs with human verdicts."""
        seen = np.zeros_like(PRIOR)
        np.add.at(seen, (yes.astype(int), labels.astype(int)), 1)
        return cls(PRIOR + seen, len(labels), novelty)

    @property
    def rates(self) -> Vector:
        return np.asarray(self.counts / self.counts.sum(axis=1, keepdims=True))

    def posterior(self, probability: Vector) -> Vector:
        """nuggets × labels: how probable a nugget is after each label."""
        no, yes = self.rates**self.novelty
        joint = probability[:, None] * yes
        return np.asarray(joint / (joint + (1 - probability)[:, None] * no))

    def explained(self, probability: Vector) -> Vector:
        """The share of the variance of each nugget that a verdict is expected to remove."""
        no, yes = self.rates
        chance = probability[:, None] * yes + (1 - probability)[:, None] * no
        variance = np.maximum(probability * (1 - probability), 1e-12)
        after = self.posterior(probability)
        return np.asarray((chance * (after - probability[:, None]) ** 2).sum(axis=1) / variance)

    def sways(self, weight: Vector, probability: Vector) -> Vector:
        """nuggets × (no, yes) × labels: how a score moves when the rates move, if a nugget counts with its `weight`."""
        after = weight[:, None] * self.posterior(probability)
        return np.stack([(1 - probability)[:, None] * after, probability[:, None] * after], axis=1)

    def doubt(self, sways: Vector) -> Vector:
        """The variance that unknown rates add to a score. All verdicts of the judge share it, so more of them do not
        average it out. `sways` are sums over nuggets."""
        total = self.counts.sum(axis=1)
        mean = (sways * self.rates).sum(axis=-1)
        spread = (sways**2 * self.rates).sum(axis=-1) - mean**2  # of a Dirichlet distribution
        return np.asarray((spread / (total + 1)).sum(axis=-1))


def learn_worth(collection: Collection, scorer: Scorer, store: VerdictStore) -> Worth:
    """From all answers in the collection that the judge has read, and humans have judged too."""
    labels: list[int] = []
    truth: list[bool] = []
    for name in collection.run_names:
        run = collection.run(name)
        read: dict[int, int] = {}
        for call in every_call(collection.key, [run]):
            for nugget, pair in zip(call.nuggets, call.digests(), strict=True):
                if (label := store.assignment(pair)) in LABELS:
                    read[collection.key.nugget_position[nugget.qid, nugget.nugget]] = LABELS.index(label)
        if not read:
            continue
        state = NuggetState.of(scorer.read(run), collection.key)
        for position, code in read.items():
            if not state.open_[position]:
                labels.append(code)
                truth.append(bool(state.found[position]))
    new = novelty(scorer.model.pairs / len(collection.key.nuggets)) if isinstance(scorer.model, SmoothFit) else 1.0
    return Worth.learned(np.array(labels, dtype=int), np.array(truth, dtype=bool), new)
