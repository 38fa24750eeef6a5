"""Recorded draws: read as written, and weights whose sums are right on average."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from nuggeteer.formats.draws import DrawnPair, append_draw, read_draws, represented

PAIR = DrawnPair("tonight", "00ff", "q1", "2", "a text", 0.25, 0.125, 0.03, "2026-01-31T09:30:00Z")


def test_draws_are_read_as_they_were_written_and_in_their_order(tmp_path):
    pairs = [PAIR, replace(PAIR, nugget="1"), replace(PAIR, text="naïve\n‮ text")]
    for pair in pairs:
        append_draw(tmp_path / "judgements" / "draws" / "tonight.jsonl", pair)
    problems = []
    assert read_draws(tmp_path / "judgements" / "draws", problems) == pairs
    assert not problems
    assert read_draws(tmp_path / "none", problems) == []


@pytest.mark.parametrize(
    "change", [{"chance": 0.0}, {"chance": 1.5}, {"guess": "0.5"}, {"spread": -1.0}, {"qid": 3}, {"text": None}]
)
def test_a_damaged_line_is_told_and_left_out(tmp_path, change):
    """No verdict is lost by it, so it is no error."""
    path = tmp_path / "draws.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in (asdict(PAIR) | change, asdict(PAIR))) + "\n{torn")
    problems = []
    assert read_draws(tmp_path, problems) == [PAIR]
    assert [(problem.line, problem.severity) for problem in problems] == [(1, "warning"), (3, "warning")]
    assert "the draw is not used" in problems[0].what


def test_weighted_sums_over_what_was_drawn_are_right_on_average():
    """Against the sum over everything, in 4,000 draws of a third of it with very unequal chances."""
    rng = np.random.default_rng(5)
    size, value = rng.gamma(0.5, size=30) + 0.02, rng.normal(1.0, 2.0, 30)
    estimates = []
    for _ in range(4000):
        left, drawn, order = np.ones(30, dtype=bool), [], []
        for _ in range(10):
            chance = np.where(left, size, 0.0) / size[left].sum()
            spread = np.sqrt((size[left] ** 2 / chance[left]).sum())
            one = rng.choice(30, p=chance)
            drawn.append(replace(PAIR, chance=float(chance[one]), spread=float(spread)))
            order.append(one)
            left[one] = False
        estimates.append(represented(drawn) @ value[order])
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - value.sum()) < 4 * error
    assert error < 0.02 * np.abs(value).sum()


def test_with_equal_chances_all_pairs_represent_equally_many():
    """Of four equal draws out of ten each stands for 2.5 pairs, if the draws are equally exact."""
    drawn = [replace(PAIR, chance=1 / (10 - i), spread=1.0) for i in range(4)]
    # Des Raj's estimates by hand: the i-th is the sum of those before and (10 − i) times the new one.
    by_hand = np.mean([[*([1.0] * i), 10.0 - i, *([0.0] * (3 - i))] for i in range(4)], axis=0)
    assert represented(drawn) == pytest.approx(by_hand)
    assert represented(drawn).sum() == pytest.approx(10)
