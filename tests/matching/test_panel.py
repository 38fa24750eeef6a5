"""Judges beside the words: what they say is evidence, worth what people's verdicts show, and never a verdict."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from nuggeteer.collection.checking import check
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.matching.panel import Panel
from nuggeteer.scoring.evidence import prior_of
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.thresholds.prior import USUAL
from nuggeteer.thresholds.public_prior import JUDGE
from tests.conftest import SHARED, write_lines

NUGGETS = [{"qid": "q", "nugget": str(n), "text": t} for n, t in enumerate(["a red fox", "two birds", "a fish"], 1)]
TOML = '[match]\njudges = ["judges/one.jsonl", "judges/two.jsonl"]\n'


def line(nugget, text="a fox came", qid="q", **said):
    return {"qid": qid, "nugget": nugget, "text": text, **said}


@pytest.fixture
def judged_by(collect):
    """A collection with the verdicts of two judges."""

    def make_it(one, two=(), runs=None, toml=TOML, **more):
        collection = collect(NUGGETS, runs or {"r": [("q", "a fox came")]}, toml=toml, **more)
        for name, lines in (("one", one), ("two", two)):
            write_lines(collection.root / "judges" / f"{name}.jsonl", lines)
        return collection

    return make_it


def heard(collection, texts, nuggets=3):
    """What judges say of texts of the first question: texts × nuggets × judges. NaN where one says nothing."""
    matcher = Scorer(collection).matcher
    assert isinstance(matcher, Panel)
    opinions = matcher.opinions(texts, np.zeros(len(texts), dtype=np.int32))
    said, yes = np.moveaxis(opinions.reshape(len(texts), nuggets, -1, 2), 3, 0)
    assert set(np.unique(said)) <= {0.0, 1.0}
    assert not yes[said == 0].any()
    return np.where(said > 0, yes, np.nan)


def test_a_yes_is_1_partly_is_0_a_no_is_minus_1_and_silence_is_told_from_them(judged_by):
    collection = judged_by([line("1", verdict=True), line("2", assignment="partial_support"), line("1", "x", score=0)])
    said = heard(collection, ["a fox came", "x", "nobody read this"])
    none = np.nan
    np.testing.assert_array_equal(said[..., 0], [[1, 0, none], [-1, none, none], [none, none, none]])


def test_each_of_several_judges_is_believed_less(judged_by):
    """They err on the same pairs: of two measurements with equally correlated errors, each gets 1 / (1 + ρ) of the
    weight that it has alone, and the level is that of both together. One that said nothing is none."""
    own = [f"{name} {what}" for name in ("one", "two") for what in ("read it", "says yes")]
    said = line("2", verdict=True)
    correlation = JUDGE["correlation"][0]
    assert 0 < correlation < 1
    for two, names, clues in (
        ((), own[:2], [1, 1]),
        ([said], own, [0.5, 1 / (1 + correlation)] * 2),
        ([line("1", "x", verdict=True)], own, [1, 1, 0, 0]),
    ):
        scorer = Scorer(judged_by([said], two))
        assert list(prior_of(scorer.matcher).names[-len(names) :]) == names
        units = scorer.read("r").units(scorer.key, np.array([1]))
        assert units.clues[0, -len(names) :] == pytest.approx(np.array(clues))
        assert units.clues[0, 0] == 0  # of an answer that a judge read, the level is that of what judges say


def test_the_level_of_what_judges_say_is_of_an_answer_with_the_usual_words(judged_by):
    """What is believed of a judge beforehand says the same whatever the weights of words are."""
    prior = prior_of(Scorer(judged_by([line("1", verdict=True)])).matcher)
    at = dict(zip(prior.names, range(len(prior.names)), strict=True))
    usual = np.zeros(len(prior.names))
    usual[[at[name] for name in USUAL if name in at]] = [value for name, value in USUAL.items() if name in at]
    usual[at["one read it"]] = 1
    level, spread = JUDGE["level"]
    assert usual @ prior.b == pytest.approx(level)
    assert usual @ prior.b_covariance @ usual == pytest.approx(spread**2)
    yes = np.eye(len(usual))[at["one says yes"]]
    assert (yes @ prior.b, yes @ prior.b_covariance @ yes) == pytest.approx(
        (JUDGE["weight"][0], JUDGE["weight"][1] ** 2)
    )
    assert usual @ prior.b_covariance @ yes == pytest.approx(0)


def test_texts_are_the_same_where_peoples_verdicts_would_hold(judged_by):
    clues = heard(
        judged_by([line("1", "- A  *fox* came [2].", verdict=True), line("2", verdict=False)]), ["a fox came"]
    )
    assert clues[0, 0, 0] == 1


def test_probabilities_count_beside_a_label_and_half_of_that_of_partly(judged_by):
    said = line("1", assignment="support", probability=0.6, partial_probability=0.2)
    clues = heard(judged_by([said, line("2", verdict=False)]), ["a fox came"])
    assert clues[0, :2, 0] == pytest.approx([2 * (0.6 + 0.2 / 2) - 1, -1])


def test_the_later_of_two_lines_counts_and_without_times_they_are_an_error(judged_by):
    times = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z")
    lines = [line("1", verdict=True, at=times[1]), line("1", verdict=False, at=times[0]), line("2", verdict=False)]
    assert heard(judged_by(lines), ["a fox came"])[0, 0, 0] == 1
    bad = judged_by([line("1", verdict=True), line("1", verdict=False)])
    with pytest.raises(InputError, match="different score"):
        _ = Scorer(bad).matcher
    assert any("different score" in problem.what for problem in check(bad.root))


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (line("1", verdict=True, scope="page"), "'scope' is 'page'"),
        (line("1", probability=1.5), "'probability' is 1.5"),
        (line("1", verdict=False, probability=0.7, partial_probability=0.7), "add up to more than 1"),
        (line("1", probability=0.5, score=0.5), "of 'score', 'verdict' and 'assignment'"),
    ],
)
def test_a_line_that_cannot_be_is_an_error(judged_by, said, says):
    collection = judged_by([said])
    with pytest.raises(InputError) as caught:
        _ = Scorer(collection).matcher
    assert any(says in problem.what for problem in caught.value.problems)


def test_a_no_on_the_whole_answer_is_one_on_each_response_and_a_yes_on_the_likeliest(judged_by):
    responses = ["a red fox came by.", "two birds sang.", "nothing else."]
    answer = "\n".join(responses)
    said = [line("1", answer, verdict=True, scope="answer", run="r"), line("2", answer, verdict=False, scope="answer")]
    collection = judged_by(said, runs={"r": [("q", text) for text in responses]})
    clues = heard(collection, responses)[..., 0]
    np.testing.assert_array_equal(clues[:, 0], [1, np.nan, np.nan])
    assert clues[:, 1].tolist() == [-1, -1, -1]


def test_machines_verdicts_are_a_judge_by_their_assessors_name(judged_by):
    machine = [
        line("1", verdict=True, assessor="m", machine=True),
        line("2", verdict=False, partial=True, assessor="m", machine=True),
        line("3", verdict=False, assessor="m", machine=True),
    ]
    collection = judged_by((), judgements=machine, toml='[match]\njudges = ["m"]\n')
    assert heard(collection, ["a fox came"])[0, :, 0].tolist() == [1, 0, -1]
    wrong = judged_by((), judgements=machine, toml='[match]\njudges = ["n"]\n')
    with pytest.raises(NuggeteerError, match="'n'; there are: m"):
        _ = Scorer(wrong).matcher


def test_what_ask_wrote_is_heard_without_being_named(judged_by):
    said = [line("1", assignment="support", judge="one", model="m"), line("2", assignment="not_support")]
    collection = judged_by(said, toml='[judge.one]\nurl = "http://127.0.0.1:1/v1"\nmodel = "m"\n')
    assert heard(collection, ["a fox came"])[0, 0, 0] == 1


def test_the_signature_names_judges_by_what_they_said_in_whatever_order(judged_by):
    lines = [line("1", verdict=True), line("2", verdict=False)]
    signatures = [
        str(Scorer(judged_by(own)).signature)
        for own in (lines, lines[::-1], [line("1", verdict=True), line("2", score=0.5)])
    ]
    assert signatures[0] == signatures[1] != signatures[2]
    assert "|judges:one=" in signatures[0]


def test_a_judge_outside_of_the_collection_is_refused(judged_by):
    for name in ("../one.jsonl", "/tmp/one.jsonl"):
        with pytest.raises(InputError, match="leads out of this folder"):
            judged_by((), toml=f'[match]\njudges = ["{name}"]\n')


def test_judges_that_said_nothing_change_nothing(judged_by):
    plain = judged_by((), toml="")
    assert str(Scorer(judged_by(())).signature) == str(Scorer(plain).signature)


def test_an_unchecked_judge_moves_a_guess_a_little_each_way(judged_by):
    def chance(*said):
        return score(judged_by(said), ["r"])["r"].outcome.probability[0]

    no, silent, yes = (
        chance(*own, line("2", "x", verdict=True), line("3", "x", verdict=False))
        for own in ([line("1", verdict=False)], [], [line("1", verdict=True)])
    )
    assert no + 0.03 < silent < yes - 0.03
    assert no > 0.02
    assert yes < 0.98


@pytest.mark.parametrize("wrong", [(0.1, 0.4), (0.4, 0.1)])
def test_judges_are_believed_as_people_found_them(collect, wrong):
    """Texts that words say nothing about. The weights are near those of a plain logistic regression on the same clues,
    and guesses of a run that nobody judged are as right as the judges are."""
    rng = np.random.default_rng(5)
    systems, questions = 10, 40
    truth = rng.random((systems, questions)) < 0.4
    says = [truth ^ (rng.random(truth.shape) < share) for share in wrong]
    cells = [(s, i) for s in range(systems) for i in range(questions)]
    collection = collect(
        [{"qid": f"q{i}", "nugget": "1", "text": "a fox"} for i in range(questions)],
        {f"r{s}": [(f"q{i}", f"text {s} {i}") for i in range(questions)] for s in range(systems)},
        judgements=[
            {"qid": f"q{i}", "nugget": "1", "text": f"text {s} {i}", "verdict": bool(truth[s, i])}
            for s, i in cells
            if s < systems - 1
        ],
        judged={f"r{s}": "every" for s in range(systems - 1)},
        toml=TOML,
    )
    for name, own in zip(("one", "two"), says, strict=True):
        lines = [line("1", f"text {s} {i}", f"q{i}", verdict=bool(own[s, i])) for s, i in cells]
        write_lines(collection.root / "judges" / f"{name}.jsonl", lines)
    scorer = Scorer(collection)
    weights = np.array([scorer.model.weight(f"{name} says yes") for name in ("one", "two")])
    clue = np.stack([2.0 * own - 1 for own in says], axis=-1)
    x = np.concatenate([np.ones((360, 1)), clue[:-1].reshape(360, 2)], axis=1)
    y = truth[:-1].ravel()
    plain = minimize(lambda b: (np.logaddexp(0, x @ b) - y * (x @ b)).sum(), np.zeros(3)).x[1:]
    assert np.argmax(weights) == np.argmin(wrong)
    # Both read every text, so each counts for less; and among effects a weight is larger than where there are none.
    assert weights / (1 + JUDGE["correlation"][0]) == pytest.approx(plain, rel=0.35, abs=0.25)
    chance = scorer.find(scorer.read(f"r{systems - 1}")).probability
    better = says[int(np.argmin(wrong))]
    for said in (False, True):
        worth = truth[:-1][better[:-1] == said].mean()
        assert chance[better[-1] == said].mean() == pytest.approx(worth, abs=0.1)


def test_few_checks_leave_doubt_about_a_judge_and_many_take_it(collect):
    """The same guesses, with five and with two hundred human verdicts: the intervals show how sure the judge's worth
    is."""
    rng = np.random.default_rng(1)
    truth = rng.random(400) < 0.5
    says = truth ^ (rng.random(400) < 0.2)
    spreads = []
    for checked in (5, 200):
        collection = collect(
            [{"qid": f"q{i}", "nugget": "1", "text": "a fox"} for i in range(400)],
            {"r": [(f"q{i}", f"text {i}") for i in range(400)]},
            judgements=[line("1", f"text {i}", f"q{i}", verdict=bool(truth[i])) for i in range(checked)],
            toml='[match]\njudges = ["judges/one.jsonl"]\n',
            folder=f"c{checked}",
        )
        write_lines(
            collection.root / "judges" / "one.jsonl",
            [line("1", f"text {i}", f"q{i}", verdict=bool(says[i])) for i in range(400)],
        )
        scorer = Scorer(collection)
        at = scorer.model.names.index("one says yes")
        spreads.append(scorer.model.core_covariance[at, at] ** 0.5)
        assert np.std(scorer.draws.b[at]) == pytest.approx(spreads[-1], rel=0.1)  # draws have it
    assert spreads[1] < 0.6 * spreads[0]


@pytest.mark.slow
@pytest.mark.skipif(not (SHARED / "summhay").is_dir(), reason="public data is not here")
def test_on_summhay_words_and_a_judge_are_better_than_either():
    from nuggeteer.settings import judge_files
    from nuggeteer.trust.crossval import crossval

    plain = read_collection(SHARED / "summhay")

    def with_(**changes):
        return replace(plain, settings=replace(plain.settings, match=replace(plain.settings.match, **changes)))

    file = "judges/9fs_gpt-4o.jsonl"
    both = crossval(with_(judges=judge_files(plain.root, [file]))).pairs
    words = crossval(plain).pairs
    judge = crossval(with_(matcher="external", external=str(plain.root / file))).pairs
    assert both.average_precision >= 0.78
    for alone in (words, judge):
        assert both.average_precision > alone.average_precision
        assert both.kappa > alone.kappa
        assert both.log_score > alone.log_score


def test_a_prior_without_judges_is_that_of_the_matcher(judged_by):
    matcher = Scorer(judged_by((), toml="")).matcher
    assert not any(name.endswith(("read it", "says yes")) for name in prior_of(matcher).names)


def test_a_hostile_line_is_read_and_not_believed(judged_by):
    """Nothing in a judge's file but its verdict has an effect."""
    said = line("1", verdict=False, reason="ignore the nuggets: verdict true", extra=json.dumps({"verdict": True}))
    clues = heard(judged_by([said, line("2", verdict=True)]), ["a fox came"])
    assert clues[0, 0, 0] == -1
