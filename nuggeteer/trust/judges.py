"""How good judges (language models) are, by people's verdicts on the same pairs.

A judge says yes if its score is more than ½, so partly is a no, as it is for scores. What people say is what is known
(`scoring.known`), including from the silence of judged runs, and for a whole answer from its responses.

A judge's errors are of two kinds. Those that go both ways cancel out in a mean score. The share that goes one way is
bias, which no number of verdicts averages out.

The human verdicts are the fixed standard: when the model behind a name changes, its verdicts since then agree with them
differently. Two error rates before and since are compared by Fisher's exact test, corrected for two tests (Holm).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from msgspec import field as named

from nuggeteer.collection.folder import Collection
from nuggeteer.errors import Problem, stop_at_errors
from nuggeteer.fields import Count, Number, OrNaN, Part, about
from nuggeteer.formats.matches import Match
from nuggeteer.formats.sentences import responses_in
from nuggeteer.matching.panel import Judge, read_judges
from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.statistics.coefficients import (
    balanced_error,
    bias_of_errors,
    contingency_tables,
    estimate,
    kappa,
    sensitivity,
    specificity,
)
from nuggeteer.statistics.intervals import Estimate
from nuggeteer.statistics.significance import holm
from nuggeteer.text import length, normalised
from nuggeteer.trust.reliability import CalibrationBin, reliability

SURE = 0.05  # the p-value below which a judge is said to have changed
LENGTHS = 3  # kinds of length, with as many pairs each


class JudgeSlice(Part):
    """A judge on some pairs."""

    name: str
    pairs: Count
    questions: Count
    people_yes: Annotated[OrNaN, about("People's share of yes.")]
    judge_yes: Annotated[OrNaN, about("The judge's.")]
    kappa: Estimate
    sensitivity: Estimate
    specificity: Estimate
    balanced_error: Estimate
    bias: Annotated[Estimate, about("The share of its errors that goes one way.")]


class JudgeCalibration(Part):
    """A judge's scores against the share of people's yes."""

    error: OrNaN
    bins: tuple[CalibrationBin, ...]


class JudgeChange(Part):
    """A judge before a time and since then."""

    before: JudgeSlice | None
    since: JudgeSlice | None
    models_before: tuple[str, ...]  # that it named
    models_since: tuple[str, ...]
    judged_anew: Count
    differing: Annotated[Count, about("Pairs judged anew with another verdict.")]
    p: Number  # None where one of the two is missing
    alarm: Annotated[bool, about("Whether the judge is another one since then.")]


class JudgeError(Part):
    """A pair on which the judge differs from people."""

    qid: str
    nugget: str
    description: str
    text: str
    score: Annotated[OrNaN, about("The judge's.")]
    people: Annotated[bool, about("Whether people say yes.")]


class JudgeQuality(Part):
    """A judge against people."""

    judge: str
    judged: Annotated[Count, about("How many pairs it judged.")] = named(name="said")
    whole: Annotated[JudgeSlice | None, about("On all pairs that people judged too.")] = named(name="all")
    kinds: Annotated[tuple[JudgeSlice, ...], about("By kind of question.")] = ()
    lengths: Annotated[tuple[JudgeSlice, ...], about("By length of the text.")] = ()
    calibration: JudgeCalibration | None = None
    change: Annotated[JudgeChange | None, about("With `--since`.")] = None
    errors: tuple[JudgeError, ...] = ()


def judge_qualities(collection: Collection, known: VerdictIndex, since: str | None = None) -> tuple[JudgeQuality, ...]:
    """All judges of a collection: those whose verdicts count as evidence, machines with verdicts in `judgements/`, and
    files in `judges/`. `since` is a time, in the form of verdicts' `at`."""
    machines = sorted({judgement.assessor for judgement in collection.machine if judgement.assessor})
    folder, inside = collection.root / "judges", collection.root.resolve()
    files = sorted(str(path) for path in folder.glob("*.jsonl") if path.resolve().is_relative_to(inside))
    judges, problems = read_judges((*collection.judges, *files, *machines), collection.key, collection.machine)
    every: tuple[Judge, ...] = ()
    if since is not None:
        named = (*collection.judges, *files, *machines)
        every, _ = read_judges(named, collection.key, collection.machine, every=True)
    _add(problems, collection.problems)
    truth = _Truth(collection, known)
    result = []
    for i, judge in enumerate(judges):
        change = truth.change(every[i].matches, since) if since is not None else None
        result.append(truth.quality(judge, change))
    return tuple(result)


def _add(problems: list[Problem], known: list[Problem]) -> None:
    stop_at_errors(problems)
    known.extend(problem for problem in problems if problem not in known)


@dataclass
class _Truth:
    """What people say about the pairs that judges judged."""

    collection: Collection
    known: VerdictIndex
    _states: dict[tuple[int, str, bool], Ints] = field(default_factory=dict)

    def __call__(self, match: Match) -> bool | None:
        """Whether people say yes; None if nobody knows."""
        asked = match.question, match.written, match.whole
        if asked not in self._states:
            self._states[asked] = self._state(match)
        state = self._states[asked][match.nugget - self.collection.key.offsets[match.question]]
        return None if state == UNKNOWN else bool(state == YES)

    def _state(self, match: Match) -> Ints:
        """The state of each nugget of the question."""
        question = np.array([match.question], dtype=np.int32)
        state = self.known([match.text], question).astype(np.int64)
        if not match.whole:
            return state
        key = self.collection.key
        responses = responses_in(match.written, self.collection.settings.answers.split)
        if responses:
            parts = self.known(list(map(normalised, responses)), np.repeat(question, len(responses)))
            inside = parts.reshape(len(responses), -1)
            all_known = (inside != UNKNOWN).all(axis=0)
            state = np.where((state == UNKNOWN) & all_known, inside.max(axis=0), state)
            state[(inside == YES).any(axis=0)] = YES
        for nugget, own in self.known.answers.of_answer(match.question, match.written).items():
            at = nugget - key.offsets[match.question]
            if state[at] != YES:
                state[at] = own
        return state

    def with_truth(self, matches: Sequence[Match]) -> tuple[list[Match], Bools]:
        """The matches about which people know, and what they say."""
        found = [(match, verdict) for match in matches if (verdict := self(match)) is not None]
        return [match for match, _ in found], np.array([verdict for _, verdict in found], dtype=bool)

    def quality(self, judge: Judge, change: JudgeChange | None) -> JudgeQuality:
        matches, yes = self.with_truth(judge.matches)
        if not matches:
            return JudgeQuality(judge.name, len(judge.matches), None, change=change)
        score = np.array([match.score for match in matches])
        shown = reliability(score, yes)
        return JudgeQuality(
            judge.name,
            len(judge.matches),
            self.slice("all", matches, yes),
            tuple(self._kinds(matches, yes)),
            tuple(self._lengths(matches, yes)),
            JudgeCalibration(shown.error, shown.bins),
            change,
            tuple(self._errors(matches, score, yes)),
        )

    def slice(self, name: str, matches: Sequence[Match], yes: Bools) -> JudgeSlice:
        key = self.collection.key
        own = np.array([match.score > 0.5 for match in matches], dtype=bool)
        question = np.array([match.question for match in matches], dtype=np.int64)
        table = contingency_tables(own, yes, question, len(key.questions))
        coefficients: tuple[Callable[[Vector], Vector], ...] = (
            *(kappa, sensitivity, specificity),
            *(balanced_error, bias_of_errors),
        )
        return JudgeSlice(
            name,
            len(matches),
            int(table.any(axis=1).sum()),
            float(yes.mean()),
            float(own.mean()),
            *(estimate(coefficient, table) for coefficient in coefficients),
        )

    def change(self, matches: Sequence[Match], since: str | None) -> JudgeChange:
        """A judge before a time and since. Its last verdict on a pair counts, both before and since."""
        before: dict[tuple[int, str], Match] = {}
        after: dict[tuple[int, str], Match] = {}
        for match in sorted(matches, key=lambda match: match.at or ""):
            (after if (match.at or "") >= (since or "") else before)[match.nugget, match.text] = match
        slices, tables = [], []
        for part in (before, after):
            checked, yes = self.with_truth(list(part.values()))
            slices.append(self.slice("", checked, yes) if checked else None)
            own = np.array([match.score > 0.5 for match in checked], dtype=bool)
            tables.append(contingency_tables(own, yes, np.zeros(len(yes), dtype=np.int64), 1)[0])
        anew = before.keys() & after.keys()
        models = [tuple(sorted({match.model for match in part.values() if match.model})) for part in (before, after)]
        differing = sum((before[pair].score > 0.5) != (after[pair].score > 0.5) for pair in anew)
        p = _p_value(tables[0], tables[1]) if None not in slices else None
        others = bool(models[0] and models[1]) and models[0] != models[1]
        alarm = others or (p is not None and p < SURE)
        return JudgeChange(slices[0], slices[1], models[0], models[1], len(anew), differing, p, alarm)

    def _kinds(self, matches: list[Match], yes: Bools) -> Iterator[JudgeSlice]:
        kinds = [self.collection.key.questions[match.question].kind or "–" for match in matches]
        if len(set(kinds)) > 1:
            for kind in sorted(set(kinds)):
                own = np.array([other == kind for other in kinds])
                yield self.slice(kind, [matches[i] for i in np.flatnonzero(own)], yes[own])

    def _lengths(self, matches: list[Match], yes: Bools) -> Iterator[JudgeSlice]:
        sizes = np.array([length(match.written) for match in matches])
        cuts = np.unique(np.quantile(sizes, np.arange(1, LENGTHS) / LENGTHS, method="lower"))
        group = np.searchsorted(cuts, sizes)
        if len(np.unique(group)) > 1:
            for number in np.unique(group).tolist():
                own = np.flatnonzero(group == number)
                name = f"{sizes[own].min():,}–{sizes[own].max():,}"
                yield self.slice(name, [matches[i] for i in own.tolist()], yes[own])

    def _errors(self, matches: list[Match], score: Vector, yes: Bools) -> Iterator[JudgeError]:
        """Errors on the nuggets with most errors come first, and the surest of these first."""
        wrong = np.flatnonzero((score > 0.5) != yes)
        nugget = np.array([match.nugget for match in matches], dtype=np.int64)
        often = np.bincount(nugget[wrong], minlength=len(self.collection.key.nuggets))
        for i in sorted(wrong.tolist(), key=lambda i: (-often[nugget[i]], nugget[i], -abs(score[i] - yes[i]))):
            own = self.collection.key.nuggets[nugget[i]]
            yield JudgeError(
                own.qid, own.nugget, own.descriptions[0], matches[i].written, float(score[i]), bool(yes[i])
            )


def _p_value(before: Vector, since: Vector) -> float | None:
    """Whether either error rate changed: the smaller of two exact tests, corrected."""
    from scipy.stats import fisher_exact

    tests = [
        float(fisher_exact([[one[right], one[wrong]] for one in (before, since)]).pvalue)
        for right, wrong in ((0, 2), (3, 1))
        if all(one[right] + one[wrong] for one in (before, since))
    ]
    return float(holm(np.array(tests)).min()) if tests else None
