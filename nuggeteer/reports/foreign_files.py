"""Files from elsewhere: what they are, and what happened to them when they were imported or converted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console

from nuggeteer.errors import by_kind
from nuggeteer.fields import Count, Part, about, copied
from nuggeteer.reports.formatting import counted
from nuggeteer.reports.problems import ProblemOutput
from nuggeteer.reports.terminal import plain, say_whole
from nuggeteer.text import escaped

if TYPE_CHECKING:  # each command needs one of these
    from nuggeteer.collection.convert import Converted
    from nuggeteer.collection.doctor import Finding
    from nuggeteer.collection.importing import Imported

MOST = 5  # keys that are listed, of those that nothing uses
_PLURAL = re.compile(r"s(?=$| (?:of|that|with|within|without|whose)\b)")  # of the noun itself, the first one
KINDS = 3  # kinds of problems that are shown of each file
NOT_KNOWN = "These are a machine's verdicts: they are kept and compared, but do not count as known."
AS_TRUTH = "These are a machine's verdicts, and they count as a human's ([judgements] as_truth in nuggeteer.toml)."

IsMachine = Annotated[bool, about("Whether the verdicts are a machine's.")]
IsTruth = Annotated[bool, about("Whether a machine's verdicts are the standard to score by.")]


class CountOf(Part):
    """Something and how often it is there."""

    what: str
    count: Count


Unused = Annotated[Sequence[CountOf], about("What is kept, and used by nothing.")]
LeftOut = Annotated[Sequence[CountOf], about("What is not converted.")]


class ImportOutput(Part):
    """What became of verdicts that were imported."""

    assessor: str
    file: str
    written: Annotated[Count, about("How many verdicts were written.")]
    already: Annotated[Count, about("How many this assessor had already given.")]
    retracted: Annotated[Count, about("How many this assessor had retracted since.")]
    withdrawn: Annotated[Count, about("How many earlier verdicts a page's file takes back.")]
    proposed: Annotated[Count, about("How many nuggets a page's file proposes that nobody proposed before.")]
    unjudged: Annotated[Count, about("Rows of a spreadsheet without a verdict.")]
    contradicting: Annotated[Count, about("How many were written although another human says the opposite.")]
    machine: IsMachine
    as_truth: IsTruth
    problems: Sequence[str]


class ConvertedFile(Part):
    """A file that was converted."""

    file: str
    written: Annotated[Sequence[str], about("The files that were written.")]
    questions: Annotated[
        Count, about("Questions read from the file; the next four count other records in the same way.")
    ]
    nuggets: Count
    runs: Count
    responses: Count
    judgements: Count
    garbled: Annotated[Count, about("Lines that could not be read.")]
    unmatched: Annotated[Count, about("Listed texts that are not nuggets of the key.")]
    unassigned: Annotated[Count, about("Nuggets of the key that an answer's list lacks.")]
    unused: Unused
    left_out: LeftOut
    machine: IsMachine
    as_truth: IsTruth
    problems: Sequence[ProblemOutput]


class ConvertOutput(Part):
    """Files that were converted into a collection."""

    files: Sequence[ConvertedFile]


class WrittenFile(Part):
    """A collection that was written as a file."""

    file: str
    lines: Count
    lost: Annotated[Sequence[CountOf], about("What the format has no place for.")]


class NextStep(Part):
    """What can be done with a file."""

    what: str
    command: str


class ExaminedFile(Part):
    """A file, and what can be done with it."""

    file: str
    known: Annotated[bool, about("false if nothing can be done with the file as it is.")]
    broken: Annotated[
        bool, about("Whether it has an error, is empty, or nothing in it is understood; then the exit code is 2.")
    ]
    about: str
    format: Annotated[str | None, about("Its name for `convert`; null for our own files.")]
    counts: Annotated[
        Mapping[str, Count],
        about("What the file holds, such as `questions`, `nuggets` and the other counts of `convert`."),
    ]
    unused: Unused
    left_out: LeftOut
    steps: Sequence[NextStep]
    problems: Sequence[ProblemOutput]


class DoctorOutput(Part):
    """What files are, what they hold and what can be done with them."""

    files: Sequence[ExaminedFile]


def as_json(done: Imported) -> dict[str, Any]:
    return copied(
        ImportOutput,
        done,
        file=str(done.ledger),
        written=len(done.written),
        machine=any(judgement.machine for judgement in done.written),
        problems=[str(problem) for problem in done.problems],
    ).as_data()


def conversions_as_json(done: Sequence[Converted]) -> dict[str, Any]:
    files = [
        copied(
            ConvertedFile,
            converted,
            file=str(converted.source),
            written=list(map(str, converted.written)),
            **converted.counts,
            **_rest(converted),
        )
        for converted in done
    ]
    return ConvertOutput(files=files).as_data()


def written_as_json(target: Path, lines: int, lost: Mapping[str, int]) -> dict[str, Any]:
    """A file that was written, and what it has no place for."""
    return WrittenFile(file=str(target), lines=lines, lost=_counts(lost)).as_data()


def findings_as_json(found: Sequence[Finding]) -> dict[str, Any]:
    files = [
        copied(
            ExaminedFile,
            finding,
            file=str(finding.path),
            steps=[NextStep(what=what, command=how) for what, how in finding.steps],
            **_rest(finding),
        )
        for finding in found
    ]
    return DoctorOutput(files=files).as_data()


def _rest(file: Converted | Finding) -> dict[str, Any]:
    """The parts of a file that are not used."""
    return {"unused": _counts(file.unused), "left_out": _counts(file.left_out)}


def _counts(counts: Mapping[str, int]) -> list[CountOf]:
    return [CountOf(what=what, count=count) for what, count in counts.items() if count]


def draw(out: Console, done: Imported) -> None:
    """What happened to each verdict of the file."""
    say_whole(out, f"{counted(len(done.written), 'verdict')} of {done.assessor} written to {done.ledger}")
    for count, what in (
        (done.already, "were there already, and are not written again"),
        (done.retracted, f"were taken back by {done.assessor} since, and are not written again"),
        (done.unjudged, "without a verdict are left out"),
    ):
        if count:
            say_whole(out, f"{counted(count, 'row')} {what}")
    if done.withdrawn:
        withdrawn = counted(done.withdrawn, "earlier verdict")
        say_whole(out, f"{withdrawn} of {done.assessor} taken back, as the file says")
    if done.proposed:
        say_whole(out, f"{counted(done.proposed, 'nugget')} proposed for the key, in proposals.jsonl")
    if done.contradicting:
        verb = "contradicts" if done.contradicting == 1 else "contradict"
        say_whole(out, f"{done.contradicting:,} of them {verb} another assessor; nuggeteer check lists which")
    if any(judgement.machine for judgement in done.written):
        say_whole(out, AS_TRUTH if done.as_truth else NOT_KNOWN)


def draw_written(out: Console, target: Path, lines: int, lost: Mapping[str, int]) -> None:
    """A file that was written, and what it has no place for."""
    say_whole(out, f"{target}: {counted(lines, 'line')}")
    if any(lost.values()):
        _indent(out, f"the format has no place for {_listed(lost)}")


def draw_conversions(out: Console, done: Sequence[Converted]) -> None:
    for converted in done:
        say_whole(out, f"{converted.source}: {_listed(converted.counts)}")
        say_whole(out, *(f"  wrote {path}" for path in converted.written))
        _draw_rest(out, converted.unused, converted.left_out)
    if any(converted.machine for converted in done):
        say_whole(out, AS_TRUTH if any(converted.as_truth for converted in done) else NOT_KNOWN)


def draw_findings(out: Console, found: Sequence[Finding]) -> None:
    """A paragraph for each file, and the commands below it."""
    for place, finding in enumerate(found):
        if place:
            out.print()
        out.print(plain(str(finding.path), "bold"), soft_wrap=True)
        _indent(out, finding.about)
        if any(finding.counts.values()):
            _indent(out, _listed(finding.counts))
        _draw_rest(out, finding.unused, finding.left_out)
        _draw_problems(out, finding)
        for what, command in finding.steps:
            out.print()
            _indent(out, f"{what}:")
            say_whole(out, *(f"    {line}" for line in command.split("\n")))


def _indent(out: Console, said: str) -> None:
    """Print a paragraph, two columns in."""
    lines = wrap(escaped(said), max(out.width - 2, 20), break_long_words=False, break_on_hyphens=False)
    say_whole(out, *(f"  {line}" for line in lines))


def _draw_rest(out: Console, unused: Mapping[str, int], left_out: Mapping[str, int]) -> None:
    """The parts of a file that no command uses, and what is not converted."""
    if any(unused.values()):
        _indent(out, f"kept, and used by nothing: {_listed(unused, MOST)}")
    if any(left_out.values()):
        _indent(out, f"left out: {_listed(left_out)}")


def _listed(counts: Mapping[str, int], most: int | None = None) -> str:
    """Counts with what they count, without zeros."""
    shown = [_several(count, what) for what, count in counts.items() if count]
    more = f" and {len(shown) - most} other keys" if most and len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def _several(count: int, what: str) -> str:
    """A count with what it counts, whose noun may stand before others: 1 result without an output."""
    return f"{count:,} {_PLURAL.sub('', what, count=1) if count == 1 else what}"


def _draw_problems(out: Console, finding: Finding) -> None:
    kinds = by_kind(finding.problems)
    for first, *others in kinds[:KINDS]:
        more = f" ({len(others):,} more of this kind)" if others else ""
        place = "" if first.line is None else f"line {first.line}: "
        said = f"{place}{first.what}; {first.remedy}" if first.file == str(finding.path) else str(first)
        _indent(out, f"{first.severity}: {said}{more}")
    if len(kinds) > KINDS:
        out.print(f"  ... and {len(kinds) - KINDS} more kinds of problems (--json lists them all)")
