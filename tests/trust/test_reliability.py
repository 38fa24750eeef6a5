"""How far guesses are to be trusted: computed rightly, remembered, and made anew when anything has changed."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.scoring.evidence import gather_evidence, prior_of
from nuggeteer.scoring.scorer import Scorer, compare_thresholds
from nuggeteer.thresholds.propagation import fit_smooth
from nuggeteer.trust import reliability
from nuggeteer.trust.reliability import trust


@pytest.fixture
def folder(sample, tmp_path):
    """The sample, of which nobody has looked at the guesses yet."""
    unseen = shutil.ignore_patterns("reliability")
    return shutil.copytree(sample.root, tmp_path / "here", ignore=unseen)


def stored(text):
    """What is remembered, below the line that guards it."""
    return json.loads(text.partition("\n")[2])["trust"]["reliability"]


def test_bins_are_as_counted_by_hand():
    chance = np.array([0.0, 0.04, 0.1, 0.95, 1.0, 0.99])
    yes = np.array([False, True, False, True, True, False])
    found = reliability.reliability(chance, yes)
    counted = [(one.low, one.pairs, round(one.chance, 6), round(one.yes, 6)) for one in found.bins]
    assert counted == [(0.0, 2, 0.02, 0.5), (0.1, 1, 0.1, 0.0), (0.9, 3, 0.98, 0.666667)]
    assert found.brier == pytest.approx((0 + 0.96**2 + 0.01 + 0.05**2 + 0 + 0.99**2) / 6)
    assert found.error == pytest.approx((2 * 0.48 + 0.1 + 3 * (0.98 - 2 / 3)) / 6)


def test_chances_that_are_right_make_a_small_error_and_wrong_ones_a_large_one():
    rng = np.random.default_rng(0)
    chance = rng.random(100_000)
    assert reliability.reliability(chance, rng.random(100_000) < chance).error < 0.01
    assert reliability.reliability(chance, rng.random(100_000) < chance**3).error > 0.2


@pytest.mark.slow
def test_no_pair_is_given_a_chance_by_a_fit_that_saw_its_system(folder):
    """Each group by hand: fitted without it, asked of it. The sample has five, which is one a fold."""
    scorer = Scorer(read_collection(folder))
    evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known, by="response", carried_over=False)
    chance = np.zeros(len(evidence))
    for group in np.unique(evidence.group):
        own = evidence.group == group
        chance[own] = fit_smooth(evidence.only(~own), prior_of(scorer.matcher)).probability(evidence.only(own).units)
    assert len(np.unique(evidence.group)) == 5
    found = trust(scorer).reliability
    assert found.brier == pytest.approx(float(((chance - evidence.yes) ** 2).mean()))
    assert sum(one.pairs for one in found.bins) == len(evidence)


@pytest.mark.slow
def test_models_are_compared_as_thresholds_compares_them(folder):
    collection = read_collection(folder)
    found, asked = trust(Scorer(collection)).thresholds, compare_thresholds(collection)
    assert (found.pairs, found.positive, found.groups, found.chosen) == (
        asked.pairs,
        asked.positive,
        asked.groups,
        asked.chosen,
    )
    assert [(m.name, m.log10_evidence, m.log_score) for m in found.models] == [
        (m.name, m.log10_evidence, m.log_score) for m in asked.models
    ]


@pytest.mark.slow
def test_it_is_remembered_until_the_judgements_change(folder, few_pairs):
    told: list[str] = []
    first = trust(Scorer(read_collection(folder)), told.append)
    assert len(told) == 1
    assert trust(Scorer(read_collection(folder)), told.append) == first
    assert len(told) == 1
    key = read_collection(folder).key
    nugget = key.nuggets[0]
    line = {"qid": nugget.qid, "nugget": nugget.nugget, "text": "something new", "verdict": True}
    (folder / "judgements" / "more.jsonl").write_text(json.dumps(line) + "\n")
    assert trust(Scorer(read_collection(folder)), told.append) != first
    assert len(told) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"models":[', '"models":[7,'),
        lambda text: text.replace('"brier":', '"brier":"x","was":'),
        lambda text: text.replace('"pairs":', '"couples":'),
        lambda text: text.partition("\n")[0] + "\n[]",
    ],
)
def test_a_damaged_file_is_made_anew(folder, damage, few_pairs):
    first = trust(Scorer(read_collection(folder)))
    path = folder / ".nuggeteer" / "reliability"
    whole = path.read_text()
    assert damage(whole) != whole
    path.write_text(damage(whole))
    again = trust(Scorer(read_collection(folder)))
    assert again.reliability == first.reliability
    assert stored(path.read_text()) == stored(whole)


@pytest.mark.slow
def test_of_many_judgements_some_nuggets_are_taken_whole(folder, monkeypatch):
    monkeypatch.setattr(reliability, "PAIRS", 500)
    scorer = Scorer(read_collection(folder))
    evidence = gather_evidence(scorer.collection, scorer.matcher, scorer.known, by="response", carried_over=False)
    kept = reliability.some_nuggets(evidence)
    assert 400 < kept.sum() <= 500
    some = np.unique(evidence.nugget[kept])
    assert (np.isin(evidence.nugget, some) == kept).all()
    found = trust(scorer)
    assert found.thresholds.pairs == kept.sum()
    assert found.nuggets == len(some) < found.judged == len(np.unique(evidence.nugget))
    monkeypatch.setattr(reliability, "PAIRS", 1)
    assert len(np.unique(evidence.nugget[reliability.some_nuggets(evidence)])) == 1
    monkeypatch.setattr(reliability, "PAIRS", 10**9)
    monkeypatch.setattr(reliability, "NUGGETS", 7)
    assert len(np.unique(evidence.nugget[reliability.some_nuggets(evidence)])) == 7


def test_one_group_cannot_be_left_out(collect):
    nuggets = [{"qid": "q", "nugget": "1", "text": "alpha beta gamma"}]
    judged = {"a": "every"}
    collection = collect(
        nuggets,
        {"a": [("q", "alpha beta"), ("q", "delta")]},
        [{"qid": "q", "nugget": "1", "text": "alpha beta", "verdict": True}],
        judged,
    )
    found = trust(Scorer(collection))
    assert found.reliability is None
    assert all(model.log_score is None for model in found.thresholds.models)


def test_without_judgements_there_is_nothing_to_look_at(collect):
    collection = collect([{"qid": "q", "nugget": "1", "text": "alpha"}], {"a": [("q", "alpha")]})
    assert trust(Scorer(collection)) is None
    assert not (collection.root / ".nuggeteer" / "reliability").exists()


@pytest.mark.slow
def test_where_nothing_can_be_written_it_is_said_all_the_same(folder, monkeypatch, few_pairs):
    def refuse(*_):
        from nuggeteer.errors import NuggeteerError

        raise NuggeteerError("no")

    monkeypatch.setattr(reliability, "write_cache", refuse)
    assert trust(Scorer(read_collection(folder))) is not None
