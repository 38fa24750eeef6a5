"""A folder after a year of nights: 400 builds, 250 questions of 10 nuggets, a million verdicts on whole answers.

python experiments/year_of_nights.py DIR
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from nuggeteer.formats.jsonl import write_jsonl

NIGHTS, QUESTIONS, NUGGETS = 400, 250, 10
WORDS = list(map("".join, product("bdfgklmnprst", "aeiou", ("ra", "lon", "mit", "ves", "ket", "dor", "san"))))
Line = dict[str, Any]


def made_up(folder: Path, nights: int = NIGHTS) -> None:
    """Every second fact is in an answer, and somebody read them all."""
    rng = random.Random(0)
    facts = {(q, n): " ".join(rng.choices(WORDS, k=6)) for q in range(QUESTIONS) for n in range(NUGGETS)}
    nuggets = ({"qid": f"q{q}", "nugget": str(n), "text": fact, **_importance(n)} for (q, n), fact in facts.items())
    write_jsonl(folder / "nuggets.jsonl", nuggets)

    def verdicts() -> Iterator[Line]:
        for night in range(nights):
            run = f"build-{night:05}"
            found = {name: rng.random() < 0.5 for name in facts}
            answers = {q: _answer(rng, [facts[q, n] for n in range(NUGGETS) if found[q, n]]) for q in range(QUESTIONS)}
            write_jsonl(folder / "runs" / f"{run}.jsonl", ({"qid": f"q{q}", "text": t} for q, t in answers.items()))
            at = (datetime(2026, 1, 1, 9, tzinfo=UTC) + timedelta(days=night)).isoformat().replace("+00:00", "Z")
            for (q, n), yes in found.items():
                about = {"qid": f"q{q}", "nugget": str(n), "verdict": yes, "text": answers[q], "scope": "answer"}
                yield {**about, "run": run, "assessor": "ann", "at": at, "tool": "nuggeteer", "source": "judge"}

    write_jsonl(folder / "judgements" / "ann.jsonl", verdicts())


def many_runs(folder: Path, runs: int = 10_000) -> None:
    """Short runs that answer ten questions."""
    nuggets = ({"qid": f"q{q}", "nugget": "1", "text": "a fact", **_importance(0)} for q in range(10))
    write_jsonl(folder / "nuggets.jsonl", nuggets)
    for number in range(runs):
        answers = ({"qid": f"q{q}", "text": f"A fact of build {number}."} for q in range(10))
        write_jsonl(folder / "runs" / f"build-{number:05}.jsonl", answers)


def _answer(rng: random.Random, facts: list[str]) -> str:
    said = [f"{fact} {' '.join(rng.choices(WORDS, k=3))}." for fact in facts]
    return " ".join([*said, " ".join(rng.choices(WORDS, k=20)) + "."])


def _importance(nugget: int) -> Line:
    return {"importance": "vital" if nugget < NUGGETS // 2 else "okay"}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    made_up(parser.parse_args().folder)
