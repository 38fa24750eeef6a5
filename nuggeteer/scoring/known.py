"""Known or guessed: the one place that decides what the humans have said of a (nugget, response text).

Nuggeteer §2.3 and its second footnote:

1. A yes on the same text (`text.verdict_form`), in any run, is a yes. If there is also a no, the yes wins.
2. Else a written no on the same text is a no.
3. Else, if the text stands in a run judged `every`: no. In a run judged `best` that has no yes for the
   nugget: no. In a run judged `best` that has one elsewhere: unknown, for only the best was marked.
4. Else unknown: to be guessed.

Verdicts are what humans said and did not take back, `Collection.judgements`. A machine's are not among them: it is an
instrument, to be calibrated against these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Judgement, Run
from nuggeteer.text import normalised, verdict_form_of_normalised

States = npt.NDArray[np.int8]
UNKNOWN: Final = -1
NO: Final = 0
YES: Final = 1
PARTLY: Final = 2  # a no that its assessor called partly supported


class VerdictIndex:
    """What is known of every text that anybody judged.

    `texts` (`text.normalised`), each the first of those that are the same for a verdict (`text.verdict_form`), their
    `question` and the `runs` they are from, the first that is known of each;
    `states` has an entry for each nugget of the question of each text, laid end to end.
    """

    def __init__(self, key: AnswerKey, judgements: Sequence[Judgement], judged_runs: Sequence[Run]) -> None:
        self._key = key
        # Verdict forms of the judged texts of each question, numbered through; whose they are.
        self._rows: list[dict[str, int]] = [{} for _ in key.questions]
        self._owner: list[int] = []
        self.texts: list[str] = []
        self.runs: list[str] = []
        pairs_judged = [
            (
                self._row(key.position[j.qid], normalised(j.text), j.run or ""),
                key.nugget_position[j.qid, j.nugget],
            )
            for j in judgements
        ]
        standing = [
            np.array(
                [self._row(q, t, run.name) for q, t in zip(run.question.tolist(), run.normalised_texts, strict=True)],
                dtype=np.int64,
            )
            for run in judged_runs
        ]
        # The first judged run that returned a text has it. The run that a verdict names comes second: what several
        # systems return is not typical of any, and would tell the wrong thing of one that nobody judged.
        for run, places in zip(reversed(judged_runs), reversed(standing), strict=True):
            for row in places.tolist():
                self.runs[row] = run.name
        question = np.array(self._owner, dtype=np.int64)
        self.question = question.astype(np.int32)
        # One pair for each judged text and each nugget of its question.
        self._begin, _ = ragged(key.offsets[question], key.counts[question])
        self._shift = self._begin[:-1] - key.offsets[question]

        yes, no, partly, silence = np.zeros((4, int(self._begin[-1])), dtype=bool)
        for judgement, (row, place) in zip(judgements, pairs_judged, strict=True):
            pair = self._shift[row] + place
            if judgement.verdict:
                yes[pair] = True
            else:
                no[pair] = True
                partly[pair] |= judgement.partial
        for run, places_of_run in zip(judged_runs, standing, strict=True):
            rows = np.unique(places_of_run)
            _, pairs = ragged(self._begin[rows], self._begin[rows + 1] - self._begin[rows])
            if run.info.judged == "best":
                nugget = pairs - np.repeat(self._shift[rows], np.diff(self._begin)[rows])
                pairs = pairs[~self._has_yes(run.name, judgements, nugget, yes[pairs])[nugget]]
            silence[pairs] = True
        self.states: States = np.full(len(yes), UNKNOWN, dtype=np.int8)
        self.states[no | silence] = NO
        self.states[partly] = PARTLY
        self.states[yes] = YES

    def __call__(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> States:
        """What is known of each text (`text.normalised`) and each nugget of its question, laid end to end."""
        return self.of_forms(list(map(verdict_form_of_normalised, texts)), question)

    def rows(self, forms: Sequence[str], question: npt.NDArray[np.signedinteger]) -> Ints:
        """Where the texts with these verdict forms stand in `texts`; −1 of those that nobody judged."""
        asked = zip(question.tolist(), forms, strict=True)
        return np.array([self._rows[q].get(form, -1) for q, form in asked], dtype=np.int64)

    def of_forms(self, forms: Sequence[str], question: npt.NDArray[np.int32]) -> States:
        """What is known of each verdict form and each nugget of its question, laid end to end."""
        rows = self.rows(forms, question)
        begin, _ = ragged(self._key.offsets[question], self._key.counts[question])
        result = np.full(int(begin[-1]), UNKNOWN, dtype=np.int8)
        seen = np.flatnonzero(rows >= 0)
        if len(seen):
            count = self._key.counts[question[seen]]
            _, target = ragged(begin[seen], count)
            _, source = ragged(self._begin[rows[seen]], count)
            result[target] = self.states[source]
        return result

    def _row(self, question: int, text: str, run: str) -> int:
        row = self._rows[question].setdefault(verdict_form_of_normalised(text), len(self._owner))
        if row == len(self._owner):
            self._owner.append(question)
            self.texts.append(text)
            self.runs.append(run)
        return row

    def _has_yes(self, run: str, judgements: Sequence[Judgement], nugget: Ints, yes: Bools) -> Bools:
        """Nuggets that somebody found in this run: by its texts, or by the run that a verdict names."""
        found = np.zeros(len(self._key.nuggets), dtype=bool)
        found[nugget[yes]] = True
        for judgement in judgements:
            if judgement.verdict and judgement.run == run:
                found[self._key.nugget_position[judgement.qid, judgement.nugget]] = True
        return found
