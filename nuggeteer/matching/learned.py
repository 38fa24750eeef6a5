"""The matcher that learns from every judgement: descriptions, and texts known to carry a nugget or not.

Clues (`clues.py`) are weighed by one logistic regression over all nuggets, so that a new nugget profits from old ones.
Its probability is the match score; the thresholds make it right for each nugget and system.

Nothing that a human said of a group of systems reaches the scores by which the thresholds learn what the matcher is
worth on that group: its verdicts are hidden from the clues of all texts, and its texts from the regression.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nuggeteer.matching.base import Explanation, Judged, Matcher, Material, SimilarText, WordEvidence
from nuggeteer.matching.clues import CLUES, GramReader, QuestionClues
from nuggeteer.matching.marks import as_written
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.pairs import ragged
from nuggeteer.records import Ints, Vector
from nuggeteer.text import normalised

FOLDS = 5
GROUPS = 3  # of two, when one is hidden, nobody is left to speak to the other's texts
LEAST = 20  # verdicts of each kind without which nothing is learned, whichever fold is hidden
SAMPLE = 100_000  # of pairs without the nugget that the regression sees
PENALTY = 0.3  # C of the logistic regression, on clues in units of their spread
FLAT = 1e-9
NAMED = 2  # judged texts of a kind that an explanation names
DIGITS = 6  # of a score: the last bits of a product depend on what else is asked at once


class LearnedMatcher(Matcher):
    """Match scores from judged texts and descriptions; from descriptions alone where judgements are scarce."""

    uses_judgements = True

    def __init__(self, material: Material) -> None:
        self.key, self._judged = material.key, material.judged
        self.ngrams = NgramMatcher(material.key, material.settings, material.idf)
        self._read = GramReader(material.idf)
        self._begin, _ = ragged(self.key.offsets[self._judged.question], self.key.counts[self._judged.question])
        groups = np.unique(self._judged.group)
        self._folds = [groups[i::FOLDS] for i in range(min(FOLDS, len(groups)))]
        self.learns = len(groups) >= GROUPS and all(map(self._enough, self._folds))
        self._weights: Vector | None = None

    def _enough(self, hidden: Ints) -> bool:
        """Whether verdicts on other groups are enough to learn from."""
        shown = self._judged.decided & ~np.isin(self._group_of_pair, hidden)
        found = int((self._judged.yes & shown).sum())
        return min(found, int(shown.sum()) - found) >= LEAST

    @property
    def signature(self) -> str:
        return f"learned[{self.ngrams.signature}]" if self.learns else self.ngrams.signature

    @property
    def scores_overlap(self) -> bool:
        return not self.learns

    @property
    def notes(self) -> tuple[str, ...]:
        if self.learns:
            return ()
        return (
            f"The matcher `learned` needs judged systems of {GROUPS} groups, with {LEAST} yes and {LEAST} no "
            f"besides those of any one group (any fifth of more than {FOLDS}); until then it scores by n-grams.",
        )

    def state(self) -> Vector:
        """All that was learned: the weight of each clue, the intercept last."""
        if self._weights is None:
            with _one_thread():
                none = np.zeros(0, dtype=np.int64)
                self._weights = self._fit(*self._training(none)) if self.learns else np.zeros(0)
        return self._weights

    def restore(self, state: Vector) -> None:
        """Take back what was learned from the same judgements."""
        if state.shape != ((len(CLUES) + 1,) if self.learns else (0,)) or not np.isfinite(state).all():
            raise ValueError("the state of another matcher")
        self._weights = state

    def score(self, texts: Sequence[str], question: npt.NDArray[np.int32], jobs: int = 1) -> Vector:
        match = self.ngrams.score(texts, question, jobs)
        if not self.learns:
            return match
        weights = self.state()
        begin, _ = ragged(self.key.offsets[question], self.key.counts[question])
        result = np.empty(len(match))
        with _one_thread():
            for place in np.unique(question).tolist():
                rows = np.flatnonzero(question == place)
                pairs = begin[rows][:, None] + np.arange(self.key.counts[place])
                clues = self._field(place).clues([self._read(texts[i]) for i in rows.tolist()])
                clues[:, :, CLUES.index("match")] = match[pairs]
                result[pairs] = _chance(clues, weights)
        return np.round(result, DIGITS)

    def score_judged(self, judged: Judged, jobs: int = 1) -> Vector:
        """Scores of the judged texts, each by what was learned without its group: groups are hidden in folds."""
        if not self.learns:
            return self.ngrams.score_judged(judged, jobs)
        from joblib import Parallel, delayed

        for place, _ in self._rows:
            self._field(place)  # read once, for all workers
        parts = Parallel(n_jobs=min(jobs, len(self._folds)))(delayed(self._score_fold)(fold) for fold in self._folds)
        result = np.empty(int(self._begin[-1]))
        for pairs, scores in parts:
            result[pairs] = scores
        return np.round(result, DIGITS)

    def _score_fold(self, fold: Ints) -> tuple[Ints, Vector]:
        with _one_thread():
            clues, pairs = self._training(fold)
            hidden = np.isin(self._group_of_pair[pairs], fold)
            weights = self._fit(clues[~hidden], pairs[~hidden])
            return pairs[hidden], _chance(clues[hidden], weights)

    def explain(self, text: str, nugget: int) -> Explanation:
        """The words that told most and those of the description, with their log odds; the judged texts most like."""
        if not self.learns:
            return self.ngrams.explain(text, nugget)
        place = int(self.key.question[nugget])
        first = int(self.key.offsets[place])
        breakdown = self._field(place).breakdown(self._read(normalised(text)), nugget - first)
        here = as_written(text, self._read.stem, (1, 2))
        told = breakdown.there | breakdown.telling  # the same odds, where a gram is both
        said = [WordEvidence(here[tuple(gram.split(" "))], odds, True) for gram, odds in told.items()]
        for description in self.key.nuggets[nugget].descriptions:
            written = as_written(description, self._read.stem, (1,))
            if breakdown.lacking.keys() <= {stem for (stem,) in written}:
                said += [WordEvidence(written[stem,], odds, False) for stem, odds in breakdown.lacking.items()]
                break
        rows = dict(self._rows).get(place, np.zeros(0, dtype=np.int64))
        alike = [
            SimilarText(self._judged.texts[rows[i]], yes, min(similarity, 1.0))
            for kind in (True, False)
            for i, similarity, yes in [one for one in breakdown.near if one[2] is kind][:NAMED]
        ]
        return Explanation("log odds", tuple(sorted(said, key=lambda one: -abs(one.weight))), tuple(alike))

    # Learning.

    def _fit(self, clues: Vector, pairs: Ints) -> Vector:
        """The weights of the clues, from the decided ones of these pairs; of too many without the nugget, some."""
        from sklearn.linear_model import LogisticRegression

        decided, yes = self._judged.decided[pairs], self._judged.yes[pairs]
        no = np.flatnonzero(decided & ~yes)
        step = max(1, len(no) // SAMPLE)
        kept = np.sort(np.concatenate([np.flatnonzero(decided & yes), no[::step]]))
        x, y = clues[kept], yes[kept]
        mean, spread = x.mean(axis=0), x.std(axis=0)
        spread[spread < FLAT] = np.inf  # a clue that tells nothing here gets no weight
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a fit that stops a little early: its result is as good
            model = LogisticRegression(C=PENALTY, max_iter=1000)
            model.fit((x - mean) / spread, y, sample_weight=np.where(y, 1.0, float(step)))
        slope = model.coef_[0] / spread
        return np.append(slope, model.intercept_[0] - slope @ mean)

    def _training(self, hidden: Ints) -> tuple[Vector, Ints]:
        """The clues of all judged texts, and their pairs; nothing that was said of `hidden` groups is in them."""
        all_clues, all_pairs = [], []
        for place, rows in self._rows:
            pairs = self._begin[rows][:, None] + np.arange(self.key.counts[place])
            clues = self._field(place).judged(hidden)
            clues[:, :, CLUES.index("match")] = self._match[pairs]
            all_clues.append(clues.reshape(-1, len(CLUES)))
            all_pairs.append(pairs.ravel())
        return np.concatenate(all_clues), np.concatenate(all_pairs)

    @cached_property
    def _match(self) -> Vector:
        return self.ngrams.score(self._judged.texts, self._judged.question)

    @cached_property
    def _group_of_pair(self) -> Ints:
        return np.repeat(self._judged.group, np.diff(self._begin))

    @cached_property
    def _rows(self) -> list[tuple[int, Ints]]:
        """Judged texts of each question."""
        order = np.argsort(self._judged.question, kind="stable")
        ends = np.searchsorted(self._judged.question[order], np.arange(len(self.key.questions) + 1))
        return [(q, order[ends[q] : ends[q + 1]]) for q in range(len(self.key.questions)) if ends[q] < ends[q + 1]]

    @cached_property
    def _fields(self) -> dict[int, QuestionClues]:
        return {}

    def _field(self, place: int) -> QuestionClues:
        if place not in self._fields:
            rows = next((rows for q, rows in self._rows if q == place), np.zeros(0, dtype=np.int64))
            pairs = self._begin[rows][:, None] + np.arange(self.key.counts[place])
            own = self.key.nuggets[self.key.offsets[place] : self.key.offsets[place + 1]]
            self._fields[place] = QuestionClues(
                [[self._read(normalised(text)) for text in nugget.descriptions] for nugget in own],
                [self._read(self._judged.texts[i]) for i in rows.tolist()],
                self._judged.group[rows],
                self._judged.decided[pairs],
                self._judged.yes[pairs],
            )
        return self._fields[place]


def make(material: Material) -> LearnedMatcher:
    return LearnedMatcher(material)


def _one_thread() -> AbstractContextManager[object]:
    """Within it, sums are added in the same order however many workers and processors there are."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1)
    return limits


def _chance(clues: Vector, weights: Vector) -> Vector:
    from scipy.special import expit

    return np.asarray(expit(clues @ weights[:-1] + weights[-1]))
