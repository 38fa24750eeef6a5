"""A verdict that an answer says the opposite: a no for every score, and told apart in every report."""

from __future__ import annotations

import json

import numpy as np
import pytest
from msgspec import structs

from nuggeteer.cli.main import main
from nuggeteer.collection.folder import read_collection
from nuggeteer.collection.ledger import Ledger
from nuggeteer.collection.memory import make_collection
from nuggeteer.comparing.diff import diff
from nuggeteer.errors import NuggeteerError
from nuggeteer.judging.session import Session
from nuggeteer.judging.state import JudgingState, JudgingSubject
from nuggeteer.records import Judgement
from nuggeteer.reports import change_words, junit, markdown
from nuggeteer.scoring.scorer import score
from tests.conftest import shared

NUGGETS = [
    {"qid": "q1", "nugget": "1", "text": "the lamp is lit", "importance": "okay"},
    {"qid": "q1", "nugget": "2", "text": "the gap is closed", "importance": "vital"},
    {"qid": "q1", "nugget": "3", "text": "the battery is new", "importance": "vital"},
]
RUNS = {
    "old": ["The lamp is lit.", "The gap is closed.", "The battery is new."],
    "new": ["The lamp is out.", "Nothing else is known.", "The battery is new."],
}
OPPOSITE = "The lamp is out."


def verdicts():
    for number, right in enumerate(RUNS["old"], 1):
        for text in {*RUNS["old"], *RUNS["new"]}:
            line = {"qid": "q1", "nugget": str(number), "text": text, "verdict": text == right, "assessor": "ann"}
            yield line | ({"contradicts": True} if (number, text) == (1, OPPOSITE) else {})


def written(folder, lines):
    runs = {run: [{"qid": "q1", "text": text} for text in texts] for run, texts in RUNS.items()}
    make_collection(NUGGETS, runs, judgements=list(lines), folder=folder)
    return folder


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "qa", verdicts())


def test_it_counts_as_a_no(folder, tmp_path):
    """Scores, draws and signatures are those of the same verdicts without the word."""
    plain = written(tmp_path / "plain", ({k: v for k, v in line.items() if k != "contradicts"} for line in verdicts()))
    ours, theirs = score(folder), score(plain)
    for run in RUNS:
        assert ours[run].measures == theirs[run].measures
        np.testing.assert_array_equal(ours[run].outcome.found, theirs[run].outcome.found)
    assert ours.signature == theirs.signature
    assert dict(ours["new"].outcome.contradicted) == {0: 0}
    assert not ours["old"].outcome.contradicted
    assert not theirs["new"].outcome.contradicted


def test_what_is_lost_and_contradicted_stands_first(folder):
    """Before a vital nugget that is only lost, everywhere."""
    result = diff(folder, "old", "new")
    assert [(c.nugget.nugget, c.contradicted) for c in result.lost] == [("1", True), ("2", False)]
    assert result.lost[0].new.passage.text == OPPOSITE
    assert change_words.verdict(result.lost[0].new).plain == "opposite"
    assert next(change_words.nuggets_in_words(result)).endswith("2 lost (1 vital, 1 contradicted), 1 kept.")
    titles = [title for title, found in change_words.by_news(result) if found]
    assert titles == ["Lost and contradicted", "Lost"]
    said = markdown.changes(result)
    assert said.index("1 lost and contradicted") < said.index("1 vital nugget lost")
    xml = junit.changes(result, []).decode()
    assert xml.index('classname="nuggeteer.contradicted" name="q1/1"') < xml.index("nuggeteer.vital-lost")
    assert not [c for c in diff(folder, "new", "old").gained if c.contradicted]


def test_the_commands_say_so(folder, capsys):
    at = ["--collection", str(folder)]
    assert main(["score", "new", "--nuggets", *at]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "new says the opposite of 1 nugget, by verdicts: q1/1." in out
    assert "opposite known" in out
    assert main(["score", "new", "--json", "-", *at]) == 0
    nuggets = json.loads(capsys.readouterr().out)["runs"][0]["nuggets"]
    assert [n.get("contradicted") for n in nuggets] == [True, None, None]
    assert main(["diff", "old", "new", "--json", "-", *at]) == 0
    lost = json.loads(capsys.readouterr().out)["lost"]
    assert [n["new"].get("contradicted") for n in lost] == [True, None]
    assert main(["judge", "--log", *at]) == 0
    assert "contradicts" in capsys.readouterr().out
    page = folder / "page.html"
    assert main(["report", "new", "--against", "old", "--output", str(page), *at]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Lost and contradicted: 1" in text
    assert "no contradicted lost" in text
    assert main(["check", *at]) == 0


def test_a_yes_on_the_same_text_outweighs_it(tmp_path):
    """As it outweighs any no; and another response that has the nugget does, too."""
    yes = {"qid": "q1", "nugget": "1", "text": "the lamp  is out", "verdict": True, "assessor": "bob"}
    assert not score(written(tmp_path / "a", [*verdicts(), yes]))["new"].outcome.contradicted
    yes["text"] = RUNS["new"][1]
    lines = [line for line in verdicts() if (line["nugget"], line["text"]) != ("1", yes["text"])]
    assert not score(written(tmp_path / "b", [*lines, yes]))["new"].outcome.contradicted


def test_whole_answers_can_be_contradictions(tmp_path):
    answer = "\n".join(RUNS["new"])
    line = {"qid": "q1", "nugget": "2", "text": answer, "verdict": False, "contradicts": True, "scope": "answer"}
    result = diff(written(tmp_path / "qa", [*verdicts(), line]), "old", "new")
    assert [(c.nugget.nugget, c.contradicted) for c in result.lost] == [("2", True), ("1", True)]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"verdict": True, "contradicts": True}, "a yes cannot be a contradiction"),
        ({"partial": True, "contradicts": True}, "a verdict cannot be partial and a contradiction"),
        ({"contradicts": "yes"}, "'contradicts' is a string, not true or false"),
    ],
)
def test_nonsense_is_refused_with_file_and_line(folder, change, what, capsys):
    line = {"qid": "q1", "nugget": "1", "text": "x", "verdict": False, **change}
    path = folder / "judgements" / "bad.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert main(["score", "--collection", str(folder)]) == 2
    assert f"{path}:1: {what}" in capsys.readouterr().err
    if isinstance(change["contradicts"], bool):
        with pytest.raises(NuggeteerError, match=what):
            Ledger(folder, "bob").append(Judgement(**line))


def test_a_sheet_of_cells_takes_the_word(folder):
    """As a verdict, or as a column beside a no."""
    sheet = folder / "sheet.csv"
    rows = [
        "qid,nugget,text,verdict,contradicts",
        "q1,2,a,contradicts,",
        "q1,2,b,no,yes",
        "q1,2,c,no,",
        "q1,2,d,yes,no",
    ]
    sheet.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert main(["judge", "--import", str(sheet), "--assessor", "eve", "--collection", str(folder)]) == 0
    lines = [json.loads(line) for line in (folder / "judgements" / "eve.jsonl").read_text().splitlines()]
    assert [(line["verdict"], line.get("contradicts")) for line in lines] == [
        (False, True),
        (False, True),
        (False, None),
        (True, None),
    ]


def test_the_key_of_judge_writes_it_and_undo_takes_it_back(tmp_path):
    folder = written(tmp_path / "qa", [])
    session = Session(JudgingState.read(JudgingSubject(folder, "new", None)), Ledger(folder, "ann"))
    (said,) = session.judge(False, contradicts=True)
    assert (said.verdict, said.contradicts, said.word) == (False, True, "contradicts")
    assert read_collection(folder).judgements == (said,)
    assert session.undo() == (said,)
    assert not read_collection(folder).judgements


def test_the_contradictions_of_semeval_are_found_again(tmp_path):
    """Teachers called 1,548 students' answers contradictory. Each is a no as before, and each pool has its own."""
    collection = read_collection(shared("semeval"))
    marked = [
        structs.replace(j, contradicts=j.reason == "contradicts" and not j.verdict) for j in collection.judgements
    ]
    opposed = [j for j in marked if j.contradicts]
    assert len(opposed) == 1548
    before = score(collection, ["pool0"])["pool0"]
    vars(collection)["judgements"] = tuple(marked)
    after = score(collection, ["pool0"])["pool0"]
    assert before.measures == after.measures
    run = collection.run("pool0")
    texts = {(collection.key.questions[q].qid, t) for q, t in zip(run.question.tolist(), run.texts, strict=True)}
    own = {(j.qid, j.nugget) for j in opposed if (j.qid, j.text) in texts}
    found = {(n.qid, n.nugget) for n, has in zip(collection.key.nuggets, after.outcome.found, strict=True) if has}
    names = {(collection.key.nuggets[i].qid, collection.key.nuggets[i].nugget) for i in after.outcome.contradicted}
    assert names == own - found
    assert len(names) >= 10
