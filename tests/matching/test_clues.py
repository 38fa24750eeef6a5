"""The clues of the default matcher, against plain loops over words."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
import Stemmer
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key
from nuggeteer.matching.clues import APART, CLUES, WINDOW, ClueTables
from nuggeteer.matching.idf import background
from nuggeteer.records import Nugget, Question
from nuggeteer.settings import Match
from nuggeteer.text import normalised, words

stem = Stemmer.Stemmer("english").stemWord
IDF = background()


def numbers_in(text):
    return {number.replace(",", "") for number in re.findall(r"[0-9](?:[0-9.,]*[0-9])?", normalised(text))}


def described(question, texts_of_nuggets):
    """Of each description of each nugget: its stems in order, and the weight of each."""
    asked = {stem(word) for word in words(normalised(question))}
    stems = [[[stem(word) for word in words(normalised(text))] for text in texts] for texts in texts_of_nuggets]
    result = []
    for texts, own in zip(texts_of_nuggets, stems, strict=True):
        for text, found in zip(texts, own, strict=True):
            idf = dict.fromkeys(found, 0.0)
            for word, one in zip(words(normalised(text)), found, strict=True):
                idf[one] = max(idf[one], float(IDF[word]))
            having = {one: sum(any(one in other for other in texts) for texts in stems) for one in idf}
            share = {one: weight * (1 - (having[one] - 1) / len(stems)) for one, weight in idf.items()}
            if sum(share.values()) <= 0:
                share = idf
            total = max(sum(share.values()), 1e-9)
            capital = [word for word in re.findall(r"\w+", text)[1:] if len(word) > 1 and word[0].isupper()]
            named = {stem(one) for word in capital for one in words(normalised(word))}
            result.append((text, found, idf, {one: w / total for one, w in share.items()}, named, asked))
    return result


def naive(text, description):
    """The clues of a text and a description."""
    written, stems, idf, share, named, asked = description
    said = [stem(word) for word in words(text)]
    window = 0.0
    for begin in range(len(said)):
        inside = set(said[begin : begin + WINDOW * len(stems)])
        window = max(window, sum(share[one] for one in inside if one in share))
    neighbours = {(a, b) for a, b in pairwise(stems) if a != b}
    worth = {pair: (idf[pair[0]] + idf[pair[1]]) / 2 for pair in neighbours}
    in_order = 0.0
    for (a, b), weight in worth.items():
        if any(said[i] == a and b in said[i + 1 : i + 1 + APART] for i in range(len(said))):
            in_order += weight
    order = in_order / (sum(worth.values()) or 1.0) if worth else min(window, 1.0)
    there, whole = set(said) & set(idf), max(sum(idf.values()), 1e-9)
    return [
        min(window, 1.0),
        order,
        sum(idf[one] for one in there) / max(len(said), 1),
        sum(idf[one] for one in asked & set(idf)) / whole,
        sum(idf[one] for one in named - there if one in idf) / whole,
        float(not numbers_in(written) <= numbers_in(text)),
    ]


def expected(question, texts_of_nuggets, text):
    """Of each nugget: of the first description whose window is largest."""
    every = iter(described(question, texts_of_nuggets))
    result = []
    for texts in texts_of_nuggets:
        own = [naive(text, next(every)) for _ in texts]
        result.append(max(own, key=lambda clues: round(clues[0], 6)))
    return result


def tables_of(question, texts_of_nuggets):
    nuggets = [Nugget("q", str(i), tuple(texts), "vital") for i, texts in enumerate(texts_of_nuggets)]
    return ClueTables(make_key([Question("q", question)], nuggets), Match(), IDF)


def test_each_pair_of_the_sample_has_the_clues_of_plain_loops(sample):
    key, run = sample.key, sample.run("build-103")
    tables = ClueTables(key, Match(), IDF)
    rows = np.arange(0, len(run), 5)
    texts = [run.normalised_texts[i] for i in rows]
    found = iter(tables.clues(texts, run.question[rows]))
    for text, question in zip(texts, run.question[rows].tolist(), strict=True):
        nuggets = key.nuggets[slice(*key.offsets[question : question + 2])]
        wanted = expected(key.questions[question].text, [nugget.descriptions for nugget in nuggets], text)
        for clues in wanted:
            assert next(found) == pytest.approx(np.array(clues), abs=1e-5)
    assert next(found, None) is None
    assert len(CLUES) == 6


HEARD = "fox", "foxes", "red", "Rome", "birds", "1,942", "7", "the", "sang"
TOLD = "red", "fox", "Rome", "two", "birds", "1942", "7", "Bird", "the"
said = st.lists(st.sampled_from(HEARD), max_size=9).map(" ".join)
facts = st.lists(st.sampled_from(TOLD), min_size=1, max_size=5).map(" ".join)


@settings(max_examples=40)
@given(
    question=said, key=st.lists(st.lists(facts, min_size=1, max_size=2, unique=True), min_size=1, max_size=3), text=said
)
def test_words_that_repeat_and_stand_close_together(question, key, text):
    """A handful of words, so that windows overlap, words occur again, and nuggets share them."""
    (found,) = [tables_of(question, key).clues([normalised(text)], np.zeros(1, dtype=np.int32))]
    assert found == pytest.approx(np.array(expected(question, key, normalised(text))), abs=1e-5)


@settings(max_examples=40)
@given(st.lists(said, min_size=1, max_size=6))
def test_what_is_matched_beside_a_text_changes_no_bit(texts):
    tables = tables_of("who sang in Rome", [["red fox"], ["two birds sang in Rome", "Birds"]])
    texts = list(map(normalised, texts))
    whole = tables.clues(texts, np.zeros(len(texts), dtype=np.int32))
    for i, text in enumerate(texts):
        np.testing.assert_array_equal(tables.clues([text], np.zeros(1, dtype=np.int32)), whole[2 * i : 2 * i + 2])
