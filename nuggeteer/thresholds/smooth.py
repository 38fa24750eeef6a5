"""The default model: how probable it is that an answer has a nugget, for all answers together.

    logit P(answer has nugget) = b · x + a + c + v + w + u

x are the clues: what the answer's best response says about the nugget, and what is carried over from judged texts. The
effects are nested as the world is:

    a  nugget      how readily it is found at all         N(0, σ_a²)
    c  question    how much is found in its answers       N(0, σ_c²)
    v  system      how good it is beyond its words        N(0, σ_v²)
    w  build       how it departs from its system         N(0, σ_w²)
    u  answer      how it departs from its build          N(0, σ_u²)

b has a normal prior from public collections (`prior`), and the spreads have a prior that counts as much as `weight`
effects. So a nugget without any verdict has a sensible probability with an honest width, and a build that nobody read
may differ from one that somebody did. Given all effects, verdicts are independent. In the draws, unread answers share u
as they share sentences.

`propagation` fits it. The posterior is normal: that of b, v and w together (the core), and within each question, given
the core, that of its answers and then of its nuggets. All draws come from it at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from nuggeteer.display import Shown
from nuggeteer.records import Ints, Matrix, Vector
from nuggeteer.thresholds.model import LEVELS, AnswerSet, Build, Keys, Units, lowest_level, probability
from nuggeteer.thresholds.prior import of_score
from nuggeteer.thresholds.rows import joined, key_of, random_rows


@dataclass(frozen=True, repr=False)
class Questions(Shown):
    """What is known, given the core, about some questions with equally many places for nuggets and for answers. Empty
    places have −1 as their nugget or build, and 0 as their answer.

    With t = c + v + w + u of an answer, and s = v + w:  t ~ N(shift − of_b · b + of_s · s, spread · spreadᵀ), and then
    a ~ N((told − weighed · b − information · t) / precision, 1 / precision)."""

    question: Ints
    nugget: Ints  # questions × nuggets
    answer: Keys  # questions × answers
    build: Ints  # of each answer
    shift: Matrix
    of_b: Matrix  # questions × answers × clues
    of_s: Matrix  # questions × answers × answers
    spread: Matrix
    precision: Matrix  # questions × nuggets
    told: Matrix
    weighed: Matrix  # questions × nuggets × clues
    information: Matrix  # questions × nuggets × answers


@dataclass(frozen=True, repr=False)
class SmoothFit(Shown):
    """The fitted model. The core is b, v of `systems` and w of `builds`, in this order."""

    names: tuple[str, ...]
    systems: tuple[str, ...]
    builds: tuple[Build, ...]
    core: Vector
    core_covariance: Matrix
    spreads: tuple[float, float, float, float, float]
    questions: tuple[Questions, ...]
    question_of_nugget: Ints
    nugget_key: Keys
    question_key: Keys
    usual: Vector  # the clues of a usual unit
    partial: tuple[float, float]  # how much likelier `at least in part` is, in log odds: mean and standard deviation
    pairs: int  # judged
    log10_evidence: float

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> SmoothFit:
        """The fit that `arrays` stored. A ValueError or KeyError means that it was not a fit."""
        batches = int(stored["batches"])
        parts = [Questions(**{f.name: stored[f"{i}.{f.name}"] for f in fields(Questions)}) for i in range(batches)]
        own: dict[str, Any] = {f.name: stored[f.name] for f in fields(cls) if f.name != "questions"}
        own["names"], own["systems"] = (tuple(map(str, own[name])) for name in ("names", "systems"))
        own["builds"] = tuple(Build(*map(str, build)) for build in own["builds"])
        own["spreads"], own["partial"] = (tuple(map(float, own[name])) for name in ("spreads", "partial"))
        own["pairs"], own["log10_evidence"] = int(own["pairs"]), float(own["log10_evidence"])
        size = len(own["names"]) + len(own["systems"]) + len(own["builds"])
        if own["core"].shape != (size,) or own["core_covariance"].shape != (size, size):
            raise ValueError("arrays of other shapes")
        return cls(questions=tuple(parts), **own)

    def arrays(self) -> dict[str, Any]:
        """All fields as arrays, by name."""
        own = {f.name: np.asarray(getattr(self, f.name)) for f in fields(self) if f.name not in ("questions", "builds")}
        own["builds"] = np.array(self.builds, dtype=str).reshape(len(self.builds), 2)
        own["batches"] = np.asarray(len(self.questions))
        for i, part in enumerate(self.questions):
            own.update({f"{i}.{f.name}": getattr(part, f.name) for f in fields(part)})
        return own

    @property
    def b(self) -> Vector:
        return self.core[: len(self.names)]

    @property
    def signature(self) -> str:
        b = ",".join(f"{name}={value:.3g}" for name, value in zip(self.names, self.b, strict=True))
        spreads = ",".join(
            f"{name}={value:.3g}"
            for name, value in zip(("nugget", "question", "system", "build", "answer"), self.spreads, strict=True)
        )
        return f"smooth({b},{spreads},pairs={self.pairs})"

    def weight(self, clue: str) -> float:
        """What a clue is worth, in log odds for each of its units."""
        return float(self.b[self.names.index(clue)]) if clue in self.names else 0.0

    def probability(self, units: Units) -> Vector:
        """P(yes) of each unit, with all unknowns integrated out."""
        return probability(self, units)

    def threshold(self, nugget: Ints) -> Vector:
        """The lowest match score at which an otherwise usual answer has the nugget with a probability of at least ½;
        NaN if there is none."""
        clues = np.tile(self.usual, (len(LEVELS), 1))
        for name, values in of_score(LEVELS).items():
            if name in self.names:
                clues[:, self.names.index(name)] = values
        rise = clues @ self.b
        level = self._nugget_means[nugget] + self._question_means[self.question_of_nugget[nugget]]
        return lowest_level(rise[None, :] + level[:, None] >= 0)

    @cached_property
    def _nugget_means(self) -> Vector:
        result = np.zeros(len(self.question_of_nugget))
        for part, t in zip(self.questions, self._answer_means, strict=True):
            told = part.told - part.weighed @ self.b - np.einsum("bjr,br->bj", part.information, t)
            taken = part.nugget >= 0
            result[part.nugget[taken]] = (told / part.precision)[taken]
        return result

    @cached_property
    def _question_means(self) -> Vector:
        result = np.zeros(len(self.question_key))
        for part, t in zip(self.questions, self._answer_means, strict=True):
            result[part.question] = _share_of_question(self.spreads, t.shape[1]) * (t - self._levels(part)).sum(axis=1)
        return result

    @cached_property
    def _answer_means(self) -> list[Matrix]:
        return [
            part.shift - part.of_b @ self.b + np.einsum("brs,bs->br", part.of_s, self._levels(part))
            for part in self.questions
        ]

    def _levels(self, part: Questions) -> Matrix:
        """questions × answers: v + w."""
        return np.asarray(self.levels(self.core[None, :])[0, part.build])

    def levels(self, core: Matrix) -> Matrix:
        """rows × (builds + 1): v + w of each build, for each row of the core. The last, at −1, is 0."""
        size, number = len(self.names), {name: i for i, name in enumerate(self.systems)}
        of_system = np.array([number[build.system] for build in self.builds], dtype=np.int64)
        w = core[:, size + len(self.systems) :]
        return np.asarray(np.concatenate([core[:, size:][:, of_system] + w, np.zeros((len(core), 1))], axis=1))

    def difference(self, old: Build, new: Build) -> tuple[float, float, float]:
        """How much better one build is than another, beyond their words: the mean and the variance of the difference of
        their w + v, and that variance before the first verdict."""
        weights, _, variance = self.contrast(old, new)
        _, _, system, build, _ = self.spreads
        return float(weights @ self.core), variance, 2 * build**2 + (old.system != new.system) * 2 * system**2

    def contrast(self, old: Build, new: Build) -> tuple[Vector, dict[Build, float], float]:
        """The weights of the core in w + v of one build less that of another; the variances of what is not in the core,
        because nobody judged it, with the sign of the build; and the variance of all."""
        _, _, system, build, _ = self.spreads
        weights, beside, apart = np.zeros(len(self.core)), dict[Build, float](), old.system != new.system
        for one, sign in ((old, -1.0), (new, 1.0)):
            unknown = 0.0
            if one in self.builds:
                weights[len(self.names) + len(self.systems) + self.builds.index(one)] = sign
            else:
                unknown += build**2
            if apart and one.system in self.systems:
                weights[len(self.names) + self.systems.index(one.system)] = sign
            elif apart:
                unknown += system**2
            beside[one] = sign * unknown
        return weights, beside, float(weights @ self.core_covariance @ weights) + sum(map(abs, beside.values()))

    def draw(self, count: int, seed: int) -> SmoothDraws:
        """Draws from the posterior, which give chances."""
        return SmoothDraws(self, count, seed)


def _share_of_question(spreads: Sequence[float], answers: int) -> float:
    """The question's part in how far its answers are from their builds."""
    _, question, _, _, answer = spreads
    return question**2 / (answer**2 + answers * question**2)


@dataclass(frozen=True)
class _DrawnQuestion:
    """Draws of a question: t of its judged answers (answers × draws), its c, and the means of a of its judged
    nuggets."""

    answers: Matrix
    question: Vector
    nuggets: Matrix


class SmoothDraws(Shown):
    """Joint draws of the core, the questions, the nuggets and the answers. The random numbers of a question, a nugget,
    an answer or a build belong to it alone, so its draws are the same whatever else is asked."""

    def __init__(self, fit: SmoothFit, count: int, seed: int) -> None:
        self.fit, self.count = fit, count
        self._luck_rows = random_rows(count, seed)
        rng = np.random.Generator(np.random.PCG64([seed, 1]))
        root = np.linalg.cholesky(fit.core_covariance) if len(fit.core) else np.zeros((0, 0))
        self._build = {build: i for i, build in enumerate(fit.builds)}
        self._place = {int(q): (part, i) for part in fit.questions for i, q in enumerate(part.question)}
        self._beside: dict[Build, Vector] = {}
        self._set_core(fit.core + rng.standard_normal((count, len(fit.core))) @ root.T)

    def _set_core(self, core: Matrix) -> None:
        fit = self.fit
        self._core = core
        self._last: tuple[int, _DrawnQuestion] | None = None
        self.b = np.ascontiguousarray(core[:, : len(fit.names)].T, dtype=np.float32)  # clues × draws
        self._levels = np.ascontiguousarray(fit.levels(core).T, dtype=np.float32)  # builds × draws
        self._systems = core[:, len(fit.names) : len(fit.names) + len(fit.systems)].T.astype(np.float32)

    def given(self, old: Build, new: Build, moved: Vector) -> SmoothDraws:
        """The draws in which one build is better than another by so much more, in each draw. Whatever is correlated
        with this moves along."""
        weights, beside, variance = self.fit.contrast(old, new)
        result = copy(self)
        result._set_core(self._core + np.outer(moved, self.fit.core_covariance @ weights / variance))
        share = {build: (moved * own / variance).astype(np.float32) for build, own in beside.items()}
        result._beside = {build: self._beside.get(build, 0) + own for build, own in share.items()}
        return result

    def _summary(self) -> str:
        return f"{self.count} draws of {self.fit.signature}"

    def chances(self, units: Units) -> Matrix:
        """units × draws: the probability that the answer has the nugget."""
        from threadpoolctl import threadpool_limits

        # Row by row, because the last bits of a product of matrices depend on the other rows.
        logit = np.stack([row @ self.b for row in units.clues.astype(np.float32)]) if len(units) else self._none
        answers, answer = np.unique(units.answer, return_inverse=True)
        nuggets, nugget = np.unique(units.nugget, return_inverse=True)
        # The matrices are small: a second thread costs more than it brings, and may change the last bit.
        with threadpool_limits(1):
            logit += self._answers(units.answers, answers)[answer]
            logit += self._nuggets(nuggets)[nugget]
        return np.asarray(scipy.special.expit(logit, out=logit))

    @property
    def odds_in_part(self) -> Vector | None:
        """How much likelier it is in each draw that a nugget is supported at least in part; None if nobody says
        partly."""
        mean, spread = self.fit.partial
        if np.isnan(mean):
            return None
        return np.asarray(np.exp(np.float32(mean) + np.float32(spread) * self._normal(0, 17)))

    def level(self, build: Build) -> Vector:
        """v + w of a build, in each draw."""
        more = self._beside.get(build, 0)
        if build in self._build:
            return np.asarray(self._levels[self._build[build]] + more)
        fit, (_, _, system, spread, _) = self.fit, self.fit.spreads
        if build.system in fit.systems:
            own = self._systems[fit.systems.index(build.system)]
        else:
            own = np.float32(system) * self._normal(key_of(build.system), 11)
        return np.asarray(own + np.float32(spread) * self._normal(key_of("\0".join(build)), 12) + more)

    def _answers(self, answers: AnswerSet, which: Ints) -> Matrix:
        """answers × draws: c + v + w + u."""
        _, question, _, _, answer = self.fit.spreads
        result = np.float32(answer) * self._luck(answers, which)
        levels = {number: self.level(answers.builds[number]) for number in np.unique(answers.build[which]).tolist()}
        for row, at in enumerate(which.tolist()):
            asked = int(answers.question[at])
            if asked in self._place:
                part, i = self._place[asked]
                drawn = self._question(asked)
                c, place = drawn.question, np.flatnonzero(part.answer[i] == answers.key[at])
                if len(place):
                    result[row] = drawn.answers[place[0]]
                    continue
            else:
                c = np.float32(question) * self._normal(int(self.fit.question_key[asked]), 14)
            result[row] += c + levels[int(answers.build[at])]
        return np.asarray(result)

    def _luck(self, answers: AnswerSet, which: Ints) -> Matrix:
        """answers × draws: standard normal numbers, which answers share as they share sentences."""
        begin, count = answers.begin[which], answers.begin[which + 1] - answers.begin[which]
        result = np.empty((len(which), self.count), dtype=np.float32)
        alone = count == 0
        if alone.any():
            result[alone] = self._luck_rows.normal(joined(answers.key[which[alone]], 13))
        for row in np.flatnonzero(~alone).tolist():
            pieces = answers.pieces[begin[row] : begin[row] + count[row]]
            own = joined(pieces, int(self.fit.question_key[answers.question[which[row]]]), 13)
            result[row] = self._luck_rows.normal(own).sum(axis=0) / np.float32(np.sqrt(count[row]))
        return result

    def _nuggets(self, which: Ints) -> Matrix:
        """nuggets × draws: a."""
        fit = self.fit
        normal = self._luck_rows.normal(joined(fit.nugget_key[which], 15))
        result = np.float32(fit.spreads[0]) * normal
        for row, nugget in enumerate(which.tolist()):
            asked = int(fit.question_of_nugget[nugget])
            if asked in self._place:
                part, i = self._place[asked]
                place = np.flatnonzero(part.nugget[i] == nugget)
                if len(place):
                    j = int(place[0])
                    spread = np.float32(1 / np.sqrt(part.precision[i, j]))
                    result[row] = self._question(asked).nuggets[j] + spread * normal[row]
        return np.asarray(result)

    def _question(self, question: int) -> _DrawnQuestion:
        if self._last is None or self._last[0] != question:
            part, i = self._place[question]
            builds, own = part.build[i], int(self.fit.question_key[question])
            s = self._levels[builds]
            t = part.shift[i, :, None] - part.of_b[i] @ self.b + part.of_s[i] @ s
            keys = joined(np.full(len(builds), own), np.arange(len(builds)), 16)
            t += part.spread[i] @ self._luck_rows.normal(keys)
            answer = self.fit.spreads[4]
            share = _share_of_question(self.fit.spreads, len(builds))
            c = share * (t - s).sum(axis=0) + np.sqrt(share) * answer * self._normal(own, 14)
            t = t.astype(np.float32)
            # Of all its nuggets, whichever are asked for: the last bits of a product depend on the other rows.
            told = part.told[i][:, None] - part.weighed[i].astype(np.float32) @ self.b
            told -= part.information[i].astype(np.float32) @ t
            nuggets = (told / part.precision[i][:, None]).astype(np.float32)
            self._last = question, _DrawnQuestion(t, c.astype(np.float32), nuggets)
        return self._last[1]

    def _normal(self, key: int, kind: int) -> Vector:
        return np.asarray(self._luck_rows.normal(joined(np.array([key]), kind))[0])

    @property
    def _none(self) -> Matrix:
        return np.zeros((0, self.count), dtype=np.float32)
