"""The tool's guesses on pairs that people decided, as if the systems of the pairs had not been judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nuggeteer.records import Bools, Ints, Vector, ragged
from nuggeteer.scoring.deciding import fitted_to
from nuggeteer.scoring.evidence import gather_evidence
from nuggeteer.scoring.known import UNKNOWN, VerdictIndex
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.text import verdict_form
from nuggeteer.thresholds.model import probability
from nuggeteer.thresholds.selection import FOLDS, folds_of

NO_VERDICT = -1


class HeldOutGuesses:
    """The guess of the tool on every decided pair, as if the system of the pair had not been judged."""

    def __init__(self, scorer: Scorer, notify: Callable[[str], None] = lambda line: None) -> None:
        self.scorer = scorer
        known: VerdictIndex = scorer.known
        self.evidence = gather_evidence(
            scorer.collection, scorer.matcher, known, scorer.jobs, "response", carried_over=False
        )
        self.decided = np.flatnonzero(known.taught != UNKNOWN)
        counts = scorer.key.counts[known.question]
        self._begin, _ = ragged(scorer.key.offsets[known.question], counts)
        self.probability = np.full(len(self.evidence), np.nan)
        if scorer.draws is None:
            self.left_out = "nothing: a fixed threshold learns from no verdict"
            threshold = scorer.model.threshold(self.evidence.nugget)
            self.yes: Bools = self.evidence.scores > threshold
            return
        folds = folds_of(self.evidence)
        settings = scorer.collection.settings.threshold
        self.left_out = "the systems that the texts are from"
        if not folds:
            self.left_out = "the texts, a fifth at a time; all are of one system, and others of its texts were seen"
            text = self.evidence.units.answer
            folds = [mask for fold in range(FOLDS) if (mask := text % FOLDS == fold).any()]
        notify(f"Fitting {len(folds)} times, each without some of {len(self.evidence):,} judged pairs.")
        for out in folds:
            held = self.evidence.only(out)
            model = fitted_to(self.evidence.only(~out), settings, scorer.matcher)
            self.probability[out] = probability(model, held.units)
        self.yes = self.probability >= 0.5

    def of(self, texts: Sequence[str], nugget: Ints, question: Ints) -> tuple[Ints, Ints, Vector]:
        """For each pair of a text and a nugget of its question: the tool's verdict, the known verdict, and the tool's
        probability of a yes. Pairs that no person decided have none of these."""
        known, key = self.scorer.known, self.scorer.key
        rows = known.rows(list(map(verdict_form, texts)), question)
        judged = np.flatnonzero(rows >= 0)
        place = self._begin[rows[judged]] + nugget[judged] - key.offsets[question[judged]]
        decided = np.isin(place, self.decided)
        judged, where = judged[decided], np.searchsorted(self.decided, place[decided])
        tool, known_yes = np.full((2, len(rows)), NO_VERDICT)
        chance = np.full(len(rows), np.nan)
        tool[judged], known_yes[judged] = self.yes[where], self.evidence.yes[where]
        chance[judged] = self.probability[where]
        return tool, known_yes, chance
