"""Each clue against its formula in docs/understanding/learned-matcher.md, written pair by pair and word by word."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.matching import clues
from nuggeteer.matching.clues import CLUES, GramReader, QuestionClues
from nuggeteer.matching.idf import Idf
from nuggeteer.text import normalised

IDF = Idf("test", {"a": 0.1, "the": 0.0, "red": 2.0, "fox": 3.5, "ran": 1.5, "80": 4.0, "8": 3.0}, 5.0)
WORDS = ("a", "the", "red", "fox", "foxes", "ran", "running", "blue", "80", "8", "1,200", "né", "not", "(", "-")


class Plain:
    """The same as `QuestionClues`, the slow way."""

    def __init__(self, descriptions, texts, decided, yes):
        self.descriptions, self.texts, self.decided, self.yes = descriptions, texts, decided, yes

    def pair(self, text, nugget):
        """All clues of one pair."""
        judged = [i for i in range(len(self.texts)) if self.decided[i][nugget]]
        carrying = [i for i in judged if self.yes[i][nugget]]
        base = (len(carrying) + 0.5) / (len(judged) + 1)

        best, recall = None, -1.0
        for description in self.descriptions[nugget]:
            weights = singles(description)
            share = sum(w for gram, w in weights.items() if gram in grams(text)) / max(sum(weights.values()), 1e-6)
            if share > recall:
                best, recall = description, share
        wanted, there = numbers(best), numbers(text)
        values = {
            "numbers missing": bool(wanted) and not wanted <= there,
            "numbers there": bool(wanted) and wanted <= there,
            "regression": self.regression(text, nugget, base),
        }
        return [float(values[name]) for name in CLUES]

    def regression(self, text, nugget, base):
        """By the texts that were judged for the nugget."""
        judged = [i for i in range(len(self.texts)) if self.decided[i][nugget]]
        if not judged:
            return 0.0
        texts = [self.texts[i] for i in judged]
        kernel = np.array([[similarity(one, other) for other in texts] for one in texts])
        target = [self.yes[i][nugget] - base for i in judged]
        weights = np.linalg.solve(kernel + 0.3 * np.eye(len(texts)), target)
        return sum(w * similarity(text, judged) for w, judged in zip(weights, texts, strict=True))


def stems(text):
    import Stemmer

    stem = Stemmer.Stemmer("english").stemWord
    return [(stem(word), IDF[word]) for word in re.findall(r"\w+", text.replace("é", "e"))]


def singles(text):
    result = {}
    for stem, weight in stems(text):
        result.setdefault(stem, weight)
    return result


def grams(text):
    found, result = stems(text), singles(text)
    for i in range(len(found) - 1):
        (one, weight), (two, other) = found[i], found[i + 1]
        result.setdefault(f"{one} {two}", (weight + other) / 2)
    return result


def similarity(one, two):
    """Cosine."""
    x, y = grams(one), grams(two)
    norm = math.sqrt(sum(v * v for v in x.values())) * math.sqrt(sum(v * v for v in y.values()))
    return sum(x[gram] * y[gram] for gram in x.keys() & y.keys()) / norm if norm else 0.0


def numbers(text):
    return {number.strip(".,").replace(",", "") for number in re.findall(r"[0-9][0-9.,]*", text)}


@st.composite
def questions(draw):
    """Some nuggets with one or more descriptions, and judged texts; not all pairs are decided."""
    sentence = st.lists(st.sampled_from(WORDS), max_size=6).map(lambda words: normalised(" ".join(words)))
    descriptions = draw(st.lists(st.lists(sentence, min_size=1, max_size=3), min_size=1, max_size=3))
    texts = draw(st.lists(sentence, max_size=8))
    cells = len(texts) * len(descriptions)
    verdicts = draw(st.lists(st.sampled_from([None, True, False]), min_size=cells, max_size=cells))
    shape = (len(texts), len(descriptions))
    decided = np.array([v is not None for v in verdicts], dtype=bool).reshape(shape)
    yes = np.array([v is True for v in verdicts], dtype=bool).reshape(shape)
    return descriptions, texts, decided, yes


def clues_of(question):
    descriptions, texts, decided, yes = question
    read = GramReader(IDF)
    return QuestionClues(
        lambda: [[read(d) for d in own] for own in descriptions], [read(t) for t in texts], decided, yes
    )


@settings(max_examples=60)
@given(questions(), st.lists(st.sampled_from(["", "a red fox ran", "80 foxes", "8", "zebra zebra", "new words a"])))
def test_clues_are_those_of_the_formulas(question, texts):
    if not texts:
        return
    plain = Plain(*question)
    expected = np.array([[plain.pair(text, nugget) for nugget in range(len(question[0]))] for text in texts])
    ours = clues_of(question).clues([GramReader(IDF)(text) for text in texts])
    for column, name in enumerate(CLUES):
        np.testing.assert_allclose(ours[..., column], expected[..., column], rtol=1e-7, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("seed", range(4))
def test_without_its_own_verdicts_a_text_is_like_one_that_nobody_judged(seed):
    """The shortcut agrees with a question from which the verdict was taken."""
    descriptions, texts, decided, yes = some(seed, texts=12)
    decided[:4] = True  # some for all nuggets, as in a run that was judged as a whole
    question, read = clues_of((descriptions, texts, decided, yes)), GramReader(IDF)
    for row, text in enumerate(texts):
        clues_of_text = question.clues([read(text), read("nobody judged this")])
        (own, _), (judged, others) = question.without_own(np.array([row, -1]), clues_of_text)
        assert others.tolist() == question.judged.tolist()
        for nugget in range(len(descriptions)):
            fewer = decided.copy()
            fewer[row, nugget] = False
            others = clues_of((descriptions, texts, fewer, yes & fewer))
            assert judged[nugget] == others.judged[nugget]
            np.testing.assert_allclose(own[nugget], others.clues([read(text)])[0, nugget], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_without_its_group_a_text_is_like_one_of_a_group_that_nobody_judged(seed):
    """The shortcut agrees with a question from which all verdicts of the group were taken, for each set of texts that
    were decided for the same nuggets."""
    descriptions, texts, decided, yes = some(seed, texts=14)
    decided[:9] = True
    groups = ["red", "blue", "red", "green", "blue", "red", "red", "blue", "green", *"xxyyz"]
    question, read = clues_of((descriptions, texts, decided, yes)), GramReader(IDF)
    found = question.left_out([read(text) for text in texts], groups)
    assert not np.isnan(found).all()
    for row, text in enumerate(texts):
        fewer = decided & (np.array(groups) != groups[row])[:, None]
        others = clues_of((descriptions, texts, fewer, yes & fewer)).clues([read(text)])[0]
        others[~(decided[row] & fewer.any(axis=0)), CLUES.index("regression")] = np.nan
        np.testing.assert_allclose(found[row], others, rtol=1e-7, atol=1e-9)


def test_of_many_sets_of_texts_those_with_most_pairs_are_left_out(monkeypatch):
    about = some(1, nuggets=6)
    question, texts, column = clues_of(about), list(map(GramReader(IDF), about[1])), CLUES.index("regression")
    every = question.left_out(texts, ["a", "b"] * 20)[..., column]
    monkeypatch.setattr(clues, "PATTERNS", 2)
    some_ = question.left_out(texts, ["a", "b"] * 20)[..., column]
    told = ~np.isnan(some_).all(axis=0)
    assert told.sum() == 2
    np.testing.assert_array_equal(some_[:, told], every[:, told])
    assert question.decided[:, told].sum(axis=0).min() >= question.decided[:, ~told].sum(axis=0).max()


def some(seed, texts=40, nuggets=3):
    """A question at random with texts enough to be interesting."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(30)]

    def sentence(n):
        return " ".join(rng.choice(words, n))

    descriptions = [[sentence(4) for _ in range(1 + n % 2)] for n in range(nuggets)]
    decided = rng.random((texts, nuggets)) < 0.8
    yes = decided & (rng.random((texts, nuggets)) < 0.3)
    return descriptions, [sentence(int(rng.integers(0, 12))) for _ in range(texts)], decided, yes


def test_where_texts_are_too_many_those_that_carry_something_are_compared_with(monkeypatch):
    monkeypatch.setattr(clues, "LARGEST", 6)
    question = descriptions, texts, decided, yes = some(0)
    carrying = np.flatnonzero(yes.any(axis=1))
    assert len(carrying) > 6
    few = carrying[:6]
    asked = [GramReader(IDF)(text) for text in some(5)[1]]
    np.testing.assert_array_equal(
        clues_of(question).clues(asked),
        clues_of((descriptions, [texts[i] for i in few], decided[few], yes[few])).clues(asked),
    )


@pytest.mark.parametrize("seed", range(3))
def test_clues_of_a_text_are_the_same_to_the_bit_whatever_else_is_asked(seed, monkeypatch):
    question, read = clues_of(some(seed, texts=60)), GramReader(IDF)
    texts = [read(text) for text in some(seed + 10, texts=50)[1]]
    together = question.clues(texts)
    order = np.random.default_rng(seed).permutation(len(texts))
    np.testing.assert_array_equal(question.clues([texts[i] for i in order]), together[order])
    np.testing.assert_array_equal(np.concatenate([question.clues([text]) for text in texts]), together)
    monkeypatch.setattr(clues, "SLICE", 7)
    np.testing.assert_array_equal(question.clues(texts), together)


def test_numbers_are_whole():
    """`80 deaths` is not `8 deaths`, nor 1,200 either of its parts; a full stop ends a sentence, not a number."""
    read = GramReader(None)
    assert read("80 deaths in 1,200 cases, 3.5 a day, in 2003.").numbers == {"80", "1200", "3.5", "2003"}
    nothing = np.zeros((0, 2), dtype=bool)
    question = QuestionClues(lambda: [[read("80 deaths")], [read("deaths")]], [], nothing, nothing)
    missing, there = CLUES.index("numbers missing"), CLUES.index("numbers there")
    found = question.clues(
        [read(text) for text in ("8 deaths", "80 deaths", "deaths", "180 deaths", "80.5 deaths", "")]
    )
    assert found[:, 0, missing].tolist() == [1, 0, 1, 1, 1, 1]
    assert found[:, 0, there].tolist() == [0, 1, 0, 0, 0, 0]
    assert not found[:, 1, [missing, there]].any()


def test_fullwidth_digits_are_digits():
    assert GramReader(None)("８０ deaths").numbers == {"80"}
