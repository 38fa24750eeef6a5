"""Import verdicts that were made elsewhere into one assessor's ledger: all of them or none.

A file is canonical JSON Lines, a spreadsheet as CSV or TSV (formats/spreadsheet.py), or AutoNuggetizer's assignments,
which a machine made. These are read as `convert` reads them: nuggets have no ids and are found by their texts, a
garbled assignment is a no, and assignments of nuggets that the key does not have are reported and left out. Unless the
machine is given a name, it gets the one that `convert` gives it. What an assessor hands back from a page
(formats/handed_in.py) may also withdraw verdicts from an earlier file of that page, and propose nuggets. A verdict that
the assessor has already given, or has retracted since, is not written. A verdict that contradicts the assessor's own is
an error. A verdict without a time counts as earlier than every retraction, and gets the time of the import.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from msgspec import structs

from nuggeteer.collection.folder import Collection
from nuggeteer.collection.foreign import name_formats
from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.proposals import propose_again
from nuggeteer.errors import InputError, NuggeteerError, Problem, errors_in, fail
from nuggeteer.formats.append import torn
from nuggeteer.formats.autonuggetizer import ASSESSOR, read_assignments, recognises_assignments
from nuggeteer.formats.bundle import KEPT_ASIDE, USED, Bundle, as_id
from nuggeteer.formats.canonical import Entry, Verdict, read_file, read_folder, unretracted
from nuggeteer.formats.handed_in import Proposed, is_handed_in, read_handed_in
from nuggeteer.formats.jsonl import BOM, write_whole
from nuggeteer.formats.objects import open_file, read_objects, read_whole
from nuggeteer.formats.spreadsheet import read_verdicts
from nuggeteer.formats.toml_settings import with_truth
from nuggeteer.records import AnswerKey, Judgement, Pair, Retraction, Scope
from nuggeteer.settings import Split

_SHOWN = 20
_BLANKS = BOM + b" \t\r\n"


@dataclass(frozen=True)
class Imported:
    """The result of an import."""

    assessor: str
    ledger: Path
    written: tuple[Judgement, ...]
    already: int  # verdicts that the same assessor had given before
    retracted: int  # the same assessor retracted them since
    withdrawn: int  # verdicts of an earlier import that the file takes back
    proposed: int  # nuggets that the assessor proposes, new in proposals.jsonl
    unjudged: int  # rows of a spreadsheet without a verdict
    contradicting: int  # written, although another human gave the opposite verdict
    as_truth: bool  # a machine's, and the standard to score by
    problems: tuple[Problem, ...]


def import_verdicts(
    collection: Collection, path: Path, assessor: str | None = None, as_truth: bool = False
) -> Imported:
    """Write a file's verdicts into the ledger of their assessor, who must be given if the file names nobody.

    With `as_truth`, the settings say that these are the standard, although a machine gave them."""
    problems: list[Problem] = []
    try:
        content = _read(path, collection.key, collection.settings.answers.split, problems)
    except InputError as error:
        raise InputError(name_formats(error.problems, "nuggetizer-assignments")) from error
    _refuse(problems)
    name = _assessor_of(path, content.verdicts, assessor)
    ledger = Ledger(collection.root, name)
    verdicts = [Entry(v.file, v.line, _own(v.record, name)) for v in content.verdicts]
    present = [entry for entry in read_folder(ledger.path.parent, []) if entry.record.assessor == name]
    withdrawn = [Entry(r.file, r.line, structs.replace(r.record, assessor=name)) for r in content.retractions]
    standing, earlier = unretracted(present), unretracted([*present, *withdrawn])
    gone = {verdict.record.pair for verdict in standing} - {verdict.record.pair for verdict in earlier}
    valid = unretracted([*(e for e in present if isinstance(e.record, Retraction)), *withdrawn, *verdicts])
    if len({verdict.record.machine for verdict in (*earlier, *verdicts)}) > 1:
        what = f"{name!r} is a machine in some verdicts and a human in others, here and in {ledger.path.parent}"
        raise fail(path, what, "choose another name for the assessor; nothing was imported")
    new = list(_new(valid, earlier, problems))
    _refuse(problems)
    settings, toml = None, collection.root / "nuggeteer.toml"
    if as_truth:
        if not all(verdict.record.machine for verdict in verdicts):
            raise fail(path, "its verdicts are a human's, and known anyway", "leave out --as-truth")
        settings = with_truth(toml, name)
    written = tuple(ledger.extend(new, [entry.record for entry in withdrawn if entry.record.pair in gone]))
    proposed = propose_again(collection.root, name, content.proposals)
    if settings is not None:
        write_whole(toml, lambda file: file.write(settings), follow=False)
    already, retracted = len(valid) - len(new), len(verdicts) - len(valid)
    known = {(judgement.pair, judgement.verdict) for judgement in collection.judgements}
    against = sum((j.pair, not j.verdict) in known for j in written if not j.machine)
    problems += ledger.problems
    truth = as_truth or name in collection.settings.judgements.as_truth
    counts = already, retracted, len(gone), proposed, content.unjudged, against
    return Imported(name, ledger.path, written, *counts, truth, tuple(problems))


@dataclass
class _Content:
    """What a file says. `unjudged` counts its rows without a verdict."""

    verdicts: list[Verdict] = field(default_factory=list)
    unjudged: int = 0
    retractions: list[Entry[Retraction]] = field(default_factory=list)
    proposals: list[Proposed] = field(default_factory=list)


def _read(path: Path, key: AnswerKey, split: Split, problems: list[Problem]) -> _Content:
    """What a file says about nuggets of the key."""
    opening = open_file(path)
    if recognises_assignments(opening):
        return _Content(_assignments(path, key, split, problems))
    found, content = _Content(), read_whole(path)
    if not content.strip(_BLANKS).startswith(b"{"):
        found.verdicts, found.unjudged = read_verdicts(path, problems)
    elif is_handed_in(opening):
        for handed in read_handed_in(path, problems):
            if isinstance(handed.record, Judgement):
                found.verdicts.append(Entry(handed.file, handed.line, handed.record))
            elif isinstance(handed.record, Retraction):
                found.retractions.append(Entry(handed.file, handed.line, handed.record))
            else:
                found.proposals.append(handed.record)
    else:
        for entry in read_file(path, problems):
            if isinstance(entry.record, Judgement):
                found.verdicts.append(Entry(entry.file, entry.line, entry.record))
            else:
                what, remedy = "a retraction cannot be imported", "copy the file into judgements/, or delete the line"
                problems.append(Problem(entry.file, entry.line, what, remedy))
    if content.strip(_BLANKS).startswith(b"{") and torn(content):
        what = "the last line is incomplete"
        problems.append(Problem(str(path), None, what, "get the whole file, or delete the line"))
    for entry in found.verdicts:
        file, line, record = entry.file, entry.line, entry.record
        if record.qid not in key.position:
            problems.append(Problem(file, line, *key.why_not(record.qid)))
        elif (record.qid, record.nugget) not in key.nugget_position:
            what = f"question {record.qid!r} has no nugget {record.nugget!r}"
            problems.append(Problem(file, line, what, "correct the nugget"))
        elif wrong := record.flaw:
            problems.append(Problem(file, line, wrong, "write no, and partial or contradicts or neither"))
    return found


def _assignments(path: Path, key: AnswerKey, split: Split, problems: list[Problem]) -> list[Verdict]:
    """AutoNuggetizer's assignments, which are a machine's verdicts. Its nuggets are found by their texts."""
    (bundle,) = read_assignments([path], key.nuggets)
    remedies = {
        KEPT_ASIDE: "it was not imported; correct it and import the file again",
        USED: "it was imported so; correct the file first if it matters",
    }
    problems.extend(replace(p, remedy=remedies.get(p.remedy, p.remedy)) for p in bundle.problems)
    lines: dict[tuple[str | None, str | None], int] = {}
    for line, record, _ in read_objects(path, Bundle()):
        lines.setdefault((as_id(record.get("run_id")), as_id(record.get("qid"))), line)
    for qid in bundle.questions:
        if qid not in key.position:
            line = next(line for (_, asked), line in lines.items() if asked == qid)
            problems.append(Problem(str(path), line, *key.why_not(qid)))
    scope: Scope = "answer" if split == "sentences" else "response"
    verdicts = [
        Entry(str(path), lines[j.run, j.qid], structs.replace(j, assessor=None, scope=scope))
        for j in bundle.judgements
        if j.qid in key.position
    ]
    if not verdicts:
        problems.append(Problem(str(path), None, "no verdict on a nugget of the key", "check that the key is the same"))
    return verdicts


def _assessor_of(path: Path, verdicts: list[Verdict], assessor: str | None) -> str:
    names = {verdict.record.assessor for verdict in verdicts}
    if assessor is None and len(names) == 1 and (only := next(iter(names))):
        return only
    others = sorted(name for name in names if name and name != assessor)
    if others:
        what = f"its verdicts are by {', '.join(map(repr, others[:5]))}{' and others' if len(others) > 5 else ''}"
        what += f", not by {assessor!r}" if assessor else ""
        raise fail(path, what, "import one file for each assessor; nothing was imported")
    if assessor is None and verdicts and all(verdict.record.machine for verdict in verdicts):
        return ASSESSOR
    if assessor is None:
        raise fail(path, "it does not name the assessor of the verdicts", "name the assessor with --assessor NAME")
    return assessor


def _own(judgement: Judgement, assessor: str) -> Judgement:
    return structs.replace(judgement, assessor=assessor, extra={"source": "import", **judgement.extra})


def _new(verdicts: list[Verdict], earlier: list[Verdict], problems: list[Problem]) -> Iterator[Judgement]:
    """The judgements that are new, in the collection and in the file. A contradiction becomes a problem."""
    verdicts_of: dict[Pair, list[Verdict]] = {}
    for verdict in earlier:
        verdicts_of.setdefault(verdict.record.pair, []).append(verdict)
    for verdict in verdicts:
        before = verdicts_of.setdefault(verdict.record.pair, [])
        words = verdict.record.word
        if not before:
            before.append(verdict)
            yield verdict.record
        elif words not in {previous.record.word for previous in before}:
            what = f"{words} on nugget {verdict.record.nugget!r} of {verdict.record.qid!r} contradicts "
            what += f"{before[0].location}, where the same assessor says {before[0].record.word}"
            if verdict.record.machine and verdict.record.run not in {previous.record.run for previous in before}:
                # A machine that read the same text in another run. `convert` takes both, too.
                problems.append(Problem(verdict.file, verdict.line, what, "both are kept; a yes counts", "warning"))
                before.append(verdict)
                yield verdict.record
                continue
            problems.append(Problem(verdict.file, verdict.line, what, "correct it, or retract the other"))


def _refuse(problems: list[Problem]) -> None:
    """Raise an error that lists what is wrong with the file, if anything is."""
    if errors_in(problems):
        errors = list(map(str, errors_in(name_formats(problems, "nuggetizer-assignments"))))
        more = [f"... and {len(errors) - _SHOWN} more"] if len(errors) > _SHOWN else []
        raise NuggeteerError("\n".join([*errors[:_SHOWN], *more, "nothing was imported"]))
