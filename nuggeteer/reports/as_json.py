"""Results as JSON for scripts: the keys that are here stay; more may come."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from nuggeteer.errors import Problem
from nuggeteer.measures import DEFAULT
from nuggeteer.records import AnswerKey, Bools, Vector
from nuggeteer.scoring.scorer import RunScore, Scores, Thresholds
from nuggeteer.statistics.intervals import Interval

if TYPE_CHECKING:
    from nuggeteer.collection.convert import Converted
    from nuggeteer.comparing.comparison import Comparison, Slices, Standing
    from nuggeteer.comparing.diff import Delta, Diff, NuggetChange, Sighting
    from nuggeteer.comparing.gate import Gate
    from nuggeteer.history.store import RecordedRun
    from nuggeteer.history.trend import Build, NuggetTimeline, NuggetTimelines, Trend
    from nuggeteer.matching.base import Explanation
    from nuggeteer.statistics.significance import Agreement, Factor


def scores(result: Scores) -> dict[str, Any]:
    return {
        "signature": result.signature,
        "notes": list(result.notes),
        "runs": [_run(result, run) for run in result.runs],
    }


def _run(result: Scores, score: RunScore) -> dict[str, Any]:
    names = _measures(score)
    outcome = score.outcome
    return {
        "run": named(score.name),
        "questions": len(result.key.questions),
        "unanswered": int((~outcome.answered).sum()),
        **{name: _interval(score.measures.get(name)) for name in names},
        "pairs": {"known": outcome.pairs_known, "guessed": outcome.pairs_guessed},
        "per_question": list(_questions(result.key, score)),
        "nuggets": list(_nuggets(result, score)),
    }


def _measures(score: RunScore) -> list[str]:
    """The default measures, null where they were not asked for or do not apply, and any others."""
    return list(dict.fromkeys([*(measure.name for measure in DEFAULT), *score.measures]))


def named(file: str) -> str:
    """A file's name, with bytes in it that are no UTF-8 written out, for JSON cannot hold them."""
    return file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    if interval is None:
        return None
    return {
        "value": interval.value,
        "hard": interval.hard,
        "low": interval.low,
        "high": interval.high,
        "judging": interval.judging,
        "sampling": interval.sampling,
    }


def found_of_total(key: AnswerKey, score: RunScore, question: int) -> tuple[list[int], list[int]]:
    """[found, in the key] of the vital and of the okay nuggets of a question."""
    own = slice(key.offsets[question], key.offsets[question + 1])
    found = score.outcome.found[own]
    vital, okay = key.vital[own], key.okay[own]
    return [int((found & vital).sum()), int(vital.sum())], [int((found & okay).sum()), int(okay.sum())]


def _questions(key: AnswerKey, score: RunScore) -> Any:
    for i, question in enumerate(key.questions):
        vital, okay = found_of_total(key, score, i)
        yield {
            "qid": question.qid,
            **{
                name: _number(score.by_question[name][i]) if name in score.by_question else None
                for name in _measures(score)
            },
            "hard": {name: _number(values[i]) for name, values in score.hard_by_question.items()},
            "answered": bool(score.outcome.answered[i]),
            "length": int(score.outcome.length[i]),
            "vital": vital,
            "okay": okay,
        }


def _nuggets(result: Scores, score: RunScore) -> Any:
    outcome = score.outcome
    columns = (outcome.found, outcome.known, score.rank, outcome.probability, outcome.best, result.threshold)
    for nugget, found, known, rank, probability, best, threshold in zip(result.key.nuggets, *columns, strict=True):
        yield {
            "qid": nugget.qid,
            "nugget": nugget.nugget,
            "found": bool(found),
            "probability": _number(probability),
            "source": "known" if known else "guessed",
            "rank": int(rank) or None,
            "score": _number(best),
            "threshold": _number(threshold),
        }


def _number(value: np.floating[Any] | Vector | float) -> float | None:
    number = float(value)
    return None if math.isnan(number) else number


def problems(found: list[Problem]) -> dict[str, Any]:
    return {
        "problems": [
            {
                "file": named(p.file),
                "line": p.line,
                "severity": p.severity,
                "what": named(p.what),
                "remedy": named(p.remedy),
            }
            for p in found
        ]
    }


def converted(done: list[Converted]) -> dict[str, Any]:
    return {
        "files": [
            {"file": named(str(one.source)), "written": [named(str(p)) for p in one.written], **one.counts}
            | problems(list(one.problems))
            for one in done
        ]
    }


def thresholds(result: Thresholds) -> dict[str, Any]:
    return {
        "pairs": result.pairs,
        "positive": result.positive,
        "groups": result.groups,
        "models": [
            {
                "name": model.name,
                "log10_evidence": model.log10_evidence,
                "log_score": model.log_score,
                "seconds": model.seconds,
            }
            for model in result.models
        ],
        "chosen": result.chosen,
    }


def each_pair(result: Comparison, standing: Standing) -> Iterator[dict[str, Any]]:
    """Runs two by two, ranked; `higher` is the one of the higher mean."""
    tukey, apart = standing.tukey, standing.tukey.apart
    for a, b in combinations(standing.order, 2):
        difference = float(tukey.means[a] - tukey.means[b])
        critical = float(tukey.critical[a, b])
        yield {
            "higher": result.scores.runs[a].name,
            "lower": result.scores.runs[b].name,
            "difference": _number(difference),
            "low": _number(difference - critical),
            "high": _number(difference + critical),
            "p": _number(tukey.p[a, b]),
            "above": None if standing.above is None else float(standing.above[a, b]),
            "significant": bool(apart[a, b]),
        }


def comparison(result: Comparison) -> dict[str, Any]:
    first = result.standings[0]
    return {
        "signature": result.scores.signature,
        "notes": list(result.scores.notes),
        "measure": first.measure.name,
        "runs": [_ranked(result, place, result.scores.runs[i]) for place, i in enumerate(first.order)],
        "measures": {standing.measure.name: _standing(result, standing) for standing in result.standings},
        "correlations": [
            {
                "measures": [str(measure) for measure in one.measures],
                "answers": _correlation(one.answers),
                "runs": _correlation(one.runs),
            }
            for one in result.correlations
        ],
        "official": {str(measure): _agreement(one) for measure, one in result.official},
        "by": _by(result, result.slices) if result.slices else None,
    }


def _ranked(result: Comparison, place: int, run: RunScore) -> dict[str, Any]:
    return {
        "run": run.name,
        "place": place + 1,
        **{measure.name: _interval(run.measures[measure.name]) for measure in result.scores.measures},
        "official": dict(run.run.info.official),
        "pairs": {"known": run.outcome.pairs_known, "guessed": run.outcome.pairs_guessed},
    }


def _standing(result: Comparison, standing: Standing) -> dict[str, Any]:
    names = [run.name for run in result.scores.runs]
    variance, tukey = standing.variance, standing.tukey
    return {
        "questions": standing.questions,
        "variance": {
            "questions": _factor(variance.questions),
            "runs": _factor(variance.runs),
            "residual": {"mean_square": _number(variance.mean_square), "freedom": variance.freedom},
        },
        "tukey": {"pairs": tukey.pairs, "significant": tukey.significant},
        "groups": [[names[i] for i in group] for group in standing.groups],
        "ranks": {
            names[i]: None if standing.ranks is None else [int(end) for end in standing.ranks[i]]
            for i in standing.order
        },
        "pairs": list(each_pair(result, standing)),
    }


def _factor(factor: Factor) -> dict[str, Any]:
    return {
        "squares": _number(factor.squares),
        "freedom": factor.freedom,
        "f": _number(factor.f),
        "p": _number(factor.p),
    }


def _correlation(one: Agreement) -> dict[str, Any]:
    return {"n": one.n, "pearson": _number(one.pearson), "kendall_tau": _number(one.kendall_tau)}


def _agreement(one: Agreement) -> dict[str, Any]:
    return _correlation(one) | {"r_squared": _number(one.r_squared), "rmse": _number(one.rmse)}


def _by(result: Comparison, slices: Slices) -> dict[str, Any]:
    return {
        "by": slices.by,
        "measured": slices.measured,
        "against": slices.against,
        "correction": "holm",
        "slices": [
            {
                "value": one.value,
                "questions": one.questions,
                "nuggets": one.nuggets,
                "runs": [
                    {
                        "run": run.name,
                        **{name: _number(values[i]) for name, values in one.scores.items()},
                        "difference": _number(one.difference[i]),
                        "p": _number(one.p[i]),
                        "p_holm": _number(one.p_holm[i]),
                    }
                    for i, run in enumerate(result.scores.runs)
                ],
            }
            for one in slices.slices
        ],
    }


def recorded(done: list[RecordedRun]) -> list[dict[str, Any]]:
    return [{"run": one.run, "build": one.build, "new": one.new, "copies": one.copies} for one in done]


def history(trends: Sequence[Trend], timelines: Sequence[NuggetTimelines], limit: int) -> dict[str, Any]:
    return {"trends": [_trend(trend, fate, limit) for trend, fate in zip(trends, timelines, strict=True)]}


def _trend(trend: Trend, timelines: NuggetTimelines, limit: int) -> dict[str, Any]:
    first = max(len(trend.builds) - limit, 0)
    earlier = len(trend.builds) - len(timelines.builds)
    return {
        "group": trend.group,
        "measure": trend.measure,
        "builds": [
            _build(trend.builds[i])
            | {"delta": _number(trend.delta[i]), "evidence": _number(trend.alarm.evidence[i])}
            | {turn: _turned(timelines, which[:, i - earlier]) for turn, which in _turns(timelines)}
            for i in range(first, len(trend.builds))
        ],
        "changes": [
            {
                "worse": change.worse,
                "since": trend.builds[change.since].scoring.build,
                "noticed": trend.builds[change.at].scoring.build,
                "before": change.before,
                "after": change.after,
            }
            for change in trend.alarm.changes
        ],
        "lost": [
            _fact(timelines, i) | {"with": timelines.builds[timelines.last_lost[i]].scoring.build}
            for i in np.flatnonzero(timelines.missing).tolist()
        ],
        "flickering": [
            _fact(timelines, i) | {"changes": int(timelines.turns[i])} for i in timelines.flickering.tolist()
        ],
    }


def _turns(timelines: NuggetTimelines) -> tuple[tuple[str, Bools], ...]:
    return ("gained", timelines.gained), ("lost", timelines.lost)


def _turned(timelines: NuggetTimelines, which: Bools) -> list[dict[str, Any]]:
    return [_fact(timelines, i) for i in np.flatnonzero(which).tolist()]


def _fact(timelines: NuggetTimelines, nugget: int) -> dict[str, Any]:
    fact = timelines.nuggets[nugget]
    return {"qid": fact.qid, "nugget": fact.nugget, "importance": fact.importance}


def _build(build: Build) -> dict[str, Any]:
    scoring = build.scoring
    return {
        "build": scoring.build,
        "time": scoring.time,
        "label": scoring.label,
        "run": scoring.run,
        "signature": scoring.signature,
        "comparable": build.comparable,
        "unlike": list(build.unlike),
        "unasked": list(build.unasked),
        **asdict(build.interval),
        "pairs": {"known": scoring.known, "guessed": scoring.guessed},
    }


def lives(stories: Sequence[NuggetTimeline]) -> dict[str, Any]:
    return {"nuggets": [_life(story) for story in stories]}


def _life(story: NuggetTimeline) -> dict[str, Any]:
    timelines = story.timelines
    last = int(timelines.last_lost[0])
    return {
        "group": story.trend.group,
        **_fact(timelines, 0),
        "description": timelines.nuggets[0].description,
        "builds": [
            {
                **{key: value for key, value in _build(build).items() if key not in ("signature", "pairs")},
                "present": bool(timelines.present[0, i]),
                "found": bool(timelines.found[0, i]),
                "source": "known" if timelines.known[0, i] else "guessed",
                "probability": _number(timelines.probability[0, i]),
                "rank": int(timelines.rank[0, i]) or None,
                "text": story.texts[i],
            }
            for i, build in enumerate(timelines.builds)
        ],
        "changes": int(timelines.turns[0]),
        "last_lost": None if last < 0 else timelines.builds[last].scoring.build,
    }


def changes(result: Diff, gates: Sequence[Gate] = ()) -> dict[str, Any]:
    return {
        "signature": result.signature,
        "notes": list(result.notes),
        "old": named(result.old_run.name),
        "new": named(result.new_run.name),
        "delta": {measure.name: None for measure in DEFAULT}
        | {name: _delta(delta) for name, delta in result.deltas.items()},
        "gained": [_change(change) for change in result.gained],
        "lost": [_change(change) for change in result.lost],
        "kept": [_change(change) for change in result.kept],
        "expected": {"gained": result.expected_gained, "lost": result.expected_lost},
        "answers": {
            "identical": int(result.identical.sum()),
            **{
                what: [result.key.questions[i].qid for i in which]
                for what, which in (
                    ("emptied", result.emptied),
                    ("answered_anew", result.answered_anew),
                    ("grown", result.grown),
                    ("shrunk", result.shrunk),
                )
            },
        },
        "per_question": list(_questions_compared(result)),
        "gates": [
            {"rule": gate.rule, "passed": gate.passed, "why": gate.why, "lost": [_place(c) for c in gate.lost]}
            for gate in gates
        ],
        "passed": all(gate.passed for gate in gates) if gates else None,
    }


def _delta(delta: Delta) -> dict[str, Any]:
    return {
        **(_interval(delta.interval) or {}),
        "old": delta.old,
        "new": delta.new,
        "p": delta.p,
        "p_randomisation": delta.p_randomisation,
        "p_bootstrap": delta.p_bootstrap,
    }


def _place(change: NuggetChange) -> dict[str, Any]:
    return {"qid": change.question.qid, "nugget": change.nugget.nugget}


def _change(change: NuggetChange) -> dict[str, Any]:
    passage = change.carrier.passage
    return {
        **_place(change),
        "importance": change.nugget.importance,
        "description": change.nugget.descriptions[0],
        "probability": change.probability,
        "source": "known" if change.known else "guessed",
        "effect": change.effect,
        "text": None if passage is None else passage.text,
        "old": sighting_of(change.old),
        "new": sighting_of(change.new),
    }


def sighting_of(sighting: Sighting) -> dict[str, Any]:
    """`marks` are [start, end) in characters (code points) of `text`."""
    passage = sighting.passage
    return {
        "found": sighting.found,
        "source": "known" if sighting.known else "guessed",
        "probability": sighting.probability,
        "score": sighting.score,
        "docid": None if passage is None else passage.docid,
        "rank": None if passage is None else passage.rank,
        "text": None if passage is None else passage.text,
        "marks": None if passage is None else [list(mark) for mark in passage.marks],
        "explanation": _explanation(sighting.explanation),
    }


def _explanation(found: Explanation | None) -> dict[str, Any] | None:
    """Weights above 0 speak for the nugget, below 0 against it."""
    if found is None:
        return None
    return {
        "unit": found.unit,
        "words": [{"words": one.words, "there": one.there, "weight": one.weight} for one in found.said],
        "alike": [{"text": one.text, "verdict": one.yes, "likeness": one.likeness} for one in found.alike],
    }


def _questions_compared(result: Diff) -> Iterator[dict[str, Any]]:
    for i, question in enumerate(result.key.questions):
        yield {
            "qid": question.qid,
            "delta": {name: _number(delta.by_question[i]) for name, delta in result.deltas.items()},
            "identical": bool(result.identical[i]),
            **{
                side: {
                    **{name: _number(values[i]) for name, values in by_question.items()},
                    "answered": bool(outcome.answered[i]),
                    "length": int(outcome.length[i]),
                }
                for side, outcome, by_question in (
                    ("old", result.old, {name: d.old_by_question for name, d in result.deltas.items()}),
                    ("new", result.new, {name: d.new_by_question for name, d in result.deltas.items()}),
                )
            },
        }
