"""Marked words describe their nugget too; but not to the judged texts of the systems that they were marked in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from nuggeteer.matching.marked import MarkedWords
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.text import normalised
from nuggeteer.thresholds import FixedThreshold

NUGGETS = [
    {"qid": "q", "nugget": "1", "text": "first programmer"},
    {"qid": "q", "nugget": "2", "text": "daughter of Byron"},
]
CODER = "Credited as the earliest coder of all."
MARKED = (CODER.index("earliest"), CODER.index(" of all"))
OTHER = "She was an earliest coder, they say."
NGRAM = '[match]\nmatcher = "ngram"\n'
ON = f"{NGRAM}marked = true\n"


def yes(text, run, span=None):
    line = {"qid": "q", "nugget": "1", "text": text, "verdict": True, "run": run, "assessor": "ann"}
    return {**line, "span": span} if span else line


@pytest.fixture
def runs(collect):
    """One system's text, with `earliest coder` marked; another system's, judged too; and tonight's."""

    def make(toml=ON, span=MARKED):
        texts = {"a": [("q", CODER)], "b": [("q", OTHER)], "tonight": [("q", "An earliest coder.")]}
        verdicts = [yes(CODER, "a", list(span)), yes(OTHER, "b")]
        return collect(NUGGETS, texts, verdicts, dict.fromkeys("ab", "none"), toml, str(len(toml)))

    return make


def by_hand(collection, texts, *words):
    """N-gram scores with these words written into the key."""
    key = collection.key
    first = structs.replace(key.nuggets[0], descriptions=(*key.nuggets[0].descriptions, *words))
    key = replace(key, nuggets=(first, *key.nuggets[1:]))
    matcher = NgramMatcher(key, collection.settings.match, Scorer(collection, model=FixedThreshold(0.5)).material.idf)
    return matcher.score([normalised(text) for text in texts], np.zeros(len(texts), dtype=np.int32))


def test_judged_responses_describe_their_nugget_and_the_best_match_counts(runs):
    """Nuggeteer 4.5; but not to the judged texts of the same system."""
    collection = runs(f'{NGRAM}described = "responses"\n')
    scorer = Scorer(collection, model=FixedThreshold(0.5))
    texts = ["An earliest coder.", "Credited, they say."]
    question = np.zeros(2, dtype=np.int32)
    scores = scorer.matcher.score([normalised(text) for text in texts], question)
    assert scores.tolist() == by_hand(collection, texts, normalised(CODER), normalised(OTHER)).tolist()
    alone = [by_hand(collection, texts, *more) for more in ((), (normalised(CODER),), (normalised(OTHER),))]
    assert scores[::2].tolist() == np.max(alone, axis=0)[::2].tolist()
    judged = scorer.material.judged
    found = scorer.matcher.score_judged(judged).reshape(-1, 2)[:, 0].tolist()
    by = {normalised(CODER): OTHER, normalised(OTHER): CODER}
    assert found == [by_hand(collection, [text], normalised(by[text]))[0] for text in judged.texts]
    assert str(scorer.signature) != str(Scorer(runs(NGRAM), model=FixedThreshold(0.5)).signature)


def test_new_texts_are_matched_with_the_marked_words(runs):
    collection = runs()
    scorer = Scorer(collection, model=FixedThreshold(0.5))
    assert isinstance(scorer.matcher, MarkedWords)
    scores = scorer.read("tonight").scores
    assert scores.tolist() == by_hand(collection, ["An earliest coder."], "earliest coder").tolist()
    assert scores[0] == 1.0
    assert scorer.score(scorer.read("tonight")).outcome.found.tolist() == [True, False]


def test_a_judged_text_gets_no_score_from_words_of_its_own_group(runs):
    collection = runs()
    scorer = Scorer(collection, model=FixedThreshold(0.5))
    scores = scorer.matcher.score_judged(scorer.material.judged).reshape(-1, 2)
    judged = dict(zip(scorer.known.texts, scores.tolist(), strict=True))
    assert judged[normalised(CODER)] == by_hand(collection, [CODER]).tolist()
    assert judged[normalised(OTHER)] == by_hand(collection, [OTHER], "earliest coder").tolist()
    assert judged[normalised(OTHER)][0] > judged[normalised(CODER)][0]


def test_words_are_used_only_where_the_settings_say_so(runs):
    scorer = Scorer(runs(toml=NGRAM), model=FixedThreshold(0.5))
    assert isinstance(scorer.matcher, NgramMatcher)
    assert scorer.read("tonight").scores[0] == 0


def test_scores_with_other_words_have_another_signature(runs):
    signatures = {
        Scorer(runs(), model=FixedThreshold(0.5)).signature,
        Scorer(runs(span=(0, 8)), model=FixedThreshold(0.5)).signature,
        Scorer(runs(toml=NGRAM), model=FixedThreshold(0.5)).signature,
    }
    assert len(signatures) == 3


@pytest.mark.parametrize("span", [(5, 5), (-1, 4), (0, 1000), (0, 1, 2), ("a", "b")])
def test_a_span_that_is_none_is_no_description(runs, span):
    assert isinstance(Scorer(runs(span=span), model=FixedThreshold(0.5)).matcher, NgramMatcher)
