"""Which human verdicts are known for a (nugget, response text), and which pairs must be guessed.

The first of these rules that applies decides (Nuggeteer §2.3 and its second footnote). Two texts are the same if their
verdict forms are equal (`text.verdict_form`).

1. If the same text has a yes in any run, the pair is a yes, even if there is also a no.
2. If the same text has a written no, the pair is a no.
3. If the text is in a run judged `every`, the pair is a no. If it is in a run judged `best` that has no yes for the
   nugget, the pair is a no. If that run has a yes elsewhere, the pair is unknown, because only the best response was
   marked.
4. If an answer that contains the text was judged no as a whole, the pair is a no.
5. Otherwise the pair is unknown and is guessed; if the text has no words, it is a no (`matched_run`).

The verdicts are those that humans gave and did not retract (`Collection.judgements`). A machine's verdicts are not
among them. The machine is an instrument that is calibrated against these.

A verdict with the scope `answer` applies to every answer with the same text (`text.verdict_form`) and settles it: after
a yes the nugget is found, after a no it is not. A yes on a response inside outweighs a no on the answer.

After a no, no response of the answer carries the nugget. After a yes, some response does, and the likeliest one gets
the credit.

A verdict that an answer says the opposite of a nugget is, to scores and models, a no like any other. Reports tell the
two apart, because an answer that says the opposite is worse than one that says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from nuggeteer.collection.folder import Collection
from nuggeteer.formats.sentences import responses_in
from nuggeteer.records import AnswerKey, Bools, Ints, Judgement, Run, Vector, ragged
from nuggeteer.settings import Split
from nuggeteer.text import likeliest, normalised, verdict_form, verdict_form_of_normalised, words

NOWHERE = -1  # the answer as a whole, not one of its responses


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
        whole answer does."""
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


__all__ = ["NO", "PARTLY", "UNKNOWN", "YES", "States", "VerdictIndex"]


class VerdictIndex:
    """The known verdicts on every judged text.

    `texts` are the judged texts (`text.normalised`), the first of those with the same verdict form. `question` has
    their questions, `runs` the run of each text, and `hashes` which build of that run, if a verdict says so. If several
    runs return a text, the first judged run has it.
    `states` has an entry for each nugget of the question of each text, laid end to end. `partly` marks the pairs for
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
        self.rows_of_forms: list[dict[str, int]] = [{} for _ in key.questions]
        self._owner: list[int] = []
        self.texts: list[str] = []
        self.runs: list[str] = []
        self.hashes: list[str | None] = []
        judged_rows: dict[tuple[int, str], int] = {}  # a text is judged once for each nugget
        pairs_judged = []
        for j in judgements:
            text = key.position[j.qid], j.text
            if text not in judged_rows:
                judged_rows[text] = self._row(text[0], normalised(j.text), j)
            pairs_judged.append((judged_rows[text], key.nugget_position[j.qid, j.nugget]))
        # An answer is judged once for each nugget, too. A text belongs to the first run that a verdict on it names.
        cut: dict[tuple[int, str], tuple[list[str], Ints]] = {}
        for j in of_answers:
            answer = key.position[j.qid], j.text
            if answer not in cut:
                texts = responses_in(j.text, split)
                rows_of_texts = [self._row(answer[0], normalised(text), j) for text in texts]
                cut[answer] = texts, np.array(rows_of_texts, dtype=np.int64)
        inside_of = [cut[key.position[j.qid], j.text] for j in of_answers]
        returned = [
            np.array(
                [self._row(q, t) for q, t in zip(run.question.tolist(), run.normalised_texts, strict=True)],
                dtype=np.int64,
            )
            for run in judged_runs
        ]
        # The first judged run that returned a text has it, and only then the run that a verdict names. A text that
        # several systems return is typical of none of them, and would mislead about a system that nobody judged.
        for run, rows_of_run in zip(reversed(judged_runs), reversed(returned), strict=True):
            for row in rows_of_run.tolist():
                self.runs[row], self.hashes[row] = run.name, None
        self.answer_of = np.arange(len(self._owner))  # the first judged answer that a text stands in, or itself
        for number, (_, inside) in enumerate(reversed(cut.values())):
            self.answer_of[inside] = -1 - number
        question = np.array(self._owner, dtype=np.int64)
        self.question = question.astype(np.int32)
        # There is a pair for each judged text and each nugget of its question.
        self._begin, _ = key.pairs(question)
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
        """The pairs that somebody was asked about: those that are decided, and all pairs of an answer that has the
        nugget somewhere and was read whole."""
        asked: Bools = self._read | (self.states != UNKNOWN)
        for position, _, inside in self._yes_on_answers:
            asked[self._shift[inside] + position] = True
        return asked

    def __call__(self, texts: Sequence[str], question: npt.NDArray[np.int32]) -> States:
        """The known state of each text (`text.normalised`) and each nugget of its question, laid end to end."""
        return self.of_forms(list(map(verdict_form_of_normalised, texts)), question)

    def of_run(self, run: Run) -> States:
        """Whether a run's answers have the nuggets of their questions: the state of each nugget of the key, by the
        verdicts on responses and on whole answers. Unknown is what these leave open."""
        pairs = self(run.normalised_texts, run.question)
        _, nugget = self._key.pairs(run.question)
        found: States = np.full(len(self._key.nuggets), NO, dtype=np.int8)
        for state in (PARTLY, UNKNOWN):
            found[nugget[pairs == state]] = state
        whole = self.answers.of_run(run)
        if whole is not None:
            found[whole != UNKNOWN] = whole[whole != UNKNOWN]
        found[nugget[pairs == YES]] = YES
        return found

    def rows(self, forms: Sequence[str], question: npt.NDArray[np.signedinteger]) -> Ints:
        """The position in `texts` of each verdict form, −1 if nobody judged it."""
        asked = zip(question.tolist(), forms, strict=True)
        return np.array([self.rows_of_forms[q].get(form, -1) for q, form in asked], dtype=np.int64)

    def of_forms(self, forms: Sequence[str], question: npt.NDArray[np.int32]) -> States:
        """The known state of each verdict form and each nugget of its question, laid end to end."""
        rows = self.rows(forms, question)
        begin, _ = self._key.pairs(question)
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
        is a no for all responses. If a found one were a yes for a single response only, the number of responses would
        give away which is which."""
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

    def _row(self, question: int, text: str, verdict: Judgement | None = None) -> int:
        row = self.rows_of_forms[question].setdefault(verdict_form_of_normalised(text), len(self._owner))
        if row == len(self._owner):
            self._owner.append(question)
            self.texts.append(text)
            self.runs.append((verdict.run if verdict else None) or "")
            self.hashes.append(verdict.run_hash if verdict else None)
        elif text < self.texts[row]:  # always the same one of several ways to write it, whatever the order of verdicts
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


def known_in(collection: Collection) -> VerdictIndex:
    """What its verdicts and its judged runs say."""
    split = collection.settings.answers.split
    return VerdictIndex(collection.key, collection.judgements, collection.judged_runs, split)
