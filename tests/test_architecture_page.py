"""docs/understanding/architecture.md names every module of the package, in its room, and no others."""

from __future__ import annotations

import re

from tests.conftest import ROOT
from tests.test_layers import LAYERS, MODULES, room

PAGE = (ROOT / "docs" / "understanding" / "architecture.md").read_text(encoding="utf-8")
ROOMS = sorted({room(name) for name in MODULES if "." in name})


def first_cells(title: str) -> set[str]:
    """The names in the first column of a section's tables."""
    section = PAGE.split(f"\n### {title}\n")[1].split("\n### ")[0].split("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    return {name for cell in cells for name in re.findall(r"`([\w.]+)`", cell)}


def test_each_room_lists_its_modules():
    for name in ROOMS:
        within = {module.removeprefix(f"{name}.") for module in MODULES if module.startswith(f"{name}.")}
        packages = {module for module in within if any(other.startswith(f"{module}.") for other in within)}
        assert first_cells(name) == within - packages, name


def test_the_ground_floor_lists_its_modules():
    top = {name for name in MODULES if "." not in name} - set(ROOMS) - {"__init__", "__main__"}
    assert first_cells("Ground floor") == top


def test_the_layers_are_those_that_are_held():
    rows = re.findall(r"^\| \d+ \| (.*) \|$", PAGE, re.MULTILINE)
    shown = [{name.rstrip("/") for name in re.findall(r"`([\w/]+)`", row)} for row in rows]
    assert shown == [set(layer) - {"__init__", "__main__"} for layer in LAYERS]


def test_files_of_the_project_that_pages_name_exist():
    named = re.compile(r"(?<![./\w])(?:nuggeteer|tests|experiments|scripts)/[\w/.-]*\w")
    for page in (ROOT / "docs").rglob("*.md"):
        missing = [path for path in named.findall(page.read_text(encoding="utf-8")) if not (ROOT / path).exists()]
        assert missing == [], page
