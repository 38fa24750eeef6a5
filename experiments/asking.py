"""What share of the calls to a judge is enough: python experiments/asking.py SUMMHAY REALSUMM > experiments/asking.md

Each run in turn is tonight's: nobody has judged it. On SummHay people have judged the other runs, and the six LLM
judges really said what they say. On REALSumm people have judged three other systems, and a judge is simulated, with the
mean error rates of the six. Its worth is learned from the runs that people have judged.

A call is one answer with at most ten nuggets. Calls are made in the order of `nuggeteer ask`, or in a random order (the
mean of 20). *Same width*: the share of the calls after which the judging part of F(3) is at most 1 % of its first width
wider than after all calls; where that is expected, `ask` stops. *Nine tenths*: after which nine tenths of the narrowing
are reached. The widths use the labels that the judge really gave, and count the doubt about its error rates. They
follow from what `ask` plans with (asking/narrowing.py), not from the intervals of `score`, which another model makes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import structs

from nuggeteer.asking.calls import Call
from nuggeteer.asking.narrowing import DEVIATIONS, NO_GAIN, OpenNuggets, order_calls, remaining_variance, source_of
from nuggeteer.asking.prompts import find_prompt
from nuggeteer.asking.replies import LABELS
from nuggeteer.asking.worth import Worth, novelty
from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.judging.audits.estimate import NuggetState
from nuggeteer.records import Vector
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import JudgeSettings
from nuggeteer.text import verdict_form
from nuggeteer.thresholds.smooth import SmoothFit

JUDGE = JudgeSettings("judge", "http://127.0.0.1", "model", input_price=1, output_price=4)
SHUFFLES = 20
OTHERS = 3  # systems of REALSumm that people have judged
TARGETS = 8  # systems of REALSumm that are tonight's in turn
Judge = Callable[[str, str, str], int | None]  # the label of a nugget in an answer: qid, nugget, answer


def rates_of(collection: Collection, judges: dict[str, Judge]) -> Vector:
    """judges × (no, yes) × labels: how often each gives which label."""
    counts = np.zeros((len(judges), 2, len(LABELS)))
    for judgement in collection.judgements:
        for place, judge in enumerate(judges.values()):
            label = judge(judgement.qid, judgement.nugget, judgement.text)
            if label is not None:
                counts[place, int(judgement.verdict), label] += 1
    return np.asarray(counts / counts.sum(axis=2, keepdims=True))


def prior_of(rates: Vector) -> Vector:
    """Dirichlet counts with the mean of the judges' rates, worth as many verdicts as the spread between them says."""
    mean = rates.mean(axis=0)
    variance = rates.var(axis=0, ddof=1)
    size = (mean * (1 - mean)).sum(axis=1) / variance.sum(axis=1) - 1
    return np.asarray(mean * size[:, None])


def read_judges(folder: Path) -> dict[str, Judge]:
    found: dict[str, Judge] = {}
    for path in sorted((folder / "judges").glob("*.jsonl")):
        said = {
            (line["qid"], line["nugget"], verdict_form(line["text"])): LABELS.index(line["assignment"])
            for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        }
        found[path.stem] = partial(look_up, said)
    return found


def look_up(said: dict[tuple[str, str, str], int], qid: str, nugget: str, text: str) -> int | None:
    return said.get((qid, nugget, verdict_form(text)))


def hidden(collection: Collection, target: str, judged: list[str]) -> Collection:
    """The collection as if people had judged these runs only."""
    texts = {
        (collection.key.questions[question].qid, verdict_form(text))
        for name in judged
        for run in [collection.run(name)]
        for question, text in zip(run.question.tolist(), run.texts, strict=True)
    }
    kept = tuple(
        one
        for one in collection.judgements
        if collection.owner(one) != target and (one.qid, verdict_form(one.text)) in texts
    )
    manifest = {
        name: info if name in judged else structs.replace(info, judged="none")
        for name, info in collection.manifest.items()
    }
    rest = replace(collection, judgements=kept, manifest=manifest)
    rest._runs.update(collection._runs)
    return rest


@dataclass(frozen=True)
class Night:
    """What asking about one run brings: after how many calls the width is that of all, and nine tenths are reached; in
    order and at random."""

    calls: int
    same: tuple[int, float]
    most: tuple[int, float]
    width: tuple[float, float, float]  # before, after enough calls, after all


def labels_of(calls: list[Call], judge: Judge) -> list[int | None]:
    return [judge(call.question.qid, nugget.nugget, call.text) for call in calls for nugget in call.nuggets]


def checked(collection: Collection, scorer: Scorer, judged: list[str], judge: Judge) -> Worth:
    """What the judge is worth, by the answers of these runs."""
    labels, truth = [], []
    for run in (collection.run(name) for name in judged):
        state = NuggetState.of(scorer.read(run), collection.key)
        for position in np.flatnonzero(~state.open_).tolist():
            nugget, answer = collection.key.nuggets[position], run.answer(int(collection.key.question[position]))
            label = judge(nugget.qid, nugget.nugget, answer) if answer.strip() else None
            if label is not None:
                labels.append(label)
                truth.append(bool(state.found[position]))
    assert isinstance(scorer.model, SmoothFit)
    new = novelty(scorer.model.pairs / len(collection.key.nuggets))
    return Worth.learned(np.array(labels), np.array(truth, dtype=bool), new)


def ask(collection: Collection, target: str, judged: list[str], judge: Judge) -> Night | None:
    rest = hidden(collection, target, judged)
    scorer = Scorer(rest, ["f3"])
    worth = checked(rest, scorer, judged, judge)
    matched = scorer.read(target)
    open_ = OpenNuggets.find(scorer, matched, scorer.measures[0])
    ordered = order_calls(rest.key, [matched], open_, worth, JUDGE, find_prompt("assign-1"))
    if not ordered.calls:
        return None
    members = source_of("judge", rest.key, open_, ordered, worth).members
    labels, flat = labels_of(ordered.calls, judge), np.concatenate(members)
    answered = np.array([label is not None for label in labels])
    p = open_.probability
    after = p.copy()
    after[flat[answered]] = worth.posterior(p)[flat[answered], [label for label in labels if label is not None]]
    gain = open_.share * open_.variance * (1 - after * (1 - after) / (p * (1 - p)))
    gain[flat[~answered]] = 0
    sways = worth.sways(open_.weight, p)

    def widths(order: list[int]) -> Vector:
        """The width after each call."""
        taken = np.cumsum([0.0, *(gain[members[i]].sum() for i in order)]).clip(0, None)
        doubt = worth.doubt(np.cumsum([np.zeros((2, 3)), *(sways[members[i]].sum(axis=0) for i in order)], axis=0))
        return DEVIATIONS * np.sqrt(remaining_variance(open_.variance, taken, doubt))

    def needed(found: Vector) -> tuple[int, int]:
        limits = found[-1] + NO_GAIN * found[0], found[-1] + 0.1 * (found[0] - found[-1])
        return int(np.argmax(found <= limits[0])), int(np.argmax(found <= limits[1]))

    count = len(ordered.calls)
    found = widths(list(range(count)))
    rng = np.random.default_rng(0)
    same, most = needed(found)
    others = np.mean([needed(widths(rng.permutation(count).tolist())) for _ in range(SHUFFLES)], axis=0)
    width = (float(found[0]), float(found[same]), float(found[-1]))
    return Night(count, (same, float(others[0])), (most, float(others[1])), width)


def row(title: str, nights: list[Night]) -> str:
    calls = sum(night.calls for night in nights)
    shares = [sum(night.same[i] for night in nights) / calls for i in (0, 1)]
    shares += [sum(night.most[i] for night in nights) / calls for i in (0, 1)]
    width = np.mean([night.width for night in nights], axis=0)
    figures = " / ".join(f"{value:.3f}" for value in width)
    return f"| {title} | {calls} | {' | '.join(f'{100 * share:.0f} %' for share in shares)} | {figures} |"


def simulated(collection: Collection, rates: Vector) -> Judge:
    """A judge with these rates of error, on answers of a collection of which everything is known."""
    rng = np.random.default_rng(1)
    yes = {(one.qid, one.nugget, verdict_form(one.text)) for one in collection.judgements if one.verdict}
    said: dict[tuple[str, str, str], int] = {}

    def judge(qid: str, nugget: str, text: str) -> int:
        pair = qid, nugget, verdict_form(text)
        if pair not in said:
            said[pair] = int(rng.choice(len(LABELS), p=rates[int(pair in yes)]))
        return said[pair]

    return judge


def main() -> None:
    summhay, realsumm = map(Path, sys.argv[1:3])
    first = read_collection(summhay)
    judges = read_judges(summhay)
    rates = rates_of(first, judges)
    print("# What share of the calls is enough\n")
    print("`python experiments/asking.py SUMMHAY REALSUMM`\n")
    print((__doc__ or "").split("\n\n", 1)[1])
    print(
        "| judge | calls | same width: in order | at random | nine tenths: in order | at random "
        "| width before / then / all |"
    )
    print("|---|---|---|---|---|---|---|")
    names = list(first.run_names)
    for name, judge in judges.items():
        nights = [ask(first, run, [other for other in names if other != run], judge) for run in names]
        print(row(f"SummHay, {name}", [night for night in nights if night]), flush=True)
    second = read_collection(realsumm)
    names = list(second.run_names)
    targets = names[:: len(names) // TARGETS][:TARGETS]
    judge = simulated(second, rates.mean(axis=0))
    nights = []
    for place, run in enumerate(targets):
        judged = [other for other in names[place + 1 :] + names[:place] if other != run][:OTHERS]
        nights.append(ask(second, run, judged, judge))
    print(row("REALSumm, simulated", [night for night in nights if night]), flush=True)
    print("\nThe prior of a judge's worth (`asking/worth.py`), from the six judges:\n")
    for title, counts in zip(("no", "yes"), prior_of(rates), strict=True):
        print(f"- {title}: " + ", ".join(f"{label} {count:.2f}" for label, count in zip(LABELS, counts, strict=True)))


if __name__ == "__main__":
    main()
