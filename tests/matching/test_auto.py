"""Of two matchers the one whose guesses of systems left out were better; never one that nothing was learned for."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.errors import NuggeteerError
from nuggeteer.matching.auto import AutoMatcher
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.scoring.fitting import gather_evidence
from nuggeteer.scoring.scorer import Scorer, compare_thresholds, score
from nuggeteer.thresholds.prior import prior_for
from nuggeteer.thresholds.selection import held_out
from nuggeteer.trust.crossval import crossval
from tests.conftest import write_lines

QUESTIONS, NUGGETS, SYSTEMS = 8, 3, 6


def world(folder, says):
    """Five judged systems, each with two texts to each question, and one that nobody judged. `says(rng, q, n, carries)`
    are the words of a text that carries a nugget, or not. Words of descriptions are d0x0x0, ..."""
    rng = np.random.default_rng(0)
    names = [f"s{i}" for i in range(1, SYSTEMS + 1)]
    write_lines(folder / "questions.jsonl", ({"qid": f"q{q}", "text": "?"} for q in range(QUESTIONS)))
    nuggets = [
        {"qid": f"q{q}", "nugget": str(n), "text": " ".join(f"d{q}x{n}x{i}" for i in range(5)), "importance": "vital"}
        for q in range(QUESTIONS)
        for n in range(NUGGETS)
    ]
    write_lines(folder / "nuggets.jsonl", nuggets)
    manifest = [{"run": name, "judged": "every" if name != names[-1] else "none"} for name in names]
    write_lines(folder / "runs.jsonl", manifest)
    for name in names:
        lines, verdicts = [], []
        for q in range(QUESTIONS):
            for _ in range(2):
                carried = rng.random(NUGGETS) < 0.4
                words = [word for n in range(NUGGETS) for word in says(rng, q, n, carried[n])]
                words += [f"filler{i}" for i in rng.integers(0, 400, 8)]
                rng.shuffle(words)
                text = " ".join(words)
                lines.append({"qid": f"q{q}", "text": text})
                for n in np.flatnonzero(carried).tolist():
                    verdicts.append({"qid": f"q{q}", "nugget": str(n), "text": text, "verdict": True, "run": name})
        write_lines(folder / "runs" / f"{name}.jsonl", lines)
        if name != names[-1]:
            write_lines(folder / "judgements" / f"{name}.jsonl", verdicts)
    (folder / "nuggeteer.toml").write_text('[match]\nmatcher = "auto"\n')
    return folder


def in_their_words(rng, q, n, carries):
    """Who carries a nugget says more of its description; otherwise all words are alike, and all nuggets."""
    return [f"d{q}x{n}x{i}" for i in range(5) if rng.random() < (0.65 if carries else 0.35)]


def in_other_words(rng, q, n, carries):
    """Who carries a nugget says it in words that no description has; others have the description's."""
    kind, chance = ("other", 0.7) if carries else ("d", 0.3)
    return [f"{kind}{q}x{n}x{i}" for i in range(5) if rng.random() < chance]


@pytest.fixture(scope="module")
def told_by_others(tmp_path_factory):
    return world(tmp_path_factory.mktemp("auto") / "other", in_other_words)


@pytest.fixture(scope="module")
def told_by_descriptions(tmp_path_factory):
    return world(tmp_path_factory.mktemp("auto") / "same", in_their_words)


def with_matcher(folder, name, tmp_path):
    copy = shutil.copytree(folder, tmp_path / name, ignore=shutil.ignore_patterns(".nuggeteer"))
    (copy / "nuggeteer.toml").write_text(f'[match]\nmatcher = "{name}"\n')
    return read_collection(copy)


@pytest.mark.slow
def test_learned_is_taken_where_others_words_tell_more(told_by_others, tmp_path):
    took(told_by_others, "learned", tmp_path)


@pytest.mark.slow
def test_ngrams_are_taken_where_descriptions_tell_all(told_by_descriptions, tmp_path):
    took(told_by_descriptions, "ngram", tmp_path)


def took(folder, name, tmp_path):
    """The one that is better on systems left out, by the log score; and its scores are the one's, to the bit."""
    collection = read_collection(shutil.copytree(folder, tmp_path / "auto"))
    scorer = Scorer(collection)
    assert isinstance(scorer.matcher, AutoMatcher)
    assert any(f"took `{name}`" in note for note in scorer.notes)
    alone = Scorer(with_matcher(folder, name, tmp_path))
    np.testing.assert_array_equal(scorer.read("s6").pairs.scores, alone.read("s6").pairs.scores)
    np.testing.assert_array_equal(
        gather_evidence(collection, scorer.matcher, scorer.known).scores,
        gather_evidence(collection, alone.matcher, scorer.known).scores,
    )
    results = {}
    for one in ("ngram", "learned"):
        chosen = with_matcher(folder, one, tmp_path / "crossval")
        results[one] = crossval(chosen).guessed.log_score
    assert max(results, key=results.get) == name  # by another way to leave systems out
    log_scores = [
        held_out(gather_evidence(collection, one, scorer.known), prior_for(scorer.matcher.scores_overlap))
        for one in scorer.matcher.candidates
    ]
    assert scorer.matcher.state()[:2].tolist() == log_scores


def test_what_was_taken_is_kept_and_told_again(told_by_others, tmp_path, monkeypatch):
    folder = shutil.copytree(told_by_others, tmp_path / "copy")
    first = score(read_collection(folder), ["s6"])
    monkeypatch.setattr(LearnedMatcher, "_fit", lambda *_: pytest.fail("learned again"))
    second = score(read_collection(folder), ["s6"])
    assert second.notes == first.notes
    assert second.signature == first.signature
    assert second["s6"].measures == first["s6"].measures


@pytest.mark.parametrize("state", [[], [0.0], [0.0, 1.0], [1.0, 0.0, 3.0], [np.nan, 0.0], [0.0, 1.0, 5.0]])
def test_what_cannot_be_its_state_is_refused_and_changes_nothing(told_by_others, state):
    scorer = Scorer(read_collection(told_by_others))
    fresh = AutoMatcher(scorer.material)
    with pytest.raises(ValueError, match="another matcher"):
        fresh.restore(np.array(state))
    assert fresh._chosen is None
    fresh.restore(scorer.matcher.state())
    assert fresh.notes == tuple(note for note in scorer.notes if "took" in note)


def test_of_equals_the_simpler_is_taken(told_by_others):
    matcher = AutoMatcher(Scorer(read_collection(told_by_others)).material)
    matcher.choose(lambda candidate: -0.5)
    assert "took `ngram`" in matcher.notes[0]


def test_where_nothing_can_be_learned_it_is_ngrams_to_the_bit_and_says_so(tmp_path):
    simulate(tmp_path / "few", Shape(questions=4, nuggets=3, systems=3, judged=2, responses=3), seed=0)
    results = {name: score(with_matcher(tmp_path / "few", name, tmp_path / "x"), ["s3"]) for name in ("ngram", "auto")}
    auto, ngram = results["auto"], results["ngram"]
    assert any("`auto` needs judged systems" in note for note in auto.notes)
    assert ngram.notes == ()
    assert auto.signature == ngram.signature
    assert auto["s3"].measures == ngram["s3"].measures
    np.testing.assert_array_equal(auto["s3"].outcome.drawn, ngram["s3"].outcome.drawn)


def test_with_a_threshold_that_learns_nothing_it_says_what_to_write(told_by_others, tmp_path):
    folder = shutil.copytree(told_by_others, tmp_path / "copy")
    (folder / "nuggeteer.toml").write_text('[match]\nmatcher = "auto"\n[threshold]\nmodel = "fixed"\n')
    with pytest.raises(NuggeteerError, match='model = "smooth"'):
        score(read_collection(folder), ["s6"])


@pytest.mark.slow
def test_thresholds_are_compared_on_the_one_that_was_taken(told_by_others, tmp_path):
    auto, learned = (
        compare_thresholds(with_matcher(told_by_others, name, tmp_path)).models[1] for name in ("auto", "learned")
    )
    assert auto.log10_evidence == learned.log10_evidence
