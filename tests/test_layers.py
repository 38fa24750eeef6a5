"""The shape of the code: data flows one way."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nuggeteer

PACKAGE = Path(nuggeteer.__file__).parent
# A module may import from its own layer's folder and from layers before it.
LAYERS = [
    ["errors", "text"],
    ["records", "settings", "pairs"],
    ["formats"],
    ["collection", "contradictions", "ledger", "log", "importing", "idf", "sample", "simulation", "convert"],
    ["matching"],
    ["thresholds", "judging", "measures", "intervals", "significance", "signature", "coefficients"],
    ["fitting", "finding"],
    ["scoring"],
    ["gale"],
    ["comparison", "diff", "suggest", "reliability", "agreement"],
    ["crossval", "audits"],
    ["experiments"],
    ["gate"],
    ["history", "alarm"],
    ["trend"],
    ["briefing"],
    ["reports"],
    ["judge"],
    ["cli", "testing", "__init__", "__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Modules of ours that a module imports while it runs, anywhere in it."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing_only:
            parts = node.module.split(".")
            if parts[0] == "nuggeteer":
                found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_module_imports_a_later_stage(path):
    part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    assert part in LEVEL, f"{part} has no layer yet"
    late = {name for name in imports(path) if LEVEL[name] > LEVEL[part]}
    assert not late, f"{part} imports {late}, which come after it"


def test_the_test_sees_imports():
    assert {"scoring", "text", "errors"} <= imports(PACKAGE / "reports" / "terminal.py")
