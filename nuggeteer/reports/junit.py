"""What changed between two runs, as JUnit XML for build servers.

There is a test case for each gate, for each vital nugget lost, for each lost nugget whose opposite the new answer says,
and for each forbidden one that is now claimed. Such a nugget is a failure if a failed gate counted it. Otherwise it is
skipped, which build servers show but do not count as a failure.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as xml

from nuggeteer.comparing.diff import Diff
from nuggeteer.comparing.gate import Ruling
from nuggeteer.formats.jsonl import write_file
from nuggeteer.history.nightly import Night
from nuggeteer.reports.change_words import difference, difference_span, in_lines, in_words, nuggets_in_words
from nuggeteer.text import escaped


def write(path: Path, result: Diff, ruling: Ruling | None) -> None:
    write_file(path, changes(result, ruling))


def write_night(path: Path, night: Night) -> None:
    """One night's gates and vital nuggets lost. If the gates could not be applied, one test case says why."""
    suite = xml.Element("testsuite", name="nuggeteer nightly")
    if not night.gates:
        xml.SubElement(_case(suite, "nuggeteer.gate", "compared"), "skipped", message=escaped(night.reason))
    if night.diff:
        _add_changes(suite, night.diff, night.ruling.ruling)
    write_file(path, _document(suite))


def changes(result: Diff, ruling: Ruling | None) -> bytes:
    """The whole document. `escaped` leaves no character that XML forbids."""
    suite = xml.Element("testsuite", name="nuggeteer diff")
    if ruling is None:
        _case(suite, "nuggeteer.diff", "compared")
    _add_changes(suite, result, ruling)
    return _document(suite)


def _add_changes(suite: xml.Element, result: Diff, ruling: Ruling | None) -> None:
    old, new = map(escaped, result.titles)
    failing = [gate for gate in ruling.gates if gate.decision == "FAIL"] if ruling else []
    blamed = {id(change) for gate in failing for change in gate.lost}
    for gate in ruling.gates if ruling else ():
        case = _case(suite, "nuggeteer.gate", gate.rule)
        if gate.decision == "FAIL":
            xml.SubElement(case, "failure", message=escaped(gate.why), type="gate")
        elif gate.decision == "UNDECIDED" or (ruling and ruling.decision == "UNDECIDED"):
            why = gate.why if gate.decision == "UNDECIDED" or ruling is None else ruling.reason
            xml.SubElement(case, "skipped", message=escaped(f"undecided: {why}"))
    failed = [change for gate in failing for change in gate.lost if not change.probable]
    opposed = [change for change in result.lost if change.contradicted]
    vital = [change for change in result.vital_lost if not change.contradicted]
    for change in (*opposed, *result.claimed, *vital, *failed):
        place = escaped(f"{change.question.qid}/{change.nugget.nugget}")
        kind = "contradicted" if change.contradicted else "forbidden-claimed" if change.forbidden else "vital-lost"
        case = _case(suite, f"nuggeteer.{kind}", place)
        first, *rest = in_words(change)
        if id(change) in blamed:
            xml.SubElement(case, "failure", message=first, type="lost").text = "\n".join(rest)
        else:
            xml.SubElement(case, "skipped", message=first)
            xml.SubElement(case, "system-out").text = "\n".join(rest)
    delta = result.headline
    summary = [
        f"{old} -> {new}",
        f"{delta.measure.title} {difference(delta)} (questions like these: {difference_span(delta)})",
        *nuggets_in_words(result),
        *(in_lines(ruling) if ruling else ()),
    ]
    xml.SubElement(suite, "system-out").text = "\n".join(map(escaped, summary))


def _document(suite: xml.Element) -> bytes:
    counts = {
        "tests": len(suite.findall("testcase")),
        "failures": len(suite.findall("testcase/failure")),
        "errors": 0,
        "skipped": len(suite.findall("testcase/skipped")),
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    root = xml.Element("testsuites", {name: str(count) for name, count in counts.items()})
    root.append(suite)
    xml.indent(root)
    document: bytes = xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _case(suite: xml.Element, group: str, name: str) -> xml.Element:
    return xml.SubElement(suite, "testcase", classname=group, name=name)
