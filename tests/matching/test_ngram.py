"""The n-gram matcher against the paper's equations written out naively, pair by pair."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key
from nuggeteer.languages import Language
from nuggeteer.matching.choice import make
from nuggeteer.matching.idf import Idf
from nuggeteer.matching.ngram import CHUNK, NgramMatcher
from nuggeteer.records import AnswerKey, Nugget, Question
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.scoring.scorer import material
from nuggeteer.settings import Match
from nuggeteer.text import normalised

ALL = [
    Match(n=n, stem=stem, weights=weights, stopwords=stop)
    for n, stem, weights, stop in product((1, 2, 3), (False, True), ("idf", "unit"), ("keep", "remove"))
]
WEIGHTS = {"the": 0.01, "of": 0.02, "bomb": 3.0, "bombs": 3.5, "fermi": 6.0, "atomic": 4.0, "not": 0.5}
IDF = Idf("test", WEIGHTS, 7.0)

WORDS = st.sampled_from(["the", "of", "bomb", "bombs", "Fermi", "atomic", "not", "reactor", "É", "80", "a"])
TEXT = st.lists(WORDS, max_size=8).map(" ".join)


def key_of(*questions: list[tuple[str, ...]]) -> AnswerKey:
    asked = [Question(f"q{i}", "") for i in range(len(questions))]
    nuggets = [
        Nugget(f"q{i}", str(n), descriptions, "vital")
        for i, question in enumerate(questions)
        for n, descriptions in enumerate(question)
    ]
    return make_key(asked, nuggets)


def naive_grams(text: str, match: Match) -> dict[tuple[str, ...], tuple[str, ...]]:
    """n-gram -> the words as written, of the first place where it stands."""
    words = re.findall(r"\w+", text.lower().replace("é", "e"))
    if match.stopwords == "remove":
        words = [w for w in words if w not in Language("en").stop_words()]
    forms = words
    if match.stem:
        import Stemmer

        forms = [Stemmer.Stemmer("english").stemWord(w) for w in words]
    grams: dict[tuple[str, ...], tuple[str, ...]] = {}
    for n in range(1, match.n + 1):
        for i in range(len(words) - n + 1):
            grams.setdefault(tuple(forms[i : i + n]), tuple(words[i : i + n]))
    return grams


def naive_score(text: str, nugget: int, question: list[tuple[str, ...]], match: Match) -> float:
    """Equations 1–3 of the paper, normalised, with "other" nuggets in equation 2."""
    having = [set().union(*(naive_grams(d, match) for d in own)) for own in question]
    response = naive_grams(text, match)
    best = 0.0
    for description in question[nugget]:
        above = below = 0.0
        for gram in naive_grams(description, match):
            weight = 1.0 if match.weights == "unit" else sum(IDF[word] for word in gram)
            others = sum(gram in having[g] for g in range(len(question)) if g != nugget)
            value = weight * (1 - others / len(question))
            below += value
            above += value * (gram in response)
        best = max(best, above / below if below else 0.0)
    return best


@pytest.mark.slow
@settings(max_examples=60)
@given(
    match=st.sampled_from(ALL),
    questions=st.lists(
        st.lists(st.lists(TEXT, min_size=1, max_size=2).map(tuple), min_size=1, max_size=4), min_size=1, max_size=3
    ),
    texts=st.lists(TEXT, min_size=1, max_size=5),
)
def test_every_setting_agrees_with_the_equations(match, questions, texts):
    """All 24 settings, several questions and descriptions at once, equal a loop over pairs."""
    matcher = NgramMatcher(key_of(*questions), match, None if match.weights == "unit" else IDF)
    pairs = [(text, q) for q in range(len(questions)) for text in texts]
    scores = matcher.score([normalised(t) for t, _ in pairs], np.array([q for _, q in pairs], dtype=np.int32))
    expected = [naive_score(t, n, questions[q], match) for t, q in pairs for n in range(len(questions[q]))]
    assert scores == pytest.approx(expected, abs=1e-12)


@settings(max_examples=60)
@given(question=st.lists(TEXT, min_size=2, max_size=5, unique=True), text=TEXT, order=st.randoms(use_true_random=False))
def test_the_order_of_nuggets_changes_no_bit(question, text, order):
    """Shuffled nuggets get exactly the scores they had."""
    shuffled = list(question)
    order.shuffle(shuffled)

    def scores(descriptions):
        matcher = NgramMatcher(key_of([(d,) for d in descriptions]), Match(n=3), IDF)
        return dict(zip(descriptions, matcher.score([normalised(text)], np.zeros(1, np.int32)).tolist(), strict=True))

    assert scores(question) == scores(shuffled)


@settings(max_examples=60)
@given(question=st.lists(TEXT.filter(bool), min_size=1, max_size=4), match=st.sampled_from(ALL))
def test_a_response_that_has_the_description_scores_exactly_one(question, match):
    matcher = NgramMatcher(key_of([(d,) for d in question]), match, IDF)
    for n, description in enumerate(question):
        score = matcher.score([normalised(description)], np.zeros(1, np.int32))[n]
        assert score == (1.0 if naive_grams(description, match) else 0.0)


def test_a_lone_nugget_can_be_found():
    """Read literally, equation 2 makes every score of a question with one nugget 0; ours does not."""
    matcher = NgramMatcher(key_of([("built the reactor",)]), Match(), IDF)
    assert matcher.score(["built the reactor"], np.zeros(1, np.int32)).tolist() == [1.0]


def test_hand_worked_bigram_score():
    """'atomic bomb' alone in its question against 'bomb': 3 of 4 + 3 + (4 + 3) = 14."""
    matcher = NgramMatcher(key_of([("atomic bomb",)]), Match(), IDF)
    assert matcher.score(["a bomb"], np.zeros(1, np.int32)).tolist() == [3 / 14]


def test_words_shared_by_all_nuggets_say_less():
    """A unigram that 1 of 2 other nuggets has counts with informativeness 1 − 1/3."""
    key = key_of([("fermi reactor",), ("fermi",), ("bomb",)])
    matcher = NgramMatcher(key, replace(Match(), n=1, weights="unit"), None)
    scores = matcher.score(["fermi"], np.zeros(1, np.int32))
    assert scores.tolist() == [pytest.approx((2 / 3) / (2 / 3 + 1)), 1.0, 0.0]


def test_accents_soft_hyphens_and_ligatures_do_not_hide_a_match():
    matcher = NgramMatcher(key_of([("Medecins sans frontieres office",)]), Match(), IDF)
    text = normalised("Méde\u00adcins Sans Frontières oﬃce")
    assert matcher.score([text], np.zeros(1, np.int32)).tolist() == [1.0]


def test_chunks_change_no_bit():
    """More texts than a chunk holds score as they do alone."""
    rng = np.random.default_rng(3)
    words = np.array(["the", "of", "bomb", "bombs", "fermi", "atomic", "reactor", "evil"])
    texts = [" ".join(rng.choice(words, 6)) for _ in range(4 * CHUNK)]
    question = np.sort(rng.integers(0, 2, len(texts))).astype(np.int32)
    key = key_of([("atomic bomb",), ("called the atomic bomb an evil thing",)], [("the fermi reactor", "a pile")])
    for match in (Match(), Match(stem=True, stopwords="remove")):
        matcher = NgramMatcher(key, match, IDF)
        one = matcher.score(texts, question)
        first = len(texts) // 2
        alone = matcher.score([texts[first]], question[first : first + 1])
        begin = int(key.counts[question[:first]].sum())
        assert one[begin : begin + len(alone)].tolist() == alone.tolist()


def test_no_texts_have_no_scores():
    matcher = NgramMatcher(key_of([("a",)]), Match(), IDF)
    assert len(matcher.score([], np.zeros(0, np.int32))) == 0


def test_stop_words_are_cut_as_texts_are():
    """No stop word holds what the tokenizer would cut."""
    assert {"the", "don", "t"} <= Language("en").stop_words()
    assert all(re.fullmatch(r"\w+", word) for word in Language("en").stop_words())


def test_unseen_words_weigh_most():
    assert IDF["zyzzyva"] == 7.0 == max(IDF[w] for w in [*WEIGHTS, "zyzzyva"])
    assert math.isfinite(IDF["zyzzyva"])


@pytest.mark.slow
@pytest.mark.parametrize("informative", ["descriptions", "responses"])
def test_tables_of_a_few_questions_give_the_same_bits(sample, informative):
    """A question alone, as after a verdict, and all at once."""
    chosen = replace(sample.settings.match, matcher="ngram", informative=informative)
    known = VerdictIndex(sample.key, sample.judgements, sample.judged_runs)

    def matcher() -> NgramMatcher:
        return make(replace(material(sample, known), settings=chosen))

    run = sample.run("build-103")
    whole = matcher().score(run.normalised_texts, run.question)
    begin = np.concatenate([[0], np.cumsum(sample.key.counts[run.question])])
    for question in np.unique(run.question).tolist():
        rows = np.flatnonzero(run.question == question)
        alone, few = matcher(), [run.normalised_texts[row] for row in rows.tolist()]
        expected = np.concatenate([whole[begin[row] : begin[row + 1]] for row in rows.tolist()])
        assert alone.score(few, run.question[rows]).tobytes() == expected.tobytes()
        assert "_tables" not in vars(alone)
