"""Every report has the same two functions: `as_json(result)`, and `draw(console, result)` for a terminal."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import ROOT

REPORTS = ROOT / "nuggeteer" / "reports"

# What reports are made with. These draw no result of their own.
PARTS = {
    "builds",
    "change_words",
    "charts",
    "drawing",
    "figure",
    "formatting",
    "model",
    "passages",
    "terminal",
}
# Results in other forms, of which a report with both functions exists too: files for build servers and others.
FILES = {"junit", "leaderboard", "markdown", "threshold_figure"}
# `measures` lists constants, and nobody has asked for them as JSON.
TERMINAL_ONLY = {"measures"}
# `briefing` is drawn as a page by `reports.html`, and `explanation` as a part of `changes`.
JSON_ONLY = {"briefing", "explanation"}


def functions(name: str) -> dict[str, list[str]]:
    """The functions of a module in `reports`, each with the names of its parameters that have no default."""
    tree = ast.parse((REPORTS / f"{name}.py").read_text(encoding="utf-8"))
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.posonlyargs + node.args.args]
            found[node.name] = names[: len(names) - len(node.args.defaults)]
    return found


# Sections of `comparison`, `distillation` and `assessors`, which have their JSON within their own.
SECTIONS = {"comparison_correlations", "comparison_slices", "distillation_slices", "judges"}

MODULES = {path.stem: functions(path.stem) for path in REPORTS.glob("*.py") if path.stem != "__init__"}
EXCEPTIONS = PARTS | FILES | TERMINAL_ONLY | JSON_ONLY | SECTIONS


@pytest.mark.parametrize("name", sorted(MODULES.keys() - EXCEPTIONS))
def test_a_report_has_both_functions(name):
    assert MODULES[name]["as_json"], "as_json needs the result"
    console, *result = MODULES[name]["draw"]
    assert console == "out"
    assert result, "draw needs the result"


def test_the_exceptions_are_still_exceptions():
    both = {name for name, found in MODULES.items() if {"as_json", "draw"} <= found.keys()}
    assert both & EXCEPTIONS == set()
    assert MODULES.keys() >= EXCEPTIONS
    assert all("as_json" in MODULES[name] for name in JSON_ONLY)
    assert not any("as_json" in MODULES[name] or "draw" in MODULES[name] for name in PARTS | FILES | TERMINAL_ONLY)
