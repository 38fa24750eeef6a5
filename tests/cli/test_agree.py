"""`agree`: harmless whatever names, texts and reasons say; quiet about nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from nuggeteer.cli.main import main
from nuggeteer.formats.annotation import Extent, Snippet
from nuggeteer.formats.annotation_files import write_snippets
from tests.cli.test_hostile import CONTROLS, FILE, HOSTILE, NUL, PRINTABLE
from tests.conftest import write_lines


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def shown(capsys):
    captured = capsys.readouterr()
    text = captured.out + captured.err
    assert all(char.isprintable() or char == "\n" for char in text)
    return text


def test_assessors_texts_and_reasons_are_shown_harmless(here, capsys):
    write_lines(here / "nuggets.jsonl", [{"qid": PRINTABLE, "nugget": "1", "text": HOSTILE, "importance": "vital"}])
    one = {"qid": PRINTABLE, "nugget": "1", "text": NUL, "reason": HOSTILE, "run": HOSTILE}
    names = ((NUL, True, False), (HOSTILE, False, False), (MACHINE := f"m {CONTROLS}", True, True))
    lines = [{**one, "assessor": name, "verdict": verdict, "machine": machine} for name, verdict, machine in names]
    write_lines(here / "judgements" / "all.jsonl", [*lines, {**lines[0], "verdict": False}, {**one, "verdict": True}])
    assert main(["agree", "--list"]) == 0
    text = shown(capsys)
    assert "[bold red blink]B[/]" in text.replace("\n", " ")
    assert "1 verdicts name no assessor" in text
    assert "an assessor judged both yes and no" in text
    assert main(["agree", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["machines"][0]["machine"] == MACHINE
    assert data["disagreements"][0]["text"] == NUL


def test_snippets_are_shown_harmless_and_so_is_what_is_wrong_with_them(here, capsys):
    text = f"{HOSTILE} one"
    first = Snippet(PRINTABLE, text, (Extent(((0, 20),), "T"),), PRINTABLE, medium=PRINTABLE)
    second = Snippet(PRINTABLE, text, (Extent(((3, 9),)),), PRINTABLE)
    write_snippets(here / "a.txt", [first])
    write_snippets(here / f"{FILE.replace('/', '')}.jsonl", [second])
    (name,) = (path.name for path in here.glob("*.jsonl"))
    assert main(["agree", "a.txt", name, "--list", "--json", "out.json"]) == 0
    assert PRINTABLE in shown(capsys)
    (here / "b.jsonl").write_text(json.dumps({"snippet": NUL, "text": NUL, "nuggets": NUL}))
    (here / "c.txt").write_text(f"Query: {NUL}\n{HOSTILE}\n")
    for wrong in ("b.jsonl", "c.txt", f"missing{FILE}.txt", FILE):
        assert main(["agree", "a.txt", wrong]) == 2
        assert shown(capsys)


def test_what_is_wrong_has_its_place(here, capsys):
    (here / "a.txt").write_text("Snippet 1: Iraq can\n\nNugget 1: [[Irag]] can\n")
    (here / "b.txt").write_text("Snippet 1: Iraq can\n")
    assert main(["agree", "a.txt", "b.txt"]) == 2
    assert re.match(r"nuggeteer: a\.txt:3: .*copy the snippet's text\n", shown(capsys))


@pytest.mark.slow
def test_neither_library_of_coefficients_is_loaded(here):
    """They are what ours is held to, and take a second to load."""
    (here / "a.txt").write_text("Snippet 1: Iraq can\nNugget 1: [[Iraq]] can\n")
    program = (
        "import sys; from nuggeteer.cli.main import main; code = main(['agree', 'a.txt', 'a.txt']);"
        "print(code, sorted({'sklearn', 'krippendorff', 'matplotlib', 'spacy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "0 []\n"
