"""The default matcher: words in windows, and what similar judged texts add. A verdict survives rewording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from nuggeteer.collection.folder import read_collection
from nuggeteer.matching.clues import CLUES, ClueTables
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.matching.similar_texts import GramReader, JudgedTexts
from nuggeteer.scoring.known import UNKNOWN, YES
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


def carried_by(matched):
    """What is carried over to each nugget that is guessed."""
    clues = sum(matched.clues[:, matched.names.index(name)] for name in ("hint", "carried"))
    return np.where(matched.best >= 0, clues, np.nan)


def test_what_was_judged_is_carried_over_to_texts_like_it(night):
    """The first yes, from whichever text of the answer has most of it; and less of it where another text was a no."""
    monday = [text for _, text in LAST_NIGHT]
    yes = carried_by(Scorer(night(verdict("1", monday[0], True), folder="one")).read("tonight"))[0]
    judged = verdict("1", monday[0], True), verdict("1", monday[1], False)
    both = carried_by(Scorer(night(*judged, folder="two")).read("tonight"))[0]
    turned = verdict("1", monday[0], False), verdict("1", monday[1], True)
    other = carried_by(Scorer(night(*turned, folder="three")).read("tonight"))[0]
    assert min(yes, both, other) > 0.1
    no = carried_by(Scorer(night(verdict("1", monday[0], False), folder="four")).read("tonight"))[0]
    assert no <= 0


def test_of_a_nugget_that_nobody_judged_nothing_is_said(night):
    collection = night(verdict("1", LAST_NIGHT[0][1], True))
    found = carried_by(Scorer(collection).read("tonight"))
    judged = collection.key.nugget_position["q", "1"]
    assert (np.delete(found, judged) == 0).all()
    assert found[judged] != 0


def test_without_verdicts_nothing_is_carried_over(night):
    assert (carried_by(Scorer(night()).read("tonight")) == 0).all()


def test_the_signature_says_which(night):
    parts = str(Scorer(night()).signature).split("|")
    assert "match:learned(weights=idf,informative=descriptions)" in parts


def test_known_pairs_are_not_guessed_again(night):
    collection = night(verdict("1", LAST_NIGHT[0][1], True))
    matched = Scorer(collection).read("monday")
    assert not matched.open_nuggets[0]
    assert matched.best[0] != 0  # what stands for the answer is a text that nobody judged
    assert chances(collection, "monday")["q", "1"] == 1.0


def test_the_scores_are_the_windows_whoever_judged_what(sample):
    """Thresholds learn by these."""
    scorer, run = Scorer(sample), sample.run("build-103")
    tables = ClueTables(scorer.key, scorer.material.settings, scorer.material.idf)
    clues = tables.clues(run.normalised_texts, run.question)
    np.testing.assert_array_equal(scorer.matcher.score(run.normalised_texts, run.question), clues[:, 0].astype(float))
    unjudged = Scorer(replace(sample, judgements=(), manifest={}))
    found = unjudged.matcher.match(run.normalised_texts, run.question)
    np.testing.assert_array_equal(found.clues, clues)
    assert found.names == CLUES


@pytest.mark.slow
def test_what_is_carried_is_the_regression_on_the_question_s_verdicts(sample):
    scorer, run = Scorer(sample), sample.run("build-103")
    key, known = scorer.key, scorer.known
    carried = scorer.matcher.carried(run.normalised_texts, run.question)
    reader = GramReader(scorer.material.idf, scorer.material.settings)
    begin = scorer.read(run).begin
    for question in np.unique(run.question).tolist():
        rows = np.flatnonzero(known.question == question)
        if not len(rows):
            continue
        states = known([known.texts[i] for i in rows], known.question[rows]).reshape(len(rows), -1)
        about = JudgedTexts(reader.read([known.texts[i] for i in rows]), states != UNKNOWN, states == YES)
        own = np.flatnonzero(run.question == question)
        expected = about.predictions(reader.read([run.normalised_texts[i] for i in own]))
        for row, values in zip(own, expected, strict=True):
            np.testing.assert_allclose(carried[begin[row] : begin[row + 1]], values, atol=6e-5)
    assert np.abs(carried).max() > 0.3
    assert key.counts[run.question].sum() == len(carried)


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
    """One system of REALSumm judged, and a variant of it guessed."""
    collection = read_collection(shared("realsumm"))
    judged, tonight = "ext_pnbert_out_bert_tf_pn", "ext_pnbert_out_lstm_pn_rl"
    kept = {(question, text) for run in [collection.run(judged)] for question, text in _texts(run)}
    rest = replace(
        collection,
        judgements=tuple(j for j in collection.judgements if (collection.key.position[j.qid], j.pair[2]) in kept),
        manifest={
            name: structs.replace(info, judged="every" if name == judged else "none")
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
