"""How the verdicts on open pairs vary together with the score, updated as verdicts become known.

All that is drawn is treated as jointly normal. The score F_q of a question q and its verdicts y_1, y_2, ... are

    (F_q, y_1, y_2, ...) = mean + L g + e

A few common factors g carry what moves all questions at once (the level of the system, the curve). They are found in
the chances of the draws. Everything else, e, stays within its question: the threshold of a nugget, the answer as a
whole, the luck of each verdict. So verdicts on two questions are never correlated just because a few thousand draws
happen to show it, and given g a verdict on one question says nothing about another.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from nuggeteer.records import Bools, Ints, Vector

COMMON_FACTORS = 6
NEGLIGIBLE = 1e-9  # as a share of the variance at the start
ROWS = 2048  # in which the common factors are looked for: beyond that, neighbouring cells of a question are added up


T = TypeVar("T", covariant=True)


class Rows(Protocol[T]):
    """The rows of a table, whichever are asked for."""

    def __getitem__(self, rows: slice, /) -> T: ...


class ScoreCovariance:
    """The covariance of the score with every verdict, given the verdicts learned so far."""

    def __init__(self, chances: Rows[Vector], drawn: Rows[Bools], question: Ints, score: Vector) -> None:
        """Estimate it from draws.

        `chances` and `drawn` verdicts are cells × draws, in the order of questions, with the `question` of each cell.
        They are asked for a question at a time. `score` is questions × draws."""
        self.caution = 1.0  # the factor of a verdict's own variance, where it tells about the common factors
        self._question = question
        draws = score.shape[1]
        self._begin = np.searchsorted(question, np.arange(len(score) + 1))
        blocks = [slice(*self._begin[q : q + 2].tolist()) for q in range(len(score))]
        score = (score - score.mean(axis=1, keepdims=True)).astype(np.float32)
        # Questions do not share the luck of single verdicts, so the common factors are fitted to scores without it.
        without, together = np.empty_like(score), max(-(-len(question) // ROWS), 1)
        end = np.cumsum(-(-np.diff(self._begin) // together))
        contributions = np.empty((int(end[-1]), draws), np.float32)
        for q, block in enumerate(blocks):
            luck, verdicts = _centred(chances[block]), _centred(drawn[block])
            effect = _solve(verdicts @ verdicts.T, verdicts @ score[q]).astype(np.float32)[:, None]
            without[q] = score[q] - ((verdicts - luck) * effect).sum(axis=0)
            luck *= effect
            if len(luck):
                own = contributions[end[q] - -(-len(luck) // together) : end[q]]
                np.add.reduceat(luck, range(0, len(luck), together), axis=0, out=own)
        factors = _factors(contributions)
        del contributions
        # Given what is learned: the covariance of g, the loadings L, and the covariance of e in each question, with the
        # score in row 0.
        self._common = np.eye(factors.shape[1])
        self._score_load = (without @ factors / draws).astype(float)
        self._load = np.zeros((len(question), factors.shape[1]))
        score -= self._score_load.astype(np.float32) @ factors.T
        self._own = []
        for q, block in enumerate(blocks):
            chance, verdicts = chances[block], _centred(drawn[block])
            mean = chance.mean(axis=1, dtype=float)
            self._load[block] = load = _centred(chance) @ factors / draws
            verdicts -= load.astype(np.float32) @ factors.T
            e = np.concatenate([score[q : q + 1], verdicts])
            own = (e @ e.T / draws).astype(float)
            # A few thousand draws do not show the variance of a verdict that is hardly ever a yes.
            diagonal = np.arange(1, len(own))
            own[diagonal, diagonal] = np.maximum(
                own[diagonal, diagonal], mean * (1 - mean) - (self._load[block] ** 2).sum(axis=1)
            )
            self._own.append(own)
        # No sum of verdicts explains all of a question's score. The rest shrinks in step with what they do explain.
        linear = np.array([own[0, 1:] @ _solve(own[1:, 1:], own[0, 1:]) for own in self._own])
        self._left = np.array([own[0, 0] for own in self._own])
        self._unexplained = np.maximum(self._left - linear, 0)
        self._scale = self._left / np.maximum(self._left - self._unexplained, NEGLIGIBLE**2)
        self._with_score = np.concatenate([own[0, 1:] for own in self._own])
        self._variance = np.concatenate([np.diag(own)[1:] for own in self._own])
        self._open = self._variance > NEGLIGIBLE

    def gain(self) -> Vector:
        """How much each verdict is expected to reduce the variance of the score; 0 once it is learned."""
        covariance = self._load @ (self._common @ self._score_load.sum(axis=0)) + self._with_score
        variance = ((self._load @ self._common) * self._load) @ np.ones(len(self._common)) + self._variance
        return np.asarray(np.where(self._open, covariance**2 / np.maximum(variance, NEGLIGIBLE), 0.0))

    def variance(self) -> float:
        """The variance of the score."""
        load = self._score_load.sum(axis=0)
        return float(load @ self._common @ load + np.maximum(self._left - self._unexplained, 0) @ self._scale)

    def learn(self, cell: int) -> None:
        """Condition on the verdict on a cell, whatever it is."""
        q = int(self._question[cell])
        begin, end, own = self._begin[q], self._begin[q + 1], self._own[q]
        row, load = cell - begin + 1, self._load[cell].copy()
        slope = own[:, row] / own[row, row]
        common = self._common @ load
        self._common -= np.outer(common, common) / (load @ common + self.caution * own[row, row])
        self._score_load[q] -= slope[0] * load
        self._load[begin:end] -= np.outer(slope[1:], load)
        own -= np.outer(slope, own[row])
        self._left[q] = own[0, 0]
        self._with_score[begin:end], self._variance[begin:end] = own[0, 1:], np.diag(own)[1:]
        self._open[cell] = False


def _centred(rows: Vector | Bools) -> Vector:
    return np.asarray(rows - rows.mean(axis=1, dtype=np.float32, keepdims=True))


def _solve(matrix: Vector, right: Vector) -> Vector:
    matrix, right = matrix.astype(float), right.astype(float)
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
