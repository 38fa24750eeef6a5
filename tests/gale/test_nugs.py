"""Proposed nugs: the paper's example, what every proposal must keep to, and what a person must still do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.distillation import (
    Corpus,
    Distillation,
    DistilledNugget,
    Distiller,
    Query,
    read_distillation,
    write_distillation,
)
from nuggeteer.gale import nugs
from nuggeteer.gale.distillation import EXAMPLE, distill
from nuggeteer.gale.nugs import propose, sort
from nuggeteer.text import normalised


def bare(evaluation):
    """The same before anybody sorted it."""
    return replace(evaluation, nugs=(), nuggets=tuple(replace(n, nugs=None) for n in evaluation.nuggets))


def test_of_two_granularities_only_the_merged_nugget_means_the_same():
    """Babko-Malaya 2008, 3.2.3: n1, n2 and n3, and the nugget that annotators made of n2 and n3."""
    n1, n2, n3 = (
        "The oil for food program allowed Iraq to sell oil",
        "Under the oil for food program,",
        "Iraq is allowed to sell oil",
    )
    merged = f"{n2} {n3}"
    _, degrees = sort([n1, merged])
    assert degrees[normalised(n1)][0] > 0.85
    (meaning,), apart = sort([n1, n2, n3])
    assert meaning == n1
    assert all(apart[normalised(text)][0] < 0.75 for text in (n2, n3))


def test_the_papers_classes_but_for_the_nugget_that_shares_no_word():
    """A's "They are joint authors." belongs to both nugs of its query by half; words alone cannot tell."""
    example = read_distillation([EXAMPLE])
    done = propose(bare(example)).distillation
    classes = {}
    for nugget in done.nuggets:
        (nug,) = nugget.nugs
        classes.setdefault((nugget.qid, nug), set()).add(normalised(nugget.text))
    truth = {}
    for nugget in example.nuggets:
        if len(nugget.nugs) == 1:
            truth.setdefault((nugget.qid, *nugget.nugs), set()).add(normalised(nugget.text))
    alone = {normalised("They are joint authors.")}
    assert sorted(map(sorted, classes.values())) == sorted(map(sorted, [*truth.values(), alone]))


def test_redundant_nuggets_fall_into_one_nug():
    done = propose(bare(read_distillation([EXAMPLE]))).distillation
    own = [n for n in done.nuggets if n.distiller == "C" and n.qid == "related"]
    assert own[0].nugs == own[1].nugs == {next(iter(own[0].nugs)): 1.0}


def test_shares_by_a_plain_count():
    """Of the column's words, weighed by idf, what the row has; words counted once."""
    texts = ["the ship sank", "the ship the ship", "Rome", "…"]
    idf = nugs.background()
    expected = np.zeros((4, 4))
    words = [{"the", "ship", "sank"}, {"the", "ship"}, {"rome"}, set()]
    for i, row in enumerate(words):
        for j, column in enumerate(words):
            whole = sum(idf[word] for word in column)
            expected[i, j] = sum(idf[word] for word in row & column) / whole if whole else 0
    assert nugs.containment(texts) == pytest.approx(expected)


def test_an_imprecise_nugget_between_two_nugs_belongs_to_both_by_what_it_has_of_each():
    texts = ["Smith built the reactor", "Jones wrote the letter", "Smith, Jones"]
    meanings, memberships = sort(texts)
    assert meanings == texts[:2]
    idf = nugs.background()
    expected = [
        idf[name] / sum(idf[word] for word in words)
        for name, words in (
            ("smith", ["smith", "built", "the", "reactor"]),
            ("jones", ["jones", "wrote", "the", "letter"]),
        )
    ]
    degrees = memberships[normalised(texts[2])]
    assert [degrees[0], degrees[1]] == pytest.approx(expected, abs=0.01)


def test_a_nugget_never_counts_more_than_once():
    """What has the whole of three meanings belongs a third to each, in digits that do not sum to more than 1."""
    assert nugs._at_most_one({0: 1.0, 1: 1.0, 2: 1.0}) == {0: 0.33, 1: 0.33, 2: 0.33}


WORDS = ["rome", "italy", "joan", "reactor", "fermi", "built", "the", "in", "a", "of", "…"]
words = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(words, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_every_proposal_is_an_evaluation_once_it_is_accepted(tmp_path_factory, texts, random):
    """Degrees at most 1 in sum, a nugget of degree 1 in each nug, equal texts alike, whatever the order of lines."""
    nuggets = tuple(DistilledNugget("q", "XY"[i % 2], text) for i, text in enumerate(texts))
    people = (Distiller("X"), Distiller("Y"))
    one = Distillation(Corpus(), (Query("q", "?"),), people, (), nuggets, ())
    done = propose(one)
    path = tmp_path_factory.mktemp("nugs") / "nugs.jsonl"
    write_distillation(path, done.distillation)
    with pytest.raises(NuggeteerError, match="only proposed"):
        read_distillation([path])
    path.write_text(path.read_text(encoding="utf-8").replace(',"proposed":true', ""), encoding="utf-8")
    accepted = read_distillation([path])
    assert not accepted.problems
    assert distill(accepted).tables[:, 0].max() > 0
    shuffled = list(nuggets)
    random.shuffle(shuffled)
    again = propose(replace(one, nuggets=tuple(shuffled))).distillation

    def told(evaluation):
        """Each text's degrees in what nugs mean, for their numbers go by the order of lines."""
        meaning = {nug.nug: normalised(nug.text) for nug in evaluation.nugs}
        return {normalised(n.text): {meaning[k]: d for k, d in n.nugs.items()} for n in evaluation.nuggets}

    assert told(again) == told(done.distillation)


def test_what_is_sorted_is_left_alone_and_nothing_to_do_is_said():
    example = read_distillation([EXAMPLE])
    with pytest.raises(NuggeteerError, match="already in a nug"):
        propose(example)
    half = replace(
        example,
        nugs=tuple(n for n in example.nugs if n.qid == "where"),
        nuggets=tuple(n if n.qid == "where" else replace(n, nugs=None) for n in example.nuggets),
    )
    done = propose(half).distillation
    assert [n for n in done.nuggets if n.qid == "where"] == [n for n in example.nuggets if n.qid == "where"]
    assert not next(n for n in done.nugs if n.qid == "where").proposed


def test_a_query_with_nugs_and_unsorted_nuggets_is_refused():
    example = read_distillation([EXAMPLE])
    more = (*example.nuggets, DistilledNugget("where", "D", "In Italy."))
    with pytest.raises(NuggeteerError, match="'where' has nugs, but also nuggets that are in none"):
        propose(replace(example, nuggets=more))
