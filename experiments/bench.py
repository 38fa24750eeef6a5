"""Speed and memory. Many figures are ratios to something measured in the same run, because machines are shared.

    scripts/bench            everything; takes some minutes
    scripts/bench --quick    without the million responses

Each time is the best of several interleaved rounds, because disturbances only make a measurement longer. The rows of
the RAG-sized collections (`rag_sized.py`) are seconds of the processor, of a command with all its workers, and so are
their floors: cutting the answers into words, and reading the files with orjson.

Writes experiments/bench.md and experiments/bench.json, which keeps the last figures too. Names what became slower by a
third, as a multiple of the time of a floor in the same run, and then ends with 1.
"""

from __future__ import annotations

import asyncio
import compileall
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
import psutil
import rag_sized
import year_of_nights
from rouge_score.rouge_scorer import RougeScorer
from textual.events import Key

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.judging.reading_order import ReadingOrder, suggest
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import JudgingState, JudgingSubject
from nuggeteer.records import Run
from nuggeteer.scoring.matched_run import MatchedRun, read
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.screens.app import JudgeApp
from nuggeteer.settings import Match
from nuggeteer.statistics.intervals import DRAWS
from nuggeteer.thresholds import Evidence, FixedThreshold, Units, noisy
from nuggeteer.thresholds.model import Build
from nuggeteer.thresholds.selection import PAPER

HERE = Path(__file__).parent
COMMAND = [sys.executable, "-m", "nuggeteer"]
words = re.compile(r"\w+").findall
DATA = HERE.parent.parent / "shared" / "data"
SLOWER = 4 / 3
KEPT = 5  # recorded measurements


class Row(NamedTuple):
    """A line of the table. `unit` is s, ms, × or MB; of "more ×", more is better. `mb` is the peak of the memory."""

    what: str
    value: float
    unit: str
    target: str = ""
    mb: float | None = None


def best_of(rounds: int, *functions: Callable[[], Any]) -> list[float]:
    """The shortest time of each function, taking turns."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def matched_anew(scorer: Scorer, run: Run) -> MatchedRun:
    """`Scorer.read` without what it remembers of the last time."""
    build = Build(scorer.collection.group(run.name), run.name)
    return read(run, build, scorer.key, scorer.matcher, scorer.known)


def scoring_against_the_floor(collection: Collection, name: str) -> dict[str, Any]:
    """From a run in memory to its found nuggets, against cutting its texts into words."""
    run, key = collection.run(name), collection.key
    scorer = Scorer(collection, model=FixedThreshold(0.2))
    floor, ours = best_of(
        15,
        lambda: [words(text.lower()) for text in run.texts],
        lambda: scorer.find(matched_anew(scorer, run)),
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
        lambda: scorer.find(matched_anew(scorer, run)),
    )
    rouge_rate = len(pairs) / rouge
    our_rate = int(key.counts[run.question].sum()) / ours
    return {
        "rouge_pairs_per_second": rouge_rate,
        "pairs_per_second": our_rate,
        "times_rouge": our_rate / rouge_rate,
    }


def rss(process: psutil.Process) -> int:
    return int(process.memory_info().rss)


def whole_command(*arguments: str, typed: bytes = b"") -> tuple[float, float]:
    """Seconds, and peak MB of the process and its workers together. What is `typed` waits for it on a pipe."""
    start, nowhere = time.perf_counter(), subprocess.DEVNULL
    process = psutil.Popen([*COMMAND, *arguments], stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere)
    process.stdin.write(typed)
    process.stdin.close()
    peak, workers = 0, []
    while process.poll() is None:
        asked = time.perf_counter()
        try:
            workers = process.children(recursive=True)
            # What processes share counts once.
            peak = max(
                peak, sum(one.memory_full_info().pss for one in (process, *workers)) if workers else rss(process)
            )
        except psutil.NoSuchProcess:
            pass
        # What processes share is slow to find out, and stops them: it may take a tenth of the time.
        time.sleep(9 * (time.perf_counter() - asked) if workers else 0.002)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{arguments} ended with {process.returncode}")
    return seconds, peak / 1e6


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """The dict that a function returns, made in a process of its own, with the peak of its memory. That includes what
    this process has at the time."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            with os.fdopen(writing, "w") as out:
                json.dump(function(*arguments), out)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as answer:
        body = answer.read()
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{function.__name__} failed")
    return {**json.loads(body), "peak_mb": usage.ru_maxrss / 1e3}


def of_processor(*arguments: str, typed: bytes = b"") -> dict[str, float]:
    """Seconds of the processor, of a command and its workers, and the peak of its memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _, peak = whole_command(*arguments, typed=typed)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": seconds, "peak_mb": peak}


def rag_sized_commands(known: Path, open_: Path) -> dict[str, Any]:
    """Of a collection all of whose pairs are known, and of the same with one run of three unknown."""

    def seconds(function: Callable[[], Any]) -> float:
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            function()
            best = min(best, time.process_time() - start)
        return best

    texts = [line["text"] for path in (known / "runs").glob("*.jsonl") for line in rag_sized.lines(path)]
    files = [path.read_bytes().splitlines() for path in known.rglob("*.jsonl")]
    results: dict[str, Any] = {
        "tokenising": {"seconds": seconds(lambda: [words(text.lower()) for text in texts])},
        "orjson": {"seconds": seconds(lambda: [orjson.loads(line) for lines in files for line in lines])},
    }

    def measured(name: str, folder: Path, *arguments: str, typed: bytes = b"") -> None:
        results[name] = of_processor(*arguments, "--collection", str(folder), typed=typed)

    measured("check", known, "check")
    measured("score", known, "score")
    measured("report known", known, "report", "--output", str(known / "page.html"))
    measured("score open, first", open_, "score")
    measured("score open", open_, "score")
    measured("diff open", open_, "diff", "r1", "r3")
    measured("compare open", open_, "compare")
    measured("report open, first", open_, "report", "--output", str(open_ / "page.html"))
    measured("report open", open_, "report", "--output", str(open_ / "page.html"))
    # Whoever leaves at the first answer has seen it, and waited for nothing else.
    measured("judge", open_, "judge", "r3", "--plain", typed=b"q\n")
    measured("judge list", open_, "judge", "r3", "--list", "1")
    answered = open_.with_name(f"{open_.name}-answered")
    shutil.copytree(open_, answered)
    results["answering"] = apart(answering, answered, "r3")
    imported = open_ / "r3.import.jsonl"
    lines = imported.read_bytes().splitlines(keepends=True)
    ten = open_ / "judgements" / "ten.jsonl"
    ten.write_bytes(b"".join(lines[:: len(lines) // 10][:10]))
    measured("score after ten", open_, "score")
    ten.unlink()
    measured("import", open_, "judge", "--import", str(imported))
    return results


def cold_start(folder: Path) -> dict[str, float]:
    """`score` of 200,000 short responses without a verdict, against cutting them into words."""
    texts = read_collection(folder).run("s1").texts
    start = time.process_time()
    _ = [words(text.lower()) for text in texts]
    floor = time.process_time() - start
    del texts
    return {"floor_seconds": floor, **of_processor("score", "--collection", str(folder), "s1")}


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
    questions = np.arange(500) // 10
    names = np.arange(500, dtype=np.uint64), np.arange(50, dtype=np.uint64)
    evidence = Evidence(Units.of_scores(scores, nugget), yes, questions, *names)
    return best_of(3, lambda: [noisy.fit(name, evidence) for name in PAPER])[0]


def drawing(collection: Collection, name: str) -> float:
    """Seconds to draw the posterior, the verdicts and the questions, and to compute the intervals of all measures."""
    scorer = Scorer(collection)
    matched = scorer.read(name)

    def whole() -> None:
        scorer.draws = scorer.model.draw(DRAWS, 0)
        scorer.forget_outcomes()
        scorer.score(matched)

    return best_of(5, whole)[0]


def suggesting(collection: Collection, old: str, new: str) -> dict[str, float]:
    """Seconds to suggest what to read and to forecast the interval, for a run and for the difference of two runs."""
    scorer = Scorer(collection)
    before, after = scorer.read(old), scorer.read(new)

    def whole(against: MatchedRun | None) -> None:
        order = ReadingOrder(scorer, after, scorer.measures[0], against)
        assert order.cards
        order.forecast()

    first = best_of(5, lambda: suggest(scorer, after, scorer.measures[0], 30))[0]
    run, difference = best_of(5, lambda: whole(None), lambda: whole(before))
    return {"seconds": first, "with_forecast": run, "of_a_difference": difference}


def answering(folder: Path, run: str, cards: int = 25) -> dict[str, float]:
    """Milliseconds from a key until `judge` has the next answer, while the score after the last verdicts is computed.
    What it takes to draw the screen comes after that."""
    session = Session(JudgingState.read(JudgingSubject(folder, run)), Ledger(folder, "ann"))
    times = []

    async def answer() -> None:
        async with JudgeApp(session).run_test(size=(100, 40)) as pilot:
            for _ in range(cards):
                pilot.app.post_message(Key("a", "a"))  # no to all of its nuggets
                while session.open_nuggets:
                    await asyncio.sleep(0.001)
                asked, start = session.asked, time.perf_counter()
                pilot.app.post_message(Key("enter", None))
                while session.asked is asked:
                    await asyncio.sleep(0.001)
                times.append(1000 * (time.perf_counter() - start))
                await asyncio.sleep(0.5)

    asyncio.run(answer())
    return {"milliseconds": float(np.median(times)), "nine_in_ten": float(np.quantile(times, 0.9))}


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
    results["suggest"] = apart(suggesting, read_collection(trec), "s3", "s4")
    results["answering"] = apart(answering, trec, "s3")
    results["fit"] = {"seconds": min(fitting_anew(trec) for _ in range(5))}
    log("400,000 judged pairs in 500 nuggets: the paper's five models")
    results["models"] = apart(lambda: {"seconds": five_models()})
    log("a larger one: 500 questions, 10 nuggets, 20 responses")
    large = work / "large"
    simulate(large, Shape(questions=500, systems=2, judged=1), seed=0)
    collection = read_collection(large)
    results["floor_simulated"] = apart(scoring_against_the_floor, collection, "s2")
    results["rouge"] = apart(against_rouge, collection, "s2")
    log("the report of the same")
    results["page"] = page(large)
    log("2,000 draws for 500 questions x 10 nuggets")
    single = work / "single"
    simulate(single, Shape(questions=500, systems=2, judged=1, responses=1), seed=0)
    results["draws"] = apart(lambda: {"seconds": drawing(read_collection(single), "s2")})
    log("RAG-sized: 301 questions, 20 nuggets, three runs of whole answers, made up")
    rag_sized.made_up(work / "rag")
    rag_sized.made_up(work / "rag-open", "r3")
    results["rag"] = rag_sized_commands(work / "rag", work / "rag-open")
    if (DATA / "autonuggetizer").is_dir():
        log("the same, from AutoNuggetizer's files")
        rag_sized.from_assignments(work / "auto", DATA / "autonuggetizer")
        rag_sized.from_assignments(work / "auto-open", DATA / "autonuggetizer", "r3")
        results["autonuggetizer"] = rag_sized_commands(work / "auto", work / "auto-open")
    log("200,000 short responses without a verdict")
    short = work / "short"
    simulate(short, Shape(questions=500, systems=1, judged=0, responses=400), seed=0)
    results["cold"] = cold_start(short)
    news = DATA / "ts2014"
    if news.is_dir():
        # Real sentences of one pool, as if nobody had judged that pool.
        log("real sentences: ts2014")
        (work / "pool").mkdir()
        copy = work / "pool" / "pool9-unjudged.jsonl"
        copy.write_bytes((news / "runs" / "pool9.jsonl").read_bytes())
        results["floor_ts2014"] = apart(scoring_against_the_floor, read_collection(news), str(copy))
    if not quick:
        log("a year of nights: a million verdicts, and 10,000 runs in a folder")
        nights, many = work / "nights", work / "many"
        year_of_nights.made_up(nights)
        year_of_nights.many_runs(many)
        results["nights"] = {
            "check": of_processor("check", "--collection", str(nights)),
            "score": of_processor("score", f"build-{year_of_nights.NIGHTS - 1:05}", "--collection", str(nights)),
            "many": of_processor("check", "--collection", str(many)),
        }
        shutil.rmtree(nights)
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


RAG = (
    ("check", "`check`, all known", ""),
    ("score", "`score`, all known", "≤ 1.5 × `check`, ≤ 200 MB"),
    ("report known", "`report`, all known", ""),
    ("score open, first", "`score`, one run of three unknown, fitted anew", ""),
    ("score open", "`score`, one run of three unknown", "≤ 2.5 s"),
    ("diff open", "`diff` of a known and the unknown run", "≤ 3.5 s"),
    ("compare open", "`compare`", ""),
    ("report open, first", "`report` of the unknown run, models compared anew", "≤ 5 s, ≤ 300 MB"),
    ("report open", "`report` of the unknown run", "≤ 5 s, ≤ 300 MB"),
    ("judge", "the first answer of `judge`", "≤ 2 s"),
    ("judge list", "`judge --list 1`", ""),
    ("score after ten", "`score` after ten more verdicts", "≤ 1.2 × `score`"),
    ("import", "`judge --import` of 6,000 verdicts", "≤ 1 s"),
)


def rows(results: dict[str, Any]) -> list[Row]:
    def seconds(what: str, own: dict[str, Any], target: str = "", name: str = "seconds") -> Row:
        in_ms = name == "milliseconds"  # of a function that keeps what was there before it: no memory of its own
        return Row(what, own[name], "ms" if in_ms else "s", target, None if in_ms else own.get("peak_mb"))

    models, draws = results["models"], results["draws"]
    found = [
        seconds("`nuggeteer --help`, cold", results["help"], "≤ 0.05 s"),
        seconds("`score`, TREC-sized, cold", results["score"], "≤ 1.5 s"),
        seconds("the same, thresholds fitted from nothing", results["fit"], "≤ 3 s"),
        seconds("`diff`, TREC-sized, cold", results["diff"], "≤ 2 s"),
        seconds("what to read next, TREC-sized, thirty verdicts", results["suggest"], "≤ 1 s"),
        seconds("the same with the forecast", results["suggest"], "≤ 1 s", "with_forecast"),
        seconds("the same, of a difference", results["suggest"], "", "of_a_difference"),
        seconds(
            "from a key to the next answer in `judge`, TREC-sized", results["answering"], "≤ 50 ms", "milliseconds"
        ),
        seconds("the paper's five threshold models, 400,000 pairs", models, "≤ 2 s"),
        seconds("2,000 draws, 500 questions × 10 nuggets, all measures", draws, "≤ 1 s"),
    ]
    for name, label in (("rag", "made up"), ("autonuggetizer", "AutoNuggetizer's")):
        if name in results:
            own = results[name]
            found.append(seconds(f"RAG-sized, {label}: cutting the answers into words", own["tokenising"]))
            found.append(seconds(f"RAG-sized, {label}: reading the files with orjson", own["orjson"]))
            found += [seconds(f"RAG-sized, {label}: {what}", own[key], target) for key, what, target in RAG]
            what = f"RAG-sized, {label}: from a key to the next answer"
            found.append(seconds(what, own["answering"], "≤ 50 ms", "milliseconds"))
    cold = results["cold"]
    times = cold["seconds"] / cold["floor_seconds"]
    found.append(
        Row("`score` / tokenising, 200,000 short responses, cold start", times, "×", "≤ 3.5 ×", cold["peak_mb"])
    )
    for name, label in (
        ("floor_simulated", "10,000 simulated responses"),
        ("floor_ts2014", "real sentences, ts2014"),
    ):
        if name in results:
            one = results[name]
            what = f"scoring / tokenising, {label}, {one['pairs']:,} pairs"
            found.append(Row(what, one["times_the_floor"], "×", "≤ 3 ×", one["peak_mb"]))
    opened = results["page"]
    if "seconds" in opened:
        found.append(Row("`report` of 500 × 10 nuggets, painted in Chromium", opened["seconds"], "s", "≤ 1 s"))
    found.append(Row("its size", opened["megabytes"], "MB", "≤ 5 MB"))
    rouge = results["rouge"]
    what = "pairs a second / rouge-score's, stemmed"
    found.append(Row(what, rouge["times_rouge"], "more ×", "≥ 100 ×", rouge["peak_mb"]))
    if "nights" in results:
        nights = results["nights"]
        found.append(seconds("`check` of a million verdicts", nights["check"], "≤ 8 s, ≤ 600 MB"))
        found.append(seconds("`score` of one run among them, all known", nights["score"], "≤ 15 s, ≤ 1 GB"))
        found.append(seconds("`check` of 10,000 runs in a folder", nights["many"], "≤ 5 s"))
    for jobs in ("1", "2") if "million" in results else ():
        workers = f"{jobs} worker{'s' if jobs == '2' else ''}"
        what = f"`score` of a million responses × 10 nuggets, {workers}"
        found.append(seconds(what, results["million"][f"jobs_{jobs}"], "1 GB"))
    return found


def speed(results: dict[str, Any]) -> float:
    """How long this machine takes for what does not change from version to version."""
    return float(results["rag"]["tokenising"]["seconds"])


def slower(now: list[Row], floor: float, before: dict[str, Any]) -> list[str]:
    """What takes a third longer than when it was recorded, for the speed of the machine then and now."""
    found = []
    for row in now:
        earlier = before["rows"].get(row.what)
        if not earlier:
            continue
        scale = floor / before["floor"] if row.unit in ("s", "ms") else 1.0
        times = earlier / row.value if row.unit == "more ×" else row.value / (earlier * scale)
        if times > SLOWER:
            found.append(f"{row.what}: {times:.1f} times as much as on {before['at']}")
    return found


def table(found: list[Row], before: dict[str, Any] | None) -> str:
    def shown(value: float, unit: str) -> str:
        digits = 3 if value < 0.1 else 2 if value < 10 else 0
        return f"{value:,.{digits}f} {unit.removeprefix('more ')}"

    lines = ["| what | measured | memory | target | recorded before |", "|---|---|---|---|---|"]
    for row in found:
        memory = "" if row.mb is None else f"{row.mb:,.0f} MB"
        earlier = before["rows"].get(row.what) if before else None
        last = "" if earlier is None else shown(earlier, row.unit)
        lines.append(f"| {row.what} | {shown(row.value, row.unit)} | {memory} | {row.target} | {last} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    compileall.compile_dir(HERE.parent / "nuggeteer", quiet=1)  # as an installation does
    path = HERE / "bench.json"
    recorded = json.loads(path.read_text(encoding="utf-8")).get("recorded", []) if path.exists() else []
    before = recorded[-1] if recorded else None
    with tempfile.TemporaryDirectory() as work:
        results = measure(Path(work), quick)
    found = rows(results)
    text = table(found, before)
    print(text)
    if not quick:
        head = "# Speed and memory\n\nMade by `scripts/bench`, whose head says how. All figures of one run.\n\n"
        (HERE / "bench.md").write_text(head + text, encoding="utf-8")
        now = {"at": f"{datetime.now(UTC):%Y-%m-%d}", "floor": speed(results), "rows": {r.what: r.value for r in found}}
        kept = {**results, "recorded": [*recorded, now][-KEPT:]}
        path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    worse = slower(found, speed(results), before) if before else []
    for line in worse:
        print(line, file=sys.stderr)
    raise SystemExit(1 if worse else 0)


if __name__ == "__main__":
    main()
