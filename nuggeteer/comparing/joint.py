"""How probable it is that a nugget is in one answer and not in the other.

Each run is guessed by itself. But two answers to one question have more in common than their guesses know, and whoever
takes the guesses for independent finds changes where there are none. So three things are put right here, from the
guesses po and pn on a nugget (log odds lo and ln):

- **The other answer's guess is evidence too.** What nobody has learned about a nugget yet is the same for both
  answers, and the match scores of both measure it. The more of it there is, the less a difference of two guesses
  means. With ρ, the correlation of the drawn verdicts on the nugget, or that of all nuggets of answers without a
  common text if it is larger, ln − lo is drawn towards its mean over all nuggets, by 2κ (`_drawn_together`).
- **Alike answers have alike verdicts.** ρ grows with the cosine c of the words and pairs of words that only one of the
  two answers has: by c² / 3 of what is left to 1.
- **A verdict on one answer is evidence for the other**, beyond what likeness of texts carries over: the guess is
  drawn towards it.

The constants are from experiments/changes.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import expit, logit

from nuggeteer.matching.clues import GramReader
from nuggeteer.records import AnswerKey, Bools, Vector
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.outcomes import Outcome
from nuggeteer.settings import Match
from nuggeteer.text import verdict_form

ALIKE = 1 / 3  # of what is left to a correlation of 1, for answers in the same words
TO_VERDICT = 0.2  # how far a guess is drawn towards the other answer's verdict
VERDICT = 1.25  # the log odds that a yes there stands for; a no has the negative
SUREST = 0.0005  # guesses nearer to 0 or 1 count as this
TEXTS = 100  # of an answer; more would hardly change how alike two are


@dataclass(frozen=True)
class JointChances:
    """The probabilities, for each nugget, that only the new answer has it, that only the old one does, and both."""

    gained: Vector
    lost: Vector
    kept: Vector


def joint_chances(
    key: AnswerKey,
    runs: tuple[MatchedRun, MatchedRun],
    outcomes: tuple[Outcome, Outcome],
    drawn: tuple[Bools, Bools],
    alike: Bools,
    match: Match = Match(),  # noqa: B008, it is frozen
) -> JointChances:
    """From the outcomes of the old and the new run, and their drawn verdicts; `match` names the language of the texts.
    `alike` marks questions to which both give the same texts. There, and where one answer has all texts of the other,
    the draws are right as they are: equal texts have equal verdicts."""
    before, after = drawn
    gained, lost = (~before & after).mean(axis=0), (before & ~after).mean(axis=0)
    kept = (before & after).mean(axis=0)
    known = [outcome.known for outcome in outcomes]
    chance = [np.clip(outcome.probability, SUREST, 1 - SUREST) for outcome in outcomes]
    differs = ~alike[key.question]

    both = np.flatnonzero(~known[0] & ~known[1] & differs)
    cosine, reworded, apart = _likeness(GramReader(None, match), key, runs, np.unique(key.question[both]))
    both = both[reworded[key.question[both]]]
    if len(both):
        spread = [np.sqrt(np.maximum(p * (1 - p), 1e-9)) for p in (before.mean(axis=0)[both], after.mean(axis=0)[both])]
        weight = spread[0] * spread[1]
        covariance = kept[both] - before.mean(axis=0)[both] * after.mean(axis=0)[both]
        correlation = common = np.clip(covariance / weight, 0, 1)
        pooled = apart[key.question[both]]
        if pooled.any():
            common = np.maximum(correlation, min(covariance[pooled].sum() / weight[pooled].sum(), 1))
        likeness = ALIKE * cosine[key.question[both]] ** 2
        old, new = _drawn_together(chance[0][both], chance[1][both], common + (1 - common) * likeness)
        correlation = correlation + (1 - correlation) * likeness
        together = old * new + correlation * np.sqrt((old * (1 - old)) * (new * (1 - new)))
        kept[both] = np.minimum(together, np.minimum(old, new))
        gained[both], lost[both] = new - kept[both], old - kept[both]

    for judged, guessed, gone in ((0, 1, lost), (1, 0, gained)):
        answered = outcomes[judged].answered[key.question]  # else there is no verdict, and nothing to have it
        one = np.flatnonzero(known[judged] & ~known[guessed] & differs & answered)
        yes = outcomes[judged].found[one]
        odds = (1 - TO_VERDICT) * logit(chance[guessed][one]) + TO_VERDICT * np.where(yes, VERDICT, -VERDICT)
        has, come = expit(odds), gained if guessed else lost
        come[one], gone[one], kept[one] = np.where(yes, 0, has), np.where(yes, 1 - has, 0), np.where(yes, has, 0)
    return JointChances(gained, lost, kept)


def _drawn_together(old: Vector, new: Vector, correlation: Vector) -> tuple[Vector, Vector]:
    """The guesses on both answers, given each other.

    If match scores measure a nugget's propensity in an answer with as much noise as it varies itself, and propensities
    in two answers have the correlation ρ, then the best guess of one weighs the other's score by ρ / (2 − ρ²) of its
    own. That holds for how nuggets differ. By how much the systems do, on the whole, the model has learned."""
    ratio = correlation / (2 - correlation**2)
    share = ratio / (1 + ratio)
    first, second = logit(old), logit(new)
    difference, middle = second - first, (first + second) / 2
    weight = np.sqrt((old * (1 - old)) * (new * (1 - new)))
    mean = float((difference * weight).sum() / weight.sum())
    difference = mean + (1 - 2 * share) * (difference - mean)
    return expit(middle - difference / 2), expit(middle + difference / 2)


def _likeness(
    read: GramReader, key: AnswerKey, runs: tuple[MatchedRun, MatchedRun], asked: Iterable[int]
) -> tuple[Vector, Bools, Bools]:
    """By question: how alike the texts are that only one of the two answers has; whether each of them has such texts;
    and whether they have no text in common."""
    cosine, (reworded, apart) = np.zeros(len(key.questions)), np.zeros((2, len(key.questions)), dtype=bool)
    for question in asked:
        texts = [
            {verdict_form(text): text for text in run.run.texts[slice(*run.run.offsets[question : question + 2])]}
            for run in runs
        ]
        own = [[texts[i][form] for form in texts[i] if form not in texts[1 - i]] for i in (0, 1)]
        apart[question] = len(own[0]) == len(texts[0])
        reworded[question] = bool(own[0] and own[1])
        if reworded[question]:
            grams = [frozenset(read("\n".join(part[:TEXTS])).grams) for part in own]
            cosine[question] = len(grams[0] & grams[1]) / sqrt(max(len(grams[0]) * len(grams[1]), 1))
    return cosine, reworded, apart
