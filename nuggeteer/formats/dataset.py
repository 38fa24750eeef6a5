"""A foreign dataset, gathered into a bundle: questions that may have no ids, answers, right answers, facts.

- A question without an id is the one of the collection with the same text (`text.normalised`), or a new one: q1, q2,
  and so on.
- A run answers a question once. A second answer belongs to the run NAME-2, and so on, and a warning says so.
- A run that the file names, by a model or a provider, is a system of its own and listed in the manifest. Where the
  run's name is not the system's, as of NAME-2, its group is the system's name: both are builds of it. A run that is
  called by the user or like the file is not listed: such runs are builds of one system.
- A right answer (a reference) becomes the nuggets of a question that has none: one for each sentence; several right
  answers in a list are the descriptions of one nugget. Of different references in several rows only the first is used:
  nobody knows whether they say the same. A reference that is a letter of a choice, or only yes or no, states no fact
  and is left out. The nuggets have `"source": "reference"`.
- An answer or a question without words is kept. A warning counts these, and those that are missing.

Which key of an object, or which column of a table, is the question, the answer and so on, its name says: its role. The
key `answer` is the reference where another name is the answer's and none is the reference's: in many data sets it is
the right answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from nuggeteer.display import counted
from nuggeteer.errors import NuggeteerError, Problem, did_you_mean
from nuggeteer.formats import sentences
from nuggeteer.formats.bundle import Bundle, as_id, as_json
from nuggeteer.records import Importance, Judgement, Nugget, Pair, Question, Response, RunInfo, Scope
from nuggeteer.text import normalised

NO_FACT = re.compile(r"\W*(?:[a-z]|yes|no|true|false|n/?a|none|unknown)\W*", re.IGNORECASE)
SOURCE = "reference"
# The names of each role: those of RAGAS (both its old and its new ones), DeepEval, promptfoo's variables and common
# spreadsheets. Case, `_`, `-` and blanks do not matter.
NAMES: Mapping[str, tuple[str, ...]] = {
    "qid": ("qid", "questionid", "queryid", "topicid", "narrativeid", "sampleid"),
    "row": ("id",),  # an id of the question only if each question has one
    "question": ("question", "userinput", "input", "query", "prompt", "instruction", "userquery", "topic"),
    "answer": (
        *("response", "actualoutput", "output", "generatedanswer", "modelanswer", "systemanswer", "prediction"),
        *("generatedtext", "completion", "modeloutput", "llmanswer", "answer"),
    ),
    "reference": (
        *("reference", "groundtruth", "groundtruths", "expectedoutput", "expected", "referenceanswer", "goldanswer"),
        *("goldenanswer", "idealanswer", "correctanswer", "target", "targets", "gold", "ideal"),
    ),
    "run": ("run", "runid", "system", "systemid", "model", "provider"),
    "nugget": ("nugget", "nuggettext", "fact", "criterion", "claim", "statement"),
    "nugget_id": ("nuggetid", "factid"),
    "docid": ("docid", "documentid"),
}
_SHOWN = 20  # columns that are named
_BREAKS = re.compile(r"[\s_-]+")


class Dataset:
    """What is gathered of a file."""

    def __init__(self, path: Path, bundle: Bundle, present: Bundle) -> None:
        self.path, self.bundle, self.present = path, bundle, present
        self._by_text = {normalised(q.text): q.qid for q in present.questions.values() if q.text.strip()}
        self._references: dict[str, list[str]] = {}
        self._other_references: list[str] = []  # the questions of those that differ from the first
        self._facts: dict[str, dict[str, Nugget]] = {}
        for nugget in present.nuggets:
            for text in nugget.descriptions:
                self._facts.setdefault(nugget.qid, {}).setdefault(normalised(text), nugget)
        self._number: Counter[str] = Counter(nugget.qid for nugget in present.nuggets)
        self._answered: set[tuple[str, str]] = set()
        self._again: Counter[str] = Counter()
        self._named = set[str]()  # the runs that the file names
        self._copies = dict[str, str]()  # the runs of second answers, and whose they are
        self._new = 0  # questions that the collection does not have
        self._unanswered: list[tuple[str, str]] = []
        self._verdicts: dict[Pair, list[Judgement]] = {}

    def question(self, text: str, qid: Any = None, otherwise: Any = None) -> str | None:
        """The id of a question, which is added if it is new. None if it can have none. `otherwise` is its id if no
        question has this text yet."""
        same = normalised(text)
        qid = otherwise if qid is None and same not in self._by_text else qid
        name = as_id(qid) if qid is not None else self._by_text.get(same)
        if name is None:
            if qid is not None or not same:
                return None
            name = self._new_id()
        if name not in self.bundle.questions:
            self._new += name not in self.present.questions
            text = text if text.strip() else getattr(self.present.questions.get(name), "text", "")
            self.bundle.add_question(Question(name, text, kind="rag"))
        if same:
            self._by_text.setdefault(same, name)
        return name

    def _new_id(self) -> str:
        first = len(self.present.questions) + self._new + 1
        names = (f"q{number}" for number in count(first))
        return next(n for n in names if n not in self.present.questions and n not in self.bundle.questions)

    def answer(
        self,
        run: str,
        qid: str,
        text: str | Sequence[str],
        docid: str | None = None,
        system: str | None = None,
        **extra: Any,
    ) -> str:
        """Add an answer, in one response or several. `system` is the name of the system that the file gives; without
        one, the answer is of a build of the user's own. Returns the name of its run."""
        if run in self._copies:
            what = f"{self._copies[run]!r} answers a question again, and its second answers would be a run {run!r} too"
            raise NuggeteerError(f"{self.path}: has a run {run!r}; {what}; rename one of the two")
        self._named.add(run)
        name, number = run, 1
        while (name, qid) in self._answered or (number > 1 and name in self._named):
            number += 1
            name = f"{run}-{number}"
        if number > 1:
            self._again[run] += 1
            self._copies[name] = run
        self._answered.add((name, qid))
        if system:
            self.bundle.runs.setdefault(name, RunInfo(name, group=None if name == system else system))
        own = self.bundle.responses.setdefault(name, [])
        for place, one in enumerate([text] if isinstance(text, str) else text):
            own.append(Response(qid, one, docid, extra={} if place else extra))
        return name

    def no_answer(self, run: str, qid: str) -> None:
        """Remember that a run has no answer to a question where it should have one: null, or nothing at all."""
        self._unanswered.append((run, qid))

    def find_answer(self, run: str, qid: str, text: str) -> Scope | None:
        """What a text is of the answer that the collection's run of that name has: the whole, one response, or none.

        Where it is one, the run has answered the question.
        """
        responses = [one.text for one in self.present.responses.get(run, []) if one.qid == qid]
        whole = bool(responses) and normalised("\n".join(responses)) == normalised(text)
        if text not in responses and not whole:
            return None
        self._answered.add((run, qid))
        self._named.add(run)
        return "response" if text in responses else "answer"

    def reference(self, qid: str, value: Any) -> None:
        """Remember right answers to a question: a text, or a list of alternatives."""
        texts = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str) and one.strip()]
        if texts and all(NO_FACT.fullmatch(text) for text in texts):
            self.bundle.left_out["references without a fact (a letter, yes or no)"] += 1
        elif texts:
            first = self._references.setdefault(qid, texts)
            if set(map(normalised, texts)) != set(map(normalised, first)):
                self._other_references.append(qid)

    def has(self, qid: str, nugget: str) -> bool:
        """Whether a question has a nugget with this id."""
        return any(one.nugget == nugget for one in self._facts.get(qid, {}).values())

    def fact(
        self,
        qid: str,
        texts: Sequence[str],
        importance: Importance = "vital",
        weight: float | None = None,
        name: str | None = None,
        **extra: Any,
    ) -> Nugget:
        """The nugget with these descriptions, which is added if it is new. `name` is its id, if it has one."""
        facts = self._facts.setdefault(qid, {})
        same = [facts.get(normalised(text)) for text in texts]
        if name is None and (found := same[0]) is not None and all(one is found for one in same):
            return found
        self._number[qid] += 1
        number = self._number[qid]
        taken = {nugget.nugget for nugget in facts.values()}
        while str(number) in taken:
            number += 1
        nugget = Nugget(qid, name or str(number), tuple(texts), importance, weight, extra=extra)
        for text in texts:
            facts.setdefault(normalised(text), nugget)
        self.bundle.nuggets.append(nugget)
        return nugget

    def verdict(self, judgement: Judgement) -> None:
        """Add a verdict, once."""
        if judgement not in self._verdicts.setdefault(judgement.pair, []):
            self._verdicts[judgement.pair].append(judgement)
            self.bundle.judgements.append(judgement)

    def finish(self) -> Bundle:
        """The bundle, with nuggets from references, and with notes on what was read."""
        unused = set[str]()
        for qid, texts in self._references.items():
            if self._facts.get(qid):
                self.bundle.unused["references of questions that have nuggets"] += 1
                unused.add(qid)
                continue
            different: dict[str, str] = {}
            for text in texts:
                different.setdefault(normalised(text), text)
            texts = list(different.values())
            for one in [texts] if len(texts) > 1 else [[text] for text in sentences.split(texts[0])]:
                self.fact(qid, one, source=SOURCE)
        others = Counter(qid for qid in self._other_references if qid not in unused)
        what = f"with {counted(others.total(), 'other reference')} in later rows, left out"
        remedy = "the first one is kept; if another is right too, write it as a description of its nugget"
        self.bundle.warn_of_questions(self.path, list(others), what, remedy)
        for run, times in self._again.items():
            again = counted(times, "question")
            what = f"{run} answers {again} again; second answers are the run {run}-2, and so on"
            self.bundle.warn(self.path, None, what, "fine if the questions were asked several times")
        self._warn_of_nothing()
        return self.bundle

    def _warn_of_nothing(self) -> None:
        """Say what has no words, so that nobody takes a 0 for the system's."""
        without = [question.qid for question in self.bundle.questions.values() if not question.text.strip()]
        remedy = "who judges will see the answers alone; add the questions"
        self.bundle.warn_of_questions(self.path, without, "without a text", remedy)
        self.bundle.warn_of_empty_answers(self.path)
        remedy = "each scores 0; add what the system said"
        nowhere = [qid for run, qid in self._unanswered if (run, qid) not in self._answered]
        self.bundle.warn_of_questions(self.path, nowhere, "whose answer is null or missing", remedy)


def text_of(value: Any) -> str | None:
    """A text as it is, and another value as JSON; None for nothing."""
    return value if value is None or isinstance(value, str) else as_json(value)


def rest_of(row: Mapping[str, Any], used: Sequence[str], bundle: Bundle) -> dict[str, Any]:
    """The keys of a row that nothing uses, as the record's extra key. They are counted."""
    rest = {key: value for key, value in row.items() if key not in used and value is not None}
    bundle.unused.update(rest.keys())
    return {"as_found": rest} if rest else {}


def roles_of(keys: Iterable[str], chosen: Mapping[str, str] | None = None) -> dict[str, str]:
    """The key of each role among these keys. `chosen` are those that the user names."""
    by_form: dict[str, str] = {}
    for key in keys:
        by_form.setdefault(_BREAKS.sub("", key).casefold(), key)
    found = {
        role: by_form[first]
        for role, names in NAMES.items()
        if (first := next((name for name in names if name in by_form), None)) is not None
    }
    other = by_form.get("answer")
    if "reference" not in found and other is not None and found["answer"] != other:
        found["reference"] = other
    if chosen:
        found = {role: key for role, key in found.items() if key not in chosen.values()} | dict(chosen)
    return found


def choose(columns: Sequence[str]) -> dict[str, str]:
    """The roles that the user gives to columns: `role=column`."""
    chosen = dict(column.split("=", 1) for column in columns if "=" in column)
    for column in columns:
        if "=" not in column:
            raise NuggeteerError(f"columns: {column!r} is not ROLE=NAME, such as answer=reply")
    for role in chosen:
        if role not in NAMES or role == "row":
            roles = [role for role in NAMES if role != "row"]
            raise NuggeteerError(f"columns: {did_you_mean(role, roles)}{role!r} is none of {', '.join(roles)}")
    return chosen


def name_absent(path: Path, chosen: Mapping[str, str], columns: Sequence[str], problems: list[Problem]) -> None:
    """Errors about columns, or keys, that the user gives a role and that are not among these."""
    for role, column in chosen.items():
        if column not in columns:
            shown = ", ".join(columns[:_SHOWN]) + (", ..." if len(columns) > _SHOWN else "")
            what = f"--columns {role}={column}: there is no column {column!r}"
            problems.append(Problem(str(path), None, what, f"{did_you_mean(column, columns)}the columns are: {shown}"))


def present(row: Mapping[str, Any], roles: Mapping[str, str], role: str) -> Any:
    """What an object has in this role; None if nothing."""
    return row.get(roles[role]) if role in roles else None
