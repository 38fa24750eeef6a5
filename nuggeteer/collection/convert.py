"""Convert other formats into a collection, and a collection into other formats; and what is lost on the way out.

A foreign file has no place for some of what a collection has: the difference between the collection and what is read
back from the written file. So nothing is lost silently, in any format. Records are compared in their order within a
question: the questions and nuggets of a key; of a run its responses, its questions and, if the file has any, the
verdicts that were given on it. If a file has one answer to a question and the run has several responses, the file has
joined them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import structs

from nuggeteer.collection.foreign import FORMATS, format_of
from nuggeteer.collection.names import refuse_file
from nuggeteer.collection.runs import institution_of
from nuggeteer.errors import NuggeteerError, Problem, stop_at_errors
from nuggeteer.formats.bundle import Bundle, as_json, read_bundle, write_bundles
from nuggeteer.formats.jsonl import bare_name, write_whole
from nuggeteer.formats.objects import as_table
from nuggeteer.formats.toml_settings import read_settings, with_truth
from nuggeteer.records import Judgement, Nugget, Question, Response

NEW_SETTINGS = b"""\
# Each record of a run may hold a whole answer: it is cut into sentences, list items, headings and table rows.
[answers]
split = "sentences"
"""


@dataclass(frozen=True)
class Converted:
    """The result for a file: the files that were written, counts of records, and problems."""

    source: Path
    written: tuple[Path, ...]
    counts: Mapping[str, int]
    problems: tuple[Problem, ...]
    unused: Mapping[str, int]  # what is kept but unused
    left_out: Mapping[str, int]  # what is not converted
    machine: bool = False  # its verdicts are a machine's
    as_truth: bool = False  # and the standard to score by


def convert_into(
    name: str,
    paths: Sequence[Path | str],
    folder: Path | str,
    columns: Sequence[str] | None = None,
    as_truth: bool = False,
    run: str | None = None,
    by_institution: bool = False,
) -> list[Converted]:
    """Read foreign files into the collection in `folder`. Lines that were not understood go to `folder`/garbled.

    All files are read before any is written. If one of them cannot be read, nothing is written. With `as_truth`, the
    settings say that the verdicts are the standard, although a machine gave them. `run` is the name of the run whose
    answers a file has, if the format does not say. With `by_institution`, runs whose tags begin alike are one group.
    """
    format_, folder, files = format_of(name), Path(folder), [Path(path) for path in paths]
    refuse_file(folder)
    if columns and not format_.columns:
        raise NuggeteerError(f"the format {name} has no columns; leave out --columns")
    if as_truth and not format_.machine:
        raise NuggeteerError(f"the format {name} has no verdicts of a machine; leave out --as-truth")
    if run is not None and not format_.dataset:
        raise NuggeteerError(f"the format {name} names its runs itself; leave out --run")
    if by_institution and not format_.tags:
        raise NuggeteerError(f"the runs of the format {name} have no tags of TREC; leave out --by-institution")
    read = partial(format_.read, columns=columns) if columns else format_.read
    present = _without_groups(read_bundle(folder) if folder.is_dir() else Bundle())
    if format_.read_together:
        bundles = format_.read_together(files, present.nuggets)
    elif format_.dataset:
        bundles = _read_datasets(partial(read, run=run), files, present)
    else:
        bundles = [read(path) for path in files]
    if by_institution:
        for bundle in bundles:
            named = ((tag, info.group or institution_of(tag)) for tag, info in bundle.runs.items())
            bundle.runs = {tag: structs.replace(bundle.runs[tag], group=group) for tag, group in named}
    problems = [problem for bundle in bundles for problem in bundle.problems]
    stop_at_errors(problems)
    counts = [counts_of(bundle) for bundle in bundles]
    for path, bundle, count in zip(files, bundles, counts, strict=True):
        if not understood(count):
            raise NuggeteerError(f"{path}: {_nothing(bundle)}; check that it is in the format {name}")
    sources = [(f"{name}-{bare_name(path)}", bundle) for path, bundle in zip(files, bundles, strict=True)]
    new = not (folder.is_dir() and any(folder.iterdir()))
    if format_.whole_answers and (new or read_settings(folder / "nuggeteer.toml").answers.split == "sentences"):
        for bundle in bundles:  # its verdicts are not on single sentences
            bundle.judgements = [structs.replace(judgement, scope="answer") for judgement in bundle.judgements]
    toml = folder / "nuggeteer.toml"
    settings = NEW_SETTINGS if new and format_.whole_answers else None
    if as_truth:
        settings = with_truth(toml, format_.machine, settings)
    remedy = "convert into a new folder, or rename them"
    written = write_bundles(sources, folder, f"name the run with --run NAME, {remedy}" if format_.dataset else remedy)
    if settings is not None:
        write_whole(toml, lambda file: file.write(settings), follow=False)
    truth = format_.machine in read_settings(toml).judgements.as_truth
    return [
        Converted(
            path,
            tuple(made),
            count,
            tuple(bundle.problems),
            bundle.unused,
            bundle.left_out,
            bool(format_.machine and bundle.judgements),
            truth,
        )
        for path, made, count, bundle in zip(files, written, counts, bundles, strict=True)
    ]


def _read_datasets(read: Callable[..., Bundle], files: Sequence[Path], present: Bundle) -> list[Bundle]:
    """The bundles of files. A file may use the questions of those before it."""
    bundles = []
    for path in files:
        bundle = read(path, present_records=present)
        bundles.append(bundle)
        for question in bundle.questions.values():
            present.add_question(question)
        present.nuggets += bundle.nuggets
    return bundles


def convert_annotation(source: Path | str, target: Path | str) -> tuple[int, list[str], list[Problem]]:
    """Write annotated snippets in another notation. The names of both files say which (`formats.annotation_files`).

    Returns the number of snippets, what the new notation cannot hold, and warnings.
    """
    from nuggeteer.formats.annotation_files import read_snippets, write_snippets

    problems: list[Problem] = []
    snippets = read_snippets(Path(source), problems)
    return len(snippets), write_snippets(Path(target), snippets), problems


def counts_of(bundle: Bundle) -> dict[str, int]:
    """How many records a file has of each kind."""
    return {
        "questions": len(bundle.questions),
        "nuggets": len(bundle.nuggets),
        "runs": len(bundle.responses),
        "responses": sum(map(len, bundle.responses.values())),
        "judgements": len(bundle.judgements),
        "garbled": len(bundle.garbled),
        "unmatched": bundle.unmatched,
        "unassigned": bundle.unassigned,
    }


def _nothing(bundle: Bundle) -> str:
    """Why a file has no record: the first line that was not understood, if there are any."""
    if not bundle.garbled or not bundle.problems:
        return "nothing was found in it"
    first = bundle.problems[0]
    return f"nothing in it was understood ({'' if first.line is None else f'line {first.line}: '}{first.what})"


def understood(counts: Mapping[str, int]) -> bool:
    """Whether a file has any record, and not only lines that are kept aside."""
    return any(counts[kind] for kind in ("questions", "nuggets", "runs", "responses", "judgements"))


def convert_out(name: str, folder: Path | str, target: Path | str, run: str | None = None) -> int:
    """Write a collection's key, or one of its runs, as a foreign file. Returns the number of lines."""
    format_, folder, target = format_of(name), Path(folder), Path(target)
    _refuse_own_file(folder, target)
    if not format_.of_run and not format_.of_key:
        written = ", ".join(one for one, other in FORMATS.items() if other.of_run or other.of_key)
        raise NuggeteerError(f"the format {name} can be read, not written; those that can be: {written}")
    bundle = _without_groups(read_bundle(folder))
    if format_.of_run:
        if run is None or run not in bundle.responses:
            known = ", ".join(bundle.responses) or "none"
            raise NuggeteerError(f"{name} is written for one run; name it with --run; the runs are: {known}")
        lines = format_.of_run(bundle, run)
    else:
        assert format_.of_key
        lines = format_.of_key(bundle)
    found = list(lines)
    if not found:
        raise NuggeteerError(f"{folder} has nothing to write as {name}")
    delimiter = {".csv": ",", ".tsv": "\t"}.get(target.suffix) if format_.rows else None
    if delimiter:
        encoded = [as_table(found, delimiter)]
    elif format_.document:
        encoded = [as_json(found).encode(), b"\n"]
    else:
        encoded = [(line if isinstance(line, str) else as_json(line)).encode() + b"\n" for line in found]
    write_whole(target, lambda file: file.writelines(encoded))
    return len(found)


def _without_groups(bundle: Bundle) -> Bundle:
    """Other projects' files have no place for groups of nuggets."""
    bundle.nuggets = [nugget for nugget in bundle.nuggets if not nugget.members]
    return bundle


def _refuse_own_file(folder: Path, target: Path) -> None:
    """Refuse to write over the collection's own files, or into its folders."""
    inside = [folder / "runs", folder / "judgements"]
    own = [folder / name for name in ("questions.jsonl", "nuggets.jsonl", "runs.jsonl", "nuggeteer.toml")]
    path = target.resolve()
    if path.parent in [p.resolve() for p in inside] or path in [p.resolve() for p in own]:
        raise NuggeteerError(f"{target} is reserved for the collection's own files; name another file")


# The fields of records that a foreign file may have no place for, with the names that they are counted by.
QUESTION = {"kind": "kinds", "target": "targets", "template": "templates", "extra": "other keys"}
NUGGET = {"nugget": "ids", "descriptions": "descriptions", "importance": "importances", "weight": "weights"}
NUGGET |= {"votes": "votes", "tags": "tags", "extra": "other keys"}
RESPONSE = {"docid": "docids", "rank": "ranks", "extra": "other keys"}
JUDGEMENT = {
    "assessor": "assessors",
    "at": "times",
    "reason": "reasons",
    "span": "marked words",
    "partial": "marks of partial support",
}


def losses(name: str, folder: Path, target: Path, run: str | None = None) -> Counter[str]:
    """How many of what a collection has are not in the file that its key, or this run, was written to."""
    format_ = format_of(name)
    before = read_bundle(folder)
    if format_.read_together:
        after = format_.read_together([target], ())[0]
    else:
        after = format_.read(target, run=run) if format_.dataset else format_.read(target)
    found = Counter[str]()
    groups = _groups(before) - _groups(after)
    if run is None or after.nuggets:
        found["groups of nuggets"] = max(0, groups)
    if run is None:
        _compare(found, "questions", QUESTION, before.questions.values(), after.questions.values(), lambda q: q.qid)
        _texts(found, before, after, before.questions)
        _nuggets(found, before, after)
        return found
    asked = {
        response.qid: before.questions[response.qid]
        for response in before.responses[run]
        if response.qid in before.questions
    }
    _compare(found, "questions", QUESTION, asked.values(), after.questions.values(), lambda q: q.qid)
    _texts(found, before, after, asked)
    _responses(found, before.responses[run], next(iter(after.responses.values()), []))
    if after.nuggets:
        _nuggets(found, before, after, set(asked))
    _verdicts(found, before, after, run)
    return found


def _groups(bundle: Bundle) -> int:
    """How many groups there are. They are taken out, and compared by their number alone."""
    return len(bundle.nuggets) - len(_without_groups(bundle).nuggets)


def _compare(
    found: Counter[str], what: str, fields: dict[str, str], before: Iterable[Any], after: Iterable[Any], key: Any
) -> None:
    """Count the fields that records of `before` have, but records of `after` with the same key do not."""
    other = {key(record): record for record in after}
    for record in before:
        same = other.get(key(record))
        if same is None:
            found[what] += 1
            continue
        for field, called in fields.items():
            value = getattr(record, field)
            if value not in (None, "", (), False) and value and getattr(same, field) != value:
                found[f"{called} of {what}"] += 1


def _texts(found: Counter[str], before: Bundle, after: Bundle, asked: Iterable[str]) -> None:
    for qid in asked:
        if qid in after.questions and after.questions[qid].text != before.questions[qid].text:
            found["texts of questions"] += 1


def _nuggets(found: Counter[str], before: Bundle, after: Bundle, qids: set[str] | None = None) -> None:
    own = [nugget for nugget in before.nuggets if qids is None or nugget.qid in qids]
    pairs = zip(_placed(own), own, strict=True), zip(_placed(after.nuggets), after.nuggets, strict=True)
    first, second = (dict(pair) for pair in pairs)
    places = {id(nugget): place for group in (first, second) for place, nugget in group.items()}
    _compare(found, "nuggets", NUGGET, first.values(), second.values(), lambda nugget: places[id(nugget)])


def _responses(found: Counter[str], before: Sequence[Response], after: Sequence[Response]) -> None:
    first, second = (dict(zip(_placed(some), some, strict=True)) for some in (before, after))
    several = {qid for qid, place in first if place and (qid, place) not in second}
    found["questions whose responses are joined into one answer"] += len(several)
    alone = {place: one for place, one in first.items() if place[0] not in several}
    places = {id(one): place for group in (alone, second) for place, one in group.items()}
    _compare(found, "responses", RESPONSE, alone.values(), second.values(), lambda one: places.get(id(one)))
    for place, response in alone.items():
        if place in second and second[place].text != response.text:
            same = second[place].text.split() == response.text.split()
            found["texts with other white space" if same else "texts of responses"] += 1
    for field, called in RESPONSE.items():
        lost = sum(bool(getattr(one, field)) for place, one in first.items() if place[0] in several and place[1])
        found[f"{called} of responses"] += lost


def _verdicts(found: Counter[str], before: Bundle, after: Bundle, run: str) -> None:
    """Verdicts given on the run, by nugget: a file without any has no place for them."""
    own = [judgement for judgement in before.judgements if judgement.run == run]
    if not after.judgements:
        found["verdicts"] += len(own)
        return
    before_ids, after_ids = _numbers(before.nuggets), _numbers(after.nuggets)
    whose = {id(judgement): before_ids for judgement in own}

    def content(one: Judgement) -> tuple[str, int | str, bool]:
        """The question, the place of the nugget in it (or, in a file without a key, its number) and the verdict."""
        ids = whose.get(id(one), after_ids)
        return one.qid, ids.get((one.qid, one.nugget), one.nugget) if after_ids else one.nugget, one.verdict

    _compare(found, "verdicts", JUDGEMENT, own, after.judgements, content)


def _numbers(nuggets: Sequence[Nugget]) -> dict[tuple[str, str], int]:
    return {(n.qid, n.nugget): place for n, (_, place) in zip(nuggets, _placed(nuggets), strict=True)}


def _placed(records: Sequence[Nugget | Response | Question]) -> list[tuple[str, int]]:
    """Each record's question, and its place within it."""
    count = Counter[str]()
    places = []
    for record in records:
        places.append((record.qid, count[record.qid]))
        count[record.qid] += 1
    return places
