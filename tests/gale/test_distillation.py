"""Distillers' statistics: tables of White et al. 2008, other libraries, properties, and a simulation of known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from nuggeteer.formats.distillation import (
    Corpus,
    Distillation,
    DistilledAnswer,
    DistilledNugget,
    Distiller,
    Nug,
    Query,
    read_distillation,
)
from nuggeteer.gale import distillation as gale
from nuggeteer.gale.distillation import EXAMPLE, count, distill
from nuggeteer.records import WORLD_KNOWLEDGE

SHOWN = ("precision", "recall", "rightness", "proficiency")
# Right, wrong, missing and other of each row, as printed; redundant nuggets apart.
TABLE_3 = {
    ("A", "book"): (0.50, 0.00, 0.50, 0.00),
    ("B", "book"): (1.00, 0.00, 0.00, 0.00),
    ("C", "book"): (0.00, 0.00, 1.00, 0.00),
    ("D", "book"): (0.00, 0.00, 1.00, 0.00),
    ("A", "paper"): (0.50, 0.00, 0.50, 0.00),
    ("B", "paper"): (1.00, 0.00, 0.00, 0.00),
    ("C", "paper"): (1.00, 0.00, 0.00, 0.00),
    ("D", "paper"): (0.00, 0.00, 1.00, 0.00),
    ("A", "Rome"): (0.25, 0.25, 0.25, 0.25),
    ("B", "Rome"): (0.50, 0.50, 0.00, 0.00),
    ("C", "Rome"): (0.50, 0.50, 0.00, 0.00),
    ("D", "Rome"): (0.00, 0.00, 0.50, 0.50),
}
REDUNDANT = {("C", "paper"): 1.00, ("C", "Rome"): 0.50}
# Printed in tables 5 and 6; None for NaN. C's rest on a table with no right nugget, which is an error.
TABLE_5 = {"A": (0.417, 0.500, 0.294, 0.400), "B": (0.625, 1.000, 0.625, 0.909), "D": (None, 0.000, 0.000, 0.000)}
TABLE_6 = {"A": (0.450, 0.500, 0.310, 0.399), "B": (0.583, 0.778, 0.500, 0.665), "D": (0.500, 0.222, 0.182, 0.176)}
C_AS_PRINTED = np.array([0.0, 2.75, 1.0, 1e5])  # equation 21
C_5, C_6 = (0.0, 0.0, 0.0, 0.0), (0.211, 0.333, 0.148, 0.238)


@pytest.fixture(scope="module")
def example():
    return read_distillation([EXAMPLE])


def printed(values):
    return tuple(None if np.isnan(value) else round(float(value), 3) for value in values)


def test_table_3_to_the_digit(example):
    counts = count(example)
    names = [distiller.distiller for distiller in example.distillers]
    for (who, nug), row in TABLE_3.items():
        i, k = names.index(who), [nug.nug for nug in example.nugs].index(nug)
        redundant = REDUNDANT.get((who, nug), 0.0)
        assert counts.redundant[i, k] == redundant
        assert (counts.cells[i, k] - [0, redundant, 0, 0]).tolist() == list(row)


def test_partial_and_full_tables(example):
    """Equations 15 to 22, but for C's right nuggets, of which table 3 has 1.5 and equation 17 none."""
    partial = {"A": (1.25, 0.25, 1.25, 0.25), "B": (2.5, 0.5, 0, 0), "C": (1.5, 2.0, 1.0, 0), "D": (0, 0, 2.5, 0.5)}
    irrelevant = {"A": 1.50, "B": 1.00, "C": 0.75, "D": 0.00}  # table 4
    result = distill(example)
    for i, who in enumerate(result.names):
        right, wrong, missing, other = partial[who]
        assert result.counts.cells[i].sum(axis=0).tolist() == [right, wrong, missing, other]
        assert result.counts.irrelevant[i].sum() == irrelevant[who]
        assert result.tables[i].tolist() == [right, wrong + irrelevant[who], missing, 1e5 + other]


@pytest.mark.parametrize(("model", "table", "c"), [("empirical", TABLE_5, C_5), ("bayesian", TABLE_6, C_6)])
def test_tables_5_and_6_to_the_digit(example, model, table, c):
    result = distill(example)
    for who, row in table.items():
        i = result.names.index(who)
        assert printed(result.models[model].values[name][i] for name in SHOWN) == row
    added = 1.0 if model == "bayesian" else 0.0
    assert printed(gale.TABLE_MEASURES[name](C_AS_PRINTED + added) for name in SHOWN) == c


def test_c_with_the_right_nuggets_of_table_3(example):
    """1.5 right, 2.75 wrong, 1 missing, worked by hand; proficiency by scikit-learn below."""
    result = distill(example)
    c = result.names.index("C")
    for model, added in (("empirical", 0.0), ("bayesian", 1.0)):
        right, wrong, missing = 1.5 + added, 2.75 + added, 1.0 + added
        by_hand = (right / (right + wrong), right / (right + missing), right / (right + wrong + missing))
        assert [result.models[model].values[name][c] for name in SHOWN[:3]] == pytest.approx(by_hand)
    assert printed(result.models[model].values["proficiency"][c] for model in gale.MODELS) == (0.473, 0.438)


def test_the_printed_digits_count_the_order_of_magnitude_once(example):
    """§6.2 puts it into the prior, §7.4 into the counts and 1 into the prior: with both, other digits come out."""
    once, just_so, twice = (
        distill(replace(example, corpus=replace(example.corpus, other=other))).models["bayesian"].values["proficiency"]
        for other in (99_999, 1e5, 2e5)
    )
    assert printed(once) == printed(just_so)
    assert printed(just_so)[:2] == (TABLE_6["A"][3], TABLE_6["B"][3])
    assert printed(twice)[:2] == (0.405, 0.672)


whole_tables = st.tuples(*[st.integers(0, 30)] * 3, st.integers(0, 200)).filter(any)


@pytest.mark.slow
@given(whole_tables)
def test_measures_are_scikit_learns_on_the_nuggets_one_by_one(table):
    """Relevant and given, yes or no, of each; rightness is Jaccard's index of the two."""
    right, wrong, missing, other = table
    x = np.repeat([1, 0, 1, 0], [right, wrong, missing, other])
    y = np.repeat([1, 1, 0, 0], [right, wrong, missing, other])
    ours = {name: float(measure(np.array(table, dtype=float))) for name, measure in gale.TABLE_MEASURES.items()}
    nan = float("nan")
    assert ours["precision"] == pytest.approx(metrics.precision_score(x, y, zero_division=nan), nan_ok=True)
    assert ours["recall"] == pytest.approx(metrics.recall_score(x, y, zero_division=nan), nan_ok=True)
    assert ours["rightness"] == pytest.approx(
        metrics.jaccard_score(x, y) if right + wrong + missing else nan, nan_ok=True
    )
    assert ours["accuracy"] == pytest.approx(metrics.accuracy_score(x, y))
    if right + wrong and right + missing:
        assert ours["f"] == pytest.approx(metrics.f1_score(x, y))
    if 0 < x.sum() < len(x):
        shared = metrics.mutual_info_score(x, y)
        assert ours["proficiency"] == pytest.approx(shared / stats.entropy(np.bincount(x)), abs=1e-9)
    else:  # equation 12
        assert ours["proficiency"] == (0.0 if 0 < y.sum() < len(y) else 1.0)


cells = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))


@given(cells, cells, cells, st.floats(0, 1e9))
def test_rightness_bounds_precision_and_recall_and_proficiency_is_a_share(right, wrong, missing, other):
    table = np.array([right, wrong, missing, other])
    precision, recall, rightness, f, proficiency = (
        float(measure(table)) for measure in (gale.precision, gale.recall, gale.rightness, gale.f, gale.proficiency)
    )
    if np.isnan(precision) or np.isnan(recall):
        assert np.isnan(f)
    else:
        assert rightness <= min(precision, recall) + 1e-12
        if wrong == 0:
            assert (precision, rightness) == (1.0, pytest.approx(recall))
        if missing == 0:
            assert (recall, rightness) == (1.0, pytest.approx(precision))
        assert rightness == pytest.approx(f / (2 - f))
    assert np.isnan(rightness) == (right + wrong + missing == 0)
    assert np.isnan(proficiency) == (table.sum() == 0)
    assert np.isnan(proficiency) or 0 <= proficiency <= 1


def test_proficiency_is_1_of_a_perfect_answer_and_0_of_one_that_tells_nothing():
    assert gale.proficiency(np.array([5.0, 0, 0, 1e5])) == pytest.approx(1)
    assert gale.proficiency(np.array([2.0, 20, 3, 30])) == pytest.approx(0, abs=1e-12)  # x and y independent


degrees = st.sampled_from([0.0, 0.25, 0.5, 1.0])
nug_rows = st.lists(
    st.tuples(st.floats(0, 1), st.booleans(), st.lists(st.lists(degrees, max_size=3), min_size=2, max_size=2)),
    min_size=1,
    max_size=6,
)


def evaluation(rows, extra=(), irrelevant=0.0):
    """One query; each nug has a relevance, whether world knowledge is needed, and each distiller's degrees in it."""
    nugs, nuggets = [], []
    for k, (relevance, knowledge, given_) in enumerate([*rows, *extra]):
        nugs.append(Nug("q", str(k), relevance, tags=(WORLD_KNOWLEDGE,) if knowledge else ()))
        for who, own in zip("XY", given_, strict=True):
            nuggets += [DistilledNugget("q", who, f"{k}", {str(k): degree}) for degree in own]
    answers = tuple(DistilledAnswer("q", who, irrelevant) for who in "XY")
    people = (Distiller("X"), Distiller("Y"))
    return Distillation(Corpus(1000, 40), (Query("q", "?"),), people, tuple(nugs), tuple(nuggets), answers)


@given(nug_rows)
def test_each_nug_is_one_count_and_each_redundant_nugget_its_degree(rows):
    counts = count(evaluation(rows))
    for i in range(2):
        for k, (_, _, given_) in enumerate(rows):
            own = sorted(given_[i])
            assert counts.redundant[i, k] == sum(own[:-1])
            assert counts.cells[i, k].sum() == pytest.approx(1 + sum(own[:-1]))
            assert (counts.cells[i, k] >= 0).all()


@pytest.mark.slow
@given(nug_rows, st.floats(0, 1), degrees.filter(bool), st.sampled_from(gale.MODELS))
def test_a_nug_of_world_knowledge_credits_the_finder_and_costs_nobody_recall(rows, relevance, degree, model):
    """X finds one nug more; Y does not."""
    before, after = distill(evaluation(rows)), distill(evaluation(rows, [(relevance, True, [[degree], []])]))
    was, is_ = (one.models[model].values["recall"] for one in (before, after))
    assert np.isnan(was[0]) or is_[0] >= was[0] - 1e-12
    assert is_[1] == pytest.approx(was[1], nan_ok=True)
    assert after.tables[0, gale.RIGHT] - before.tables[0, gale.RIGHT] == pytest.approx(relevance * degree)


def test_the_most_precise_nugget_counts_and_others_are_redundant():
    """X has nuggets of degrees ¼ and ½ in a nug of relevance 0.8: D is ½, not their sum."""
    x, y = count(evaluation([(0.8, False, [[0.25, 0.5], [1.0]])])).cells[:, 0]
    assert x.tolist() == pytest.approx([0.4, 0.1 + 0.25, 0.4, 0.1])
    assert y.tolist() == pytest.approx([0.8, 0.2, 0, 0])


def test_world_knowledge_by_hand():
    """X has one of two ordinary nugs, and half of the meaning of one that takes knowledge: 1.5 right, 1 missing."""
    rows = [(1.0, False, [[1.0], []]), (1.0, False, [[], [1.0]]), (1.0, True, [[0.5], []])]
    result = distill(evaluation(rows))
    assert result.models["empirical"].values["recall"].tolist() == [1.5 / 2.5, 1 / 2]
    assert result.tables[:, gale.OTHER].tolist() == [1000.5, 1001]


def cited(*nuggets, support=("d1", "d2"), tags=()):
    """X's nuggets in the first of two nugs (degree, citations); Y has the second."""
    nugs = (Nug("q", "1", 1.0, support=support, tags=tags), Nug("q", "2", 1.0, support=("d3",)))
    own = [DistilledNugget("q", "X", "a", {"1": degree}, citations) for degree, citations in nuggets]
    other = DistilledNugget("q", "Y", "b", {"2": 1.0}, ("d3",))
    people = (Distiller("X"), Distiller("Y"))
    return distill(Distillation(Corpus(1000, 40), (Query("q", "?"),), people, nugs, (*own, other), ()))


def test_citation_weighted_recall_by_hand():
    """Equation 11: degrees 1 and ½ have mean ¾; d1 and d9 cited, d1 and d2 support: F = ½; of two nugs."""
    result = cited((1.0, ("d1",)), (0.5, ("d9",)))
    x, y = result.models["empirical"].values["cw_recall"]
    assert x == pytest.approx(0.75 * np.sqrt(0.5) / 2)
    assert y == pytest.approx(1 / 2)
    precision = 1 / 1.5
    assert result.models["empirical"].values["cw_f"][0] == pytest.approx(2 * precision * x / (precision + x))


def test_without_citations_citation_weighted_recall_is_undefined_but_of_who_has_nothing():
    assert np.isnan(cited((1.0, None)).models["empirical"].values["cw_recall"][0])
    assert np.isnan(cited((1.0, ("d1",)), support=None).models["empirical"].values["cw_recall"][0])
    assert cited().models["empirical"].values["cw_recall"].tolist() == [0, 1 / 2]


def test_citing_nothing_earns_nothing():
    assert cited((1.0, ())).models["empirical"].values["cw_recall"][0] == 0


def test_world_knowledge_costs_nobody_citation_weighted_recall():
    """Nug 1 takes knowledge of the world: X, who alone has it, is out of ½·√1 and the other nug, Y of that only."""
    result = cited((0.5, ("d1", "d2")), tags=(WORLD_KNOWLEDGE,))
    assert result.models["empirical"].values["cw_recall"].tolist() == pytest.approx([0.5 / 1.5, 1.0])


def test_a_prior_of_nothing_is_the_empirical_model_and_others_are_added_cell_by_cell(example):
    none, some = distill(example, (0, 0, 0, 0)), distill(example, (2, 3, 4, 5))
    for name in gale.MEASURES:
        assert printed(none.models["bayesian"].values[name]) == printed(none.models["empirical"].values[name])
    right, wrong, missing, _ = some.tables[0]
    assert some.models["bayesian"].values["precision"][0] == (right + 2) / (right + 2 + wrong + 3)
    assert some.models["bayesian"].values["recall"][0] == (right + 2) / (right + 2 + missing + 4)


def test_without_an_order_of_magnitude_proficiency_and_accuracy_are_undefined(example):
    result = distill(replace(example, corpus=replace(example.corpus, other=None)))
    values = result.models["bayesian"].values
    assert np.isnan(values["proficiency"]).all()
    assert np.isnan(values["accuracy"]).all()
    assert not np.isnan(values["recall"]).any()
    assert "Proficiency" in result.notes[0]


def test_one_query_has_no_interval(example):
    alone = replace(
        example,
        queries=example.queries[:1],
        nugs=tuple(n for n in example.nugs if n.qid == "related"),
        nuggets=tuple(n for n in example.nuggets if n.qid == "related"),
        answers=tuple(a for a in example.answers if a.qid == "related"),
    )
    assert distill(alone).models["empirical"].intervals["recall"] == [None] * 4


def many(rng, queries, rates, kinds=("machine", "human")):
    """Queries with Poisson numbers of nugs; each distiller finds each at its rate."""
    people = tuple(Distiller(name, kind) for name, kind in zip("XY", kinds, strict=True))
    nugs, nuggets, answers = [], [], []
    for q in range(queries):
        for k in range(1 + rng.poisson(4)):
            nugs.append(Nug(f"{q}", f"{k}", 1.0))
            nuggets += [
                DistilledNugget(f"{q}", one.distiller, "", {f"{k}": 1.0})
                for one, rate in zip(people, rates, strict=True)
                if rng.random() < rate
            ]
        answers += [DistilledAnswer(f"{q}", one.distiller, float(40 * rng.poisson(2))) for one in people]
    asked = tuple(Query(f"{q}", "?") for q in range(queries))
    return Distillation(Corpus(1e4, 40), asked, people, tuple(nugs), tuple(nuggets), tuple(answers))


def test_few_queries_have_no_interval_and_neither_has_what_one_query_decides():
    scores = distill(many(np.random.default_rng(1), 4, (0.6, 0.8))).models["empirical"]
    assert {interval for own in scores.intervals.values() for interval in own} == {None}
    rows = [(1.0, False, [[1.0], [1.0]])]
    parts = [evaluation(rows), *[evaluation([(1.0, False, [[1.0], []])]) for _ in range(5)]]
    joined = {
        name: tuple(replace(line, qid=str(i)) for i, part in enumerate(parts) for line in getattr(part, name))
        for name in ("queries", "nugs", "nuggets", "answers")
    }
    scores = distill(replace(parts[0], **joined)).models["empirical"]
    # Y answers one of six queries. Without that one it has recall, but no precision.
    assert (scores.values["precision"][1], scores.intervals["precision"][1]) == (1.0, None)
    assert scores.values["recall"][1] == pytest.approx(1 / 6)
    low, high = scores.intervals["recall"][1]
    assert 0 < low < 1 / 6 < high < 1


@pytest.mark.parametrize("name", ["precision", "recall", "rightness"])
def test_intervals_are_about_those_of_the_bootstrap_with_many_queries(name):
    one = many(np.random.default_rng(1), 200, (0.6, 0.8))
    tables, _ = count(one).by_query()
    measure, x = gale.TABLE_MEASURES[name], tables[0]
    theirs = stats.bootstrap(
        (np.arange(200),),
        lambda which: float(measure(x[which].sum(axis=0))),
        vectorized=False,
        n_resamples=2000,
        rng=np.random.default_rng(0),
    ).confidence_interval
    ours = distill(one).models["empirical"].intervals[name][0]
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.1 * (theirs.high - theirs.low))


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """150 evaluations of 30 queries; the machine finds 60 % of nugs, the human 80 %. Ratios too."""
    rng = np.random.default_rng(3)
    recall = ratio = 0
    for _ in range(150):
        result = distill(many(rng, 30, (0.6, 0.8)))
        low, high = result.models["empirical"].intervals["recall"][0]
        recall += low <= 0.6 <= high
        low, high = result.ratios["empirical"].intervals["recall"][0]
        ratio += low <= 0.75 <= high
    # 95 % of 150, with three standard deviations.
    assert 134 <= recall <= 150
    assert 134 <= ratio <= 150


def test_the_printed_estimate_of_wrong_nugs_leaves_out_its_formulas_subtraction(example):
    """max(0, #char/40 − #Right) would be 0.25 for A and nothing for the others; table 4 has 1.50, 1.00, 0.75, 0."""
    counts = count(example)
    right = counts.cells[:, :, gale.RIGHT].sum(axis=1)
    assert np.maximum(0, counts.irrelevant.sum(axis=1) - right).tolist() == [0.25, 0, 0, 0]
    assert counts.irrelevant.sum(axis=1).tolist() == [1.5, 1, 0.75, 0]


def test_ratios_are_to_the_mean_of_the_humans(example):
    kinds = {"A": "machine", "B": "human", "C": "human", "D": None}
    result = distill(replace(example, distillers=tuple(Distiller(n, k) for n, k in kinds.items())))
    values = result.models["bayesian"].values["proficiency"]
    assert (result.machines, result.humans) == ([0], ["B", "C"])
    assert result.ratios["bayesian"].values["proficiency"][0] == pytest.approx(values[0] / values[1:3].mean())


def test_a_machine_that_answers_as_the_human_does_is_exactly_as_good():
    one = many(np.random.default_rng(4), 8, (0.7, 0.0))
    twin = [replace(n, distiller="Y") for n in one.nuggets]
    same = {a.qid: a.irrelevant for a in one.answers if a.distiller == "X"}
    answers = tuple(replace(a, irrelevant=same[a.qid]) for a in one.answers)
    result = distill(replace(one, nuggets=(*one.nuggets, *twin), answers=answers))
    for name in ("precision", "recall", "f", "proficiency"):
        assert result.ratios["bayesian"].values[name][0] == 1
        assert result.ratios["bayesian"].intervals[name][0] is None  # nothing varies


def test_without_a_human_there_is_no_ratio(example):
    assert distill(example).ratios == {}


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_the_order_of_lines_decides_nothing(random):
    one = read_distillation([EXAMPLE])
    shuffled = [list(group) for group in (one.nugs, one.nuggets, one.answers)]
    for group in shuffled:
        random.shuffle(group)
    nugs, nuggets, answers = map(tuple, shuffled)
    a, b = distill(one), distill(replace(one, nugs=nugs, nuggets=nuggets, answers=answers))
    assert a.tables == pytest.approx(b.tables)
    for name in gale.MEASURES:
        assert a.models["bayesian"].values[name] == pytest.approx(b.models["bayesian"].values[name], nan_ok=True)
