"""TREC QA's runs and judgements, and the lines that they have in common with its answer keys (`trec_key`).

Both have columns separated by blanks, with the text in the last column:

    87.8 lcc05 NYT19990714.0382 1 Fermi and his team ...        qid run docid rank text
    87.8 lcc05 NYT19990714.0382 1,4 Fermi and his team ...      qid run docid nuggets text

Nuggets are separated by commas. `-` stands for no nugget, and `NIL` for no docid. The columns differ from year to year,
and the files of some years were not available when this was written. `columns` sets a different order, for example
`_,qid,run,docid,rank,nuggets,text` (`_` is skipped). According to NIST, runs of 2005 are `qid,run,docid,text` and
judgements are `qid,run,item,docid,text`, followed by lines `qid run item nugget`, each of which marks a nugget in the
response with that item number. A column `group` names the institution of a run.

These are accepted: tabs or blanks, blank lines, lines that start with `#`, and a response without text. Lines that are
not UTF-8 are read as Windows-1252. Every other line is kept aside and reported.

These are not written, because the files cannot hold them: extra keys, no verdicts, partial support, and who judged,
when and why. White space becomes single blanks, and `_` in docids. A run without ranks gets ranks. Ids with blanks or a
leading `#` are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.bundle import Bundle, as_id, by_question
from nuggeteer.formats.jsonl import bare_name, read_lines
from nuggeteer.formats.objects import Opening
from nuggeteer.records import Judgement, Response, RunInfo
from nuggeteer.text import normalised, one_line

RUN_COLUMNS = ("qid", "run", "docid", "rank", "text")
JUDGEMENT_COLUMNS = ("qid", "run", "docid", "nuggets", "text")
_NO_DOCUMENT = "NIL"
NONE = "-"
SHARE = r"(?:0|1|0?\.[0-9]+|[01]\.0+)"  # a weight, or an assessor's vote
_NUGGET = "[0-9]+[a-z]?"
_WORD = r"\S+"
_PATTERNS = {
    "nugget": _NUGGET,
    "importance": r"(?i:vital|okay|ok|unrated)",
    "rank": r"-?[0-9]{1,18}",
    "item": r"[0-9]+",
    "weight": SHARE,
    "nuggets": rf"(?:{NONE}|{_NUGGET}(?:,{_NUGGET})*)",
}


def recognises_run(opening: Opening) -> bool:
    """Whether most of the first lines have the columns of a run."""
    return most_fit(opening, layout(RUN_COLUMNS, ()))


def recognises_judgements(opening: Opening) -> bool:
    """Whether most of the first lines are judged responses, and some say what a run does not: `-`, or two nuggets."""
    form = layout(JUDGEMENT_COLUMNS, ())
    marks = [fields["nuggets"] for line in opening.lines if (fields := fields_of(form, line)) and "nuggets" in fields]
    return most_fit(opening, form) and any(not mark.isdigit() for mark in marks)


def read_runs(path: Path, columns: Sequence[str] = RUN_COLUMNS) -> Bundle:
    """Read one or several runs from a file."""
    bundle = Bundle()
    form = layout(columns, ("qid", "text"))
    for number, line, raw in content_lines(path, bundle):
        fields = fields_of(form, line)
        if fields is None:
            bundle.not_understood(path, number, raw, f"not a response ({' '.join(columns)})")
            continue
        run = fields.get("run") or bare_name(path)
        bundle.add_response(RunInfo(run, fields.get("group")), _response(fields))
    return bundle


def read_judgements(path: Path, columns: Sequence[str] = JUDGEMENT_COLUMNS) -> Bundle:
    """Read the assessors' file: responses with marked nuggets, or with marks on separate lines.

    The runs become `judged` best, because TREC marks only the best response for each nugget.
    """
    bundle = Bundle()
    by_item = "item" in columns
    form = layout(columns, ("qid", "item" if by_item else "nuggets", "text"))
    marks = re.compile(pattern_of([*(c for c in columns if c in ("_", "qid", "run", "item")), "nugget"]))
    items: dict[tuple[str, ...], Response] = {}
    for number, line, raw in content_lines(path, bundle):
        aside = partial(bundle.not_understood, path, number, raw)
        mark = fields_of(marks, line) if by_item else None
        fields = mark or fields_of(form, line)
        if fields is None or ("text" not in fields and fields.get("nuggets", NONE) != NONE):
            aside(f"not a judged response ({' '.join(columns)})")
            continue
        run = fields.get("run") or bare_name(path)
        item = (fields["qid"], run, fields.get("item", str(number)))
        if (item in items) != bool(mark):
            aside(f"item {item[2]} of {run} " + ("has no response before it" if mark else "occurs a second time"))
            continue
        if not mark:
            items[item] = _response(fields)
            bundle.add_response(RunInfo(run, fields.get("group"), judged="best"), items[item])
        response, nuggets = items[item], fields.get("nugget") or fields.get("nuggets", NONE)
        for nugget in dict.fromkeys(nuggets.split(",") if nuggets != NONE else []):
            bundle.judgements.append(
                Judgement(response.qid, nugget, response.text, True, docid=response.docid, run=run, assessor="trec")
            )
    return bundle


def _response(fields: Mapping[str, str]) -> Response:
    rank = int(fields["rank"]) if "rank" in fields else None
    docid = fields.get("docid", _NO_DOCUMENT)
    return Response(fields["qid"], fields.get("text", ""), None if docid == _NO_DOCUMENT else docid, rank)


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
    responses, numbers = bundle.responses[run], numbered(bundle)
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
                marked[row][number_of(numbers, judgement.qid, judgement.nugget)] = None
    for response, nuggets in zip(responses, marked, strict=True):
        yield _row(response, run, ",".join(nuggets) or NONE)


def _row(response: Response, run: str, fourth: str) -> str:
    docid = re.sub(r"\s+", "_", response.docid or _NO_DOCUMENT)
    return f"{id_field(response.qid)} {id_field(run)} {docid} {fourth} {one_line(response.text)}"


def layout(columns: Sequence[str], needed: Iterable[str]) -> re.Pattern[str]:
    """A line of these columns; the text may be missing."""
    known = {*_PATTERNS, "qid", "run", "group", "docid", "text", "_"}
    wrong = [c for c in columns if c not in known] or [c for c in needed if c not in columns]
    wrong = wrong or [f"{c} twice" for c in known - {"_"} if columns.count(c) > 1]
    if wrong or columns[-1] != "text":
        names = ", ".join(sorted(known))
        raise NuggeteerError(
            f"columns {','.join(columns)}: {', '.join(wrong) or 'text is not last'}; "
            f"{', '.join(needed)} are required, with text last; the known columns are {names}"
        )
    text = r"(?:\s+(?P<text>.*))?" if len(columns) > 1 else "(?P<text>.*)"
    return re.compile(pattern_of(columns[:-1]) + text, re.DOTALL)


def pattern_of(columns: Iterable[str]) -> str:
    return r"\s+".join(_WORD if c == "_" else f"(?P<{c}>{_PATTERNS.get(c, _WORD)})" for c in columns)


def content_lines(path: Path, bundle: Bundle) -> Iterator[tuple[int, str, str]]:
    """(line number, line, line in the form in which it is kept aside) of every line that is not a comment."""
    for number, raw in read_lines(path, bundle.problems):
        kept = raw.decode("utf-8", "surrogateescape")
        line = raw.decode("cp1252", "replace") if re.search("[\udc80-\udcff]", kept) else kept
        if not line.startswith("#"):
            yield number, line, kept


def most_fit(opening: Opening, *patterns: re.Pattern[str]) -> bool:
    """Whether most lines that a file begins with have the columns of one of these patterns."""
    fitting = sum(any(pattern.fullmatch(line) for pattern in patterns) for line in opening.lines)
    return fitting > len(opening.lines) / 2


def fields_of(pattern: re.Pattern[str], line: str) -> dict[str, str] | None:
    """A line's columns by name, without empty ones; None if the line does not fit or an id is not valid."""
    row = pattern.fullmatch(line)
    fields = {name: value for name, value in row.groupdict().items() if value} if row else {}
    good = all(as_id(fields[name]) for name in ("qid", "run", "group") if name in fields)
    return fields if row and good else None


def numbered(bundle: Bundle) -> dict[str, dict[str, str]]:
    """Numbers for the nuggets of questions in which some nugget's id is not a number."""
    return {
        qid: {nugget.nugget: str(number) for number, nugget in enumerate(own, 1)}
        for qid, own in by_question(bundle.nuggets).items()
        if not all(re.fullmatch(_NUGGET, nugget.nugget) for nugget in own)
    }


def number_of(numbered: Mapping[str, Mapping[str, str]], qid: str, nugget: str) -> str:
    number = numbered.get(qid, {nugget: nugget}).get(nugget, "")
    if not re.fullmatch(_NUGGET, number):
        raise NuggeteerError(f"nugget {nugget!r} of {qid!r} has no number, but TREC's files need one")
    return number


def id_field(value: str) -> str:
    if re.search(r"\s|^#", value):
        raise NuggeteerError(f"{value!r} cannot be an id in TREC's files, because it has a blank or starts with #")
    return value
