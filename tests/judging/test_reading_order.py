"""What to read next, against formulas for models whose verdicts are independent, and against sorting the draws of the
fitted model by what a card says."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from nuggeteer.comparing.strange import strange_answers
from nuggeteer.judging.forecast import Pace
from nuggeteer.judging.reading_order import MOST, ReadingOrder, first_cards, suggest
from nuggeteer.measures import parse
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.thresholds import FixedThreshold

RECALL = parse("recall")


class Said:
    """A model that is told the chance of each nugget."""

    signature = "said"

    def __init__(self, chance):
        self.chance = np.array(chance)

    def threshold(self, nugget):
        return np.full(len(nugget), 0.5)

    def draw(self, count, seed):
        self.count = count
        return self

    def chances(self, units):
        return np.repeat(self.chance[units.nugget][:, None], self.count, axis=1)


def questions_of(collect, questions, nuggets=1, runs=("new",), words=0):
    """Questions with as many nuggets; each run answers them in two sentences, padded with so many words."""
    names = [f"q{i}" for i in range(questions)]
    key = [{"qid": q, "nugget": str(n), "text": f"kiwi {q} {n}"} for q in names for n in range(nuggets)]
    return collect(
        key,
        {
            run: [(q, text) for q in names for text in (f"{run} of {q} says kiwi." + " word" * words, "And more.")]
            for run in runs
        },
    )


def order_of(collection, chance, against=None, **how):
    scorer = Scorer(collection, [RECALL], Said(chance), **how)
    old = None if against is None else scorer.read(against)
    return ReadingOrder(scorer, scorer.read("new"), RECALL, old, Pace())


def test_a_card_is_an_answer_with_its_open_nuggets(collect):
    """Its share is what its verdicts take off the variance: of a mean of independent ones, that of its own."""
    p = np.array([[0.5, 0.02, 0.3], [0.9, 0.6, 0.99], [0.8, 0.1, 0.5], [0.2, 0.4, 0.7]])
    cards = order_of(questions_of(collect, 4, 3), p.ravel()).cards
    variance = p * (1 - p)
    assert sorted(card.question for card in cards) == [0, 1, 2, 3]
    for card in cards:
        assert [one.nugget for one in card.suggestions] == [3 * card.question + i for i in range(3)]
        expected = variance[card.question].sum() / variance.sum()
        assert card.share == pytest.approx(expected, rel=0.1)
        for one in card.suggestions:
            assert one.probability == pytest.approx(p.ravel()[one.nugget], rel=1e-4)
            assert (one.scope, one.run) == ("answer", 0)
            own = p.ravel()[one.nugget]
            # Within four standard errors of a variance of 2,000 draws.
            error = 4 * abs(1 - 2 * own) * np.sqrt(own * (1 - own) / 2000) / variance.sum()
            assert one.share == pytest.approx(own * (1 - own) / variance.sum(), abs=error + 0.01)
    assert sum(card.share for card in cards) == pytest.approx(1, abs=0.05)


def test_a_card_costs_the_reading_of_its_answer_once_and_a_decision_for_each_nugget(collect):
    """At 238 words a minute, and four seconds a decision: by counting words."""
    order = order_of(questions_of(collect, 2, 3, words=100), [0.5] * 6)
    for card in order.cards:
        answer, asked = order.runs[0].run.answer(card.question), order.scorer.key.questions[card.question].text
        descriptions = [order.scorer.key.nuggets[one.nugget].descriptions[0] for one in card.suggestions]
        words = len(" ".join([asked, answer, *descriptions]).split())
        assert card.seconds == pytest.approx(words * 60 / 238 + 3 * 4)
        assert card.suggestions[0].seconds > 100 * 60 / 238 > card.suggestions[1].seconds


@pytest.mark.slow
def test_cards_are_drawn_by_what_a_minute_tells(collect):
    """Over many seeds each comes first as often as its share for each second says."""
    p = np.array([0.5, 0.05, 0.3, 0.9, 0.15])
    order = order_of(questions_of(collect, len(p)), p)
    told = np.array([card.share / card.seconds for card in sorted(order.cards, key=lambda card: card.question)])
    first, tries = np.zeros(len(p)), 1500
    for seed in range(tries):
        order.scorer.seed = seed
        vars(order).pop("cards")
        first[order.cards[0].question] += 1
        if seed == 0:
            again = [card.question for card in order.cards]
    chance = told / told.sum()
    assert first / tries == pytest.approx(chance, abs=4 * np.sqrt(0.25 / tries))
    order.scorer.seed = 0
    vars(order).pop("cards")
    assert [card.question for card in order.cards] == again, "the same for everybody who asks"


def test_the_lot_of_an_answer_is_the_same_for_everybody(sample):
    """Two assessors at once are asked the same, and nobody's order changes more than what is known."""
    scorer = Scorer(sample)
    order = ReadingOrder(scorer, scorer.read("build-103"), scorer.measures[0])
    lots = {card.question: order._lot(card.question) for card in order.cards}
    other = Scorer(sample)
    other_order = ReadingOrder(other, other.read("build-103"), other.measures[0])
    assert lots == {card.question: other_order._lot(card.question) for card in other_order.cards}
    assert [card.question for card in order.cards] == [card.question for card in other_order.cards]


def test_many_nuggets_of_one_answer_make_several_cards_the_most_telling_first(collect):
    count = MOST + 7
    p = np.where(np.arange(count) % 6 == 3, 0.01, 0.5)
    unlikely = np.flatnonzero(p < 0.1).tolist()
    cards = order_of(questions_of(collect, 1, count), p).cards
    assert [len(card.suggestions) for card in cards] == [MOST, 7]
    asked = [one.nugget for card in cards for one in card.suggestions]
    assert sorted(asked) == list(range(count))
    assert {one.nugget for one in cards[1].suggestions} <= set(unlikely)
    assert cards[0].share > 5 * cards[1].share


def test_with_one_response_a_verdict_is_on_the_response(collect):
    key = [{"qid": "q", "nugget": "1", "text": "kiwi"}]
    collection = collect(key, {"new": [("q", "a kiwi")]})
    (card,) = order_of(collection, [0.5]).cards
    assert [one.scope for one in card.suggestions] == ["response"]


def test_for_a_change_both_answers_come_together_and_what_is_alike_is_not_asked(collect):
    names = [f"q{i}" for i in range(12)]
    nuggets = [{"qid": q, "nugget": "1", "text": f"kiwi {q}"} for q in names]
    runs = {
        "new": [(q, f"kiwi {q}" if i < 4 else f"kiwi {q} of the new") for i, q in enumerate(names)],
        "old": [(q, f"kiwi {q}" if i < 4 else f"kiwi {q} of the old") for i, q in enumerate(names[:10])],
    }
    p = np.linspace(0.2, 0.8, 12)
    order = order_of(collect(nuggets, runs), p, "old")
    assert sorted(card.question for card in order.cards) == list(range(4, 12))
    variance = p * (1 - p)
    total = variance[4:12].sum() + variance[4:10].sum()
    for card in order.cards:
        sides = [one.run for one in card.suggestions]
        assert sides == ([1, 0] if card.question < 10 else [0]), "the old answer first"
        assert card.share == pytest.approx(len(sides) * variance[card.question] / total, rel=0.15)
        for one in card.suggestions:
            text = order.runs[one.run].run.texts[one.response]
            assert text.endswith("of the old" if one.run else "of the new")
    same = ReadingOrder(order.scorer, order.runs[0], RECALL, order.runs[0])
    assert same.cards == ()
    assert same.forecast().now == 0


def test_a_strange_night_is_read_where_it_is_strange_first(collect):
    names = [f"q{i}" for i in range(20)]
    nuggets = [{"qid": q, "nugget": "1", "text": f"kiwi {q}"} for q in names]
    usual = [(q, f"The kiwi of {q} is green, and it grows on a vine in the garden.") for q in names]
    refused = {"q3", "q8", "q11", "q17"}
    new = [
        (q, f"I'm sorry, I cannot answer {q}." if q in refused else text.replace("green", "ripe")) for q, text in usual
    ]
    order = order_of(collect(nuggets, {"new": new, "old": usual}), np.full(20, 0.5), "old")
    runs = [matched.run for matched in order.runs]
    assert strange_answers(order.scorer.key, order.scorer.collection.settings.match, runs[1], runs[0])
    asked = [order.scorer.key.questions[card.question].qid for card in order.cards]
    assert set(asked[:4]) == refused
    assert len(asked) == 20


def test_the_forecast_of_independent_answers_is_what_is_left_of_their_variance(collect):
    p = np.linspace(0.03, 0.97, 24)
    order = order_of(questions_of(collect, len(p)), p)
    ahead = order.forecast()
    low, high = order.scorer.score(order.runs[0]).measures["recall"].judging
    assert ahead.now == pytest.approx(high - low)
    variance = p * (1 - p)
    asked = [card.question for card in order.cards]
    left = 1 - np.cumsum([0, *variance[asked]]) / variance.sum()
    for k in (0, 1, 5, 10, 20):
        assert ahead.widths[k] / ahead.now == pytest.approx(np.sqrt(left[k]), abs=0.06)
    assert ahead.widths[-1] == pytest.approx(0, abs=0.02)
    assert ahead.seconds[-1] == pytest.approx(sum(card.seconds for card in order.cards))


@pytest.mark.slow
def test_what_the_first_card_takes_off_is_what_is_left_when_the_draws_are_sorted_by_its_answer(sample):
    """Of the fitted model: draws in which the answer contributes the same are put together. What it says of the level
    of the build counts too."""
    scorer = Scorer(sample)
    order = ReadingOrder(scorer, scorer.read("build-103"), parse("f3"))
    total, ahead = order.contributions.sum(axis=1), order.forecast()
    _, which = np.unique(order.contributions[:, order.cards[0].question], return_inverse=True)
    sums, counts = np.bincount(which, total), np.bincount(which)
    left = ((total - (sums / counts)[which]) ** 2).mean() * len(total) / (len(total) - len(counts))
    assert left / total.var() < 0.9
    assert (ahead.widths[1] / ahead.now) ** 2 == pytest.approx(left / total.var(), abs=0.06)


def test_what_is_suggested_is_open_and_of_its_question(sample):
    scorer = Scorer(sample)
    matched = scorer.read("build-102")
    outcome = scorer.find(matched)
    found = suggest(scorer, matched, scorer.measures[0], 1000)
    assert len({one.nugget for one in found}) == len(found) > 10
    for one in found:
        assert not outcome.known[one.nugget]
        assert matched.run.question[one.response] == scorer.key.question[one.nugget]
        assert one.probability == pytest.approx(outcome.probability[one.nugget])


def test_the_last_card_is_whole():
    cards = [SimpleNamespace(suggestions=range(count)) for count in (3, 4, 2)]
    assert [len(first_cards(cards, count)) for count in (0, 1, 3, 4, 7, 8, 100)] == [0, 1, 1, 2, 2, 3, 3]


def test_a_model_that_cannot_say_how_sure_it_is_suggests_nothing(sample):
    scorer = Scorer(sample, model=FixedThreshold(0.2))
    matched = scorer.read("build-101")
    assert suggest(scorer, matched, scorer.measures[0], 5) == []


def test_where_all_is_known_nothing_is_asked(sample):
    name = next(run.name for run in sample.judged_runs if run.info.judged == "every")
    scorer = Scorer(sample)
    matched = scorer.read(name)
    assert not matched.guessed.any()
    assert suggest(scorer, matched, scorer.measures[0], 5) == []


@pytest.mark.slow
def test_the_first_card_grows_with_the_nuggets_of_a_question_and_not_with_their_square(collect):
    """Ten times the nuggets take less than thirty times the memory for each array, and no array of all pairs of
    them."""
    import tracemalloc

    peaks = []
    for count in (400, 4000):
        collection = questions_of(collect, 1, count)
        scorer = Scorer(collection, [RECALL], Said(np.full(count, 0.5)))
        matched = scorer.read("new")
        order = ReadingOrder(scorer, matched, RECALL, pace=Pace())
        tracemalloc.start()
        assert len(order.cards[0].suggestions) == MOST
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 15 * peaks[0]
