"""Numbers of words: those of a dictionary, for whatever stands in a text."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from nuggeteer.matching.word_numbers import UNKNOWN, WordNumbers
from nuggeteer.text import normalised, words

LETTERS = st.text(st.sampled_from("ab_7ßÀêΣ日本ﬁ\u0301 \u200b.,'’\ud800\x00") | st.characters(), max_size=30)
LONG = st.sampled_from(["a" * 8, "a" * 9, "a" * 64, "a" * 65, "a" * 64 + "b", "a" * 200, "日" * 3, "日" * 40])
TEXTS = st.lists(LETTERS | LONG | st.lists(LONG | LETTERS, max_size=5).map(" ".join), max_size=8)


@given(TEXTS, TEXTS)
@example([], [])
@example(["", " ", "one"], ["", "", "two one"])
def test_they_are_those_of_each_questions_dictionary(key, texts):
    """The same words have other numbers in the next question, and words of other questions none."""
    vocabulary, size = [], 0
    for description in [*key, "always something"]:
        found = dict.fromkeys(words(description))
        vocabulary.append({"": -2, **{word: size + i for i, word in enumerate(found)}})
        size += len(found)
    texts = list(map(normalised, [*texts, *key, *reversed(key)]))
    question = np.arange(len(texts), dtype=np.int32) % len(vocabulary)
    numbers, counts = WordNumbers(vocabulary).of(texts, question)
    expected = [
        [vocabulary[q].get(word, UNKNOWN) for word in words(text)] for q, text in zip(question, texts, strict=True)
    ]
    assert counts.tolist() == list(map(len, expected))
    assert numbers.tolist() == [number for own in expected for number in own]


def test_a_text_may_be_one_long_word():
    """In time that grows with its length only."""
    word = "x" * 3_000_000
    numbers, counts = WordNumbers([{word: 5, "y": 6}]).of([word, word + "x", "y " + word], np.zeros(3, dtype=np.int32))
    assert (numbers.tolist(), counts.tolist()) == ([5, UNKNOWN, 6, 5], [1, 1, 2])
