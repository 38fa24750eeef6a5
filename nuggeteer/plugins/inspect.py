"""A scorer for Inspect: the nuggets of each sample's answer. The sample's id is a qid, or its input is the question.

from nuggeteer.plugins.inspect import nuggets
Task(dataset=..., solver=generate(), scorer=nuggets("qa"))
"""

from __future__ import annotations

from math import nan

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from nuggeteer.errors import NoSuchName
from nuggeteer.plugins.grading import Grader


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]
def nuggets(collection: str | None = None, measure: str | None = None) -> Scorer:
    """The score of each answer by a measure, with its nuggets in the metadata. Without one, by that which is the first
    of every command. A sample whose question is not in the collection, or whose score is undefined, stays out of the
    mean."""
    grader = Grader(collection, measure)

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        try:
            graded = grader.grade(grader.find([state.sample_id, state.input_text]), answer)
        except NoSuchName as error:
            return Score(value=nan, answer=answer, explanation=str(error))
        nuggets = [one.as_json() for one in graded.nuggets]
        metadata = {"qid": graded.qid, "scores": graded.scores, "nuggets": nuggets}
        value = nan if graded.score is None else graded.score
        return Score(value=value, answer=answer, explanation=str(graded), metadata=metadata)

    return score
