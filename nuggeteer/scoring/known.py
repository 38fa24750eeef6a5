"""Which human verdicts are known for a (nugget, response text), and which pairs must be guessed.

The first of these rules that applies decides (Nuggeteer §2.3 and its second footnote). Two texts are the same if their
verdict forms are equal (`text.verdict_form`).

1. If the same text has a yes in any run, the pair is a yes, even if there is also a no.
2. If the same text has a written no, the pair is a no.
3. If the text is in a run judged `every`, the pair is a no. If it is in a run judged `best` that has no yes for the
   nugget, the pair is a no. If that run has a yes elsewhere, the pair is unknown, because only the best response was
   marked.
4. If an answer that contains the text was judged no as a whole, the pair is a no (`answers`).
5. Otherwise the pair is unknown and is guessed.

The verdicts are those that humans gave and did not retract (`Collection.judgements`). A machine's verdicts are not
among them. The machine is an instrument that is calibrated against these.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nuggeteer.formats.sentences import responses_in
from nuggeteer.pairs import ragged
from nuggeteer.records import AnswerKey, Bools, Ints, Judgement, Run
from nuggeteer.scoring.answers import (
    NO,
    PARTLY,
    UNKNOWN,
    YES,
    AnswerVerdicts,
    States,
)
from nuggeteer.scoring.contradicted import ContradictedNuggets
from nuggeteer.settings import Split
from nuggeteer.text import likeliest, normalised, verdict_form_of_normalised, words

__all__ = ["NO", "PARTLY", "UNKNOWN", "YES", "States", "VerdictIndex"]


class VerdictIndex:
    """The known verdicts on every judged text.

    `texts` are the judged texts (`text.normalised`), the first of those with the same verdict form. `question` has
    their questions, and `runs` the run of each text. If several runs return a text, the first judged run has it.
    `states` has an entry for each nugget of the question of each text, laid end to end. `partly` marks the pairs of
    which a verdict says partly, on the text or on the answer around it; None if no verdict says so. `answers` has the
    verdicts on whole answers, which `split` cuts into responses. `contradicted` has the verdicts that say a text or an
    answer says the opposite.
    """

    def __init__(
        self, key: AnswerKey, judgements: Sequence[Judgement], judged_runs: Sequence[Run], split: Split = "none"
    ) -> None:
        self._key = key
        self.contradicted = ContradictedNuggets(key, judgements)
        self.answers = AnswerVerdicts(key, judgements)
        of_answers, judgements = self.answers.judgements, [j for j in judgements if j.scope == "response"]
        # The verdict forms of each question's judged texts with their rows, and the question of each row.
        self._rows: list[dict[str, int]] = [{} for _ in key.questions]
        self._owner: list[int] = []
        self.texts: list[str] = []
        self.runs: list[str] = []
        judged_rows: dict[tuple[int, str], int] = {}  # a text is judged once for each nugget
        pairs_judged = []
        for j in judgements:
            text = key.position[j.qid], j.text
            if text not in judged_rows:
                judged_rows[text] = self._row(text[0], normalised(j.text), j.run or "")
            pairs_judged.append((judged_rows[text], key.nugget_position[j.qid, j.nugget]))
        # An answer is judged once for each nugget, too. The first run that a verdict on a text names has it.
        cut: dict[tuple[int, str], tuple[list[str], Ints]] = {}
        for j in of_answers:
            answer = key.position[j.qid], j.text
            if answer not in cut:
                texts = responses_in(j.text, split)
                rows_of_texts = [self._row(answer[0], normalised(text), j.run or "") for text in texts]
                cut[answer] = texts, np.array(rows_of_texts, dtype=np.int64)
        inside_of = [cut[key.position[j.qid], j.text] for j in of_answers]
        returned = [
            np.array(
                [self._row(q, t, run.name) for q, t in zip(run.question.tolist(), run.normalised_texts, strict=True)],
                dtype=np.int64,
            )
            for run in judged_runs
        ]
        # The first judged run that returned a text has it, and only then the run that a verdict names. A text that
        # several systems return is typical of none of them, and would mislead about a system that nobody judged.
        for run, rows_of_run in zip(reversed(judged_runs), reversed(returned), strict=True):
            for row in rows_of_run.tolist():
                self.runs[row] = run.name
        question = np.array(self._owner, dtype=np.int64)
        self.question = question.astype(np.int32)
        # There is a pair for each judged text and each nugget of its question.
        self._begin, _ = ragged(key.offsets[question], key.counts[question])
        self._shift = self._begin[:-1] - key.offsets[question]

        yes, no, partly, silence = np.zeros((4, int(self._begin[-1])), dtype=bool)
        for judgement, (row, nugget_position) in zip(judgements, pairs_judged, strict=True):
            pair = self._shift[row] + nugget_position
            if judgement.verdict:
                yes[pair] = True
            else:
                no[pair] = True
                partly[pair] |= judgement.partial
        for run, rows_of_run in zip(judged_runs, returned, strict=True):
            rows = np.unique(rows_of_run)
            _, pairs = ragged(self._begin[rows], self._begin[rows + 1] - self._begin[rows])
            nugget = pairs - np.repeat(self._shift[rows], np.diff(self._begin)[rows])
            # The answer has these nuggets, but the response that carries them is not known.
            elsewhere = self.answers.found_in(run)
            if run.info.judged == "best":
                elsewhere |= self._has_yes(run.name, judgements, nugget, yes[pairs])
            silence[pairs[~elsewhere[nugget]]] = True
        for j, (_, inside) in zip(of_answers, inside_of, strict=True):
            if not j.verdict:
                no[self._shift[inside] + key.nugget_position[j.qid, j.nugget]] = True
        self.states: States = np.full(len(yes), UNKNOWN, dtype=np.int8)
        self.states[no | silence] = NO
        self.states[partly] = PARTLY
        self.states[yes] = YES
        self._read = self._read_beside(yes, [run.name for run in judged_runs if run.info.judged == "best"])
        self.partly = self._in_part(partly, of_answers, [inside for _, inside in inside_of])
        self._yes_on_answers = [
            (key.nugget_position[j.qid, j.nugget], texts, inside)
            for j, (texts, inside) in zip(of_answers, inside_of, strict=True)
            if j.verdict
        ]

    @cached_property
    def taught(self) -> States:
        """What may be learned: the states, except that the likeliest response of each whole answer with a yes is a yes
        too."""
        taught, words_in, before = self.states.copy(), dict[str, frozenset[str]](), -1
        question = self._key.question.tolist()
        for position, texts, inside in self._yes_on_answers:
            own = self._shift[inside] + position
            open_ = np.flatnonzero(self.states[own] == UNKNOWN)
            if not len(open_) or (self.states[own] == YES).any():
                continue
            if question[position] != before:  # verdicts on one question stand together
                before = question[position]
                words_in.clear()
            chosen = 0
            if len(open_) > 1:
                asked = [texts[i] for i in open_.tolist()]
                words_in.update((text, frozenset(words(text))) for text in asked if text not in words_in)
                chosen = likeliest([words_in[text] for text in asked], self._key.nuggets[position].descriptions)
            taught[own[open_[chosen]]] = YES
        return taught

    @cached_property
    def asked(self) -> Bools:
        """The pairs that somebody was asked about: those that are decided, and all of an answer that has the nugget
        somewhere and was read whole."""
        asked: Bools = self._read | (self.states != UNKNOWN)
        for position, _, inside in self._yes_on_answers:
            asked[self._shift[inside] + position] = True
        return asked

    def __call__(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> States:
        """The known state of each text (`text.normalised`) and each nugget of its question, laid end to end."""
        return self.of_forms(list(map(verdict_form_of_normalised, texts)), question)

    def rows(self, forms: Sequence[str], question: npt.NDArray[np.signedinteger]) -> Ints:
        """The position in `texts` of each verdict form, −1 if nobody judged it."""
        asked = zip(question.tolist(), forms, strict=True)
        return np.array([self._rows[q].get(form, -1) for q, form in asked], dtype=np.int64)

    def of_forms(self, forms: Sequence[str], question: npt.NDArray[np.int32]) -> States:
        """The known state of each verdict form and each nugget of its question, laid end to end."""
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

    def _read_beside(self, yes: Bools, best: Sequence[str]) -> Bools:
        """The pairs that were read in the `best` runs beside a yes of the same answer. A nugget that is not found there
        is a no of all responses. If one that is found were the yes of a single response, the number of responses would
        tell which is which."""
        read, owner = np.zeros(len(yes), dtype=bool), np.array(self.runs)
        for name in best:
            rows = np.flatnonzero(owner == name)
            _, pairs = ragged(self._begin[rows], self._begin[rows + 1] - self._begin[rows])
            nugget = pairs - np.repeat(self._shift[rows], np.diff(self._begin)[rows])
            found = np.zeros(len(self._key.nuggets), dtype=bool)
            found[nugget[yes[pairs]]] = True
            read[pairs[found[nugget]]] = True
        return read

    def _in_part(self, partly: Bools, answers: Sequence[Judgement], rows_inside: Sequence[Ints]) -> Bools | None:
        if not partly.any() and not any(judgement.partial for judgement in answers):
            return None
        partly = partly.copy()
        for judgement, inside in zip(answers, rows_inside, strict=True):
            if judgement.partial:
                partly[self._shift[inside] + self._key.nugget_position[judgement.qid, judgement.nugget]] = True
        return partly

    def _row(self, question: int, text: str, run: str) -> int:
        row = self._rows[question].setdefault(verdict_form_of_normalised(text), len(self._owner))
        if row == len(self._owner):
            self._owner.append(question)
            self.texts.append(text)
            self.runs.append(run)
        elif text < self.texts[row]:  # of several ways to write it always the same, whatever the order of verdicts
            self.texts[row] = text
        return row

    def _has_yes(self, run: str, judgements: Sequence[Judgement], nugget: Ints, yes: Bools) -> Bools:
        """The nuggets with a yes in this run, on one of its texts or in a verdict that names the run."""
        found = np.zeros(len(self._key.nuggets), dtype=bool)
        found[nugget[yes]] = True
        for judgement in judgements:
            if judgement.verdict and judgement.run == run:
                found[self._key.nugget_position[judgement.qid, judgement.nugget]] = True
        return found
