"""What does a sitting of so many minutes make of a score? `python experiments/reading.py COLLECTION... > reading.md`

A run of a fully judged collection acts as the build of a team that has one system, and has judged nothing. Somebody
reads for some minutes and answers truthfully, at 238 words a minute and 4 seconds a decision:

    judge       the answers that `judge` asks for, in an order worked out anew at each of the times in the table
    random      whole answers to random questions, scored by the same model
    difference  answers drawn in the same way, and something simple: the mean guess before anybody read, plus the mean
                of how far the guesses were off where they were checked, with Student's interval for so many of so many
                questions

With `--stopping N`, N sittings are stopped as soon as the interval is narrow enough or clear of a gate, looked at after
every few answers: that is where an interval that holds for a fixed time may fail.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import nights
import numpy as np
import prior
import scipy
from joblib import Parallel, delayed
from nights import F3, PACE, Night, Reader, World

from nuggeteer.collection.folder import read_collection
from nuggeteer.judging.forecast import Forecast
from nuggeteer.judging.reading_order import ReadingOrder
from nuggeteer.records import Judgement, Run, Vector
from nuggeteer.scoring.scorer import Scorer

MINUTES = (0, 10, 20, 40, 80)
WAYS = ("judge", "random", "difference")
ORDERS = 20  # random ones for what is simple to compute; the model scores the first of them
LOOKS = (0, 10)  # minutes after which there is a forecast
AHEAD = (10, 20, 40, 80)  # minutes for which it is compared with what is reached
LEAST = 0.01  # of a width that is compared
QUESTIONS = 100
LOOK, TARGET, GATE = 4.0, 0.1, 0.05  # minutes between two looks, a width, and how far from the gate a score may be
ALL = 10_000  # verdicts: an order is kept between two of the times


@dataclass(frozen=True)
class Row:
    """What is said at a time, and what is true."""

    truth: float
    value: float
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low


@dataclass(frozen=True)
class Build:
    """A run in its world, with the truth."""

    world: World
    night: Night
    run: Run
    verdicts: list[Judgement]

    @classmethod
    def of(cls, path: Path, number: int, of: int, seed: int, questions: int) -> Build:
        prior.leave_out(path.name)
        nights.AHEAD = ALL
        world = World.of(read_collection(path), questions, random.Random(seed))
        name = world.source.run_names[number * (len(world.source.run_names) - 1) // max(of - 1, 1)]
        night = dict.fromkeys([qid for qid in world.qids if (name, qid) in world.has], name)
        return cls(world, night, world.run(name, night), list(world.verdicts(name, night)))

    def scorer(self, said: Sequence[Judgement]) -> Scorer:
        return Scorer(replace(self.world.collection, judgements=tuple(said)), ["f3"])

    def by_question(self, said: Sequence[Judgement]) -> Vector:
        scorer = self.scorer(said)
        return scorer.score(scorer.read(self.run)).by_question["f3"]

    def row(self, truth: float, said: Sequence[Judgement]) -> Row:
        scorer = self.scorer(said)
        found = scorer.score(scorer.read(self.run)).measures["f3"]
        low, high = found.judging or (found.value, found.value)
        return Row(truth, float(found.value or 0), float(low or 0), float(high or 0))

    def read_in(self, minutes: float, seed: str) -> tuple[list[Judgement], list[str]]:
        """The verdicts that are given in so many minutes on answers in a random order, and the questions whose answers
        are read to the end."""
        key, left, said, done, order = self.world.collection.key, 60 * minutes, [], [], sorted(self.night)
        given = {(one.qid, one.nugget): one for one in self.verdicts}
        random.Random(seed).shuffle(order)
        for qid in order:
            place = key.position[qid]
            nuggets = key.nuggets[key.own(place)]
            left -= PACE.reading(key.questions[place].text, self.run.answer(place))
            for nugget in nuggets:
                if left <= 0:
                    return said, done
                left -= PACE.decision(nugget.descriptions[0])
                said.append(given[qid, nugget.nugget])
            done.append(qid)
        return said, done


def sit(path: Path, number: int, of: int, seed: int) -> tuple[dict[str, list[list[Row]]], list[list[float]]]:
    """The rows of each way, at each time; and of the forecasts after so many minutes, the widths over what is
    reached."""
    build = Build.of(path, number, of, seed, QUESTIONS)
    true_scores = build.by_question(build.verdicts)
    truth = float(np.nanmean(true_scores))
    rows: dict[str, list[list[Row]]] = {way: [] for way in WAYS}
    reader, spent, forecasts = Reader(build.world, seed), 0.0, dict[int, Forecast]()
    for minutes in MINUTES:
        reader.sit(minutes - spent, [(build.run, build.night)])
        spent = minutes
        rows["judge"].append([build.row(truth, reader.said)])
        if minutes in LOOKS:
            scorer = build.scorer(reader.said)
            forecasts[minutes] = ReadingOrder(scorer, scorer.read(build.run), F3).forecast()
    guessed, position = build.by_question([]), build.world.collection.key.position
    for minutes in MINUTES:
        read = [build.read_in(minutes, f"{seed} {number} {order}") for order in range(ORDERS)]
        rows["random"].append([build.row(truth, read[0][0])])
        places = [np.array([position[qid] for qid in done], dtype=int) for _, done in read]
        rows["difference"].append([_difference(true_scores, guessed, own, len(build.night)) for own in places])
    widths = {m: rows["judge"][i][0].width for i, m in enumerate(MINUTES)}
    return rows, [
        [forecast.width_after(m - seen) / widths[m] if m > seen and widths[m] > LEAST else np.nan for m in AHEAD]
        for seen, forecast in forecasts.items()
    ]


def _difference(true_scores: Vector, guessed: Vector, read: np.ndarray, answered: int) -> Row:
    """Where nothing is answered there is nothing to guess."""
    size, truth, value = (~np.isnan(true_scores)).sum(), float(np.nanmean(true_scores)), float(np.nanmean(guessed))
    read = read[~np.isnan(true_scores[read])]
    if len(read) < 2:
        return Row(truth, value, 0.0, 1.0)
    off, open_ = true_scores[read] - guessed[read], max(1 - len(read) / answered, 0.0)
    half = scipy.special.stdtrit(len(read) - 1, 0.975) * off.std(ddof=1) * np.sqrt(open_ / len(read)) * answered / size
    value += float(off.mean()) * answered / size
    return Row(truth, value, max(value - half, 0.0), min(value + half, 1.0))


def stop(path: Path, number: int, of: int, seed: int) -> tuple[float, bool]:
    """The minutes after which somebody stops whose interval is narrow enough or clear of a gate near the truth, and
    whether the interval then holds."""
    build = Build.of(path, number, of, seed, 25)
    truth = float(np.nanmean(build.by_question(build.verdicts)))
    gate = truth + GATE * random.Random(seed).choice([-1, 1])
    reader, minutes = Reader(build.world, seed), 0.0
    while True:
        row = build.row(truth, reader.said)
        clear = not row.low <= gate <= row.high
        if clear or row.width <= TARGET:
            return minutes, row.low - 1e-9 <= truth <= row.high + 1e-9
        reader.sit(LOOK, [(build.run, build.night)])
        minutes += LOOK


def line(rows: Sequence[Row]) -> str:
    error = np.sqrt(np.mean([(row.value - row.truth) ** 2 for row in rows]))
    held = np.mean([row.low - 1e-9 <= row.truth <= row.high + 1e-9 for row in rows])
    return f"{error:.3f} | {held:.2f} | {np.mean([row.width for row in rows]):.3f}"


def _ratio(values: Vector) -> str:
    return f"{np.nanmean(values):.2f}" if np.isfinite(values).any() else "–"


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--stopping", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    parallel = Parallel(n_jobs=given.jobs)
    if given.stopping:
        print("| collection | sittings | minutes | held when stopped |\n|---|---|---|---|")
        for path in given.collections:
            found = parallel(delayed(stop)(path, i % given.runs, given.runs, i) for i in range(given.stopping))
            minutes, held = np.array(found).T
            print(f"| {path.name} | {len(found)} | {np.mean(minutes):.0f} | {held.mean():.2f} |", flush=True)
        return
    heads = " | ".join(f"{way}: rmse | held | width" for way in WAYS)
    print(f"| collection | minutes | {heads} |\n|---|---|{'---|' * 9}")
    ratios: dict[str, Vector] = {}
    for path in given.collections:
        wanted = [(number, seed) for seed in range(given.draws) for number in range(given.runs)]
        played = parallel(delayed(sit)(path, number, given.runs, seed) for number, seed in wanted)
        for i, minutes in enumerate(MINUTES):
            parts = " | ".join(
                line([row for rows, _ in played for row in rows[way][i]]) for way in ("judge", "random", "difference")
            )
            print(f"| {path.name} | {minutes} | {parts} |", flush=True)
        ratios[path.name] = np.array([forecasts for _, forecasts in played])
    print(
        "\n| collection | forecast after | "
        + " | ".join(f"{m} minutes" for m in AHEAD)
        + " |\n|---|---|---|---|---|---|"
    )
    for name, found in ratios.items():  # sittings x forecasts x minutes
        for i, seen in enumerate(LOOKS):
            print(f"| {name} | {seen} | " + " | ".join(_ratio(values) for values in found[:, i].T) + " |")


if __name__ == "__main__":
    main()
