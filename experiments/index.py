"""Writes the part of experiments/README.md that lists the recorded results of `nuggeteer experiment`.

python experiments/index.py
"""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
DEFINITIONS = HERE.parent / "nuggeteer" / "trust" / "experiments" / "definitions"
BEGIN, END = "<!-- recorded: written by experiments/index.py -->", "<!-- end -->"


def listed(folder: Path) -> str:
    """A line for each experiment that has a name, with links to its recorded results."""
    lines = ["| name | experiment | recorded on |", "|---|---|---|"]
    for definition in sorted(DEFINITIONS.glob("*.toml")):
        title = re.search(r'^title = "(.*)"$', definition.read_text(encoding="utf-8"), re.MULTILINE)
        source = re.search(r'^source = "(.*)"$', definition.read_text(encoding="utf-8"), re.MULTILINE)
        found = sorted((folder / "recorded").glob(f"{definition.stem}-*.md"))
        links = [f"[{path.stem.removeprefix(definition.stem + '-')}](recorded/{path.name})" for path in found]
        about = f"{title[1]} ({source[1]})" if title and source else ""
        lines.append(f"| `{definition.stem}` | {about} | {', '.join(links) or '–'} |")
    return "\n".join(lines)


def main() -> None:
    path = HERE / "README.md"
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(f"{before}{BEGIN}\n\n{listed(HERE)}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
