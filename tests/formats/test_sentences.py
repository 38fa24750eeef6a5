"""Answers are cut into the responses that a reader would see in them, and nothing of an answer is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.formats.sentences import pieces, split
from nuggeteer.text import length, normalised
from tests.growth import grows_less_than

# Each case is the pieces of one answer, with a blank between them.
ONE_LINE = [
    # Plain sentences.
    ["Paris is big.", "Rome is old."],
    ["Is it so?", "Yes!", "It is."],
    ["No full stop at the end"],
    ["The war ended.", "Then came peace"],
    ["It cost 3.5 million.", "That was too much."],
    ["He was born in 1919.", "He died in 1990."],
    ["He was born in 1919.", "45 people came."],
    ["It fell by -2.5 %.", "It rose again."],
    # Titles, initials, names.
    ["Dr. Smith and Mrs. Jones met Prof. Adams.", "They talked."],
    ["J. K. Rowling wrote it.", "She is British."],
    ["George W. Bush won.", "Al Gore lost."],
    ["J.R.R. Tolkien taught at Oxford."],
    ["St. Petersburg lies on the Neva.", "It was the capital."],
    ["Gen. Lee surrendered.", "Lt. Col. Sanders did not."],
    ["John F. Kennedy Jr. flew.", "He crashed."],
    ["Sammy Davis Jr. sang."],
    # Abbreviations that may end a sentence.
    ["He lives in the U.S. and likes it."],
    ["The U.S. Army won.", "It went home."],
    ["They moved to the U.S.", "The children stayed."],
    ["It opens at 9 a.m. on Monday."],
    ["It closes at 5 p.m.", "It opens at nine."],
    ["She works at Apple Inc. in Cupertino.", "Her boss left."],
    ["Lehman Bros. Holdings failed.", "It was 2008."],
    ["They sold bread, milk, etc.", "The shop is closed."],
    ["Smith et al. found it.", "Others did not."],
    ["She has a Ph.D. in physics."],
    ["Washington, D.C. is hot.", "In winter it is not."],
    # Abbreviations that never end one.
    ["Use a metal, e.g. Iron, for it."],
    ["The best one, i.e. Paris, won."],
    ["It was Ali vs. Frazier in Manila."],
    ["It weighs approx. 5 kg.", "It is heavy."],
    ["See Fig. 3 and Eq. 4 in Sec. 2.", "They say it."],
    ["It happened on Jan. 6.", "Nobody knew."],
    ["Article No. 5 is void.", "No. 6 is not."],
    ["Did he say no?", "He said no.", "Then he left."],
    # Single letters and numerals that are not initials.
    ["It was World War I.", "The next was worse."],
    ["Vitamin C.", "It helps."],
    ["It is 10 m.", "Today it grew."],
    # Ellipses, exclamations within a sentence.
    ["Well... it depends."],
    ["Well...", "It depends."],
    ["He waited …", "Nobody came."],
    ["Yahoo! is a company.", "Google is another."],
    ["Really?!", "Yes."],
    # Quotes and brackets.
    ['He said "Go."', "Then he left."],
    ["“It is over.”", "She wept."],
    ['"Why?" he asked.', "Nobody knew."],
    ["It is big (see p. 5).", "It is old."],
    ["(It is small.)", "It is new."],
    ["Is it (really?) so.", "It is."],
    # Citations belong to what they follow.
    ["It is so [1].", "It is not [2][3]."],
    ["It is so.[1]", "It is not.[2, 3]"],
    ["It is so. [1]", "It is not. [2] [3]", "Maybe."],
    ["It is so【1†source】.", "It is not.【2†source】", "Maybe."],
    ["It is so.[^1]", "It is not."],
    # Markdown emphasis and inline code.
    ["**Paris.**", "It is big."],
    ["*Paris* is big.", "**Rome** is old."],
    ["Call `x.y()` first.", "Then `z`."],
    # Addresses, files, versions.
    ["See https://example.org/a.b?c=d.", "It is there."],
    ["Python 3.11.4 is out.", "Node.js is older."],
    ["Open setup.py and run it.", "Done."],
    ["Write to a.b@example.org today."],
    # Numbering inside a line.
    ["There are two: 1. Paris; 2. Rome."],
    ["1. Paris is big."],
    ["a) Paris is big.", "It is old."],
    # Colons and semicolons do not cut.
    ["There is this: it is big; it is old."],
]

# Each case is an answer of several lines and its pieces.
LINES = [
    ("# Paris\nIt is big.", ["# Paris", "It is big."]),
    ("## A. B. The end\nIt is.", ["## A. B. The end", "It is."]),
    ("- one\n- two. It is two.\n* three", ["- one", "- two.", "It is two.", "* three"]),
    ("1. one\n2. two\n10) ten", ["1. one", "2. two", "10) ten"]),
    ("- one\n  - nested\n    • deeper", ["- one", "- nested", "• deeper"]),
    ("Cities:\n\n- Paris\n- Rome\n\nThat is all.", ["Cities:", "- Paris", "- Rome", "That is all."]),
    ("| a | b |\n|---|:-:|\n| c. D | d |", ["| a | b |\n|---|:-:|", "| c. D | d |"]),
    ("Run:\n```sh\nls. Then\n\n# no heading\n```\nDone.", ["Run:", "```sh\nls. Then\n\n# no heading\n```", "Done."]),
    ("```\nnever closed. It\ngoes on", ["```\nnever closed. It\ngoes on"]),
    ("Title\n=====\nText.", ["Title\n=====", "Text."]),
    ("One.\n\n---\n\nTwo.", ["One.\n\n---", "Two."]),
    ("***\nOne.\nTwo.", ["***\nOne.", "Two."]),
    ("One.\n[1]\nTwo.", ["One.\n[1]", "Two."]),
    ("It is a sentence that\ngoes on. It ends.", ["It is a sentence that\ngoes on.", "It ends."]),
    ("It was signed in\nParis in 1919.", ["It was signed in\nParis in 1919."]),
    ("We saw Rome,\nParis and Oslo.", ["We saw Rome,\nParis and Oslo."]),
    ("First line\nSecond line", ["First line", "Second line"]),
    ("> He said so.\n> She did not.", ["> He said so.", "> She did not."]),
    ("One.\r\nTwo.\r\n", ["One.", "Two."]),
    ("\n\n  One. Two.  \n\n", ["One.", "Two."]),
    ("**Size**: It is big. Very.\n**Age**: It is old.", ["**Size**: It is big.", "Very.", "**Age**: It is old."]),
]


@pytest.mark.parametrize("expected", ONE_LINE, ids=lambda expected: " | ".join(expected)[:40])
def test_a_line_is_cut_into_its_sentences(expected):
    assert split(" ".join(expected)) == expected


@pytest.mark.parametrize(("text", "expected"), LINES, ids=lambda value: repr(value)[:40])
def test_lists_headings_tables_and_code_are_pieces(text, expected):
    assert split(text) == expected


@pytest.mark.parametrize("text", ["", "  ", "word", " word ", "...", "---\n---", "[1]\n[2]", "One sentence.\n"])
def test_what_is_one_piece_stays_as_it_is(text):
    assert split(text) == [text]


WORDS = ["Paris", "is", "in", "the", "U.S.", "Dr.", "e.g.", "3.5", "-5", "big.", "big?!", '"Go."', "[1]", "I.", "no"]
MARKS = [
    "\n",
    "\n\n",
    " ",
    "  ",
    "\n- ",
    "\n1. ",
    "\n# ",
    "\n| a | b |\n",
    "\n|---|\n",
    "\n```\n",
    "\n---\n",
    "\r\n",
    "\t",
]
answers = st.lists(st.sampled_from(WORDS + MARKS), max_size=40).map(" ".join) | st.text() | st.text(' \n.?[]1|`#-aB"”')


@given(answers)
def test_the_pieces_in_order_with_white_space_between_are_the_answer(text):
    found = pieces(text)
    begin = 0
    for start, end in found:
        assert text[begin:start].strip() == ""
        assert start < end or text == ""
        begin = end
    assert text[begin:].strip() == ""
    parts = split(text)
    assert normalised("\n".join(parts)) == normalised(text)
    assert sum(map(length, parts)) == length(text)


@given(answers)
def test_a_piece_is_not_cut_again(text):
    for part in split(text):
        assert split(part) == [part]


@given(answers)
def test_a_piece_has_a_word_if_the_answer_has_more_than_one(text):
    parts = split(text)
    assert len(parts) == 1 or all(any(char.isalnum() or char == "_" for char in part) for part in parts)


HOSTILE = [
    ".",
    ". ",
    ".x",
    '."',
    ".[1] ",
    ".[1]",
    "\n",
    "- ",
    "\n- ",
    "|",
    "\n| |",
    "`",
    "\n```",
    "a.b",
    "> ",
    " ",
    "[",
    "【",
    "(",
    "1. ",
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_time_is_linear_in_the_length(unit):
    """Ten times the text takes about ten times as long, also where nothing is a sentence."""
    short, long = (unit * count + "x" for count in (10_000, 100_000))
    assert grows_less_than(10**2 / 2, lambda: pieces(short), lambda: pieces(long))
