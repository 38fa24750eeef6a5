"""What speaks for a guess and what against it: the matcher's explanation, with judged texts as they were written."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from nuggeteer.collection.folder import Collection
from nuggeteer.matching.base import Explanation, Matcher, SimilarText
from nuggeteer.matching.marks import Marker
from nuggeteer.records import Judgement
from nuggeteer.text import normalised


class Explainer:
    """Explains the scores of a collection's matcher, if the matcher has explanations."""

    def __init__(self, matcher: Matcher, marker: Marker, collection: Collection) -> None:
        self._matcher, self._marker, self._collection = matcher, marker, collection
        self._written: dict[int, dict[str, str]] = {}

    def __call__(self, text: str, nugget: int) -> Explanation | None:
        """The explanation of a text and a nugget, given by its position in the key."""
        found = self._matcher.explain(text, nugget)
        if found is None or not found.similar_texts:
            return found
        return replace(found, similar_texts=tuple(self._as_written(similar, nugget) for similar in found.similar_texts))

    def _as_written(self, similar: SimilarText, nugget: int) -> SimilarText:
        question = int(self._collection.key.question[nugget])
        if question not in self._written:
            self._written[question] = self._judged(question)
        text = self._written[question].get(similar.text, similar.text)
        return replace(similar, text=text, marks=self._marker(text, nugget))

    def _judged(self, question: int) -> dict[str, str]:
        """The judged texts of a question as they were written, by their normalised text."""
        result: dict[str, str] = {}
        for run in self._collection.judged_runs:
            own = slice(*run.offsets[question : question + 2])
            for identity, text in zip(run.normalised_texts[own], run.texts[own], strict=True):
                result.setdefault(identity, text)
        for judgement in self._judgements.get(self._collection.key.questions[question].qid, ()):
            result.setdefault(normalised(judgement.text), judgement.text)
        return result

    @cached_property
    def _judgements(self) -> dict[str, list[Judgement]]:
        result: dict[str, list[Judgement]] = {}
        for judgement in self._collection.judgements:
            result.setdefault(judgement.qid, []).append(judgement)
        return result
