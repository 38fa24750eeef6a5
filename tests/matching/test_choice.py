"""The matcher that the settings name: ours, or another package's, whose scores are checked."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.errors import InputError, NuggeteerError
from nuggeteer.formats.toml_settings import read_settings
from nuggeteer.matching.choice import Checked, make
from nuggeteer.matching.external import Remembered
from nuggeteer.scoring.evidence import gather_evidence, prior_of
from nuggeteer.scoring.known import VerdictIndex
from nuggeteer.scoring.scorer import Scorer, compare_thresholds, material, score
from nuggeteer.settings import MATCHERS
from nuggeteer.thresholds.prior import DOUBT
from nuggeteer.thresholds.public_prior import BY_SCORE
from tests.conftest import ROOT

CODE = """
import numpy as np
from nuggeteer.matching.ngram import NgramMatcher

class Theirs:
    signature = "theirs(1)"
    notes = ("a word from theirs",)
    def __init__(self, material):
        self.counts = material.key.counts
        self.judged = material.judged
    def score(self, texts, question, jobs=1):
        return np.repeat([len(text) / 100 for text in texts], self.counts[question])

class Short(Theirs):
    def score(self, texts, question, jobs=1):
        return np.zeros(3)

class Wild(Theirs):
    def score(self, texts, question, jobs=1):
        return super().score(texts, question) + 2

class Learning(Theirs):
    def score_judged(self, jobs=1):
        return np.where(self.judged.yes, 0.9, 0.1)

class Alike(NgramMatcher):
    def __init__(self, material):
        super().__init__(material.key, material.settings, material.idf)

class Carrying(Theirs):
    def carried(self, texts, question):
        return np.repeat([5.0 if "nothing" in text else 0.0 for text in texts], self.counts[question])

class Endless(Theirs):
    def carried(self, texts, question):
        return np.full(self.counts[question].sum(), np.inf)

class Failing:
    def __init__(self, material):
        raise RuntimeError("no such model")
"""
NAMES = ("Theirs", "Short", "Wild", "Learning", "Carrying", "Endless", "Alike", "Failing", "Missing")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Another package that brings matchers."""
    folder = tmp_path / "site"
    info = folder / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "theirs_matchers.py").write_text(CODE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    lines = [f"{name.lower()} = theirs_matchers:{name}" for name in NAMES]
    (info / "entry_points.txt").write_text("\n".join(["[nuggeteer.matchers]", "ngram = theirs_matchers:Wild", *lines]))
    monkeypatch.syspath_prepend(folder)
    yield
    sys.modules.pop("theirs_matchers", None)


NUGGETS = [{"qid": "q", "nugget": str(i), "text": t} for i, t in enumerate(["a red fox", "two blue birds"])]
VERDICT = {"qid": "q", "nugget": "0", "text": "a red fox came", "verdict": True, "run": "r"}


@pytest.fixture
def collection(collect):
    return collect(NUGGETS, {"r": [("q", "a red fox came"), ("q", "nothing")]}, [VERDICT])


def matched_by(collection, name):
    return replace(
        collection, settings=replace(collection.settings, match=replace(collection.settings.match, matcher=name))
    )


def test_another_packages_matcher_is_found_by_its_name_and_told_in_the_signature(installed, collection):
    scorer = Scorer(matched_by(collection, "theirs"))
    matched = scorer.read("r")
    assert matched.scores.tolist() == [0.14, 0.14, 0.07, 0.07]
    assert "match:theirs[theirs(1)]" in str(scorer.signature)
    assert "a word from theirs" in scorer.notes


def test_our_names_are_ours(installed, collection):
    assert type(Scorer(collection).matcher).__module__ == "nuggeteer.matching.learned"


def test_one_that_learns_says_what_judged_texts_score(installed, collection):
    scorer = Scorer(matched_by(collection, "learning"))
    assert gather_evidence(scorer.collection, scorer.matcher, scorer.known).scores.tolist() == [0.9]


def test_what_another_packages_matcher_carries_over_is_added_to_guesses_alone(installed, collection):
    scorer = Scorer(matched_by(collection, "carrying"))
    matched = scorer.read("r")
    assert matched.guessed.tolist() == [False, True, True, True]
    clues = [matched.clues[:, matched.names.index(name)] for name in ("hint", "carried")]
    np.testing.assert_allclose(clues, [[0.2, 0.2], [4.8, 4.8]], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("short", r"shape \(3,\), not one for each of"),
        ("wild", "not numbers from 0 to 1"),
        ("endless", "not finite"),
        ("failing", "no such model"),
        ("missing", "cannot be made"),
        ("nobody", "there is no matcher 'nobody'; there are learned, ngram, .*theirs"),
    ],
)
def test_what_is_wrong_with_one_is_said_with_its_name(installed, collection, name, says):
    with pytest.raises(NuggeteerError, match=says) as caught:
        score(matched_by(collection, name), ["r"])
    assert name in str(caught.value)


def test_the_settings_know_what_is_installed(installed, tmp_path):
    path = tmp_path / "nuggeteer.toml"
    path.write_text('[match]\nmatcher = "theirs"')
    assert read_settings(path).match.matcher == "theirs"
    path.write_text('[match]\nmatcher = "nobody"')
    with pytest.raises(InputError, match="'theirs'"):
        read_settings(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*MATCHERS} - {"external", "auto"}))  # a file's, and either of two
def test_every_matcher_of_ours_scores_whole_texts_alike_whatever_else_is_asked(sample, name):
    """Between 0 and 1, the same one by one as all together; and the threshold models take them."""
    if name == "rouge":
        pytest.importorskip("rouge_score")
    chosen = matched_by(sample, name)
    known = VerdictIndex(sample.key, sample.judgements, sample.judged_runs)
    matcher = make(material(chosen, known))
    texts, question = known.texts[:30], known.question[:30]
    together = matcher.score(texts, question)
    assert 0 <= together.min() < together.max() <= 1
    alone = [matcher.score([text], question[i : i + 1]) for i, text in enumerate(texts)]
    np.testing.assert_array_equal(np.concatenate(alone), together)


def test_models_are_compared_on_the_matcher_that_is_chosen(tmp_path):
    simulate(tmp_path / "made", Shape(questions=4, nuggets=4, systems=2, judged=2, responses=3))
    made = read_collection(tmp_path / "made")
    ours, theirs = (compare_thresholds(matched_by(made, name)).models[1] for name in ("ngram", "qaviar"))
    assert ours.name == theirs.name == "global"
    assert ours.log10_evidence != theirs.log10_evidence


def test_the_matcher_in_the_documents_works_as_it_stands(tmp_path, monkeypatch, collect):
    """Its code and its entry point, taken from docs/guides/matchers.md, as an installed package has them."""
    import re
    import tomllib

    page = (ROOT / "docs/guides/matchers.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.DOTALL))
    (toml,) = [one for one in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "entry-points" in one]
    project = tomllib.loads(toml)["project"]
    info = tmp_path / "site" / "my_figures-1.0.dist-info"
    info.mkdir(parents=True)
    (tmp_path / "site" / "figures.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = project["entry-points"]["nuggeteer.matchers"]
    (info / "entry_points.txt").write_text(
        "[nuggeteer.matchers]\n" + "".join(f"{k} = {v}\n" for k, v in points.items())
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    nuggets = [{"qid": "q", "nugget": "1", "text": "80 deaths in 1912"}, {"qid": "q", "nugget": "2", "text": "a ship"}]
    collection = collect(
        nuggets, {"r": [("q", "8 deaths in 1912"), ("q", "80 in 1912")]}, toml='[match]\nmatcher = "figures"'
    )
    assert Scorer(collection).read("r").scores.tolist() == [0.5, 0.5, 1.0, 0.5]
    theirs = sys.modules["figures"].Explained(Scorer(collection).material)
    said = Checked("figures", theirs, Scorer(collection).material).explain("80 ships", 0).words
    assert [(one.words, one.weight, one.in_text) for one in said] == [("1912", -1, False), ("80", 1, True)]
    sys.modules.pop("figures", None)


@pytest.mark.parametrize(
    ("name", "overlap"),
    [("ngram", True), ("pourpre", True), ("qaviar", True), ("rouge", True), ("theirs", False), ("alike", False)],
)
def test_what_n_grams_taught_is_believed_only_of_scores_that_are_shares_of_a_description(
    installed, collection, name, overlap
):
    """Not of another package's matcher, even one derived from n-grams or called alike."""
    if name == "rouge":
        pytest.importorskip("rouge_score")
    matcher = Scorer(matched_by(collection, name)).matcher
    assert matcher.scores_overlap == overlap
    prior = prior_of(matcher)
    for clue in ("root", "score"):
        i = prior.names.index(clue)
        mean, spread = BY_SCORE[clue]
        assert prior.b[i] == mean
        assert prior.b_covariance[i, i] == pytest.approx(spread**2 * (1 if overlap else DOUBT))


def test_the_prior_of_scores_that_were_worked_out_before_is_that_of_their_matcher(sample):
    known = VerdictIndex(sample.key, sample.judgements, sample.judged_runs)
    for name in ("ngram", "learned"):
        matcher = make(material(matched_by(sample, name), known))
        remembered = Remembered.of(sample.key, matcher, known.texts[:3], known.question[:3])
        assert remembered.scores_overlap == matcher.scores_overlap is True


def test_a_matcher_derived_from_ours_is_scored_as_ours_are(installed, collection):
    """Its scores of judged texts do not need to know the judgements."""
    scorer = Scorer(matched_by(collection, "alike"))
    assert gather_evidence(scorer.collection, scorer.matcher, scorer.known).scores.tolist() == [1.0]
