"""Scores from automatic nuggets, and counts against corrected ones: the worked example and tables 4 and 5 of
Babko-Malaya et al. 2010."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from nuggeteer.errors import NuggeteerError
from nuggeteer.formats.annotation import Extent, Snippet
from nuggeteer.formats.snippets import JudgedSnippet
from nuggeteer.gale.automatic import ConditionCounts, compare, cut, mean_difference, score
from nuggeteer.gale.templates import read_templates

CHEN = "WHERE HAS [Chen Yunlin] BEEN AND WHEN?"
VISIT = "Chen Yunlin visited Taiwan in January"
TAINAN = (
    "Chen’s deputy, Zhang Mingqing, was attacked by protesters during an informal visit to the southern Taiwanese "
    "city of Tainan"
)


def scored(nuggetizer, snippets, asked):
    return score(snippets, asked, nuggetizer, read_templates())


def test_the_worked_example(nuggetizer):
    """Two relevant nuggets and one irrelevant one: precision 2/3 (§3.3)."""
    snippets = [JudgedSnippet("q", "A", VISIT, "relevant"), JudgedSnippet("q", "A", TAINAN, "irrelevant")]
    result = scored(nuggetizer, snippets, {"q": CHEN})
    (answer,) = result.answers
    assert dict(answer.nuggets) == {"relevant": 2, "irrelevant": 1, "redundant": 0}
    assert answer.precision == pytest.approx(Fraction(2, 3))
    assert answer.recall == 1
    assert result.means["A"]["precision"].value == pytest.approx(2 / 3)
    assert result.means["A"]["precision"].low is None


def test_a_cell_is_scored_as_if_it_were_all(nuggetizer):
    """Against a file of its snippets alone. A query without any is left out; a distiller without any is not there."""
    snippets = [
        JudgedSnippet("q", "A", VISIT, "relevant", language="Arabic", medium="audio"),
        JudgedSnippet("q", "A", TAINAN, "irrelevant", language="Arabic"),
        JudgedSnippet("q", "B", "Chen Yunlin went to Egypt", "relevant", language="Arabic", medium="audio"),
        JudgedSnippet("q", "B", "Chen Yunlin went to Rome", "relevant", language="Chinese"),
        JudgedSnippet("r", "B", "Smith went to Rome", "relevant", medium="audio"),
    ]
    asked = {"q": CHEN, "r": "whereabouts"}
    for by in (("language",), ("medium", "language")):
        result = score(snippets, asked, nuggetizer, read_templates(), by)
        assert result.by == by
        assert result.means == scored(nuggetizer, snippets, asked).means
        values = [tuple(getattr(snippet, name) or "" for name in by) for snippet in snippets]
        assert [cell.values for cell in result.cells] == sorted(set(values))
        for cell in result.cells:
            own = [snippet for snippet, named in zip(snippets, values, strict=True) if named == cell.values]
            qids = {snippet.qid for snippet in own}
            alone = scored(nuggetizer, own, {qid: query for qid, query in asked.items() if qid in qids})
            assert (cell.snippets, cell.queries) == (len(own), len(qids))
            assert cell.means == alone.means
    assert score(snippets, asked, nuggetizer, read_templates(), ("language",)).cells[1].means["A"] != result.means["A"]
    with pytest.raises(NuggeteerError, match="no snippet has a structure"):
        score(snippets, asked, nuggetizer, read_templates(), ("structure",))


def test_text_beside_the_selection_is_passed_over(nuggetizer):
    """No credit for Rice's witness, and no penalty either (§3.3)."""
    text = "Secretary Rice visited New Delhi, Tony Blair said."
    asked = {"q": "FIND PEOPLE WHO VISITED [New Delhi]"}
    whole = scored(nuggetizer, [JudgedSnippet("q", "A", text, "relevant")], asked)
    part = scored(nuggetizer, [JudgedSnippet("q", "A", text, "relevant", ((0, 32),))], asked)
    assert whole.answers[0].nuggets["relevant"] == 2
    assert dict(part.answers[0].nuggets) == {"relevant": 1, "irrelevant": 0, "redundant": 0}


def test_recall_is_over_the_nugs_of_all_distillers_and_redundant_nuggets_are_wrong(nuggetizer):
    snippets = [
        JudgedSnippet("q", "A", VISIT, "relevant"),
        JudgedSnippet("q", "A", "Chen Yunlin was in Taiwan", "redundant"),
        JudgedSnippet("q", "B", "Chen Yunlin went to Taiwan", "relevant"),
        JudgedSnippet("q", "B", "Chen Yunlin went to Egypt", "relevant"),
        JudgedSnippet("r", "B", "Smith went to Rome", "relevant"),
    ]
    result = scored(nuggetizer, snippets, {"q": CHEN, "r": "whereabouts"})
    table = {(a.qid, a.distiller): (a.precision, a.nugs, a.total_nugs, a.recall) for a in result.answers}
    # In q: Taiwan, in January, to Egypt.
    assert table["q", "A"] == (pytest.approx(2 / 3), 2, 3, pytest.approx(2 / 3))
    assert table["q", "B"] == (1, 2, 3, pytest.approx(2 / 3))
    assert table["r", "A"] == (None, 0, 1, 0)
    assert table["r", "B"] == (1, 1, 1, 1)
    assert result.means["A"]["recall"].value == pytest.approx((2 / 3 + 0) / 2)
    assert result.means["A"]["precision"].value == pytest.approx(2 / 3)


def test_a_query_with_nothing_to_find_has_no_recall(nuggetizer):
    (answer,) = scored(nuggetizer, [JudgedSnippet("q", "A", TAINAN, "irrelevant")], {"q": CHEN}).answers
    assert (answer.precision, answer.recall) == (0, None)


# Table 4.
CORRECTED = {"Str. Audio": 3308, "Str. Text": 7766, "Unstr. Audio": 3108, "Unstr. Text": 4944, "Overall": 19126}
AUTOMATIC = {"Str. Audio": 2971, "Str. Text": 7700, "Unstr. Audio": 2795, "Unstr. Text": 4780, "Overall": 18246}
PRINTED = {"Str. Audio": 10, "Str. Text": 1, "Unstr. Audio": 10, "Unstr. Text": 3, "Overall": 5}
SNIPPETS = 7061


@pytest.mark.parametrize("condition", CORRECTED)
def test_the_relative_differences_of_table_4(condition):
    count = ConditionCounts.of(None, [CORRECTED[condition]], [AUTOMATIC[condition]])
    assert round(100 * count.difference) == PRINTED[condition]


def test_mean_interval_and_p_of_table_5_belong_together():
    """Differences of 3, 0 and −3 with the paper's mean, 880/7061, that spread as much as its interval says have its p,
    to the one digit that is printed."""
    total = CORRECTED["Overall"] - AUTOMATIC["Overall"]
    differences = np.zeros(SNIPPETS)
    up, down = 1295, 1002
    differences[:up], differences[up : up + down], differences[up + down] = 3, -3, 1
    assert differences.sum() == total
    mean = mean_difference(differences)
    assert f"{mean.mean:.2f}" == "0.12"
    assert f"{(mean.high - mean.low) / 2:.2f}" == "0.04"
    assert f"{mean.p:.0e}" == "9e-10"


def test_the_mean_difference_is_students_t_test():
    differences = np.random.default_rng(7).integers(-3, 5, 40).astype(float)
    mean, theirs = mean_difference(differences), scipy.stats.ttest_1samp(differences, 0)
    interval = theirs.confidence_interval(0.95)
    assert (mean.low, mean.high, mean.p) == pytest.approx((interval.low, interval.high, theirs.pvalue))


@pytest.mark.parametrize("differences", [[1.0], [2.0, 2.0, 2.0]])
def test_where_snippets_do_not_vary_nothing_is_tested(differences):
    mean = mean_difference(np.array(differences))
    assert (mean.mean, mean.low, mean.high, mean.p) == (differences[0], None, None, None)


def test_corrections_are_counted_by_condition(nuggetizer):
    marked = Extent(((0, 4),), "PER")
    conditions = {"medium": "text", "structure": "structured"}
    texts = [
        Snippet("1", VISIT, (marked,) * 3, CHEN, **conditions),
        Snippet("2", VISIT, (marked,) * 9, None, medium="audio", structure="structured"),
        Snippet("3", VISIT, (), None, **conditions, extra={"template": "whereabouts"}),
    ]
    result = compare(cut(texts, nuggetizer, read_templates()), "model")
    (_, everything) = next(iter(nuggetizer.all([VISIT])))
    assert [(one.condition, one.snippets, one.corrected, one.automatic) for one in result.counts] == [
        ({"structure": "structured", "medium": "audio"}, 1, 9, len(everything)),
        ({"structure": "structured", "medium": "text"}, 2, 3, 4),
        (None, 3, 12, 4 + len(everything)),
    ]
    assert list(result.counts[0].condition) == ["structure", "medium"]
    assert result.without_template == 1
    assert result.mean.mean == pytest.approx((12 - 4 - len(everything)) / 3)


def test_the_template_asked_for_counts_before_what_a_line_says(nuggetizer):
    templates = read_templates()
    one = Snippet("1", VISIT, extra={"query": CHEN})
    assert [n.type for n in cut([one], nuggetizer, templates)[0].found] == ["LOC", "TMP"]
    assert [n.type for n in cut([one], nuggetizer, templates, templates["visitors"])[0].found] == ["PER"]
    with pytest.raises(NuggeteerError, match="is not a string"):
        cut([Snippet("1", VISIT, extra={"query": 1})], nuggetizer, templates)
