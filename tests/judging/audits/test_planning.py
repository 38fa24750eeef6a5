"""Plans: the sampling part by hand, and the audit as narrow as planned."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from nuggeteer.cli.main import main
from nuggeteer.formats.audits import Head
from nuggeteer.judging.audits import planning
from nuggeteer.judging.audits.estimate import DrawnAudit, NuggetState, bound_measure, order_at_random
from nuggeteer.judging.audits.planning import plan
from nuggeteer.measures import parse
from nuggeteer.scoring.scorer import Scorer


def test_the_sampling_part_of_a_plan_is_that_of_the_known_scores_and_shrinks_with_questions(sample):
    """Of a run that was judged whole: 1.96 standard errors on either side, by hand."""
    scorer = Scorer(sample)
    matched = scorer.read("aurora")
    values = scorer.score(matched).by_question["f3"]
    own = values[~np.isnan(values)]
    made = plan(scorer, matched, scorer.measures[0], 0.06)
    assert made.sampling == pytest.approx(2 * 1.96 * own.std(ddof=1) / len(own) ** 0.5, rel=1e-4)
    assert made.questions == len(own)
    needed = made.questions_needed
    assert made.sampling * (made.questions / needed) ** 0.5 <= 0.06
    assert made.sampling * (made.questions / (needed - 1)) ** 0.5 > 0.06
    assert (made.guided, made.audited, made.open_nuggets) == (0, 0, 0)
    assert plan(scorer, matched, scorer.measures[0], 0.3).questions_needed is None


def test_an_audit_as_large_as_planned_is_as_narrow_as_planned(sample):
    """Verdicts as the model draws them, in another order than any rehearsal's."""
    scorer = Scorer(sample)
    matched, measure = scorer.read("build-103"), parse("recall")
    made = plan(scorer, matched, measure, 0.3)
    assert made.part == pytest.approx((0.3**2 - made.sampling**2) ** 0.5)
    assert 0 < made.guided < made.audited < made.open_nuggets
    outcome, state = scorer.score(matched).outcome, NuggetState.of(matched, scorer.key)
    rng, widths = np.random.default_rng(0), []
    for row in range(100, 2000, 200):
        nugget, size = order_at_random(state, outcome.probability, measure.composition(scorer.key), rng)
        head = Head("a", "run", "", "", "recall", made.audited, 0, "", "", {})
        open_ = state.open_.copy()
        open_[nugget[: made.audited]] = False
        then = replace(state, open_=open_, found=outcome.drawn[row] & ~open_)
        drawn = DrawnAudit(head, nugget, outcome.probability[nugget], size)
        found = bound_measure(drawn, then, made.audited, measure, scorer.key)
        widths.append(found.high - found.low)
    assert np.mean(widths) == pytest.approx(made.part, rel=0.15)


@pytest.mark.parametrize("width", [0.1, 0.3, 0.5])
def test_a_plan_that_rehearses_few_nuggets_first_is_the_same(sample, monkeypatch, width):
    scorer = Scorer(sample)
    matched, measure = scorer.read("build-103"), parse("recall")
    made = plan(scorer, matched, measure, width)
    monkeypatch.setattr(planning, "FIRST", 4)
    assert plan(scorer, matched, measure, width) == made
    monkeypatch.setattr(planning, "FIRST", 10_000)
    assert plan(scorer, matched, measure, width) == made


@pytest.mark.slow
def test_a_plan_in_words(sample, tmp_path, capsys, monkeypatch):
    folder = shutil.copytree(sample.root, tmp_path / "sample")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["judge", "build-103", "--plan", "0.1", "--json", "plan.json"]) == 0
    out = capsys.readouterr().out
    made = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    assert made["questions_needed"] > made["questions"]
    assert f"0.100 takes about {made['questions_needed']} questions like these" in " ".join(out.split())
    assert f"{made['audited']} nuggets" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert main(["judge", "aurora", "--plan", "0.5"]) == 0
    assert "Nothing is left to judge." in capsys.readouterr().out
