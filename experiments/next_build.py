"""One run judged, the others guessed: python experiments/next_build.py COLLECTION... > experiments/next-build.md

What a team with one system has: last night was judged, tonight was not. Six runs of each collection in turn are the
only judged one, and (on REALSumm) one variant of a system for its other variants. The prior and the weights of clues
are those that the *other* collections teach (`prior.py`, `carry_over.json`), so nothing here was tuned on what it is
told of.

F1 and average precision are of (run, nugget). The other columns are of F(3): its root mean squared error, that of its
change from the judged run, how often the judging interval holds the truth; and the expected calibration error of
answers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching import learned
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.scoring.scores import RunScore
from nuggeteer.text import verdict_form
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.prior import FITS, prior_from
from nuggeteer.trust.quality import average_precision
from nuggeteer.trust.reliability import reliability

TIMES = 6
VARIANTS = {
    "realsumm": {
        "abs_t5_out_base": ["abs_t5_out_large", "abs_t5_out_11B"],
        "abs_unilm_out_v1": ["abs_unilm_out_v2"],
        "abs_presumm_out_abs": ["abs_presumm_out_ext_abs", "abs_presumm_out_trans_abs"],
        "ext_pnbert_out_bert_tf_pn": [
            "ext_pnbert_out_bert_lstm_pn",
            "ext_pnbert_out_bert_lstm_pn_rl",
            "ext_pnbert_out_bert_tf_sl",
            "ext_pnbert_out_lstm_pn_rl",
        ],
    }
}


def only(collection: Collection, judged: str, matcher: str) -> Collection:
    """The collection as if nobody had judged any other run."""
    run = collection.run(judged)
    texts = {
        (collection.key.questions[question].qid, verdict_form(text))
        for question, text in zip(run.question.tolist(), run.texts, strict=True)
    }
    kept = tuple(replace(j, run=judged) for j in collection.judgements if (j.qid, verdict_form(j.text)) in texts)
    manifest = {
        name: info if name == judged else replace(info, judged="none") for name, info in collection.manifest.items()
    }
    settings = replace(collection.settings, match=replace(collection.settings.match, matcher=matcher))
    rest = replace(collection, judgements=kept, manifest=manifest, settings=settings)
    rest._runs.update(collection._runs)
    return rest


def scored(rest: Collection, name: str, runs: Sequence[str]) -> list[RunScore]:
    scorer = Scorer(rest, ["f3"])
    prior = prior_from({other: row for other, row in FITS.items() if other != name})
    model = fit_smooth(gather_evidence(rest, scorer.matcher, scorer.known), prior)
    scorer = Scorer(rest, ["f3"], model)
    return [scorer.score(scorer.read(run)) for run in runs]


def row(collection: Collection, name: str, plan: dict[str, list[str]], matcher: str) -> str:
    asked = dict.fromkeys([*plan, *(run for others in plan.values() for run in others)])
    truth = {run.name: run for run in score(collection, list(asked), ["f3"]).runs}
    true, found, chance, off, change, held = [], [], [], [], [], []
    for judged, others in plan.items():
        first, *guessed = scored(only(collection, judged, matcher), name, [judged, *others])
        for run in guessed:
            goal, interval = truth[run.name].measures["f3"].value, run.measures["f3"]
            true.append(truth[run.name].outcome.found)
            found.append(run.outcome.found)
            chance.append(run.outcome.probability)
            off.append(interval.value - goal)
            change.append(off[-1] - (first.measures["f3"].value - truth[judged].measures["f3"].value))
            held.append(interval.judging[0] - 1e-9 <= goal <= interval.judging[1] + 1e-9)
    yes, guess, p = map(np.concatenate, (true, found, chance))
    f1 = 2 * (yes & guess).sum() / (yes.sum() + guess.sum())

    def rms(values: list[float]) -> float:
        return float(np.sqrt(np.mean(np.square(values))))

    figures = [f1, average_precision(yes, p), rms(off), rms(change)]
    return " | ".join(
        [*(f"{value:.3f}" for value in figures), f"{sum(held)}/{len(held)}", f"{reliability(p, yes).error:.3f}"]
    )


def main() -> None:
    weights = json.loads(Path(__file__).with_name("carry_over.json").read_text(encoding="utf-8"))
    print("# One run judged, the others guessed\n")
    print("`python experiments/next_build.py COLLECTION...`: prior and weights are the other collections'.\n")
    print("| collection | matcher | F1 | average precision | rmse F(3) | of its change | truth within | ECE |")
    print("|---|---|---|---|---|---|---|---|")
    for folder in map(Path, sys.argv[1:]):
        collection, name = read_collection(folder), folder.name
        learned.WEIGHTS.clear()
        learned.WEIGHTS.update(weights[name])
        names = [run.name for run in collection.assessed_runs]
        spread = dict.fromkeys(names[round(i * (len(names) - 1) / (TIMES - 1))] for i in range(TIMES))
        plans = {name: {judged: [other for other in names if other != judged] for judged in spread}}
        if name in VARIANTS:
            plans[f"{name}, variants of one system"] = VARIANTS[name]
        for title, plan in plans.items():
            for matcher in ("ngram", "learned"):
                print(f"| {title} | {matcher} | {row(collection, name, plan, matcher)} |", flush=True)


if __name__ == "__main__":
    main()
