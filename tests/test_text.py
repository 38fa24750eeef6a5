"""Texts: when two are the same, how long one is, and that none can act on a terminal."""

from __future__ import annotations

import codecs
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nuggeteer.text import escaped, length, normalised, words

anything = st.text(st.characters())  # surrogates too, as a file's name brings them
texts = st.text(st.characters(exclude_categories=["Cs"]))
everyday = st.text(st.characters(min_codepoint=32, max_codepoint=0x17F, exclude_characters="ıſŉİ"))
spaces = st.text(" \t\n\r\u00a0\u2003\u3000\u2028", min_size=1)


@given(texts)
@example("İ \u0345\u0301 ǰ ΐ ẞ Ⅷ \u1e9b\u0323")
def test_identity_of_an_identity_is_itself(text):
    assert normalised(normalised(text)) == normalised(text)


@given(texts)
@example("α\u0345\u0301")  # marks out of order, the first of which folds to a letter
def test_identity_does_not_see_normal_forms(text):
    forms = {normalised(unicodedata.normalize(form, text)) for form in ("NFC", "NFD")}
    assert forms == {normalised(text)}


@given(everyday)
def test_identity_does_not_see_case(text):
    assert normalised(text.upper()) == normalised(text.lower()) == normalised(text.swapcase()) == normalised(text)


@given(st.lists(texts.filter(lambda text: text.split() == [text])), spaces, spaces)
def test_identity_does_not_see_how_words_are_spaced(parts, between, around):
    assert normalised(around + between.join(parts) + around) == normalised(" ".join(parts))


@given(st.text(st.characters(max_codepoint=127)))
def test_the_short_way_for_ascii_is_the_long_way(text):
    """By the long way's steps on a text that an accent made long."""
    assert normalised(text + " é") == normalised(normalised(text) + " é")


@pytest.mark.parametrize(("one", "other"), [("a b", "ab"), ("resume", "résumé"), ("C", "C++"), ("1.5", "15")])
def test_identity_tells_different_texts_apart(one, other):
    assert normalised(one) != normalised(other)


@given(texts)
def test_length_counts_what_is_not_white_space(text):
    assert length(text) == sum(not char.isspace() for char in text)


def test_length_is_of_the_text_as_it_stands():
    """Not of its folded form: ß is one character."""
    assert length("Straße ﬁn\u00a0\t") == 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The first_nuclear reactor, in 1942.", ["the", "first_nuclear", "reactor", "in", "1942"]),
        ("Médecins Sans Frontières", ["medecins", "sans", "frontieres"]),
        ("Me\u0301decins", ["medecins"]),
        ("e\ufb03cient soft\u00adly", ["efficient", "softly"]),
        ("zero\u200bwidth joi\u200dned", ["zero", "width", "joined"]),
        ("don't", ["don", "t"]),
        ("東京 Москва", ["東京", "москва"]),
        ("...", []),
        ("", []),
    ],
)
def test_words(text, expected):
    assert words(text) == expected


@given(texts)
def test_the_words_of_words_are_the_same_words(text):
    assert words(" ".join(words(text))) == words(text)


@given(texts)
def test_the_same_text_has_the_same_words(text):
    assert words(normalised(text)) == words(text)


def harmful(char: str) -> bool:
    """Unicode's word for it: controls, formats, surrogates, private, unassigned; separators but the space."""
    return (
        unicodedata.category(char)[0] == "C"
        or unicodedata.category(char) in ("Zl", "Zp")
        or (unicodedata.category(char) == "Zs" and char != " ")
    )


@given(anything)
@example("\x1b[31m \x9b31m \u202e \u2066 \u200b \ufeff \x00 \r\n \udcff \U000e0001 \u00a0 \u2028")
def test_nothing_harmful_comes_out_and_the_rest_is_left_alone(text):
    shown = escaped(text)
    assert not any(map(harmful, shown))
    shown.encode("utf-8")
    if not any(map(harmful, text)):
        assert shown == text


@pytest.mark.slow
def test_every_character_of_unicode_that_could_act_is_written_out():
    """All of them, one by one, can be read back from how they are shown."""
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        shown = escaped(char)
        if harmful(char):
            assert shown.startswith("\\")
            assert codecs.decode(shown, "unicode_escape") == char
        else:
            assert shown == char


@given(anything, anything)
def test_texts_without_backslashes_are_shown_differently_if_they_differ(one, other):
    one, other = one.replace("\\", ""), other.replace("\\", "")
    assert (escaped(one) == escaped(other)) == (one == other)


@given(texts)
def test_what_is_visible_stays_as_it_is(text):
    assert escaped(escaped(text)) == escaped(text)
