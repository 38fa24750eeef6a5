"""One answer at a time, as other tools score: its question is looked up in the key, and it is scored alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.memory import make_run
from nuggeteer.collection.names import find_collection
from nuggeteer.display import Shown
from nuggeteer.errors import NoSuchName
from nuggeteer.measures import DEFAULT, parse
from nuggeteer.records import Nugget, number_or_none
from nuggeteer.reports.formatting import chance, number
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.text import escaped, normalised


@dataclass(frozen=True)
class GradedNugget:
    """A nugget of the question: whether the answer has it, how probable that is, and whether people said so."""

    nugget: Nugget
    found: bool
    known: bool
    probability: float | None

    def __str__(self) -> str:
        sure = "known" if self.known else "guess" if self.probability is None else chance(self.probability)
        name = f"{self.nugget.nugget}, {self.nugget.importance}, {sure}"
        return escaped(f"{'+' if self.found else '−'} {name}: {self.nugget.descriptions[0]}")

    def as_json(self) -> dict[str, Any]:
        nugget = self.nugget
        about = {"nugget": nugget.nugget, "importance": nugget.importance, "description": nugget.descriptions[0]}
        source = "known" if self.known else "guessed"
        return {**about, "found": self.found, "probability": self.probability, "source": source}


@dataclass(frozen=True, repr=False)
class GradedAnswer(Shown):
    """An answer's scores by name, the chosen one first, None where one is undefined; and its question's nuggets."""

    qid: str
    scores: dict[str, float | None]
    nuggets: tuple[GradedNugget, ...]

    @property
    def score(self) -> float | None:
        return next(iter(self.scores.values()))

    @property
    def missing(self) -> tuple[GradedNugget, ...]:
        """The vital nuggets that the answer has not."""
        return tuple(one for one in self.nuggets if one.nugget.importance == "vital" and not one.found)

    def __str__(self) -> str:
        """The score, and a line for each nugget: what is missing first, and what is vital before the rest."""
        order = sorted(self.nuggets, key=lambda one: (one.found, one.nugget.importance != "vital"))
        title = parse(next(iter(self.scores))).title
        return "\n".join([f"{title} {number(self.score)}", *map(str, order)])


class Grader(Shown):
    """A collection that scores single answers. It is read once, and its model is fitted once."""

    def __init__(self, collection: Path | str | None = None, measure: str = DEFAULT[0].name) -> None:
        read = read_collection(collection or find_collection())
        self._collection = replace(read, allow_empty=True)  # an empty answer is an answer
        chosen = parse(measure)
        self._scorer = Scorer(self._collection, [chosen, *(other for other in DEFAULT if other != chosen)])
        self._by_text = {
            normalised(question.text): question.qid for question in read.key.questions if question.text.strip()
        }

    def _summary(self) -> str:
        return self._collection._summary()

    def find(self, names: Iterable[object]) -> str:
        """The question that has one of these as its id or, if none has, as its text."""
        given = [str(name) for name in names if isinstance(name, str | int)]
        qids = [name for name in given if name in self._collection.key.position]
        qids += [self._by_text[name] for name in map(normalised, given) if name in self._by_text]
        if not qids:
            shown = ", ".join(repr(name[:60]) for name in given) or "nothing"
            raise NoSuchName(f"no question of the key has this id or text: {shown}")
        return qids[0]

    def grade(self, qid: str, answer: str) -> GradedAnswer:
        """The scores of one answer."""
        collection, key = replace(self._collection, problems=[]), self._collection.key
        score = self._scorer.score(self._scorer.read(make_run(collection, "answer", [(qid, answer)])))
        question, outcome, chance = key.position[qid], score.outcome, score.outcome.probability
        scores = {name: number_or_none(values[question]) for name, values in score.by_question.items()}
        nuggets = [
            GradedNugget(key.nuggets[i], bool(outcome.found[i]), bool(outcome.known[i]), number_or_none(chance[i]))
            for i in range(key.offsets[question], key.offsets[question + 1])
        ]
        return GradedAnswer(qid, scores, tuple(nuggets))
