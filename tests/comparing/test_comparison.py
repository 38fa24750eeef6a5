"""Many runs compared: what is put together, against its parts and against collections worked by hand."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from msgspec import structs
from scipy import stats

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.comparing.comparison import compare
from nuggeteer.errors import NuggeteerError
from nuggeteer.reports.formatting import difference_of, signed_span
from nuggeteer.reports.html.comparison import write
from nuggeteer.scoring.scorer import score
from nuggeteer.statistics.significance import holm
from nuggeteer.statistics.variance import analyse_variance
from tests.conftest import write_lines
from tests.tables import read_table

FIXED = "[threshold]\nmodel = 'fixed'\nvalue = 0.2\n"
JUDGED = ["aurora", "basalt", "cobalt", "dune"]
BUILDS = ["build-101", "build-102", "build-103"]


@pytest.mark.slow
def test_runs_are_ranked_by_their_scores(sample):
    result = compare(sample, sample.run_names)
    values = {run.name: run.measures["f3"].value for run in score(sample, sample.run_names).runs}
    ranked = [result.scores.runs[i].name for i in result.standings[0].order]
    assert ranked == sorted(values, key=values.get, reverse=True)
    assert [str(standing.measure) for standing in result.standings] == ["f3", "pyramid_f3", "macro_f3"]


def test_another_measure_can_rank(sample):
    result = compare(sample, JUDGED, ["recall", "f3"])
    values = [result.scores.runs[i].measures["recall"].value for i in result.standings[0].order]
    assert str(result.standings[0].measure) == "recall"
    assert values == sorted(values, reverse=True)


def test_where_all_is_known_the_tests_are_of_the_scores_by_question(sample):
    """The paper's analysis of variance; undefined questions are left out."""
    names = ["aurora", "cobalt"]
    result = compare(sample, names)
    values = np.array([run.by_question["f3"] for run in score(sample, names).runs])
    assert all(run.outcome.known.all() for run in result.scores.runs)
    defined = ~np.isnan(values).any(axis=0)
    expected = analyse_variance(values[:, defined])
    found = result.standings[0].variance
    assert result.standings[0].questions == defined.sum() < len(defined)
    assert (found.runs, found.questions, found.mean_square) == (expected.runs, expected.questions, expected.mean_square)
    assert found.judging.tolist() == [[0, 0], [0, 0]]


def test_what_is_guessed_makes_the_tests_careful(sample):
    """The more of a pair of runs is guessed, the larger must their difference be."""
    result = compare(sample, ["aurora", "cobalt", "build-103"]).standings[0]
    assert result.tukey.critical[0, 2] > 1.5 * result.tukey.critical[0, 1]


@pytest.mark.slow
def test_correlations_are_over_answers_and_over_runs(sample):
    result = compare(sample, sample.run_names)
    frame = {m: np.stack([r.by_question[m] for r in result.scores.runs]) for m in ("f3", "pyramid_f3", "macro_f3")}
    for one, (a, b) in zip(result.correlations, combinations(frame, 2), strict=True):
        assert [str(measure) for measure in one.measures] == [a, b]
        both = ~np.isnan(frame[a]) & ~np.isnan(frame[b])
        assert one.answers.pearson == pytest.approx(stats.pearsonr(frame[a][both], frame[b][both]).statistic)
        means = [np.nanmean(frame[m], axis=1) for m in (a, b)]
        assert one.runs.pearson == pytest.approx(stats.pearsonr(*means).statistic)
        assert one.runs.kendall_tau == pytest.approx(stats.kendalltau(*means).statistic)


def test_answers_that_pyramid_weights_rescue_from_0_are_counted(sample):
    """Counted again, one by one; pyramid and macro F are 0 for the same answers, as Dang & Lin prove in §4.1."""
    names = ["aurora", "cobalt"]  # in which everything is known
    result = compare(sample, names)
    binary, pyramid = ([run.by_question[m] for run in score(sample, names).runs] for m in ("f3", "pyramid_f3"))
    answers = [(a, b) for one, other in zip(binary, pyramid, strict=True) for a, b in zip(one, other, strict=True)]
    answers = [(a, b) for a, b in answers if not np.isnan(a + b)]
    zeros = {tuple(map(str, one.measures)): one.zeros for one in result.correlations}
    rescued = sum(a == 0 and b > 0 for a, b in answers)
    assert rescued
    assert zeros["f3", "pyramid_f3"].answers == len(answers)
    assert zeros["f3", "pyramid_f3"].rescued == pytest.approx(rescued / len(answers))
    assert zeros["f3", "pyramid_f3"].first == pytest.approx(sum(a == 0 for a, _ in answers) / len(answers))
    assert zeros["pyramid_f3", "macro_f3"].first == zeros["pyramid_f3", "macro_f3"].second
    assert zeros["pyramid_f3", "macro_f3"].rescued == 0


def test_f_with_all_questions_as_one_is_computed_from_the_sums(sample):
    result = compare(sample, ["aurora", "cobalt"])
    for run, found in zip(result.scores.runs, result.pooled, strict=True):
        vital, rated = sample.key.vital, sample.key.vital | sample.key.okay
        asked = np.isin(sample.key.question, sample.key.question[vital])
        counts = vital & (run.outcome.found | ~sample.key.world_knowledge)
        recall = run.outcome.found[vital].sum() / counts.sum()
        allowance = 100 * (run.outcome.found & rated & asked).sum()
        length = run.outcome.length[np.unique(sample.key.question[vital])].sum()
        precision = min(1, allowance / length)
        assert found == pytest.approx(10 * precision * recall / (9 * precision + recall))
    assert compare(sample, ["aurora", "cobalt"], ["recall"]).pooled is None


def test_the_page_has_each_run_and_each_answer_and_says_the_numbers(sample, tmp_path):
    result = compare(sample, JUDGED)
    write(tmp_path / "page.html", result, "<script>alert(1)</script>")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 2 * len(result.correlations)
    assert "<script" not in page
    assert f"{result.correlations[0].runs.pearson:.3f}" in page


@pytest.mark.slow
def test_official_scores_are_those_of_the_manifest(sample):
    result = compare(sample, sample.run_names)
    (one,) = result.official
    measure, agreement = one.measure, one.agreement
    ours = [result.scores[run].measures["f3"].value for run in JUDGED]
    theirs = [result.scores[run].run.info.official["f3"] for run in JUDGED]
    assert (str(measure), agreement.n) == ("f3", 4)
    assert agreement.kendall_tau == pytest.approx(stats.kendalltau(ours, theirs).statistic)
    assert agreement.rmse == pytest.approx(np.sqrt(np.mean((np.array(ours) - theirs) ** 2)))


@pytest.mark.slow
def test_official_scores_by_another_measure_are_compared_by_rank_and_correlation(sample):
    theirs = dict(zip(JUDGED, (3.0, 1.0, 4.0, 2.0), strict=True))
    manifest = sample.manifest | {
        name: structs.replace(sample.manifest[name], official={"bleu": score}) for name, score in theirs.items()
    }
    result = compare(replace(sample, manifest=manifest), JUDGED)
    (one,) = result.official
    ours = [result.scores[run].measures["f3"].value for run in JUDGED]
    assert (one.name, str(one.measure), one.same) == ("bleu", "f3", False)
    assert one.agreement.kendall_tau == pytest.approx(stats.kendalltau(ours, list(theirs.values())).statistic)
    assert one.agreement.pearson == pytest.approx(stats.pearsonr(ours, list(theirs.values())).statistic)
    assert np.isnan(one.agreement.rmse)


def test_one_official_score_is_compared_with_nothing(sample):
    assert compare(sample, ["aurora", *BUILDS]).official == ()


@pytest.mark.slow
def test_identical_runs_cannot_be_told_apart_in_any_way(sample, tmp_path):
    """A copy of a run that is mostly guessed, said to be of another system: same ranks, p = 1. Somebody judged an
    answer of the original, so its answers count as its own whoever returns them."""
    shutil.copytree(sample.root, tmp_path / "twins")
    twin = tmp_path / "twins" / "runs" / "twin.jsonl"
    shutil.copy(tmp_path / "twins" / "runs" / "build-103.jsonl", twin)
    with (tmp_path / "twins" / "runs.jsonl").open("a") as manifest:
        manifest.write('{"run": "twin", "group": "aurora"}\n')
    apart = compare(read_collection(tmp_path / "twins"), ["build-101", "build-103", "twin", "dune"])
    for standing in apart.standings:  # nobody judged either: only what nobody knows of two systems sets them apart
        assert standing.tukey.p[1, 2] > 0.99
        assert standing.above[1, 2] + standing.above[2, 1] == 1
        assert 0.4 < standing.above[1, 2] < 0.6
    text = next(json.loads(line)["text"] for line in twin.read_text().splitlines() if '"rag-05"' in line)
    verdict = {"qid": "rag-05", "nugget": "1", "text": text, "verdict": False, "run": "build-103", "assessor": "me"}
    write_lines(tmp_path / "twins" / "judgements" / "me.jsonl", [verdict])
    result = compare(read_collection(tmp_path / "twins"), ["build-101", "build-103", "twin", "dune"], by="kind")
    for standing in result.standings:
        assert standing.ranks[1].tolist() == standing.ranks[2].tolist()
        assert standing.above[1, 2] == standing.above[2, 1] == 0.5
        assert standing.tukey.p[1, 2] == 1
    same = compare(read_collection(tmp_path / "twins"), ["build-103", "twin"], by="kind")
    assert same.standings[0].tukey.p.tolist() == [[1, 1], [1, 1]]
    assert same.standings[0].ranks.tolist() == [[1, 2], [1, 2]]
    assert all(one.p[1] == 1 and one.difference[1] == 0 for one in same.slices.slices)


def test_ranks_count_that_guesses_may_be_wrong(collect):
    """One run is ahead in every question by its expected scores; drawn verdicts put the two in either order."""
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": f"fact{i} stands here"} for i in range(8)]
    runs = {
        "ahead": [(f"q{i}", f"fact{i} stands") for i in range(8)],
        "behind": [(f"q{i}", f"so it stands {i}") for i in range(8)],
    }
    result = compare(collect(nuggets, runs), ["ahead", "behind"]).standings[0]
    assert result.tukey.means[0] > result.tukey.means[1]
    assert result.ranks.tolist() == [[1, 2], [1, 2]]
    assert 0.5 < result.above[0, 1] < 1


def test_slices_are_means_of_their_questions(sample):
    result = compare(sample, ["aurora", "cobalt"], by="kind")
    kinds = np.array([question.kind for question in sample.key.questions])
    assert [one.value for one in result.slices.slices] == sorted(set(kinds))
    for one in result.slices.slices:
        for measure in ("f3", "pyramid_f3"):
            own = np.stack([run.by_question[measure][kinds == one.value] for run in result.scores.runs])
            assert one.scores[measure] == pytest.approx(np.nanmean(own, axis=1))
        f3 = one.scores["f3"]
        assert one.difference[1:] == pytest.approx(f3[1:] - f3[0])


@pytest.mark.slow
def test_p_in_slices_is_corrected_for_all_that_is_shown(sample):
    """Each slice's own contrasts with the first run, Holm over slices × runs. Two runs that are all known: the
    paired t-test."""
    result = compare(sample, ["aurora", "cobalt"], by="kind")
    kinds = np.array([question.kind for question in sample.key.questions])
    one, other = (run.by_question["f3"] for run in result.scores.runs)
    raw = []
    for each in result.slices.slices:
        own = (kinds == each.value) & ~np.isnan(one)
        raw.append(stats.ttest_rel(other[own], one[own]).pvalue)
        assert each.p[1] == pytest.approx(raw[-1])
    assert [each.p_holm[1] for each in result.slices.slices] == pytest.approx(holm(np.array(raw)).tolist())
    several = compare(sample, sample.run_names, by="target").slices.slices
    raw = np.concatenate([each.p[1:] for each in several])
    corrected = np.concatenate([each.p_holm[1:] for each in several])
    assert corrected.tolist() == pytest.approx(holm(raw).tolist(), nan_ok=True)


NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "reactor", "tags": ["place", "thing"]},
    {"qid": "q1", "nugget": "2", "text": "Rome", "tags": ["place"]},
    {"qid": "q1", "nugget": "3", "text": "Nobel", "importance": "okay", "tags": ["prize"]},
    {"qid": "q2", "nugget": "1", "text": "Voyager"},
    {"qid": "q2", "nugget": "2", "text": "Jupiter", "tags": ["place"]},
]
RUNS = {
    "a": [("q1", "reactor in Rome"), ("q2", "Voyager")],
    "b": [("q1", "Rome and Nobel"), ("q2", "Jupiter and Voyager")],
}


def test_recall_of_tags_worked_by_hand(collect):
    """Of `place`: a finds 2 of 2 and 0 of 1, b 1 of 2 and 1 of 1. A nugget with two tags counts in both; those
    without a tag are not dropped; okay nuggets have no weight."""
    result = compare(collect(NUGGETS, RUNS, toml=FIXED), ["a", "b"], by="tag").slices
    found = {one.value: (one.nuggets, one.questions, one.scores["recall"].tolist()) for one in result.slices}
    assert found.pop("prize")[:2] == (1, 0)
    assert found == {"place": (3, 2, [0.5, 0.75]), "thing": (1, 1, [1.0, 0.0]), None: (1, 1, [1.0, 1.0])}
    assert (result.measured, result.against) == ("vital recall", "a")
    place = result.slices[0]
    assert place.difference[1] == pytest.approx(0.25)
    assert np.isnan(result.slices[1].p[1])  # one question has no test


def test_recall_of_tags_uses_weights_where_there_are_any(collect):
    weighted = [{**nugget, "weight": weight} for nugget, weight in zip(NUGGETS, (1, 0.5, 0.25, 1, 1), strict=True)]
    result = compare(collect(weighted, RUNS, toml=FIXED), ["a", "b"], by="tag").slices
    place, prize = result.slices[:2]
    assert place.scores["recall"].tolist() == pytest.approx([(1 + 0) / 2, (0.5 / 1.5 + 1) / 2])
    assert prize.scores["recall"].tolist() == [0.0, 1.0]
    assert result.measured == "recall"


def test_questions_without_a_kind_are_not_dropped(collect, tmp_path):
    collection = collect(NUGGETS, RUNS, toml=FIXED)
    write_lines(collection.root / "questions.jsonl", [{"qid": "q1", "text": "Who?", "kind": "definition"}])
    result = compare(read_collection(collection.root), ["a", "b"], by="kind").slices
    assert [(one.value, one.questions) for one in result.slices] == [("definition", 1), (None, 1)]


def test_one_question_has_a_ranking_and_no_test(collect):
    result = compare(collect(NUGGETS[:3], {k: v[:1] for k, v in RUNS.items()}, toml=FIXED), ["a", "b"])
    standing = result.standings[0]
    assert (standing.questions, standing.ranks, standing.above) == (1, None, None)
    assert not standing.tukey.tested
    assert [group.tolist() for group in standing.groups] == [[0, 1]]


@pytest.mark.parametrize(
    ("runs", "arguments", "message"),
    [
        (["a"], {}, "at least two runs"),
        (["a", "a"], {}, "named twice"),
        (["a", "b"], {"measures": ["macro_f3"]}, "no votes or weights"),
        (["a", "b"], {"by": "colour"}, "kind, tag, target"),
    ],
)
def test_what_cannot_be_compared_is_refused(collect, runs, arguments, message):
    with pytest.raises(NuggeteerError, match=message):
        compare(collect(NUGGETS, RUNS, toml=FIXED), runs, **arguments)


def test_a_key_without_vital_nuggets_cannot_rank_by_f(collect):
    okay = [{**nugget, "importance": "okay"} for nugget in NUGGETS]
    collection = collect(okay, RUNS, toml=FIXED)
    with pytest.raises(NuggeteerError, match="undefined in every question"):
        compare(collection, ["a", "b"])
    assert compare(collection, ["a", "b"], ["precision", "f3"]).standings[1].questions == 0


def test_measures_that_do_not_apply_are_left_out(collect):
    result = compare(collect(NUGGETS, RUNS, toml=FIXED), ["a", "b"])
    assert [str(standing.measure) for standing in result.standings] == ["f3"]
    assert result.correlations == ()


@pytest.mark.slow
def test_the_seed_decides_everything_random(sample):
    first, again, other = (compare(sample, BUILDS, by="kind", seed=seed).standings[0].above for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


def run_cli(collection, capsys, *arguments):
    code = main(["compare", "--collection", str(collection.root), *arguments])
    return code, capsys.readouterr()


@pytest.mark.slow
def test_json_holds_what_the_comparison_found(sample, capsys):
    code, output = run_cli(sample, capsys, *BUILDS, "--by", "kind", "--json", "-")
    data = json.loads(output.out)
    result = compare(sample, BUILDS, by="kind")
    assert code == 0
    assert [run["run"] for run in data["runs"]] == [result.scores.runs[i].name for i in result.standings[0].order]
    f3 = data["measures"]["f3"]
    assert f3["tukey"]["significant"] == result.standings[0].tukey.significant
    assert f3["variance"]["runs"]["f"] == result.standings[0].variance.runs.f
    assert len(f3["pairs"]) == 3
    assert all(pair["low"] < pair["difference"] < pair["high"] for pair in f3["pairs"])
    assert sorted({run for group in f3["groups"] for run in group}) == BUILDS
    assert [one["value"] for one in data["by"]["slices"]] == [one.value for one in result.slices.slices]
    assert data["by"]["slices"][0]["runs"][0]["p"] is None
    assert data["by"]["slices"][0]["runs"][1]["p_holm"] == result.slices.slices[0].p_holm[1]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_many_runs_fit_the_terminal(tmp_path, capsys, monkeypatch, columns):
    """From eight runs on: groups, and a column for each slice."""
    monkeypatch.setenv("COLUMNS", str(columns))
    simulate(tmp_path / "made", Shape(questions=12, nuggets=4, systems=12, judged=11, responses=3), seed=3)
    collection = read_collection(tmp_path / "made")
    code, output = run_cli(collection, capsys, "--by", "kind")
    assert code == 0
    assert "pair by pair" not in output.out
    lines = output.out.splitlines()
    assert all(len(line) <= columns or line.startswith("nuggeteer:") for line in lines)
    shown: set[str] = set()
    for part in output.out.split("\n\n"):
        if "\ns12 " in part:
            shown |= read_table(part, "run")[0].keys() - {"run"}
    assert shown == {question.kind for question in collection.key.questions}


def test_names_from_files_reach_the_terminal_harmless(collect, capsys):
    collection = collect(NUGGETS, RUNS, toml=FIXED)
    kind = "[bold]\x1b[31mred\x07:smile:"
    write_lines(collection.root / "questions.jsonl", [{"qid": "q1", "text": "Who?", "kind": kind}])
    code, output = run_cli(read_collection(collection.root), capsys, "--by", "kind")
    assert code == 0
    assert "\x1b" not in output.out
    assert "\x07" not in output.out
    assert "[bold]" in output.out


def test_no_interval_is_printed_as_one_number():
    assert signed_span(0.00011, 0.00019) == "+0.0001 to +0.0002"
    assert signed_span(-0.01, 0.02) == "−0.010 to +0.020"
    assert signed_span(0.5, 0.5) == "+0.500 to +0.500"
    assert signed_span(0.0, 0.0) == signed_span(-1e-17, -0.0) == "0"
    assert signed_span(math.nan, math.nan) == signed_span(None, 0.5) == "–"
    expected = {0.0: "0", -0.0004: "<0.0005", 0.0006: "+0.001", None: "–"}
    assert {value: difference_of(value) for value in expected} == expected


def test_runs_of_few_questions_have_no_interval_and_no_nan(collect, capsys):
    nuggets = [{"qid": qid, "nugget": "1", "text": "plenty to drink"} for qid in ("q1", "q2")]
    runs = {name: [("q1", "Plenty to drink."), ("q2", text)] for name, text in (("a", "No."), ("b", "Drink plenty."))}
    code, output = run_cli(collect(nuggets, runs), capsys)
    assert code == 0
    assert "b " in output.out
    assert "nan" not in output.out


def test_equal_runs_have_no_f_and_no_difference(collect, capsys):
    """Neither infinity nor +0.000 to +0.000."""
    said = [(f"q{i}", f"fact {i % 3}" if i % 2 else "nothing") for i in range(6)]
    nuggets = [{"qid": f"q{i}", "nugget": "1", "text": f"fact {i % 3}"} for i in range(6)]
    collection = collect(nuggets, {"one": said, "two": said})
    assert main(["compare", "one", "two", "--collection", str(collection.root)]) == 0
    printed = capsys.readouterr().out
    assert "inf" not in printed
    assert "0.000 to" not in printed
    assert re.search(r"(one|two) +(one|two) +0 +0 +1 ", printed)
