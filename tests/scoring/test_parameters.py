"""What `thresholds --model` shows: the posterior of θ, α and β, and a picture; and PyMC's draws in the same seat."""

from __future__ import annotations

import json
import shutil
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from xml.etree import ElementTree

import numpy as np
import pytest

from nuggeteer.cli import output
from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import NuggeteerError
from nuggeteer.scoring import sampling
from nuggeteer.scoring.evidence import gather_evidence
from nuggeteer.scoring.parameters import parameters_of
from nuggeteer.scoring.scorer import Scorer, score
from nuggeteer.thresholds.noisy import fit_noise_model
from tests.conftest import write_lines


@pytest.mark.slow
def test_the_thresholds_shown_are_those_of_the_exact_posterior(sample):
    shown = parameters_of(sample, "nugget")
    scorer = Scorer(sample)
    evidence = gather_evidence(sample, scorer.matcher, scorer.known, by="response")
    fit = fit_noise_model("nugget", evidence).fit
    means = [unit.theta.mean for unit in shown.units]
    assert means == fit.threshold(np.arange(len(means))).tolist()
    assert (shown.alpha.mean, shown.beta.mean) == pytest.approx(fit.errors, rel=1e-5)
    draws = fit_noise_model("nugget", evidence).draw(2000, 1)
    for estimate, drawn in zip(
        (shown.alpha, shown.beta, shown.units[2].theta), (draws.alpha[0], draws.beta[0], draws.theta[2]), strict=True
    ):
        expected = np.quantile(drawn, [0.025, 0.975])
        assert (estimate.low, estimate.high) == pytest.approx(expected, abs=0.35 * float(drawn.std()))
    assert sum(unit.pairs for unit in shown.units) == shown.pairs == len(evidence)
    assert sum(unit.yes for unit in shown.units) == shown.positive


@pytest.mark.slow
def test_a_picture_has_every_judged_pair_of_its_nugget_once(sample, capsys):
    shown = parameters_of(sample, "nugget", nugget="def-01/3").picture
    assert (shown.unit.pairs, shown.unit.yes) == (len(shown.scores), sum(shown.yes))
    assert main(["thresholds", "--nugget", "def-01/3", "--collection", str(sample.root)]) == 0
    drawn = [line for line in capsys.readouterr().out.splitlines() if "0." in line and "–" in line]
    assert sum(line.count("●") for line in drawn) == shown.unit.yes
    assert sum(line.count("○") for line in drawn) == shown.unit.pairs - shown.unit.yes
    assert sum("█" in line for line in drawn) == 1


SVG = "{http://www.w3.org/2000/svg}"


def bars(root, colour):
    """The heights of the bars of a colour."""
    return [float(bar.get("height")) for bar in root.iter(f"{SVG}rect") if bar.get("class") == f"fill-{colour}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "nugget"), [("nugget", "def-01/3"), ("question", "rag-01/1"), ("global", "oth-02/1")]
)
def test_a_figure_has_every_pair_and_the_threshold_in_its_place(sample, tmp_path, model, nugget):
    """Bars are as high as their counts, by the axis's own scale; the line and the band are θ and its interval."""
    file = tmp_path / "threshold.svg"
    where = ["--collection", str(sample.root), "--model", model, "--nugget", nugget]
    assert main(["thresholds", *where, "--figure", str(file)]) == 0
    root = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    picture = parameters_of(sample, model, nugget=nugget).picture
    scores, yes = np.array(picture.scores), np.array(picture.yes)
    for colour, own in (("0", scores[yes]), ("1", scores[~yes])):
        counts = Counter(np.minimum((own * 40).astype(int), 39).tolist())
        heights = np.array(sorted(bars(root, colour)))
        assert len(heights) == len(counts)
        if len(heights):
            unit = heights[-1] / max(counts.values())
            assert np.allclose(heights / unit, sorted(counts.values()), atol=0.02)
            assert (heights / unit).sum() == pytest.approx(len(own), abs=0.2)
    xs = [float(point.split(",")[0]) for line in root.iter(f"{SVG}polyline") if line.get("class") == "stroke-muted"
          for point in line.get("points").split()]  # fmt: skip
    left, right = min(xs), max(xs)
    (line,) = (line for line in root.iter(f"{SVG}polyline") if line.get("class") == "stroke-ink")
    theta = picture.unit.theta
    assert float(line.get("points").split(",")[0]) == pytest.approx(left + theta.mean * (right - left), abs=0.01)
    (band,) = (rect for rect in root.iter(f"{SVG}rect") if rect.get("class") == "fill-line")
    assert float(band.get("x")) == pytest.approx(left + theta.low * (right - left), abs=0.01)
    assert float(band.get("width")) == pytest.approx((theta.high - theta.low) * (right - left), abs=0.01)
    assert f"θ {theta.mean:.3f}" in "".join(root.itertext())
    labels = [text.text for text in root.iter(f"{SVG}text")]
    assert "0" in labels
    assert "yes" in labels


def test_a_figure_of_no_nugget_is_refused_and_nothing_is_written(sample, tmp_path, capsys):
    file = tmp_path / "threshold.svg"
    assert main(["thresholds", "--figure", str(file), "--collection", str(sample.root)]) == 2
    assert "--nugget QID/ID" in capsys.readouterr().err
    assert main(["thresholds", "--figure", str(file), "--nugget", "x/y", "--collection", str(sample.root)]) == 2
    assert not file.exists()


def test_what_has_no_thresholds_is_refused(sample, tmp_path):
    with pytest.raises(NuggeteerError, match="coin"):
        parameters_of(sample, "coin")
    with pytest.raises(NuggeteerError, match="as in def-01/3"):
        parameters_of(sample, "nugget", nugget="7")
    write_lines(tmp_path / "nuggets.jsonl", [{"qid": "q", "nugget": "1", "text": "a fact", "importance": "okay"}])
    with pytest.raises(NuggeteerError, match="nobody has judged"):
        parameters_of(read_collection(tmp_path), "nugget")


@pytest.mark.slow
def test_without_the_extra_the_error_says_what_to_install(sample, tmp_path, monkeypatch):
    folder = shutil.copytree(sample.root, tmp_path / "here", ignore=shutil.ignore_patterns(".nuggeteer"))
    (folder / "nuggeteer.toml").write_text('[threshold]\nmodel = "nugget"\nengine = "pymc"\n')
    monkeypatch.setitem(sys.modules, "pymc", None)
    monkeypatch.delitem(sys.modules, "nuggeteer.thresholds.pymc_models", raising=False)
    monkeypatch.delattr("nuggeteer.thresholds.pymc_models", raising=False)
    with pytest.raises(NuggeteerError, match=r"nuggeteer\[pymc\]"):
        score(read_collection(folder), ["build-101"])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:\\s*ArviZ is undergoing a major refactor:FutureWarning")
def test_pymc_agrees_with_the_exact_engine_and_its_draws_score(sample, tmp_path, monkeypatch, capsys):
    pytest.importorskip("pymc")
    folder = shutil.copytree(sample.root, tmp_path / "here", ignore=shutil.ignore_patterns(".nuggeteer"))
    monkeypatch.setattr(sampling, "DRAWS", 300)
    told = []

    @contextmanager
    def tell(what):
        yield lambda done, total: told.append((done, total))

    token = sampling.progress.set(tell)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        shown = parameters_of(read_collection(folder), "global", "pymc")
    assert capsys.readouterr().err == "", "PyMC's own words are not heard"
    sampling.progress.reset(token)
    assert told[-1][0] == told[-1][1] == len(told)
    assert shown.sampled.r_hat < 1.02
    assert max(shown.agreement.alpha, shown.agreement.beta, shown.agreement.theta) < 0.2
    (folder / "nuggeteer.toml").write_text('[threshold]\nmodel = "global"\nengine = "pymc"\n')
    monkeypatch.setattr("nuggeteer.thresholds.pymc_models.sample", None)  # from now on the draws are remembered
    sampled = score(read_collection(folder), ["build-101"])
    (folder / "nuggeteer.toml").write_text('[threshold]\nmodel = "global"\n')
    exact = score(read_collection(folder), ["build-101"])
    one, other = (result["build-101"].measures["f3"] for result in (sampled, exact))
    assert one.value == pytest.approx(other.value, abs=0.01)
    assert one.judging == pytest.approx(other.judging, abs=0.03)
    assert "threshold:pymc-global(" in sampled.signature
    (folder / "nuggeteer.toml").write_text('[threshold]\nmodel = "global"\nengine = "pymc"\n')
    assert main(["score", "build-101", "--json", "-", "--collection", str(folder)]) == 0
    assert sampling.progress.get() is output.progress, "so that a bar is shown in every command that has to draw"
    assert json.loads(capsys.readouterr().out)["signature"] == sampled.signature
    assert main(["thresholds", "--model", "global", "--json", "-", "--collection", str(folder)]) == 0
    assert json.loads(capsys.readouterr().out)["engine"] == "exact"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:\\s*ArviZ is undergoing a major refactor:FutureWarning")
@pytest.mark.parametrize("model", ["smooth", "coin"])
def test_pymc_holds_a_model_without_thresholds_against_ours(model, collect, monkeypatch, capsys, tmp_path):
    """The command of a user, on few verdicts."""
    pytest.importorskip("pymc")
    monkeypatch.setattr(sampling, "DRAWS", 300)
    nuggets = [{"qid": "q", "nugget": str(n), "text": text} for n, text in enumerate(("a red fox", "two blue birds"))]
    texts = ("a red fox came", "two birds", "blue birds and a fox", "nothing of it")
    judged = [
        {"qid": "q", "nugget": str(n), "text": t, "verdict": (n == 1) == ("bird" in t)} for t in texts for n in (0, 1)
    ]
    made = collect(nuggets, {"r": [("q", text) for text in texts]}, judged)
    words = ["thresholds", "--model", model, "--engine", "pymc", "--collection", str(made.root)]
    assert main([*words, "--json", str(tmp_path / "x.json")]) == 0
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["agreement"]["chance"] < 0.5
    assert found["agreement"]["theta"] is None
    assert found["units"] == []
    assert "differ by at most" in capsys.readouterr().out
    assert main([*words, "--nugget", "q/0"]) == 2
    assert "without --nugget also coin and smooth" in capsys.readouterr().err
