"""Judges (language models) beside a matcher: their verdicts are evidence, and people's verdicts say how strong.

A judge's verdicts come from a file (`formats.matches`), or are a machine's in `judgements/`. For each pair, the default
model is told whether a judge said anything, and how much of a yes it was: a yes is 1, partly 0, a no −1. It learns what
both are worth together with everything else (`thresholds.prior`).

A no on a whole answer is a no on each response inside. A yes or partly counts for the likeliest response, as with
people. Texts are the same if people's verdicts would hold for both (`text.verdict_form`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nuggeteer.errors import NuggeteerError, Problem, stop_at_errors
from nuggeteer.formats.matches import ASSIGNED, Match, read_matches
from nuggeteer.formats.sentences import responses_in
from nuggeteer.matching.base import Around, Matcher, Material
from nuggeteer.records import AnswerKey, Judgement, Vector, ragged
from nuggeteer.settings import Split
from nuggeteer.text import likeliest, normalised, verdict_form_of_normalised, words


@dataclass(frozen=True)
class Judge:
    """A judge, and its matches: its verdicts on pairs."""

    name: str
    matches: tuple[Match, ...]

    @cached_property
    def digest(self) -> str:
        """A hash of all that it said, whatever the order."""
        lines = sorted(f"{m.nugget}\t{m.text}\t{m.score!r}\t{m.yes!r}\t{m.whole}\n" for m in self.matches)
        return blake2b("".join(lines).encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def read_judges(
    judges: Iterable[str], key: AnswerKey, machine: Iterable[Judgement], every: bool = False
) -> tuple[tuple[Judge, ...], list[Problem]]:
    """The judges with these names in settings, and the problems in their files. With `every`, a judge has all the
    verdicts in its file, even those that it replaced later."""
    problems: list[Problem] = []
    by_name: dict[str, list[Judgement]] = {}
    for judgement in machine:
        by_name.setdefault(judgement.assessor or "", []).append(judgement)
    found: dict[str, Judge] = {}
    for named in dict.fromkeys(judges):
        if named.endswith(".jsonl"):
            said = read_matches(Path(named), key, problems, every)
            name = Path(named).stem
        elif named in by_name:
            said, name = _as_matches(by_name[named], key), named
        else:
            known = ", ".join(filter(None, by_name)) or "none"
            raise NuggeteerError(
                f"[match] judges: no machine's verdicts in judgements/ have the assessor {named!r}; there are: {known} "
                "(the name of a file ends in .jsonl)"
            )
        found[name if name not in found else named] = Judge(name if name not in found else named, tuple(said))
    stop_at_errors(problems)
    return tuple(found.values()), problems


def _as_matches(judgements: Sequence[Judgement], key: AnswerKey) -> list[Match]:
    """A machine's verdicts, the latest of each pair."""
    latest: dict[tuple[int, str], Match] = {}
    for j in sorted(judgements, key=lambda j: j.at or ""):
        score = ASSIGNED["support"] if j.verdict else ASSIGNED["partial_support" if j.partial else "not_support"]
        nugget, text = key.nugget_position[j.qid, j.nugget], normalised(j.text)
        where = key.position[j.qid], nugget, text, j.text
        latest[nugget, text] = Match(*where, score, float(j.verdict), j.scope == "answer", j.run, j.at)
    return list(latest.values())


class Panel(Around):
    """A matcher, with what judges say."""

    def __init__(
        self, matcher: Matcher, key: AnswerKey, judges: Sequence[Judge], split: Split, notes: tuple[str, ...] = ()
    ) -> None:
        self.matcher, self.heard, self._key, self._notes = matcher, tuple(judges), key, notes
        self.uses_judgements = matcher.uses_judgements
        self._row: dict[tuple[int, str], int] = {}
        scores: list[Mapping[tuple[int, int], float]] = [self._scores(judge, split) for judge in judges]
        question = np.array([question for question, _ in self._row], dtype=np.int64)
        self._begin, _ = key.pairs(question)
        # For each pair with a verdict, the score of each judge, NaN without one. After the last, a row for no verdict
        # at all.
        most = int(key.counts.max(initial=0))
        self._table = np.full((int(self._begin[-1]) + most, len(judges)), np.nan, dtype=np.float32)
        shift = self._begin[:-1] - key.offsets[question]
        for column, own in enumerate(scores):
            for (row, nugget), score in own.items():
                self._table[shift[row] + nugget, column] = score

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.matcher.notes, *self._notes)

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(judge.name for judge in self.heard)

    @property
    def digests(self) -> tuple[str, ...]:
        return tuple(judge.digest for judge in self.heard)

    def opinions(self, texts: Sequence[str], question: npt.NDArray[np.signedinteger]) -> Vector:
        asked = zip(question.tolist(), map(verdict_form_of_normalised, texts), strict=True)
        rows = np.array([self._row.get(text, -1) for text in asked], dtype=np.int64)
        score = self._table[ragged(self._begin[rows], self._key.counts[question])[1]]
        said = ~np.isnan(score)
        return np.stack([said, np.where(said, 2 * score - 1, 0.0)], axis=2).reshape(len(score), 2 * len(self.heard))

    def _scores(self, judge: Judge, split: Split) -> dict[tuple[int, int], float]:
        """The judge's score of each (row of a text, nugget)."""
        own: dict[tuple[int, int], float] = {}
        inside: dict[tuple[int, int], float] = {}
        parts: dict[str, tuple[list[str], list[set[str]]]] = {}
        for match in judge.matches:
            own[self._row_of(match.question, match.text), match.nugget] = match.score
            if not match.whole:
                continue
            if match.written not in parts:
                texts = responses_in(match.written, split)
                parts[match.written] = texts, [set(words(text)) for text in texts]
            texts, words_in = parts[match.written]
            if match.score >= ASSIGNED["partial_support"] and texts:
                texts = [texts[likeliest(words_in, self._key.nuggets[match.nugget].descriptions)]]
            for text in texts:
                place = self._row_of(match.question, normalised(text)), match.nugget
                inside[place] = max(match.score, inside.get(place, 0.0))
        return {**inside, **own}

    def _row_of(self, question: int, text: str) -> int:
        return self._row.setdefault((question, verdict_form_of_normalised(text)), len(self._row))


def with_judges(matcher: Matcher, material: Material) -> Matcher:
    """The matcher with the judges that the settings name and that said something; unchanged if there are none."""
    judges, problems = read_judges(material.settings.judges, material.key, material.machine)
    judges = tuple(judge for judge in judges if judge.matches)
    if not judges:
        return matcher
    return Panel(matcher, material.key, judges, material.split, tuple(map(str, problems)))
