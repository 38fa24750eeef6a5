"""What speaks for a guess and what against it: the matcher's explanation, with judged texts as they were written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from nuggeteer.collection.folder import Collection
from nuggeteer.formats.sentences import responses_in
from nuggeteer.matching.base import LOG_ODDS, Explanation, Matcher, SimilarText, WordEvidence
from nuggeteer.matching.marks import REMEMBERED, Marker
from nuggeteer.text import normalised, words

NEAR = 5  # words by which texts may differ and still be nearly the same
LONGEST = 300  # words of texts that are compared word by word; the time grows with the square


class Explainer:
    """Explains the scores of a collection's matcher, if the matcher has explanations. `worth` says what carried-over
    evidence adds to the log odds."""

    def __init__(
        self,
        matcher: Matcher,
        marker: Marker,
        collection: Collection,
        worth: Callable[[float], float] = float,
    ) -> None:
        self._matcher, self._marker, self._collection = matcher, marker, collection
        self._worth = worth
        self._written: tuple[int, dict[str, str]] = -1, {}  # of the question explained last
        self._whole: dict[tuple[str, int], Explanation | None] = {}

    def __call__(self, text: str, nugget: int, least: float = 0.0) -> Explanation | None:
        """The explanation of a text and a nugget, given by its position in the key. Judged texts that are less similar
        than `least` are left out. Whole explanations are kept, because JSON has many of them twice."""
        if (text, nugget) in self._whole:
            found = self._whole[text, nugget]
            return found if found is None else _with_similar(found, least)
        found = self._matcher.explain(text, nugget)
        if found is not None:
            found = _with_similar(found, least)
            similar_texts = tuple(self._as_written(similar, text, nugget) for similar in found.similar_texts)
            found = replace(found, words=self._weighed(found), similar_texts=similar_texts)
        if not least:
            self._whole[text, nugget] = found
        return found

    def _weighed(self, found: Explanation) -> tuple[WordEvidence, ...]:
        if found.unit != LOG_ODDS:
            return found.words
        carried = sum(word.weight for word in found.words)
        weight = self._worth(carried) / carried if carried else 0.0
        return tuple(word._replace(weight=word.weight * weight) for word in found.words)

    def _as_written(self, similar: SimilarText, text: str, nugget: int) -> SimilarText:
        question = int(self._collection.key.question[nugget])
        if question != self._written[0]:
            self._written = question, self._judged(question)
        written = self._written[1].get(similar.text, similar.text)
        marks = self._marker(written, nugget)
        return replace(similar, text=written, marks=marks, differing_words=differing_words(text, written))

    def _judged(self, question: int) -> dict[str, str]:
        """The judged texts of a question as they were written, by their normalised text."""
        result: dict[str, str] = {}
        for run in self._collection.judged_runs:
            own = run.own(question)
            for identity, text in zip(run.normalised_texts[own], run.texts[own], strict=True):
                result.setdefault(identity, text)
        for text in self._judged_texts.get(self._collection.key.questions[question].qid, ()):
            result.setdefault(normalised(text), text)
        return result

    @cached_property
    def _judged_texts(self) -> dict[str, dict[str, None]]:
        """The texts in the ledgers, by qid, each once: a text is judged for each nugget. Whole answers are cut into
        responses, as they are for learning."""
        result: dict[str, dict[str, None]] = {}
        answers: dict[tuple[str, str], None] = {}
        for judgement in self._collection.judgements:
            if judgement.scope == "answer":
                answers[judgement.qid, judgement.text] = None
            else:
                result.setdefault(judgement.qid, {})[judgement.text] = None
        for qid, answer in answers:
            parts = responses_in(answer, self._collection.settings.answers.split)
            result.setdefault(qid, {}).update(dict.fromkeys(parts))
        return result


def _with_similar(found: Explanation, least: float) -> Explanation:
    near = tuple(similar for similar in found.similar_texts if similar.similarity >= least)
    return replace(found, similar_texts=near)


@lru_cache(maxsize=REMEMBERED)
def _counted(text: str) -> tuple[list[str], Counter[str]]:
    found = words(text)
    return found, Counter(found)


@lru_cache(maxsize=REMEMBERED)
def differing_words(first: str, second: str) -> int | None:
    """How many words would have to be inserted, deleted or replaced to make one text the other; None unless the texts
    are nearly the same."""
    (old, one), (new, other) = _counted(first), _counted(second)
    longer = max(len(old), len(new))
    if longer > LONGEST or longer - min(len(old), len(new)) > NEAR:
        return None
    counts = one, other
    if max((counts[0] - counts[1]).total(), (counts[1] - counts[0]).total()) > NEAR:
        return None
    edits = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    number = sum(max(i2 - i1, j2 - j1) for kind, i1, i2, j1, j2 in edits if kind != "equal")
    return number if number <= NEAR and 2 * number < longer else None
