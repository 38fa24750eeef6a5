"""TREC QA's answer keys to definition, 'other' and relationship questions.

A key has one nugget per line, under a head for each question or with the question's id in front:

    Qid 87.8: 'other' question for target Enrico Fermi          87.8 1 vital belived in partical's ...
    1 vital belived in partical's existence                     87.8 3 okay Achieved the first ...
    3 okay Achieved the first controlled nuclear chain reaction

A head has the question's text, which may continue on the lines before the first nugget. Such a line that starts with a
small number is taken for a broken nugget. `columns` sets a different order, for example
`qid,nugget,importance,weight,text` (`_` is skipped).

Several assessors' votes stand behind the text, a column each: 1 for vital, 0 for okay, or a number between. They are
read below a line that names the assessors, `Nugget 0 1 2 ...` (Dang & Lin 2007, figure 3), if `columns` ends in
`votes`, or if every nugget of the file has at least two columns of 0 and 1. The first two kinds of key may lack the
nuggets' ids and importance. Then they are numbered, and the first assessor's vote is the importance. Other columns of 0
and 1 stay part of the text, and are reported.

If a file has no question's id at all (Marton & Radul 2006, figure 2), questions are numbered. Each begins with its
text, before nugget 1 or the head of a table.

These are accepted: tabs or blanks, `ok` for `okay`, any case of `vital`, `Qid` with or without a colon, blank lines,
lines that start with `#`, and a repeated head. Lines that are not UTF-8 are read as Windows-1252. Every other line is
kept aside and reported. If the numbers of nuggets start again after such a line, it was probably a head. The nuggets up
to the next head are then kept aside too.

These are not written, because the files cannot hold them: votes, weights and tags; groups, and what is forbidden; a
question's template, and its kind and target unless its text names them; extra keys. Several descriptions are joined
with ` / `. White space becomes single blanks. Nuggets whose ids are not numbers are numbered in their order. The
importance `unrated` is written and read, although TREC does not have it. Ids with blanks or a leading `#` are refused.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path

from nuggeteer.formats.bundle import Bundle, as_id
from nuggeteer.formats.objects import Opening
from nuggeteer.formats.trec_qa import SHARE, content_lines, fields_of, id_field, layout, most_fit, number_of, numbered
from nuggeteer.records import Importance, Nugget, Question, Vote
from nuggeteer.text import one_line

COLUMNS = ("qid", "nugget", "importance", "text")

# A colon ends the id, which may have colons too. Without a colon the id needs a digit, or the line is prose.
_HEAD = re.compile(r"qid:?\s+(?:(\S+?)\s*:(?=\s|$)|(?=[^\s:]*\d)([^\s:]+):?)\s*(.*)", re.IGNORECASE | re.DOTALL)
_TABLE = re.compile(r"nugget((?:\s+\S+)+)", re.IGNORECASE)
_ASKED = re.compile(r"'(\w+)' question for target (.+)")
_BROKEN_NUGGET = re.compile(r"[0-9]{1,2}[a-z]?\s")
_FIRST = re.compile(r"0*[01][a-z]?")
_VOTE = re.compile(SHARE)
_BIT = re.compile("[01]")
_WITH_QID, _UNDER_HEAD = layout(COLUMNS, ()), layout(COLUMNS[1:], ())
_IMPORTANCE: Mapping[str, Importance] = {"vital": "vital", "unrated": "unrated"}  # everything else is okay


def recognises(opening: Opening) -> bool:
    """Whether a file has heads or tables of questions, or nuggets with their importance in most of its first lines."""
    heads = [line for line in opening.lines if _HEAD.fullmatch(line) or _TABLE.fullmatch(line)]
    return bool(heads) or most_fit(opening, _WITH_QID, _UNDER_HEAD)


def read_key(path: Path, columns: Sequence[str] = COLUMNS) -> Bundle:
    """Read an answer key, of any style."""
    bundle = Bundle()
    _Reader(path, bundle, columns).read()
    return bundle


class _Reader:
    def __init__(self, path: Path, bundle: Bundle, columns: Sequence[str]) -> None:
        self.path, self.bundle, self.columns = path, bundle, columns
        self.lines = list(content_lines(path, bundle))
        self.voted = columns[-1] == "votes"  # on every line, and not only in tables
        given = columns[:-1] if self.voted else columns
        needed = ("text",) if self.voted else COLUMNS
        self.with_qid = layout(given, needed) if "qid" in given else None
        self.under_head = layout([c for c in given if c != "qid"], [c for c in needed if c != "qid"])
        self.usual = self._all_assessors() if self.voted else self._plain_assessors()  # outside of tables
        self.assessors = self.usual
        self.in_table = False
        self.without_ids = self._without_ids()
        self.head: str | None = None
        self.in_text = self.doubtful = False
        self.seen: set[tuple[str, str]] = set()
        self.counts = Counter[str]()  # nuggets by question

    def read(self) -> None:
        for i, (number, line, raw) in enumerate(self.lines):
            aside = partial(self.bundle.not_understood, self.path, number, raw)
            if found := _HEAD.fullmatch(line):
                self._begin(as_id(found[1] or found[2]), found[3], aside)
            elif self._is_table(i):
                if self.without_ids and not self.in_text:
                    self._begin_numbered("", aside)
                self.assessors, self.in_table, self.in_text = line.split()[1:], True, False
            else:
                self._read_line(i, line, aside)
        if self.without_ids:
            what = f"the questions have no ids; they are numbered, 1 to {len(self.bundle.questions)}"
            self._warn(what, "to choose the ids, write 'Qid ID:' before each question's text")
        if self.usual and not self.voted:
            what = "every nugget ends in columns of 0 and 1; they are read as assessors' votes, 1 for vital"
            self._warn(what, "to keep them in the text, write a full stop behind them")
        self._report_columns()

    def _begin(self, head: str | None, text: str, aside: partial[None]) -> None:
        question = self.bundle.questions.get(head or "")
        if self.in_table:
            self.assessors, self.in_table = self.usual, False
        self.head, self.doubtful = head, False
        self.in_text = bool(head) and not (question and question.text)
        if head is None:
            aside("a head without a question's id")
        elif self.in_text:
            self.bundle.questions[head] = _question(head, text)
        elif question and text not in ("", question.text):
            aside(f"a different text of question {head}")

    def _begin_numbered(self, text: str, aside: partial[None]) -> None:
        self._begin(str(len(self.bundle.questions) + 1), text, aside)

    def _read_line(self, i: int, line: str, aside: partial[None]) -> None:
        fields, votes = self._fields(line)
        prose = fields is None and not _BROKEN_NUGGET.match(line)
        if self.head and self.in_text and prose:
            known = self.bundle.questions[self.head]
            self.bundle.questions[self.head] = _question(self.head, f"{known.text} {line}".strip())
            return
        if self.without_ids and prose and self._starts_before_nuggets(i):
            self._begin_numbered(line, aside)
            return
        if self.without_ids and fields is not None and self.head is None:
            self._begin_numbered("", aside)
        self.in_text = False
        if fields is None or "text" not in fields or not (fields.get("qid") or self.head):
            aside(f"neither a nugget ({' '.join(self.columns)}) nor a head")
            self.doubtful = True
            return
        self._add(fields, votes, aside)

    def _add(self, fields: Mapping[str, str], votes: Sequence[str], aside: partial[None]) -> None:
        qid = fields.get("qid") or self.head or ""
        nugget = fields.get("nugget") or str(self.counts[qid] + 1)
        if (qid, nugget) in self.seen:
            aside(f"nugget {nugget} of {qid} occurs a second time")
            if self.doubtful and qid == self.head:
                self.head = None
            return
        self.seen.add((qid, nugget))
        self.counts[qid] += 1
        given = dict(zip(self.assessors or (), map(_vote, votes), strict=True))
        first = "vital" if votes and float(votes[0]) >= 0.5 else "okay"
        importance = _IMPORTANCE.get(fields.get("importance", first).lower(), "okay")
        weight = float(fields["weight"]) if "weight" in fields else None
        self.bundle.add_question(Question(qid, ""))
        self.bundle.nuggets.append(Nugget(qid, nugget, (fields["text"],), importance, weight, given))

    def _fields(self, line: str) -> tuple[dict[str, str] | None, list[str]]:
        """The columns of a nugget's line by name, and its votes; None if it is no nugget's."""
        votes = list[str]()
        if self.assessors is not None:
            line, *votes = line.rsplit(maxsplit=len(self.assessors)) or [""]
            if len(votes) != len(self.assessors) or not all(map(_VOTE.fullmatch, votes)):
                return None, []
        fields = fields_of(self.under_head, line) if self.head or self.without_ids else None
        fields = fields or (fields_of(self.with_qid, line) if self.with_qid else None)
        return fields or ({"text": line} if self.in_table else None), votes

    def _without_ids(self) -> bool:
        """Whether no line has a question's id, although some are nuggets or heads of tables."""
        if any(_HEAD.fullmatch(line) for _, line, _ in self.lines):
            return False
        if self.with_qid is None or any(self._is_table(i) for i in range(len(self.lines))):
            return True
        fits = [fields_of(self.under_head, line) is not None for _, line, _ in self.lines]
        return any(fits) and not any(fields_of(self.with_qid, line) for _, line, _ in self.lines)

    def _is_table(self, i: int) -> bool:
        """Whether the line names assessors: the next one has as many votes."""
        head = _TABLE.fullmatch(self.lines[i][1])
        if head is None or i + 1 == len(self.lines):
            return False
        names, votes = head[1].split(), _columns_at_end(self.lines[i + 1][1], _VOTE)
        return len(votes) >= len(names) == len(set(names)) and all(map(as_id, names))

    def _starts_before_nuggets(self, i: int) -> bool:
        """Whether this line's prose goes on until a table, or until nuggets that are numbered from the start."""
        for j in range(i + 1, len(self.lines)):
            if self._is_table(j):
                return True
            fields, _ = self._fields(self.lines[j][1])
            if fields is not None:
                return _FIRST.fullmatch(fields.get("nugget", "1")) is not None
        return False

    def _all_assessors(self) -> list[str]:
        """Assessors have numbers. Most lines have as many votes; a text that ends in a number seems to have more."""
        counts = Counter(len(_columns_at_end(line, _VOTE)) for _, line, _ in self.lines)
        del counts[0]
        return [str(number) for number in range(counts.most_common(1)[0][0] if counts else 1)]

    def _plain_assessors(self) -> list[str] | None:
        """Assessors, if every nugget's line ends in several columns of 0 and 1."""
        counts = [
            len(_columns_at_end(line, _BIT))
            for _, line, _ in self.lines
            if any(fields_of(form, line) for form in (self.under_head, self.with_qid) if form)
        ]
        return [str(number) for number in range(min(counts))] if len(counts) > 1 and min(counts) > 1 else None

    def _report_columns(self) -> None:
        unread = [nugget for nugget in self.bundle.nuggets if not nugget.votes]
        found = [bits for nugget in unread if (bits := _columns_at_end(nugget.descriptions[0], _BIT))]
        if any(len(one) > 1 for one in found) or len(found) == len(unread) > 1:
            longest = max(map(" ".join, found), key=len)
            what = f"descriptions that end in columns of 0 and 1, such as {longest!r}: {len(found)}"
            names = ",".join([*self.columns, "votes"])
            remedy = f"if these are assessors' votes, convert into a new folder with --columns {names}"
            self._warn(what, remedy)

    def _warn(self, what: str, remedy: str) -> None:
        self.bundle.warn(self.path, None, what, remedy)


def _columns_at_end(line: str, column: re.Pattern[str]) -> list[str]:
    """The words at the end of a line that fit, in their order, but never the first word."""
    return list(takewhile(column.fullmatch, reversed(line.split()[1:])))[::-1]


def _vote(value: str) -> Vote:
    share = float(value)
    return "vital" if share == 1 else "okay" if share == 0 else share


def _question(qid: str, text: str) -> Question:
    asked = _ASKED.match(text)
    return Question(qid, text, *((asked[1], asked[2].strip()) if asked else (None, None)))


def key_lines(bundle: Bundle) -> Iterator[str]:
    """An answer key with heads."""
    numbers = numbered(bundle)
    grouped: dict[str, list[Nugget]] = {qid: [] for qid in bundle.questions}
    for nugget in bundle.nuggets:
        if nugget.importance == "forbidden":
            continue
        grouped.setdefault(nugget.qid, []).append(nugget)
    for qid, nuggets in grouped.items():
        question = bundle.questions.get(qid, Question(qid, ""))
        yield f"Qid {id_field(qid)}: {one_line(question.text)}"
        for nugget in nuggets:
            text = one_line(" / ".join(nugget.descriptions))
            yield f"{number_of(numbers, qid, nugget.nugget)} {nugget.importance} {text}"
