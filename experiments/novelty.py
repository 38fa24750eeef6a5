"""How much of a judge's label is new beside the words and people's verdicts: python experiments/novelty.py SUMMHAY

SummHay's six runs and six LLM judges. People's verdicts are those on the other runs (*all*), or so many of these, drawn
at random. The tool guesses a run without the judge. Then a judge's label adds γ times the logarithm of its likelihood
ratio to the log odds, and something for the level; both are fitted. γ would be 1 if judges erred independently of the
words, given the truth. `nuggeteer/asking/worth.py` goes by a curve through these means.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from asking import JUDGE, Judge, checked, hidden, read_judges
from scipy.optimize import minimize
from scipy.special import log_expit, logit

from nuggeteer.asking.order import OpenNuggets, order_calls
from nuggeteer.asking.prompts import find_prompt
from nuggeteer.asking.worth import Worth, novelty
from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching.panel import Panel
from nuggeteer.records import Bools, Ints, Vector
from nuggeteer.scoring.known import UNKNOWN, YES, VerdictIndex
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import judge_files
from nuggeteer.thresholds.smooth import SmoothFit

AMOUNTS = (0, 30, 100, None)  # human verdicts; None: all on the other runs
WIDTHS = (30, 100, None)


def judged(collection: Collection, target: str, amount: int | None, seed: int) -> Collection:
    """The collection with so many of people's verdicts, none of them on the target."""
    others = [name for name in collection.run_names if name != target]
    if amount is None:
        return hidden(collection, target, others)
    own = [one for one in collection.judgements if collection.owner(one) != target]
    drawn = np.random.default_rng(seed).choice(len(own), amount, replace=False)
    manifest = {name: replace(info, judged="none") for name, info in collection.manifest.items()}
    rest = replace(collection, judgements=tuple(own[i] for i in sorted(drawn.tolist())), manifest=manifest)
    rest._runs.update(collection._runs)
    return rest


def guesses(
    collection: Collection, amount: int | None, judges: dict[str, Judge]
) -> tuple[Vector, Bools, dict[str, Ints], float]:
    """P(yes) of the pairs of all runs, each as the target; the truth; each judge's labels, −1 if it has none; and the
    verdicts for each nugget."""
    truth = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    chance, yes, verdicts = [], [], []
    labels: dict[str, list[int]] = {name: [] for name in judges}
    for seed, target in enumerate(collection.run_names):
        scorer = Scorer(judged(collection, target, amount, seed), ["f3"])
        assert isinstance(scorer.model, SmoothFit)
        matched = scorer.read(target)
        states = truth(matched.run.normalised_texts, matched.run.question)
        which = np.flatnonzero(matched.guessed & (states != UNKNOWN))
        chance.append(matched.probability(scorer.model, which))
        yes.append(states[which] == YES)
        verdicts.append(scorer.model.pairs / len(collection.key.nuggets))
        response = np.searchsorted(matched.begin, which, side="right") - 1
        for nugget, row in zip(matched.pairs.nugget[which].tolist(), response.tolist(), strict=True):
            one = collection.key.nuggets[nugget]
            for name, judge in judges.items():
                label = judge(one.qid, one.nugget, matched.run.texts[row])
                labels[name].append(-1 if label is None else label)
    codes = {name: np.array(own) for name, own in labels.items()}
    return np.concatenate(chance), np.concatenate(yes), codes, float(np.mean(verdicts))


def new_part(chance: Vector, yes: Bools, label: Ints) -> float:
    """γ of a judge."""
    said = label >= 0
    no, has = Worth.learned(label[said], yes[said]).rates
    odds, ratio = logit(chance[said].clip(1e-6, 1 - 1e-6)), np.log(has / no)[label[said]]

    def loss(x: Vector) -> float:
        value = odds + x[0] * ratio + x[1]
        return -float(log_expit(np.where(yes[said], value, -value)).sum())

    return float(minimize(loss, [1.0, 0.0]).x[0])


def explained(chance: Vector, yes: Bools, label: Ints, new: float) -> float:
    """The share of the pairs' variance that labels are expected to take away."""
    said = label >= 0
    variance = chance * (1 - chance)
    worth = replace(Worth.learned(label[said], yes[said]), novelty=new)
    return float((worth.explained(chance) * variance).sum() / variance.sum())


def widths(collection: Collection, folder: Path, name: str, judge: Judge, amount: int | None) -> Vector:
    """The judging part of F(3) before, as promised after all calls, and as it then is: means over the runs."""
    found = []
    for seed, target in enumerate(collection.run_names):
        rest = judged(collection, target, amount, seed)
        others = [run for run in rest.run_names if run != target]
        scorer = Scorer(rest, ["f3"])
        matched = scorer.read(target)
        open_ = OpenNuggets.find(scorer, matched, scorer.measures[0])
        worth = checked(rest, scorer, others, judge)
        ordered = order_calls(rest.key, [matched], open_, worth, JUDGE, find_prompt("assign-1"))
        match = replace(rest.settings.match, judges=judge_files(folder / "judges", [f"{name}.jsonl"]))
        with_judge = replace(rest, settings=replace(rest.settings, match=match))
        with_judge._runs.update(collection._runs)
        heard = Scorer(with_judge, ["f3"])
        assert isinstance(heard.matcher, Panel)
        judging = heard.score(heard.read(target)).measures["f3"].judging
        assert judging is not None
        found.append([open_.width, ordered.width[-1], judging[1] - judging[0]])
    return np.asarray(np.mean(found, axis=0))


def main() -> None:
    folder = Path(sys.argv[1])
    collection, judges = read_collection(folder), read_judges(folder)
    print("# How much of a judge's label is new\n")
    print("`python experiments/novelty.py SUMMHAY`\n")
    print((__doc__ or "").split("\n\n", 1)[1])
    print("*Explained*: the share of the variance of single verdicts that the labels take away, if γ is 1, and with")
    print("the γ of the curve; means over the judges.\n")
    print("| human verdicts | for each nugget | γ, mean | least | most | curve | explained, γ = 1 | curve |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for amount in AMOUNTS:
        chance, yes, labels, verdicts = guesses(collection, amount, judges)
        parts = [new_part(chance, yes, label) for label in labels.values()]
        taken = [
            np.mean([explained(chance, yes, label, new) for label in labels.values()])
            for new in (1.0, novelty(verdicts))
        ]
        print(
            f"| {'all' if amount is None else amount} | {verdicts:.2f} | {np.mean(parts):.2f} | {min(parts):.2f} | "
            f"{max(parts):.2f} | {novelty(verdicts):.2f} | {taken[0]:.2f} | {taken[1]:.2f} |",
            flush=True,
        )
    print("\n## What is promised and what comes\n")
    print("The width of the judging part of F(3): before the calls, as `ask` expects it after all calls, and as")
    print("`score` shows it with the judge's verdicts. Means over the six runs.\n")
    print("| human verdicts | judge | before | expected | then |\n|---|---|--:|--:|--:|")
    for amount in WIDTHS:
        for name, judge in judges.items():
            before, expected, then = widths(collection, folder, name, judge, amount)
            title = "all" if amount is None else amount
            print(f"| {title} | {name} | {before:.3f} | {expected:.3f} | {then:.3f} |", flush=True)


if __name__ == "__main__":
    main()
