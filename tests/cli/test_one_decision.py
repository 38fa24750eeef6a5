"""One night has one decision, in one wording, at every door: `nightly` and what it writes, `diff`, the history, the
site, the assertions for users' tests and the server for agents."""

from __future__ import annotations

import html
import json
import random
import re
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.plugins.agent import Reading
from nuggeteer.testing import assert_no_vital_lost, assert_not_worse
from tests.conftest import write_lines

NIGHTS = ("same", "lost", "gained", "reworded", "refusals", "denied", "half", "other")
KNOWN = ("nobody", "everything", "last night", "some")
GATES = ('fail_if_worse = 0\nmax_lost_vital = "any"', "fail_if_worse = 0.05", 'fail_if_worse = 0.4\nabout = "all"')


def made_up(rng: random.Random) -> str:
    """A word."""
    return "".join(rng.choices("aeioklmnrst", k=6))


class Made:
    """A collection of two nights: of each answer it is known what is true, and some of it was judged."""

    def __init__(self, root: Path, rng: random.Random) -> None:
        self.rng, self.questions, self.verdicts = rng, rng.randint(5, 8), list[dict[str, object]]()
        self.facts = {
            (
                f"q{q}",
                str(n),
            ): f"the {' '.join(''.join(rng.choices('aeioklmnrst', k=6)) for _ in range(4))} was number {q}{n}"
            for q in range(self.questions)
            for n in range(rng.randint(2, 3))
        }
        self.kind, self.known, gates = rng.choice(NIGHTS), rng.choice(KNOWN), rng.choice(GATES)
        old = {
            f"q{q}": {n for qid, n in self.facts if qid == f"q{q}" and rng.random() < 0.7}
            for q in range(self.questions)
        }
        new = {qid: self._changed(qid, had) for qid, had in old.items()}
        nuggets = [{"qid": q, "nugget": n, "text": t, "importance": "vital"} for (q, n), t in self.facts.items()]
        write_lines(root / "nuggets.jsonl", nuggets)
        for name, had in (("monday", old), ("tuesday", new)):
            texts = {qid: self._answer(name, qid, had[qid]) for qid in had}
            write_lines(root / "runs" / f"{name}.jsonl", [{"qid": q, "text": t} for q, t in texts.items()])
            for (qid, nugget), share in zip(self.facts, self._judged(name), strict=True):
                verdict = {"qid": qid, "nugget": nugget, "text": texts[qid], "verdict": nugget in had[qid], "run": name}
                self.verdicts += [verdict] * share
        write_lines(root / "judgements" / "ann.jsonl", self.verdicts)
        (root / "nuggeteer.toml").write_text(f"[nightly]\n{gates}\n")

    def _changed(self, qid: str, had: set[str]) -> set[str]:
        every = {nugget for own, nugget in self.facts if own == qid}
        match self.kind:
            case "lost":
                return set()
            case "half":
                return {nugget for nugget in had if self.rng.random() < 0.5}
            case "gained":
                return every
            case "refusals" | "denied":
                return set()
            case "other":
                return {nugget for nugget in every if self.rng.random() < 0.7}
            case _:
                return had

    def _answer(self, name: str, qid: str, had: set[str]) -> str:
        said = [self.facts[qid, nugget] for nugget in sorted(had)] or ["a small thing happened somewhere, people say"]
        if name == "monday" or self.kind == "same":
            return ". ".join(said) + "."
        if self.kind == "refusals":
            return "I am sorry, but I cannot answer that."
        if self.kind == "denied":
            return " ".join(f"It is not true that {one}." for one in said)
        return ", and also ".join(said) + f", they said about {qid}."

    def _judged(self, name: str) -> list[bool]:
        share = {"nobody": 0.0, "everything": 1.0, "last night": float(name == "monday"), "some": 0.4}[self.known]
        return [self.rng.random() < share for _ in self.facts]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(list(arguments))
    return code, capsys.readouterr().out


def failure_of(check: object, *arguments: object, **named: object) -> str:
    """What an assertion says; nothing if it holds."""
    try:
        check(*arguments, **named)
    except AssertionError as error:
        return str(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 40))])
def test_every_door_says_the_same_of_a_night(seed, tmp_path, monkeypatch, capsys):
    root = tmp_path / "qa"
    made = Made(root, random.Random(seed))
    monkeypatch.chdir(root)
    monkeypatch.setenv("COLUMNS", "80")
    run(capsys, "nightly", "monday")
    outputs = ["--markdown", "n.md", "--junit", "n.xml", "--page", "n.html", "--site", "site", "--json", "n.json"]
    code, printed = run(capsys, "nightly", "tuesday", *outputs)
    night = json.loads(Path("n.json").read_text())
    decision, reason = night["decision"], night["reason"]
    assert code == (decision == "FAIL"), (made.kind, made.known)
    title = f"{decision} (guessed)" if decision != "UNDECIDED" and night["basis"] == "guessed" else decision
    said = f"{title}: {reason}"
    assert " ".join(printed.split()).startswith(f"{title} {reason}")
    beyond = [f"{gate['beyond']}." for gate in night["gates"] if gate["beyond"]]
    # What nightly writes.
    assert title in Path("n.md").read_text()
    assert html.escape(reason) in Path("n.md").read_text()
    failed = [gate for gate in night["gates"] if gate["decision"] == "FAIL"]
    for page in (Path("n.html"), *Path("site").rglob("build-2.html")):
        text = html.unescape(page.read_text())
        assert f'class="decision {decision.lower()}"' in text
        assert f"<title>{title}: " in text
    index = html.unescape((Path("site") / "index.html").read_text())
    assert f"</span> {title}<" in index
    assert f"against monday: {reason}" in index
    assert f"<title>{title}: " in index
    # diff, with the same gates.
    settings = read_collection(root).settings.nightly
    gates = ["--fail-if-worse", str(settings.fail_if_worse)]
    if settings.max_lost_vital != "any":
        gates += ["--max-lost-vital", str(settings.max_lost_vital), "--sure", str(settings.sure)]
    outputs = ["--markdown", "d.md", "--junit", "d.xml", "--json", "d.json"]
    code, printed = run(capsys, "diff", "monday", "tuesday", *gates, *outputs)
    assert code == (decision == "FAIL")
    assert said in printed.splitlines()
    assert set(beyond) <= set(printed.splitlines())
    changed = json.loads(Path("d.json").read_text())
    assert (changed["decision"], changed["basis"]) == (decision, night["basis"])
    assert changed["gates"] == night["gates"]
    assert html.escape(said) in Path("d.md").read_text()
    for name in ("n.xml", "d.xml"):
        suite = xml.parse(name).getroot()
        of_gates = [case for case in suite.iter("testcase") if case.get("classname") == "nuggeteer.gate"]
        assert [case.get("name") for case in of_gates] == [gate["rule"] for gate in night["gates"]]
        assert [case.find("failure") is not None for case in of_gates] == [gate in failed for gate in night["gates"]]
        skipped = [case.find("skipped") is not None for case in of_gates]
        assert any(skipped) == (decision == "UNDECIDED") or decision == "FAIL"
        assert said in "".join(suite.itertext())
    # What was recorded.
    run(capsys, "history", "--json", "h.json")
    recorded = json.loads(Path("h.json").read_text())["trends"][0]["builds"][-1]
    ruling = recorded["ruling"]
    assert (ruling["decision"], ruling["basis"], ruling["reason"]) == (decision, night["basis"], reason)
    assert (ruling["against"], ruling["change"]) == ("monday", night["change"]["value"])
    assert recorded["delta"] == night["change"]["value"]
    _, printed = run(capsys, "history")
    shown = " ".join(printed.split())
    assert re.search(rf"{re.escape(title)} tuesday of [-0-9]+ [0-9:]+ against monday: {re.escape(reason)}", shown)
    # The page of the run alone, and the two runs compared.
    run(capsys, "report", "tuesday", "--output", "r.html", "--json", "r.json")
    assert f"<title>{title}: " in Path("r.html").read_text()
    told = json.loads(Path("r.json").read_text())
    assert (told["decision"], told["reason"]) == (decision, reason)
    run(capsys, "compare", "monday", "tuesday", "--measure", "f3", "--json", "c.json")
    (pair,) = json.loads(Path("c.json").read_text())["measures"]["f3"]["pairs"]
    if night["change"]["low"] is not None:
        assert abs(pair["difference"]) == pytest.approx(abs(night["change"]["value"]), abs=1e-9)
    # Users' own tests, and agents.
    told = failure_of(assert_not_worse, "tuesday", "monday", root, by=settings.fail_if_worse)
    worse, failed = night["gates"][0], "FAIL (guessed)" if night["basis"] == "guessed" else "FAIL"
    assert bool(told) == (worse["decision"] == "FAIL")
    assert not told or f"{failed}: {worse['why']}." in told
    if settings.max_lost_vital != "any":
        most, sure = int(settings.max_lost_vital), settings.sure
        told = failure_of(assert_no_vital_lost, "tuesday", "monday", root, most=most, sure=sure)
        lost = night["gates"][1]
        assert bool(told) == (lost["decision"] == "FAIL")
        assert not told or f"{failed}: {lost['why']}." in told
    answered = Reading(root).diff("monday", "tuesday")
    assert (answered["decision"], answered["reason"]) == (decision, reason)


def test_the_nights_are_of_all_kinds(tmp_path):
    """Otherwise the doors agree on little."""
    found = [Made(tmp_path / str(seed), random.Random(seed)) for seed in range(40)]
    assert {made.kind for made in found} == set(NIGHTS)
    assert {made.known for made in found} == set(KNOWN)
