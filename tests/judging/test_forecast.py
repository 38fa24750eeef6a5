"""What reading is expected to bring, against formulas of normal variables and against playing it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from nuggeteer.judging.forecast import SURE_REACH, Forecast, forecast_of
from nuggeteer.statistics.intervals import REACH


def test_what_answers_share_is_learned_with_the_first():
    """Contributions are a common level and something of their own: by the formula of a conditional variance."""
    rng, questions, level, own = np.random.default_rng(0), 20, 0.3, 1.0
    drawn = level * rng.normal(size=(20_000, 1)) + own * rng.normal(size=(20_000, questions))
    total = drawn.sum(axis=1).var()
    share = drawn.var(axis=0) / total
    ahead = forecast_of(drawn, [(q, 60.0, 5, float(share[q])) for q in range(questions)])
    for read in (1, 5, 10, 19):
        left = questions - read
        known = read**2 * level**2 + read * own**2
        rest = left**2 * level**2 + left * own**2 - (left * read * level**2) ** 2 / known
        assert ahead.widths[read] / ahead.now == pytest.approx(np.sqrt(rest / total), rel=0.03)
    assert ahead.minutes_for(ahead.widths[7] + 1e-9) == pytest.approx(7)
    assert ahead.verdicts_after(7) == 35
    assert ahead.width_after(7.5) == pytest.approx((ahead.widths[7] + ahead.widths[8]) / 2)
    assert ahead.minutes_for(-1.0) is None


def test_some_nuggets_of_an_answer_tell_a_part_of_it():
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(20_000, 4))
    whole = float(drawn.sum(axis=1).var())
    ahead = forecast_of(drawn, [(0, 1.0, 2, 0.5 * float(drawn[:, 0].var()) / whole)])
    assert (ahead.widths[1] / ahead.now) ** 2 == pytest.approx(1 - 0.5 / 4, abs=0.01)


def test_a_gate_is_decided_on_one_side():
    assert pytest.approx(norm.ppf([0.975, 0.95])) == [REACH, SURE_REACH]


@pytest.mark.parametrize("beside", [0.0, 0.02])
def test_a_gate_is_likely_to_be_decided_when_that_happens_in_three_of_four_futures(beside):
    """Played: the mean moves as reading says, and the interval around it narrows."""
    rng, value, widths = np.random.default_rng(2), -0.01, np.array([0.12, 0.1, 0.08, 0.06, 0.04, 0.02, 0.005])
    ahead = Forecast(value, 60.0 * np.arange(7), np.arange(7), widths, np.zeros(7))
    decided = []
    for width in widths:
        now, then = widths[0] / (2 * REACH), width / (2 * REACH)
        mean = value + np.sqrt(now**2 - then**2) * rng.normal(size=200_000)
        decided.append((abs(mean - 0.0) > SURE_REACH * np.hypot(then, beside)).mean())
    likely = [minute for minute, share in enumerate(decided) if share >= 0.75]
    assert ahead.minutes_to_decide(0.0, beside) == (likely[0] if likely else None)


def test_nothing_open_is_exact():
    ahead = forecast_of(np.ones((1, 3)), [])
    assert (ahead.now, ahead.width_after(10), ahead.minutes_for(0.1)) == (0, 0, 0)
