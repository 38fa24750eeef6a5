"""Every function that reads a file, with valid files to begin from, and a fuzzer that tears them.

A reader may return, or raise `NuggeteerError`. Any other exception, a warning, more time than its bytes allow, or more
memory than `MEMORY` is a finding. `test_readers.py` fails if a function that takes a path or bytes is missing here.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import io
import json
import os
import pkgutil
import random
import resource
import shutil
import signal
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import nuggeteer
from nuggeteer.asking.calls import Identity
from nuggeteer.asking.client import Unavailable, read_reply
from nuggeteer.asking.prompts import Prompt, find_prompt
from nuggeteer.asking.replies import WrongShape, read_labels
from nuggeteer.asking.store import VerdictStore
from nuggeteer.collection.checking import check
from nuggeteer.collection.doctor import examine
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.importing import import_verdicts
from nuggeteer.collection.log import read_log
from nuggeteer.collection.proposals import known_proposals
from nuggeteer.collection.runs import read_run
from nuggeteer.errors import NuggeteerError
from nuggeteer.formats import (
    append,
    audits,
    autonuggetizer,
    brackets,
    brat,
    bundle,
    cache,
    canonical,
    distillation,
    handed_in,
    inspect_log,
    jsonl,
    labelled,
    matches,
    nugget_bank,
    nugget_rows,
    objects,
    promptfoo,
    question_rows,
    rubrics,
    snippets,
    spreadsheet,
    trec_key,
    trec_qa,
    trec_rag,
)
from nuggeteer.formats.annotation import Extent, Snippet
from nuggeteer.formats.annotation_files import is_annotation, read_snippets
from nuggeteer.formats.toml_settings import read_settings
from nuggeteer.gale import citations
from nuggeteer.gale.adjudication import adjudicate
from nuggeteer.gale.annotation import agree_on
from nuggeteer.gale.templates import read_templates
from nuggeteer.matching.idf import read_documents, read_table, write_table
from nuggeteer.records import RunInfo
from nuggeteer.reports.html.site import Site
from nuggeteer.trust.experiments.definition import read_definition
from tests.asking.fake_server import as_tokens, reply_of
from tests.test_fuzz import FILES, fill

SECONDS, SECONDS_PER_BYTE = 2.0, 20e-6  # of processor time; readers need a hundredth of it on a machine at rest
HANG = 120  # seconds after which an input is given up
MEMORY = 3 << 30  # bytes of addresses that the whole process may have

# What takes a path or bytes and reads nothing from it, or only through a reader below. Names that begin with
# `write` are left out anyway.
NOT_READERS = {
    "collection.convert.convert_annotation": "read_snippets",
    "collection.convert.convert_into": "the readers of formats",
    "collection.convert.convert_out": "read_bundle",
    "collection.foreign.common_format": "objects.open_file",
    "reports.foreign_files.draw_written": "names a file",
    "reports.foreign_files.written_as_json": "names a file",
    "formats.objects.can_be_opened_again": "looks at the kind of file",
    "formats.objects.table_rows": "read_objects and read_verdicts",
    "formats.objects.table_text": "read_objects and read_verdicts",
    "formats.bundle.Bundle.warn": "names a file",
    "formats.bundle.Bundle.warn_of_empty_answers": "names a file",
    "formats.bundle.Bundle.warn_of_questions": "names a file",
    "formats.bundle.Bundle.worded": "names a file",
    "formats.dataset.Dataset.__init__": "names a file",
    "formats.dataset.name_absent": "names a file",
    "collection.convert.losses": "the readers of formats",
    "collection.answer_key.group_problems": "names a file",
    "plugins.grading.Grader.__init__": "read_collection",
    "plugins.mcp.make_server": "read_collection",
    "plugins.mcp.serve": "read_collection",
    "plugins.agent.Reading.__init__": "read_collection",
    "matching.idf.RememberedWeights.__init__": "read_cache",
    "matching.idf.remembered": "read_cache",
    "testing.Nuggets.__init__": "read_collection",
    "collection.answer_key.read_key": "read_collection",
    "collection.folder.as_collection": "read_collection",
    "collection.folder.read_files": "read_collection",
    "collection.folder.Collection.read_run_file": "read_run",
    "comparing.comparison.compare": "read_collection and read_run",
    "comparing.diff.diff": "read_collection and read_run",
    "scoring.scorer.score": "read_collection and read_run",
    "collection.folder.Collection.loaded": "read_run",
    "collection.memory.make_collection": "writes, and read_collection",
    "collection.names.find_collection": "looks for a name",
    "collection.names.find_run": "looks for a name",
    "collection.names.holds_key": "looks for a name",
    "collection.names.is_file": "looks at the kind of a file",
    "collection.names.no_run": "lists names",
    "collection.names.refuse_file": "looks at the kind of a file",
    "collection.names.require_collection": "lists names",
    "collection.names.run_files": "lists names",
    "collection.sample.copy_sample": "writes",
    "collection.simulation.simulate": "writes",
    "collection.ledger.merge_by_union": "writes",
    "collection.ledger.Ledger.__init__": "lists names",
    "formats.append.append_bytes": "writes",
    "collection.runs.alike_tags": "check",
    "collection.runs.read_manifest": "read_collection",
    "collection.runs.runs_without_file": "check",
    "formats.trec_qa.content_lines": "the readers of trec_key and trec_qa",
    "gale.annotated.annotated_answers": "names",
    "formats.append.append": "writes; tests/collection/test_ledger.py",
    "formats.append.append_line": "writes",
    "formats.append.flush": "writes",
    "formats.append.last_line": "read_file, which calls it for a file with an error",
    "asking.proposing.Proposing.__init__": "VerdictStore and known_proposals",
    "formats.append.quiet": "locks",
    "formats.bundle.Bundle.not_understood": "a name",
    "formats.cache.check_names": "a status",
    "formats.cache.own_path": "a name",
    "formats.jsonl.bare_name": "a name",
    "formats.jsonl.is_regular": "looks at the kind of a file",
    "formats.jsonl.json_lines_in": "lists names",
    "formats.jsonl.not_written": "names a file",
    "formats.jsonl.stored": "looks for a name",
    "history.recording.digest_text": "makes bytes",
    "settings.judge_files": "looks for names",
    "history.database.Database.__init__": "a name",
    "history.store.History.__init__": "a name",
    "history.store.History.of": "tests/history",
    "collection.proposals.propose": "writes",
    "collection.proposals.propose_again": "writes, and known_proposals",
    "collection.proposals.read_proposals": "known_proposals",
    "reports.html.sheet.as_json": "a name",
    "reports.html.sheet.draw": "a name",
    "formats.toml_settings.with_truth": "read_settings",
    "formats.cache.unpack_arrays": "only bytes that this user's key has proved; test_own_files.py",
    "testing.assert_no_vital_lost": "read_collection",
    "testing.assert_not_worse": "read_collection",
}


@dataclass(frozen=True)
class Reader:
    """What reads the file `name` in a folder, and valid contents of it. `around` writes the other files."""

    read: Callable[[Path], Any]
    name: str
    seeds: tuple[bytes, ...]
    around: Callable[[Path], Any] | None = None


def lines(*records: dict[str, Any]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


VERDICTS = FILES["judgements/x.jsonl"] + lines(
    {"qid": "q1", "nugget": "1", "text": "x", "assessor": "a", "at": "2026-01-31T09:30:00Z", "retracted": True},
    {"qid": "q1", "nugget": "2", "text": "all", "verdict": True, "scope": "answer", "machine": True, "span": [0, 3]},
)
OF_PAGE = {"qid": "q1", "text": "x", "run": "r", "at": "2026-01-31T09:30:00Z", "source": "page", "page": "0f"}
HANDED_IN = lines(
    {**OF_PAGE, "nugget": "1", "verdict": True, "span": [0, 1], "reason": "so"},
    {**OF_PAGE, "nugget": "2", "retracted": True, "scope": "answer"},
    {**OF_PAGE, "importance": "vital", "from": "x", "proposed": True},
)
SHEET = 'qid,nugget,text,verdict,partial\nq1,1,He built a reactor.,yes,\nq2,1,"It\nsank",no,y\n'
SHEETS = (SHEET.encode(), SHEET.replace(",", ";").encode("utf-8-sig"), SHEET.replace(",", "\t").encode())
ASSIGNED = {
    "query": "Who was Fermi?",
    "qid": "q1",
    "answer_text": "He built a reactor.",
    "response_length": 4,
    "run_id": "x",
    "nuggets": [{"text": "built a reactor", "importance": "vital", "assignment": "support"}],
}
MATCHES = lines(
    {"qid": "q1", "nugget": "1", "text": "He built a reactor.", "score": 0.5},
    {"qid": "q1", "nugget": "2", "text": "x", "verdict": True},
    {"qid": "q1", "nugget": "2", "text": "y", "assignment": "partial_support"},
    ASSIGNED,
)
KEY = (
    b"Qid 87.8: 'other' question for target Enrico Fermi\n1 vital belived in partical's existence\n3 okay x\n",
    b"87.8 1 vital belived in it\n87.8 3 okay Achieved the first\n# a comment\n",
)
RUN = (b"87.8 lcc05 NYT19990714.0382 1 Fermi and his team\n87.8 lcc05 NIL 2 in Chicago\n",)
JUDGED_RUN = (b"87.8 lcc05 NYT19990714.0382 1,4 Fermi and his team\n87.8 lcc05 NIL - in Chicago\n",)
DOCUMENTS = (
    json.dumps([{"qid": "q1", "nuggets": [{"text": "built a reactor"}]}], indent=1).encode(),
    json.dumps({"rows": [{"qid": "q1"}, 7], "more": None}, indent=1).encode(),
)
QA_TABLE = (b"question,answer,reference,run,id\nWho?,He.,It was he. It was not she.,a,1\nWhy?,=1,B,b,2\n",)
_CASE = {
    "input": "Who?",
    "actualOutput": "He.",
    "expectedOutput": "He was.",
    "metricsData": [{"name": "m"}],
    "name": "x",
}
QA = (
    json.dumps({"testCases": [_CASE], "conversationalTestCases": [{"turns": []}]}).encode(),
    json.dumps([{"user_input": "Who?", "response": "He.", "ground_truths": ["a", "b"]}], indent=1).encode(),
)
_ASSERTED = {"pass": True, "reason": "?", "assertion": {"type": "contains-any", "value": ["a", "b"], "weight": 2}}
_PROMPTED = {
    "vars": {"question": "Who?", "reference": "He."},
    "promptIdx": 0,
    "provider": {"id": "p"},
    "response": {"output": "He."},
    "gradingResult": {"componentResults": [_ASSERTED]},
}
PROMPTFOO = (
    json.dumps({"results": {"results": [_PROMPTED, {**_PROMPTED, "promptIdx": 1}]}}).encode(),
    lines(_PROMPTED),
)
_CHOICE = {"from_name": "verdict", "type": "choices", "value": {"choices": ["yes"]}}
_SHOWN = {"question": "Who?", "answer": "He.", "nugget": "he", "qid": "q1"}
_ANNOTATED = {"completed_by": {"id": 1, "email": "a@b"}, "created_at": "2026-01-31T09:30:00Z", "result": [_CHOICE]}
LABELLED = (json.dumps([{"data": _SHOWN, "annotations": [_ANNOTATED], "predictions": [1]}]).encode(),)
LABELLED_TABLE = b"question,answer,nugget,verdict,annotator,annotation_id\nWho?,He.,he,yes,1,2\n"
ARGILLA = (
    json.dumps(
        [{"fields": _SHOWN, "responses": {"v": [{"value": "yes", "user_id": "u"}]}, "suggestions": {}}]
    ).encode(),
    json.dumps(
        [{**_SHOWN, "v.responses": ["yes"], "v.responses.users": ["u"], "v.responses.status": ["draft"]}]
    ).encode(),
)
BANKS = (
    lines(
        {
            "query_id": "q1",
            "nugget_bank": {
                "Who?": {"question": "Who?", "answers": {"he": {"answer": "he"}}, "aggregator_type": "AND"}
            },
            "claim_bank": [{"claim": "he", "claim_id": 1, "importance": "okay", "sub_nuggets": [{"claim": "it"}]}],
        },
        {"metadata": {"topic_id": 7}, "nugget_bank": [{"question": "Why?", "answers": [{"answer": "so"}]}]},
    ),
)
PAGE_STATE = {"signature": "s", "decision": "PASS"}
RUBRICS = (lines({"sample_id": "q1", "prompt": "Who?", "rubrics": [{"criterion": "he", "weight": -4.0, "axis": "A"}]}),)
_SAMPLE = {"id": 1, "epoch": 1, "input": [{"role": "user", "content": "attachment://a"}], "attachments": {"a": "Who?"}}
_SAMPLE |= {"target": ["he", "him"], "output": {"choices": [{"message": {"content": [{"text": "He."}]}}]}, "scores": {}}
_LOG = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
INSPECT = json.dumps({**_LOG, "samples": [_SAMPLE]}).encode()


def _zipped(method: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", compression=method) as file:
        file.writestr("header.json", json.dumps(_LOG))
        file.writestr("samples/1_epoch_1.json", json.dumps(_SAMPLE))
    return content.getvalue()


ARCHIVES = (_zipped(zipfile.ZIP_STORED), _zipped(zipfile.ZIP_DEFLATED), _zipped(zipfile.ZIP_BZIP2))


def _members(path: Path) -> None:
    with inspect_log.Archive(path) as opened:
        for name in opened.names:
            opened.read(name)


RAG = (
    lines(
        {
            "run_id": "x",
            "topic_id": "q1",
            "topic": "What?",
            "references": ["D1", "D2"],
            "response_length": 4,
            "answer": [{"text": "He built a reactor.", "citations": [0, 1]}, {"text": "Born.", "citations": []}],
        },
        {
            "metadata": {"team_id": "t", "run_id": "x", "type": "automatic", "narrative_id": 2, "narrative": "Why?"},
            "references": ["D1"],
            "answer": [{"text": "It sank.", "citations": ["D1"]}],
        },
    ),
)
BRACKETS = (
    b"Language: English\nQuery: q7\nSnippet 1: A U.N. policeman from Kerala, was shot to death\n"
    b"Nugget 1: [[A U.N. policeman]] from Kerala, [[was shot to death]]\n"
    b"Nugget 2 (location): A U.N. policeman [[from Kerala]], was shot to death\n\nMedium:\n"
    b"Snippet 2: Chen visited \\[Taiwan\\] in January\nNugget: Chen visited \\[[[Taiwan]]-LOC\\] [[in  January]]-TMP\n",
)
OFFSETS = (
    lines(
        {"qid": "q", "snippet": "a", "text": "Iraq can import food", "nuggets": [{"spans": [[0, 4], [9, 20]]}]},
        {"snippet": "b", "text": "x y", "nuggets": [{"spans": [[0, 1]], "type": "LOC"}], "medium": "speech"},
    ),
)
STANDOFF = (b"T1\tLOC 20 26\tTaiwan\nT2\tNugget 0 9;13 19\tChen Yuan visits\nR1\tx\n",)
STANDOFF_TEXT = "Chen Yuan on visits Taiwan"
TEXTS = (
    lines({"text": "He came to Rome.", "qid": "q", "query": "WHERE IS [he]?", "language": "English"}, {"text": "x"}),
)
JUDGED = (
    lines(
        {"qid": "q", "distiller": "d", "text": "in Rome", "judged": "relevant", "relevant": [[3, 7]], "query": "W [x]"},
        {"qid": "q", "distiller": "d", "text": "in Rome", "judged": "relevant", "relevant": "Rome"},
        {"qid": "q", "distiller": "e", "text": "no", "judged": "irrelevant"},
    ),
)
DISTILLED = (
    lines(
        {"type": "corpus", "other": 1e5, "characters_per_nug": 40},
        {"type": "query", "qid": "q", "text": "What?"},
        {"type": "distiller", "distiller": "d", "kind": "machine"},
        {"type": "nug", "qid": "q", "nug": "1", "relevance": 0.5, "support": ["D1"]},
        {"type": "nug", "qid": "q", "nug": "2", "relevance": 1},
        {
            "type": "nugget",
            "qid": "q",
            "distiller": "d",
            "text": "t",
            "nugs": {"1": 0.7, "2": 0.3},
            "citations": ["D1"],
        },
        {"type": "answer", "qid": "q", "distiller": "d", "irrelevant": 80},
    ),
)
TEMPLATES = (
    b'[[template]]\nname = "x"\nquery = "List [EVT]"\nalso = ["Find [EVT]"]\ntypes = ["NUM"]\nonce = ["NUM"]\n',
)
DEFINITION = (
    b'title = "t"\nsource = "s"\nwhat = "found"\nmeasure = "f3"\nsteps = 5\n[[match]]\nn = [1, 2]\nstem = true\n',
    b'title = "t"\nsource = "s"\nwhat = "found"\n',
)
SETTINGS = (
    FILES["nuggeteer.toml"],
    b'[match]\nmatcher = "external"\nexternal = "m.jsonl"\n[answers]\nsplit = "sentences"\n[nightly]\npage = "p.html"\n'
    b'fail_if_worse = 0.1\nmax_lost_vital = 3\nundecided = 1\n[threshold]\nmodel = "fixed"\nvalue = 0.5\n',
)


def _made(make: Callable[[Path], Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder) / "x")
        return (Path(folder) / "x").read_bytes()


def _audit(path: Path) -> None:
    head = audits.Head("a", "x", "00", "00", "f3", 5, 1, "2026-01-31T09:30:00Z", "s", {"f3": (0.5, 0.4, 0.6)})
    audits.write_audit(path, head, [audits.Unit("q1", "1", 0.5, 1.0), audits.Unit("q1", "2", 0.25, 2.0)])


def _table(path: Path) -> None:
    write_table(path, ["he built a reactor", "it sank"])


def _folder(path: Path, name: str) -> Path:
    """The collection around the file `name`."""
    root = path
    for _ in Path(name).parts:
        root = root.parent
    return root


def of_collection(read: Callable[[Path], Any], name: str) -> Reader:
    return Reader(
        lambda path: read(_folder(path, name)), name, (FILES[name],), lambda folder: fill_around(folder, name)
    )


def fill_around(folder: Path, name: str) -> None:
    """A collection without the file `name`."""
    for file, content in FILES.items():
        if file != name:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(content)


def _key_of(path: Path) -> Any:
    return read_collection(path.parent / "around").key


def _import(path: Path) -> Any:
    collection = read_collection(path.parent / "around")
    for ledger in (collection.root / "judgements").glob("new*"):
        ledger.unlink()
    return import_verdicts(collection, path, "new")


def _around(folder: Path) -> None:
    fill(folder / "around", {})


def _listed(read: Callable[..., Any]) -> Callable[[Path], Any]:
    return lambda path: list(read(path, []))


def _reply(path: Path) -> None:
    """What a model's server sends, and what the model itself says."""
    with suppress(Unavailable, WrongShape):
        reply = read_reply(path.read_bytes())
        read_labels(reply.content, 2, reply.tokens)
    with suppress(WrongShape):
        read_labels(path.read_text("utf-8", "replace"), 2)


def _prompt(path: Path) -> Prompt:
    return find_prompt(str(path))


LABELS = reply_of(["support", "not_support"])
CHOICE = {"index": 0, "message": {"content": LABELS}, "logprobs": {"content": as_tokens(LABELS)}}
REPLY = {"model": "m", "system_fingerprint": "f", "choices": [CHOICE], "usage": {"prompt_tokens": 9}}
IDENTITY = Identity("gpt", "m", "", "loopback", find_prompt("assign-1"))
JUDGE = {"judge": "gpt", "model": "m", "prompt": IDENTITY.prompt.name, "key": "00"}
ASKED = (
    lines(
        {"qid": "q1", "nugget": "1", "assignment": "support", "text": "x", "scope": "answer", "pair": "0f", **JUDGE},
        {"qid": "q1", "nugget": "2", "assignment": "not_support", "probability": 0.25, "text": "x", **JUDGE},
    ),
    lines(
        {"qid": "q1", "run": "x", "nuggets": ["1"], "outcome": "answered", "requests": 1, "cost": 0.5, **JUDGE},
        {"qid": "q1", "run": "x", "nuggets": ["1"], "outcome": "failed", "pairs": ["0f"], "requests": 1, **JUDGE},
    ),
)


def _annotated(*ends: int) -> list[Snippet]:
    return [Snippet("a", "Iraq can import food", tuple(Extent(((0, end),)) for end in ends))]


DECISION = {"qid": None, "distiller": None, "snippet": "a", "first": {"spans": [[0, 4]], "type": None}, "second": None}
DECISIONS = lines({**DECISION, "choice": "y"}, {**DECISION, "choice": None})


def _adjudicated(path: Path) -> Any:
    return adjudicate(_annotated(4), _annotated(), path).open


def _parsed(path: Path) -> Any:
    with suppress(json.JSONDecodeError):  # which every caller makes an error of ours
        return jsonl.parsed(path.read_bytes())


READERS: dict[str, list[Reader]] = {
    "collection.proposals.known_proposals": [
        Reader(lambda path: known_proposals(path.parent), "proposals.jsonl", (lines({"qid": "q1", "text": "A fact."}),))
    ],
    "asking.client.read_reply": [Reader(_reply, "x", (lines(REPLY), LABELS.encode()))],
    "asking.prompts.find_prompt": [
        Reader(_prompt, "x.txt", (b"Read.\n---\n{question} {nuggets} {answer} {boundary} {reply}\n",))
    ],
    "asking.store.VerdictStore.__init__": [
        Reader(lambda path: VerdictStore(_folder(path, "judges/gpt.jsonl"), IDENTITY), "judges/gpt.jsonl", ASKED[:1]),
        Reader(
            lambda path: VerdictStore(_folder(path, "judges/calls/gpt.jsonl"), IDENTITY),
            "judges/calls/gpt.jsonl",
            ASKED[1:],
        ),
    ],
    "collection.doctor.examine": [
        Reader(examine, name, seeds)
        for name, seeds in (
            ("x.jsonl", (*RAG, VERDICTS, MATCHES, HANDED_IN, *OFFSETS, *DISTILLED, lines(ASSIGNED))),
            ("x.json", (*DOCUMENTS, *QA, *PROMPTFOO, *LABELLED, *ARGILLA, *BANKS, INSPECT)),
            ("x.csv", (*SHEETS, *QA_TABLE, LABELLED_TABLE)),
            ("x.txt", (*KEY, *RUN, *JUDGED_RUN)),
            ("x.eval", ARCHIVES),
        )
    ],
    "collection.checking.check": [of_collection(check, name) for name in FILES],
    "collection.folder.read_collection": [of_collection(read_collection, name) for name in FILES],
    "collection.importing.import_verdicts": [
        Reader(_import, "v.jsonl", (FILES["judgements/x.jsonl"], VERDICTS, lines(ASSIGNED)), _around),
        Reader(_import, "v.csv", SHEETS, _around),
        Reader(_import, "h.jsonl", (HANDED_IN,), _around),
    ],
    "collection.log.read_log": [of_collection(read_log, "judgements/x.jsonl")],
    "collection.runs.read_run": [
        Reader(
            lambda path, split=split: read_run(path, RunInfo("x"), _key_of(path), split, []),
            "x.jsonl",
            (FILES["runs/x.jsonl"], lines({"qid": "q1", "text": "# A\n\n- one [1]. Two!\n| a | b |\n|---|---|\n"})),
            _around,
        )
        for split in ("none", "sentences")
    ],
    "formats.annotation_files.read_snippets": [
        Reader(lambda path: read_snippets(path, []), "x.jsonl", OFFSETS),
        Reader(lambda path: read_snippets(path, []), "x.txt", BRACKETS),
    ],
    "formats.annotation_files.is_annotation": [
        Reader(is_annotation, "x.jsonl", OFFSETS + DISTILLED),
    ],
    "gale.citations.read_documents": [
        Reader(
            citations.read_documents,
            "x.jsonl",
            (lines({"docid": "D1", "text": "It sank."}, {"docid": "D2", "text": "é"}),),
        ),
        Reader(lambda path: citations.read_documents(path.parent), "D1.txt", (b"It sank.\n",)),
    ],
    "gale.adjudication.adjudicate": [Reader(_adjudicated, "x.jsonl", (DECISIONS,))],
    "formats.append.read_appended": [Reader(_listed(append.read_appended), "x.jsonl", (VERDICTS, VERDICTS[:-9]))],
    "formats.append.torn": [Reader(lambda path: append.torn(path.read_bytes()), "x.jsonl", (VERDICTS,))],
    "formats.audits.read_audit": [Reader(audits.read_audit, "judgements/audits/a.jsonl", (_made(_audit),))],
    "formats.autonuggetizer.read_assignments": [
        Reader(lambda path: autonuggetizer.read_assignments([path]), "x.jsonl", (lines(ASSIGNED),))
    ],
    "formats.autonuggetizer.read_nuggets": [Reader(autonuggetizer.read_nuggets, "x.jsonl", (lines(ASSIGNED),))],
    "formats.brackets.read_brackets": [Reader(_listed(brackets.read_brackets), "x.txt", BRACKETS)],
    "formats.brat.read_brat": [
        Reader(_listed(brat.read_brat), "x.ann", STANDOFF, lambda folder: (folder / "x.txt").write_text(STANDOFF_TEXT)),
        Reader(
            lambda path: brat.read_brat(path.parent, []),
            "x.txt",
            (STANDOFF_TEXT.encode(),),
            lambda folder: (folder / "x.ann").write_bytes(STANDOFF[0]),
        ),
    ],
    "formats.bundle.read_bundle": [of_collection(bundle.read_bundle, name) for name in FILES if name.endswith("jsonl")],
    "formats.inspect_log.Archive.__init__": [Reader(_members, "x.eval", ARCHIVES)],
    "formats.inspect_log.read_log": [
        Reader(inspect_log.read_log, "x.eval", ARCHIVES),
        Reader(inspect_log.read_log, "x.json", (INSPECT,)),
    ],
    "formats.labelled.read_argilla": [Reader(labelled.read_argilla, "x.json", ARGILLA)],
    "formats.labelled.read_label_studio": [
        Reader(labelled.read_label_studio, "x.json", LABELLED),
        Reader(labelled.read_label_studio, "x.csv", (LABELLED_TABLE,)),
    ],
    "formats.nugget_bank.read_banks": [Reader(nugget_bank.read_banks, "x.jsonl", BANKS)],
    "formats.nugget_rows.read_nuggets": [
        Reader(
            nugget_rows.read_nuggets, "x.csv", (b"qid,nugget,text,importance,weight\nq1,1,he,okay,2\nq1,1,him,,-1\n",)
        )
    ],
    "formats.promptfoo.read_results": [Reader(promptfoo.read_results, "x.json", PROMPTFOO)],
    "formats.question_rows.read_answers": [
        Reader(question_rows.read_answers, name, seeds) for name, seeds in (("x.csv", QA_TABLE), ("x.json", QA))
    ],
    "formats.rubrics.read_rubrics": [Reader(rubrics.read_rubrics, "x.jsonl", RUBRICS)],
    "formats.objects.open_file": [
        Reader(
            lambda path: [getattr(objects.open_file(path), name) for name in ("objects", "columns", "lines", "keys")],
            name,
            seeds,
        )
        for name, seeds in (("x.jsonl", RAG), ("x.json", DOCUMENTS), ("x.csv", SHEETS), ("x.txt", KEY))
    ],
    "formats.objects.read_objects": [
        Reader(lambda path: list(objects.read_objects(path, bundle.Bundle(), ("qid",), ("rows",))), name, seeds)
        for name, seeds in (("x.jsonl", RAG), ("x.json", DOCUMENTS), ("x.csv", SHEETS))
    ],
    "formats.objects.read_document": [Reader(objects.read_document, "x.json", DOCUMENTS)],
    "formats.objects.read_whole": [Reader(objects.read_whole, "x.json", (*DOCUMENTS, gzip.compress(DOCUMENTS[0])))],
    "formats.cache.read_cache": [
        Reader(
            lambda path: cache.read_cache(path.parent.parent, "x", 10**6),
            ".nuggeteer/x",
            (b"nuggeteer cache 1 " + b"0" * 64 + b"\ncontent",),
        )
    ],
    "formats.canonical.Layout.read": [
        Reader(_listed(layout.read), "x.jsonl", (content,))
        for layout, content in (
            (canonical.QUESTIONS, FILES["questions.jsonl"]),
            (canonical.NUGGETS, FILES["nuggets.jsonl"]),
            (canonical.MANIFEST, FILES["runs.jsonl"]),
            (canonical.RESPONSES, FILES["runs/x.jsonl"]),
            (canonical.JUDGEMENTS, VERDICTS),
            (canonical.RETRACTIONS, VERDICTS),
        )
    ],
    "formats.distillation.read_distillation": [
        Reader(lambda path, ready=ready: distillation.read_distillation([path], ready), "x.jsonl", DISTILLED)
        for ready in (True, False)
    ],
    "formats.handed_in.read_handed_in": [
        Reader(lambda path: handed_in.read_handed_in(path, []), "x.jsonl", (HANDED_IN,))
    ],
    "formats.jsonl.parsed": [Reader(_parsed, "x.json", DOCUMENTS)],
    "formats.jsonl.read_jsonl": [Reader(_listed(jsonl.read_jsonl), "x.jsonl", (VERDICTS, MATCHES))],
    "formats.jsonl.read_lines": [Reader(_listed(jsonl.read_lines), "x.jsonl", (VERDICTS, gzip.compress(VERDICTS)))],
    "formats.canonical.read_file": [Reader(_listed(canonical.read_file), "x.jsonl", (VERDICTS,))],
    "formats.canonical.read_folder": [
        Reader(lambda path: canonical.read_folder(path.parent, []), "judgements/x.jsonl", (VERDICTS,))
    ],
    "formats.matches.read_matches": [
        Reader(lambda path: matches.read_matches(path, _key_of(path), []), "m.jsonl", (MATCHES,), _around)
    ],
    "formats.snippets.read_judged": [Reader(lambda path: snippets.read_judged(path, []), "x.jsonl", JUDGED)],
    "formats.snippets.read_texts": [
        Reader(_listed(snippets.read_texts), "x.jsonl", TEXTS),
        Reader(_listed(snippets.read_texts), "x.txt", (b"He came to Rome.\n\nIt sank.\n",)),
    ],
    "formats.spreadsheet.read_verdicts": [Reader(lambda path: spreadsheet.read_verdicts(path, []), "x.csv", SHEETS)],
    "formats.trec_qa.read_judgements": [Reader(trec_qa.read_judgements, "x.txt", JUDGED_RUN)],
    "formats.trec_key.read_key": [Reader(trec_key.read_key, "x.txt", KEY)],
    "formats.trec_qa.read_runs": [Reader(trec_qa.read_runs, "x.txt", RUN)],
    "formats.trec_rag.read_answers": [Reader(trec_rag.read_answers, "x.jsonl", RAG)],
    "gale.annotation.agree_on": [
        Reader(lambda path: agree_on(path, path, []), "x.jsonl", OFFSETS),
        Reader(lambda path: agree_on(path, path, []), "x.txt", BRACKETS),
    ],
    "gale.templates.read_templates": [Reader(read_templates, "x.toml", TEMPLATES)],
    "matching.idf.read_documents": [
        Reader(lambda path: list(read_documents([path], [])), "x.jsonl", (FILES["runs/x.jsonl"],)),
        Reader(lambda path: list(read_documents([path], [])), "x.txt", (b"He came to Rome.\n",)),
    ],
    "matching.idf.read_table": [
        Reader(read_table, "x.idf", (_made(lambda path: write_table(path, ["he built a reactor", "it sank"])),))
    ],
    "reports.html.site.Site.__init__": [
        Reader(lambda path: Site(path.parent), "site.json", (lines({"pages": {"1": PAGE_STATE}}),))
    ],
    "formats.toml_settings.read_settings": [Reader(read_settings, "nuggeteer.toml", SETTINGS)],
    "trust.experiments.definition.read_definition": [Reader(read_definition, "x.toml", DEFINITION)],
}


def takers() -> Iterator[str]:
    """Every public function of the package that takes a path or bytes, except those that are called write."""
    for module in pkgutil.walk_packages(nuggeteer.__path__, "nuggeteer."):
        if module.name.endswith(("__main__", "pymc_models", "plugins.inspect")):
            continue
        members = vars(importlib.import_module(module.name))
        for name, member in members.items():
            if name.startswith("_") or getattr(member, "__module__", None) != module.name:
                continue
            functions = {name: member} if inspect.isfunction(member) else {}
            if inspect.isclass(member):
                functions = {f"{name}.{key}": getattr(value, "__func__", value) for key, value in vars(member).items()}
            for key, function in functions.items():
                own = key.rpartition(".")[2]
                made = own == "__init__" and not is_dataclass(member)
                if (own.startswith(("_", "write")) and not made) or not inspect.isfunction(function):
                    continue
                taken = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
                if any("Path" in str(kind) or str(kind) == "bytes" for kind in taken.values()):
                    yield f"{module.name.removeprefix('nuggeteer.')}.{key}"


TOKENS = [
    *(bytes([byte]) for byte in b'"{}[],:;|=#-.()\\'),
    *(b'\\"', b"\\ud800", b"\\u0000"),
    *(b"NaN", b"null", b"true", b"1e999", b"-1", b"0x", b"[["),
    *(b"\n", b"\n\n", b"\r\n", b"\r", b"\t", b" ", b"\0", b"\x1b[2J", b"\xff", b"\xef\xbb\xbf", b"\xc3", b"''' "),
    *("é\u0301\u0316".encode(), "\u200b\u202e".encode(), "٣".encode(), "\U0001f600".encode(), "İ".encode()),
    *(b"[" * 500, b'{"a":' * 200, b"9" * 400, b"9" * 5000, b" " * 3000, "a\u0301".encode() * 500, b"[[" * 300),
    *(b'"qid"', b'"nuggets"', b"1979-05-27", b"[0, 1]", b"[[0, 1]]", b'"q1"', b"1e-400", b"18446744073709551616"),
]


def nested(depth: int) -> str:
    return f"{'[' * depth}{']' * depth}"


# Values that JSON can hold and nobody expects.
CRAFTED = [
    *map(nested, (1, 90, 100, 101, 980, 990, 1000, 1010, 1020)),
    '{"a":' * 300 + "1" + "}" * 300,
    *(
        '"9999-12-31T23:59:59.999999Z"',
        '"0001-01-01T00:00:00+23:59"',
        '"\\u0000"',
        f'"{"9" * 5000}"',
        f'"{"x" * 9999}"',
    ),
    *("18446744073709551615", "-9223372036854775808", "1e308", "-1e308", "5e-324", "true", "null", "{}", '""'),
]


def crafted(rng: random.Random, content: bytes) -> bytes:
    """The content, a document or lines of JSON, with one value replaced by a crafted one."""
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    try:
        try:
            value, before, after = json.loads(content), [], []
        except ValueError:
            value, before, after = json.loads(lines[at]), lines[:at], lines[at + 1 :]
    except ValueError:
        return content
    places = list(_places(value))
    if not places:
        return content
    holder, key = rng.choice(places)
    holder[key] = mark = "the place of the crafted value"
    made = json.dumps(value).replace(json.dumps(mark), rng.choice(CRAFTED)).encode()
    return b"\n".join([*before, made, *after])


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each value within a value: what holds it, and where."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, key
        yield from _places(value[key])


def mutated(rng: random.Random, content: bytes) -> bytes:
    """The content with a few changes: bytes cut, doubled, moved, flipped or put in, numbers and lines exchanged."""
    if rng.random() < 0.2:
        return crafted(rng, content)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        begin = rng.randint(0, len(content))
        end = min(len(content), begin + rng.choice((0, 1, 1, 2, 8, 40)))
        way = rng.randrange(6)
        if way == 0:
            middle = b""
        elif way == 1:
            middle = content[begin:end] * rng.choice((2, 2, 3, 100))
        elif way == 2:
            middle = bytes(byte ^ (1 << rng.randrange(8)) for byte in content[begin:end])
        elif way == 3:
            middle = rng.randbytes(rng.randint(0, 6))
        elif way == 4 and (cut := content.split(b"\n")):
            cut.insert(rng.randint(0, len(cut)), cut.pop(rng.randrange(len(cut))))
            content, middle = b"\n".join(cut), content[begin:end]
        else:
            middle = rng.choice(TOKENS)
        content = content[:begin] + middle + content[end:]
    return content


@dataclass
class Findings:
    """How many inputs each reader had, the longest time for one, and what fell, with the input."""

    inputs: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    fell: list[tuple[str, bytes, str]] = field(default_factory=list)


class TooLong(BaseException):
    """An input for which a reader needed more than `HANG` seconds; no reader catches it."""


def _give_up(*_: object) -> None:
    raise TooLong


def fuzz(name: str, count: int, seed: int, folder: Path, findings: Findings, until: float = float("inf")) -> None:
    """Give `count` torn inputs to a reader, until a time at most."""
    rng = random.Random(f"{name} {seed}")
    ready = []
    for number, reader in enumerate(READERS[name]):
        place = folder / f"{name}-{number}"
        shutil.rmtree(place, ignore_errors=True)
        (place / reader.name).parent.mkdir(parents=True)
        if reader.around:
            reader.around(place)
        ready.append((reader, place / reader.name))
    everything = [content for reader in READERS[name] for content in reader.seeds]
    before = signal.signal(signal.SIGALRM, _give_up)
    try:
        for _ in range(count):
            if time.monotonic() > until:
                return
            reader, path = rng.choice(ready)
            content = mutated(rng, rng.choice(everything if rng.random() < 0.05 else reader.seeds))
            path.write_bytes(content)
            findings.inputs[name] += 1
            if wrong := _given(reader, path, content, name, findings):
                findings.fell.append((name, content, wrong))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _given(reader: Reader, path: Path, content: bytes, name: str, findings: Findings) -> str | None:
    """What was wrong when the reader had its input."""
    signal.alarm(HANG)
    begun = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reader.read(path)
    except NuggeteerError as error:
        findings.refused[name] += 1
        str(error)
    except (Exception, TooLong):
        return traceback.format_exc()
    finally:
        signal.alarm(0)
    seconds = time.process_time() - begun
    findings.slowest[name] = max(seconds, findings.slowest.get(name, 0))
    if seconds > SECONDS + SECONDS_PER_BYTE * len(content):
        return f"{seconds:.1f} s for {len(content):,} bytes"
    return None


def limit_memory() -> None:
    """Make more than `MEMORY` a MemoryError, which is a finding."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, hard))


def peak() -> int:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (
        1 << 20 if os.uname().sysname == "Darwin" else 1 << 10
    )
