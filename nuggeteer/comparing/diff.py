"""What changed between two runs: nuggets gained and lost, and what that did to the scores.

Both runs are drawn together, given what the words of both say about their difference (`builds`). In each draw a text
that both return has one verdict, so identical answers never differ. Swapping old and new changes only the sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from nuggeteer.collection.folder import Collection, as_collection
from nuggeteer.comparing.builds import DrawnPair, drawn_pair
from nuggeteer.comparing.changes import Delta, NuggetChange
from nuggeteer.comparing.sightings import explained, of_groups, sightings_of
from nuggeteer.comparing.strange import StrangeAnswers, strange_night
from nuggeteer.display import Framed
from nuggeteer.measures import DEFAULT, Answers, Measure
from nuggeteer.measures.kinds import ALLOWANCE
from nuggeteer.records import AnswerKey, Bools, Ints, Run, Vector, number_or_none, titles_of
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.outcomes import Outcome, by_group
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.statistics.intervals import Interval, Scale, mean_interval, means_by_draw, p_of_no_difference
from nuggeteer.statistics.significance import bootstrap_p, randomisation

LONGER_ANSWER = 1.5  # times as long


@dataclass(frozen=True, repr=False)
class Diff(Framed):
    """Two runs of one collection; arrays are in the order of the key's questions and nuggets.

    `gained` and `lost` are the changes that are more probably real than not, sorted by their weight in the score. Lost
    nuggets whose opposite the new answer says stand first. `doubtful` are less probable ones of either kind, of nuggets
    that are decided differently in the two runs. `kept` is in the order of the key. `gain` and `loss` are the
    probabilities for each nugget, NaN if the model gives none. `identical` marks the questions to which both runs
    return the same texts."""

    key: AnswerKey
    old_run: Run
    new_run: Run
    old: Outcome
    new: Outcome
    deltas: dict[str, Delta]
    gained: tuple[NuggetChange, ...]
    lost: tuple[NuggetChange, ...]
    doubtful: tuple[NuggetChange, ...]
    kept: tuple[NuggetChange, ...]
    gain: Vector
    loss: Vector
    identical: Bools
    anyone_judged: bool  # whether people have judged anything of the collection
    strange: tuple[StrangeAnswers, ...]  # what must be read first
    signature: str
    notes: tuple[str, ...] = ()
    as_truth: tuple[str, ...] = ()

    @property
    def titles(self) -> tuple[str, str]:
        """Of the old and the new run."""
        return titles_of(self.old_run, self.new_run)

    def _summary(self) -> str:
        name, change = self.headline.measure.name, self.headline.interval.value
        moved = f"{name} –" if change is None else f"{name} {change:+.3f}"
        runs = " → ".join(self.titles)
        return f"{runs}, {moved}, {len(self.gained)} gained, {len(self.lost)} lost"

    def _rows(self) -> Iterator[dict[str, object]]:
        """A row for each nugget that was lost or gained, certainly or perhaps, or kept."""
        for change in (*self.lost, *self.gained, *self.doubtful, *self.kept):
            row: dict[str, object] = {"change": change.kind, "qid": change.question.qid, "nugget": change.nugget.nugget}
            row |= {"importance": change.nugget.importance, "description": change.nugget.descriptions[0]}
            row |= {"probability": change.probability, "probable": change.probable, "known": change.known}
            row["effect"] = change.effect
            for name, side in (("old", change.old), ("new", change.new)):
                row |= {f"{name} found": side.found, f"{name} probability": side.probability}
                row[f"{name} text"] = None if side.passage is None else side.passage.text
            yield row

    @property
    def headline(self) -> Delta:
        """By the first measure."""
        return next(iter(self.deltas.values()))

    @cached_property
    def gained_places(self) -> frozenset[int]:
        """The positions in the key of the nuggets gained."""
        return self._places(self.gained)

    @cached_property
    def lost_places(self) -> frozenset[int]:
        return self._places(self.lost)

    def _places(self, changes: Sequence[NuggetChange]) -> frozenset[int]:
        return frozenset(self.key.counted_position[c.question.qid, c.nugget.nugget] for c in changes)

    @property
    def vital_lost(self) -> tuple[NuggetChange, ...]:
        return tuple(change for change in self.lost if change.vital)

    @property
    def claimed(self) -> tuple[NuggetChange, ...]:
        """The forbidden nuggets that only the new run claims."""
        return tuple(change for change in self.gained if change.forbidden)

    @property
    def expected_gained(self) -> float | None:
        """How many nuggets are gained, in expectation: the sum of the probabilities of all nuggets."""
        return None if np.isnan(self.gain).any() else float(self.gain.sum())

    @property
    def expected_lost(self) -> float | None:
        return None if np.isnan(self.loss).any() else float(self.loss.sum())

    @property
    def emptied(self) -> Ints:
        """Questions that only the old run answers."""
        return np.flatnonzero(self.old.answered & ~self.new.answered)

    @property
    def answered_anew(self) -> Ints:
        """Questions that only the new run answers."""
        return np.flatnonzero(~self.old.answered & self.new.answered)

    @property
    def grown(self) -> Ints:
        """Questions whose answer is half as long again or more, by more than one nugget's allowance; the most first."""
        return _longer(self.old, self.new)

    @property
    def shrunk(self) -> Ints:
        """The same the other way round."""
        return _longer(self.new, self.old)


def diff(
    collection: Collection | Path | str,
    old: str | Path | Run,
    new: str | Path | Run,
    measures: Sequence[str | Measure] = DEFAULT,
    seed: int = 0,
    jobs: int = 1,
    explain: bool = False,
) -> Diff:
    """What changed from one run to another. A run is given by name, by file or as a `Run`. With `explain`, guesses come
    with their explanations."""
    collection = as_collection(collection)
    runs = collection.loaded([old, new])
    scorer = Scorer(collection, measures, seed=seed, jobs=jobs)
    matched_runs = [scorer.read(run) for run in runs]
    return diff_matched_runs(scorer, matched_runs[0], matched_runs[1], explain=explain)


def diff_matched_runs(
    scorer: Scorer,
    old: MatchedRun,
    new: MatchedRun,
    *,
    explain: bool = False,
    measures: Sequence[Measure] | None = None,
) -> Diff:
    """What changed from one matched run to another, by default by all measures of the scorer."""
    key, pair = scorer.key, drawn_pair(scorer, old, new)
    alike, identical = pair.alike, pair.identical
    before, after = _decided(key, old, new, pair)
    deltas = {m.name: _delta(scorer, m, before, after, pair) for m in measures or scorer.measures}

    found, differs = (before.outcome.found & key.counted, after.outcome.found & key.counted), ~alike[key.question]
    which = {
        "gained": ~found[0] & found[1] & differs,
        "lost": found[0] & ~found[1] & differs,
        "kept": found[0] & found[1],
    }
    if before.drawn is None or after.drawn is None:
        certain = before.outcome.known & after.outcome.known
        chance = {kind: np.where(certain, here, np.nan) for kind, here in which.items()}
    else:
        drawn = before.drawn, after.drawn
        chance = {
            "gained": (~drawn[0] & drawn[1]).mean(axis=0),
            "lost": (drawn[0] & ~drawn[1]).mean(axis=0),
            "kept": (drawn[0] & drawn[1]).mean(axis=0),
        }
    for kind in ("gained", "lost"):
        chance[kind][~differs] = 0.0
    for each in chance.values():
        each[~key.counted] = 0.0
    shown = np.flatnonzero(before.outcome.found | after.outcome.found)
    sightings = [sightings_of(scorer.marker, side.matched, side.outcome, shown) for side in (before, after)]
    if explain:
        sightings = [{i: explained(scorer.explainer, seen, i) for i, seen in side.items()} for side in sightings]
    sightings = [of_groups(key, *each) for each in zip((before.outcome, after.outcome), sightings, strict=True)]
    effect = np.zeros(len(key.nuggets))
    if scorer.measures:
        for side, kinds in ((before, which["lost"]), (after, which["gained"] | which["kept"])):
            effect[kinds] = _effect(scorer.measures[0], side, np.flatnonzero(kinds))

    def changes(kind: Literal["gained", "lost", "kept"]) -> list[NuggetChange]:
        return [
            NuggetChange(
                kind,
                key.questions[key.question[i]],
                key.grouping.counted[i] or key.nuggets[i],
                number_or_none(chance[kind][i]),
                float(effect[i]),
                sightings[0][i],
                sightings[1][i],
            )
            for i in np.flatnonzero(which[kind]).tolist()
        ]

    scorer.keep_words()
    changed = sorted([*changes("gained"), *changes("lost")], key=by_weight)
    return Diff(
        key,
        old.run,
        new.run,
        before.outcome,
        after.outcome,
        deltas,
        tuple(change for change in changed if change.kind == "gained" and change.probable),
        tuple(change for change in changed if change.kind == "lost" and change.probable),
        tuple(change for change in changed if not change.probable),
        tuple(changes("kept")),
        chance["gained"],
        chance["lost"],
        identical,
        bool(scorer.known.texts),
        strange_night(key, scorer.collection.settings.match, old, new),
        str(scorer.signature),
        scorer.notes,
        tuple(scorer.collection.machine_truth),
    )


def change_of(scorer: Scorer, old: MatchedRun, new: MatchedRun, measure: Measure) -> Delta:
    """How much a score changed, as in `diff_matched_runs`, without what changed."""
    pair = drawn_pair(scorer, old, new)
    return _delta(scorer, measure, *_decided(scorer.key, old, new, pair), pair)


def drawn_change(scorer: Scorer, old: MatchedRun, new: MatchedRun, measure: Measure) -> Vector:
    """The changes of a score by question, draws × questions; one row if all is known."""
    pair = drawn_pair(scorer, old, new)
    sides = _decided(scorer.key, old, new, pair)
    values = [np.atleast_2d(measure(side.drawn_answers or side.decided_answers)) for side in sides]
    return _change(pair, values[0], values[1])


def _change(pair: DrawnPair, old: Vector, new: Vector) -> Vector:
    """draws × questions; 0 where both give the same answer."""
    drawn = new - old
    return np.where(pair.alike & ~np.isnan(drawn), 0.0, drawn)


@dataclass(frozen=True)
class DecidedRun:
    """One run with its decided outcome and its drawn verdicts."""

    key: AnswerKey
    matched: MatchedRun
    outcome: Outcome
    drawn: Bools | None

    def answers(self, found: Bools) -> Answers:
        """The answers if exactly these nuggets are found."""
        partly = self.matched.partly | self.outcome.partly
        return Answers(self.key, found, partly & ~found, self.matched.length)

    @cached_property
    def decided_answers(self) -> Answers:
        return self.answers(self.outcome.found)

    @cached_property
    def drawn_answers(self) -> Answers | None:
        return None if self.drawn is None else self.outcome.drawn_answers(self.key) or self.answers(self.drawn)


def _decided(key: AnswerKey, old: MatchedRun, new: MatchedRun, pair: DrawnPair) -> tuple[DecidedRun, DecidedRun]:
    before, after = by_group(key, pair.old), by_group(key, pair.new)
    drawn = _drawn_alike(before, after)
    return DecidedRun(key, old, before, drawn[0]), DecidedRun(key, new, after, drawn[1])


def _drawn_alike(*outcomes: Outcome) -> list[Bools | None]:
    """The drawn verdicts of some outcomes. A fully known outcome has one draw, which stands for all."""
    drawn = any(outcome.drawn is not None for outcome in outcomes)
    return [
        outcome.found[None] if drawn and outcome.drawn is None and outcome.known.all() else outcome.drawn
        for outcome in outcomes
    ]


def _delta(scorer: Scorer, measure: Measure, old: DecidedRun, new: DecidedRun, pair: DrawnPair) -> Delta:
    """The difference by a measure."""
    hard = [measure(side.decided_answers) for side in (old, new)]
    certain = bool(old.outcome.known.all() and new.outcome.known.all())
    if certain or old.drawn_answers is None or new.drawn_answers is None:
        drawn, expected = None, hard
        difference = hard[1] - hard[0]
    else:
        values = measure(old.drawn_answers), measure(new.drawn_answers)
        drawn = _change(pair, values[0], values[1])
        difference, expected = drawn.mean(axis=0), [each.mean(axis=0) for each in values]
        same = pair.alike & ~np.isnan(difference)
        expected = [np.where(same, sum(expected) / 2, each) for each in expected]
    widest = 1 - measure.least(scorer.key)
    scale = Scale(-widest, widest)
    interval = mean_interval(difference, drawn, hard[1] - hard[0], certain, scale, scorer.interval, scorer.seed)
    defined = ~np.isnan(difference)
    p = p_of_no_difference(interval, int(defined.sum()), scale)
    if pair.identical.all() and interval.value is not None:
        interval, p = Interval(0.0, 0.0, 0.0, 0.0, (0.0, 0.0), (0.0, 0.0)), 1.0
    means = [float(each[defined].mean()) if defined.any() else None for each in expected]
    return Delta(
        measure,
        means[0],
        means[1],
        interval,
        p,
        number_or_none(randomisation(difference[:, None], scorer.seed)[0]) if p is not None else None,
        number_or_none(bootstrap_p(difference, scorer.seed)) if p is not None else None,
        expected[0],
        expected[1],
        None if drawn is None or not defined.any() else means_by_draw(drawn, defined),
        scale,
    )


def _effect(measure: Measure, side: DecidedRun, which: Ints) -> Vector:
    """What each of these found nuggets adds to the value of its question: with it, minus without it."""
    if not len(which):
        return np.zeros(0)
    question = side.key.question[which]
    # One nugget of each question at a time.
    turn = np.arange(len(which)) - np.searchsorted(question, question)
    without = np.repeat(side.outcome.found[None, :], int(turn.max()) + 1, axis=0)
    without[turn, which] = False
    for at in side.key.grouping.inside:
        without[:, at] = without[:, at[:1]]
    whole = measure(side.decided_answers)[question]
    return np.asarray(np.nan_to_num(whole - measure(side.answers(without))[turn, question]))


def by_weight(change: NuggetChange) -> tuple[bool, bool, float, float]:
    probability = 1.0 if change.probability is None else change.probability
    effect = abs(change.effect) if change.forbidden else change.effect
    return not change.contradicted, not (change.vital or change.forbidden), -effect * probability, -probability


def _longer(shorter: Outcome, longer: Outcome) -> Ints:
    much = (longer.length >= LONGER_ANSWER * shorter.length) & (longer.length - shorter.length > ALLOWANCE)
    which = np.flatnonzero(much & shorter.answered & longer.answered)
    return which[np.argsort((shorter.length - longer.length)[which], kind="stable")]
