"""The nugs that were proposed for distillers' nuggets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from nuggeteer.formats.distillation import DistilledNugget, Nug
from nuggeteer.gale.nugs import NugProposal
from nuggeteer.reports.formatting import counted, number
from nuggeteer.reports.model import Count, Part, copied
from nuggeteer.reports.terminal import plain, table


class NugMember(Part):
    """A nugget in a proposed nug."""

    distiller: str
    text: str
    degree: float


class ProposedNug(Part):
    """A nug that was proposed."""

    qid: str
    nug: str
    text: str | None
    nuggets: Sequence[NugMember]


class NugProposalOutput(Part):
    """Proposed nugs: with `--propose`."""

    nuggets: Count
    nugs: Sequence[ProposedNug]


def as_json(result: NugProposal) -> dict[str, Any]:
    def members(nug: Nug) -> list[NugMember]:
        found = _members(result, nug)
        return [NugMember(distiller=nugget.distiller, text=nugget.text, degree=degree) for nugget, degree in found]

    nugs = [copied(ProposedNug, nug, nuggets=members(nug)) for nug in result.nugs]
    return NugProposalOutput(nuggets=result.nuggets, nugs=nugs).as_data()


def draw(out: Console, result: NugProposal, file: str) -> None:
    """Each proposed nug with its nuggets, and the next step."""
    columns = [("qid", "left"), ("nug", "left"), ("degree", "right"), ("by", "left"), ("text", "wrap")]
    rows: list[list[str | Text]] = []
    for nug in result.nugs:
        rows.append([plain(nug.qid), plain(nug.nug, "bold"), "", "", plain(nug.text or "", "bold")])
        for nugget, degree in _members(result, nug):
            rows.append(["", "", number(degree, 2), plain(nugget.distiller), plain(nugget.text)])
    title = f"{counted(len(result.nugs), 'nug')} proposed for {counted(result.nuggets, 'nugget')}"
    out.print(table(title, columns, rows))
    out.print()
    out.print(
        "These nugs rest only on how alike the words are. Nuggets that say the same in other words are in different "
        "nugs; put them together by hand. Nuggets that differ in one decisive word may be in the same nug; take them "
        "apart."
    )
    out.print()
    out.print(
        plain(
            f"In {file}, correct classes, degrees and relevance (1 until you change it), and delete "
            '"proposed": true from each nug that is right. Then:'
        )
    )
    out.print(plain(f"  nuggeteer distill {file}"), soft_wrap=True)


def _members(result: NugProposal, nug: Nug) -> Iterator[tuple[DistilledNugget, float]]:
    for nugget in result.distillation.nuggets:
        if nugget.qid == nug.qid and nug.nug in (nugget.nugs or {}):
            yield nugget, (nugget.nugs or {})[nug.nug]
