"""How near-copies of nuggets in other languages fare, with the language named and without.

python experiments/languages.py > experiments/languages.md

The sentences are ours (judgements/languages): ten nuggets a language, each with a near-copy, which says the same in
other forms and another order, and a near miss, which says something else in some of the same words. Nothing is judged.
"""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

import nuggeteer as ng
from nuggeteer.plugins.grading import Grader

FOLDER = Path(__file__).parent.parent / "judgements" / "languages"
NAMES = {"en": "English", "de": "German", "ru": "Russian", "es": "Spanish", "ja": "Japanese"}
SETTINGS = {
    "as English": "",
    "words": 'language = "{}"\nstem = false\n',
    "default": 'language = "{}"\n',
}


def folder_of(code: str, settings: str) -> tuple[Path, list[dict[str, Any]]]:
    """A collection without runs, and the sentences."""
    lines = [json.loads(line) for line in (FOLDER / f"{code}.jsonl").read_text(encoding="utf-8").splitlines()]
    made = ng.make_collection([{"qid": line["qid"], "text": line["nugget"], "importance": "vital"} for line in lines])
    (made.root / "nuggeteer.toml").write_text(f"[match]\n{settings.format(code)}", encoding="utf-8")
    return made.root, lines


def chances(code: str, settings: str) -> tuple[list[float], list[float]]:
    """The probability of each near-copy, and of every other pair of a nugget and a text of its question."""
    folder, lines = folder_of(code, settings)
    grader = Grader(folder)
    own: list[float] = []
    other: list[float] = []
    for line in lines:
        for kind in ("near", "miss"):
            for graded in grader.grade(line["qid"], line[kind]).nuggets:
                same = kind == "near" and graded.nugget.descriptions[0] == line["nugget"]
                (own if same else other).append(graded.probability or 0.0)
    return own, other


def row(code: str, name: str) -> str:
    own, other = map(np.array, chances(code, SETTINGS[name]))
    above = (own[:, None] > other).mean() + (own[:, None] == other).mean() / 2
    found = f"{(own >= 0.5).sum()} of {len(own)}"
    return (
        f"| {NAMES[code]} | {name} | {own.mean():.2f} | {own.min():.2f} | {found} | {other.mean():.2f} | {above:.3f} |"
    )


def main() -> None:
    print(HEAD.format(platform.python_version()))
    print("| language | settings | near-copies | least likely | found | others | AUC |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for code in NAMES:
        for name in SETTINGS if code != "en" else ("as English",):
            print(row(code, name))


HEAD = """\
# Near-copies in other languages

By `python experiments/languages.py`; Python {}. Ten nuggets a language, a near-copy and a near miss of each
(`judgements/languages`), and no verdicts. *As English* is what happens without `language`; *words* names the language
and leaves stems out; *default* names the language, and nothing else.

*near-copies* is the mean probability that a near-copy has its nugget; *others* that of all other pairs of a nugget and
a text of its question. *AUC* is the share of pairs of these in which the near-copy is more probable.
"""

if __name__ == "__main__":
    main()
