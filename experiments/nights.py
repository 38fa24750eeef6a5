"""Nights of one system, played on collections that people judged: `python experiments/nights.py COLLECTION...`

The first night is a run of the collection. Each other night is made from other runs' answers:

    X100  to every question, some other run's answer        S50, S100  one other run's answers to half, to all questions
    R30, R100  the answer that has the same nuggets, or nearly, in other words
    W05, W12, B10  so much worse or better, of 100, by answers that were chosen for it

A reader answers truthfully what `judge` asks, for some minutes on the first night and each morning after. Reading costs
238 words a minute, a decision 4 seconds. The prior is made without the collection (`prior.py`).

Printed, for the change of F(3) since the night before, on these questions: root mean squared error, how often the
judging interval holds the truth, its width, and how often `nightly` is right and wrong with a gate of 0.05. With
`--judge .85,.92` a language model has read everything, and is right so often where the truth is yes and no; `believed`
is the error of whoever believes it. `--sittings` plays one sitting on each run, and prints the same for the score.
`--forecasts` looks before each morning's reading: where the gate is undecided and minutes are named that are likely to
decide it, is it decided after so many, and after half as many more? `--runs` is a regular expression: nights are made
of the runs whose names it finds. `--questions 10 --minutes 60+0` plays a small suite whose first night was read whole,
and nothing after.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import prior
from msgspec import structs

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.collection.memory import make_collection, make_run
from nuggeteer.comparing.diff import Diff, change_of, diff_matched_runs
from nuggeteer.comparing.gate import Decision, rule
from nuggeteer.judging.forecast import Pace
from nuggeteer.judging.reading_order import ReadingOrder, Suggestion
from nuggeteer.measures import parse
from nuggeteer.records import Judgement, Run
from nuggeteer.scoring.matched_run import MatchedRun
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import SURE
from nuggeteer.statistics.intervals import Interval
from nuggeteer.text import verdict_form

KINDS = ("X100", "S50", "R30", "W05", "B10", "R100", "W12", "S100")
MINUTES = ((0, 0), (10, 10), (30, 20))
SITTING = (0, 10, 20, 40, 80)
QUESTIONS, GATE, AHEAD = 40, 0.05, 20
F3, PACE = parse("f3"), Pace()
Night = dict[str, str]  # by question, the run whose answer it is


@dataclass
class World:
    """Some questions of a collection, what people said of its runs, and which nuggets each answer has."""

    source: Collection
    qids: list[str]
    has: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: Collection, questions: int, rng: random.Random, named: str = "") -> World:
        qids = sorted(question.qid for question in source.key.questions)
        world = cls(source, sorted(rng.sample(qids, min(questions, len(qids)))))
        yes: dict[tuple[str, str], set[str]] = {}
        for one in source.judgements:
            if one.verdict:
                yes.setdefault((one.qid, verdict_form(one.text)), set()).add(one.nugget)
        world.yes = yes
        for name in source.run_names:
            for qid in world.qids:
                texts = world.texts(name, qid)
                if texts:
                    found = [yes.get((qid, verdict_form(text)), set()) for text in texts]
                    world.has[name, qid] = frozenset(set().union(*found))
        runs = [
            name
            for name in source.run_names
            if re.search(named, name) and sum((name, qid) in world.has for qid in world.qids) >= 0.85 * len(world.qids)
        ]
        world.runs = runs
        world.qids = [qid for qid in world.qids if all((name, qid) in world.has for name in runs)]
        return world

    yes: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)

    def texts(self, run: str, qid: str) -> Sequence[str]:
        own, place = self.source.run(run), self.source.key.position[qid]
        return own.texts[slice(*own.offsets[place : place + 2])]

    @cached_property
    def collection(self) -> Collection:
        """The key alone, without runs and verdicts."""
        key, wanted = self.source.key, set(self.qids)
        nuggets = [
            {"qid": n.qid, "nugget": n.nugget, "descriptions": list(n.descriptions), "importance": n.importance}
            | ({} if n.weight is None else {"weight": n.weight})
            for n in key.nuggets
            if n.qid in wanted
        ]
        questions = [{"qid": q.qid, "text": q.text} for q in key.questions if q.qid in wanted]
        return make_collection(nuggets, questions=questions)

    def run(self, name: str, night: Night) -> Run:
        rows = [{"qid": qid, "text": text} for qid, run in sorted(night.items()) for text in self.texts(run, qid)]
        return make_run(self.collection, name, rows)

    def verdicts(self, name: str, night: Night) -> Iterator[Judgement]:
        """All verdicts on the answers of a night."""
        nuggets: dict[str, list[str]] = {}
        for nugget in self.collection.key.nuggets:
            nuggets.setdefault(nugget.qid, []).append(nugget.nugget)
        for qid, run in night.items():
            text, found = "\n".join(self.texts(run, qid)), self.has[run, qid]
            single = len(self.texts(run, qid)) == 1
            for nugget in nuggets[qid]:
                scope: Any = "response" if single else "answer"
                yield Judgement(qid, nugget, text, nugget in found, run=name, scope=scope)

    def truth(self, name: str, night: Night) -> float:
        known = replace(self.collection, judgements=tuple(self.verdicts(name, night)))
        scorer = Scorer(known, ["f3"])
        return float(scorer.score(scorer.read(self.run(name, night))).measures["f3"].value or 0.0)

    def next_night(self, old: Night, kind: str, rng: random.Random) -> Night:
        new, letter, number = dict(old), kind[0], int(kind[1:])
        some = rng.sample(self.qids, round(len(self.qids) * number / 100)) if letter in "SXR" else []
        if letter == "S":
            other = rng.choice([run for run in self.runs if any(old[qid] != run for qid in self.qids)])
            return {**new, **dict.fromkeys(some, other)}
        for qid in some:
            others = [run for run in self.runs if self.texts(run, qid) != self.texts(old[qid], qid)]
            if letter == "R":
                gap = {run: len(self.has[run, qid] ^ self.has[old[qid], qid]) for run in others}
                others = [run for run in others if gap[run] == min(gap.values())]
            if others:
                new[qid] = rng.choice(others)
        if letter in "WB":
            goal, share = number / 100 * (1 if letter == "B" else -1), self._share
            for qid in rng.sample(self.qids, len(self.qids)):
                if abs(sum(share(new[q], q) - share(old[q], q) for q in self.qids)) / len(self.qids) >= abs(goal):
                    break
                tried = [*rng.sample(self.runs, min(4, len(self.runs))), old[qid]]
                new[qid] = (max if goal > 0 else min)(tried, key=lambda run: share(run, qid))
        return new

    def _share(self, run: str, qid: str) -> float:
        own = slice(*self.collection.key.offsets[self.collection.key.position[qid] :][:2])
        return len(self.has[run, qid]) / (own.stop - own.start)


@dataclass
class Reader:
    """Answers what `judge` asks, truthfully, and takes time for it. The lots of answers belong to the seed."""

    world: World
    seed: int = 0
    said: list[Judgement] = field(default_factory=list)

    def scorer(self) -> Scorer:
        return Scorer(replace(self.world.collection, judgements=tuple(self.said)), ["f3"], seed=self.seed)

    def sit(self, minutes: float, runs: Sequence[tuple[Run, Night]]) -> None:
        """Read about the first run, or about its difference from the second."""
        left, lying = 60 * minutes, None
        while left > 0:
            scorer = self.scorer()
            matched = [scorer.read(run) for run, _ in runs]
            asked = list(_ahead(ReadingOrder(scorer, matched[0], F3, *matched[1:])))
            if not asked:
                return
            for one in asked:
                left, lying = (
                    left - self._judge(scorer, one, matched, runs, lying),
                    (one.run, scorer.key.question[one.nugget]),
                )
                if left <= 0:
                    break

    def _judge(
        self,
        scorer: Scorer,
        one: Suggestion,
        matched: Sequence[MatchedRun],
        runs: Sequence[tuple[Run, Night]],
        lying: Any,
    ) -> float:
        nugget, (run, night) = scorer.key.nuggets[one.nugget], runs[one.run]
        place = int(scorer.key.question[one.nugget])
        text = run.texts[one.response] if one.scope == "response" else run.answer(place)
        found = self.world.has[night[nugget.qid], nugget.qid]
        self.said.append(
            Judgement(nugget.qid, nugget.nugget, text, nugget.nugget in found, run=run.name, scope=one.scope)
        )
        seconds = PACE.decision(nugget.descriptions[0])
        if lying != (one.run, place):
            seconds += PACE.reading(text)
        if lying is None or lying[1] != place:
            seconds += PACE.reading(scorer.key.questions[place].text)
        return seconds


def _ahead(order: ReadingOrder) -> Iterator[Suggestion]:
    given = 0
    for card in order.cards:
        if given >= AHEAD:
            return
        yield from card.suggestions
        given += len(card.suggestions)


@dataclass(frozen=True)
class Row:
    kind: str
    truth: float
    interval: Interval
    decision: Decision
    believed: float
    listed: list[
        tuple[float, bool]
    ]  # the changes that are listed as gained or lost: how sure, and whether they are true
    changes: int  # nuggets that were really gained or lost


@dataclass
class Chain:
    """A first night of one system and one more of each kind, with the truth of each. A judge may have read them all."""

    world: World
    runs: list[Run]
    nights: list[Night]
    truth: list[float]
    believed: list[float]

    @classmethod
    def of(
        cls,
        collection: Collection,
        first: str | float,
        seed: int,
        judge: Sequence[float] = (),
        named: str = "",
        questions: int = QUESTIONS,
    ) -> Chain:
        """The first night is a run, or the first (0), the middle (1) or the last (2) of those that answer nearly
        everything."""
        rng = random.Random(seed)
        world = World.of(collection, questions, rng, named)
        start = first if isinstance(first, str) else world.runs[round(first * (len(world.runs) - 1) / 2)]
        nights = [dict.fromkeys(world.qids, start)]
        for kind in KINDS:
            nights.append(world.next_night(nights[-1], kind, rng))
        runs = [world.run(f"night-{i}", night) for i, night in enumerate(nights)]
        truth = [world.truth(run.name, night) for run, night in zip(runs, nights, strict=True)]
        believed = [0.0] * len(runs)
        if judge:
            machine = list(_machine(world, runs, nights, judge))
            as_read = replace(
                world.collection, judgements=tuple(structs.replace(one, machine=False) for one in machine)
            )
            scorer = Scorer(as_read, ["f3"])
            believed = [float(scorer.score(scorer.read(run)).measures["f3"].value or 0.0) for run in runs]
            match = replace(world.collection.settings.match, judges=("machine",))
            settings = replace(world.collection.settings, match=match)
            world.collection = replace(world.collection, machine=tuple(machine), settings=settings)
        return cls(world, runs, nights, truth, believed)


def play(
    collection: Collection,
    first: str | int,
    seed: int,
    minutes: tuple[float, float],
    judge: Sequence[float],
    named: str,
    questions: int = QUESTIONS,
) -> list[Row]:
    """The changes of a chain of nights, after so many minutes of reading."""
    chain = Chain.of(collection, first, seed, judge, named, questions)
    reader, rows = Reader(chain.world), list[Row]()
    if minutes[0]:
        reader.sit(minutes[0], [(chain.runs[0], chain.nights[0])])
    for i, kind in enumerate(KINDS, 1):
        pair = [(chain.runs[i], chain.nights[i]), (chain.runs[i - 1], chain.nights[i - 1])]
        if minutes[1]:
            reader.sit(minutes[1], pair)
        scorer = reader.scorer()
        new, old = (scorer.read(run) for run, _ in pair)
        found = diff_matched_runs(scorer, old, new)
        truth, believed = (values[i] - values[i - 1] for values in (chain.truth, chain.believed))
        decision = rule(found, GATE).decision
        rows.append(Row(kind, truth, found.headline.interval, decision, believed, *_listed(chain, i, found)))
    return rows


def forecasts(
    collection: Collection, first: str | int, seed: int, minutes: tuple[float, float]
) -> list[tuple[float | None, bool, bool]]:
    """Of each undecided night of a chain: the minutes that are named, and whether the gate is decided after so many,
    and after half as many more."""
    chain, rows = Chain.of(collection, first, seed), list[tuple[float | None, bool, bool]]()
    reader = Reader(chain.world)
    reader.sit(minutes[0], [(chain.runs[0], chain.nights[0])])
    for i in range(1, len(chain.runs)):
        pair = [(chain.runs[i], chain.nights[i]), (chain.runs[i - 1], chain.nights[i - 1])]
        if not _decided(reader, pair):
            scorer = reader.scorer()
            named = _order(scorer, pair).forecast().minutes_to_decide(-GATE)
            after = []
            if named is not None:
                ahead = Reader(reader.world, reader.seed, list(reader.said))
                for more in (named, named / 2):
                    ahead.sit(more, pair)
                    after.append(_decided(ahead, pair))
            rows.append((named, *(after or [False, False])))
        reader.sit(minutes[1], pair)
    return rows


def _order(scorer: Scorer, pair: Sequence[tuple[Run, Night]]) -> ReadingOrder:
    new, old = (scorer.read(run) for run, _ in pair)
    return ReadingOrder(scorer, new, F3, old)


def _decided(reader: Reader, pair: Sequence[tuple[Run, Night]]) -> bool:
    scorer = reader.scorer()
    new, old = (scorer.read(run) for run, _ in pair)
    below = change_of(scorer, old, new, F3).chance_below(-GATE)
    return below is not None and max(below, 1 - below) >= SURE


def _listed(chain: Chain, night: int, found: Diff) -> tuple[list[tuple[float, bool]], int]:
    real: dict[str, set[tuple[str, str]]] = {"gained": set(), "lost": set()}
    for qid in chain.world.qids:
        after, before = (chain.world.has[chain.nights[at][qid], qid] for at in (night, night - 1))
        real["gained"] |= {(qid, nugget) for nugget in after - before}
        real["lost"] |= {(qid, nugget) for nugget in before - after}
    listed = [
        (one.probability or 0.0, (one.question.qid, one.nugget.nugget) in real[one.kind])
        for one in (*found.gained, *found.lost)
    ]
    return listed, len(real["gained"] | real["lost"])


def _machine(world: World, runs: Sequence[Run], nights: Sequence[Night], right: Sequence[float]) -> Iterable[Judgement]:
    """A judge's verdicts on all answers: the same on the same answer."""
    for run, night in zip(runs, nights, strict=True):
        for one in world.verdicts(run.name, night):
            luck = random.Random(f"{one.qid}|{one.nugget}|{verdict_form(one.text)}").random()
            said = one.verdict == (luck < right[0 if one.verdict else 1])
            yield structs.replace(one, verdict=said, machine=True, assessor="machine")


def sitting(collection: Collection, run: str, seed: int) -> list[tuple[float, Interval]]:
    world = World.of(collection, 100, random.Random(seed))
    night = dict.fromkeys([qid for qid in world.qids if (run, qid) in world.has], run)
    made, reader, spent, rows = world.run(run, night), Reader(world), 0.0, []
    truth = world.truth(run, night)
    for minutes in SITTING:
        reader.sit(minutes - spent, [(made, night)])
        spent = minutes
        scorer = reader.scorer()
        rows.append((truth, scorer.score(scorer.read(made)).measures["f3"]))
    return rows


def summary(truth: np.ndarray, intervals: Sequence[Interval]) -> str:
    value = np.array([one.value for one in intervals], dtype=float)
    low, high = np.array([one.judging or (one.value, one.value) for one in intervals], dtype=float).T
    held = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    return f"{np.sqrt(((value - truth) ** 2).mean()):.4f} | {held.mean():.2f} | {(high - low).mean():.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("collections", nargs="+", type=Path)
    parser.add_argument("--first", default="")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--judge", default="")
    parser.add_argument("--sittings", action="store_true")
    parser.add_argument("--forecasts", action="store_true")
    parser.add_argument("--runs", default="")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--minutes", type=_minutes, default=MINUTES)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=given.jobs)
    judge = [float(part) for part in given.judge.split(",")] if given.judge else []
    if given.forecasts:
        print("| collection | minutes | undecided | minutes are named | decided by then | after 1.5 times as many |")
        print("|---|---|---|---|---|---|")
    elif given.sittings:
        print("| collection | minutes | rmse of F(3) | held | width |\n|---|---|---|---|---|")
    else:
        print(
            "| collection | minutes | nights | rmse | held | width | rmse, not R | width, R | right | wrong | "
            "believed |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|")
    lists: list[str] = []
    for path in given.collections:
        if given.sittings:
            names = read_collection(path).run_names
            chosen = names[:: max(1, len(names) // 12)]
            played = parallel(delayed(_sitting)(path, run, seed) for seed in range(given.draws) for run in chosen)
            for i, minutes in enumerate(SITTING):
                rows = [rows[i] for rows in played]
                line = summary(np.array([row[0] for row in rows]), [row[1] for row in rows])
                print(f"| {path.name} | {minutes} | {line} |", flush=True)
            continue
        firsts = given.first.split(",") if given.first else [0, 1, 2]
        if given.forecasts:
            for minutes in given.minutes:
                told = parallel(
                    delayed(_forecasts)(path, first, seed, minutes) for first in firsts for seed in range(given.draws)
                )
                line = _of_forecasts([row for chain in told for row in chain])
                print(f"| {path.name} | {minutes[0]:g} + {minutes[1]:g} | {line} |", flush=True)
            continue
        for minutes in given.minutes:
            parts = parallel(
                delayed(_play)(path, first, seed, minutes, judge, given.runs, given.questions)
                for first in firsts
                for seed in range(given.draws)
            )
            rows_of_all = [row for part in parts for row in part]
            print(f"| {path.name} | {minutes[0]:g} + {minutes[1]:g} | {_line(rows_of_all)} |", flush=True)
            lists.append(f"| {path.name} | {minutes[0]:g} + {minutes[1]:g} | {_fifths(rows_of_all)} |")
    if not lists:
        return
    print(
        "\n| collection | minutes | of all changes | the least sure fifth: said | true | 2nd | | 3rd | | 4th | |"
        " the surest | |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    )
    print("\n".join(lists))


def _minutes(text: str) -> list[tuple[float, float]]:
    """From `30+0,10+10`: those of the first night, and of each morning after."""
    pairs = (part.split("+") for part in text.split(","))
    return [(float(first), float(each)) for first, each in pairs]


def _play(
    path: Path,
    first: str | int,
    seed: int,
    minutes: tuple[float, float],
    judge: Sequence[float],
    named: str,
    questions: int,
) -> list[Row]:
    prior.leave_out(path.name)
    return play(read_collection(path), first, seed, minutes, judge, named, questions)


def _forecasts(path: Path, first: str | int, seed: int, minutes: tuple[float, float]) -> Any:
    prior.leave_out(path.name)
    return forecasts(read_collection(path), first, seed, minutes)


def _of_forecasts(rows: Sequence[tuple[float | None, bool, bool]]) -> str:
    named = [row for row in rows if row[0] is not None]
    shares = (f"{np.mean([row[i] for row in named]):.2f}" if named else "–" for i in (1, 2))
    return f"{len(rows)} | {len(named)} | {' | '.join(shares)}"


def _sitting(path: Path, run: str, seed: int) -> list[tuple[float, Interval]]:
    prior.leave_out(path.name)
    return sitting(read_collection(path), run, seed)


def _fifths(rows: Sequence[Row]) -> str:
    """The share of all real changes that is listed; and of the listed changes that nobody knows, in fifths by how sure
    they are said to be: how sure, and how many are real."""
    listed = [one for row in rows for one in row.listed]
    recall = sum(real for _, real in listed) / max(sum(row.changes for row in rows), 1)
    guessed = np.array(sorted(one for one in listed if one[0] < 1.0), dtype=float).reshape(-1, 2)
    parts = np.array_split(guessed, 5)
    return f"{recall:.2f} | " + " | ".join(
        f"{own[:, 0].mean():.2f} | {own[:, 1].mean():.2f}" if len(own) > 9 else "– | –" for own in parts
    )


def _line(rows: Sequence[Row]) -> str:
    truth = np.array([row.truth for row in rows])
    other = [row for row in rows if row.kind[0] != "R"]
    same = [row for row in rows if row.kind[0] == "R"]
    should = np.where(truth < -GATE, "FAIL", "PASS")
    decided = np.array([row.decision for row in rows])
    wrong = (decided != "UNDECIDED") & (decided != should)
    believed = np.sqrt(((np.array([row.believed for row in rows]) - truth) ** 2).mean())
    others = summary(np.array([row.truth for row in other]), [row.interval for row in other]).split(" | ")[0]
    width = summary(np.array([row.truth for row in same]), [row.interval for row in same]).split(" | ")[2]
    judged = f"{believed:.4f}" if any(row.believed for row in rows) else "–"
    shares = f"{(decided == should).mean():.2f} | {wrong.mean():.3f}"
    return f"{len(rows)} | {summary(truth, [row.interval for row in rows])} | {others} | {width} | {shares} | {judged}"


if __name__ == "__main__":
    import nights  # by its name, so that workers find it

    nights.main()
