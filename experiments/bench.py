"""Speed and memory. Many figures are ratios to something measured in the same run, because machines are shared.

    scripts/bench            everything; takes some minutes
    scripts/bench --quick    without the million responses

Each time is the best of several interleaved rounds, because disturbances only make a measurement longer.
Writes experiments/bench.md and experiments/bench.json.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from rouge_score.rouge_scorer import RougeScorer

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.judging.suggest import VerdictValues, suggest
from nuggeteer.scoring.outcomes import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import Match
from nuggeteer.statistics.intervals import DRAWS
from nuggeteer.thresholds import Evidence, FixedThreshold
from nuggeteer.thresholds.prior import PRIOR
from nuggeteer.thresholds.selection import PAPER, models

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-m", "nuggeteer"]
words = re.compile(r"\w+").findall


def best_of(rounds: int, *functions: Callable[[], Any]) -> list[float]:
    """The shortest time of each function, taking turns."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def scoring_against_the_floor(collection: Collection, name: str) -> dict[str, Any]:
    """From a run in memory to its found nuggets, against cutting its texts into words."""
    run, key = collection.run(name), collection.key
    scorer = Scorer(collection, model=FixedThreshold(0.2))
    floor, ours = best_of(
        15,
        lambda: [words(text.lower()) for text in run.texts],
        lambda: scorer.find(scorer.read(run)),
    )
    pairs = int(key.counts[run.question].sum())
    return {
        "responses": len(run),
        "pairs": pairs,
        "floor_seconds": floor,
        "seconds": ours,
        "times_the_floor": ours / floor,
        "pairs_per_second": pairs / ours,
    }


def against_rouge(collection: Collection, name: str, responses: int = 200) -> dict[str, Any]:
    """The same pairs, by rouge-score's rouge1 and rouge2 with stemming, and by the matcher."""
    run, key = collection.run(name), collection.key
    theirs = RougeScorer(["rouge1", "rouge2"], use_stemmer=True)
    pairs = [
        (nugget.descriptions[0], run.texts[i])
        for i in range(responses)
        for nugget in key.nuggets[key.offsets[run.question[i]] : key.offsets[run.question[i] + 1]]
    ]
    settings = replace(collection.settings, match=Match(stem=True))
    scorer = Scorer(replace(collection, settings=settings), model=FixedThreshold(0.2))
    rouge, ours = best_of(
        5,
        lambda: [theirs.score(description, text) for description, text in pairs],
        lambda: scorer.find(scorer.read(run)),
    )
    rouge_rate = len(pairs) / rouge
    our_rate = int(key.counts[run.question].sum()) / ours
    return {
        "rouge_pairs_per_second": rouge_rate,
        "pairs_per_second": our_rate,
        "times_rouge": our_rate / rouge_rate,
    }


def whole_command(*arguments: str) -> tuple[float, float]:
    """Seconds, and peak MB of the process and its workers together."""
    start = time.perf_counter()
    process = psutil.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        try:
            family = [process, *process.children(recursive=True)]
            peak = max(peak, sum(member.memory_info().rss for member in family))
        except psutil.NoSuchProcess:
            pass
        time.sleep(0.002)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}")
    return seconds, peak / 1e6


def cold(*arguments: str, rounds: int = 7) -> dict[str, float]:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run([*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - start)
    python = min(
        best_of(rounds, lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)),
    )
    return {"seconds": min(times), "slowest": max(times), "python_alone": python}


def fitting_anew(collection: Path) -> float:
    """Seconds of `score` in a new process, without a remembered fit."""
    shutil.rmtree(collection / ".nuggeteer", ignore_errors=True)
    return cold("score", "--collection", str(collection), "s3", rounds=1)["seconds"]


def five_models() -> float:
    """Seconds for the evidence and posteriors of the five models of the paper's table 4, on simulated verdicts."""
    rng = np.random.default_rng(0)
    nugget = np.repeat(np.arange(500), 800)
    theta, scores = rng.random(500), np.round(rng.random(400_000) ** 2, 3)
    yes = rng.random(400_000) < np.where(scores > theta[nugget], 0.7, 0.01)
    evidence = Evidence(
        scores,
        np.zeros(400_000),
        yes,
        nugget,
        np.zeros(400_000, np.int64),
        ("g",),
        np.arange(500) // 10,
        np.full(500, 0.1),
    )
    fits = [models(PRIOR)[name].fit for name in PAPER]
    return best_of(3, lambda: [fit(evidence) for fit in fits])[0]


def drawing(collection: Collection, name: str) -> float:
    """Seconds to draw the posterior, the verdicts and the questions, and to compute the intervals of all measures."""
    scorer = Scorer(collection)
    matched = scorer.read(name)

    def whole() -> None:
        scorer.draws = scorer.model.draw(DRAWS, 0)
        vars(scorer).pop("_verdicts", None)
        scorer.score(matched)

    return best_of(5, whole)[0]


def suggesting(collection: Collection, old: str, new: str) -> dict[str, float]:
    """Seconds to suggest pairs to judge and to forecast the interval, for a run and for the difference of two runs."""
    scorer = Scorer(collection)
    before, after = scorer.read(old), scorer.read(new)

    def whole(against: MatchedRun | None) -> None:
        values = VerdictValues(scorer, after, scorer.measures[0], against)
        values.suggest(30)
        values.forecast()

    first = best_of(5, lambda: suggest(scorer, after, scorer.measures[0], 30))[0]
    run, difference = best_of(5, lambda: whole(None), lambda: whole(before))
    return {"seconds": first, "with_forecast": run, "of_a_difference": difference}


def page(collection: Path) -> dict[str, float]:
    """The size of the report and, if Chromium is installed, the seconds until it is painted (the best of five)."""
    path = collection / "report.html"
    subprocess.run([*COMMAND, "report", "--collection", str(collection), "--output", str(path)], check=True)
    results = {"megabytes": path.stat().st_size / 1e6}
    if chromium := shutil.which("chromium"):
        from playwright.sync_api import sync_playwright

        painted = "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(performance.now()))))"
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            times = []
            for _ in range(5):
                opened = browser.new_page()
                opened.goto(path.resolve().as_uri())
                times.append(opened.evaluate(painted) / 1000)
                opened.close()
            browser.close()
        results["seconds"] = min(times)
    return results


def measure(work: Path, quick: bool) -> dict[str, Any]:
    results: dict[str, Any] = {}
    log("a TREC-sized collection: 75 questions, 10 nuggets, 20 responses")
    trec = work / "trec"
    simulate(trec, Shape(questions=75, systems=4, judged=2), seed=0)
    results["help"] = cold("--help")
    results["score"] = cold("score", "--collection", str(trec), "s3")  # the first round fits, the others remember
    results["diff"] = cold("diff", "--collection", str(trec), "s3", "s4")
    results["suggest"] = suggesting(read_collection(trec), "s3", "s4")
    results["fit"] = {"seconds": min(fitting_anew(trec) for _ in range(5))}
    log("400,000 judged pairs in 500 nuggets: the paper's five models")
    results["models"] = {"seconds": five_models()}
    log("a larger one: 500 questions, 10 nuggets, 20 responses")
    large = work / "large"
    simulate(large, Shape(questions=500, systems=2, judged=1), seed=0)
    collection = read_collection(large)
    results["floor_simulated"] = scoring_against_the_floor(collection, "s2")
    results["rouge"] = against_rouge(collection, "s2")
    log("the report of the same")
    results["page"] = page(large)
    log("2,000 draws for 500 questions x 10 nuggets")
    single = work / "single"
    simulate(single, Shape(questions=500, systems=2, judged=1, responses=1), seed=0)
    results["draws"] = {"seconds": drawing(read_collection(single), "s2")}
    news = HERE.parent.parent / "shared" / "data" / "ts2014"
    if news.is_dir():
        # Real sentences of one pool, as if nobody had judged that pool.
        log("real sentences: ts2014")
        (work / "pool").mkdir()
        copy = work / "pool" / "pool9-unjudged.jsonl"
        copy.write_bytes((news / "runs" / "pool9.jsonl").read_bytes())
        results["floor_ts2014"] = scoring_against_the_floor(read_collection(news), str(copy))
    if not quick:
        log("a million responses x 10 nuggets")
        million = work / "million"
        start = time.perf_counter()
        simulate(million, Shape(questions=500, systems=1, judged=0, responses=2000), seed=0)
        results["million"] = {"simulate_seconds": time.perf_counter() - start}
        texts = read_collection(million).run("s1").texts
        results["million"]["floor_seconds"] = best_of(1, lambda: [words(text.lower()) for text in texts])[0]
        del texts
        for jobs in ("1", "2"):
            seconds, peak = whole_command(
                "score", "--collection", str(million), "s1", "--jobs", jobs, "--json", str(work / jobs)
            )
            results["million"][f"jobs_{jobs}"] = {"seconds": seconds, "peak_mb": peak}
        results["million"]["identical"] = (work / "1").read_bytes() == (work / "2").read_bytes()
    return results


def log(what: str) -> None:
    print(what, file=sys.stderr, flush=True)


def table(results: dict[str, Any]) -> str:
    rows = [
        ("`nuggeteer --help`, cold", f"{results['help']['seconds']:.3f} s", "≤ 0.15 s"),
        ("`score`, TREC-sized, cold", f"{results['score']['seconds']:.2f} s", "≤ 1.5 s"),
        ("the same, thresholds fitted from nothing", f"{results['fit']['seconds']:.2f} s", "≤ 3 s"),
        ("`diff`, TREC-sized, cold", f"{results['diff']['seconds']:.2f} s", "≤ 2 s"),
        ("where to judge next, TREC-sized, thirty pairs", f"{results['suggest']['seconds']:.2f} s", "≤ 1 s"),
        ("the same with the forecast", f"{results['suggest']['with_forecast']:.2f} s", "≤ 1 s"),
        ("the same, of a difference", f"{results['suggest']['of_a_difference']:.2f} s", ""),
        ("the paper's five threshold models, 400,000 pairs", f"{results['models']['seconds']:.2f} s", "≤ 2 s"),
        ("2,000 draws, 500 questions × 10 nuggets, all measures", f"{results['draws']['seconds']:.2f} s", "≤ 1 s"),
    ]
    for name, label in (
        ("floor_simulated", "10,000 simulated responses"),
        ("floor_ts2014", "real sentences, ts2014"),
    ):
        if name in results:
            one = results[name]
            what = f"scoring / tokenising, {label}, {one['pairs']:,} pairs"
            rows.append((what, f"{one['times_the_floor']:.2f} ×", "≤ 3 ×"))
    opened = results["page"]
    if "seconds" in opened:
        rows.append(("`report` of 500 × 10 nuggets, painted in Chromium", f"{opened['seconds']:.2f} s", "≤ 1 s"))
    rows.append(("its size", f"{opened['megabytes']:.1f} MB", "≤ 5 MB"))
    rouge = results["rouge"]
    rows.append(("pairs a second / rouge-score's, stemmed", f"{rouge['times_rouge']:,.0f} ×", "≥ 100 ×"))
    if "million" in results:
        for jobs in ("1", "2"):
            one = results["million"][f"jobs_{jobs}"]
            what = f"`score` of a million responses × 10 nuggets, {jobs} worker{'s' if jobs == '2' else ''}"
            rows.append((what, f"{one['seconds']:.0f} s, {one['peak_mb']:.0f} MB", "1 GB"))
        rows.append(("their results, byte for byte", str(results["million"]["identical"]), "True"))
    body = "\n".join(f"| {what} | {value} | {target} |" for what, value, target in rows)
    return f"| what | measured | target |\n|---|---|---|\n{body}\n"


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    with tempfile.TemporaryDirectory() as work:
        results = measure(Path(work), quick)
    text = table(results)
    print(text)
    if not quick:
        head = "# Speed and memory\n\nMade by `scripts/bench`, whose head says how. All figures of one run.\n\n"
        (HERE / "bench.md").write_text(head + text, encoding="utf-8")
        (HERE / "bench.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
