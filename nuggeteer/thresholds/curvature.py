"""The curvature of the smooth model's posterior, by which it is fitted (`learning.py`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nuggeteer.records import Ints, Vector

Matrix = Vector


@dataclass(frozen=True)
class Curvature:
    """The curvature of the log posterior of b and v (the core), c and a, with the nuggets and then the questions
    eliminated.

    A nugget belongs to one question. So eliminating the nuggets leaves the block of the questions diagonal, and only
    the core is ever a dense matrix. The work grows with the number of questions, not with its cube."""

    core: Matrix  # with nuggets and questions eliminated
    nugget: Vector  # the diagonal
    question: Vector  # the diagonal, with the nuggets eliminated
    core_nugget: Matrix  # core × nuggets
    core_question: Matrix  # core × questions, with the nuggets eliminated
    information: Vector  # of each nugget's pairs
    question_of_nugget: Ints

    @classmethod
    def eliminated(
        cls,
        core: Matrix,
        core_nugget: Matrix,
        information: Vector,
        question_of_nugget: Ints,
        nugget_precision: float,
        question_precision: Vector,
    ) -> Curvature:
        """From the core and its rows across nuggets, with the precisions of the priors."""
        from scipy.sparse import csc_array

        nugget = information + nugget_precision
        questions = len(question_precision)
        kept = nugget_precision / nugget  # of a nugget's information, what its own effect does not explain away
        of_nuggets = np.asarray(np.bincount(question_of_nugget, information * kept, questions), dtype=float)
        question = question_precision + of_nuggets
        nuggets = len(question_of_nugget)
        by_question = csc_array((kept, question_of_nugget, np.arange(nuggets + 1)), shape=(questions, nuggets))
        core_question = np.ascontiguousarray((by_question @ core_nugget.T).T)
        core = core - (core_nugget / nugget) @ core_nugget.T - (core_question / question) @ core_question.T
        return cls(core, nugget, question, core_nugget, core_question, information, question_of_nugget)

    def solve(self, core: Vector, question: Vector, nugget: Vector) -> tuple[Vector, Vector, Vector]:
        """The Newton step of the core, the questions and the nuggets for these gradients."""
        scaled = nugget / self.nugget
        question = question - np.bincount(self.question_of_nugget, self.information * scaled, len(question))
        core = core - self.core_nugget @ scaled - self.core_question @ (question / self.question)
        step = np.linalg.solve(self.core, core)
        question_step = (question - step @ self.core_question) / self.question
        explained = step @ self.core_nugget + self.information * question_step[self.question_of_nugget]
        return step, question_step, (nugget - explained) / self.nugget

    def variances(self) -> tuple[Matrix, Vector, Vector]:
        """The covariance of the core, and the variances of the questions and the nuggets."""
        inverse = np.linalg.inv(self.core)
        slopes = self.core_question / self.question
        question = 1 / self.question + (slopes * (inverse @ slopes)).sum(axis=0)
        across = self.core_nugget - self.information * slopes[:, self.question_of_nugget]
        rest = (across * (inverse @ across)).sum(axis=0)
        rest += self.information**2 / self.question[self.question_of_nugget]
        return inverse, question, 1 / self.nugget + rest / self.nugget**2

    @property
    def log_determinant(self) -> float:
        """Of the curvature of the core and the questions."""
        return float(np.linalg.slogdet(self.core)[1] + np.log(self.question).sum())
