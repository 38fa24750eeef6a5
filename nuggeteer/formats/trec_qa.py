"""TREC QA's definition, 'other' and relationship questions: answer keys, runs and judgements.

A key has one nugget per line, under a head for each question or with the question's id in front:

    Qid 87.8: 'other' question for target Enrico Fermi          87.8 1 vital belived in partical's ...
    1 vital belived in partical's existence                     87.8 3 okay Achieved the first ...
    3 okay Achieved the first controlled nuclear chain reaction

A head has the question's text, which may continue on the lines before the first nugget. Such a line that starts with a
small number is taken for a broken nugget. Runs and judgement files have columns separated by blanks, with the text in
the last column:

    87.8 lcc05 NYT19990714.0382 1 Fermi and his team ...        qid run docid rank text
    87.8 lcc05 NYT19990714.0382 1,4 Fermi and his team ...      qid run docid nuggets text

Nuggets are separated by commas. `-` stands for no nugget, and `NIL` for no docid. The columns differ from year to year,
and the files of some years were not available when this was written. `columns` sets a different order, for example
`qid,nugget,importance,weight,text` or `_,qid,run,docid,rank,nuggets,text` (`_` is skipped). According to NIST, runs of
2005 are `qid,run,docid,text` and judgements are `qid,run,item,docid,text`, followed by lines `qid run item nugget`,
each of which marks a nugget in the response with that item number.

These are accepted: tabs or blanks, `ok` for `okay`, any case of `vital`, `Qid` with or without a colon, blank lines,
lines that start with `#`, a repeated head, and a response (but not a nugget) without text. Lines that are not UTF-8 are
read as Windows-1252. Every other line is kept aside and reported. If the numbers of nuggets start again after such a
line, it was probably a head. The nuggets up to the next head are then kept aside too.

These are not written, because the files cannot hold them: votes, weights and tags; a question's template, and its kind
and target unless its text names them; extra keys; no verdicts, partial support, and who judged, when and why. Several
descriptions are joined with ` / `. White space becomes single blanks, and `_` in docids. A run without ranks gets
ranks. Nuggets whose ids are not numbers are numbered in their order. The importance `unrated` is written and read,
although TREC does not have it. Ids with blanks or a leading `#` are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.bundle import Bundle, as_id
from nuggeteer.formats.jsonl import read_lines
from nuggeteer.records import Importance, Judgement, Nugget, Question, Response, RunInfo
from nuggeteer.text import normalised

KEY_COLUMNS = ("qid", "nugget", "importance", "text")
RUN_COLUMNS = ("qid", "run", "docid", "rank", "text")
JUDGEMENT_COLUMNS = ("qid", "run", "docid", "nuggets", "text")

# A colon ends the id, which may have colons too. Without a colon the id needs a digit, or the line is prose.
_HEAD = re.compile(r"qid:?\s+(?:(\S+?)\s*:(?=\s|$)|(?=[^\s:]*\d)([^\s:]+):?)\s*(.*)", re.IGNORECASE | re.DOTALL)
_ASKED = re.compile(r"'(\w+)' question for target (.+)")
_BROKEN_NUGGET = re.compile(r"[0-9]{1,2}[a-z]?\s")
_IMPORTANCE: Mapping[str, Importance] = {"vital": "vital", "unrated": "unrated"}  # everything else is okay
_NONE = "-"
_NO_DOCUMENT = "NIL"
_NUGGET = "[0-9]+[a-z]?"
_WORD = r"\S+"
_PATTERNS = {
    "nugget": _NUGGET,
    "importance": r"(?i:vital|okay|ok|unrated)",
    "rank": r"-?[0-9]{1,18}",
    "item": r"[0-9]+",
    "weight": r"(?:0|1|0?\.[0-9]+|1\.0+)",
    "nuggets": rf"(?:{_NONE}|{_NUGGET}(?:,{_NUGGET})*)",
}


def _layout(columns: Sequence[str], needed: Iterable[str]) -> re.Pattern[str]:
    """A line of these columns; the text may be missing."""
    known = {*_PATTERNS, "qid", "run", "docid", "text", "_"}
    wrong = [c for c in columns if c not in known] or [c for c in needed if c not in columns]
    wrong = wrong or [f"{c} twice" for c in known - {"_"} if columns.count(c) > 1]
    if wrong or columns[-1] != "text":
        names = ", ".join(sorted(known))
        raise NuggeteerError(
            f"columns {','.join(columns)}: {', '.join(wrong) or 'text is not last'}; "
            f"{', '.join(needed)} are required, with text last; the known columns are {names}"
        )
    return re.compile(_columns(columns[:-1]) + r"(?:\s+(?P<text>.*))?", re.DOTALL)


def _columns(columns: Iterable[str]) -> str:
    return r"\s+".join(_WORD if c == "_" else f"(?P<{c}>{_PATTERNS.get(c, _WORD)})" for c in columns)


def _lines(path: Path, bundle: Bundle) -> Iterator[tuple[int, str, str]]:
    """(line number, line, line in the form in which it is kept aside) of every line that is not a comment."""
    for number, raw in read_lines(path, bundle.problems):
        kept = raw.decode("utf-8", "surrogateescape")
        line = raw.decode("cp1252", "replace") if re.search("[\udc80-\udcff]", kept) else kept
        if not line.startswith("#"):
            yield number, line, kept


def _fields(layout: re.Pattern[str], line: str) -> dict[str, str] | None:
    """A line's columns by name, without empty ones; None if the line does not fit or an id is not valid."""
    row = layout.fullmatch(line)
    fields = {name: value for name, value in row.groupdict().items() if value} if row else {}
    good = all(as_id(fields[name]) for name in ("qid", "run") if name in fields)
    return fields if row and good else None


def _question(qid: str, text: str) -> Question:
    asked = _ASKED.match(text)
    return Question(qid, text, *((asked[1], asked[2].strip()) if asked else (None, None)))


def read_key(path: Path, columns: Sequence[str] = KEY_COLUMNS) -> Bundle:
    """Read an answer key, of either style."""
    bundle = Bundle()
    with_qid = _layout(columns, KEY_COLUMNS)
    under_head = _layout([c for c in columns if c != "qid"], KEY_COLUMNS[1:])
    seen: set[tuple[str, str]] = set()
    head: str | None = None
    in_text = doubtful = False
    for number, line, raw in _lines(path, bundle):
        aside = partial(bundle.not_understood, path, number, raw)
        if found := _HEAD.fullmatch(line):
            head, text = as_id(found[1] or found[2]), found[3]
            question = bundle.questions.get(head or "")
            in_text, doubtful = bool(head) and not (question and question.text), False
            if head is None:
                aside("a head without a question's id")
            elif in_text:
                bundle.questions[head] = _question(head, text)
            elif question and text not in ("", question.text):
                aside(f"a different text of question {head}")
            continue
        fields = (_fields(under_head, line) if head else None) or _fields(with_qid, line)
        if head and in_text and fields is None and not _BROKEN_NUGGET.match(line):
            bundle.questions[head] = _question(head, f"{bundle.questions[head].text} {line}".strip())
            continue
        in_text = False
        if fields is None or "text" not in fields:
            aside(f"neither a nugget ({' '.join(columns)}) nor a head")
            doubtful = True
            continue
        qid, nugget = fields.get("qid") or head or "", fields["nugget"]
        if (qid, nugget) in seen:
            aside(f"nugget {nugget} of {qid} occurs a second time")
            if doubtful and qid == head:
                head = None
            continue
        seen.add((qid, nugget))
        importance = _IMPORTANCE.get(fields["importance"].lower(), "okay")
        weight = float(fields["weight"]) if "weight" in fields else None
        bundle.add_question(Question(qid, ""))
        bundle.nuggets.append(Nugget(qid, nugget, (fields["text"],), importance, weight))
    return bundle


def read_runs(path: Path, columns: Sequence[str] = RUN_COLUMNS) -> Bundle:
    """Read one or several runs from a file."""
    bundle = Bundle()
    layout = _layout(columns, ("qid", "text"))
    for number, line, raw in _lines(path, bundle):
        fields = _fields(layout, line)
        if fields is None:
            bundle.not_understood(path, number, raw, f"not a response ({' '.join(columns)})")
            continue
        bundle.add_response(RunInfo(fields.get("run") or path.stem), _response(fields))
    return bundle


def read_judgements(path: Path, columns: Sequence[str] = JUDGEMENT_COLUMNS) -> Bundle:
    """Read the assessors' file: responses with marked nuggets, or with marks on separate lines.

    The runs become `judged` best, because TREC marks only the best response for each nugget.
    """
    bundle = Bundle()
    by_item = "item" in columns
    layout = _layout(columns, ("qid", "item" if by_item else "nuggets", "text"))
    marks = re.compile(_columns([*(c for c in columns if c in ("_", "qid", "run", "item")), "nugget"]))
    items: dict[tuple[str, ...], Response] = {}
    for number, line, raw in _lines(path, bundle):
        aside = partial(bundle.not_understood, path, number, raw)
        mark = _fields(marks, line) if by_item else None
        fields = mark or _fields(layout, line)
        if fields is None or ("text" not in fields and fields.get("nuggets", _NONE) != _NONE):
            aside(f"not a judged response ({' '.join(columns)})")
            continue
        run = fields.get("run") or path.stem
        item = (fields["qid"], run, fields.get("item", str(number)))
        if (item in items) != bool(mark):
            aside(f"item {item[2]} of {run} " + ("has no response before it" if mark else "occurs a second time"))
            continue
        if not mark:
            items[item] = _response(fields)
            bundle.add_response(RunInfo(run, judged="best"), items[item])
        response, nuggets = items[item], fields.get("nugget") or fields.get("nuggets", _NONE)
        for nugget in dict.fromkeys(nuggets.split(",") if nuggets != _NONE else []):
            bundle.judgements.append(
                Judgement(response.qid, nugget, response.text, True, docid=response.docid, run=run, assessor="trec")
            )
    return bundle


def _response(fields: Mapping[str, str]) -> Response:
    rank = int(fields["rank"]) if "rank" in fields else None
    docid = fields.get("docid", _NO_DOCUMENT)
    return Response(fields["qid"], fields.get("text", ""), None if docid == _NO_DOCUMENT else docid, rank)


def key_lines(bundle: Bundle) -> Iterator[str]:
    """An answer key with heads."""
    numbered = _numbered(bundle)
    grouped: dict[str, list[Nugget]] = {qid: [] for qid in bundle.questions}
    for nugget in bundle.nuggets:
        grouped.setdefault(nugget.qid, []).append(nugget)
    for qid, nuggets in grouped.items():
        question = bundle.questions.get(qid, Question(qid, ""))
        yield f"Qid {_id(qid)}: {_line(question.text)}"
        for nugget in nuggets:
            text = _line(" / ".join(nugget.descriptions))
            yield f"{_number(numbered, qid, nugget.nugget)} {nugget.importance} {text}"


def run_lines(bundle: Bundle, run: str) -> Iterator[str]:
    """A run in columns. Ranks are counted if the run has none."""
    count: dict[str, int] = {}
    for response in bundle.responses[run]:
        count[response.qid] = count.get(response.qid, 0) + 1
        rank = response.rank if response.rank is not None else count[response.qid]
        yield _row(response, run, str(rank))


def judgement_lines(bundle: Bundle, run: str) -> Iterator[str]:
    """A run with the nuggets of each response, from yes verdicts that name this run or no run.

    If a text occurs twice, its nuggets go to the response with the verdict's docid, or else to the first one.
    """
    responses, numbered = bundle.responses[run], _numbered(bundle)
    index: dict[tuple[str, ...], int] = {}
    for i, response in enumerate(responses):
        same = (response.qid, normalised(response.text))
        index.setdefault((*same, response.docid or ""), i)
        index.setdefault(same, i)
    marked: list[dict[str, None]] = [{} for _ in responses]
    for judgement in bundle.judgements:
        if judgement.verdict and judgement.run in (run, None):
            same = (judgement.qid, normalised(judgement.text))
            row = index.get((*same, judgement.docid or ""), index.get(same))
            if row is not None:
                marked[row][_number(numbered, judgement.qid, judgement.nugget)] = None
    for response, nuggets in zip(responses, marked, strict=True):
        yield _row(response, run, ",".join(nuggets) or _NONE)


def _numbered(bundle: Bundle) -> dict[str, dict[str, str]]:
    """Numbers for the nuggets of questions in which some nugget's id is not a number."""
    ids: dict[str, list[str]] = {}
    for nugget in bundle.nuggets:
        ids.setdefault(nugget.qid, []).append(nugget.nugget)
    return {
        qid: {name: str(number) for number, name in enumerate(own, 1)}
        for qid, own in ids.items()
        if not all(re.fullmatch(_NUGGET, name) for name in own)
    }


def _number(numbered: Mapping[str, Mapping[str, str]], qid: str, nugget: str) -> str:
    number = numbered.get(qid, {nugget: nugget}).get(nugget, "")
    if not re.fullmatch(_NUGGET, number):
        raise NuggeteerError(f"nugget {nugget!r} of {qid!r} has no number, but TREC's files need one")
    return number


def _row(response: Response, run: str, fourth: str) -> str:
    docid = re.sub(r"\s+", "_", response.docid or _NO_DOCUMENT)
    return f"{_id(response.qid)} {_id(run)} {docid} {fourth} {_line(response.text)}"


def _id(value: str) -> str:
    if re.search(r"\s|^#", value):
        raise NuggeteerError(f"{value!r} cannot be an id in TREC's files, because it has a blank or starts with #")
    return value


def _line(text: str) -> str:
    return " ".join(text.split())
