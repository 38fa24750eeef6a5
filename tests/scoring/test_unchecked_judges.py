"""A judge that nobody checked: what it says leaves a score open, and says much of a change."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff_matched_runs
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds import public_prior
from tests.conftest import write_lines

QUESTIONS, NUGGETS = 60, 2
TOML = '[match]\njudges = ["judges/one.jsonl"]\n'


@pytest.fixture
def nights(collect):
    """Two nights whose words say nothing of the nuggets, and a judge that read both: it finds 60 % in the first, and
    40 % in the second."""
    rng = np.random.default_rng(0)
    says = {name: rng.random((QUESTIONS, NUGGETS)) < share for name, share in (("old", 0.6), ("new", 0.4))}
    collection = collect(
        [{"qid": f"q{q}", "nugget": str(n), "text": "a fox"} for q in range(QUESTIONS) for n in range(NUGGETS)],
        {name: [(f"q{q}", f"text {name} {q}") for q in range(QUESTIONS)] for name in says},
        toml=TOML,
    )
    lines = [
        {"qid": f"q{q}", "nugget": str(n), "text": f"text {name} {q}", "verdict": bool(own[q, n])}
        for name, own in says.items()
        for q in range(QUESTIONS)
        for n in range(NUGGETS)
    ]
    write_lines(collection.root / "judges" / "one.jsonl", lines)
    return collection


def widths(collection):
    """Of the judging intervals of a recall and of its change."""
    scorer = Scorer(collection, ["recall"])
    old, new = (scorer.read(name) for name in ("old", "new"))
    score = scorer.score(new).measures["recall"].judging
    change = diff_matched_runs(scorer, old, new).headline.interval
    return score[1] - score[0], change.judging[1] - change.judging[0], change.value


def with_judge(monkeypatch, level, weight):
    judge = {**public_prior.JUDGE, "level": (public_prior.JUDGE["level"][0], level)}
    judge["weight"] = (public_prior.JUDGE["weight"][0], weight)
    for name in ("nuggeteer.thresholds.public_prior", "nuggeteer.thresholds.prior", "nuggeteer.scoring.units"):
        monkeypatch.setattr(f"{name}.JUDGE", judge)


def test_how_lenient_it_is_widens_a_score_and_not_a_change(nights, monkeypatch):
    """The level of what a judge says is the same on both nights."""
    level, weight = (public_prior.JUDGE[name][1] for name in ("level", "weight"))
    (score, change, moved) = widths(nights)
    assert moved < 0
    assert change < 0.55 * score
    with_judge(monkeypatch, 1e-3, weight)
    known = widths(nights)
    with_judge(monkeypatch, 3 * level, weight)
    unknown = widths(nights)
    assert known[0] < 0.95 * score < 0.95 * unknown[0] / 1.4
    assert 0.9 * change < known[1] <= unknown[1] < 1.15 * change


def test_how_sharp_it_is_says_little_of_how_high_a_score_is_and_something_of_a_change(nights, monkeypatch):
    level, weight = (public_prior.JUDGE[name][1] for name in ("level", "weight"))
    with_judge(monkeypatch, level, 1e-3)
    sharp = widths(nights)
    with_judge(monkeypatch, level, 3 * weight)
    vague = widths(nights)
    assert vague[1] > 1.02 * sharp[1]
    assert vague[0] < 1.1 * sharp[0]


def test_verdicts_of_people_narrow_what_is_believed_of_it(nights):
    """Here they often say otherwise; still, more is known of the night that nobody read."""
    before = widths(nights)[0]
    lines = [
        {"qid": f"q{q}", "nugget": str(n), "text": f"text old {q}", "verdict": n == 0, "run": "old"}
        for q in range(QUESTIONS)
        for n in range(NUGGETS)
    ]
    write_lines(nights.root / "judgements" / "ann.jsonl", lines)
    assert widths(read_collection(nights.root))[0] < 0.9 * before
