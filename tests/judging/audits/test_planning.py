"""Plans: the sampling part by hand, and the audit as narrow as planned."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from math import ceil

import numpy as np
import pytest

from nuggeteer.cli.main import main
from nuggeteer.judging.audits import planning
from nuggeteer.judging.audits.design import AuditCosts, Designs
from nuggeteer.judging.audits.estimate import NuggetState, bound_measure
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
    assert (made.minutes, made.audit_minutes) == (0, 0)
    assert plan(scorer, matched, scorer.measures[0], 0.3).questions_needed is None


@pytest.mark.slow
def test_an_audit_as_large_as_planned_is_as_narrow_as_planned(sample):
    """Verdicts as the model draws them, in another order than any rehearsal's. By single nuggets or by whole answers,
    whichever takes fewer minutes."""
    scorer = Scorer(sample)
    matched, measure = scorer.read("build-103"), parse("recall")
    made = plan(scorer, matched, measure, 0.3)
    assert made.part == pytest.approx((0.3**2 - made.sampling**2) ** 0.5)
    assert 0 < made.guided < made.open_nuggets
    assert 0 < made.audited < made.open_nuggets
    outcome, state = scorer.score(matched).outcome, NuggetState.of(matched, scorer.key)
    rng, widths = np.random.default_rng(0), {}
    costs = AuditCosts(scorer.key, matched.run)
    designs = Designs(
        state, outcome.probability, outcome.drawn, measure.composition(scorer.key), measure, costs, scorer.seed
    )
    for by in ("nugget", "answer"):
        own = widths.setdefault(by, [])
        for row in range(100, 2000, 200):
            drawn = designs.draw(by, rng)
            units = costs.units(drawn, made.audited)
            open_ = state.open_.copy()
            open_[drawn.nugget[: drawn.begin[units]]] = False
            then = replace(state, open_=open_, found=outcome.drawn[row] & ~open_)
            found = bound_measure(replace(drawn, planned=units), then, units, measure, scorer.key)
            own.append(found.high - found.low)
    assert min(np.mean(own) for own in widths.values()) == pytest.approx(made.part, rel=0.15)


@pytest.mark.slow
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
    assert f"About {made['questions_needed']} questions would." in " ".join(out.split())
    assert re.search(rf"--minutes {ceil(made['minutes'])} +{ceil(made['minutes'])} +{made['guided']} ", out)
    assert re.search(rf"--audit {made['audited']} +{ceil(made['audit_minutes'])} ", out)
    assert all(len(line) <= 80 for line in out.splitlines())
    assert main(["judge", "aurora", "--plan", "0.5"]) == 0
    assert "Nothing is left to judge." in capsys.readouterr().out
