"""Where verdicts say partly, guesses do too: as often, more where more is found, and nothing else changes by it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.scoring.partly import PartialSupport
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.thresholds.partial import BETWEEN_SYSTEMS, DEVIATION, MEAN
from tests.conftest import shared

NUGGETS = 6
STRICT = ("strict_vital_score", "strict_all_score", "strict_weighted_score", "f3", "recall")
GENEROUS = ("vital_score", "all_score", "weighted_score")
WORDS = ["abbey", "bridge", "canal", "dome", "eyrie", "fort", "gate", "harbour", "inn", "jetty", "keep", "lighthouse"]


def outcome_of(rng: np.random.Generator, has: float) -> str:
    """By odds(partly | not found) = 1.2 · has."""
    partly = 1.2 * has / (1 + 1.2 * has)
    return str(rng.choice(["yes", "partly", "no"], p=[has, (1 - has) * partly, (1 - has) * (1 - partly)]))


@pytest.fixture
def town(collect):
    """Three judged systems and two that nobody judged. A nugget that an answer has is there in its words."""

    def make(partial: bool = True):
        rng = np.random.default_rng(5)
        nuggets = [
            {
                "qid": q,
                "nugget": str(n),
                "text": f"the {q} {WORDS[n]} was built",
                "importance": "vital" if n % 2 else "okay",
            }
            for q in WORDS
            for n in range(NUGGETS)
        ]
        runs, judgements, truth = {}, [], {}
        for name, has in {"one": 0.3, "two": 0.4, "three": 0.5, "low": 0.2, "high": 0.6}.items():
            runs[name] = []
            for q in WORDS:
                fates = [outcome_of(rng, has) for _ in range(NUGGETS)]
                said = [
                    f"the {q} {WORDS[n]} was {'built' if fate == 'yes' else 'seen'}"
                    for n, fate in enumerate(fates)
                    if fate != "no" or rng.random() < 0.3
                ]
                text = f"{name}: " + ", ".join(said)
                runs[name].append((q, text))
                truth[name, q] = fates
                if name in ("one", "two", "three"):
                    judgements += [
                        {"qid": q, "nugget": str(n), "text": text, "verdict": fate == "yes", "assessor": "ann"}
                        | ({"partial": True} if fate == "partly" and partial else {})
                        for n, fate in enumerate(fates)
                    ]
        return collect(nuggets, runs, judgements, dict.fromkeys(runs, "none"), folder=f"town-{partial}"), truth

    return make


def test_log_k_is_counted_in_the_verdicts(town):
    collection, truth = town()
    known = Scorer(collection).model.partial
    fates = [fate for (name, _), own in truth.items() if name in ("one", "two", "three") for fate in own]
    yes, partly, no = (fates.count(fate) + 0.5 for fate in ("yes", "partly", "no"))
    seen, variance = np.log(partly / no / (yes / (yes + partly + no))), 1 / yes + 1 / partly + 1 / no
    weight = DEVIATION**2 / (DEVIATION**2 + variance)
    assert known[0] == pytest.approx(MEAN + weight * (seen - MEAN))
    assert known[1] == pytest.approx(np.sqrt(weight * variance + BETWEEN_SYSTEMS**2))


def test_what_is_drawn_has_the_share_that_the_runs_chance_says(town):
    """Summed over the open nuggets, and whatever the single nuggets' chances are."""
    collection, _ = town()
    scorer = Scorer(collection)
    rng = np.random.default_rng(0)
    chance, open_ = rng.uniform(0.05, 1, 72) ** 3, np.arange(72) % 5 > 0
    partial = PartialSupport.of(scorer.draws, "low", open_, chance)
    log_k = scorer.draws.partial_support("low").mean()
    share = np.exp(log_k) * chance[open_].mean()
    odds = partial.odds[open_].astype(float)
    assert ((1 - chance[open_]) * odds / (1 + odds)).sum() == pytest.approx(
        (1 - chance[open_]).sum() * share / (1 + share), rel=1e-4
    )
    assert (partial.odds[~open_] == 0).all()
    assert odds / chance[open_] == pytest.approx(np.full(len(odds), odds[0] / chance[open_][0]), rel=1e-3)


def test_strict_measures_and_f_do_not_know_partly(town):
    """To the last digit: the same verdicts without the word `partial` give the same numbers."""
    with_, without = (score(town(partial)[0], ["low", "high"], (*STRICT, *GENEROUS)) for partial in (True, False))
    for one, other in zip(with_.runs, without.runs, strict=True):
        assert [one.measures[m] for m in STRICT] == [other.measures[m] for m in STRICT]
        assert (one.outcome.drawn == other.outcome.drawn).all()
        for strict, generous in zip(STRICT[:3], ("vital_score", "all_score", "weighted_score"), strict=True):
            assert one.measures[generous].value > one.measures[strict].value
            assert other.measures[generous] == other.measures[strict]


def test_a_nugget_is_never_found_and_partly_supported_in_one_draw(town):
    outcome = score(town()[0], ["high"], GENEROUS).runs[0].outcome
    assert not (outcome.drawn & outcome.drawn_partly).any()
    assert not (outcome.found & outcome.partly).any()
    assert outcome.partial == pytest.approx(outcome.drawn_partly.mean(axis=0))
    assert (outcome.probability + outcome.partial < 1.01).all()


def test_a_diff_has_the_scores_of_score(town):
    collection, _ = town()
    scores = score(collection, ["low", "high"], GENEROUS)
    delta = diff(collection, "low", "high", measures=GENEROUS).deltas["vital_score"]
    assert [delta.old, delta.new] == [run.measures["vital_score"].value for run in scores.runs]


@pytest.mark.parametrize(("hidden", "name"), [("gpt4o", "gpt-4o"), ("command-r-plus", "command-r-plus")])
def test_a_run_of_autonuggetizer_that_nobody_judged(tmp_path, hidden, name):
    """Its true scores are within the intervals, and the guesses no longer leave out partial support."""
    folder = shared("autonuggetizer")
    files = [str(folder / f"assignments.{run}.jsonl") for run in ("gpt4o", "command-r-plus")]
    assert main(["convert", "nuggetizer-nuggets", str(folder / "nuggets.jsonl"), "--into", str(tmp_path)]) == 0
    assert main(["convert", "nuggetizer-assignments", *files, "--as-truth", "--into", str(tmp_path)]) == 0
    (tmp_path / "judgements" / f"nuggetizer-assignments-assignments.{hidden}.jsonl").unlink()
    metrics = [json.loads(line) for line in (folder / f"metrics.{hidden}.jsonl").read_text().splitlines()]
    collection = read_collection(tmp_path)
    run = next(run for run in collection.run_names if name in run)
    result = score(collection, [run], (*STRICT[:3], *GENEROUS)).runs[0]
    for strict, generous in zip(STRICT[:3], ("vital_score", "all_score", "weighted_score"), strict=True):
        said, strictly = result.measures[generous], result.measures[strict]
        true, true_strictly = (sum(row[m] for row in metrics) / len(metrics) for m in (generous, strict))
        assert said.low < true < said.high
        assert said.value - strictly.value == pytest.approx(true - true_strictly, abs=0.05)
