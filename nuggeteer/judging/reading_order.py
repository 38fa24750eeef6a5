"""What to read next: answers with their nuggets, where a minute of reading tells most.

People who judge read an answer once and decide all that is asked about it. So what is asked together is a *card*: an
answer to one question and, for a change, the other build's answer too. How much a minute tells is what the card's
verdicts take off the variance of the score, or of the change, divided by the seconds that they take. All open nuggets
of the answers are asked about, or the most telling first if they are many. If only doubtful guesses were checked,
nobody would learn that the sure ones are wrong (experiments/reading.md).

Cards are drawn at random, one after the other without replacement, with chances proportional to what a minute tells. So
a sitting is a random sample, and stopping at any time misleads nobody. The lot of a question depends on the question,
the answers and the seed: asking again gives the same order, without what has been judged meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from nuggeteer.comparing.builds import drawn_pair
from nuggeteer.comparing.diff import drawn_change
from nuggeteer.comparing.strange import questions_of, strange_night
from nuggeteer.judging.forecast import Forecast, Pace, forecast_of, pace_of
from nuggeteer.measures import Measure
from nuggeteer.records import Ints, Scope, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.outcomes import Outcome
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds.rows import joined, key_of

LEAST = 1e-12  # of a variance
MOST = 40  # nuggets of an answer on a card


@dataclass(frozen=True)
class Suggestion:
    """A verdict worth giving: positions of the nugget in the key and of the best response for it in its run.

    `run` is 1 for the run that is compared with. `probability` is that of the answer having the nugget. `share` is the
    share of the judging variance that the verdict is expected to remove by itself, and `seconds` is what it takes after
    those before."""

    nugget: int
    response: int
    probability: float
    share: float
    run: int
    seconds: float
    scope: Scope


@dataclass(frozen=True)
class ReadingCard:
    """What is asked together: nuggets of one question, of the answers of one or two runs."""

    question: int
    suggestions: tuple[Suggestion, ...]
    share: float  # of the judging variance

    @property
    def seconds(self) -> float:
        return sum(suggestion.seconds for suggestion in self.suggestions)


class ReadingOrder:
    """The cards that are open for a score or, with `against`, for a difference, in the order in which to read them: on
    a strange night, the strange answers come first. `judge`, `plan` and `nightly` all ask here, so that they name the
    same minutes. The pace is that of everybody who judged here, unless one is given."""

    def __init__(
        self,
        scorer: Scorer,
        matched: MatchedRun,
        measure: Measure,
        against: MatchedRun | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.scorer, self.measure = scorer, measure
        self.pace = pace or pace_of(scorer.key, scorer.collection.judgements)
        self.runs = [matched] if against is None else [matched, against]
        self._outcomes = outcomes_of(scorer, self.runs)

    @cached_property
    def contributions(self) -> Vector:
        """draws × questions: what each question contributes to the mean, or to the difference of two means."""
        if len(self.runs) == 2:
            values = drawn_change(self.scorer, self.runs[1], self.runs[0], self.measure)
        else:
            answers = self._outcomes[0].drawn_answers(self.scorer.key) or self._outcomes[0].answers(self.scorer.key)
            values = np.atleast_2d(self.measure(answers))
        defined = ~np.isnan(values).any(axis=0)
        return np.where(defined, values, 0.0) / max(int(defined.sum()), 1)

    @cached_property
    def cards(self) -> tuple[ReadingCard, ...]:
        """All open cards, in their order."""
        if self.scorer.draws is None:
            return ()
        key, values = self.scorer.key, self.contributions
        centred = values - values.mean(axis=0)
        total = float(values.sum(axis=1).var())
        found: list[tuple[bool, float, ReadingCard]] = []
        first, open_ = self._strange(), [np.flatnonzero(run.open_nuggets) for run in self.runs]
        for question in np.unique(key.question[np.concatenate(open_)]).tolist():
            own = float(centred[:, question].var())
            if own > LEAST * max(total, LEAST):
                lot = self._lot(question)
                for card in self._cards_of(question, open_, centred[:, question], own, max(total, LEAST)):
                    found.append((question not in first, lot * card.seconds / card.share, card))
        return tuple(card for *_, card in sorted(found, key=lambda one: one[:2]))

    def _strange(self) -> frozenset[int]:
        """The questions with strange answers, as long as nobody has read a few of them."""
        if len(self.runs) == 1:
            return frozenset()
        new, old = self.runs
        found = strange_night(self.scorer.key, self.scorer.collection.settings.match, old, new)
        return frozenset(questions_of(found))

    def _lot(self, question: int) -> float:
        """An exponential random number that depends on the question, the answers and the seed."""
        texts = [run.text[run.run.own(question)] for run in self.runs]
        name = f"{self.scorer.key.questions[question].qid} {' '.join(map(str, np.concatenate(texts).tolist()))}"
        number = int(joined(np.array([key_of(name)], dtype=np.uint64), self.scorer.seed, 21)[0])
        return float(-np.log((number + 1) / 2.0**64))

    def _cards_of(
        self, question: int, open_: Sequence[Ints], change: Vector, variance: float, total: float
    ) -> Iterator[ReadingCard]:
        """The cards of a question: one, unless its nuggets are too many."""
        key, items = self.scorer.key, list[tuple[float, int, int]]()
        for side, nuggets in enumerate(open_):
            drawn = self._outcomes[side].drawn
            for nugget in nuggets[slice(*np.searchsorted(nuggets, key.offsets[question : question + 2]))].tolist():
                verdict = drawn[:, nugget].astype(float) if drawn is not None else np.zeros(1)
                spread = float(verdict.var())
                gain = float((verdict - verdict.mean()) @ change / len(change)) ** 2 / spread if spread > 0 else 0.0
                items.append((gain, side, nugget))
        whole = sum(gain for gain, _, _ in items)
        seconds = {nugget: self.pace.decision(key.nuggets[nugget].descriptions[0]) for _, _, nugget in items}
        asked = self.pace.reading(key.questions[question].text)
        texts = [self.pace.reading(*run.run.texts[run.run.own(question)]) for run in self.runs]
        items.sort(key=lambda item: (-item[0] / seconds[item[2]], item[1], item[2]))
        most = MOST * len(self.runs)
        for some in (items[first : first + most] for first in range(0, len(items), most)):
            kept = sorted(some, key=lambda item: (-item[1], item[2]))  # the old answer first
            gains = sum(gain for gain, _, _ in kept)
            if not gains:
                return
            suggestions, read = [], set[int]()
            for i, (gain, side, nugget) in enumerate(kept):
                more = (asked if i == 0 else 0.0) + (0.0 if side in read else texts[side])
                read.add(side)
                suggestions.append(self._suggestion(gain / total, side, nugget, seconds[nugget] + more))
            yield ReadingCard(question, tuple(suggestions), gains / whole * variance / total)

    def _suggestion(self, share: float, side: int, nugget: int, seconds: float) -> Suggestion:
        matched = self.runs[side]
        response = int(matched.response_of(matched.best[nugget : nugget + 1])[0])
        chance = float(self._outcomes[side].probability[nugget])
        answer = matched.run.offsets[self.scorer.key.question[nugget] :][:2]
        return Suggestion(
            nugget, response, chance, share, side, seconds, "response" if answer[1] - answer[0] == 1 else "answer"
        )

    def forecast(self) -> Forecast:
        """How the interval is expected to narrow while the cards are read."""
        return forecast_of(
            self.contributions, [(c.question, c.seconds, len(c.suggestions), c.share) for c in self.cards]
        )


def outcomes_of(scorer: Scorer, runs: Sequence[MatchedRun]) -> list[Outcome]:
    """The outcomes of one run, or of a run and the one that it is compared with."""
    if len(runs) == 1:
        return [scorer.find(runs[0])]
    pair = drawn_pair(scorer, runs[1], runs[0])
    return [pair.new, pair.old]


def suggest(
    scorer: Scorer, matched: MatchedRun, measure: Measure, count: int, against: MatchedRun | None = None
) -> list[Suggestion]:
    """The next `count` verdicts for a run's score, or for its difference from the run `against`, those of a card
    together; the last card is whole. None if all is known, or if the model cannot say how sure it is."""
    if (matched.decided and (against is None or against.decided)) or scorer.draws is None:  # which fits the model
        return []
    cards = first_cards(ReadingOrder(scorer, matched, measure, against).cards, count)
    return [suggestion for card in cards for suggestion in card.suggestions]


def first_cards(cards: Sequence[ReadingCard], count: int) -> list[ReadingCard]:
    """As many cards as have `count` verdicts."""
    verdicts = accumulate((len(card.suggestions) for card in cards), initial=0)
    return [card for card, given in zip(cards, verdicts, strict=False) if given < count]
