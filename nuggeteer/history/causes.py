"""Why a score differs from that of an earlier night that was scored with other judges: because of the build, the
judges, and people's verdicts since then.

A recorded score keeps its judges and its time. The old run is scored again as of that time, then with the human
verdicts of today, then with the judges of today. What remains is the difference of the builds on equal terms, which
`diff` shows. The four parts add up to the whole change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated
from urllib.parse import unquote

from nuggeteer.collection.folder import Collection
from nuggeteer.comparing.diff import Diff
from nuggeteer.fields import Part, about
from nuggeteer.history.store import History, Scoring
from nuggeteer.matching.choice import make
from nuggeteer.matching.panel import Judge, Panel, read_judges
from nuggeteer.records import Run
from nuggeteer.scoring.fitted_model import model_for
from nuggeteer.scoring.known import known_in
from nuggeteer.scoring.scorer import Scorer, material, score
from nuggeteer.scoring.signature import signature_parts


class Causes(Part):
    """The parts of the change from the recorded score of OLD to today's score of NEW. They add up to `change`."""

    run: str
    time: Annotated[str, about("When OLD was recorded.")]
    measure: str  # the first of the diff
    recorded: float
    change: float
    build: Annotated[float, about("The difference of the two runs, both scored as of today.")]
    judges: Annotated[float, about("What the judges of today change in the score of OLD.")]
    verdicts: Annotated[float, about("What people's verdicts since then change in it.")]
    rest: Annotated[float, about("What version, key and settings change in it.")]
    judges_then: tuple[str, ...]
    judges_now: tuple[str, ...]


def find_causes(collection: Collection, diff: Diff, seed: int = 0) -> Causes | None:
    """None if the old run is not recorded as it is now, or was scored with the judges of today."""
    delta = diff.headline
    if delta.interval.value is None:
        return None
    scoring = _recorded(collection, diff.old_run, delta.measure.name)
    if scoring is None or scoring.interval is None or scoring.interval.value is None:
        return None
    then, now = (_judges(signature) for signature in (scoring.signature, diff.signature))
    if set(then) == set(now):
        return None
    measure = delta.measure.name
    heard = _heard_then(collection, then, scoring.time)
    before = collection.but(judgements=tuple(j for j in collection.judgements if _until(j.at, scoring.time)))
    as_then = _value(before, diff.old_run, heard, measure, seed)
    with_verdicts = _value(collection, diff.old_run, heard, measure, seed)
    # Not `delta.old`, which includes part of what the words of both builds say about their difference.
    today = score(collection, diff.old_run, [measure], seed=seed).runs[0].measures[measure].value
    if as_then is None or with_verdicts is None or today is None:
        return None
    recorded = scoring.interval.value
    build, judges = delta.interval.value, today - with_verdicts
    verdicts, rest = with_verdicts - as_then, as_then - recorded
    return Causes(
        diff.old_run.name,
        scoring.time,
        measure,
        recorded,
        build + judges + verdicts + rest,
        build,
        judges,
        verdicts,
        rest,
        judges_then=then,
        judges_now=now,
    )


def _recorded(collection: Collection, run: Run, measure: str) -> Scoring | None:
    """The first scoring of the last build of this name, if it has the same answers."""
    history = History.of(collection.root)
    if not history.path.exists() or not history.is_last(run, collection.key):
        return None
    own = [scoring for scoring in history.scorings(measure) if scoring.run == run.name]
    last = max((scoring.build for scoring in own), default=None)
    return next((scoring for scoring in own if scoring.build == last), None)


def _judges(signature: str) -> tuple[str, ...]:
    """The judges that a score was made with."""
    named = signature_parts(signature).get("judges", "")
    return tuple(unquote(judge.partition("=")[0]) for judge in named.split(",") if judge)


def _until(at: str | None, time: str) -> bool:
    """Whether something was said by then, to the second. Anything without a time was."""
    return at is None or at[:19] <= time[:19]


def _heard_then(collection: Collection, names: tuple[str, ...], time: str) -> list[Judge]:
    """The judges of these names, with what they had said by then."""
    machines = {judgement.assessor for judgement in collection.machine}
    files = [str(path) for path in (collection.root / "judges").glob("*.jsonl")]
    sources = dict.fromkeys((*collection.judges, *sorted(files), *sorted(filter(None, machines))))
    judges, _ = read_judges(sources, collection.key, collection.machine, every=True)
    found = {}
    for judge in judges:
        said = {(match.nugget, match.text, match.whole): match for match in judge.matches if _until(match.at, time)}
        found[judge.name] = Judge(judge.name, tuple(said.values()))
    return [found[name] for name in names if name in found]


def _value(collection: Collection, run: Run, judges: list[Judge], measure: str, seed: int) -> float | None:
    """The score of a run with these judges only."""
    known = known_in(collection)
    given = material(collection, known)
    matcher = make(replace(given, settings=replace(given.settings, judges=())))
    if any(judge.matches for judge in judges):
        matcher = Panel(matcher, collection.key, judges, collection.settings.answers.split)
    scorer = Scorer(collection, [measure], model_for(collection, matcher, known), seed, matcher=matcher)
    return scorer.score(scorer.read(run)).measures[measure].value
