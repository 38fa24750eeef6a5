"""How good are automatic nuggets, on sentences annotated before the nuggetizer was run on them?

python experiments/nugget_corpus.py

The counts of the rules before they were mended are in recorded/nugget-corpus-before.json.
"""

from __future__ import annotations

import json
from pathlib import Path

from nuggeteer.formats.annotation import Extent
from nuggeteer.formats.annotation_files import read_snippets
from nuggeteer.gale.automatic import TypeCounts, by_type
from nuggeteer.gale.nuggetizer import Nuggetizer

HERE = Path(__file__).parent
CORPUS = HERE.parent / "judgements" / "nuggets"
SETS = {
    "varied": "100 sentences, by whose errors the rules were mended",
    "held-out": "30 sentences, by whose errors the rules were mended later",
    "news": "30 sentences of news, by whose errors the rules were mended later",
    "unseen": "30 sentences, whose errors nobody looked at",
}


def counted(name: str, nuggetizer: Nuggetizer) -> list[TypeCounts]:
    """The nuggets of one set, by type."""
    snippets = read_snippets(CORPUS / f"{name}.jsonl", [])
    found = nuggetizer.all(snippet.text for snippet in snippets)
    return by_type(
        (snippet.text, snippet.nuggets, [Extent(nugget.spans, nugget.type) for nugget in nuggets])
        for snippet, (_, nuggets) in zip(snippets, found, strict=True)
    )


def row(before: TypeCounts, now: TypeCounts) -> str:
    cells = [
        measure(near) for one in (before, now) for near in (False, True) for measure in (one.precision, one.recall)
    ]
    shown = ["–" if cell is None else f"{cell:.2f}" for cell in cells]
    return "| " + " | ".join([now.type or "all", str(now.corrected), *shown]) + " |"


def page(nuggetizer: Nuggetizer) -> str:
    """The recorded page."""
    recorded = json.loads((HERE / "recorded" / "nugget-corpus-before.json").read_text(encoding="utf-8"))
    lines = [
        "# Automatic nuggets on 190 sentences",
        "",
        f"Made by `python experiments/nugget_corpus.py`, with {nuggetizer.name}. The sentences and their nuggets",
        "are in [judgements/nuggets](../judgements/nuggets/README.md). P and R are precision and recall of nuggets",
        "with the same letters and digits; *near* ones also with other boundaries, if they share half of the longer",
        "one. *Before* are the rules as they were before these sentences were looked at; of news, the rules that had",
        "been mended by `varied` once; of unseen, those that had been mended twice.",
    ]
    for name, about in SETS.items():
        before = {one["type"]: TypeCounts(**one) for one in recorded[name]}
        lines += ["", f"## {name}: {about}", ""]
        measures = ("P", "R", "near P", "near R")
        heads = [f"{measure} {when}" for when in ("before", "now") for measure in measures]
        lines.append(f"| type | nuggets | {' | '.join(heads)} |")
        lines.append("|" + "---|" * 10)
        now = counted(name, nuggetizer)
        lines += [row(before.get(one.type, TypeCounts(one.type, one.corrected, 0, 0, 0)), one) for one in now]
        total, was = now[-1], before[None]
        lines += [
            "",
            f"F1 {was.f1() or 0:.3f} before and {total.f1() or 0:.3f} now; near {was.f1(True) or 0:.3f} before and "
            f"{total.f1(True) or 0:.3f} now.",
        ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    Path(__file__).with_name("nugget-corpus.md").write_text(page(Nuggetizer("en_core_web_sm")), encoding="utf-8")
