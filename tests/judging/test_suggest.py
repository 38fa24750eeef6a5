"""Where to judge next, against formulas for models whose verdicts are independent or dependent in a known way, and
against sorting the draws by verdicts."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.covariance import ScoreCovariance
from nuggeteer.judging.open_groups import draw_open_groups
from nuggeteer.judging.suggest import VerdictValues, _score, forecast, suggest
from nuggeteer.measures import Answers, parse
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds import FixedThreshold

RECALL = parse("recall")


class Said:
    """A model that is told the chance of every pair: `chance` of draws, nuggets and whether a response matches."""

    signature = "said"
    answer_correlation = 0.0

    def __init__(self, chance):
        self.chance = chance

    def threshold(self, nugget):
        return np.full(len(nugget), 0.5)

    def draw(self, count, seed):
        self.count = count
        return self

    def kinds(self, pairs):
        return np.argsort(np.argsort(pairs.nugget, kind="stable"))

    def chances(self, pairs, group, cell=None):
        cell = pairs.nugget if cell is None else cell
        missed = np.ones((self.count, int(cell.max(initial=-1)) + 1))
        for i, own in enumerate(cell):
            missed[:, own] *= 1 - self.chance(np.arange(self.count), pairs.nugget[i], pairs.scores[i] > 0.5)
        return (1 - missed).astype(np.float32)


def one_nugget_each(collect, questions, texts=("kiwi {}",), nuggets=1, runs=("new",)):
    """Questions with as many nuggets, to which each run returns the same texts."""
    names = [f"q{i}" for i in range(questions)]
    key = [{"qid": q, "nugget": str(n), "text": f"kiwi {q} {n}"} for q in names for n in range(nuggets)]
    answers = [(q, text.format(f"{q} {n}")) for q in names for n in range(nuggets) for text in texts]
    return collect(key, dict.fromkeys(runs, answers))


def test_independent_guesses_are_asked_by_their_variance(collect):
    """Of a mean of independent verdicts each takes off its own p (1 − p), whatever was asked before."""
    p = np.array([0.5, 0.02, 0.3, 0.9, 0.6, 0.99, 0.8, 0.1])
    scorer = Scorer(one_nugget_each(collect, len(p)), [RECALL], Said(lambda draw, nugget, match: p[nugget]))
    matched = scorer.read("new")
    found = suggest(scorer, matched, RECALL, 100)
    variance = p * (1 - p)
    assert [one.nugget for one in found] == np.argsort(-variance).tolist()
    for one in found:
        assert one.response == one.nugget
        assert one.probability == pytest.approx(p[one.nugget], rel=1e-4)
        # Within four standard errors of a variance of 2,000 draws, its own and that of all.
        own = p[one.nugget]
        error = 4 * abs(1 - 2 * own) * np.sqrt(own * (1 - own) / 2000) / variance.sum()
        expected = variance[one.nugget] / variance.sum()
        assert one.share == pytest.approx(expected, abs=error + 0.03 * expected)
    assert sum(one.share for one in found) == pytest.approx(1)


def test_the_forecast_of_independent_guesses_is_what_is_left_of_their_variance(collect):
    """Of a draw in which each chance is proportional to p (1 − p): within what 500 such draws differ."""
    p = np.linspace(0.03, 0.97, 24)
    scorer = Scorer(one_nugget_each(collect, len(p)), [RECALL], Said(lambda draw, nugget, match: p[nugget]))
    matched = scorer.read("new")
    ahead = forecast(scorer, matched, RECALL)
    low, high = scorer.score(matched).measures["recall"].judging
    assert ahead.now == pytest.approx((low, high))
    variance, rng = p * (1 - p), np.random.default_rng(0)
    orders = [rng.choice(24, 24, replace=False, p=variance / variance.sum()) for _ in range(500)]
    left = [np.sqrt(1 - np.cumsum([0, *variance[order]]) / variance.sum() + 1e-12) for order in orders]
    for k in (0, 1, 5, 10, 20, 24):
        share = ahead.width_after(k) / (high - low)
        assert share == pytest.approx(np.mean(left, axis=0)[k], abs=4 * np.std(left, axis=0)[k] + 0.01)


def test_of_several_responses_a_no_to_one_settles_only_that_one(collect):
    """F is whether either of two carries it: cov² / var of the first is p (1 − p) (1 − q)², over the variance of F."""
    texts = ("kiwi {}", "nothing of that kind")
    scorer = Scorer(
        one_nugget_each(collect, 40, texts),
        [RECALL],
        Said(lambda draw, nugget, match: 0.6 if match else 0.3),
    )
    found = suggest(scorer, scorer.read("new"), RECALL, 1000)
    whole = 1 - 0.4 * 0.7
    expected = 0.6 * 0.4 * 0.7**2 / (whole * (1 - whole)) / 40
    likelier = [one for one in found if one.response % 2 == 0]
    assert [one.response % 2 for one in found[:40]] == [0] * 40
    assert np.mean([one.share for one in likelier]) == pytest.approx(expected, rel=0.05)
    assert len(found) == 80
    assert sum(one.share for one in found) == pytest.approx(1, abs=1e-6)


def test_what_all_verdicts_share_is_asked_for_once(collect):
    """Half of the draws are of a good system, half of a bad one: one verdict takes off var(F) / var(y), exactly."""

    def chance(draw, nugget, match):
        return np.where(draw * 7919 % 2000 < 1000, 0.9, 0.1)

    scorer = Scorer(one_nugget_each(collect, 30), [RECALL], Said(chance))
    found = suggest(scorer, scorer.read("new"), RECALL, 3)
    assert found[0].share == pytest.approx((0.16 + 0.09 / 30) / 0.25, rel=0.05)
    assert found[1].share < 0.4 * found[0].share


def test_near_copies_are_not_asked_for(collect):
    """Nuggets of the even questions are all there or all not; one of each question tells all, so it is asked first and
    the others hardly matter, though each by itself would matter as much."""

    alike = np.random.default_rng(0).choice([0.01, 0.99], (10, 2000))

    def chance(draw, nugget, match):
        question = nugget // 4
        return 0.0 if not match else 0.4 if question % 2 else alike[question]

    scorer = Scorer(one_nugget_each(collect, 10, nuggets=4), [RECALL], Said(chance))
    found = suggest(scorer, scorer.read("new"), RECALL, 25)
    assert sorted(one.nugget // 4 for one in found[:5]) == [0, 2, 4, 6, 8]
    assert all(one.nugget // 4 % 2 for one in found[5:])


def test_of_a_difference_texts_that_both_runs_return_do_not_matter(collect):
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": f"kiwi q{i}"} for i in range(12)]
    shared = [(f"q{i}", f"kiwi q{i}") for i in range(4)]
    new = [(f"q{i}", f"kiwi q{i} of the new") for i in range(4, 12)]
    old = [(f"q{i}", f"kiwi q{i} of the old") for i in range(4, 10)]
    p = np.linspace(0.2, 0.8, 12)
    collection = collect(nuggets, {"new": shared + new, "old": shared + old})
    scorer = Scorer(collection, [RECALL], Said(lambda draw, nugget, match: p[nugget]))
    after, before = scorer.read("new"), scorer.read("old")
    found = suggest(scorer, after, RECALL, 100, before)
    assert sorted((one.run, one.nugget) for one in found) == [
        *((0, nugget) for nugget in range(4, 12)),
        *((1, nugget) for nugget in range(4, 10)),
    ]
    variance = p * (1 - p)
    total = variance[4:12].sum() + variance[4:10].sum()
    for one in found:
        assert one.share == pytest.approx(variance[one.nugget] / total, rel=0.15)
        text = (before if one.run else after).run.texts[one.response]
        assert text.endswith("of the old" if one.run else "of the new")
    assert suggest(scorer, after, RECALL, 100, after) == []
    assert forecast(scorer, after, RECALL, after).now == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("against", [None, "build-101"])
def test_what_is_left_is_what_is_left_when_the_draws_are_sorted_by_the_verdicts(sample, against):
    """For one verdict and for three, of the fitted model, without systems that are unlike all others: with these the
    draws are far from jointly normal."""
    fitted, measure = Scorer(sample).model, parse("f3")
    scorer = Scorer(sample, model=replace(fitted, odd=np.zeros_like(fitted.odd)))
    values = VerdictValues(scorer, scorer.read("build-103"), measure, scorer.read(against) if against else None)
    found = values.suggest(3)
    cells, drawn = draw_open_groups(scorer, values._readings)
    score = _score(scorer.key, values._readings, drawn.found, measure).sum(axis=0)
    rows = [np.flatnonzero((cells.nugget == one.nugget) & (cells.response == one.response)) for one in found]
    verdicts = [drawn.verdicts[row[cells.run[row] == one.run][0]] > 0 for one, row in zip(found, rows, strict=True)]
    for count in (1, 3):
        left = 0.0
        for outcome in product([False, True], repeat=count):
            same = np.all([own == said for own, said in zip(verdicts, outcome, strict=False)], axis=0)
            left += same.mean() * score[same].var() if same.any() else 0
        taken = sum(one.share for one in found[:count])
        # A share of the variance of 2,000 draws in up to eight parts: its standard error is about 0.01.
        assert taken == pytest.approx(1 - left / score.var(), abs=0.03)
        assert taken > 0.02


def covariance_of(chances, drawn, question, score):
    kept = chances.astype(np.float32), drawn.astype(np.float32)
    return ScoreCovariance(*kept, chances.mean(axis=1), question, score)


def test_learning_verdicts_one_by_one_is_conditioning_on_all_of_them_at_once():
    """Against the covariance of everything, put together and inverted."""
    rng = np.random.default_rng(0)
    draws, questions, each = 2000, 6, 5
    level = rng.normal(size=draws)
    chances = 1 / (1 + np.exp(-(level + rng.normal(size=(questions * each, draws)))))
    drawn = rng.random(chances.shape) < chances
    score = drawn.reshape(questions, each, draws).mean(axis=1) / questions
    question = np.repeat(np.arange(questions), each)

    covariance = covariance_of(chances, drawn, question, score)
    load = np.concatenate([covariance._total_load[None], covariance._load])
    whole = load @ load.T
    whole[0, 0] += sum(own[0, 0] for own in covariance._own)
    for q, own in enumerate(covariance._own):
        here = 1 + np.arange(q * each, (q + 1) * each)
        whole[0, here] += own[0, 1:]
        whole[here, 0] += own[1:, 0]
        whole[np.ix_(here, here)] += own[1:, 1:]
    assert whole[0, 0] == pytest.approx(score.sum(axis=0).var(), rel=0.05)
    learned = [3, 4, 17, 0, 25]
    for cell in learned:
        covariance.learn(cell)
    known = 1 + np.array(learned)
    inverse = np.linalg.inv(whole[np.ix_(known, known)])
    after = whole - whole[:, known] @ inverse @ whole[known]
    open_ = np.setdiff1d(np.arange(questions * each), learned)
    expected = after[0, 1 + open_] ** 2 / np.diag(after)[1 + open_]
    assert covariance.gain()[open_] == pytest.approx(expected, rel=1e-6)
    assert covariance.gain()[learned] == pytest.approx(0)


def test_verdicts_that_are_hardly_ever_a_yes_upset_nothing():
    """Several of a question are a yes in the same draw and in no other, so that no sum of them is the best one."""
    rng = np.random.default_rng(0)
    draws, questions, each = 2000, 20, 60
    level = rng.normal(size=draws)
    chances = 1 / (1 + np.exp(-(level + rng.normal(size=(questions * each, draws)))))
    rare = np.arange(len(chances)) % each >= 6
    chances[rare] = 5e-4
    drawn = rng.random(chances.shape) < chances
    score = drawn.reshape(questions, each, draws).mean(axis=1) / questions
    covariance = covariance_of(chances, drawn, np.repeat(np.arange(questions), each), score)
    assert covariance.variance() == pytest.approx(score.sum(axis=0).var(), rel=0.05)
    assert covariance.gain()[rare].max() < 0.01 * covariance.gain().max()


@pytest.mark.parametrize(("against", "correlation"), [(None, 0.0), ("build-102", 0.0), (None, 0.4)])
def test_the_draws_give_nuggets_the_chances_that_scores_have(sample, against, correlation):
    """For each nugget of each run, in the mean of 2,000 draws; and the score's mean and variance."""
    scorer = Scorer(sample, ["f3"], replace(Scorer(sample).model, answer=correlation))
    readings = [scorer.read(name) for name in ("build-103", against) if name]
    _, drawn = draw_open_groups(scorer, readings)
    for matched, found in zip(readings, drawn.found, strict=True):
        outcome = scorer.find(matched)
        chance = outcome.probability
        error = np.sqrt(chance * (1 - chance) / 2000)
        assert (abs(found.mean(axis=0) - chance) < 4.5 * error + 0.01).all()
        both = (Answers(scorer.key, has, outcome.drawn_partly & ~has, outcome.length) for has in (found, outcome.drawn))
        mine, theirs = (np.nanmean(scorer.measures[0](one), axis=1) for one in both)
        assert mine.mean() == pytest.approx(theirs.mean(), abs=0.02)
        assert mine.std() == pytest.approx(theirs.std(), rel=0.08)
    assert (abs(drawn.chances[:].mean(axis=1) - drawn.expected) < 0.002).all()
    assert (abs(drawn.verdicts[:].mean(axis=1) - drawn.expected) < 4.5 * np.sqrt(drawn.expected / 2000) + 0.001).all()


def test_what_is_suggested_is_open_and_of_its_question(sample):
    scorer = Scorer(sample)
    matched = scorer.read("build-102")
    outcome = scorer.find(matched)
    found = suggest(scorer, matched, scorer.measures[0], 100)
    assert len({(one.nugget, one.response) for one in found}) == 100
    begin = np.repeat(np.arange(len(matched.run)), np.diff(matched.begin))
    for one in found:
        assert not outcome.known[one.nugget]
        assert matched.run.question[one.response] == scorer.key.question[one.nugget]
        pair = np.flatnonzero((begin == one.response) & (matched.pairs.nugget == one.nugget))
        assert matched.guessed[pair].all()
        chance = scorer.model.probability(matched.pairs[pair], matched.group)[0]
        assert one.probability == pytest.approx(chance, abs=0.05)


@pytest.mark.slow
def test_the_same_is_suggested_every_time(sample):
    found = []
    for _ in range(2):
        scorer = Scorer(sample)
        values = VerdictValues(scorer, scorer.read("build-103"), scorer.measures[0])
        found.append((values.suggest(20), values.forecast().widths.tolist(), values.suggest(40)))
    assert found[0] == found[1]
    assert found[0][2][:20] == found[0][0]


def test_a_model_that_cannot_say_how_sure_it_is_suggests_nothing(sample):
    scorer = Scorer(sample, model=FixedThreshold(0.2))
    matched = scorer.read("build-101")
    assert suggest(scorer, matched, scorer.measures[0], 5) == []
    with pytest.raises(NuggeteerError, match="fixed threshold"):
        forecast(scorer, matched, scorer.measures[0])


def test_where_all_is_known_nothing_is_asked(sample):
    name = next(run.name for run in sample.judged_runs if run.info.judged == "every")
    scorer = Scorer(sample)
    matched = scorer.read(name)
    assert not matched.guessed.any()
    assert suggest(scorer, matched, scorer.measures[0], 5) == []
    ahead = forecast(scorer, matched, scorer.measures[0])
    assert ahead.now[0] == ahead.now[1] == pytest.approx(scorer.score(matched).measures["f3"].value)
    assert ahead.width_after(10) == 0
