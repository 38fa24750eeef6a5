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
    """The same as `Field`, the slow way."""

    def __init__(self, descriptions, texts, group, decided, yes):
        self.descriptions, self.texts, self.group, self.decided, self.yes = descriptions, texts, group, decided, yes

    def pair(self, text, own, nugget, hidden):
        """All clues of one pair; `own` is the text's group."""
        others = [i for i in range(len(self.texts)) if self.group[i] != own and self.group[i] not in hidden]
        told = [i for i in others if self.decided[i][nugget]]
        carrying = [i for i in told if self.yes[i][nugget]]
        base = (len(carrying) + 0.5) / (len(told) + 1)

        def odds(having):
            n, y = sum(i in having for i in told), sum(i in having for i in carrying)
            return logit((y + 2 * base) / (n + 2)) - logit(base)

        best, recall = None, -1.0
        for description in self.descriptions[nugget]:
            weights = singles(description)
            has = sum(w for gram, w in weights.items() if gram in grams(text))
            share = has / max(sum(weights.values()), 1e-6)
            if share > recall:
                best, recall = description, share
        weights = singles(best)
        described = 0.0
        for gram in weights:
            having = {i for i in others if (gram in grams(self.texts[i])) == (gram in grams(text))}
            described += odds(having)
        wanted, there = numbers(best), numbers(text)
        like = {i: similarity(text, self.texts[i]) for i in others}

        def near(power, of):
            return sum(like[i] ** power for i in of)

        no = [i for i in told if i not in carrying]
        telling = [max(odds({i for i in others if gram in grams(self.texts[i])}), 0.0) for gram in grams(text)]
        values = {
            "recall": recall,
            "match": 0.0,
            "missing": max([w for gram, w in weights.items() if gram not in grams(text)], default=0.0),
            "numbers missing": bool(wanted) and not wanted <= there,
            "numbers there": bool(wanted) and wanted <= there,
            "base rate": logit(base),
            "yes texts": math.log(1 + len(carrying)),
            "like yes": math.log(near(2, carrying) + 1e-6),
            "very like yes": math.log(near(6, carrying) + 1e-6),
            "very like no": math.log(near(6, no) + 1e-6),
            "same as no": math.log(near(20, no) + 1e-6),
            "vote": (near(6, carrying) + 0.01 * base) / (near(6, told) + 0.01),
            "regression": self.regression(others, nugget, base, like),
            "telling words": sum(sorted([0.0, 0.0, 0.0, *telling])[-3:]) / 3,
            "description words": described / math.sqrt(len(weights) or 1),
        }
        return [float(values[name]) for name in CLUES]

    def regression(self, others, nugget, base, like):
        """Of what is not decided, nothing but the base rate is known."""
        kernel = np.array([[similarity(self.texts[i], self.texts[j]) for j in others] for i in others])
        if not others:
            return base
        target = [self.yes[i][nugget] - base if self.decided[i][nugget] else 0.0 for i in others]
        weights = np.linalg.solve(kernel + 0.3 * np.eye(len(others)), target)
        return base + sum(w * like[i] for w, i in zip(weights, others, strict=True))


def logit(p):
    return math.log(p / (1 - p))


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
def fields(draw):
    """A question: some nuggets with one or more descriptions, judged texts of some groups, not all pairs decided."""
    sentence = st.lists(st.sampled_from(WORDS), max_size=6).map(lambda words: normalised(" ".join(words)))
    descriptions = draw(st.lists(st.lists(sentence, min_size=1, max_size=3), min_size=1, max_size=3))
    texts = draw(st.lists(sentence, max_size=8))
    group = np.array(draw(st.lists(st.integers(0, 3), min_size=len(texts), max_size=len(texts))), dtype=np.int64)
    cells = len(texts) * len(descriptions)
    verdicts = draw(st.lists(st.sampled_from([None, True, False]), min_size=cells, max_size=cells))
    shape = (len(texts), len(descriptions))
    decided = np.array([v is not None for v in verdicts], dtype=bool).reshape(shape)
    yes = np.array([v is True for v in verdicts], dtype=bool).reshape(shape)
    return descriptions, texts, group, decided, yes


def field_of(one):
    descriptions, texts, group, decided, yes = one
    read = GramReader(IDF)
    return QuestionClues(
        [[read(d) for d in own] for own in descriptions], [read(t) for t in texts], group, decided, yes
    )


def agree(ours, expected):
    """The regression's inverse and logarithms of sums near nothing lose digits; nothing else does."""
    ours, expected = np.asarray(ours), np.asarray(expected)
    for place, name in enumerate(CLUES):
        np.testing.assert_allclose(ours[..., place], expected[..., place], rtol=1e-7, atol=1e-8, err_msg=name)


@settings(max_examples=60)
@given(fields(), st.sets(st.integers(0, 3), max_size=2))
def test_clues_of_judged_texts_are_what_other_groups_say(one, hidden):
    descriptions, texts, group, _, _ = one
    if not texts:
        return
    ours = field_of(one).judged(np.array(sorted(hidden), dtype=np.int64))
    plain = Plain(*one)
    expected = [
        [plain.pair(text, own, nugget, hidden) for nugget in range(len(descriptions))]
        for text, own in zip(texts, group.tolist(), strict=True)
    ]
    agree(ours, expected)


@settings(max_examples=60)
@given(fields(), st.lists(st.sampled_from(["", "a red fox ran", "80 foxes", "8", "zebra zebra", "new words a"])))
def test_clues_of_new_texts_are_what_all_groups_say(one, texts):
    if not texts:
        return
    plain = Plain(*one)
    expected = [[plain.pair(text, -1, nugget, set()) for nugget in range(len(one[0]))] for text in texts]
    agree(field_of(one).clues([GramReader(IDF)(text) for text in texts]), expected)


def some(seed, texts=40, nuggets=3, groups=4):
    """A question at random with texts enough to be interesting."""
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(30)]

    def sentence(n):
        return " ".join(rng.choice(words, n))

    descriptions = [[sentence(4) for _ in range(1 + n % 2)] for n in range(nuggets)]
    decided = rng.random((texts, nuggets)) < 0.8
    yes = decided & (rng.random((texts, nuggets)) < 0.3)
    group = np.sort(rng.integers(0, groups, texts))
    return descriptions, [sentence(int(rng.integers(0, 12))) for _ in range(texts)], group, decided, yes


@pytest.mark.parametrize("seed", range(3))
def test_of_the_hidden_and_of_the_own_group_no_verdict_speaks(seed):
    """Turned round or gone. To the bit where the group is hidden; else but for the last bits of the regression, out of
    whose inverse it is taken. Other groups' texts do change, or this would prove nothing."""
    one = descriptions, texts, group, decided, yes = some(seed)
    before = field_of(one)
    own = (group == 1)[:, None]
    for other in ((decided, yes ^ own), (decided & ~own, yes & ~own), (decided | own, yes | own)):
        after = field_of((descriptions, texts, group, *other))
        everybody, nobody = np.array([1]), np.zeros(0, dtype=np.int64)
        np.testing.assert_array_equal(before.judged(everybody), after.judged(everybody))
        one_way, other_way = before.judged(nobody), after.judged(nobody)
        np.testing.assert_allclose(one_way[group == 1], other_way[group == 1], rtol=0, atol=1e-12)
        exact = [place for place, name in enumerate(CLUES) if name != "regression"]
        same = (one_way == other_way)[:, :, exact]
        assert same[group == 1].all()
        assert not same[group != 1].all()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("largest", [7, 10_000])
def test_what_a_hidden_group_says_or_how_it_was_judged_reaches_nobody(seed, largest, monkeypatch):
    """Its words are in nobody's clues, and where not all texts can be compared with, it drives out nobody's."""
    monkeypatch.setattr(clues, "LARGEST", largest)
    one = descriptions, texts, group, decided, yes = some(seed)
    own = group == 0
    rng = np.random.default_rng(seed)
    said = [" ".join(rng.choice(["w1", "w2", "new", "aaa"], 9)) if own[i] else text for i, text in enumerate(texts)]
    turned = yes ^ (own[:, None] & (rng.random(yes.shape) < 0.5))
    hidden = np.array([0])
    before = field_of(one).judged(hidden)[~own]
    after = field_of((descriptions, said, group, decided, turned)).judged(hidden)[~own]
    np.testing.assert_array_equal(before, after)


def test_where_texts_are_too_many_those_that_carry_something_are_compared_with(monkeypatch):
    """Evenly from the groups, so that one that says much does not silence the others."""
    monkeypatch.setattr(clues, "LARGEST", 6)
    group = np.array([0] * 10 + [1] * 2 + [2] * 4)
    carrying = np.zeros(16, dtype=bool)
    carrying[[5, 8, 15]] = True
    assert clues._told(group, carrying).tolist() == [5, 8, 10, 11, 12, 15]


@pytest.mark.parametrize("seed", range(3))
def test_clues_of_a_text_are_the_same_to_the_bit_whatever_else_is_asked(seed, monkeypatch):
    one = some(seed, texts=60)
    field, read = field_of(one), GramReader(IDF)
    texts = [read(text) for text in some(seed + 10, texts=50)[1]]
    together = field.clues(texts)
    order = np.random.default_rng(seed).permutation(len(texts))
    np.testing.assert_array_equal(field.clues([texts[i] for i in order]), together[order])
    np.testing.assert_array_equal(np.concatenate([field.clues([text]) for text in texts]), together)
    monkeypatch.setattr(clues, "SLICE", 7)
    np.testing.assert_array_equal(field.clues(texts), together)


def test_numbers_are_whole():
    """`80 deaths` is not `8 deaths`, nor 1,200 either of its parts; a full stop ends a sentence, not a number."""
    read = GramReader(None)
    assert read("80 deaths in 1,200 cases, 3.5 a day, in 2003.").numbers == {"80", "1200", "3.5", "2003"}
    nothing = np.zeros((0, 2), dtype=bool)
    field = QuestionClues([[read("80 deaths")], [read("deaths")]], [], np.zeros(0, dtype=np.int64), nothing, nothing)
    missing, there = CLUES.index("numbers missing"), CLUES.index("numbers there")
    found = field.clues([read(text) for text in ("8 deaths", "80 deaths", "deaths", "180 deaths", "80.5 deaths", "")])
    assert found[:, 0, missing].tolist() == [1, 0, 1, 1, 1, 1]
    assert found[:, 0, there].tolist() == [0, 1, 0, 0, 0, 0]
    assert not found[:, 1, [missing, there]].any()


def test_fullwidth_digits_are_digits():
    assert GramReader(None)("８０ deaths").numbers == {"80"}
