"""The matcher that learns: nothing of a group reaches its own scores, and what others said makes them better."""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.collection.folder import make_key, read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.matching import clues, learned
from nuggeteer.matching.base import Judged, Material
from nuggeteer.matching.learned import LearnedMatcher
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.records import Judgement, Nugget, Question
from nuggeteer.scoring.known import YES, VerdictIndex
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.settings import Match
from nuggeteer.text import normalised
from nuggeteer.trust.crossval import average_precision, crossval
from tests.conftest import shared, write_lines

FILLERS = [f"filler{i}" for i in range(40)]
LEARNED = Match(matcher="learned", weights="unit")


class World:
    """Judged texts of some groups, three a question and group. `say(nugget, carries)` makes a text's words; a nugget is
    (question, number). Which texts carry what is drawn at random."""

    def __init__(self, seed, describe, say, groups=6, questions=4, nuggets=3):
        self.rng = np.random.default_rng(seed)
        self.say, self.counts = say, nuggets
        key = [
            Nugget(f"q{q}", str(n), tuple(describe(self.rng, (q, n))), "vital")
            for q in range(questions)
            for n in range(nuggets)
        ]
        self.key = make_key([Question(f"q{q}", "?") for q in range(questions)], key)
        places = [(q, g) for g in range(groups) for q in range(questions) for _ in range(3)]
        self.question = np.array([q for q, _ in places], dtype=np.int32)
        self.group = np.array([g for _, g in places], dtype=np.int64)
        self.texts, self.yes = self.new(self.question)
        self.decided = np.ones(len(self.yes), dtype=bool)

    def new(self, question):
        """Texts that nobody judged, and what they carry, laid end to end."""
        texts, yes = [], []
        for q in question.tolist():
            carried = self.rng.random(self.counts) < 0.35
            said = [word for n in range(self.counts) for word in self.say(self.rng, (q, n), carried[n])]
            words = [*said, *self.rng.choice(FILLERS, 6)]
            self.rng.shuffle(words)
            texts.append(normalised(" ".join(words)))
            yes.extend(carried.tolist())
        return texts, np.array(yes)

    def matcher(self, decided=None, yes=None):
        decided = self.decided if decided is None else decided
        yes = self.yes if yes is None else yes
        judged = Judged(self.texts, self.question, self.group, decided, yes & decided)
        return LearnedMatcher(Material(self.key, LEARNED, None, judged))

    def pairs_of(self, group):
        return np.repeat(self.group == group, self.counts)


def paraphrasing(seed=0, **shape):
    """What carries a nugget says it in words of its own, which no description has; what does not, in those."""

    def describe(rng, nugget):
        return [" ".join(f"fact{nugget[0]}x{nugget[1]}x{i}" for i in range(4))]

    def say(rng, nugget, carries):
        kind = "own" if carries else "fact"
        return [f"{kind}{nugget[0]}x{nugget[1]}x{i}" for i in range(4) if rng.random() < (0.7 if carries else 0.2)]

    return World(seed, describe, say, **shape)


def counting(seed=0, **shape):
    """A text that has the words of a description but another number does not carry it: `8 deaths` for `80 deaths`."""

    def describe(rng, nugget):
        return [f"{10 * (3 * nugget[0] + nugget[1]) + 10} dead{nugget[0]}x{nugget[1]} found{nugget[0]}x{nugget[1]}"]

    def say(rng, nugget, carries):
        own = 10 * (3 * nugget[0] + nugget[1]) + 10
        words = [f"dead{nugget[0]}x{nugget[1]}", f"found{nugget[0]}x{nugget[1]}"]
        if carries:
            return [str(own), *(word for word in words if rng.random() < 0.6)]
        return [str(own // 10 + 1), *words] if rng.random() < 0.5 else []

    return World(seed, describe, say, **shape)


def scores_of_judged(matcher, jobs=1):
    return matcher.score_judged(matcher._judged, jobs)


WORLDS = [paraphrasing, counting]


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("groups", [3, 6])
def test_no_verdict_on_a_group_reaches_the_scores_of_its_texts(world, groups):
    """Permuted, turned round, or dropped: its own scores stay as they are, to the bit; other groups' do not."""
    world = world(groups=groups, questions=30 // groups)
    matcher = world.matcher()
    assert matcher.learns
    before = scores_of_judged(matcher)
    for group in (0, groups - 1):
        own = world.pairs_of(group)
        permuted = world.yes.copy()
        permuted[own] = np.random.default_rng(group).permutation(permuted[own])
        for decided, yes in (
            (world.decided, permuted),
            (world.decided, world.yes ^ own),
            (world.decided & ~own, world.yes),
        ):
            other = world.matcher(decided, yes)
            assert other.learns
            after = scores_of_judged(other)
            np.testing.assert_array_equal(before[own], after[own])
            assert (before[~own] != after[~own]).mean() > 0.2


def test_where_texts_are_too_many_to_compare_with_no_verdict_decides_on_others_texts(monkeypatch):
    monkeypatch.setattr(clues, "LARGEST", 8)
    world = paraphrasing(groups=5)
    before = scores_of_judged(world.matcher())
    for group in range(5):
        own = world.pairs_of(group)
        after = scores_of_judged(world.matcher(yes=world.yes ^ own))
        np.testing.assert_array_equal(before[own], after[own])
        assert (before[~own] != after[~own]).any()


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_scores_are_the_same_whatever_the_batch_the_order_and_the_workers(world):
    world = world(1)
    matcher = world.matcher()
    question = np.repeat(np.arange(4, dtype=np.int32), 30)
    texts, _ = world.new(question)
    together = matcher.score(texts, question).reshape(-1, 3)
    assert len(np.unique(together)) > 100
    np.testing.assert_array_equal(matcher.score(texts, question, jobs=2).reshape(-1, 3), together)
    order = np.random.default_rng(0).permutation(len(texts))
    moved = matcher.score([texts[i] for i in order], question[order]).reshape(-1, 3)
    np.testing.assert_array_equal(moved, together[order])
    alone = [matcher.score([text], question[i : i + 1]) for i, text in enumerate(texts)]
    np.testing.assert_array_equal(alone, together)
    again = world.matcher()
    np.testing.assert_array_equal(scores_of_judged(again, jobs=1), scores_of_judged(again, jobs=2))
    assert again.signature == matcher.signature


@pytest.mark.slow
def test_before_they_are_rounded_scores_are_the_same_too(monkeypatch):
    """Rounding to six digits hides last bits most of the time only: a score may lie on the border."""
    monkeypatch.setattr(learned, "DIGITS", 17)
    test_scores_are_the_same_whatever_the_batch_the_order_and_the_workers(paraphrasing)


def test_what_others_said_in_other_words_is_found():
    """Descriptions mislead here; texts judged in other groups do not."""
    world = paraphrasing()
    ngram, ours = world.matcher().ngrams.score(world.texts, world.question), scores_of_judged(world.matcher())
    assert average_precision(world.yes, ours) > 0.9
    assert average_precision(world.yes, ngram) < 0.4
    texts, yes = world.new(np.repeat(np.arange(4, dtype=np.int32), 20))
    question = np.repeat(np.arange(4, dtype=np.int32), 20)
    assert average_precision(yes, world.matcher().score(texts, question)) > 0.9


def test_a_nugget_without_a_single_yes_profits_from_others():
    """In three questions people showed that numbers matter; the fourth is new, and nobody said yes there."""
    world = counting(groups=8)
    new = np.repeat(world.question == 3, 3)
    matcher = world.matcher(decided=world.decided & ~new)
    assert not (matcher._judged.yes & new).any()
    texts, yes = world.new(np.full(60, 3, dtype=np.int32))
    question = np.full(60, 3, dtype=np.int32)
    ours, ngram = (average_precision(yes, one.score(texts, question)) for one in (matcher, matcher.ngrams))
    assert ours > ngram + 0.3
    assert ours > 0.9


def test_eight_deaths_are_not_eighty():
    world = counting(groups=8)
    eight, eighty = (f"{n} dead0x0 found0x0" for n in (2, 10))
    question = np.zeros(2, dtype=np.int32)
    scores = world.matcher().score([eight, eighty], question).reshape(2, 3)[:, 0]
    ngrams = world.matcher().ngrams.score([eight, eighty], question).reshape(2, 3)[:, 0]
    assert scores[0] < 0.1 < 0.9 < scores[1]
    assert ngrams[0] > 0.3


def test_a_clue_that_is_always_the_same_has_no_weight():
    """Its spread is a rounding error; divided by that, its weight would drown all others."""
    world = counting(groups=4)
    matcher = world.matcher()
    shown, pairs = matcher._training(np.zeros(0, dtype=np.int64))
    shown[:, clues.CLUES.index("like yes")] = np.log(1e-6)
    weights = matcher._fit(shown, pairs)
    assert weights[clues.CLUES.index("like yes")] == 0
    assert np.abs(weights).max() < 100


class TestScarce:
    """Where there is too little to learn from."""

    def few(self):
        """19 yes, all of them outside of the first group's fold."""
        world = paraphrasing()
        outside = world.yes & ~world.pairs_of(0) & ~world.pairs_of(5)
        world.yes[:] = False
        world.yes[np.flatnonzero(outside)[: learned.LEAST - 1]] = True
        return world

    @pytest.mark.parametrize("kind", ["two groups", "few yes", "few no", "one group has all yes", "nothing"])
    def test_it_scores_by_ngrams_and_says_so(self, kind):
        world = (
            paraphrasing(groups=2, questions=12)
            if kind == "two groups"
            else self.few()
            if kind.startswith("few")
            else paraphrasing()
        )
        if kind == "few no":
            world.yes = ~world.yes
        elif kind == "one group has all yes":  # without it there is nothing to learn from
            world.yes &= world.pairs_of(2)
            world.yes |= world.pairs_of(2)
            assert world.yes.sum() > learned.LEAST
        elif kind == "nothing":
            world.decided[:] = False
        matcher = world.matcher()
        assert not matcher.learns
        assert "scores by n-grams" in matcher.notes[0]
        ngram = NgramMatcher(world.key, LEARNED, None)
        assert matcher.signature == ngram.signature
        expected = ngram.score(world.texts, world.question)
        assert expected.any()
        np.testing.assert_array_equal(matcher.score(world.texts, world.question), expected)
        np.testing.assert_array_equal(scores_of_judged(matcher), expected)
        matcher.restore(matcher.state())
        assert matcher.state().shape == (0,)

    def test_one_more_verdict_than_too_few_is_enough(self):
        world = self.few()
        assert not world.matcher().learns
        more = np.flatnonzero(~world.yes & ~world.pairs_of(0) & ~world.pairs_of(5))
        world.yes[more[-1]] = True
        assert not world.matcher().learns  # for it must be there whichever fifth is hidden
        for group in range(1, 5):
            world.yes[np.flatnonzero(world.pairs_of(group))[:9]] = True
        matcher = world.matcher()
        assert matcher.learns
        assert matcher.notes == ()
        assert not np.array_equal(scores_of_judged(matcher), matcher.ngrams.score(world.texts, world.question))

    def test_without_a_judged_text_there_is_nothing_to_score(self):
        key = paraphrasing().key
        empty = np.zeros(0, dtype=np.int64)
        judged = Judged([], empty.astype(np.int32), empty, empty.astype(bool), empty.astype(bool))
        matcher = LearnedMatcher(Material(key, LEARNED, None, judged))
        assert not matcher.learns
        assert scores_of_judged(matcher).shape == (0,)
        assert matcher.score(["a"], np.zeros(1, dtype=np.int32)).tolist() == [0.0] * 3


def test_a_question_that_nobody_judged_is_scored_like_any_other():
    world = counting(groups=8)
    shown = world.question != 2
    judged = Judged(
        [text for text, kept in zip(world.texts, shown.tolist(), strict=True) if kept],
        world.question[shown],
        world.group[shown],
        world.decided[np.repeat(shown, 3)],
        world.yes[np.repeat(shown, 3)],
    )
    matcher = LearnedMatcher(Material(world.key, LEARNED, None, judged))
    texts, yes = world.new(np.full(60, 2, dtype=np.int32))
    assert average_precision(yes, matcher.score(texts, np.full(60, 2, dtype=np.int32))) > 0.9
    assert matcher.score(["", "(-)"], np.array([2, 2], dtype=np.int32)).shape == (6,)


class TestKept:
    """What was learned is kept as numbers, and taken back as long as nothing changes."""

    def test_the_same_scores_come_back(self):
        world = counting()
        first, second = world.matcher(), world.matcher()
        state = first.state()
        assert state.dtype == float
        second.restore(state)
        np.testing.assert_array_equal(
            first.score(world.texts, world.question), second.score(world.texts, world.question)
        )

    @pytest.mark.parametrize("state", [np.zeros(0), np.zeros(3), np.full(len(clues.CLUES) + 1, np.nan)])
    def test_what_cannot_be_its_state_is_refused(self, state):
        with pytest.raises(ValueError, match="another matcher"):
            counting().matcher().restore(state)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Five judged systems and one that nobody judged."""
    folder = tmp_path_factory.mktemp("learned") / "simulated"
    simulate(folder, Shape(questions=12, nuggets=4, systems=6, judged=5, responses=3), seed=5)
    (folder / "nuggeteer.toml").write_text('[match]\nmatcher = "learned"\n')
    return folder


@pytest.fixture
def folder(simulated, tmp_path):
    return shutil.copytree(simulated, tmp_path / "copy")


def test_a_second_score_learns_nothing_anew(folder, monkeypatch):
    first = score(read_collection(folder), ["s6"])
    assert first.notes == ()
    assert "learned[ngram(" in first.signature
    monkeypatch.setattr(LearnedMatcher, "_fit", lambda *_: pytest.fail("learned again"))
    monkeypatch.setattr(LearnedMatcher, "score_judged", lambda *_: pytest.fail("learned again"))
    second = score(read_collection(folder), ["s6"])
    assert second.signature == first.signature
    np.testing.assert_array_equal(second["s6"].outcome.best, first["s6"].outcome.best)
    assert second["s6"].measures == first["s6"].measures


@pytest.mark.slow
@pytest.mark.parametrize("state", [np.zeros(3), np.full(len(clues.CLUES) + 1, np.inf), np.array("x"), np.array(1.0)])
def test_a_damaged_state_is_learned_anew_with_a_word(folder, state):
    first = score(read_collection(folder), ["s6"])
    path = folder / ".nuggeteer" / "thresholds.npz"
    with np.load(path, allow_pickle=False) as file:
        np.savez(path, **{**file, "state": state})
    second = score(read_collection(folder), ["s6"])
    assert "anew" in second.notes[0]
    assert second["s6"].measures == first["s6"].measures
    assert score(read_collection(folder), ["s6"]).notes == ()


def test_nothing_in_the_file_is_pickled(folder):
    score(read_collection(folder), ["s6"])
    path = folder / ".nuggeteer" / "thresholds.npz"
    with np.load(path, allow_pickle=False) as file:
        assert file["state"].shape == (len(clues.CLUES) + 1,)
        assert all(file[name].dtype != object for name in file.files)
    with zipfile.ZipFile(path) as file:
        assert all(name.endswith(".npy") for name in file.namelist())


@pytest.mark.slow
def test_in_cross_validation_nothing_that_was_said_of_a_group_reaches_its_guesses(simulated):
    """All verdicts on a system are turned round: its guesses stay, to the bit, and others' do not."""
    whole = read_collection(simulated)
    run, key = whole.run("s3"), whole.key
    known = VerdictIndex(key, whole.judgements, whole.judged_runs)
    states = known([normalised(t) for t in run.texts], run.question).reshape(len(run), -1)
    own = {(key.questions[q].qid, normalised(t)) for q, t in zip(run.question.tolist(), run.texts, strict=True)}
    turned = [
        Judgement(key.questions[q].qid, str(n + 1), text, states[row, n] != YES, run="s3")
        for row, (q, text) in enumerate(zip(run.question.tolist(), run.texts, strict=True))
        for n in range(4)
    ]
    kept = [j for j in whole.judgements if (j.qid, normalised(j.text)) not in own]
    other = replace(whole, judgements=(*kept, *turned))
    assert Scorer(other).matcher.learns
    before, after = ({one.run: one for one in crossval(c).scores} for c in (whole, other))
    assert before["s3"].true != after["s3"].true
    assert (before["s3"].value, before["s3"].judging) == (after["s3"].value, after["s3"].judging)
    for name in ("s1", "s2", "s4", "s5"):
        assert before[name].value != after[name].value


def part_of(name, folder, questions):
    """The first questions of a public collection, its systems in five groups."""
    source = shared(name)
    qids = [json.loads(line)["qid"] for line in (source / "questions.jsonl").read_text().splitlines()][:questions]
    for path in source.rglob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if path.name == "runs.jsonl":
            lines = [{**line, "group": f"group {i % 5}"} for i, line in enumerate(lines)]
        else:
            lines = [line for line in lines if line["qid"] in qids]
        write_lines(folder / path.relative_to(source), lines)
    return read_collection(folder)


@pytest.mark.slow
def test_on_realsumm_answers_of_systems_left_out_are_guessed_better_than_by_ngrams(tmp_path):
    """The page on the learned matcher has the figures of all of it: the F1 of answers is 0.012 higher."""
    collection = part_of("realsumm", tmp_path / "part", 20)

    def answers(matcher):
        match = replace(collection.settings.match, matcher=matcher)
        return crossval(replace(collection, settings=replace(collection.settings, match=match))).answers

    learned, ngram = answers("learned"), answers("ngram")
    assert learned.f1 > ngram.f1 + 0.01
    assert learned.log_score > ngram.log_score + 0.02
