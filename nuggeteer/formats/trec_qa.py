"""TREC QA's runs and judgements, as `trec_key` reads and writes its answer keys.

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
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from nuggeteer.formats.bundle import Bundle
from nuggeteer.formats.jsonl import bare_name
from nuggeteer.formats.objects import Opening
from nuggeteer.formats.trec_lines import (
    NONE,
    content_lines,
    fields_of,
    id_field,
    layout,
    most_fit,
    number_of,
    numbered,
    one_line,
    pattern_of,
)
from nuggeteer.records import Judgement, Response, RunInfo
from nuggeteer.text import normalised

RUN_COLUMNS = ("qid", "run", "docid", "rank", "text")
JUDGEMENT_COLUMNS = ("qid", "run", "docid", "nuggets", "text")
_NO_DOCUMENT = "NIL"


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
