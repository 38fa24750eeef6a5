"""The papers' tables: counted by hand, or asked of commands that get there another way."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from xml.etree import ElementTree

import numpy as np
import pytest
from msgspec import structs

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.matching.choice import make
from nuggeteer.measures import parse
from nuggeteer.records import Judgement
from nuggeteer.reports import experiment as report
from nuggeteer.scoring.scorer import compare_thresholds, material, score
from nuggeteer.settings import Threshold
from nuggeteer.text import normalised
from nuggeteer.thresholds import FixedThreshold
from nuggeteer.trust.crossval import crossval, without
from nuggeteer.trust.experiments.definition import PAPERS, Definition, Plot, Series, average, read_definition
from nuggeteer.trust.experiments.kinds import KINDS, _taught, run_experiment
from nuggeteer.trust.experiments.left_out import leave_out_groups
from tests.conftest import ROOT

DEFINITIONS = sorted(PAPERS.glob("*.toml"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three judged systems, and one that nobody judged."""
    path = tmp_path_factory.mktemp("experiments") / "simulated"
    simulate(path, Shape(questions=5, nuggets=4, systems=4, judged=3, responses=4), seed=7)
    return path


@pytest.fixture
def collection(folder):
    return read_collection(folder)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(what, collection, **more):
    return run_experiment(Definition("x", "Title", "Source", what, **{"steps": 10, **more}), collection)


def rows_of(result):
    """The rows of its table by the names of the columns."""
    return [dict(zip(result.table.columns, row, strict=True)) for row in result.table.rows]


def test_every_kind_has_a_definition_with_a_name():
    assert {read_definition(path).what for path in DEFINITIONS} == set(KINDS)


def test_the_data_are_counted(folder, collection):
    nuggets, runs = lines(folder / "nuggets.jsonl"), [lines(folder / "runs" / f"s{i}.jsonl") for i in (1, 2, 3)]
    vital = sum(n["importance"] == "vital" for n in nuggets)
    assert rows_of(run("data", collection)) == [
        {
            "questions": 5,
            "vital": vital,
            "okay": len(nuggets) - vital,
            "nuggets a question": len(nuggets) / 5,
            "runs": 3,
            "groups": 3,
            "responses a run": np.mean([len(own) for own in runs]),
            "a question": np.mean([n for own in runs for n in Counter(line["qid"] for line in own).values()]),
        }
    ]


def test_nuggets_are_counted_by_the_runs_that_found_them(folder, collection):
    finders: Counter[tuple[str, str]] = Counter()
    for i in (1, 2, 3):
        finders.update({(j["qid"], j["nugget"]) for j in lines(folder / "judgements" / f"s{i}.jsonl")})
    table = run("found", collection).table
    by_times = Counter(finders[n["qid"], n["nugget"]] for n in lines(folder / "nuggets.jsonl"))
    assert [(name, count) for name, count, _ in table.rows] == [(str(n), by_times[n]) for n in range(4)]
    assert sum(share for _, _, share in table.rows) == pytest.approx(1)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["f3", "recall", "pyramid_f3"])
def test_scores_at_a_threshold_are_those_of_score_where_nobody_judged_the_group(collection, measure):
    """All thresholds at once, against one command each."""
    left_out, thresholds = leave_out_groups(collection), np.array([0.0, 0.15, 0.4, 1.0])
    matcher = make(material(collection, _known(collection)))
    scores = matcher.score(left_out.texts, left_out.question)
    grid = left_out.at_thresholds(
        [left_out.scores_of(run, scores) for run in left_out.runs], thresholds, parse(measure), False
    )
    assert np.ptp(grid) > 0.1
    for place, left in enumerate(left_out.runs):
        for column, threshold in enumerate(thresholds):
            others = without(collection, collection.group(left.name))
            one = score(others, [left.name], [measure], FixedThreshold(float(threshold)))
            expected = one[left.name].measures[measure].value
            assert grid[place, column] == pytest.approx(expected, abs=1e-12)


def test_true_scores_are_those_of_score_with_all_judgements(collection):
    truth = score(collection, ["s1", "s2", "s3"], ["f3"])
    expected = [one.measures["f3"].value for one in truth.runs]
    assert leave_out_groups(collection).true_scores(parse("f3")) == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
def test_official_scores_count_where_the_manifest_has_them(collection):
    official = {f"s{i}": {"f3": i / 10} for i in (1, 2, 3)}
    manifest = {n: structs.replace(info, official=official.get(n, {})) for n, info in collection.manifest.items()}
    with_scores = replace(collection, manifest=manifest)
    scatter = run("scatter", with_scores)
    assert [row["official"] for row in rows_of(scatter)] == [0.1, 0.2, 0.3] * 2
    assert any("manifest" in note for note in scatter.notes)
    assert [row["official"] for row in rows_of(run("scatter", with_scores, measure="f1"))] != [0.1, 0.2, 0.3]


@pytest.mark.slow
@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("what", ["thresholds", "agreement", "scatter", "responses"])
def test_a_run_of_which_some_nuggets_were_judged_has_no_score_to_compare_with(what, listed, collection):
    """In the manifest and not: one verdict on it changes neither whose scores are official nor which are compared."""
    official = {f"s{i}": {"f3": i / 10} for i in (1, 2, 3)}
    manifest = {
        name: structs.replace(info, official=official.get(name, {})) for name, info in collection.manifest.items()
    }
    if not listed:
        del manifest["s4"]
    before = replace(collection, manifest=manifest)
    text = collection.run("s4").texts[0]
    qid = collection.key.questions[collection.run("s4").question[0]].qid
    more = Judgement(qid, collection.key.nuggets[0].nugget, text, False, run="s4")
    after = replace(before, judgements=(*before.judgements, more))
    assert [run.name for run in leave_out_groups(after).with_scores.runs] == ["s1", "s2", "s3"]
    result = run(what, after)
    assert "Official F(3) is the manifest's." in result.notes
    assert "Not compared, because only some nuggets were judged: 1 run." in result.notes
    if what == "scatter":
        assert [row["run"] for row in rows_of(result)] == ["s1", "s2", "s3"] * 2


def test_where_no_run_is_judged_completely_nothing_is_compared(collection):
    """Not even by verdicts that are there."""
    manifest = {name: structs.replace(info, judged="none") for name, info in collection.manifest.items()}
    with pytest.raises(NuggeteerError, match=r"say in runs\.jsonl which runs are judged"):
        run("thresholds", replace(collection, manifest=manifest))


def test_pourpre_counts_its_match_score_as_credit(collect):
    """By hand, unit weights: nuggets of 4 words; the left-out run has 3 words of one and 1 of the other in 40
    characters. Recall (¾ + 0) / 2 above 0.5; allowance 75, so precision is 1; F(3) = 10 · 0.375 / (9 + 0.375)."""
    nuggets = [{"qid": "q", "nugget": "1", "text": "alpha beta gamma delta"}]
    nuggets += [{"qid": "q", "nugget": "2", "text": "one two three four"}]
    collection = collect(
        nuggets,
        {"a": [("q", "alpha beta gamma one " + "x" * 20)], "b": [("q", "zzz")]},
        judged={"a": "every", "b": "every"},
        toml='[match]\nweights = "unit"',
    )
    left_out = leave_out_groups(collection)
    chosen = replace(collection.settings.match, matcher="pourpre")
    matcher = make(replace(material(collection, _known(collection)), settings=chosen))
    scores = [left_out.scores_of(run, matcher.score(left_out.texts, left_out.question)) for run in left_out.runs]
    assert scores[0].tolist() == [0.75, 0.25]
    grid = left_out.at_thresholds(scores, np.array([0.1, 0.5, 0.75]), parse("f3"), True)
    assert grid[0] == pytest.approx([10 * 0.5 / 9.5, 10 * 0.375 / 9.375, 0])


def test_the_models_are_those_of_thresholds(collection):
    expected = [(one.name, one.log10_evidence, one.log_score) for one in compare_thresholds(collection).models]
    assert list(run("models", collection).table.rows) == expected


@pytest.mark.slow
def test_the_intervals_are_those_of_score_where_nobody_judged_the_group(collection):
    rows = {(row["run"], row["decided by"]): row for row in rows_of(run("scatter", collection))}
    for name, model in product(("s1", "s3"), ("nugget", "smooth")):
        rest = _by(without(collection, name), model)
        row, f3 = rows[name, model], score(rest, [name], ["f3"])[name].measures["f3"]
        assert (row["guessed"], row["low"], row["high"]) == (f3.value, f3.low, f3.high)
        assert (row["judging low"], row["judging high"]) == f3.judging


@pytest.mark.slow
@pytest.mark.parametrize("what", ["agreement", "scatter", "judgements"])
def test_the_model_of_the_settings_decides_and_the_papers_choice_stands_beside_it(collection, what):
    tables = {model: rows_of(run(what, _by(collection, model))) for model in ("smooth", "question", "nugget")}
    by = {
        chosen: {model: [row for row in rows if row["decided by"] == model] for model in tables}
        for chosen, rows in tables.items()
    }
    assert by["smooth"]["nugget"] == by["question"]["nugget"] == by["nugget"]["nugget"] != []
    assert by["smooth"]["smooth"]
    assert by["question"]["question"]
    assert not by["nugget"]["smooth"]
    values = [[list(row.values())[-3:] for row in by[model][model]] for model in tables]
    assert values[0] != values[1] != values[2] != values[0]


@pytest.mark.slow
def test_judgements_at_a_threshold_are_those_of_crossval(collection):
    best, usual, *by_model = rows_of(run("judgements", collection))
    assert [row["decided by"] for row in by_model] == ["nugget", "smooth"]  # the paper's choice, and the default
    for row, model in ((usual, "fixed"), *zip(by_model, ("nugget", "smooth"), strict=True)):
        guessed = crossval(collection, model).guessed
        expected = {"precision": guessed.precision, "recall": guessed.recall, "F1": guessed.f1}
        assert {column: row[column] for column in expected} == pytest.approx(expected)
    assert best["F1"] >= usual["F1"]


def test_a_matcher_taught_by_responses_has_read_only_those_of_others(collection):
    rest = without(collection, "s2")
    taught = _taught(rest)
    own = {normalised(text) for text in collection.run("s2").texts}
    yes = {(j.qid, j.nugget, normalised(j.text)) for j in collection.judgements if j.verdict and j.run != "s2"}
    read = {(n.qid, n.nugget, normalised(d)) for n in taught.matcher.key.nuggets for d in n.descriptions[1:]}
    assert read == yes
    assert not own & {text for _, _, text in read}
    plain = make(material(rest, _known(rest)))
    run = collection.run("s2")
    assert (taught.score(run.normalised_texts, run.question) > plain.score(run.normalised_texts, run.question)).any()


@pytest.mark.slow
def test_the_results_are_the_same_from_two_workers(folder, collection):
    for what in ("thresholds", "scatter", "responses"):
        definition = Definition("x", "t", "s", what, steps=5, match=({"n": 1}, {"n": 2}))
        one, two = (run_experiment(definition, collection, jobs) for jobs in (1, 2))
        assert replace(one, seconds=0.0) == replace(two, seconds=0.0)


GOOD = 'title = "T"\nsource = "S"\nwhat = "data"\n'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("title = ", "not TOML"),
        ('title = "T"', "no source and no what"),
        (GOOD + "wat = 1", "wat is 1"),
        (GOOD + "steps = 0", "steps is 0"),
        (GOOD + "steps = true", "steps is True"),
        (GOOD + 'measure = "f"', "no measure is called 'f'"),
        (GOOD + "[match]\nn = 1", "match is not a list"),
        (GOOD + "[[match]]\nn = [1, 4]", r"\[\[match\]\] n is 4"),
        (GOOD + "[[match]]\nm = 1", r"\[\[match\]\] m is 1; there are n, stem"),
    ],
)
def test_a_definition_that_cannot_be_is_refused(tmp_path, content, says):
    path = tmp_path / "x.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=says):
        read_definition(path)


def test_a_kind_that_is_none_is_refused_with_those_that_are(collection):
    with pytest.raises(NuggeteerError, match="what is 'magic'; there are data, found"):
        run("magic", collection)


def test_table_plot_and_command_are_written(folder, tmp_path, capsys):
    assert main(["experiment", "figure-4", "--collection", str(folder), "--out", str(tmp_path), "--json", "-"]) == 0
    result = json.loads(capsys.readouterr().out)
    text = (tmp_path / "figure-4-simulated.md").read_text()
    assert "    nuggeteer experiment figure-4 --collection simulated\n" in text
    assert "![Nuggets by the number of runs that found them](figure-4-simulated.svg)" in text
    for row in result["rows"]:
        assert f"| {row[0]} | {row[1]} | {row[2]:.3f} |" in text
    root = ElementTree.fromstring((tmp_path / "figure-4-simulated.svg").read_text())
    assert root.tag.endswith("}svg")


def test_the_mean_over_years_is_that_of_each_number_and_each_point(folder, tmp_path, capsys):
    """Two made-up years, with the mean computed here from what the experiment says of each by itself."""
    other = tmp_path / "other-year"
    simulate(other, Shape(questions=7, nuggets=4, systems=4, judged=3, responses=4), seed=8)
    definition = Definition("x", "T", "S", "thresholds", steps=4, match=({"n": 1}, {"n": 2}))
    one, two = (run_experiment(definition, read_collection(path)) for path in (folder, other))
    mean = average([one, two]).mean
    for row, a, b in zip(mean.table.rows, one.table.rows, two.table.rows, strict=True):
        assert row[0] == a[0] == b[0]
        assert row[1:] == pytest.approx([(x + y) / 2 for x, y in zip(a[1:], b[1:], strict=True)])
    for line, a, b in zip(mean.plot.series, one.plot.series, two.plot.series, strict=True):
        assert line.x
        first, second = dict(zip(a.x, a.y, strict=True)), dict(zip(b.x, b.y, strict=True))
        assert line.y == pytest.approx([(first[x] + second[x]) / 2 for x in line.x])
    of_both = ["--collection", str(folder), "--collection", str(other)]
    assert main(["experiment", "table-1", *of_both, "--out", str(tmp_path), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mean"]["rows"][0][0] == 6
    page = (tmp_path / "table-1-mean.md").read_text()
    assert "nuggeteer experiment table-1 --collection simulated --collection other-year\n" in page


@pytest.mark.slow
def test_rows_of_runs_have_no_mean_and_what_was_chosen_differs(folder, tmp_path):
    other = tmp_path / "other-year"
    simulate(other, Shape(questions=7, nuggets=4, systems=5, judged=4, responses=4), seed=8)
    both = [read_collection(path) for path in (folder, other)]
    assert average([run("scatter", one) for one in both]).mean is None
    chosen = average([run("judgements", one) for one in both]).mean.table.rows
    assert chosen[0][1].startswith("best")
    assert [row[1] for row in chosen[2:]] == ["nugget", "smooth"]


@pytest.mark.parametrize("kind", ["lines", "scatter", "bars"])
def test_a_plot_is_the_same_to_the_byte_and_shows_names_as_they_are(kind):
    hostile = "$x$ \x1b[31m <b>"
    series = tuple(Series(f"{hostile}{i}", (0.0, 1.0), (0.2, 0.4), (0.1, 0.1), (0.5, 0.6)) for i in range(2))
    plot = Plot(kind, "x", "y", series, ("a", "b"))
    one, two = report.svg(plot), report.svg(plot)
    assert one == two
    texts = [text.text for text in ElementTree.fromstring(one).iter("{http://www.w3.org/2000/svg}text")]
    assert "$x$ \\x1b[31m <b>0" in texts


def test_equal_scores_of_a_scatter_stand_on_its_dashed_line():
    plot = Plot("scatter", "x", "y", (Series("", (0.1, 0.2, 0.5), (0.1, 0.9, 0.5), (0.0, 0.8, 0.4), (0.2, 1.0, 0.6)),))
    root = ElementTree.fromstring(report.svg(plot))
    (line,) = (line for line in root.iter("{http://www.w3.org/2000/svg}polyline") if line.get("stroke-dasharray"))
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in line.get("points").split())
    marks = [re.match(r"M([\d.]+) ([\d.]+)m", p.get("d")) for p in root.iter("{http://www.w3.org/2000/svg}path")]
    above = [float(mark[2]) - (y0 + (float(mark[1]) - x0) / (x1 - x0) * (y1 - y0)) for mark in marks]
    assert above[0] == pytest.approx(0, abs=0.01)
    assert above[1] < -50  # y grows downwards
    assert above[2] == pytest.approx(0, abs=0.01)


def test_every_colour_of_a_figure_is_in_its_style_sheet_for_both_themes():
    series = tuple(Series(str(i), (0.0, 1.0), (0.2, 0.4), (0.1, 0.1), (0.5, 0.6)) for i in range(9))
    for kind in ("lines", "scatter", "bars"):
        root = ElementTree.fromstring(report.svg(Plot(kind, "x", "y", series, ("a", "b"))))
        light, dark = root.find("{http://www.w3.org/2000/svg}style").text.split("@media (prefers-color-scheme: dark)")
        used = {name for element in list(root)[3:] for name in element.get("class").split()}
        assert len(used) > 8
        for name in used:
            assert f".{name} {{" in light
            assert f".{name} {{" in dark


def test_markdown_of_hostile_names_is_harmless(collect):
    name = "a|b <img> `c` @d"
    texts = {name: [("q", "a fox")], "b": [("q", "no")]}
    collection = collect([{"qid": "q", "nugget": "1", "text": "a fox"}], texts, judged={name: "every", "b": "every"})
    text = report.markdown(run("scatter", collection), ["x"], None)
    row, _ = [line for line in text.splitlines() if "img" in line]
    assert len(re.findall(r"(?<!\\)\|", row)) == 9
    assert "\\<img\\>" in row


def _by(collection, model):
    """The collection with this model in its settings."""
    return replace(collection, settings=replace(collection.settings, threshold=Threshold(model)))


def _known(collection):
    from nuggeteer.scoring.known import VerdictIndex

    return VerdictIndex(collection.key, collection.judgements, collection.judged_runs)


def test_the_readme_lists_what_was_recorded():
    """If not: python experiments/index.py"""
    spec = spec_from_file_location("index", ROOT / "experiments" / "index.py")
    index = module_from_spec(spec)
    spec.loader.exec_module(index)
    assert index.listed(ROOT / "experiments") in (ROOT / "experiments" / "README.md").read_text(encoding="utf-8")
