"""The fitted model in a collection: what it learns from, when it is remembered, and that judging tightens."""

from __future__ import annotations

import io
import json
import random
import shutil

import numpy as np
import pytest

from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.simulation import Shape, simulate
from nuggeteer.formats.cache import DamagedFile, read_cache, write_cache
from nuggeteer.matching.ngram import NgramMatcher
from nuggeteer.scoring import fitting
from nuggeteer.scoring.fitting import unpack_fit
from nuggeteer.scoring.scorer import score
from tests.conftest import ROOT


@pytest.fixture
def folder(sample, tmp_path):
    """A copy of the sample, so that a fit can be remembered beside it."""
    shutil.copytree(sample.root, tmp_path / "sample", ignore=shutil.ignore_patterns(".nuggeteer"))
    return tmp_path / "sample"


def stored(folder):
    return folder / ".nuggeteer" / "thresholds"


def test_a_second_score_does_not_fit_again(folder, monkeypatch):
    first = score(read_collection(folder), ["build-103"])
    assert stored(folder).is_file()
    monkeypatch.setattr(fitting, "fit_smooth", lambda *a: pytest.fail("fitted again"))
    second = score(read_collection(folder), ["build-103"])
    assert second["build-103"].measures == first["build-103"].measures
    assert second.signature == first.signature
    assert second.notes == ()


@pytest.mark.slow
def test_a_new_judgement_fits_anew_and_says_so(folder):
    before = score(read_collection(folder), ["build-103"]).signature
    text = json.loads((folder / "runs" / "build-103.jsonl").read_text().splitlines()[0])["text"]
    line = {"qid": "def-01", "nugget": "2", "text": text, "verdict": False}
    (folder / "judgements" / "me.jsonl").write_text(json.dumps(line) + "\n")
    after = score(read_collection(folder), ["build-103"])
    assert after.signature != before
    assert "fitted again" in after.notes[0]
    assert score(read_collection(folder), ["build-103"]).notes == ()


@pytest.mark.slow
def test_another_grouping_of_the_judged_systems_fits_anew(folder):
    before = score(read_collection(folder), ["build-103"]).signature
    manifest = folder / "runs.jsonl"
    manifest.write_text(manifest.read_text().replace('"group": "cobalt"', '"group": "dune"'))
    after = score(read_collection(folder), ["build-103"])
    assert after.signature != before
    assert "fitted again" in after.notes[0]


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "pickle", "other arrays", "folder"])
def test_a_damaged_file_is_fitted_anew_with_a_word_and_never_executed(folder, damage):
    expected = score(read_collection(folder), ["build-103"])
    path = stored(folder)
    if damage == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif damage == "garbage":
        path.write_bytes(b"PK\x03\x04" + bytes(range(256)) * 20)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "pickle":
        with path.open("wb") as file:
            np.savez(file, basis=np.array([print], dtype=object))
    elif damage == "other arrays":
        with np.load(io.BytesIO(read_cache(folder, fitting.NAME, 10**9))) as good:
            made = io.BytesIO()
            np.savez(made, **{**good, "nugget_weights": np.zeros((2, 2))})
        write_cache(folder, fitting.NAME, made.getvalue())
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    if path.is_file():
        with pytest.raises(DamagedFile):
            unpack_fit(read_cache(folder, fitting.NAME, 10**9))
    again = score(read_collection(folder), ["build-103"])
    assert again["build-103"].measures == expected["build-103"].measures
    assert any("again" in note or "cannot be written" in note for note in again.notes)


def test_a_collection_that_cannot_be_written_is_scored_all_the_same(folder):
    (folder / ".nuggeteer").write_text("a file where the folder should be")
    result = score(read_collection(folder), ["build-103"])
    assert "cannot be written" in result.notes[0]
    assert result["build-103"].measures["f3"].value is not None


def test_what_it_learns_from_is_every_decided_pair_once(sample):
    """Counted by hand: each judged text and each nugget of its question, but those left unknown by rule 3."""
    from nuggeteer.scoring.known import UNKNOWN, VerdictIndex
    from nuggeteer.text import normalised

    known = VerdictIndex(sample.key, sample.judgements, sample.judged_runs)
    texts = {
        (q, normalised(t)) for run in sample.judged_runs for q, t in zip(run.question.tolist(), run.texts, strict=True)
    } | {(sample.key.position[j.qid], normalised(j.text)) for j in sample.judgements}
    pairs = sum(int(sample.key.counts[q]) for q, _ in texts)
    assert len(known.texts) == len(texts)
    matcher = NgramMatcher(sample.key, sample.settings.match, None)
    evidence = fitting.gather_evidence(sample, matcher, known)
    assert len(evidence) == pairs - int((known.states == UNKNOWN).sum())
    assert set(evidence.groups) == {"aurora", "basalt", "cobalt", "dune", "build"}


def test_without_judgements_the_report_says_that_nobody_checked(collect):
    collection = collect(
        [{"qid": "q", "nugget": str(i), "text": t} for i, t in enumerate(["a red fox", "two blue birds"])],
        {"r": [("q", "a red fox came"), ("q", "nothing else")]},
    )
    result = score(collection, ["r"])
    (note,) = result.notes
    assert note.startswith("No verdicts yet")
    assert "nuggeteer judge" in note
    assert len(note) <= 80
    assert "\n" not in note
    probability = result["r"].outcome.probability
    assert 0.5 < probability[0] < 1
    assert 0 < probability[1] < 0.5
    low, high = result["r"].measures["recall"].judging
    assert high - low >= 0.5


@pytest.mark.slow
def test_each_batch_of_judgements_narrows_the_judging_part_down_to_nothing(folder):
    """The truth of build-103 is told in six batches of questions; the judging part of every measure ends at
    exactly 0, and with each batch it is narrower than two batches before."""
    run = read_collection(folder).run("build-103")
    key = read_collection(folder).key
    truth = (ROOT / "judgements" / "truth" / "builds.jsonl").read_text(encoding="utf-8").splitlines()
    yes = {(t["qid"], t["nugget"], t["text"]) for t in map(json.loads, truth)}
    verdicts = [
        {"qid": n.qid, "nugget": n.nugget, "text": text, "verdict": (n.qid, n.nugget, text) in yes, "run": run.name}
        for q, text in zip(run.question.tolist(), run.texts, strict=True)
        for n in key.nuggets[key.offsets[q] : key.offsets[q + 1]]
    ]
    widths = {"f3": [], "recall": [], "precision": [], "pyramid_f3": []}
    batches = 6
    for batch in range(batches + 1):
        told = [v for v in verdicts if key.position[v["qid"]] * batches < batch * len(key.questions)]
        (folder / "judgements" / "me.jsonl").write_text("".join(json.dumps(v) + "\n" for v in told))
        measures = score(read_collection(folder), ["build-103"])["build-103"].measures
        for name, own in widths.items():
            low, high = measures[name].judging
            own.append(high - low)
    for own in widths.values():
        assert own[-1] == 0.0
        assert own[-2] > 0
        assert all(later < earlier for earlier, later in zip(own, own[2:], strict=False))


def test_runs_with_the_same_texts_differ_by_exactly_nothing(folder):
    """Whatever is guessed: equal responses of one system get equal draws."""
    (folder / "runs" / "twin.jsonl").write_bytes((folder / "runs" / "build-103.jsonl").read_bytes())
    with (folder / "runs.jsonl").open("a") as manifest:
        manifest.write(json.dumps({"run": "twin", "group": "build"}) + "\n")
    result = score(read_collection(folder), ["build-103", "twin"])
    one, two = result["build-103"], result["twin"]
    assert one.measures == two.measures
    assert (one.outcome.drawn == two.outcome.drawn).all()


@pytest.mark.parametrize("seed", range(3))
def test_no_bit_of_a_score_depends_on_what_was_remembered(tmp_path, seed):
    """Verdicts are given, changed, taken back and erased. After each, a folder that remembers all that went before
    scores as one that remembers nothing, and an old fit put back in its place changes nothing."""
    rng = random.Random(seed)
    folder, fresh = tmp_path / "c", tmp_path / "fresh"
    simulate(folder, Shape(questions=6 + 4 * seed, nuggets=4, systems=3, judged=2 - seed % 2, responses=5), seed=seed)
    run = read_collection(folder).run_names[-1]
    lines = [json.loads(line) for line in (folder / "runs" / f"{run}.jsonl").read_text().splitlines()]
    ledger, given, fits = folder / "judgements" / "me.jsonl", [], []
    for at, step in enumerate(["give", "give", "change", "give", "take back", "change", "give", "erase", "nothing"]):
        match step:
            case "give":
                for line in rng.sample(lines, 3):
                    of = {"qid": line["qid"], "nugget": rng.choice("1234"), "text": line["text"], "assessor": "me"}
                    given.append(of | {"verdict": rng.random() < 0.5, "at": f"2026-01-01T00:00:{len(given):02}Z"})
            case "change":
                which = rng.randrange(len(given))
                given[which] = given[which] | {"verdict": not given[which].get("verdict", False)}
            case "take back":
                last = {name: value for name, value in given[-1].items() if name != "verdict"}
                given.append(last | {"retracted": True, "at": "2026-01-02T00:00:00Z"})
            case "erase":
                del given[rng.randrange(len(given))]
        ledger.write_text("".join(json.dumps(verdict) + "\n" for verdict in given))
        if at == 6:
            stored(folder).write_bytes(fits[1])
        shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns(".nuggeteer"))
        remembering, forgetful = (score(read_collection(where), [run]) for where in (folder, fresh))
        assert remembering[run].measures == forgetful[run].measures
        outcomes = [result[run].outcome.probability.tobytes() for result in (remembering, forgetful)]
        assert outcomes[0] == outcomes[1]
        fits.append(stored(folder).read_bytes())
        shutil.rmtree(fresh)
    assert len(set(fits)) > 5
