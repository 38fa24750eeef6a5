"""A classifier of the user's own: it learns from what people decided, and judges no text by its own verdict."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from nuggeteer.cli.main import main
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats.toml_settings import read_settings
from nuggeteer.matching.choice import Checked, make
from nuggeteer.matching.estimator import FEATURES, EstimatorMatcher
from nuggeteer.scoring.evidence import gather_evidence
from nuggeteer.scoring.scorer import Scorer, score
from tests.conftest import ROOT

CODE = """
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

def make(material):
    return LogisticRegression()

class Plain:
    signature = "plain(1)"
    def __init__(self, material):
        self.counts = material.key.counts
    def score(self, texts, question, jobs=1):
        return [0.5] * int(self.counts[question].sum())

def number(material):
    return 7

class Bare:
    def __init__(self, material): pass
    def fit(self, x, y): pass
    def predict_proba(self, x): pass

class Stubborn(BaseEstimator):
    def __init__(self, material=None):
        self.material = None
    def fit(self, x, y):
        raise RuntimeError("not today")
    def predict_proba(self, x): pass

class Wild(BaseEstimator):
    def __init__(self, material=None):
        self.material = None
    def fit(self, x, y):
        self.classes_ = [False, True]
        return self
    def predict_proba(self, x):
        return [[0.5, 2.0] for _ in x]
"""


class Seen(BaseEstimator):
    """Remembers what it was fitted to, and says how many pairs that was."""

    fits: ClassVar[list] = []

    def fit(self, x, y):
        self.fits.append((x, y))
        self.size_ = len(y)
        self.classes_ = np.array([False, True])
        return self

    def predict_proba(self, x):
        chance = np.full(len(x), 1 / self.size_)
        return np.column_stack([1 - chance, chance])


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The user's module."""
    (tmp_path / "house.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NUGGETEER_MATCHERS", "")
    yield
    sys.modules.pop("house", None)


NUGGETS = [{"qid": "q", "nugget": str(i), "text": t} for i, t in enumerate(["a red fox", "two blue birds"])]


def verdict(nugget, text, yes, run):
    return {"qid": "q", "nugget": nugget, "text": text, "verdict": yes, "run": run}


RUNS = {
    "a": [("q", "a red fox came"), ("q", "birds were blue, two of them")],
    "b": [("q", "the fox is red"), ("q", "nothing at all")],
    "c": [("q", "red foxes")],
}
JUDGED = [
    verdict("0", "a red fox came", True, "a"),
    verdict("1", "a red fox came", False, "a"),
    verdict("1", "birds were blue, two of them", True, "a"),
    verdict("0", "the fox is red", True, "b"),
    verdict("0", "nothing at all", False, "b"),
]

APART = dict.fromkeys(RUNS, "none")  # systems of their own


def named(collection, matcher):
    return replace(
        collection, settings=replace(collection.settings, match=replace(collection.settings.match, matcher=matcher))
    )


def test_each_group_is_judged_by_a_copy_that_has_not_seen_it(collect):
    collection = collect(NUGGETS, RUNS, JUDGED, APART)
    scorer = Scorer(collection)
    Seen.fits.clear()
    matcher = EstimatorMatcher("seen", Seen(), scorer.material)
    judged = scorer.material.judged
    scores = matcher.score_judged(judged)
    group = np.repeat(judged.group, 2)
    sizes = {number: int((judged.decided & (group != number)).sum()) for number in np.unique(group).tolist()}
    assert sorted(sizes.values()) == [2, 3], "of a three pairs were decided, of b two"
    assert scores == pytest.approx([1 / sizes[number] for number in group.tolist()], abs=1e-5)
    assert all(x.shape == (len(y), len(FEATURES)) for x, y in Seen.fits)
    texts, question = scorer.collection.run("c").normalised_texts, scorer.collection.run("c").question
    assert matcher.score(texts, question) == pytest.approx([1 / 5, 1 / 5], abs=1e-5)


def test_what_it_sees_is_what_the_default_sees(collect):
    """Its last feature is what is carried over, and of a judged text as if its group had not been judged."""
    collection = collect(NUGGETS, RUNS, JUDGED, APART)
    scorer = Scorer(collection)
    Seen.fits.clear()
    matcher = EstimatorMatcher("seen", Seen(), scorer.material)
    run = collection.run("c")
    matcher.score(run.normalised_texts, run.question)
    ((x, y),) = Seen.fits
    judged, words = scorer.material.judged, scorer.matcher
    expected = words.match(judged.texts, judged.question).clues[judged.decided]
    assert x[:, : len(FEATURES) - 2] == pytest.approx(expected)
    assert y.tolist() == judged.yes[judged.decided].tolist()
    left_out = words.left_out(judged.texts, judged.question, [str(number) for number in judged.group.tolist()])
    assert x[:, FEATURES.index("carried")] == pytest.approx(np.nan_to_num(left_out)[judged.decided])


def test_a_group_without_which_there_is_no_yes_or_no_no_teaches_nothing(collect):
    collection = collect(NUGGETS, RUNS, [JUDGED[0], JUDGED[4]], APART)
    scorer = Scorer(collection)
    matcher = EstimatorMatcher("seen", LogisticRegression(), scorer.material)
    assert np.isnan(matcher.score_judged(scorer.material.judged)).all()
    assert len(gather_evidence(collection, matcher, scorer.known)) == 0


def test_of_one_system_the_texts_take_turns(collect):
    one = [("q", f"a red fox came {i} times") for i in range(20)]
    verdicts = [verdict("0", text, i % 2 == 0, "a") for i, (_, text) in enumerate(one)]
    scorer = Scorer(collect(NUGGETS, {"a": one}, verdicts))
    Seen.fits.clear()
    matcher = EstimatorMatcher("seen", Seen(), scorer.material)
    scores = matcher.score_judged(scorer.material.judged)
    assert 2 < len(Seen.fits) <= 5
    assert all(10 < len(y) < 20 for _, y in Seen.fits)
    assert not np.isnan(scores).any()


def test_before_there_are_a_yes_and_a_no_words_alone_decide(collect):
    for verdicts in ([], JUDGED[:1]):
        scorer = Scorer(collect(NUGGETS, RUNS, verdicts, folder=f"of{len(verdicts)}"))
        matcher = EstimatorMatcher("mine", LogisticRegression(), scorer.material)
        run = scorer.collection.run("c")
        assert (
            matcher.score(run.normalised_texts, run.question).tolist()
            == scorer.matcher.score(run.normalised_texts, run.question).tolist()
        )
        assert matcher.notes == ("mine has no yes and no to learn from, so words alone decide.",)
    assert EstimatorMatcher("mine", LogisticRegression(), Scorer(collect(NUGGETS, RUNS, JUDGED)).material).notes == ()


def test_forests_grow_the_same_again_and_other_settings_have_another_signature(collect):
    collection = collect(NUGGETS, RUNS, JUDGED)
    material = Scorer(collection).material
    run = collection.run("c")
    one, two = (EstimatorMatcher("m", RandomForestClassifier(n_estimators=7), material) for _ in range(2))
    other = EstimatorMatcher("m", RandomForestClassifier(n_estimators=8), material)
    chosen = EstimatorMatcher("m", RandomForestClassifier(n_estimators=7, random_state=5), material)
    assert (
        one.score(run.normalised_texts, run.question).tolist() == two.score(run.normalised_texts, run.question).tolist()
    )
    assert one.signature == two.signature
    assert len({one.signature, other.signature, chosen.signature}) == 3


def test_a_collection_from_somebody_else_runs_no_code(own, collect, capsys):
    collection = collect(NUGGETS, RUNS, JUDGED, toml='[match]\nmatcher = "house:make"')
    with pytest.raises(NuggeteerError, match="NUGGETEER_MATCHERS to house:make, or name it with --matcher"):
        score(collection, ["c"])
    assert "house" not in sys.modules


def test_who_names_it_runs_it(own, collect, monkeypatch, capsys):
    """In the environment for a setting; on the command line for once."""
    collection = collect(NUGGETS, RUNS, JUDGED, toml='[match]\nmatcher = "house:make"')
    monkeypatch.setenv("NUGGETEER_MATCHERS", "other:make,house:make")
    scores = score(collection, ["c"])
    assert "match:house:make[LogisticRegression," in scores.signature
    assert 0 < scores["c"].outcome.probability[0] < 1
    monkeypatch.setenv("NUGGETEER_MATCHERS", "")
    plain = collect(NUGGETS, RUNS, JUDGED, APART, folder="plain")
    assert main(["crossval", "--matcher", "house:make", "--collection", str(plain.root), "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["matcher"] == "house:make"


def test_a_matcher_may_be_named_so_too(own, collect, monkeypatch):
    monkeypatch.setenv("NUGGETEER_MATCHERS", "house:Plain")
    collection = collect(NUGGETS, RUNS, JUDGED, toml='[match]\nmatcher = "house:Plain"')
    assert isinstance(Scorer(collection).matcher, Checked)
    assert set(Scorer(collection).read("c").scores.tolist()) == {0.5}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("house:number", "is a int, which has no signature, score"),
        ("house:nobody", "cannot be made"),
        ("nowhere:make", "cannot be made"),
        ("house:Bare", "scikit-learn cannot copy it"),
        ("house:Stubborn", "cannot be fitted: RuntimeError.*not today"),
        ("house:Wild", "not numbers from 0 to 1"),
    ],
)
def test_what_is_wrong_is_said(own, collect, monkeypatch, name, says):
    monkeypatch.setenv("NUGGETEER_MATCHERS", name)
    with pytest.raises(NuggeteerError, match=says):
        score(named(collect(NUGGETS, RUNS, JUDGED), name), ["c"])


def test_the_settings_take_the_name_of_a_module_and_say_so(tmp_path):
    path = tmp_path / "nuggeteer.toml"
    path.write_text('[match]\nmatcher = "house:make"')
    assert read_settings(path).match.matcher == "house:make"
    path.write_text('[match]\nmatcher = "house"')
    with pytest.raises(InputError, match=r"write 'package\.module:make'"):
        read_settings(path)


def test_the_classifier_of_the_guide_works_as_it_stands(tmp_path, monkeypatch, collect):
    page = (ROOT / "docs/guides/matchers.md").read_text(encoding="utf-8")
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "LogisticRegression" in one]
    namespace: dict = {}
    exec(code, namespace)  # the page's own
    made = namespace["make"](None)
    material = Scorer(collect(NUGGETS, RUNS, JUDGED)).material
    matcher = EstimatorMatcher("house:make", made, material)
    chance = matcher.score(["the red fox", "nothing"], np.array([0, 0], dtype=np.int32))
    assert chance[0] > chance[2], "of the fox, the first text is likelier"
    listed = re.findall(r"^\| `(\w+)` \|", page[page.index("FEATURES`):") :], re.MULTILINE)
    assert tuple(listed[: len(FEATURES)]) == FEATURES


def test_make_knows_a_classifier(own, collect, monkeypatch):
    monkeypatch.setenv("NUGGETEER_MATCHERS", "house:make")
    material = Scorer(named(collect(NUGGETS, RUNS, JUDGED), "house:make")).material
    assert isinstance(make(material), EstimatorMatcher)
