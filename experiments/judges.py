"""What verdicts of language models are worth beside the words, and what is believed of a judge that nobody checked.

    python experiments/judges.py SUMMHAY > experiments/judges.md

SUMMHAY has six judges' verdicts in `judges/`. Their weights are fitted with the smooth model, each judge alone and with
nearly no prior, and make `nuggeteer/thresholds/judge_weights.py`, which this writes. Then the judges are tried. The
belief of a judge is then what the *other* five teach.

Tried are: all human verdicts of other runs (a run is left out), 30 human verdicts in all, and none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
from scipy.special import logit, ndtri, stdtrit

from nuggeteer.collection.folder import Collection, read_collection
from nuggeteer.matching.base import Matcher
from nuggeteer.matching.choice import make
from nuggeteer.matching.panel import Panel
from nuggeteer.measures.base import per_question
from nuggeteer.records import Vector
from nuggeteer.scoring.drawing import VerdictNoise
from nuggeteer.scoring.fitting import gather_evidence, judges_verdicts, prior_of, weights_in_recall
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.scoring.matched_run import carry_over, read
from nuggeteer.scoring.outcomes import find
from nuggeteer.scoring.scorer import material
from nuggeteer.settings import judge_files
from nuggeteer.statistics.intervals import DRAWS
from nuggeteer.thresholds.curve import COEFFICIENTS
from nuggeteer.thresholds.judges import BELIEF, JudgeBelief
from nuggeteer.thresholds.learning import fit_smooth
from nuggeteer.thresholds.prior import FITS
from nuggeteer.thresholds.smooth import SmoothFit
from nuggeteer.trust.crossval import RunGuess, guessed_answers, guessed_pairs, guessed_recall, without
from nuggeteer.trust.quality import Guesses, quality

MODULE = Path(__file__).parent.parent / "nuggeteer" / "thresholds" / "judge_weights.py"
NOTHING = JudgeBelief(0.0, 10.0, 0.0, 0.0, 0.0, 100.0)
ALL = 6  # judges
FEW, TIMES = 30, 10
SEEN = (0.1, 0.5)  # match scores whose distance in log odds says what words are worth in a collection


def main() -> None:
    collection = read_collection(sys.argv[1])
    files = sorted(path.name for path in (collection.root / "judges").glob("*.jsonl"))
    names = [file.removesuffix(".jsonl") for file in files]
    single = [fitted(heard(collection, [file]), NOTHING) for file in files]
    everything = fitted(heard(collection, files), NOTHING)
    belief = learned(single, everything)
    MODULE.write_text(module(belief), encoding="utf-8")
    print("# Judges beside the words\n")
    print("`python experiments/judges.py SUMMHAY`. SummHay: 661 pairs, six runs, people's verdicts.\n")
    print("## What six judges are worth\n")
    print("Fitted with words, lengths, nuggets, questions and systems, each judge alone, with nearly no prior.")
    print("A judge's clue is its score (yes 1, partly ½, no 0) less the mean of its scores.\n")
    print("| judge | log odds a unit | ± | its share of yes | people's |\n|---|--:|--:|--:|--:|")
    for name, (weight, error, share, people) in zip(names, single, strict=True):
        print(f"| {name} | {weight:.2f} | {error:.2f} | {share:.2f} | {people:.2f} |")
    print(f"\nThe sum of all six clues: {everything[0]:.2f} ± {everything[1]:.2f} a unit.\n")
    print("What is believed of a judge (`nuggeteer/thresholds/judge_weights.py`):\n\n```")
    for field, value in asdict(belief).items():
        print(f"{field:20} {value:.3g}")
    print("```\n")
    others = [learned(single[:i] + single[i + 1 :], everything) for i in range(len(files))]
    print("## With people's verdicts of the other runs\n")
    print("Each run is left out in turn. *alone* is the judge's verdicts, calibrated (`external`); *as they are*, its")
    print("verdicts without any calibration; *blend*, with the words, believed as the other five judges teach.\n")
    head = "| | AP | κ | log score |\n|---|--:|--:|--:|"
    print(head)
    row("words", *left_out(collection, None))
    for name, file, other in zip(names, files, others, strict=True):
        print(f"| {name}, as it is | {raw(collection, file)} | |")
        row(f"{name}, alone", *left_out(alone(collection, file), None))
        row(f"{name}, blend", *left_out(heard(collection, [file]), other))
    row("all six, blend", *left_out(heard(collection, files), belief))
    for verdicts in (FEW, 0):
        print(f"\n## With {verdicts} human verdicts in all\n")
        times = TIMES if verdicts else 1
        print(f"Drawn {times} times. AP and κ of the guessed pairs, their means over the draws; *held*: the share of")
        print("the intervals of the six runs' recall that hold the true one, and their mean width.\n")
        print("| | AP | κ | log score | held | width |\n|---|--:|--:|--:|--:|--:|")
        if verdicts:
            row("words", *few(collection, None, verdicts, times))
        for name, file, other in zip(names, files, others, strict=True):
            if verdicts:
                row(f"{name}, alone", *few(alone(collection, file), None, verdicts, times))
            row(f"{name}, blend", *few(heard(collection, [file]), other, verdicts, times))
        row("all six, blend", *few(heard(collection, files), belief, verdicts, times))


def heard(collection: Collection, files: list[str]) -> Collection:
    judges = judge_files(collection.root / "judges", files)
    settings = collection.settings
    return like(collection, settings=replace(settings, match=replace(settings.match, judges=judges)))


def alone(collection: Collection, file: str) -> Collection:
    path = str(collection.root / "judges" / file)
    settings = collection.settings
    return like(
        collection, settings=replace(settings, match=replace(settings.match, matcher="external", external=path))
    )


def like(collection: Collection, **changes: object) -> Collection:
    result = replace(collection, **changes)  # type: ignore[arg-type]
    result._runs.update(collection._runs)
    return result


def model(collection: Collection, belief: JudgeBelief | None) -> tuple[VerdictIndex, Matcher, SmoothFit]:
    known = VerdictIndex(
        collection.key, collection.judgements, collection.judged_runs, collection.settings.answers.split
    )
    matcher = make(material(collection, known))
    prior = prior_of(collection, matcher) if belief is None else prior_of(collection, matcher, belief=belief)
    return known, matcher, fit_smooth(gather_evidence(collection, matcher, known), prior)


def fitted(collection: Collection, belief: JudgeBelief) -> tuple[float, float, float, float]:
    """The weight of the judges' clues, in sum, and its standard error; their share of yes, and people's. The weight is
    that of the scores, as if clues of several judges were not made smaller."""
    known, matcher, fit = model(collection, belief)
    assert isinstance(matcher, Panel)
    weights, covariance = fit.b[COEFFICIENTS:], fit.b_covariance[COEFFICIENTS:, COEFFICIENTS:]
    _, share = judges_verdicts(collection, matcher)
    judged = known.states >= 0
    people = float((known.states[judged] == 1).mean())
    smaller = 1 + (len(weights) - 1) * BELIEF.correlation
    return float(weights.sum()) / smaller, float(np.sqrt(covariance.sum())) / smaller, share, people


def learned(
    single: list[tuple[float, float, float, float]], everything: tuple[float, float, float, float]
) -> JudgeBelief:
    """What some judges teach of another one."""
    weights, errors, shares, people = zip(*single, strict=True)
    weight, judges = fmean(weights), len(weights)
    # So few say little of their spread and mean: a normal distribution as wide at 95 % as Student's t.
    wider = float(stdtrit(judges - 1, 0.975) / ndtri(0.975)) * np.sqrt(1 + 1 / judges)
    between = np.sqrt(max(stdev(weights) ** 2 - fmean(error**2 for error in errors), 0.0))
    worth = [b1 * (SEEN[1] ** 0.5 - SEEN[0] ** 0.5) + b2 * (SEEN[1] - SEEN[0]) for _, b1, b2, *_ in FITS.values()]
    collections = weight * stdev(worth) / fmean(worth)
    # All six together would be worth six times as much as one if their errors were independent.
    correlation = float(np.clip((ALL * weight / everything[0] - 1) / (ALL - 1), 0.0, 1.0))
    levels = [float(logit(own) - logit(share)) for own, share in zip(people, shares, strict=True)]
    spread = np.sqrt(2.0) * wider * stdev(levels)
    return JudgeBelief(weight, float(wider * between), float(collections), correlation, fmean(levels), float(spread))


def module(belief: JudgeBelief) -> str:
    lines = "".join(f'    "{field}": {value:.3g},\n' for field, value in asdict(belief).items())
    return (
        '"""What is believed of a judge that nobody checked (`judges.JudgeBelief`): learned from six of SummHay\n'
        'by `python experiments/judges.py SUMMHAY`, which writes this file."""\n\n'
        "from __future__ import annotations\n\nfrom typing import Final\n\n"
        f"JUDGES: Final[dict[str, float]] = {{\n{lines}}}\n"
    )


def row(name: str, pairs: list[Guesses], runs: list[RunGuess]) -> None:
    """One line: means over several draws of what was known."""
    found = [quality(own) for own in pairs]
    ap, kappa, score = (
        fmean(getattr(one, field) for one in found) for field in ("average_precision", "kappa", "log_score")
    )
    print(f"| {name} | {ap:.3f} | {kappa:.3f} | {score:.4f} |", end="")
    if runs:
        intervals = [(run.judging or (run.value, run.value), run.true) for run in runs]
        held = fmean(low <= true <= high for (low, high), true in intervals)
        print(f" {held:.0%} | {fmean(high - low for (low, high), _ in intervals):.2f} |", end="")
    print(flush=True)


def raw(collection: Collection, file: str) -> str:
    """Average precision and κ of a judge's verdicts as they are."""
    known, matcher, _ = model(heard(collection, [file]), NOTHING)
    assert isinstance(matcher, Panel)
    (judge,) = matcher.judges
    score = {(match.nugget, match.text): match.score for match in judge.matches}
    begin = np.repeat(np.arange(len(known.texts)), collection.key.counts[known.question])
    first = collection.key.offsets[known.question] - np.searchsorted(begin, np.arange(len(known.texts)))
    pairs = np.flatnonzero(known.states >= 0)
    scores = np.array([score[int(pair + first[begin[pair]]), known.texts[begin[pair]]] for pair in pairs])
    true = known.states[pairs] == 1
    found = quality(Guesses(true, scores == 1, np.full(len(true), np.nan), scores, np.ones(len(true), dtype=bool)))
    return f"{found.average_precision:.3f} | {found.kappa:.3f}"


def left_out(collection: Collection, belief: JudgeBelief | None) -> tuple[list[Guesses], list[RunGuess]]:
    truth = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    parts = []
    for run in collection.run_names:
        known, matcher, fit = model(without(collection, collection.group(run)), belief)
        parts.append(next(guesses(collection, [run], truth, known, matcher, fit))[0])
    return [Guesses.joined(parts)], []


def few(
    collection: Collection, belief: JudgeBelief | None, verdicts: int, times: int
) -> tuple[list[Guesses], list[RunGuess]]:
    """Only some pairs judged, drawn at random."""
    truth = VerdictIndex(collection.key, collection.judgements, collection.judged_runs)
    manifest = {name: replace(info, judged="none") for name, info in collection.manifest.items()}
    pairs, runs = [], []
    for seed in range(times):
        drawn = np.random.default_rng(seed).choice(len(collection.judgements), verdicts, replace=False)
        kept = tuple(collection.judgements[i] for i in sorted(drawn.tolist()))
        known, matcher, fit = model(like(collection, judgements=kept, manifest=manifest), belief)
        found = list(guesses(collection, collection.run_names, truth, known, matcher, fit))
        own = Guesses.joined([part for part, _ in found])
        pairs.append(own.only(own.guessed))
        runs += [run for _, run in found]
    return pairs, runs


def guesses(
    collection: Collection,
    runs: tuple[str, ...] | list[str],
    truth: VerdictIndex,
    known: VerdictIndex,
    matcher: Matcher,
    fit: SmoothFit,
) -> Iterator[tuple[Guesses, RunGuess]]:
    key, draws = collection.key, fit.draw(DRAWS, 0)
    noise = VerdictNoise(key, DRAWS, 0)
    worth: Vector = weights_in_recall(key)
    worth = worth / (per_question(worth, key) > 0).sum()
    for name in runs:
        run = collection.run(name)
        matched = carry_over(read(run, collection.group(name), key, matcher, known), matcher, fit)
        states, outcome = truth(run.normalised_texts, run.question), find(matched, key, fit, draws, noise)
        recall = guessed_recall(name, guessed_answers(matched, states, outcome), outcome, worth)
        yield guessed_pairs(matched, states, fit, fit), recall


if __name__ == "__main__":
    main()
