"""The notebook of the documentation runs, and prints what it shows. NUGGETEER_UPDATE_GOLDEN writes its outputs anew."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "docs" / "guides" / "notebook.ipynb"


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def run(source: str, names: dict) -> list[dict]:
    """A cell's outputs, as a notebook has them: what it prints, and the value of its last line."""
    tree, value, printed = ast.parse(source), None, io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": lines(value._repr_html_()), **data}
        outputs.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return outputs


@pytest.mark.slow
def test_the_notebook_prints_what_it_shows(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = [cell["outputs"] for cell in cells]
    for cell in cells:
        cell["outputs"] = run("".join(cell["source"]), names)
        for output in cell["outputs"]:
            if "execution_count" in output:
                output["execution_count"] = cell["execution_count"]
    if os.environ.get("NUGGETEER_UPDATE_GOLDEN"):
        NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    assert [cell["outputs"] for cell in cells] == shown
