"""Verdicts on whole answers: what they settle, and what they imply for the responses inside.

A verdict with the scope `answer` applies to every answer with the same text (`text.verdict_form`) and settles it: after
a yes the nugget is found, after a no it is not. A yes on a response inside outweighs a no on the answer.

After a no, no response of the answer carries the nugget. After a yes, some response does, and the likeliest one gets
the credit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from nuggeteer.records import AnswerKey, Bools, Judgement, Run, Vector
from nuggeteer.text import verdict_form

States = npt.NDArray[np.int8]
UNKNOWN: Final = -1
NO: Final = 0
YES: Final = 1
PARTLY: Final = 2  # a no that its assessor called partly supported


class AnswerVerdicts:
    """The known verdicts on whole answers."""

    def __init__(self, key: AnswerKey, judgements: Sequence[Judgement]) -> None:
        self._key = key
        # For each question and each verdict form of an answer, the state of each nugget.
        self._states: dict[int, dict[str, dict[int, int]]] = {}
        self.judgements = tuple(judgement for judgement in judgements if judgement.scope == "answer")
        rank = {NO: 0, PARTLY: 1, YES: 2}
        for judgement in self.judgements:
            state = YES if judgement.verdict else PARTLY if judgement.partial else NO
            own = self._states.setdefault(key.position[judgement.qid], {}).setdefault(verdict_form(judgement.text), {})
            nugget = key.nugget_position[judgement.qid, judgement.nugget]
            if rank[state] >= rank[own.get(nugget, NO)]:
                own[nugget] = state

    def of_run(self, run: Run) -> States | None:
        """The state of each nugget of the key by verdicts on the run's answers; None if there are no such verdicts."""
        found: dict[int, int] = {}
        for question, answers in self._states.items():
            if run.offsets[question] < run.offsets[question + 1]:
                found.update(answers.get(verdict_form(run.answer(question)), {}))
        if not found:
            return None
        result: States = np.full(len(self._key.nuggets), UNKNOWN, dtype=np.int8)
        result[list(found)] = list(found.values())
        return result

    def of_answer(self, question: int, text: str) -> dict[int, int]:
        """The state of nuggets by verdicts on this answer."""
        return self._states.get(question, {}).get(verdict_form(text), {})

    def found_in(self, run: Run) -> Bools:
        """The nuggets with a yes on an answer of the run. The answer has the same text, or the verdict names the
        run."""
        states = self.of_run(run)
        found = np.zeros(len(self._key.nuggets), dtype=bool) if states is None else np.asarray(states == YES)
        for judgement in self.judgements:
            if judgement.verdict and judgement.run == run.name:
                found[self._key.nugget_position[judgement.qid, judgement.nugget]] = True
        return found


def settle(states: States, scores: Vector, nugget: npt.NDArray[np.int32], answers: States) -> None:
    """Apply the verdicts on a run's answers to the states of its pairs.

    A no applies to every response. A yes that no response has goes to the response with the highest match score, the
    first one if several are equal. Responses that were judged no are considered only if there are no others."""
    of_pair = answers[nugget]
    states[(states == UNKNOWN) & (of_pair == NO)] = NO
    states[(states != YES) & (of_pair == PARTLY)] = PARTLY
    open_ = answers == YES
    open_[nugget[states == YES]] = False
    where = np.flatnonzero(open_[nugget])
    likelihood = np.nan_to_num(scores[where], nan=-1.0)
    order = np.lexsort((where, -likelihood, states[where] != UNKNOWN, nugget[where]))
    _, first = np.unique(nugget[where][order], return_index=True)
    states[where[order][first]] = YES
