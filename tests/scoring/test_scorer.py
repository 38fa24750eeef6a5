"""From files to scores: a collection worked by hand, and what never may change a score."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.comparing.comparison import compare
from nuggeteer.comparing.diff import diff
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.reports import scores as report
from nuggeteer.scoring.scorer import score
from nuggeteer.settings import ScoreSettings
from nuggeteer.thresholds.smooth import SmoothFit
from tests.conftest import write_lines

NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "built the first nuclear reactor"},
    {"qid": "q1", "nugget": "2", "text": "born in Rome 1901"},
    {"qid": "q1", "nugget": "3", "text": "won the Nobel prize", "importance": "okay"},
    {"qid": "q2", "nugget": "1", "text": "launched by NASA", "importance": "okay"},
    {"qid": "q3", "nugget": "1", "text": "sank in 1912"},
]
RUNS = {
    "new": [
        ("q1", "He was a physicist."),
        ("q1", "Fermi BUILT the first nuclear reactor, in Chicago."),
        ("q1", "He built the first nuclear reactor."),
        ("q2", "It was launched by NASA in 1977."),
    ],
    "old": [("q1", "fermi built the first  nuclear reactor, in chicago."), ("q3", "It sank in 1912")],
}
YES = {"qid": "q1", "nugget": "1", "text": RUNS["old"][0][1], "verdict": True, "run": "old"}


FIXED = "[threshold]\nmodel = 'fixed'\nvalue = 0.2\n"


@pytest.fixture
def collection(collect):
    return collect(NUGGETS, RUNS, [YES], {"old": "every"}, FIXED)


def test_a_collection_worked_by_hand(collection):
    """q1: known by a verdict on the same text in another run; q2 has no vital nugget; q3 has no answer."""
    result = score(collection, ["new"])
    new = result["new"]
    length = sum(len("".join(text.split())) for _, text in RUNS["new"][:3])
    precision, recall = min(1.0, 100 / length), 1 / 2
    f3 = 10 * precision * recall / (9 * precision + recall)
    assert new.outcome.length.tolist() == [length, 26, 0]
    assert new.outcome.found.tolist() == [True, False, False, True, False]
    assert new.outcome.known.tolist() == [True, False, False, False, True]
    assert new.by_question["f3"][0] == pytest.approx(f3)
    assert math.isnan(new.by_question["f3"][1])
    assert new.by_question["f3"][2] == 0.0
    assert new.measures["f3"].value == pytest.approx(f3 / 2)
    assert new.outcome.answered.tolist() == [True, True, False]


def test_the_first_response_that_carries_a_nugget_gets_the_credit(collection):
    new = score(collection, ["new"])["new"]
    assert new.rank.tolist() == [2, 0, 0, 1, 0]


def test_pairs_are_counted_as_known_or_guessed(collection):
    result = score(collection, ["new", "old"])
    counts = {r.name: (r.outcome.pairs_known, r.outcome.pairs_guessed) for r in result.runs}
    assert counts == {"new": (3, 7), "old": (4, 0)}


def test_a_known_no_is_never_guessed_over(collect):
    """A response in the description's own words stays out when a person said no."""
    no = {"qid": "q1", "nugget": "1", "text": "He built the first nuclear reactor.", "verdict": False}
    collection = collect(NUGGETS, {"r": [("q1", no["text"])]}, [no])
    outcome = score(collection, ["r"])["r"].outcome
    assert not outcome.found[0]
    assert outcome.known[0]
    assert outcome.best[0] > 0.9


def test_a_fixed_threshold_states_no_probability_of_its_guesses(collection):
    outcome = score(collection, ["new"])["new"].outcome
    assert outcome.probability[0] == 1.0
    assert np.isnan(outcome.probability[[1, 2, 3]]).all()


def test_the_threshold_of_the_settings_decides(collect):
    text = "the reactor was nuclear"
    found = {}
    for value in (0.05, 0.9):
        collection = collect(
            NUGGETS, {"r": [("q1", text)]}, toml=f"[threshold]\nmodel = 'fixed'\nvalue = {value}\n", folder=f"t{value}"
        )
        found[value] = bool(score(collection, ["r"])["r"].outcome.found[0])
    assert found == {0.05: True, 0.9: False}


@pytest.mark.slow
def test_the_order_of_runs_never_matters(sample):
    names = ["build-101", "aurora", "build-103"]
    first = score(sample, names)
    for order in permutations(names):
        again = score(sample, order)
        assert all(again[n].measures == first[n].measures for n in names)
        assert again.signature == first.signature


@pytest.mark.slow
def test_the_order_of_lines_in_the_key_and_the_judgements_never_matters(sample, tmp_path):
    """Files written backwards give the same scores, to the last bit, and the same signature."""
    import shutil

    shutil.copytree(sample.root, tmp_path / "turned")
    turned = tmp_path / "turned"
    for path in [turned / "nuggets.jsonl", *sorted((turned / "judgements").glob("*.jsonl"))]:
        path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))
    names = sample.run_names
    before, after = score(sample, names), score(read_collection(turned), names)
    assert after.signature == before.signature
    for name in names:
        for measure, values in before[name].by_question.items():
            assert after[name].by_question[measure].tolist() == pytest.approx(values.tolist(), nan_ok=True)
        assert after[name].outcome.found.sum() == before[name].outcome.found.sum()


def test_judging_everything_by_the_truth_gives_the_true_score(tmp_path):
    """On a simulated collection, with the truth as judgements, no guess is left and every found nugget is true."""
    folder = tmp_path / "made"
    simulate(folder, Shape(questions=8, nuggets=5, systems=3, judged=2, responses=4), seed=1)
    lines = (folder / "runs.jsonl").read_text().replace('"none"', '"every"')
    (folder / "runs.jsonl").write_text(lines)
    (folder / "judgements" / "truth.jsonl").write_bytes((folder / "truth" / "s3.jsonl").read_bytes())
    collection = read_collection(folder)
    outcome = score(collection, ["s3"])["s3"].outcome
    import json

    true = {(t["qid"], t["nugget"]) for t in map(json.loads, (folder / "truth" / "s3.jsonl").read_text().splitlines())}
    found = {(n.qid, n.nugget) for n, f in zip(collection.key.nuggets, outcome.found, strict=True) if f}
    assert outcome.pairs_guessed == 0
    assert found == true


def test_the_signature_changes_with_everything_that_can_change_a_score(collect, tmp_path):
    base = score(collect(NUGGETS, RUNS, [YES], {"old": "every"}, folder="a"), ["new"]).signature
    signatures = {
        base,
        score(collect(NUGGETS[:-1], RUNS, [YES], {"old": "every"}, folder="b"), ["new"]).signature,
        score(collect(NUGGETS, RUNS, [], {"old": "every"}, folder="c"), ["new"]).signature,
        score(collect(NUGGETS, RUNS, [YES], {"old": "best"}, folder="d"), ["new"]).signature,
        score(collect(NUGGETS, RUNS, [YES], {"old": "every"}, "[match]\nweights = 'unit'\n", "e"), ["new"]).signature,
        score(collect(NUGGETS, RUNS, [YES], {"old": "every"}, "[match]\nidf = 'pool'\n", "f"), ["new"]).signature,
        score(collect(NUGGETS, RUNS, [YES], {"old": "every"}, FIXED, "g"), ["new"]).signature,
        score(collect(NUGGETS, RUNS, [YES], {"old": "every"}, folder="h"), ["new"], seed=1).signature,
    }
    assert len(signatures) == 8
    assert score(collect(NUGGETS, RUNS, [YES], {"old": "every"}, folder="i"), ["new"]).signature == base


def test_scores_go_to_a_pandas_frame(collection):
    pytest.importorskip("pandas")
    frame = score(collection, ["new", "old"]).to_frame()
    assert frame.groupby("run")["f3"].mean()["old"] == pytest.approx(
        score(collection, ["old"])["old"].measures["f3"].value
    )
    assert list(frame.columns[:2]) == ["run", "qid"]
    assert len(frame) == 6


@pytest.mark.parametrize("responses", [[], [("q1", " ")], [("Q1", "a reactor")]])
def test_a_run_without_any_answer_is_an_error_unless_it_may_be_empty(collect, tmp_path, responses):
    collection = collect(NUGGETS, {"r": responses})
    with pytest.raises(NuggeteerError, match="answers no question of the key"):
        score(collection, ["r"])
    collection = replace(collection, allow_empty=True)
    result = score(collection, ["r"])["r"]
    assert result.measures["f3"].value == 0.0
    assert result.rank.tolist() == [0] * 5


def test_a_run_can_be_a_file_outside_the_collection(collection, tmp_path):
    path = write_lines(tmp_path / "tonight.jsonl", [{"qid": "q3", "text": "The ship sank in 1912"}])
    assert score(collection, [str(path)])["tonight"].outcome.found.tolist()[-1]


def test_nothing_is_drawn_where_all_is_known(collect, monkeypatch):
    """Nor are thresholds worked out before somebody asks for them."""
    found = collect(NUGGETS, RUNS, [YES], {"old": "every"})
    expected = score(found, ["old", "new"])["old"]

    def refuse(*_: object) -> None:
        raise AssertionError("this is work for guesses")

    monkeypatch.setattr(SmoothFit, "draw", refuse)
    monkeypatch.setattr(SmoothFit, "probability", refuse)
    alone = score(found, ["old"])
    assert alone["old"].measures == expected.measures
    assert alone["old"].outcome.known.all()
    with pytest.raises(AssertionError, match="guesses"):
        score(found, ["new"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["bootstrap", "percentile"])
def test_the_method_of_the_settings_makes_the_part_of_the_questions_wherever_there_is_one(sample, method):
    """In `score`, `diff` and `compare`: scores and judging parts stay, as do Tukey's tests."""
    names = ["build-101", "build-102", "aurora"]
    chosen = replace(sample, settings=replace(sample.settings, score=ScoreSettings(method)))
    assert f"|interval:{method}(" in score(chosen, names[:1]).signature
    usual, other = (compare(each, names) for each in (sample, chosen))
    pairs = [
        (one.measures["f3"], two.measures["f3"]) for one, two in zip(usual.scores.runs, other.scores.runs, strict=True)
    ]
    pairs.append(tuple(diff(each, *names[:2]).headline.interval for each in (sample, chosen)))
    for one, two in pairs:
        assert (one.value, one.hard, one.judging) == (two.value, two.hard, two.judging)
        assert one.sampling != two.sampling
        assert (one.low, one.high) != (two.low, two.high)
        assert two.sampling == pytest.approx(one.sampling, abs=0.05)
    standings = usual.standings[0], other.standings[0]
    assert standings[0].tukey.p.tolist() == standings[1].tukey.p.tolist()
    assert np.abs(standings[0].above - 0.5).sum() < np.abs(standings[1].above - 0.5).sum(), "resamples vary less"
    own = usual.scores["aurora"].by_question["f3"]
    own = own[~np.isnan(own)]
    means = own[np.random.default_rng(1).integers(len(own), size=(20_000, len(own)))].mean(axis=1)
    aurora = other.scores["aurora"].measures["f3"]
    assert aurora.judging == (aurora.value, aurora.value), "all of it is known"
    if method == "percentile":
        assert (aurora.low, aurora.high) == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.01)


def test_a_method_that_is_none_is_refused(collect):
    with pytest.raises(InputError, match=r"\[score\] interval is 'bca'; write 't' or 'bootstrap' or 'percentile'"):
        collect(NUGGETS, toml='[score]\ninterval = "bca"')


@pytest.mark.parametrize(
    ("toml", "says"),
    [("", "every nugget of every answer is settled"), (FIXED, "every nugget of every answer is settled")],
)
def test_pairs_that_are_open_beside_a_yes_are_not_said_to_be_guessed(collect, toml, says):
    """A second response that nobody read changes nothing where the first has the nugget."""
    texts = [("q1", "Fermi built the first nuclear reactor."), ("q1", "He built it with others.")]
    verdict = {"qid": "q1", "nugget": "1", "text": texts[0][1], "verdict": True}
    scores = score(collect(NUGGETS[:1], {"new": texts}, [verdict], toml=toml), ["new"])
    assert (scores["new"].outcome.pairs_known, scores["new"].outcome.pairs_guessed) == (1, 1)
    (line,) = (line for line in report.remarks(scores) if line.startswith("known:"))
    assert says in line
    assert "threshold" not in line
