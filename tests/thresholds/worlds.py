"""Judged units for the tests of threshold models: given ones, and those of worlds with a known truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nuggeteer.thresholds.model import AnswerSet, Build, Evidence, Units
from nuggeteer.thresholds.prior import Prior


def evidence_of(
    scores: Any, yes: Any, nugget: Any, nuggets: int | None = None, question: Any = None, group: Any = None
) -> Evidence:
    """Units that only scores tell apart, each of an answer of its own. Two nuggets make a question, and all are of one
    system, if nothing else is said."""
    nugget = np.asarray(nugget, dtype=np.int64)
    count = nuggets or int(nugget.max(initial=0)) + 1
    question = np.arange(count) // 2 if question is None else np.asarray(question, dtype=np.int64)
    group = np.zeros(len(nugget), dtype=np.int64) if group is None else np.asarray(group, dtype=np.int64)
    builds = tuple(Build(f"g{i}", f"g{i}") for i in range(int(group.max(initial=0)) + 1))
    answer, zeros = np.arange(len(nugget)), np.zeros(len(nugget))
    answers = AnswerSet.without_pieces(question[nugget], group, builds, answer.astype(np.uint64))
    units = Units(
        nugget,
        answer,
        answers,
        np.asarray(scores, dtype=float),
        zeros,
        np.stack([zeros + 1, scores], axis=1) if len(nugget) else np.zeros((0, 2)),
        answer.astype(np.uint64),
    )
    return evidence(units, np.asarray(yes, dtype=bool), question)


def evidence(units: Units, yes: np.ndarray[Any, Any], question: np.ndarray[Any, Any]) -> Evidence:
    """With a number for each name, as if all were called by their positions."""
    numbers = np.arange(len(question), dtype=np.uint64)
    questions = np.arange(int(question.max(initial=-1)) + 1, dtype=np.uint64)
    return Evidence(units, yes, question, numbers + np.uint64(1000), questions + np.uint64(5000))


SPREADS = ("nugget", "question", "system", "build", "answer")


@dataclass(frozen=True)
class World:
    """Answers of some builds to some questions, with a clue for each nugget of each answer, and verdicts by the model.

    `effects` are those of every nugget, question, system, build and answer, and `place` says which of them a unit has.
    `logit` is the truth; `yes` are verdicts."""

    units: Units
    question_of_nugget: np.ndarray[Any, Any]
    place: dict[str, np.ndarray[Any, Any]]
    effects: dict[str, np.ndarray[Any, Any]]
    b: np.ndarray[Any, Any]
    logit: np.ndarray[Any, Any]
    yes: np.ndarray[Any, Any]

    def judged(self, which: Any) -> Evidence:
        """The verdicts on some of the units."""
        return evidence(self.units[which], self.yes[which], self.question_of_nugget)


def world(
    rng: np.random.Generator,
    prior: Prior,
    nuggets: tuple[int, ...] = (3, 2, 3, 1),
    builds: tuple[Build, ...] = (Build("x", "x1"), Build("x", "x2"), Build("y", "y1")),
    spreads: Any = None,
) -> World:
    """A world of the model: `nuggets` of each question, and what the prior says unless the spreads are given."""
    if spreads is None:
        variances = prior.weight * np.array(prior.spreads) ** 2 / rng.chisquare(prior.weight, 5)
        spreads = np.sqrt(variances)
    question = np.repeat(np.arange(len(nuggets)), nuggets)
    systems = sorted({build.system for build in builds})
    of_build, nugget = (grid.ravel() for grid in np.meshgrid(np.arange(len(builds)), np.arange(len(question))))
    answer = of_build * len(nuggets) + question[nugget]
    place = {
        "nugget": nugget,
        "question": question[nugget],
        "system": np.array([systems.index(builds[i].system) for i in of_build.tolist()]),
        "build": of_build,
        "answer": answer,
    }
    sizes = len(question), len(nuggets), len(systems), len(builds), len(builds) * len(nuggets)
    effects = {
        name: spread * rng.standard_normal(size) for name, spread, size in zip(SPREADS, spreads, sizes, strict=True)
    }
    clues = rng.random((len(nugget), len(prior.names))) - 0.3
    clues[:, 0] = 1
    b = rng.multivariate_normal(prior.b, prior.b_covariance)
    logit = clues @ b + sum(effects[name][place[name]] for name in SPREADS)
    asked = np.tile(np.arange(len(nuggets)), len(builds))
    answers = AnswerSet.without_pieces(
        asked, np.repeat(np.arange(len(builds)), len(nuggets)), builds, np.arange(len(asked), dtype=np.uint64) + 77
    )
    zeros = np.zeros(len(nugget))
    units = Units(nugget, answer, answers, clues[:, 1], zeros, clues, np.arange(len(nugget), dtype=np.uint64))
    yes = rng.random(len(logit)) < 1 / (1 + np.exp(-logit))
    return World(units, question, place, effects, b, logit, yes)


def covariance(prior: Prior, spreads: Any, one: World) -> np.ndarray[Any, Any]:
    """Of the logits of all units before the first verdict, as the model's page has it: what two of them share."""
    clues = np.asarray(one.units.clues, dtype=float)
    result = clues @ prior.b_covariance @ clues.T
    for name, spread in zip(SPREADS, spreads, strict=True):
        result += spread**2 * (one.place[name][:, None] == one.place[name])
    return np.asarray(result)
