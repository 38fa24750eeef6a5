"""A collection of the size that RAG teams have: 301 questions, 20 nuggets each, three runs of whole answers.

    python experiments/rag_sized.py DIR            made up, by `nuggeteer simulate`
    python experiments/rag_sized.py DIR FOLDER     from AutoNuggetizer's assignments in FOLDER, each question thrice

Every answer was judged for every nugget. With `--open RUN`, the verdicts on one run are in DIR/RUN.import.jsonl
instead, to be imported.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.formats.jsonl import write_jsonl

RUNS = ("r1", "r2", "r3")
TOPICS = 301
SETTINGS = '[answers]\nsplit = "sentences"\n'
Line = dict[str, Any]


def lines(path: Path) -> Iterator[Line]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def made_up(folder: Path, open_run: str | None = None) -> None:
    """Simulated responses, joined to whole answers as sentences."""
    with TemporaryDirectory() as work:
        source = Path(work) / "made"
        simulate(source, Shape(questions=TOPICS, nuggets=20, systems=len(RUNS), judged=0), seed=0)
        nuggets = [{**line, "votes": None} for line in lines(source / "nuggets.jsonl")]
        answers: dict[tuple[str, str], str] = {}
        found = set()
        for run, name in zip(RUNS, ("s1", "s2", "s3"), strict=True):
            for line in lines(source / "runs" / f"{name}.jsonl"):
                sentence = line["text"].capitalize() + "."
                answers[run, line["qid"]] = f"{answers.get((run, line['qid']), '')} {sentence}".strip()
            found |= {(run, line["qid"], line["nugget"]) for line in lines(source / "truth" / f"{name}.jsonl")}
        write(folder, lines(source / "questions.jsonl"), nuggets, answers, found, open_run)


def from_assignments(folder: Path, source: Path, open_run: str | None = None) -> None:
    """Questions of AutoNuggetizer's, with a suffix; the third run has the answers of the other two by turns."""
    named = ("gpt4o", "command-r-plus")
    records = [list(lines(source / f"assignments.{name}.jsonl")) for name in named]
    rng = random.Random(0)
    questions, nuggets = [], []
    answers: dict[tuple[str, str], str] = {}
    found = set()
    for i in range(TOPICS):
        at, copy = i % len(records[0]), "abcd"[i // len(records[0])]
        qid = f"{records[0][at]['qid']}{copy}"
        questions.append({"qid": qid, "text": records[0][at]["query"]})
        for number, nugget in enumerate(records[0][at]["nuggets"], 1):
            importance = nugget["importance"] if nugget["importance"] in ("vital", "okay") else "okay"
            nuggets.append({"qid": qid, "nugget": str(number), "text": nugget["text"], "importance": importance})
        for place, run in enumerate(RUNS):
            record = records[place if place < 2 else i % 2][at]
            answers[run, qid] = f"{record['answer_text']} This is edition {copy}{place}."
            labels = {one["text"]: one["assignment"] for one in record["nuggets"]}
            for number, nugget in enumerate(records[0][at]["nuggets"], 1):
                label = labels.get(nugget["text"], "support" if rng.random() < 0.3 else "not_support")
                if label == "support":
                    found.add((run, qid, str(number)))
    write(folder, questions, nuggets, answers, found, open_run)


def write(
    folder: Path,
    questions: Iterable[Line],
    nuggets: Iterable[Line],
    answers: dict[tuple[str, str], str],
    found: set[tuple[str, str, str]],
    open_run: str | None,
) -> None:
    nuggets = list(nuggets)
    write_jsonl(folder / "questions.jsonl", questions)
    write_jsonl(folder / "nuggets.jsonl", ({k: v for k, v in nugget.items() if v is not None} for nugget in nuggets))
    write_jsonl(folder / "runs.jsonl", ({"run": run} for run in RUNS))
    (folder / "nuggeteer.toml").write_text(SETTINGS, encoding="utf-8")
    for run in RUNS:
        own = ({"qid": qid, "text": text} for (of, qid), text in answers.items() if of == run)
        write_jsonl(folder / "runs" / f"{run}.jsonl", own)
        path = folder / (f"{run}.import.jsonl" if run == open_run else f"judgements/{run}.jsonl")
        write_jsonl(path, (verdict(run, nugget, answers[run, nugget["qid"]], found) for nugget in nuggets))


def verdict(run: str, nugget: Line, text: str, found: set[tuple[str, str, str]]) -> Line:
    return {
        "qid": nugget["qid"],
        "nugget": nugget["nugget"],
        "text": text,
        "verdict": (run, nugget["qid"], nugget["nugget"]) in found,
        "run": run,
        "assessor": "ann",
        "scope": "answer",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("source", type=Path, nargs="?")
    parser.add_argument("--open", choices=RUNS)
    args = parser.parse_args()
    if args.source:
        from_assignments(args.folder, args.source, args.open)
    else:
        made_up(args.folder, args.open)


if __name__ == "__main__":
    main()
