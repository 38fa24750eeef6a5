"""Three nights of one system, a hundred verdicts on the first: python experiments/three_nights.py REALSUMM

Variants of one system of REALSumm play three nights. A hundred pairs of the first night, drawn at random, are judged as
the humans did, and nothing after. Printed: the root mean squared error of the change in F(3) from night to night, with
the collection's default matcher and with n-grams. Only the command line is used ($NUGGETEER), so that versions can be
compared.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

COMMAND = os.environ.get("NUGGETEER", "scripts/nuggeteer")
NIGHTS = (
    ("abs_t5_out_base", "abs_t5_out_large", "abs_t5_out_11B"),
    ("abs_presumm_out_abs", "abs_presumm_out_ext_abs", "abs_presumm_out_trans_abs"),
    ("ext_pnbert_out_bert_tf_pn", "ext_pnbert_out_bert_lstm_pn", "ext_pnbert_out_bert_lstm_pn_rl"),
    ("ext_pnbert_out_bert_tf_pn", "ext_pnbert_out_bert_tf_sl", "ext_pnbert_out_lstm_pn_rl"),
)
VERDICTS = 100
TIMES = 3  # draws of verdicts


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def scores(collection: Path, runs: tuple[str, ...]) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out.json")
        subprocess.run(
            [COMMAND, "score", *runs, "--collection", str(collection), "--json", str(out)],
            check=True,
            capture_output=True,
        )
        by_name = {run["run"]: run["f3"]["value"] for run in json.loads(out.read_text())["runs"]}
    return [by_name[run] for run in runs]


def changes(source: Path, nights: tuple[str, ...], seed: int, matcher: str | None) -> list[float]:
    """The errors of the changes from night to night."""
    nuggets: dict[str, list[str]] = {}
    for nugget in lines(source / "nuggets.jsonl"):
        nuggets.setdefault(nugget["qid"], []).append(nugget["nugget"])
    yes = {(j["qid"], j["nugget"], j["text"]) for j in lines(source / "judgements" / "pool.jsonl") if j["verdict"]}
    first = lines(source / "runs" / f"{nights[0]}.jsonl")
    pairs = [(r["qid"], nugget, r["text"]) for r in first for nugget in nuggets[r["qid"]]]
    drawn = random.Random(seed).sample(pairs, VERDICTS)
    with tempfile.TemporaryDirectory() as folder:
        collection = Path(folder, "c")
        (collection / "runs").mkdir(parents=True)
        (collection / "judgements").mkdir()
        shutil.copy(source / "nuggets.jsonl", collection)
        for run in nights:
            shutil.copy(source / "runs" / f"{run}.jsonl", collection / "runs")
        manifest = [{"run": run, "group": "ours"} for run in nights]
        (collection / "runs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in manifest))
        verdicts = [
            {"qid": qid, "nugget": nugget, "text": text, "verdict": (qid, nugget, text) in yes, "run": nights[0]}
            for qid, nugget, text in drawn
        ]
        (collection / "judgements" / "me.jsonl").write_text("".join(json.dumps(line) + "\n" for line in verdicts))
        if matcher:
            (collection / "nuggeteer.toml").write_text(f'[match]\nmatcher = "{matcher}"\n')
        said = scores(collection, nights)
    true = scores(source, nights)
    return [(b - a) - (d - c) for (a, b), (c, d) in zip(pairwise(said), pairwise(true), strict=True)]


def main() -> None:
    source = Path(sys.argv[1])
    for matcher in (None, "ngram"):
        errors = [e for nights in NIGHTS for seed in range(TIMES) for e in changes(source, nights, seed, matcher)]
        rmse = (sum(error * error for error in errors) / len(errors)) ** 0.5
        print(f"{matcher or 'default'}: rmse of {len(errors)} changes {rmse:.4f}", flush=True)


if __name__ == "__main__":
    main()
