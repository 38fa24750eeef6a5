"""A key of many questions, or of many nuggets to one question, takes time and memory in proportion, and little."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.checking import check
from nuggeteer.formats import objects
from tests.conftest import ROOT, write_lines

pytestmark = pytest.mark.slow
SMALL, TIMES = 1_100, 8
MOST = 80  # kB for each nugget: 100,000 fit into 8 GB
SCORE = """
import resource, sys, time
from nuggeteer.cli.main import main
code = main(["score", "r", "--json", "/dev/null", "--collection", sys.argv[1]])
rest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 if sys.platform == "darwin" else 1)
print(code, time.process_time(), rest, file=sys.stderr)
"""


def collection(root, nuggets, per_question):
    rng = random.Random(0)
    vocabulary = [f"w{number}" for number in range(3000)]
    texts = [" ".join(rng.choices(vocabulary, k=6)) for _ in range(nuggets)]
    qids = [f"q{number // per_question}" for number in range(nuggets)]
    names = list(map(str, range(nuggets)))
    rows = list(zip(qids, names, texts, strict=True))
    key = [{"qid": qid, "nugget": name, "text": text, "importance": "vital"} for qid, name, text in rows]
    write_lines(root / "nuggets.jsonl", key)
    answers = [{"qid": qid, "text": f"{text} and more"} for qid, _, text in rows]
    write_lines(root / "runs" / "r.jsonl", answers[:: max(1, per_question // 5)])
    said = zip(answers[:20], rows, strict=False)
    write_lines(
        root / "judgements" / "a.jsonl", [one | {"nugget": name, "verdict": True} for one, (_, name, _) in said]
    )
    return root


def cost(root):
    """The seconds of processor time and the MB of memory of a score."""
    command = [sys.executable, "-c", SCORE, str(root)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    code, seconds, kilobytes = done.stderr.split()[-3:]
    assert code == "0", done.stderr
    return float(seconds), int(kilobytes) / 1024


@pytest.mark.parametrize("shape", ["questions", "nuggets"])
def test_many_questions_and_many_nuggets_take_their_share_of_time_and_memory(shape, tmp_path):
    sizes = (SMALL, SMALL * TIMES)
    roots = [collection(tmp_path / str(n), n, 1 if shape == "questions" else n) for n in sizes]
    nothing = collection(tmp_path / "nothing", 20, 1)
    (base, empty), (short, _), (long, much) = map(cost, (nothing, *roots))
    assert long - base < 2 * TIMES * max(short - base, 0.2)
    assert (much - empty) * 1024 < MOST * sizes[1]


def test_two_small_files_do_not_multiply_to_more_than_any_memory(tmp_path, capsys):
    root = collection(tmp_path, 40_000, 40_000)
    write_lines(root / "runs" / "r.jsonl", [{"qid": "q0", "text": "x"}] * 40_000)
    assert main(["score", "r", "--collection", str(root)]) == 2
    assert "1,600,000,000 pairs of a response and a nugget" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["nuggets.jsonl", "judgements/a.jsonl", "runs/r.jsonl"])
@pytest.mark.parametrize(("end", "packed"), [(b"", False), (b"\n", False), (b"\n", True)])
def test_a_document_that_is_longer_than_a_line_is_not_read_to_be_named(name, end, packed, tmp_path, monkeypatch):
    """A hundred MB of empty objects took 5 GB."""
    read = []
    monkeypatch.setattr(objects, "parsed", lambda content: read.append(len(content)) or [])
    root = collection(tmp_path, 20, 1)
    content = b"[" + (b"{}," * 1000 + end) * 4000
    (root / name).write_bytes(gzip.compress(content, 1) if packed else content)
    assert any(problem.severity == "error" for problem in check(root))
    assert read == []


def test_too_little_memory_is_called_that(monkeypatch, capsys):
    def perform(args):
        raise MemoryError("Unable to allocate 80 GiB")

    monkeypatch.setattr("nuggeteer.cli.check.run", perform)
    assert main(["check"]) == 2
    assert capsys.readouterr().err == "nuggeteer: this needs more memory than there is (Unable to allocate 80 GiB)\n"
