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
from nuggeteer.measures import DEFAULT, applicable, headline, parse
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

    @property
    def forbidden(self) -> bool:
        return self.nugget.importance == "forbidden"

    @property
    def claimed(self) -> bool:
        """Whether the answer claims it although it is forbidden."""
        return self.forbidden and self.found

    @property
    def missing(self) -> bool:
        return not self.forbidden and not self.found

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
        return tuple(one for one in self.nuggets if one.nugget.importance == "vital" and one.missing)

    @property
    def claimed(self) -> tuple[GradedNugget, ...]:
        """The forbidden nuggets that the answer claims."""
        return tuple(one for one in self.nuggets if one.claimed)

    @property
    def title(self) -> str:
        """What the chosen measure is called."""
        return parse(next(iter(self.scores))).title

    def __str__(self) -> str:
        """The score, and a line for each nugget: what is claimed though forbidden first, then what is missing, and what
        is vital before the rest."""
        order = sorted(
            self.nuggets,
            key=lambda one: (not one.claimed, not one.missing, one.forbidden, one.nugget.importance != "vital"),
        )
        return "\n".join([f"{self.title} {number(self.score)}", *map(str, order)])


class Grader(Shown):
    """A collection that scores single answers. It is read once, and its model is fitted once."""

    def __init__(self, collection: Path | str | None = None, measure: str | None = None) -> None:
        """`measure` is the chosen one. Without it, it is the first one of every command."""
        read = read_collection(collection or find_collection())
        self._collection = replace(read, allow_empty=True)  # an empty answer is an answer
        chosen = headline(read.key) if measure is None else parse(measure)
        others = (other for other in applicable(DEFAULT, read.key) if other != chosen)
        self._scorer = Scorer(self._collection, [chosen, *others])
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
