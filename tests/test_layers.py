"""The shape of the code: data flows one way, and no two modules need each other."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import nuggeteer

PACKAGE = Path(nuggeteer.__file__).parent
# A module may import from its own room and from rooms of layers before it.
LAYERS = [
    ["errors", "text", "display", "fields", "groups", "languages"],
    ["records", "settings"],
    ["formats", "measures", "statistics", "thresholds"],
    ["matching"],
    ["collection"],
    ["scoring", "gale"],
    ["comparing", "trust"],
    ["judging"],
    ["asking"],
    ["history"],
    ["reports"],
    ["screens", "testing", "plugins", "cli", "__init__", "__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# Within these layers, who may import whom: the command line shows screens, and plugins hand out what tests use.
WITHIN = {
    *(("cli", "screens"), ("cli", "plugins"), ("plugins", "testing"), ("__main__", "cli")),
    *(("formats"), ("thresholds"), ("display", "text"), ("languages", "text"), ("languages", "errors")),
}


def name_of(path: Path) -> str:
    """`scoring.known`; of a room's `__init__`, the room."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imports(path: Path) -> set[str]:
    """Modules of ours that a module imports while it runs, anywhere in it."""
    found = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and id(node) not in typing_only:
            first, *rest = node.module.split(".")
            if first == "nuggeteer":
                for alias in node.names:
                    whole = ".".join([*rest, alias.name])
                    found.add(whole if whole in MODULES else ".".join(rest) or "__init__")
    return found


def room(module: str) -> str:
    return module.split(".")[0]


@pytest.mark.slow
def test_no_module_imports_a_later_stage():
    assert {room(module) for module in MODULES} == set(LEVEL), "each room has a layer"
    late = {
        (module, name)
        for module, path in MODULES.items()
        for name in imports(path)
        if room(name) != room(module)
        and LEVEL[room(name)] >= LEVEL[room(module)]
        and (room(module), room(name)) not in WITHIN
    }
    assert late == set(), "what is imported comes after its importer, or beside it"


def test_no_two_modules_need_each_other():
    """Also within a room, and also where an import stands in a function."""
    graph = {module: imports(path) - {module} for module, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"modules import each other in a circle: {' → '.join(error.args[1])}")


def test_the_test_sees_imports():
    assert {"comparing.diff", "errors", "measures"} <= imports(PACKAGE / "cli" / "diff.py")
    assert "statistics.intervals" in imports(PACKAGE / "scoring" / "scorer.py")
