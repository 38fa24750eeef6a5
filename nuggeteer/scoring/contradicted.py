"""Contradictions: texts and answers that, by a verdict, say the opposite of a nugget.

To scores and models such a verdict is a no like any other. Reports tell them apart, because an answer that says the
opposite is worse than one that says nothing. It speaks for the same texts as any verdict does (`text.verdict_form`).
"""

from __future__ import annotations

from collections.abc import Sequence

from nuggeteer.records import AnswerKey, Judgement, Run
from nuggeteer.text import verdict_form

NOWHERE = -1  # the answer as a whole, and no response of it


class ContradictedNuggets:
    """The nuggets that judged texts and judged answers contradict."""

    def __init__(self, key: AnswerKey, judgements: Sequence[Judgement]) -> None:
        # For each question and scope, by verdict form.
        self._by_text: dict[tuple[int, str], dict[str, set[int]]] = {}
        for j in judgements:
            if j.contradicts:
                of = self._by_text.setdefault((key.position[j.qid], j.scope), {})
                of.setdefault(verdict_form(j.text), set()).add(key.nugget_position[j.qid, j.nugget])

    def of_run(self, run: Run) -> dict[int, int]:
        """Each nugget that some answer of the run contradicts, and the first response that does; `NOWHERE` if only the
        answer as a whole does."""
        found: dict[int, int] = {}
        for (question, scope), texts in self._by_text.items():
            first, last = int(run.offsets[question]), int(run.offsets[question + 1])
            if first == last:
                continue
            if scope == "answer":
                for nugget in texts.get(verdict_form(run.answer(question)), ()):
                    found.setdefault(nugget, NOWHERE)
            else:
                for response in range(last - 1, first - 1, -1):
                    found.update(dict.fromkeys(texts.get(verdict_form(run.texts[response]), ()), response))
        return found
