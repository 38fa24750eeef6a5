"""Where the words stand that speak for a nugget."""

from __future__ import annotations

import gc
import weakref

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nuggeteer.matching.idf import background
from nuggeteer.matching.marks import Marker, words_at
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.settings import Match
from nuggeteer.text import words

NUGGETS = [
    {"qid": "q", "nugget": "1", "text": "built the first nuclear reactor in Chicago"},
    {"qid": "q", "nugget": "2", "text": "the founders of Médecins sans frontières"},
    {"qid": "q", "nugget": "3", "descriptions": ["won the prize", "a laureate"], "importance": "okay"},
]


def marker(collect, **settings):
    key = collect(NUGGETS).key
    return Marker(NgramMatcher(key, Match(**settings), background()))


def marked(mark, text, nugget):
    return [text[a:b] for a, b in mark(text, nugget)]


def test_what_a_response_has_of_a_description_is_marked(collect):
    mark = marker(collect)
    text = "He BUILT the\nfirst  nuclear pile, a Reactor, of the\tage."
    assert marked(mark, text, 0) == ["BUILT the\nfirst  nuclear", "Reactor"]
    assert marked(mark, "It is of the essence.", 0) == []  # nothing that tells


def test_every_description_counts(collect):
    mark = marker(collect)
    assert marked(mark, "The laureate won a prize.", 2) == ["laureate won", "prize"]


def test_accents_ligatures_and_hidden_characters_are_marked_where_they_stand(collect):
    mark = marker(collect)
    for text in ("le «Medecins» x", "le MÉDECINS x", "le Me\u0301decins x", "le Mé\u00addecins x"):
        ((start, end),) = mark(text, 1)
        assert words(text[start:end]) == ["medecins"]


def test_stems_are_marked_as_whole_words_and_stop_words_alone_never(collect):
    mark = marker(collect, stem=True, stopwords="remove")
    assert marked(mark, "They were nuclear reactors, in part.", 0) == ["nuclear reactors"]
    assert marked(mark, "in the", 0) == []


@given(st.text())
@example("ß ﬁ ½ ℃™ İ x²")
@example("\u1100\u1161\u11a8 한국")
@example("e\u0301\u0323 a\u200db")
@example("\u09c7\u09be")
@example("a \u0301a \u3000\u0301b")
def test_the_words_are_those_that_the_matcher_sees_and_lie_in_order(text):
    found = words_at(text)
    assert [word for word, _, _ in found] == words(text)
    assert all(0 <= start < end <= len(text) for _, start, end in found)
    starts = [start for _, start, _ in found]
    assert starts == sorted(starts)


@given(st.text(alphabet="ab \u0301\u00ad\u200d\n1½ﬁß\u1100\u1161\u0928\u093c\u200b", max_size=12))
def test_the_words_are_those_that_the_matcher_sees_where_marks_and_spaces_meet(text):
    assert [word for word, _, _ in words_at(text)] == words(text)


@given(st.text(alphabet="reactor nuclear é\u0301ﬁ.-«", max_size=60))
def test_a_word_has_its_own_characters(text):
    for word, start, end in words_at(text):
        assert word in words(text[start:end])


@pytest.mark.parametrize("text", ["", " ", "...", "\u0301", "\u200b\u200d"])
def test_texts_without_words_have_no_marks(collect, text):
    assert marker(collect)(text, 0) == ()


def test_the_shares_of_the_n_grams_that_a_text_has_add_up_to_its_score(sample):
    """Without the tables that scores come from."""
    matcher, scored = (NgramMatcher(sample.key, Match(), background()) for _ in range(2))
    run = sample.run("build-103")
    scores = iter(scored.score(run.normalised_texts, run.question).tolist())
    for text, question in zip(run.normalised_texts, run.question.tolist(), strict=True):
        have = set(matcher._grams(text))
        for nugget in range(*sample.key.offsets[question : question + 2].tolist()):
            of_each = [sum(own[gram] for gram in own if gram in have) for own in matcher.shares(nugget)]
            assert max(of_each) == pytest.approx(next(scores))
    assert "_tables" not in vars(matcher)


def test_what_is_remembered_of_texts_keeps_no_matcher(sample):
    """A session of judging has a new matcher after each verdict, with all that it was made from."""
    matcher = NgramMatcher(sample.key, Match(), background())
    Marker(matcher)("He built the first reactor.", 0)
    known = weakref.ref(matcher)
    del matcher
    gc.collect()
    assert known() is None
