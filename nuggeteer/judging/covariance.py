"""How the verdicts on open pairs vary together with the score, updated as verdicts become known.

All that is drawn is treated as jointly normal. The score F_q of a question q and its verdicts y_1, y_2, ... are

    (F_q, y_1, y_2, ...) = mean + L g + e

A few common factors g carry what moves all questions at once (the level of the system, the curve). They are found in
the chances of the draws. Everything else, e, stays within its question: the threshold of a nugget, the answer as a
whole, the luck of each verdict. So verdicts on two questions are never correlated just because a few thousand draws
happen to show it, and given g a verdict on one question says nothing about another.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from nuggeteer.records import Ints, Vector

COMMON_FACTORS = 6
NEGLIGIBLE = 1e-9  # as a share of the variance at the start
ROWS = 2048  # in which the common factors are looked for: beyond that, neighbouring cells of a question are added up


class Rows(Protocol):
    """The rows of a table of numbers, whichever are asked for."""

    def __getitem__(self, rows: slice, /) -> Vector: ...


class ScoreCovariance:
    """The covariance of the score with every verdict, given the verdicts learned so far."""

    def __init__(self, chances: Rows, drawn: Rows, expected: Vector, question: Ints, score: Vector) -> None:
        """Estimate it from draws.

        `chances` and `drawn` verdicts, 0 or 1, are cells × draws, in the order of questions, with the `question` of
        each cell. They are asked for a question at a time. `expected` are the means of the chances. `score` is
        questions × draws."""
        self.caution = 1.0  # the factor of a verdict's own variance, where it tells about the common factors
        self._question = question
        draws = score.shape[1]
        self._begin = np.searchsorted(question, np.arange(len(score) + 1))
        blocks = [slice(*self._begin[q : q + 2].tolist()) for q in range(len(score))]
        score = (score - score.mean(axis=1, keepdims=True)).astype(np.float32)
        # Questions do not share the luck of single verdicts, so the common factors are fitted to scores without it.
        without, together = np.empty_like(score), max(-(-len(question) // ROWS), 1)
        end = np.cumsum(-(-np.diff(self._begin) // together)).tolist()
        contributions, self._own = np.empty((end[-1] if end else 0, draws), np.float32), list[Vector]()
        for q, block in enumerate(blocks):
            verdicts, chance = drawn[block], chances[block]
            self._own.append(_covariances(score[q], verdicts))
            effect = _solve(self._own[q][1:, 1:], self._own[q][1:, 0]).astype(np.float32)
            without[q] = score[q] - _centred(effect @ verdicts - effect @ chance)
            cell = np.arange(len(effect))
            added = np.zeros((-(-len(effect) // together), len(effect)), np.float32)
            added[cell // together, cell] = effect
            contributions[end[q] - len(added) : end[q]] = _centred(added @ chance)
        factors = _centred(_factors(contributions).T).T
        del contributions
        # Given what is learned: the covariance of g, the loadings L, and the covariance of e in each question, with the
        # score in row 0.
        self._common = np.eye(factors.shape[1])
        score_load = (without @ factors / draws).astype(float)
        self._total_load = score_load.sum(axis=0)
        self._load = np.zeros((len(question), factors.shape[1]))
        for q, (block, own) in enumerate(zip(blocks, self._own, strict=True)):
            self._load[block] = chances[block] @ factors / draws
            load = np.concatenate([score_load[q : q + 1], self._load[block]])
            shown = np.concatenate([(score[q] @ factors)[None], drawn[block] @ factors]).astype(float) / draws
            both = load @ shown.T
            own += load @ load.T - both - both.T
            # A few thousand draws do not show the variance of a verdict that is hardly ever a yes.
            diagonal = np.arange(1, len(own))
            least = expected[block] * (1 - expected[block]) - (self._load[block] ** 2).sum(axis=1)
            own[diagonal, diagonal] = np.maximum(own[diagonal, diagonal], least)
        # No sum of verdicts explains all of a question's score. The rest shrinks in step with what they do explain.
        linear = np.array([own[0, 1:] @ _solve(own[1:, 1:], own[0, 1:]) for own in self._own])
        left = np.array([own[0, 0] for own in self._own])
        self._unexplained = np.maximum(left - linear, 0)
        self._scale = left / np.maximum(left - self._unexplained, NEGLIGIBLE**2)
        self._explained = sum(map(self._explained_in, range(len(left))), 0.0)
        self._with_score = np.concatenate([own[0, 1:] for own in self._own])
        self._variance = np.concatenate([np.diag(own)[1:] for own in self._own])
        self._open = self._variance > NEGLIGIBLE

    def gain(self) -> Vector:
        """How much each verdict is expected to reduce the variance of the score; 0 once it is learned."""
        covariance = self._load @ (self._common @ self._total_load) + self._with_score
        variance = ((self._load @ self._common) * self._load) @ np.ones(len(self._common)) + self._variance
        return np.asarray(np.where(self._open, covariance**2 / np.maximum(variance, NEGLIGIBLE), 0.0))

    def variance(self) -> float:
        """The variance of the score."""
        return float(self._total_load @ self._common @ self._total_load) + self._explained

    def learn(self, cell: int) -> None:
        """Condition on the verdict on a cell, whatever it is."""
        q = int(self._question[cell])
        begin, end, own = self._begin[q], self._begin[q + 1], self._own[q]
        row, load = cell - begin + 1, self._load[cell].copy()
        slope = own[:, row] / own[row, row]
        common = self._common @ load
        self._common -= common[:, None] * (common / (load @ common + self.caution * own[row, row]))
        self._total_load -= slope[0] * load
        self._load[begin:end] -= slope[1:, None] * load
        before = self._explained_in(q)
        own -= slope[:, None] * own[row]
        self._explained += self._explained_in(q) - before
        self._with_score[begin:end], self._variance[begin:end] = own[0, 1:], own.diagonal()[1:]
        self._open[cell] = False

    def _explained_in(self, q: int) -> float:
        """What is left of the variance of a question's score, given the common factors."""
        return max(float(self._own[q][0, 0]) - float(self._unexplained[q]), 0.0) * float(self._scale[q])


def _covariances(score: Vector, verdicts: Vector) -> Vector:
    """The covariances of a score, in row 0, and verdicts, each with each. `score` has mean 0."""
    draws, mean = len(score), verdicts.mean(axis=1, dtype=float)
    result = np.empty((len(verdicts) + 1, len(verdicts) + 1))
    result[0, 0] = score @ score / draws
    result[0, 1:] = result[1:, 0] = verdicts @ score / draws
    result[1:, 1:] = verdicts @ verdicts.T  # of zeros and ones: exact
    result[1:, 1:] /= draws
    result[1:, 1:] -= mean[:, None] * mean
    return result


def _centred(rows: Vector) -> Vector:
    return np.asarray(rows - rows.mean(axis=-1, keepdims=True))


def _solve(matrix: Vector, right: Vector) -> Vector:
    return np.linalg.solve(matrix + NEGLIGIBLE * np.eye(len(right)), right)


def _factors(columns: Vector) -> Vector:
    """draws × factors: the first principal components of the rows, by subspace iteration. They are uncorrelated, with
    mean 0 and variance 1."""
    rng = np.random.Generator(np.random.PCG64(0))
    draws = columns.shape[1]
    basis = rng.standard_normal((draws, COMMON_FACTORS)).astype(np.float32)
    for _ in range(8):
        basis, _ = np.linalg.qr(columns.T @ (columns @ basis))
    return np.asarray(basis * np.float32(np.sqrt(draws)))
