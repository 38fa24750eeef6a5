"""Grams read as numbers against grams read as words, and the regression against a plain one."""

from __future__ import annotations

import numpy as np
import pytest

from nuggeteer.matching.idf import background
from nuggeteer.matching.similar_texts import LEVEL, RIDGE, GramReader, JudgedTexts, codes_of
from nuggeteer.settings import Match
from nuggeteer.text import normalised

TEXTS = [
    "The fox runs; foxes ran. The fox runs!",
    "",
    "A RED fox, a red fox and the Ölfeld in Übersee",
    "well-known words, words well known",
    "12,000 people (in 1999)",
    "x" * 90 + " fox",
]


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_many_texts_at_once_have_the_grams_of_each(language):
    """Also those of words that were seen before, and of texts in any order."""
    reader = GramReader(background() if language == "en" else None, Match(language=language))
    texts = list(map(normalised, [*TEXTS, "火车站 is a 车站"]))
    for order in (range(len(texts)), reversed(range(len(texts)))):
        some = [texts[i] for i in order]
        found = reader.read(some)
        for row, text in enumerate(some):
            written = reader(text)
            of_code = dict(zip(codes_of(written).tolist(), written.values(), strict=True)) if written else {}
            own = slice(*found.begin[row : row + 2])
            assert dict(zip(found.code[own].tolist(), found.weight[own].tolist(), strict=True)) == pytest.approx(
                of_code
            )
            assert (np.diff(found.code[own].astype(object)) > 0).all()
            assert (found.share[own] ** 2).sum() == pytest.approx(float(bool(written)))


def test_the_regression_is_that_of_the_page():
    """kᵀ (K + 1 1ᵀ + 0.3 I)⁻¹ r, with r ½ for a yes and −½ for a no, of each nugget by the texts that were judged for
    it; and what is left out is as if it had not been judged."""
    reader, rng = GramReader(background(), Match()), np.random.default_rng(0)
    words = ["fox", "dog", "cat", "red", "blue", "runs", "sleeps", "river", "house", "night"]
    texts = [" ".join(rng.choice(words, 6)) for _ in range(12)]
    decided, yes = rng.random((12, 3)) < 0.8, rng.random((12, 3)) < 0.5
    group = np.repeat(["a", "b", "c"], 4)

    def cosine(one, other):
        size = np.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in other.values()))
        return sum(w * other.get(gram, 0.0) for gram, w in one.items()) / size

    def plain(asked, rows, nugget):
        rows = [row for row in rows if decided[row, nugget]]
        kernel = np.array([[cosine(reader(texts[i]), reader(texts[j])) for j in rows] for i in rows])
        told = np.linalg.solve(kernel + LEVEL + RIDGE * np.eye(len(rows)), np.where(yes[rows, nugget], 0.5, -0.5))
        return sum(cosine(reader(asked), reader(texts[row])) * one for row, one in zip(rows, told, strict=True))

    about = JudgedTexts(reader.read(texts), decided, yes)
    asked = ["red fox runs", "the night sleeps in a blue house", "nothing of it"]
    found = about.predictions(reader.read(asked))
    left_out = about.left_out(group[about.rows].tolist())
    for nugget in range(3):
        assert found[:, nugget] == pytest.approx([plain(text, range(12), nugget) for text in asked])
        for place, row in enumerate(about.rows.tolist()):
            if decided[row, nugget]:
                others = [i for i in range(12) if group[i] != group[row]]
                assert left_out[place, nugget] == pytest.approx(plain(texts[row], others, nugget))
