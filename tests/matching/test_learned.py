"""The default matcher: n-grams, and what similar judged texts add. A verdict survives rewording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.matching.carried_weights import WEIGHTS
from nuggeteer.matching.clues import CLUES
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.trust.crossval import crossval
from tests.conftest import shared

NUGGETS = [
    {"qid": "q", "nugget": "1", "text": "had to leave office"},
    {"qid": "q", "nugget": "2", "text": "lives in Oslo"},
    {"qid": "r", "nugget": "1", "text": "was found by accident"},
]
LAST_NIGHT = [
    ("q", "She resigned as minister after the scandal over tax."),
    ("q", "The weather in spring was unusually warm and dry."),
    ("r", "A cook spilled the sauce and liked what he tasted."),
]
TONIGHT = [
    ("q", "After a tax scandal she resigned from the post of minister."),
    ("q", "Spring was unusually warm, and the weather was dry."),
    ("r", "Nobody knows who first made it."),
]


def verdict(nugget, text, yes, qid="q", **more):
    return {"qid": qid, "nugget": nugget, "text": text, "verdict": yes, **more}


def chances(collection, run="tonight"):
    """The probability that the run has each nugget, by (question, nugget)."""
    found = score(collection, [run], ["recall"])[run].outcome.probability
    return {(n.qid, n.nugget): p for n, p in zip(collection.key.nuggets, found.tolist(), strict=True)}


@pytest.fixture
def night(collect):
    """Two nights of one system; no manifest, no groups, no settings. The words of the description are in neither."""

    def make(*judgements, folder="night"):
        return collect(NUGGETS, {"monday": LAST_NIGHT, "tonight": TONIGHT}, judgements, folder=folder)

    return make


def test_it_is_the_default(night):
    assert isinstance(Scorer(night()).matcher, LearnedMatcher)


def test_the_first_yes_speaks_for_a_text_that_says_it_in_other_words(night):
    """One verdict, on last night's wording; tonight's differs, and so does another nugget's."""
    nothing = chances(night())
    yes = chances(night(verdict("1", LAST_NIGHT[0][1], True), folder="yes"))
    assert yes["q", "1"] > nothing["q", "1"] + 0.2


def test_a_no_speaks_against_it(night):
    yes = verdict("1", LAST_NIGHT[0][1], True)
    with_no = chances(night(yes, verdict("1", LAST_NIGHT[1][1], False), folder="no"))
    turned = chances(
        night(verdict("1", LAST_NIGHT[0][1], False), verdict("1", LAST_NIGHT[1][1], True), folder="turned")
    )
    matched = Scorer(night(yes, folder="again")).read("tonight")
    assert with_no["q", "1"] > 0.5
    assert turned["q", "1"] > 0.5  # by the second text
    assert matched.pairs.carried is not None


def test_of_a_nugget_that_nobody_judged_nothing_is_said(night):
    collection = night(verdict("1", LAST_NIGHT[0][1], True))
    matched = Scorer(collection).read("tonight")
    judged = collection.key.nugget_position["q", "1"]
    assert (matched.pairs.carried[matched.pairs.nugget != judged] == 0).all()
    assert (matched.pairs.carried[matched.pairs.nugget == judged] != 0).any()


def test_without_verdicts_it_is_n_grams(collect, night):
    learned = night()
    ngram = collect(NUGGETS, {"tonight": TONIGHT}, toml='[match]\nmatcher = "ngram"\n', folder="ngram")
    assert chances(learned) == chances(ngram)
    assert Scorer(learned).read("tonight").pairs.carried is None


def test_the_signature_says_which(night, collect):
    ngram = collect(NUGGETS, {"tonight": TONIGHT}, toml='[match]\nmatcher = "ngram"\n', folder="ngram")
    parts = str(Scorer(night()).signature).split("|")
    assert f"match:learned[{Scorer(ngram).matcher.signature}]" in parts


def test_known_pairs_are_not_guessed_again(night):
    collection = night(verdict("1", LAST_NIGHT[0][1], True))
    matched = Scorer(collection).read("monday")
    assert matched.pairs.carried is None  # its own verdict adds nothing to what is known
    assert chances(collection, "monday")["q", "1"] == 1.0


def test_the_scores_are_those_of_n_grams(sample):
    """Thresholds learn by these, whoever judged what."""
    scorer = Scorer(sample)
    run = sample.run("build-103")
    plain = NgramMatcher(scorer.key, scorer.material.settings, scorer.material.idf)
    np.testing.assert_array_equal(
        scorer.matcher.score(run.normalised_texts, run.question), plain.score(run.normalised_texts, run.question)
    )


def test_what_is_carried_is_the_sum_of_the_weighed_clues(sample):
    scorer = Scorer(sample)
    run = sample.run("build-103")
    clues = scorer.matcher.features(run.normalised_texts, run.question)
    carried = scorer.matcher.carried(run.normalised_texts, run.question)
    expected = sum(WEIGHTS[name] * clues[:, i] for i, name in enumerate(CLUES))
    guessed = scorer.read(run).guessed  # a known pair has clues of the other verdicts only
    assert 0 < guessed.sum() < len(guessed)
    np.testing.assert_allclose(carried[guessed], np.where(np.isnan(expected), 0.0, expected)[guessed], atol=5e-5)
    assert set(WEIGHTS) == set(CLUES)


def test_the_order_of_verdicts_and_of_responses_changes_no_bit(sample):
    run = sample.run("build-103")
    turned = replace(sample, judgements=tuple(reversed(sample.judgements)))
    before, after = Scorer(sample).matcher, Scorer(turned).matcher
    carried = before.carried(run.normalised_texts, run.question)
    np.testing.assert_array_equal(carried, after.carried(run.normalised_texts, run.question))
    for row in (0, 17):
        own = slice(*Scorer(sample).read(run).begin[row : row + 2])
        np.testing.assert_array_equal(
            carried[own], before.carried(run.normalised_texts[row : row + 1], run.question[row : row + 1])
        )


def test_a_fixed_threshold_takes_n_grams_as_they_are(collect):
    collection = collect(
        NUGGETS,
        {"monday": LAST_NIGHT, "tonight": TONIGHT},
        [verdict("1", LAST_NIGHT[0][1], True)],
        toml='[threshold]\nmodel = "fixed"\n',
    )
    assert Scorer(collection).read("tonight").pairs.carried is None


def test_builds_of_one_system_can_be_left_out_one_at_a_time(collect):
    """No manifest: all are one group. What was judged in the other nights is what is known of each."""
    nights = {f"night{i}": [("q", f"{text} Night {i}.") for _, text in LAST_NIGHT[:2]] for i in range(3)}
    judgements = [
        verdict("1", text, row == 0, run=night)
        for night, texts in nights.items()
        for row, (_, text) in enumerate(texts)
    ]
    result = crossval(collect(NUGGETS, nights, judgements))
    assert result.groups == 3
    assert result.pairs.n == 6
    assert result.pairs.f1 == 1.0


def test_verdicts_that_name_no_run_belong_to_the_run_that_returns_the_text(collect):
    """Pools with a written yes or no on each pair, none of them called judged: each can be left out."""
    runs = {f"pool{i}": [("q", f"{text} {i}") for _, text in LAST_NIGHT[:2]] for i in range(3)}
    judgements = [
        verdict(str(nugget), text, row == 0 and nugget == 1)
        for responses in runs.values()
        for row, (_, text) in enumerate(responses)
        for nugget in (1, 2)
    ]
    collection = collect(NUGGETS, runs, judgements, dict.fromkeys(runs, "none"))
    assert {collection.owner(j) for j in collection.judgements} == set(runs)
    result = crossval(collection)
    assert result.groups == 3
    assert result.pairs.n == 12


@pytest.mark.slow
def test_near_copies_are_found_where_n_grams_do_not_find_them():
    """One system of REALSumm judged, and a variant of it guessed (experiments/next_build.py has all)."""
    collection = read_collection(shared("realsumm"))
    judged, tonight = "ext_pnbert_out_bert_tf_pn", "ext_pnbert_out_lstm_pn_rl"
    kept = {(question, text) for run in [collection.run(judged)] for question, text in _texts(run)}
    rest = replace(
        collection,
        judgements=tuple(j for j in collection.judgements if (collection.key.position[j.qid], j.pair[2]) in kept),
        manifest={
            name: replace(info, judged="every" if name == judged else "none")
            for name, info in collection.manifest.items()
        },
    )
    true = score(collection, [tonight], ["recall"])[tonight].outcome.found

    def f1(settings):
        found = score(replace(rest, settings=settings), [tonight], ["recall"])[tonight].outcome.found
        return 2 * (found & true).sum() / (found.sum() + true.sum())

    settings = rest.settings
    ngram = replace(settings, match=replace(settings.match, matcher="ngram"))
    assert f1(settings) > f1(ngram)


def _texts(run):
    return zip(run.question.tolist(), run.normalised_texts, strict=True)
