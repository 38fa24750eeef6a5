"""Does `judge` ask about the right pairs: how fast does the interval narrow, and does it stay correct?

    python experiments/judging.py COLLECTION...   > experiments/judging.md     (and judging.svg)

On fully judged collections, some runs in turn act as tonight's build. All their judgements are hidden, then asked for
one by one and answered as the humans did, in three orders:

    suggest      as `nuggeteer judge` asks
    uncertain    the pair whose probability is nearest to a half
    random       any pair

A pair is asked about only if it can matter, that is unless the answer is known to have the nugget. The model is fitted
again after every few verdicts; the steps grow with the number of verdicts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from coverage import covered, hide

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.judging.suggest import forecast, suggest
from nuggeteer.records import Ints, Judgement
from nuggeteer.scoring.known import YES, States, VerdictIndex
from nuggeteer.scoring.outcomes import MatchedRun
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.text import normalised

MEASURE = "f3"
RUNS = {"realsumm": 6, "ts2014": 2}  # of each collection; a million judged pairs take long to fit
STEPS = {
    "realsumm": (10, 25, 50, 100, 150, 200, 300, 400, 500, 600, 800),
    "ts2014": (10, 30, 100, 300, 1000, 3000),
}
HONEST = {"realsumm": (25, 50, 100, 200, 400)}  # steps for all runs of a collection, in the order of suggest only


@dataclass(frozen=True)
class JudgedSoFar:
    """The score and its judging part after so many verdicts."""

    judgements: int
    value: float
    interval: tuple[float, float]


def by_suggestion(scorer: Scorer, matched: MatchedRun, open_: Ints, count: int, rng: np.random.Generator) -> Ints:
    wanted = suggest(scorer, matched, scorer.measures[0], count)
    pairs = [
        int(matched.begin[one.response] + one.nugget - scorer.key.offsets[matched.run.question[one.response]])
        for one in wanted
    ]
    return np.array(pairs, dtype=np.int64) if pairs else open_  # if nothing matters any more, any pair


def by_uncertainty(scorer: Scorer, matched: MatchedRun, open_: Ints, count: int, rng: np.random.Generator) -> Ints:
    chance = scorer.model.probability(matched.pairs[open_], matched.group)
    return open_[np.argsort(np.abs(chance - 0.5), kind="stable")]


def by_chance(scorer: Scorer, matched: MatchedRun, open_: Ints, count: int, rng: np.random.Generator) -> Ints:
    return rng.permutation(open_)


ORDERS: dict[str, Callable[..., Ints]] = {"suggest": by_suggestion, "uncertain": by_uncertainty, "random": by_chance}


def judged(collection: Collection, name: str, order: str, truth: States, steps: Sequence[int]) -> list[JudgedSoFar]:
    """Judge a run and follow its score and interval."""
    rng = np.random.default_rng(1)
    known: dict[int, bool] = {}
    states = []
    for step in (0, *steps):
        while True:
            said = verdicts(collection, name, known)
            scorer = Scorer(replace(collection, judgements=(*collection.judgements, *said)), [MEASURE])
            matched = scorer.read(name)
            certain = matched.certain(len(scorer.key.nuggets))
            open_ = np.flatnonzero(matched.undecided & ~certain[matched.pairs.nugget])
            if len(known) >= step or not len(open_):
                break
            for pair in ORDERS[order](scorer, matched, open_, step - len(known), rng).tolist():
                nugget = matched.pairs.nugget[pair]
                if len(known) < step and not certain[nugget]:
                    known[pair] = bool(truth[pair] == YES)
                    certain[nugget] |= known[pair]
        found = scorer.score(matched).measures[MEASURE]
        states.append(JudgedSoFar(len(known), float(found.value), found.judging))
    return states


def verdicts(collection: Collection, name: str, known: dict[int, bool]) -> list[Judgement]:
    key, run = collection.key, collection.run(name)
    begin = np.concatenate([[0], np.cumsum(key.counts[run.question])])
    rows = []
    for pair, yes in known.items():
        response = int(np.searchsorted(begin, pair, side="right")) - 1
        nugget = key.nuggets[key.offsets[run.question[response]] + pair - begin[response]]
        rows.append(Judgement(nugget.qid, nugget.nugget, run.texts[response], yes, run=name))
    return rows


def on_collection(folder: str) -> dict[str, Any]:
    collection = read_collection(folder)
    names = [run.name for run in collection.judged_runs]
    few = RUNS[Path(folder).name]
    chosen = [names[i] for i in np.linspace(0, len(names) - 1, min(few, len(names))).round().astype(int)]
    steps = STEPS[Path(folder).name]
    truth = {run.name: run.measures[MEASURE].value for run in score(collection, names, [MEASURE]).runs}
    whole = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    found: dict[str, Any] = {"truth": truth, "runs": {}}
    for name in chosen:
        run = collection.run(name)
        states = whole([normalised(text) for text in run.texts], run.question)
        hidden = hide(collection, name, 0.0, np.random.default_rng(1))
        scorer = Scorer(hidden, [MEASURE])
        matched = scorer.read(name)
        ahead = forecast(scorer, matched, scorer.measures[0])
        rows: dict[str, Any] = {"open": int(matched.undecided.sum())}
        rows["forecast"] = [ahead.width_after(step) for step in (0, *steps)]
        for order in ORDERS:
            begin = time.process_time()
            rows[order] = [asdict(state) for state in judged(hidden, name, order, states, steps)]
            print(f"{name}: {order}, {time.process_time() - begin:.0f} s", file=sys.stderr, flush=True)
        found["runs"][name] = rows
    steps = HONEST.get(Path(folder).name, ())
    found["all"] = {}
    for name in names if steps else ():
        run = collection.run(name)
        states = whole([normalised(text) for text in run.texts], run.question)
        hidden = hide(collection, name, 0.0, np.random.default_rng(1))
        found["all"][name] = {"suggest": [asdict(one) for one in judged(hidden, name, "suggest", states, steps)]}
    return found


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def means(runs: dict[str, Any], order: str, what: Callable[[str, JudgedSoFar], float]) -> list[float]:
    """The mean over runs for each step."""
    rows = [
        [what(name, JudgedSoFar(**{**one, "interval": tuple(one["interval"])})) for one in run[order]]
        for name, run in runs.items()
    ]
    return [float(value) for value in np.mean(rows, axis=0)]


def width(name: str, state: JudgedSoFar) -> float:
    return state.interval[1] - state.interval[0]


def report(folder: str, found: dict[str, Any]) -> str:
    truth, runs = found["truth"], found["runs"]
    steps = [one["judgements"] for one in next(iter(runs.values()))["random"]]

    def tau(name: str, state: JudgedSoFar) -> float:
        others = np.array([value for other, value in truth.items() if other != name])
        return float((np.sign(others - state.value) * np.sign(others - truth[name])).mean())

    columns = {
        "width": ("{:.4f}", width, lambda x: x),
        "rmse": ("{:.4f}", lambda name, state: (state.value - truth[name]) ** 2, np.sqrt),
        "holds": ("{:.0%}", lambda name, state: covered(state.interval, truth[name]), lambda x: x),
        "τ": ("{:.3f}", tau, lambda x: x),
    }
    rows = [[f"{step:,}"] for step in steps]
    heads = ["verdicts"]
    for what, (form, function, last) in columns.items():
        for order in ORDERS:
            heads.append(f"{what} {order}" if order == "suggest" else order)
            for row, value in zip(rows, means(runs, order, function), strict=True):
                row.append(form.format(last(value)))
    ahead = np.mean([run["forecast"] for run in runs.values()], axis=0)
    heads.append("forecast")
    for row, value in zip(rows, ahead, strict=True):
        row.append(f"{value:.4f}")
    ours, theirs = ([max(value, 1e-9) for value in means(runs, order, width)] for order in ("suggest", "random"))
    needed = []
    for step, wide in zip(steps[1:], theirs[1:], strict=True):
        if wide < ours[0]:
            same = float(np.interp(-np.log(wide), -np.log(ours), steps))
            needed.append([f"{step:,}", f"{wide:.4f}", f"{same:,.0f}", f"{same / step:.2f}"])
    open_ = sorted(run["open"] for run in runs.values())
    honest = ""
    if found["all"]:
        about = ["verdicts", "holds", "rmse", "width"]
        asked = means(found["all"], "suggest", lambda name, state: state.judgements)
        right, error, wide = (means(found["all"], "suggest", columns[what][1]) for what in ("holds", "rmse", "width"))
        lines = [
            [f"{k:,.0f}", f"{a:.0%}", f"{b**0.5:.4f}", f"{c:.4f}"]
            for k, a, b, c in zip(asked, right, error, wide, strict=True)
        ]
        honest = f"\nAll {len(found['all'])} runs, in the order of suggest:\n\n{table(about, lines)}"
    return (
        f"## {folder}: {len(runs)} of {len(truth)} runs\n\n"
        f"{', '.join(f'`{name}`' for name in runs)}; {open_[0]:,} to {open_[-1]:,} open pairs each.\n\n"
        f"{table(heads, rows)}\nAs narrow as after so many verdicts in random order:\n\n"
        f"{table(['random', 'width', 'suggest', 'of random'], needed)}{honest}"
    )


def drawing(results: dict[str, Any], path: Path) -> None:
    """Plot width against verdicts, both on a logarithmic scale."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "judging"
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(results), figsize=(4.6 * len(results), 3.6), squeeze=False)
    for panel, (folder, found) in zip(panels[0], results.items(), strict=True):
        for order, style in zip(ORDERS, ("-", "--", ":"), strict=True):
            steps = [one["judgements"] for one in next(iter(found["runs"].values()))[order]]
            panel.plot(steps[1:], means(found["runs"], order, width)[1:], style, marker="o", markersize=3, label=order)
        panel.set(title=folder, xlabel="verdicts", xscale="log", yscale="log")
    panels[0][0].set_ylabel("width of the judging part, F(3)")
    panels[0][0].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    results = {Path(folder).name: on_collection(folder) for folder in sys.argv[1:]}
    show(results)


def show(results: dict[str, Any]) -> None:
    print("# Judging: in which order?\n")
    print(f"Made by `python experiments/judging.py {' '.join(results)}`.\n")
    print((__doc__ or "").split("\n\n", 2)[2])
    print("width: of the judging part of F(3). holds: it holds the true score. τ: of the run with all others, at their")
    print(
        "true scores. All are means over runs. forecast: the width that was expected before the first verdict, by the"
    )
    print("order of suggest.\n\n![width against verdicts](judging.svg)\n")
    for folder, found in results.items():
        print(report(folder, found))
    drawing(results, Path(__file__).parent / "judging.svg")


if __name__ == "__main__":
    main()
