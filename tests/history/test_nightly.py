"""One night: what it is compared with, what it decides, and that it is recorded once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.errors import NuggeteerError
from nuggeteer.history.nightly import MOST_QUESTIONS, Needed, needed_for, nightly, verdicts_on_losses
from nuggeteer.history.store import History
from nuggeteer.history.trend import trends
from nuggeteer.judging.forecast import LIKELY, SURE_REACH, Forecast
from nuggeteer.scoring.scorer import score
from nuggeteer.statistics.intervals import REACH, Interval
from tests.conftest import write_lines

FACTS = ["built the first reactor", "was born in rome", "won a prize in stockholm", "taught in chicago"]


@pytest.fixture(autouse=True)
def nights(monkeypatch):
    times = iter(datetime(2026, 1, 1, 3, tzinfo=UTC) + timedelta(days=day) for day in range(99))
    monkeypatch.setattr("nuggeteer.history.store.now", lambda: next(times))


@pytest.fixture
def folder(tmp_path):
    """Questions and nuggets, and no manifest, settings or verdicts."""
    root = tmp_path / "qa"
    nuggets = [
        {"qid": f"q{q}", "nugget": str(n), "text": f"{fact} {q}", "importance": "vital"}
        for q in range(6)
        for n, fact in enumerate(FACTS)
    ]
    write_lines(root / "nuggets.jsonl", nuggets)
    (root / "runs").mkdir()
    return root


def answer(root, name, facts, questions=range(6)):
    """Every question is answered with the first of the facts."""
    lines = [{"qid": f"q{q}", "text": f"He {fact} {q}."} for q in questions for fact in FACTS[:facts]]
    write_lines(root / "runs" / f"{name}.jsonl", lines)


def judge(root, facts=FACTS):
    """A yes on each sentence for its own nugget, a no for the others."""
    lines = [
        {"qid": f"q{q}", "nugget": str(n), "text": f"He {fact} {q}.", "verdict": n == i, "run": "tonight"}
        for q in range(6)
        for i, fact in enumerate(facts)
        for n in range(len(FACTS))
    ]
    write_lines(root / "judgements" / "ann.jsonl", lines)


def run(root, name="tonight", **options):
    return nightly(read_collection(root), name, **options)


def count(root, table):
    with History.of(root)._database.read() as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_the_first_night_is_undecided_and_recorded(folder):
    answer(folder, "tonight", 3)
    night = run(folder)
    assert (night.decision, night.old, night.diff, night.gates) == ("UNDECIDED", None, None, ())
    assert night.recorded.new
    assert night.interval == score(read_collection(folder), ["tonight"]).runs[0].measures["f3"]


def test_a_file_that_is_overwritten_every_night_is_compared_with_the_night_before(folder):
    judge(folder)
    answer(folder, "tonight", 4)
    run(folder)
    answer(folder, "tonight", 1)
    night = run(folder)
    assert night.decision == "FAIL"
    assert night.old.build.scoring.build == 1
    assert {change.nugget.nugget for change in night.worst} == {"1", "2", "3"}
    answer(folder, "tonight", 4)  # the change is taken back
    night = run(folder)
    assert night.decision == "PASS", (night.reason, night.diff)
    assert night.recorded.new
    assert night.old.build.scoring.build == 2


def test_a_file_outside_the_collection_need_not_be_kept(folder, tmp_path):
    judge(folder)
    answer(folder, "monday", 4)
    outside = (folder / "runs" / "monday.jsonl").rename(tmp_path / "monday.jsonl")
    run(folder, str(outside))
    outside.unlink()
    answer(folder, "tuesday", 4)
    night = run(folder, "tuesday")
    assert night.old.run.name == "monday"
    assert night.diff.identical.all()
    assert night.decision == "PASS", (night.reason, night.diff)


def test_the_same_night_is_recorded_once_whatever_was_judged_meanwhile(folder):
    answer(folder, "tonight", 4)
    run(folder)
    answer(folder, "tonight", 3)
    first = run(folder, label="a")
    again = run(folder, label="a")
    judge(folder)
    judged = run(folder, label="a")
    assert [n.recorded.new for n in (first, again, judged)] == [True, False, False]
    assert {n.recorded.build for n in (first, again, judged)} == {2}
    assert {n.old.build.scoring.build for n in (first, again, judged)} == {1}
    assert (count(folder, "builds"), count(folder, "scorings")) == (2, 3)
    assert run(folder, label="b").recorded.build == 3


def test_builds_that_no_manifest_lists_are_one_system_and_others_are_not_compared(folder):
    answer(folder, "rival", 4)
    answer(folder, "tonight", 4)
    write_lines(folder / "runs.jsonl", [{"run": "rival", "group": "theirs"}])
    assert main(["score", "rival", "--record", "--collection", str(folder)]) == 0
    assert run(folder).old is None
    collection = read_collection(folder)
    assert collection.group("tonight") == collection.group("any other")
    assert collection.group("rival") == "theirs"


def test_with_no_manifest_a_verdict_without_a_run_is_of_the_one_system(folder):
    assert read_collection(folder).group("") == read_collection(folder).group("tonight")
    write_lines(folder / "runs.jsonl", [{"run": "rival", "group": "theirs"}])
    assert read_collection(folder).group("") not in (read_collection(folder).group("tonight"), "theirs")


def test_new_questions_are_not_taken_for_a_gain(folder):
    answer(folder, "tonight", 4)
    run(folder)
    with (folder / "nuggets.jsonl").open("a") as file:
        file.write(json.dumps({"qid": "new", "nugget": "1", "text": "a fact", "importance": "vital"}) + "\n")
    answer(folder, "tonight", 3)
    night = run(folder)
    assert (night.decision, night.new_questions, night.gates) == ("UNDECIDED", ("new",), ())


def test_against_names_a_run_a_file_a_recorded_build_or_a_label(folder, tmp_path):
    judge(folder)
    answer(folder, "accepted", 4)
    answer(folder, "tonight", 2)
    assert run(folder, against="accepted").decision == "FAIL"
    assert run(folder, against=str(folder / "runs" / "accepted.jsonl")).decision == "FAIL"
    run(folder, "accepted", label="v1")
    (folder / "runs" / "accepted.jsonl").unlink()
    for name in ("accepted", "v1"):
        night = run(folder, against=name)
        assert (night.old.run.name, night.decision) == ("accepted", "FAIL")
    with pytest.raises(NuggeteerError, match="nobody: no such run or file"):
        run(folder, against="nobody")
    with pytest.raises(NuggeteerError, match="no earlier build of this name is recorded"):
        run(folder, against="tonight")
    run(folder, label="v2")
    assert run(folder, against="tonight", label="v3").old.label == "v2", "the same answers, another night"
    assert run(folder, against="tonight", label="v3").old.label == "v2"


def test_systems_that_are_listed_without_a_group_are_not_compared_with_each_other(folder):
    for name in ("ours", "theirs"):
        answer(folder, name, 3)
    write_lines(folder / "runs.jsonl", [{"run": "ours"}, {"run": "theirs"}])
    assert [run(folder, name).old for name in ("ours", "theirs")] == [None, None]
    answer(folder, "theirs", 2)
    assert run(folder, "theirs").old.run.name == "theirs"
    assert [trend.group for trend in trends(History.of(folder))] == ["ours", "theirs"]
    write_lines(folder / "runs.jsonl", [{"run": name, "group": "one"} for name in ("ours", "theirs")])
    assert [trend.group for trend in trends(History.of(folder))] == ["one"], "as the manifest says now"


def test_the_command_that_is_advised_works_when_both_nights_have_one_name(folder, capsys):
    answer(folder, "tonight", 4)
    run(folder)
    answer(folder, "tonight", 3)
    run(folder)
    command = ["judge", "tonight", "--against", "tonight", "--collection", str(folder), "--list", "3", "--json", "-"]
    assert main(command) == 0
    suggestions = json.loads(capsys.readouterr().out)["suggestions"]
    assert len(suggestions) >= 3  # whole answers


@pytest.mark.parametrize(
    ("toml", "decision", "code"),
    [("max_lost_vital = 6", "FAIL", 1), ("max_lost_vital = 18", "PASS", 0), ("fail_if_worse = 0", "FAIL", 1)],
)
def test_the_settings_decide(folder, toml, decision, code):
    judge(folder)
    answer(folder, "tonight", 4)
    run(folder)
    answer(folder, "tonight", 1)
    (folder / "nuggeteer.toml").write_text(f"[nightly]\nfail_if_worse = 1\n{toml}\n".replace("= 1\nfail_if_worse ", ""))
    assert run(folder).decision == decision
    assert main(["nightly", "tonight", "--collection", str(folder)]) == code


@pytest.mark.parametrize("code", [0, 1])
def test_the_settings_say_what_undecided_exits_with(folder, code):
    answer(folder, "tonight", 4)
    (folder / "nuggeteer.toml").write_text(f"[nightly]\nundecided = {code}\n")
    assert main(["nightly", "tonight", "--collection", str(folder)]) == code


def test_a_measure_that_does_not_apply_is_refused(folder):
    answer(folder, "tonight", 4)
    (folder / "nuggeteer.toml").write_text('[nightly]\nmeasure = "pyramid_f3"\n')
    with pytest.raises(NuggeteerError, match="pyramid_f3: these nuggets have no votes"):
        run(folder)
    assert not (folder / "history.sqlite3").exists()


LIMIT = -0.05
AHEAD = {"seconds": np.array([0.0, 600.0, 1800.0]), "verdicts": np.array([0, 20, 50])}
WIDTHS = np.array([0.2, 0.1, 0.0])


def share_decided(value, step, sampling, grown):
    """How often the interval would exclude the limit after some reading, counted on worlds of what may be found."""
    rng = np.random.default_rng(0)
    judging = WIDTHS / (2 * REACH)
    middle = value + rng.standard_normal(100_000) * np.sqrt(judging[0] ** 2 - judging[step] ** 2)
    reach = SURE_REACH * np.sqrt(judging[step] ** 2 + sampling**2 + grown[step])
    return float(((middle - reach > LIMIT) | (middle + reach < LIMIT)).mean())


@pytest.mark.parametrize("grown", [np.zeros(3), np.array([0.0, 0.0001, 0.0003])])
@pytest.mark.parametrize("sampling", [None, 0.0, 0.012, 0.03])
@pytest.mark.parametrize("value", [0.0, -0.01, -0.048, -0.09, 0.05, 0.12])
def test_reading_is_needed_until_the_limit_is_likely_to_lie_outside(value, sampling, grown):
    """As often as somebody counts who draws what the reading may find; `sampling` is the standard deviation of the
    choice of questions, and matters only where the gate is about all of them."""
    about = "these" if sampling is None else "all"
    beside, extra = (0.0, np.zeros(3)) if sampling is None else (sampling, grown)
    ends = (value - REACH * beside, value + REACH * beside)
    interval = Interval(value, value, value - 0.2, value + 0.2, (value - 0.1, value + 0.1), ends)
    needed = needed_for(Forecast(value, widths=WIDTHS, sampling=grown, **AHEAD), interval, LIMIT, about, 20)
    shares = [share_decided(value, step, beside, extra) for step in range(3)]
    assert all(abs(share - LIKELY) > 0.005 for share in shares)
    step = next((i for i in range(3) if shares[i] >= LIKELY), None)
    if step is not None:
        assert needed == Needed(AHEAD["seconds"][step] / 60, AHEAD["verdicts"][step])
        return
    assert (needed.minutes, needed.verdicts) == (None, None)
    # The mean of n questions varies by 1/√n.
    variance = beside**2 + extra[-1]
    enough = (
        n for n in range(1, 20 * MOST_QUESTIONS + 1) if SURE_REACH * (variance * 20 / n) ** 0.5 <= abs(value - LIMIT)
    )
    wanted = None if about == "these" else next(enough, None)
    assert needed.questions == (None if wanted is None or wanted <= 20 else wanted)  # so many there are already


def test_where_nothing_is_known_of_other_questions_reading_says_nothing_of_them():
    ahead = Forecast(0.0, widths=WIDTHS, sampling=np.zeros(3), **AHEAD)
    assert needed_for(ahead, Interval(0.0), LIMIT, "all", 4) == Needed(None, None)
    at_the_limit = Interval(LIMIT, judging=(-0.1, 0.0), sampling=(-0.2, 0.1), low=-0.3, high=0.2)
    assert needed_for(ahead, at_the_limit, LIMIT, "all", 4).questions is None


@pytest.mark.slow
@pytest.mark.parametrize(("most", "verdicts"), [(0, 4), (1, 2), (2, 1), (3, 0)])
def test_possible_losses_are_excluded_by_the_fewest_verdicts(sample, most, verdicts):
    """One loss is doubtful in the old answer alone, one in the new one alone, and one in both. Of three, `most` may
    stay; the cheapest are excluded first."""
    found = diff(sample, "build-101", "build-102")
    vital = np.flatnonzero(found.key.vital)[:4]
    loss = np.zeros(len(found.loss))
    loss[vital] = [0.5, 0.5, 0.5, 0.04]
    known = [np.ones(len(loss), dtype=bool) for _ in range(2)]
    known[0][vital[[0, 2]]], known[1][vital[[1, 2, 3]]] = False, False
    sides = [replace(side, known=own) for side, own in zip((found.old, found.new), known, strict=True)]
    made = replace(found, loss=loss, gain=np.zeros(len(loss)), old=sides[0], new=sides[1])
    assert verdicts_on_losses(made, most, 0.95) == verdicts


@pytest.mark.parametrize("measure", ["pourpre_f3", "rouge1"])
def test_a_measure_of_texts_is_refused_before_anything_is_recorded(folder, measure, capsys):
    """In every command of the night; `score` and `compare` know these measures."""
    answer(folder, "tonight", 3)
    run(folder)
    (folder / "nuggeteer.toml").write_text(f'[nightly]\nmeasure = "{measure}"\n')
    answer(folder, "tonight", 2)
    for command in (["nightly", "tonight"], ["report"], ["report", "--site", str(folder / "public")]):
        assert main([*command, "--collection", str(folder)]) == 2
        assert f"[nightly] measure {measure}: it compares texts, and gates need verdicts" in capsys.readouterr().err
    assert (count(folder, "builds"), count(folder, "scorings")) == (1, 1)
    assert not (folder / "public").exists()


def test_diff_compares_a_build_with_one_recorded_under_its_own_name_or_a_label(folder, capsys):
    """A server that writes the same file every night has no other name for last night's answers."""
    answer(folder, "tonight", 4)
    assert main(["nightly", "tonight", "--label", "mon", "--collection", str(folder)]) == 0
    answer(folder, "tonight", 1)
    assert main(["nightly", "tonight", "--label", "tue", "--collection", str(folder)]) == 0
    answer(folder, "tonight", 2)
    for old, title in (("tonight", "tonight (tue)"), ("mon", "tonight (mon)")):
        capsys.readouterr()
        assert main(["diff", old, "tonight", "--collection", str(folder), "--json", str(folder / "d.json")]) == 0
        assert capsys.readouterr().out.startswith(f"{title} → tonight\n")
    written = json.loads((folder / "d.json").read_text())
    assert (written["titles"], written["delta"]["f3"]["value"] < 0) == (["tonight (mon)", "tonight"], True)
    assert main(["diff", "wed", "tonight", "--collection", str(folder)]) == 2
    assert "no such run or file" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["judge", "tonight", "--list", "3"], ["plan", "tonight", "--width", "0.1"]])
def test_other_doors_take_a_recorded_build_too(folder, capsys, command):
    answer(folder, "tonight", 4)
    assert main(["nightly", "tonight", "--label", "mon", "--collection", str(folder)]) == 0
    answer(folder, "tonight", 1)
    for old in ("mon", "tonight"):
        assert main([*command, "--against", old, "--collection", str(folder)]) == 0
    assert main([*command, "--against", "wed", "--collection", str(folder)]) == 2
    assert "no such run or file" in capsys.readouterr().err


def test_a_gate_is_not_passed_for_want_of_an_earlier_build(folder, capsys):
    answer(folder, "tonight", 4)
    assert main(["diff", "tonight", "tonight", "--fail-if-worse", "0.05", "--collection", str(folder)]) == 2
    assert "no earlier build of this name is recorded; name another run" in capsys.readouterr().err


def test_a_label_may_be_a_name(folder, capsys):
    """The earlier build of the same name is meant, whatever other build has the name as its label."""
    for facts, name, label in ((4, "tonight", "v1"), (1, "other", "tonight"), (2, "tonight", "v2")):
        answer(folder, name, facts)
        assert main(["nightly", name, "--label", label, "--collection", str(folder)]) in (0, 1)
    capsys.readouterr()
    assert main(["diff", "tonight", "tonight", "--collection", str(folder)]) == 0
    assert not capsys.readouterr().out.startswith("tonight (v2)")


def test_a_run_that_is_compared_with_itself_says_so(folder, capsys):
    answer(folder, "tonight", 4)
    assert main(["diff", "tonight", "tonight", "--collection", str(folder)]) == 0
    assert "tonight: no earlier build of it is recorded; it is compared with itself" in capsys.readouterr().err
