"""What spoke for a guess: real words with their real weights, and the judged responses that are really nearest."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import Stemmer

from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.base import SHARE, Explanation, Judged, Matcher, Material
from nuggeteer.matching.choice import Checked, make
from nuggeteer.matching.idf import background
from nuggeteer.matching.marks import Marker
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.scoring.explanation import Explainer, differing_words
from nuggeteer.scoring.scorer import Scorer
from nuggeteer.settings import Match
from nuggeteer.text import normalised, words

NUGGETS = [
    {"qid": "q", "nugget": "1", "text": "built the first nuclear reactor"},
    {"qid": "q", "nugget": "2", "descriptions": ["won the Nobel prize", "a laureate of physics"]},
    {"qid": "q", "nugget": "3", "text": "went to Chicago"},
]
TEXT = "He BUILT a Nuclear reactor, and won\nthe  prize."
stem = Stemmer.Stemmer("english").stemWord
IDF = background()


def material(collect, **settings):
    key = collect(NUGGETS).key
    nothing = np.zeros(0, dtype=np.int64)
    judged = Judged((), nothing.astype(np.int32), nothing, nothing.astype(bool), nothing.astype(bool))
    return Material(key, Match(**settings), IDF, lambda: judged)


# N-grams.


def grams(text, n):
    found = words(text)
    return {tuple(found[i : i + k]) for k in range(1, n + 1) for i in range(len(found) - k + 1)}


@pytest.mark.parametrize("n", [1, 2, 3])
def test_ngrams_weigh_what_they_add_to_the_match_score(collect, n):
    """By equations 1 and 2 of the paper, worked out anew."""
    matcher = make(material(collect, matcher="ngram", n=n))
    found = matcher.explain(TEXT, 0)
    own = grams(NUGGETS[0]["text"], n)
    having = Counter(
        gram
        for nugget in NUGGETS
        for gram in set().union(*(grams(d, n) for d in nugget.get("descriptions", [nugget.get("text")])))
    )
    weight = {gram: sum(IDF[w] for w in gram) * (1 - (having[gram] - 1) / 3) for gram in own}
    total = sum(weight.values())
    has = grams(TEXT, n)
    assert found.unit == SHARE
    assert {tuple(words(one.words)): one.weight for one in found.words} == pytest.approx(
        {gram: (1 if gram in has else -1) * weight[gram] / total for gram in own}
    )
    assert all(one.in_text == (tuple(words(one.words)) in has) for one in found.words)
    (score,) = matcher.score([normalised(TEXT)], np.zeros(1, dtype=np.int32))[:1]
    assert sum(one.weight for one in found.words if one.in_text) == pytest.approx(score)
    assert [abs(one.weight) for one in found.words] == sorted((abs(one.weight) for one in found.words), reverse=True)
    assert found.similar_texts == ()
    assert not found.beyond_marks


def test_words_are_written_as_in_the_text_those_that_are_lacking_as_in_the_description(collect):
    found = make(material(collect, matcher="ngram")).explain(TEXT, 0)
    assert {one.words for one in found.words if one.in_text} == {
        "BUILT",
        "Nuclear",
        "the",
        "reactor",
        "Nuclear reactor",
    }
    assert {"the first", "first nuclear"} <= {one.words for one in found.words if not one.in_text}
    accents = make(material(collect, matcher="ngram")).explain("le Re\u0301actor NUCLE\u00adAR", 0)
    assert {one.words for one in accents.words if one.in_text} == {"Re\u0301actor", "NUCLE\u00adAR"}


def test_of_several_descriptions_that_which_counts_is_explained(collect):
    matcher = make(material(collect, matcher="ngram"))
    for text, other in (("the Nobel prize", "laureate"), ("laureate of physics", "prize")):
        found = matcher.explain(text, 1)
        assert other not in {one.words for one in found.words}
        (score,) = matcher.score([normalised(text)], np.zeros(1, dtype=np.int32))[1:2]
        assert sum(one.weight for one in found.words if one.in_text) == pytest.approx(score)


def test_stems_and_stop_words_are_shown_as_words(collect):
    found = make(material(collect, matcher="ngram", stem=True, stopwords="remove")).explain(
        "They went to the NUCLEAR of reactors.", 0
    )
    assert {one.words for one in found.words if one.in_text} == {"NUCLEAR", "reactors", "NUCLEAR reactors"}
    assert {one.words for one in found.words if not one.in_text} == {"built", "built nuclear"}


@pytest.mark.parametrize("name", ["pourpre", "qaviar"])
def test_the_shares_of_other_word_matchers_add_up_to_their_scores(collect, name):
    matcher = make(material(collect, matcher=name))
    scores = matcher.score([normalised(TEXT)], np.zeros(1, dtype=np.int32))
    for nugget in range(3):
        there = [one.weight for one in matcher.explain(TEXT, nugget).words if one.in_text]
        assert sum(there) == pytest.approx(scores[nugget])


# Learned: all is worked out anew from the judged texts, one by one.


class Brute:
    """The judged texts of a nugget's question, counted in plain Python."""

    def __init__(self, scorer, nugget):
        key, judged = scorer.key, scorer.material.judged
        self.question = int(key.question[nugget])
        self.texts, self.yes = [], []
        begin = 0
        for text, question in zip(judged.texts, judged.question.tolist(), strict=True):
            pair = begin + nugget - int(key.offsets[question])
            begin += int(key.counts[question])
            if question == self.question and judged.decided[pair]:
                self.texts.append(text)
                self.yes.append(bool(judged.yes[pair]))
        self.vectors = [vector(text) for text in self.texts]

    def nearest(self, text, yes):
        """The two that are most like, by the cosine."""
        asked = vector(text)
        found = [
            (cosine(asked, one), other)
            for one, other, said in zip(self.vectors, self.texts, self.yes, strict=True)
            if said == yes
        ]
        return sorted((one for one in found if one[0] > 0), reverse=True)[:2]


def vector(text):
    """Stems and pairs of stems by their idf; a stem has that of the word that it stands for first."""
    found = [(stem(word), float(IDF[word])) for word in words(text)]
    result = {}
    for one, weight in found:
        result.setdefault(one, weight)
    for (one, weight), (other, more) in pairwise(found):
        result.setdefault(f"{one} {other}", (weight + more) / 2)
    return result


def cosine(one, other):
    size = math.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in other.values()))
    return sum(weight * other.get(gram, 0.0) for gram, weight in one.items()) / size


def form(shown):
    return " ".join(map(stem, words(shown)))


@pytest.fixture(scope="module")
def explained(_learned_folder):
    """A scorer; and of some guesses of a build: the text, the nugget, the explanation."""
    from nuggeteer.collection.folder import read_collection

    scorer = Scorer(read_collection(_learned_folder), ["f3"])
    matched = scorer.read("build-103")
    pairs = np.flatnonzero(matched.states < 0)[::29]
    response = np.searchsorted(matched.begin, pairs, side="right") - 1
    asked = [(matched.run.texts[r], n) for r, n in zip(response.tolist(), matched.nugget[pairs].tolist(), strict=True)]
    assert len(asked) > 40
    return scorer, [(text, nugget, scorer.matcher.explain(text, nugget)) for text, nugget in asked]


def test_the_words_stand_in_the_text(explained):
    _, cases = explained
    shown = [(text, word) for text, _, found in cases for word in found.words]
    assert len(shown) > 50
    for text, word in shown:
        assert word.in_text
        assert form(word.words) in vector(text)
        assert all(part in text for part in word.words.split(" "))


def test_the_words_add_up_to_what_similar_texts_add(explained):
    scorer, cases = explained
    for text, nugget, found in cases:
        assert found.unit == "log odds"
        question = np.array([scorer.key.question[nugget]], dtype=np.int32)
        carried = scorer.matcher.carried([normalised(text)], question)[nugget - scorer.key.offsets[question[0]]]
        assert sum(word.weight for word in found.words) == pytest.approx(carried, abs=6e-5)  # which is rounded
        assert [abs(word.weight) for word in found.words] == sorted((abs(w.weight) for w in found.words), reverse=True)


def test_words_weigh_what_they_are_worth_on_this_collection(explained, learned):
    scorer, cases = explained
    text, nugget, found = cases[0]
    twice = Explainer(scorer.matcher, scorer.marker, learned, lambda carried: 2 * carried)(text, nugget)
    assert [word.weight for word in twice.words] == pytest.approx([2 * word.weight for word in found.words])
    little, much = (scorer.model.b[scorer.model.names.index(name)] for name in ("hint", "carried"))
    for carried in (-0.5, -0.1, 0.15, 0.7):
        beyond = np.sign(carried) * max(abs(carried) - 0.2, 0)
        assert scorer.worth_of_carried(carried) == pytest.approx(little * (carried - beyond) + much * beyond)


def test_the_judged_responses_are_the_nearest(explained):
    scorer, cases = explained
    named = 0
    for text, nugget, found in cases:
        brute = Brute(scorer, nugget)
        for yes in (True, False):
            shown = [one for one in found.similar_texts if one.yes == yes]
            assert [one.similarity for one in shown] == pytest.approx([like for like, _ in brute.nearest(text, yes)])
            for one in shown:
                named += 1
                assert brute.yes[brute.texts.index(one.text)] == yes
                assert one.similarity == pytest.approx(cosine(vector(text), vector(one.text)))
    assert named > 100


def test_judged_responses_are_shown_as_they_were_written(explained, learned):
    scorer, cases = explained
    marker = scorer.marker
    explainer = Explainer(scorer.matcher, marker, learned)
    written = {text for run in learned.judged_runs for text in run.texts} | {one.text for one in learned.judgements}
    shown = [(one, nugget) for text, nugget, _ in cases for one in explainer(text, nugget).similar_texts]
    assert any(one.text != normalised(one.text) for one, _ in shown)
    for one, nugget in shown:
        assert one.text in written
        assert one.marks == marker(one.text, nugget)


def test_an_explanation_does_not_change_a_score(explained):
    scorer, cases = explained
    text, nugget, _ = cases[0]
    question = scorer.key.question[[nugget]].astype(np.int32)
    before = scorer.matcher.score([normalised(text)], question)
    scorer.matcher.explain(text, nugget)
    assert scorer.matcher.score([normalised(text)], question).tolist() == before.tolist()


def test_a_whole_explanation_is_kept(explained, learned, monkeypatch):
    scorer, cases = explained
    explainer = Explainer(scorer.matcher, scorer.marker, learned)
    first = [explainer(text, nugget) for text, nugget, _ in cases]
    monkeypatch.delattr(type(scorer.matcher), "explain")
    assert [explainer(text, nugget) for text, nugget, _ in cases] == first


def test_explanations_do_not_depend_on_what_was_explained_before(explained):
    """A matcher remembers the question that it explained last."""
    scorer, cases = explained
    assert len({scorer.key.question[nugget] for _, nugget, _ in cases}) > 2
    order = np.random.default_rng(0).permutation(len(cases))
    for text, nugget, found in (cases[i] for i in order):
        fresh = make(scorer.material)
        assert fresh.explain(text, nugget) == found == scorer.matcher.explain(text, nugget)


def test_texts_that_are_hardly_alike_are_left_out_and_nothing_else(explained, learned):
    scorer, cases = explained
    explainer, other = (Explainer(scorer.matcher, scorer.marker, learned) for _ in range(2))
    fewer = 0
    for text, nugget, _ in cases:
        part, whole = explainer(text, nugget, 0.2), explainer(text, nugget)
        assert explainer(text, nugget, 0.2) == part  # now of the whole one, which is kept
        assert other(text, nugget) == whole
        assert part.words == whole.words
        assert part.similar_texts == tuple(one for one in whole.similar_texts if one.similarity >= 0.2)
        fewer += len(part.similar_texts) < len(whole.similar_texts)
    assert 0 < fewer < len(cases)


# Who else explains.


class Theirs:
    signature = "theirs"

    def __init__(self, said):
        self._said = said

    def score(self, texts, question, jobs=1):
        raise AssertionError

    def explain(self, text, nugget):
        return self._said


def test_a_matcher_of_another_package_may_explain_itself(collect):
    told = Explanation("votes", ())
    assert Checked("theirs", Theirs(told), material(collect)).explain("x", 0) is told
    assert Checked("theirs", Theirs(None), material(collect)).explain("x", 0) is None
    with pytest.raises(NuggeteerError, match="'theirs' explains"):
        Checked("theirs", Theirs("because"), material(collect)).explain("x", 0)
    silent = Checked("theirs", object.__new__(type("Silent", (), {"signature": "s", "score": None})), material(collect))
    assert silent.explain("x", 0) is None


def test_a_matcher_that_cannot_explain_is_not_asked(collect):
    collection = collect(NUGGETS)

    class Silent(Matcher):
        signature = "silent"

        def score(self, texts, question, jobs=1):
            raise AssertionError

    marker = Marker(NgramMatcher(collection.key, Match(), IDF))
    assert Explainer(Silent(), marker, collection)(TEXT, 0) is None


def test_where_nobody_judged_a_nugget_the_words_of_its_description_speak(collect):
    """And no judged text is named, though there are some for another nugget of the question."""
    verdict = {"qid": "q", "nugget": "3", "text": "He went away.", "verdict": True, "run": "r"}
    collection = collect(NUGGETS, {"r": [("q", "He went away.")]}, [verdict])
    scorer = Scorer(collection)
    found = scorer.matcher.explain(TEXT, 0)
    assert (found.unit, found.similar_texts) == (SHARE, ())
    there = {one.words for one in found.words if one.in_text}
    assert there == {"BUILT", "Nuclear", "reactor"} | ({"the"} & {one.words for one in found.words})
    (score,) = scorer.matcher.score([normalised(TEXT)], np.zeros(1, dtype=np.int32))[:1]
    assert sum(one.weight for one in found.words if one.in_text) == pytest.approx(score)
    assert scorer.matcher.explain(TEXT, 2).similar_texts[0].text == "he went away."


# Near-copies.

REACTOR = "In 1942 his team in Chicago started the first nuclear reactor, under a stand of the stadium."


@pytest.mark.parametrize(
    ("other", "number"),
    [
        (REACTOR, 0),
        ("in 1942 his team in CHICAGO started the first nuclear reactor under a stand of the stadium", 0),
        (REACTOR.replace("1942", "1943"), 1),
        (REACTOR.replace("started", "never started"), 1),
        (REACTOR.replace("his team", "the team of Fermi"), 3),  # one replaced, two more
        (REACTOR.replace("In 1942 his team in Chicago", "A team"), 5),  # one replaced, one kept, four deleted
        (REACTOR + " It was very, very cold.", 5),
        (REACTOR + " It was very, very cold there.", None),
        ("The stadium was old.", None),
        ("", None),
    ],
)
def test_the_words_by_which_near_copies_differ_are_counted(other, number):
    assert differing_words(REACTOR, other) == number
    assert differing_words(other, REACTOR) == number


def test_texts_of_which_half_differs_are_no_near_copies():
    assert differing_words("a red fox came", "a red fox went") == 1
    assert differing_words("a red fox came", "a red dog went") is None
    assert differing_words("", "") is None


def test_long_texts_are_not_compared_word_by_word():
    """That would take the square of their length."""
    assert differing_words("a " * 100_000, "a " * 100_000) is None


def test_an_explanation_says_how_many_words_differ_from_a_judged_text(collect):
    verdict = {"qid": "q", "nugget": "3", "text": REACTOR, "verdict": True, "run": "r"}
    tonight = REACTOR.replace("his team", "her team").replace("stadium", "arena")
    collection = collect(NUGGETS, {"r": [("q", REACTOR)], "s": [("q", tonight)]}, [verdict])
    scorer = Scorer(collection)
    explainer = Explainer(scorer.matcher, scorer.marker, collection)
    (similar,) = explainer(tonight, 2).similar_texts
    assert (similar.text, similar.yes) == (REACTOR, True)
    assert similar.differing_words == len({"his", "stadium"})


@pytest.mark.parametrize(("split", "between"), [("none", "\n"), ("sentences", " ")])
def test_judged_whole_answers_are_shown_as_they_were_written_too(collect, split, between):
    """What is learned from them are their responses: their records, or their sentences."""
    answer = between.join(["He was born in Rome.", REACTOR])
    said = {"qid": "q", "nugget": "3", "text": answer, "verdict": True, "run": "r", "scope": "answer"}
    tonight = REACTOR.replace("his team", "her team")
    collection = collect(NUGGETS, {"s": [("q", tonight)]}, [said], toml=f'[answers]\nsplit = "{split}"\n')
    scorer = Scorer(collection)
    shown = Explainer(scorer.matcher, scorer.marker, collection)(tonight, 2).similar_texts
    assert [similar.text for similar in shown] == [REACTOR]
