"""Word weights: each source against another way of computing it, and what a table may hold."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import wordfreq
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.collection.answer_key import make_key
from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.idf import HEADER, background, pool, read_documents, read_table, write_table
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.matching.similar_texts import GramReader
from nuggeteer.records import Nugget, Question
from nuggeteer.settings import Match

documents = st.lists(st.text(st.sampled_from("abcd é—\n\t.")), max_size=8)


def brute(texts):
    """ln((N + 1) / df), word by word, with df counted by looking at every text."""
    split = [set(re.findall(r"\w+", text.lower().replace("é", "e"))) for text in texts]
    return {word: math.log((len(texts) + 1) / sum(word in words for words in split)) for word in set().union(*split)}


def test_background_weights_are_what_a_poisson_model_expects_of_wordfreqs_own_frequencies():
    """ln(1 / P(the word stands in 100 words)), from the package's public function (3 digits)."""
    idf = background()
    for word in [
        "the",
        "and",
        "first",
        "physicist",
        "nuclear",
        "zebra",
        "reactor",
        "fermi",
        "sarcophagus",
        "7",
        "10",
        "2004",
        "1851",
    ]:
        expected = -math.log(1 - math.exp(-100 * wordfreq.word_frequency(word, "en", wordlist="best")))
        assert idf[word] == pytest.approx(expected, rel=0.005, abs=1e-4), word


def test_rarer_words_weigh_more_and_unseen_ones_most():
    idf = background()
    weights = [idf[word] for word in ("the", "house", "physicist", "sarcophagus", "xqzzyq")]
    assert weights == sorted(weights)
    rarest = min(wordfreq.get_frequency_dict("en", wordlist="best").values())
    assert idf["xqzzyq"] == pytest.approx(-math.log(1 - math.exp(-100 * rarest)), rel=1e-6)


@given(documents)
def test_pool_weights_are_a_count_of_all_texts(texts):
    idf = pool(texts)
    assert dict(idf.weights) == pytest.approx(brute(texts))
    assert idf["unheard"] == pytest.approx(math.log(2 * (len(texts) + 1)))


@given(documents.filter(lambda texts: any(map(str.strip, texts))))
def test_a_table_written_and_read_weighs_words_as_a_pool_of_the_same_documents(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("idf") / "corpus.idf"
    expected = brute(texts)
    if not expected:
        with pytest.raises(NuggeteerError, match="no word"):
            write_table(path, texts)
        assert not path.exists()
        return
    assert write_table(path, texts) == (len(texts), len(expected))
    table = read_table(path)
    assert dict(table.weights) == pytest.approx(expected)
    assert table.unseen == pool(texts).unseen
    assert table.name.split("-")[0] == "corpus"
    assert table.name.split("-")[1] == pool(texts).name.split("-")[1]


def test_stems_weigh_what_their_words_do_together(tmp_path):
    """ "happi" is a stem and no word; a table of words takes it as often as its words."""
    texts = ["A happy house.", "Happiness of the happy.", "Houses and a cat."]
    stems = {"a": 2, "happi": 2, "hous": 2, "of": 1, "the": 1, "and": 1, "cat": 1}
    counted = pool(texts, stems=True)
    assert dict(counted.weights) == pytest.approx({stem: math.log(4 / df) for stem, df in stems.items()})
    write_table(tmp_path / "t.idf", texts)
    table = read_table(tmp_path / "t.idf", stems=True)
    assert dict(table.weights) == pytest.approx({**counted.weights, "happi": math.log(4 / 3)})
    names = {counted.name, pool(texts).name, table.name, read_table(tmp_path / "t.idf").name}
    assert len(names | {background().name, background(stems=True).name}) == 6  # they stand in signatures


@pytest.mark.parametrize("matcher", ["ngram", "learned"])
def test_a_common_stem_that_is_no_word_weighs_little(matcher):
    """With `stem = true`, also in the matcher's own terms: "happy" and "happiness" are far from the rarest word."""
    settings = Match(matcher=matcher, stem=True, n=1)
    key = make_key([Question("q", "")], [Nugget("q", "1", ("happy xqzzyq",), "vital")])
    if matcher == "learned":
        weights = GramReader(background(stems=True), settings)("happy xqzzyq")
        assert weights["happi"] < weights["xqzzyq"] / 2
    else:
        ngrams = NgramMatcher(key, settings, background(stems=True))
        assert ngrams.score(["happiness"], np.zeros(1, dtype=np.int32))[0] < 1 / 3


def test_another_corpus_has_another_name():
    """It stands in signatures."""
    corpora = [["a b"], ["a c"], ["a b", ""], ["a b", "a b"]]
    assert len({pool(corpus).name for corpus in corpora}) == len(corpora)


def test_documents_come_from_text_and_from_jsonl(tmp_path):
    (tmp_path / "a.txt").write_text("One line.\r\n\nAnother — line\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"id": 1, "text": "In JSON"}\n{"text": "\\nlines\\n"}\n', encoding="utf-8")
    problems = []
    found = list(read_documents([tmp_path / "a.txt", tmp_path / "b.jsonl"], problems))
    assert found == ["One line.", "Another — line", "In JSON", "\nlines\n"]
    assert {p.severity for p in problems} == {"warning"}


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("a.txt", b"good\n\xff\n", 2),
        ("b.jsonl", b'{"text": "good"}\n{"text": 1}\n', 2),
        ("b.jsonl", b'{"text": "good"}\n{"title": "x"}\n', 2),
        ("b.jsonl", b'{"text": "good"}\n{"text": "a", "text": "b"}\n', 2),
        ("b.jsonl", b'{"text": "good"}\nplain\n', 2),
    ],
)
def test_a_document_that_cannot_be_read_is_an_error_at_its_line(tmp_path, name, content, line):
    (tmp_path / name).write_bytes(content)
    problems = []
    assert list(read_documents([tmp_path / name], problems)) == ["good"]
    assert [(p.line, p.severity) for p in problems] == [(line, "error")]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the table is empty"),
        (f"{HEADER} 3\n".encode(), "the table is empty"),
        (f"{HEADER} 0\nword\t1\n".encode(), ":1: the head"),
        (f"{HEADER} x\nword\t1\n".encode(), ":1: the head"),
        (f"{HEADER} {'9' * 5000}\nword\t1\n".encode(), ":1: the head"),
        (f"{HEADER} {'9' * 400}\nword\t1\n".encode(), ":1: the head"),
        (b"word\t1\n", ":1: the head"),
        (f"\n{HEADER} 3\nword\t1\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\nword\t4\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\nword\t0\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\nword\t-1\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\nword\t1.5\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\nword 1\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\nword\t{'9' * 5000}\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\nword\t1\tx\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\n\t1\n".encode(), ":2: not 'word"),
        (f"{HEADER} 3\na\t1\nb\t1\na\t2\n".encode(), ":4: the word 'a' for the second time"),
        (f"{HEADER} 3\na\t1\nw".encode() + b"\xff\t1\n", ":3: not 'word"),
        (f"{HEADER} 3\na\t1\n".encode() + b"x" * 10_000_010 + b"\t1\n", ":3: the line is longer"),
    ],
)
def test_a_table_that_is_wrong_is_refused_at_its_line(tmp_path, content, says):
    path = tmp_path / "corpus.idf"
    path.write_bytes(content)
    with pytest.raises(NuggeteerError) as caught:
        read_table(path)
    assert f"corpus.idf{says if says.startswith(':') else ': ' + says}" in str(caught.value)


def test_a_missing_table_is_refused(tmp_path):
    with pytest.raises(NuggeteerError, match="cannot be read"):
        read_table(tmp_path / "none.idf")
