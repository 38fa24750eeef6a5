"""Texts: when two are the same, how long one is, and that none can act on a terminal."""

from __future__ import annotations

import codecs
import re
import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nuggeteer.text import escaped, find_words, length, normalised, verdict_form, verdict_form_of_normalised, words
from tests.growth import grows_less_than

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


@given(st.one_of(anything, st.text(st.characters(max_codepoint=127))))
@example("".join(map(chr, range(128))))
@example("a_b-c\x1cd\x00e")
def test_words_are_those_of_the_pattern(text):
    assert find_words(text) == re.findall(r"\w+", text)


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


# Unicode's order of marks.


@pytest.mark.slow
@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0344\u0316", "\u0345\u0301", "\u1dce\u0316\u0345", "\u0316"])
@pytest.mark.parametrize("base", ["a", "\u00e1", ""])
def test_many_marks_on_a_letter_are_normalised_exactly_and_fast(base, marks):
    """The normal form sorts marks by insertion, which takes 20 seconds for 80,000 pairs."""
    text = base + marks * 500 + "b"
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    assert normalised(text) == folded
    assert grows_less_than(10**2 / 2, lambda: words(base + marks * 8_000), lambda: words(base + marks * 80_000))


def test_no_mark_is_a_letter_a_digit_or_white_space():
    """Long runs of marks are looked for among the other characters."""
    assert not [
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if unicodedata.combining(char) and (char.isalnum() or char.isspace() or char == "_")
    ]


# Which texts are the same for a verdict.

SAME = [
    ("Paris is big.", "  PARIS is\nbig"),
    ("Paris is big [1].", "Paris is big"),
    ("Paris is big.[1][2]", "Paris is big. [3, 4]"),
    ("Paris [12] is big 【1†source】.", "Paris is big."),
    ("Paris is big.[^2]", "Paris is big [3](https://a.example/b)."),
    ("Paris is big.¹", "Paris is big.²³"),
    ("**Paris** is _big_.", "Paris is big."),
    ("__Paris__ is ***big***", "*Paris* is `big`"),
    ("- Paris is big", "* Paris is big."),
    ("1. Paris is big", "2) Paris is big"),
    ("(a) Paris is big", "• Paris is big"),
    ("- 1. **Paris** is big", "iv) Paris is big"),
    ("**1. Paris** is big", "Paris is big"),
    ("## Paris", "Paris:"),
    ("“Paris” is ‘big’", "\"Paris\" is 'big'"),
    ("It’s big", "It's big"),
    ("Paris — the capital — is big", "Paris—the capital—is big"),
    ("Paris – the capital", "Paris - the capital"),
    ("Paris -- the capital", "Paris — the capital"),
    ("1990–2000", "1990-2000"),
    ("at −5 degrees", "at -5 degrees"),
    ('He said "Paris."', 'He said "Paris".'),
    ("Paris…", "Paris..."),
    ("Paris!", "Paris"),
]
DIFFERENT = [
    ("3.5", "35"),
    ("-5", "5"),
    ("−5 degrees", "5 degrees"),
    ("1,000", "1.000"),
    ("5 %", "5"),
    ("10²", "10"),
    ("5!", "5"),
    ("no", "yes"),
    ("It is not big", "It is big"),
    ("C++", "C"),
    ("C#", "C"),
    ("A* is a search", "A is a search"),
    ("U.S.", "us"),
    ("2 * 3 * 4", "2 3 4"),
    ("2*3*4", "234"),
    ("snake_case_name", "snakecasename"),
    ("#1 hit", "1 hit"),
    ("$5", "5"),
    ("Paris beat Rome", "Rome beat Paris"),
    ("Is it big?", "Is it big"),
    ("a[1] is 0", "a[2] is 0"),
    ("95 % CI [1, 3]", "95 % CI [2, 4]"),
    ("since [1994]", "since [1995]"),
    ("100. place", "99. place"),
    ("1.", "2."),
    ("[1]", "[2]"),
    ("x < 5", "x > 5"),
    ("5'", "5"),
    ("résumé", "resume"),
    ("Let's eat, Grandma", "Let's eat Grandma"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_verdict_does_not_see_what_says_nothing(one, other):
    assert verdict_form(one) == verdict_form(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_a_verdict_sees_what_says_something(one, other):
    assert verdict_form(one) != verdict_form(other)


words_of_a_sentence = st.lists(
    st.text("abcdefghij", min_size=2, max_size=6)
    | st.sampled_from(["no", "not", "C++", "U.S.", "-5", "3.5", "1,000", "10²", "$5", "é"]),
    min_size=2,
    max_size=8,
).map(" ".join)


@given(
    words_of_a_sentence.filter(  # 5! is a number, and after "ci" an interval may follow
        lambda text: text[0].isalpha() and not text[-1].isdigit() and not text.endswith(" ci")
    ),
    st.sampled_from(["", "- ", "* ", "• ", "1. ", "12) ", "(b) ", "# ", "### "]),
    st.sampled_from(["", ".", " [1]", ".[2, 3]", " 【4†x】.", "!", "…", " [^1]."]),
    st.sampled_from(["", "**", "__", "_", "`", "*"]),
)
def test_dress_does_not_change_a_text(text, head, end, emphasis):
    first, _, rest = text.partition(" ")
    assert verdict_form(f"{head}{emphasis}{first}{emphasis} {rest}{end}") == verdict_form(text)


@given(words_of_a_sentence, words_of_a_sentence)
def test_texts_of_other_words_stay_apart(one, other):
    """Without dress, only a full stop at the end may be missing."""
    assert (verdict_form(one) == verdict_form(other)) == (normalised(one).rstrip(".") == normalised(other).rstrip("."))


@given(texts)
def test_the_same_text_for_a_human_is_the_same_for_a_verdict(text):
    assert verdict_form(text) == verdict_form_of_normalised(normalised(text)) == verdict_form(normalised(text))
    assert bool(verdict_form(text)) == bool(normalised(text))


@given(st.text("0123456789-+.,% ", min_size=1).filter(lambda text: any(map(str.isdigit, text))))
def test_numbers_keep_their_digits(text):
    """A number at the start before a blank may be that of a list item."""
    digits = [char for char in verdict_form("x " + text) if char.isdigit()]
    assert digits == [char for char in text if char.isdigit()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["[1] ", "*a ", "*", "`a` ", "- ", "—", "1. ", ". ", "【", "[1,", "((", '."', "[1](", "_"]
)
def test_the_form_takes_linear_time(unit):
    assert grows_less_than(
        10**2 / 2, lambda: verdict_form(unit * 10_000 + "é"), lambda: verdict_form(unit * 100_000 + "é")
    )
