"""The older matchers, Pourpre, Qaviar and ROUGE, against plain versions of what their papers and packages say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.answer_key import make_key
from nuggeteer.matching.base import Judged, Material
from nuggeteer.matching.choice import make
from nuggeteer.matching.idf import background
from nuggeteer.records import Nugget, Question
from nuggeteer.settings import Match
from nuggeteer.text import normalised, words

NUGGETS = [
    ("called the atomic bomb an evil thing",),
    ("achieved the first controlled nuclear chain reaction",),
    ("co-developer of the bomb", "the developers of the atomic bombs"),
    ("the the of",),
    ("1938 Nobel Prize",),
]
TEXTS = [
    "He called it an evil thing, the atomic bomb.",
    "The first reaction that was controlled: a nuclear chain.",
    "evil evil evil bombs of the developers; developing bombs",
    "Nothing to see.",
    "",
    "of the the of the",
    "In 1938 he won the Nobel prize (1938).",
]
QUESTION = np.zeros(len(TEXTS), dtype=np.int32)


def scores(**settings):
    """texts × nuggets"""
    nuggets = [Nugget("q", str(i), described, "vital") for i, described in enumerate(NUGGETS)]
    key, match = make_key([Question("q", "?")], nuggets), Match(**settings)
    empty = np.zeros(0, dtype=np.int32)
    judged = Judged([], empty, empty, np.zeros(0, dtype=bool), np.zeros(0, dtype=bool))
    matcher = make(Material(key, match, background() if match.weights == "idf" else None, lambda: judged))
    return matcher.score([normalised(text) for text in TEXTS], QUESTION).reshape(len(TEXTS), -1)


def best_of(recall):
    """texts × nuggets of the recall of a description, the best of several."""
    return np.array([[max(recall(d, text) for d in described) for described in NUGGETS] for text in TEXTS])


@pytest.mark.parametrize("weights", ["idf", "unit"])
def test_pourpre_is_the_weight_of_shared_words_over_that_of_the_descriptions(weights):
    """Lin & Demner-Fushman 2005: what other nuggets of the question say changes nothing."""
    idf = background()

    def recall(description, text):
        own = set(words(description))
        weight = {word: idf[word] if weights == "idf" else 1.0 for word in own}
        return sum(weight[word] for word in own & set(words(text))) / sum(weight.values())

    np.testing.assert_allclose(scores(matcher="pourpre", weights=weights, n=3), best_of(recall), atol=1e-12)


def test_qaviar_is_the_recall_of_stemmed_content_words():
    """Breck et al. 2000; whatever other settings say."""
    import Stemmer
    from stop_words import get_stop_words

    stem, stop = Stemmer.Stemmer("english").stemWord, set(get_stop_words("en"))

    def stems(text):
        return {stem(word) for word in words(text) if word not in stop}

    def recall(description, text):
        return len(stems(description) & stems(text)) / max(len(stems(description)), 1)

    expected = best_of(recall)
    assert expected[2, 2] > scores(matcher="pourpre")[2, 2]  # or stemming made no difference
    np.testing.assert_allclose(scores(matcher="qaviar", n=3, weights="idf"), expected, atol=1e-12)


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL"])
def test_rouge_is_what_the_package_says_of_whole_texts(kind, stem):
    """Ours is asked less: only what has a word in common, and of longest sequences only words in common."""
    rouge_scorer = pytest.importorskip("rouge_score.rouge_scorer")
    scorer = rouge_scorer.RougeScorer([kind], use_stemmer=stem)
    expected = best_of(lambda description, text: scorer.score(description, text)[kind].recall)
    assert 0 < np.mean(expected > 0) < 1
    np.testing.assert_array_equal(scores(matcher="rouge", rouge=kind, stem=stem), expected)


@pytest.mark.slow
def test_rouge_gives_the_same_from_several_workers(monkeypatch):
    pytest.importorskip("rouge_score")
    from nuggeteer.matching import rouge

    monkeypatch.setattr(rouge, "CHUNK", 3)
    key = make_key([Question("q", "?")], [Nugget("q", str(i), d, "vital") for i, d in enumerate(NUGGETS)])
    matcher = rouge.RougeMatcher(key, replace(Match(), rouge="rougeL"))
    one, two = (matcher.score(TEXTS, QUESTION, jobs) for jobs in (1, 2))
    assert one.any()
    np.testing.assert_array_equal(one, two)


def test_without_the_package_rouge_says_what_to_install(monkeypatch):
    import sys

    from nuggeteer.errors import NuggeteerError

    monkeypatch.setitem(sys.modules, "rouge_score.tokenizers", None)
    with pytest.raises(NuggeteerError, match=r"install nuggeteer\[rouge\]"):
        scores(matcher="rouge")
