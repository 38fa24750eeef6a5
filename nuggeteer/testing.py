"""Assertions for your own tests: a run is compared with its baseline, and a failure lists the nuggets. What does not
fail is said too, whether it passed or is undecided: printed, or in pytest's summary.

from nuggeteer.testing import assert_no_vital_lost

def test_tonight():
    assert_no_vital_lost("build-103", baseline="build-102", collection="qa")

The fixture `nuggets` of our plugin for pytest is a `Nuggets`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.memory import make_run
from nuggeteer.collection.names import find_collection
from nuggeteer.comparing.diff import Diff, diff, diff_matched_runs
from nuggeteer.comparing.gate import rule
from nuggeteer.display import Shown, counted
from nuggeteer.errors import NuggeteerError
from nuggeteer.measures import applicable, headline
from nuggeteer.measures.base import Measure
from nuggeteer.records import Run
from nuggeteer.reports.change_words import difference, difference_span, in_lines, in_words
from nuggeteer.reports.formatting import between, listed, number, percent
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.scoring.scores import RunScore
from nuggeteer.settings import SURE, About
from nuggeteer.text import escaped, without_commands


def assert_no_vital_lost(
    run: str | Run,
    baseline: str | Run,
    collection: Collection | Path | str | None = None,
    *,
    most: int = 0,
    sure: float = SURE,
    seed: int = 0,
) -> Diff:
    """Fail if the run has lost more than `most` vital nuggets of the baseline. Only losses whose probability is
    at least `sure` count. Returns what changed.

    `collection` is a collection or its folder; by default, the nearest folder upwards."""
    __tracebackhide__ = True
    result = diff(_collection(collection), baseline, run, seed=seed)
    _check(result, None, most, sure)
    return result


def assert_not_worse(
    run: str | Run,
    baseline: str | Run,
    collection: Collection | Path | str | None = None,
    *,
    by: float = 0.0,
    measure: str | Measure | None = None,
    seed: int = 0,
) -> Diff:
    """Fail if the run is surely worse than the baseline by more than `by`, as `--fail-if-worse` has it. Returns what
    changed."""
    __tracebackhide__ = True
    read = _collection(collection)
    result = diff(read, baseline, run, [measure or headline(read.key)], seed=seed)
    _check(result, by, None, SURE, read.settings.nightly.about)
    return result


class Nuggets(Shown):
    """A collection for several tests: it is read once, its model is fitted once, and each run is matched once.

    `lines` say what was found out, for the summary."""

    def __init__(self, folder: Path | str) -> None:
        self.collection = read_collection(folder)
        self.lines: list[str] = []
        self._scorer = Scorer(self.collection)
        self._matched: dict[str, MatchedRun] = {}
        self._made: dict[str, Run] = {}
        if warnings := len(self.collection.problems):
            self.lines.append(f"{counted(warnings, 'warning')}; nuggeteer check lists them")

    def _summary(self) -> str:
        return self.collection._summary()

    def run(self, answer: Callable[[str], str | Iterable[str]], name: str = "tonight") -> Run:
        """The run of a system: `answer` is asked every question of the key, and returns one text or several in the
        order of their rank. The run then has this name in the other functions."""
        questions = self.collection.key.questions
        if unknown := [question.qid for question in questions if not question.text]:
            raise NuggeteerError(f"questions.jsonl has no text of question {unknown[0]!r}, so it cannot be asked")
        rows = ((question.qid, text) for question in questions for text in _texts(answer(question.text)))
        self._made[name] = made = make_run(self.collection, name, list(rows))
        self._matched.pop(name, None)
        return made

    def score(self, run: str | Run) -> RunScore:
        """The scores of a run."""
        result = self._scorer.score(self._read(run))
        title, outcome = self._scorer.measures[0].title, result.outcome
        known = percent(outcome.pairs_known, outcome.pairs_known + outcome.pairs_guessed)
        value = result.measures[self._scorer.measures[0].name]
        self._say(f"{result.name}: {title} {number(value.value)}, 95 % interval {between(value)}, {known} known")
        return result

    def diff(self, old: str | Run, new: str | Run, measure: str | Measure | None = None) -> Diff:
        """What changed from one run to another."""
        measures = applicable([measure or headline(self.collection.key)], self.collection.key)
        result = diff_matched_runs(self._scorer, self._read(old), self._read(new), measures=measures)
        delta = result.headline
        moved = f"{delta.measure.title} {difference(delta)} (for questions like these {difference_span(delta)})"
        vital = len(result.vital_lost), sum(gained.vital for gained in result.gained)
        names = f"{' → '.join(result.titles)}"
        claimed = [f"{change.question.qid}/{change.nugget.nugget}" for change in result.claimed]
        forbidden = f", forbidden and now claimed: {listed(claimed)}" if claimed else ""
        self._say(f"{names}: {moved}, vital nuggets: {vital[0]} lost, {vital[1]} gained{forbidden}")
        return result

    def assert_no_vital_lost(self, run: str | Run, baseline: str | Run, *, most: int = 0, sure: float = SURE) -> Diff:
        """As the function of this name."""
        __tracebackhide__ = True
        result = self.diff(baseline, run)
        _check(result, None, most, sure, say=self._say)
        return result

    def assert_not_worse(
        self,
        run: str | Run,
        baseline: str | Run,
        *,
        by: float = 0.0,
        measure: str | Measure | None = None,
    ) -> Diff:
        """As the function of this name."""
        __tracebackhide__ = True
        result = self.diff(baseline, run, measure)
        _check(result, by, None, SURE, self.collection.settings.nightly.about, self._say)
        return result

    def _read(self, run: str | Run) -> MatchedRun:
        (loaded,) = [self._made[run]] if isinstance(run, str) and run in self._made else self.collection.loaded(run)
        matched = self._matched.get(loaded.name)
        if matched is None or matched.run is not loaded:
            self._matched[loaded.name] = matched = self._scorer.read(loaded)
        return matched

    def _say(self, line: str) -> None:
        if (line := without_commands(escaped(line))) not in self.lines:
            self.lines.append(line)


def _texts(answer: str | Iterable[str]) -> Iterable[str]:
    return [answer] if isinstance(answer, str) else answer


def _collection(given: Collection | Path | str | None) -> Collection:
    return given if isinstance(given, Collection) else read_collection(given or find_collection())


def _check(
    result: Diff,
    by: float | None,
    most: int | None,
    sure: float,
    about: About = "these",
    say: Callable[[str], None] = lambda line: print(without_commands(escaped(line))),
) -> None:
    """Raise an error if the gate fails; otherwise say what it decided."""
    __tracebackhide__ = True
    ruling = rule(result, by, most, sure, about)
    lines = [f"{' → '.join(result.titles)}: {' '.join(in_lines(ruling))}"]
    if ruling.decision != "FAIL":
        say(lines[0])
        return
    for change in ruling.gates[0].lost or result.lost[:5]:
        first, *rest = in_words(change)
        lines += [f"  {first}", *(f"    {line}" for line in rest)]
    raise AssertionError("\n".join(map(escaped, lines)))
