"""TREC QA's definition, 'other' and relationship questions: answer keys, runs, judgements.

A key, one nugget a line, under a head for each question or with the question's id in front:

    Qid 87.8: 'other' question for target Enrico Fermi          87.8 1 vital belived in partical's ...
    1 vital belived in partical's existence                     87.8 3 okay Achieved the first ...
    3 okay Achieved the first controlled nuclear chain reaction

A head ends its line with the question's text, which may go on in the lines before the first nugget.
A run, and a judgement file, with columns between blanks and the text last:

    87.8 lcc05 NYT19990714.0382 1 Fermi and his team ...        qid run docid rank text
    87.8 lcc05 NYT19990714.0382 1,4 Fermi and his team ...      qid run docid nuggets text

Nuggets are separated by commas; `-` stands for none. Years differ in their columns, and the files of
some could not be seen when this was written: `columns` says another order, for example
`qid,nugget,importance,weight,text` or `_,qid,run,docid,rank,nuggets,text` (`_` is passed over).

Tolerated: tabs or blanks, `ok` for `okay`, any case of `vital`, `Qid` with or without a colon, blank lines,
lines that start with `#`. Windows-1252 bytes are read as such. Every other line is kept aside and reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.jsonl import read_lines
from nuggeteer.records import Importance, Judgement, Nugget, Question, Response, RunInfo

KEY_COLUMNS = ("qid", "nugget", "importance", "text")
RUN_COLUMNS = ("qid", "run", "docid", "rank", "text")
JUDGEMENT_COLUMNS = ("qid", "run", "docid", "nuggets", "text")

_HEAD = re.compile(r"qid\s+(\S+?)\s*(?::\s*(.*))?$", re.IGNORECASE)
_ASKED = re.compile(r"'(\w+)' question for target (.+)")
_NONE = "-"
_WORD = r"\S+"
_PATTERNS = {
    "nugget": r"\d+[a-z]?",
    "importance": r"(?i:vital|okay|ok)",
    "rank": r"\d+",
    "weight": r"(?:0|1|0?\.\d+|1\.0+)",
    "nuggets": rf"(?:{_NONE}|\d+[a-z]?(?:,\d+[a-z]?)*)",
}


def _layout(columns: Sequence[str], needed: Iterable[str]) -> re.Pattern[str]:
    known = {*_PATTERNS, "qid", "run", "docid", "text", "_"}
    wrong = [c for c in columns if c not in known] or [c for c in needed if c not in columns]
    if wrong or columns[-1] != "text":
        names = ", ".join(sorted(known))
        raise NuggeteerError(
            f"columns {','.join(columns)}: {', '.join(wrong) or 'text is not last'}; "
            f"they need {', '.join(needed)}, with text last; there are {names}"
        )
    parts = [_WORD if c == "_" else f"(?P<{c}>{_PATTERNS.get(c, _WORD)})" for c in columns[:-1]]
    return re.compile(r"\s+".join([*parts, "(?P<text>.*)"]), re.DOTALL)


def _lines(path: Path, bundle: Bundle) -> Iterator[tuple[int, str]]:
    for number, raw in read_lines(path, bundle.problems):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            line = raw.decode("cp1252", "replace")
        if not line.startswith("#"):
            yield number, line


def read_key(path: Path, columns: Sequence[str] = KEY_COLUMNS) -> Bundle:
    """Read an answer key, of either style."""
    bundle = Bundle()
    with_qid = _layout(columns, KEY_COLUMNS)
    under_head = _layout([c for c in columns if c != "qid"], KEY_COLUMNS[1:])
    seen: set[tuple[str, str]] = set()
    head: str | None = None
    open_question = False
    for number, line in _lines(path, bundle):
        if found := _HEAD.match(line):
            head, text = found[1], found[2] or ""
            open_question = True
            asked = _ASKED.match(text)
            kind, target = (asked[1], asked[2].strip()) if asked else (None, None)
            bundle.ask(Question(head, text, kind=kind, target=target))
            continue
        row = under_head.fullmatch(line) if head else None
        row = row or with_qid.fullmatch(line)
        if row is None and head and open_question:
            old = bundle.questions[head]
            bundle.questions[head] = Question(head, f"{old.text} {line}".strip(), old.kind, old.target)
            continue
        open_question = False
        if row is None:
            bundle.not_understood(path, number, line, f"not a nugget ({' '.join(columns)}), nor a head")
            continue
        fields = row.groupdict()
        qid = fields.get("qid") or head or ""
        if (qid, fields["nugget"]) in seen:
            bundle.not_understood(
                path, number, line, f"nugget {fields['nugget']} of {qid} for the second time"
            )
            continue
        seen.add((qid, fields["nugget"]))
        importance: Importance = "vital" if fields["importance"].lower() == "vital" else "okay"
        weight = float(fields["weight"]) if fields.get("weight") else None
        bundle.ask(Question(qid, ""))
        bundle.nuggets.append(Nugget(qid, fields["nugget"], (fields["text"],), importance, weight))
    return bundle


def read_runs(path: Path, columns: Sequence[str] = RUN_COLUMNS) -> Bundle:
    """Read one or several runs from a file."""
    bundle = Bundle()
    layout = _layout(columns, ("qid", "text"))
    for number, line in _lines(path, bundle):
        row = layout.fullmatch(line)
        if row is None:
            bundle.not_understood(path, number, line, f"not a response ({' '.join(columns)})")
            continue
        fields = row.groupdict()
        bundle.respond(RunInfo(fields.get("run") or path.stem), _response(fields))
    return bundle


def read_judgements(path: Path, columns: Sequence[str] = JUDGEMENT_COLUMNS) -> Bundle:
    """Read the assessors' file: responses with the nuggets marked in them.

    The runs in it were judged TREC's way, the best response for each nugget marked.
    """
    bundle = Bundle()
    layout = _layout(columns, ("qid", "nuggets", "text"))
    for number, line in _lines(path, bundle):
        row = layout.fullmatch(line)
        if row is None:
            bundle.not_understood(path, number, line, f"not a judged response ({' '.join(columns)})")
            continue
        fields = row.groupdict()
        run, response = fields.get("run") or path.stem, _response(fields)
        bundle.respond(RunInfo(run, judged="best"), response)
        for nugget in [] if fields["nuggets"] == _NONE else fields["nuggets"].split(","):
            bundle.judgements.append(
                Judgement(
                    response.qid, nugget, response.text, True, docid=response.docid, run=run, assessor="trec"
                )
            )
    return bundle


def _response(fields: dict[str, str]) -> Response:
    rank = int(fields["rank"]) if fields.get("rank") else None
    return Response(fields["qid"], fields["text"], fields.get("docid"), rank)


def key_lines(bundle: Bundle) -> Iterator[str]:
    """An answer key with heads."""
    for qid in dict.fromkeys([*bundle.questions, *(n.qid for n in bundle.nuggets)]):
        question = bundle.questions.get(qid, Question(qid, ""))
        yield f"Qid {_column(qid)}: {_line(question.text)}"
        for nugget in bundle.nuggets:
            if nugget.qid == qid:
                text = " / ".join(nugget.descriptions)
                yield f"{_column(nugget.nugget)} {nugget.importance} {_line(text)}"


def run_lines(bundle: Bundle, run: str) -> Iterator[str]:
    """A run in columns; ranks are counted where the run has none."""
    count: dict[str, int] = {}
    for response in bundle.responses[run]:
        count[response.qid] = count.get(response.qid, 0) + 1
        rank = response.rank if response.rank is not None else count[response.qid]
        yield _row(response, run, str(rank))


def judgement_lines(bundle: Bundle, run: str) -> Iterator[str]:
    """A run with the nuggets that were found in each response, by verdicts on this run or on none."""
    marked: dict[tuple[str, str], list[str]] = {}
    for judgement in bundle.judgements:
        if judgement.verdict and judgement.run in (run, None):
            marked.setdefault((judgement.qid, judgement.text), []).append(judgement.nugget)
    for response in bundle.responses[run]:
        nuggets = ",".join(map(_column, marked.get((response.qid, response.text), []))) or _NONE
        yield _row(response, run, nuggets)


def _row(response: Response, run: str, fourth: str) -> str:
    columns = (_column(response.qid), _column(run), _column(response.docid), fourth)
    return " ".join([*columns, _line(response.text)])


def _column(value: str | None) -> str:
    return re.sub(r"\s+", "_", value) if value else "NIL"


def _line(text: str) -> str:
    return " ".join(text.split())
