"""What an agent may ask about a collection. Nothing is written, not even a cache, and nothing outside of it is read.

Every result is JSON. Its texts come from files, among them answers of the system under test, and may be hostile to
whoever reads them: characters that are not seen are written out, and long texts are cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff_matched_runs
from nuggeteer.comparing.sightings import explained, sightings_of
from nuggeteer.errors import NoSuchName, NuggeteerError, did_you_mean, errors_in
from nuggeteer.formats.cache import FOLDER, reading_only
from nuggeteer.history.ruling import rule_by_settings
from nuggeteer.history.store import History
from nuggeteer.history.trend import nugget_timelines, trends
from nuggeteer.judging.reading_order import suggest
from nuggeteer.measures import DEFAULT, applicable, headline, parse
from nuggeteer.reports import changes, history, problems, scores
from nuggeteer.reports.suggestions import SuggestedVerdict
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.text import escaped

LONGEST = 2000  # characters of a text
MOST = 200  # entries of a list
WORDS = 20  # of an explanation, those with the largest weights


class Reading:
    """A collection, read again when a file of it has changed."""

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve()
        self._state: object = None
        self._scorers: dict[str | None, Scorer] = {}
        self._matched: dict[tuple[str, str], MatchedRun] = {}
        self._lock = Lock()

    def check(self, most: int = 50) -> dict[str, Any]:
        """What the collection has (runs, questions, nuggets, verdicts), and its problems by file and line.
        Begin here: the other tools take runs by these names. `most` problems are listed."""
        with self._reading():
            found = check(self.root)
            listed = problems.as_json(found)["problems"]
            result: dict[str, Any] = {"errors": len(errors_in(found))}
            if not result["errors"]:
                collection = self._scorer().collection
                sizes = {"questions": len(collection.key.questions), "nuggets": len(collection.key.nuggets)}
                verdicts = {"verdicts": len(collection.judgements), "machine_verdicts": len(collection.machine)}
                result |= {"runs": list(collection.run_names), **sizes, **verdicts}
            return _as_shown({**result, **_first_rows("problems", listed, most)})

    def score(self, run: str, measure: str | None = None, most: int = 20) -> dict[str, Any]:
        """The scores of a run, each with a 95 % interval and its two parts: from guessed verdicts (judging),
        and from the choice of questions (sampling). `lowest_questions` are the `most` questions with the lowest
        score by `measure`, such as f3, recall, precision, pyramid_f3; by default f3, or rubric where the key is one."""
        with self._reading():
            scorer = self._scorer(measure)
            scored = scorer.scores([scorer.score(self._read(scorer, run))])
            result = scores.as_json(scored)
            (own,) = result["runs"]
            del own["nuggets"]
            name = scorer.measures[0].name
            rows = sorted(own.pop("per_question"), key=lambda row: (row[name] is None, row[name]))
            return _as_shown({**result, "runs": [{**own, **_first_rows("lowest_questions", rows, most)}]})

    def diff(self, old: str, new: str, measure: str | None = None, most: int = 20) -> dict[str, Any]:
        """What changed from the run `old` to the run `new`: the difference of each score with its interval and
        p, and the nuggets lost and gained with their probability and the passages. `doubtful` changes are less
        probable than not. At most `most` of each are listed, those with the largest effect first. `decision` is
        what the collection's gates say of it, PASS, FAIL or UNDECIDED, and `reason` why."""
        with self._reading():
            scorer = self._scorer(measure)
            changed = diff_matched_runs(scorer, self._read(scorer, old), self._read(scorer, new))
            ruling = rule_by_settings(scorer.collection, changed)
            result = {**changes.as_json(changed, ruling), "reason": ruling.reason}
            result["kept"] = len(result["kept"])
            for name in ("per_question", "passed"):
                del result[name]
            for name in ("lost", "gained", "doubtful"):
                result |= _first_rows(name, result[name], most)
            return _as_shown(result)

    def history(self, measure: str | None = None, most: int = 20) -> dict[str, Any]:
        """The last `most` recorded builds: the trend, when it changed, and nuggets that were lost or flicker."""
        with self._reading():
            recorded = History.of(self.root)
            found = trends(recorded, measure)
            limit = _check_most(most)
            shown = [(trend, nugget_timelines(recorded, trend.builds[-limit - 1 :])) for trend in found]
            return _as_shown({**history.as_json(shown, limit), "problems": list(map(str, recorded.problems))})

    def suggest(
        self, run: str, against: str | None = None, measure: str | None = None, most: int = 10
    ) -> dict[str, Any]:
        """The answers whose reading would narrow the score of `run`, or its difference to `against`, most, and the
        nuggets to look for in them. A person judges them with `nuggeteer judge RUN`; an agent does not."""
        with self._reading():
            scorer = self._scorer(measure)
            read = [self._read(scorer, name) for name in (run, against) if name is not None]
            asked = suggest(scorer, read[0], scorer.measures[0], _check_most(most), *read[1:])
            rows = [
                {"description": scorer.key.nuggets[one.nugget].descriptions[0]}
                | SuggestedVerdict.of(scorer.key, [matched.run for matched in read], one).as_data()
                for one in asked
            ]
            return _as_shown({"measure": scorer.measures[0].name, "suggestions": rows})

    def explain(self, run: str, qid: str, nugget: str) -> dict[str, Any]:
        """Whether the answer of `run` to the question `qid` has a nugget, known or guessed, with what
        probability, by which passage, and which words and judged texts speak for it and against it."""
        with self._reading():
            scorer = self._scorer()
            key = scorer.key
            place = key.nugget_position.get((qid, nugget))
            if place is None:
                known = [name for own, name in key.nugget_position if own == qid] or list(key.position)
                what = f"question {qid!r} has no nugget {nugget!r}" if qid in key.position else f"no question {qid!r}"
                raise NoSuchName(f"{what}; there are: {', '.join(known[:MOST])}")
            matched = self._read(scorer, run)
            outcome = scorer.find(matched)
            seen = sightings_of(scorer.marker, matched, outcome, np.array([place]))[place]
            sighting = explained(scorer.explainer, seen, place)
            found = changes.sighted(sighting).as_data()
            if found["explanation"] is not None:
                del found["explanation"]["words"][WORDS:]
            about = {"question": key.questions[key.question[place]].text, "importance": key.nuggets[place].importance}
            return _as_shown({**about, "descriptions": list(key.nuggets[place].descriptions), **found})

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """One request at a time, which writes nothing. What was read before a change is forgotten."""
        with self._lock, reading_only():
            if (state := self._files()) != self._state:
                self._state = state
                self._scorers.clear()
                self._matched.clear()
            yield

    def _files(self) -> list[tuple[str, int, int]]:
        found = []
        for path in sorted(self.root.rglob("*")):
            if FOLDER not in path.parts and path.is_file():
                about = path.stat()
                found.append((str(path), about.st_size, about.st_mtime_ns))
        return found

    def _scorer(self, measure: str | None = None) -> Scorer:
        """The scorer of a measure; of the first one of every command, if none is named."""
        name = None if measure is None else parse(measure).name
        if name not in self._scorers:
            collection = read_collection(self.root)
            first = headline(collection.key) if name is None else parse(name)
            if first.name not in self._scorers:
                others = (other for other in applicable(DEFAULT, collection.key) if other.name != first.name)
                self._scorers[first.name] = Scorer(collection, [first, *others])
            self._scorers[name] = self._scorers[first.name]
        return self._scorers[name]

    def _read(self, scorer: Scorer, run: str) -> MatchedRun:
        """A run of the collection, by its name: no other file is read."""
        names = scorer.collection.run_names
        if run not in names:
            raise NoSuchName(f"no run {run!r}; {did_you_mean(run, names)}there are: {', '.join(names)}")
        place = (scorer.measures[0].name, run)
        if place not in self._matched:
            self._matched[place] = scorer.read(run)
        return self._matched[place]


def _check_most(most: int) -> int:
    if not 1 <= most <= MOST:
        raise NuggeteerError(f"most is {most}; from 1 to {MOST} can be shown")
    return most


def _first_rows(name: str, rows: Sequence[Any], most: int) -> dict[str, Any]:
    """The first rows, and how many there are."""
    return {name: list(rows[: _check_most(most)]), f"{name}_in_all": len(rows)}


def _as_shown(result: dict[str, Any]) -> dict[str, Any]:
    return {name: as_shown(value) for name, value in result.items()}


def as_shown(value: Any) -> Any:
    """The same with every text on one line, nothing hidden in it, cut to a readable length."""
    if isinstance(value, str):
        shown = escaped(value[: LONGEST + 1])
        return shown if len(value) <= LONGEST else f"{shown[:LONGEST]}… ({len(value):,} characters in all)"
    if isinstance(value, dict):
        return {as_shown(key): as_shown(own) for key, own in value.items()}
    return [as_shown(own) for own in value] if isinstance(value, list | tuple) else value
