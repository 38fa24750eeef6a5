"""What `judge` asks about: drawn with the chances that are recorded, and recorded before it is shown."""

from __future__ import annotations

import os

import numpy as np
import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.judging.draws import RecordedDraw
from nuggeteer.judging.filters import Filter
from nuggeteer.judging.state import JudgingState, JudgingSubject
from nuggeteer.judging.suggest import FLOOR, VerdictValues, suggest
from nuggeteer.measures import parse
from nuggeteer.scoring.scorer import Scorer


def values_of(collection, run="tonight"):
    scorer = Scorer(collection, ["f3"])
    return scorer, VerdictValues(scorer, scorer.read(run), parse("f3"))


def recorded(root):
    return read_collection(root).draws


def test_pairs_are_drawn_as_often_as_their_chances_say(sample):
    """The first and the second pair of 3,000 draws, against the recorded chances."""
    _, values = values_of(sample, "build-103")
    seen, chance = {}, {}
    for i in range(3000):
        first, second = values.draw(2, np.random.default_rng(i))
        seen[first.nugget, first.response] = seen.get((first.nugget, first.response), 0) + 1
        chance[first.nugget, first.response] = first.chance
        assert (second.nugget, second.response) != (first.nugget, first.response)
    often = sorted(seen, key=seen.__getitem__)[-10:]
    for pair in often:
        error = np.sqrt(chance[pair] * (1 - chance[pair]) / 3000)
        assert abs(seen[pair] / 3000 - chance[pair]) < 4 * error


def test_the_best_pair_has_the_highest_chance_and_none_is_left_out(sample):
    scorer, values = values_of(sample, "build-103")
    best = suggest(scorer, scorer.read("build-103"), parse("f3"), 1)[0]
    drawn = {(one.nugget, one.response): one for i in range(200) for one in values.draw(1, np.random.default_rng(i))}
    assert (best.nugget, best.response) in drawn
    assert max(drawn.values(), key=lambda one: one.chance).nugget == best.nugget
    every = values.draw(10_000, np.random.default_rng(0))
    single = int((values._open_groups.size == 1).sum())
    assert single * 0.8 < len(every) <= single
    assert min(one.chance for one in every[: len(every) // 2]) > FLOOR / single / 10


def test_the_same_verdicts_give_the_same_draw(sample):
    scorer, values = values_of(sample, "build-103")
    matched = scorer.read("build-103")
    ones = [RecordedDraw(scorer, [matched]).next_pairs(values, 5) for _ in range(2)]
    assert ones[0] == ones[1]


def test_a_pair_is_recorded_before_it_is_judged(begin):
    session = begin()
    root = session.state.collection.root
    nugget = session.state.key.nuggets[session.pending.nugget]
    (drawn,) = recorded(root)
    assert (drawn.qid, drawn.nugget, drawn.run) == (nugget.qid, nugget.nugget, "tonight")
    assert 0 < drawn.chance < 1
    session.judge(True)
    assert len(recorded(root)) == 2


def test_what_was_drawn_and_not_judged_is_asked_first(begin):
    session = begin()
    asked = session.pending.nugget, session.response
    again = JudgingState.read(JudgingSubject(session.state.collection.root, "tonight"))
    first = again.suggested[0]
    assert (first.nugget, first.response) == asked
    again.drawn.record(first)
    assert len(recorded(session.state.collection.root)) == 1, "and it is not recorded twice"


def test_what_an_assessor_chooses_is_not_a_draw(begin):
    """With a filter, the assessor decides what is asked."""
    session = begin()
    before = len(recorded(session.state.collection.root))
    other = next(n for n in session.state.key.nuggets if n.qid != session.card().question.qid)
    session.narrow(Filter(other.qid))
    assert session.card().question.qid == other.qid
    session.judge(True)
    assert len(recorded(session.state.collection.root)) == before


def test_a_verdict_on_a_drawn_pair_counts_for_the_pairs_it_represents(begin):
    """The same verdict moves the score differently without the draw's record, and the signature says that it does."""
    session = begin()
    for _ in range(3):
        session.judge(False)
    root = session.state.collection.root
    with_draws = Scorer(read_collection(root))
    (root / "judgements" / "draws" / "tonight.jsonl").unlink()
    without = Scorer(read_collection(root))
    assert str(with_draws.signature) != str(without.signature)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(begin):
    session = begin()
    folder = session.state.collection.root / "judgements"
    folder.chmod(0o500)
    try:
        with pytest.raises(Exception, match="nothing was written"):
            session.state.drawn.record(session.state.suggested[1])
    finally:
        folder.chmod(0o700)


def test_what_a_page_asks_is_recorded_unless_it_was_chosen(fermi, tmp_path, capsys):
    chosen = ["judge", "--collection", str(fermi.root), "tonight", "--page", str(tmp_path / "a.html")]
    assert main([*chosen, "--question", "q1"]) == 0
    assert recorded(fermi.root) == ()
    assert main([*chosen, "--count", "3"]) == 0
    assert len(recorded(fermi.root)) == 3
    assert main(["judge", "--collection", str(fermi.root), "tonight", "--list", "3"]) == 0
    assert len(recorded(fermi.root)) == 3, "they wait for their verdicts, and are asked first"
    assert "to judge next" in capsys.readouterr().out
