"""NuggetBanks: questions with answers and claims become nuggets, and a bank comes back as it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.collection.convert import convert_into, convert_out, losses
from nuggeteer.collection.sample import sample_folder
from nuggeteer.formats.bundle import read_bundle
from nuggeteer.formats.nugget_bank import read_banks, recognises
from nuggeteer.formats.objects import open_file
from tests.conftest import write_lines

# As autojudge-base 1.0.0 writes it.
BANK = {
    "query_id": "1",
    "title_query": "Machu Picchu",
    "full_query": "What is known of Machu Picchu?",
    "format_version": "v3",
    "nugget_bank": {
        "Where is it?": {
            "question": "Where is it?",
            "answers": {
                "in Peru": {"answer": "in Peru", "references": [{"doc_id": "d"}]},
                "in Asia": {"answer": "in Asia"},
            },
            "question_id": "a1",
            "query_id": "1",
        },
        "Who built it, and when?": {
            "question": "Who built it, and when?",
            "aggregator_type": "AND",
            "answers": [{"answer": "the Inca"}, {"answer": "about 1450"}],
            "importance": "okay",
            "question_id": "a2",
            "sub_nuggets": [{"claim": "it was built for Pachacuti", "claim_id": "c9", "importance": 3}],
        },
        "Is it not in Chile?": {"question": "Is it not in Chile?", "aggregator_type": "NOT", "answers": {}},
        "Why?": {"question": "Why?"},
    },
    "claim_bank": {"It is old": {"claim": "It is old", "claim_id": "c1", "importance": "vital", "creator": []}},
    "metadata": {"x": 1},
}
OF_2026 = {
    "metadata": {"team_id": "t", "topic_id": 7, "run_id": "r", "run_desc": "d"},
    "nugget_bank": [
        {"question": "When?", "aggregator_type": "OR", "answers": [{"answer": "1851", "references": ["doc-1"]}]}
    ],
}


def read(tmp_path, *banks):
    return read_banks(write_lines(tmp_path / "banks.jsonl", banks))


def test_questions_and_claims_become_nuggets(tmp_path):
    bundle = read(tmp_path, BANK, OF_2026)
    assert {q.qid: q.text for q in bundle.questions.values()} == {"1": "What is known of Machu Picchu?", "7": ""}
    assert [(n.qid, n.nugget, n.all_of) for n in bundle.nuggets if n.members] == [("1", "a2-all", ("a2", "a2-2"))]
    assert [(n.qid, n.nugget, n.descriptions, n.importance) for n in bundle.nuggets if not n.members] == [
        ("1", "a1", ("Where is it? in Peru", "Where is it? in Asia"), "vital"),
        ("1", "a2", ("Who built it, and when? the Inca",), "okay"),
        ("1", "a2-2", ("Who built it, and when? about 1450",), "okay"),
        ("1", "c9", ("it was built for Pachacuti",), "unrated"),
        ("1", "c1", ("It is old",), "vital"),
        ("7", "1", ("When? 1851",), "vital"),
    ]
    assert bundle.left_out == {
        "questions with the aggregator NOT or SUM": 1,
        "questions without a fact": 1,
    }


def stating(bank):
    """A bank without the questions that state no fact."""
    whole = {key: value for key, value in BANK["nugget_bank"].items() if key not in ("Is it not in Chile?", "Why?")}
    return {**bank, "nugget_bank": whole} if bank is BANK else bank


@pytest.mark.parametrize("bank", [BANK, OF_2026], ids=["v3", "2026"])
def test_a_bank_comes_back_as_it_was_but_for_what_was_left_out(tmp_path, bank):
    convert_into("nugget-bank", [write_lines(tmp_path / "b.jsonl", [bank])], tmp_path / "c")
    convert_out("nugget-bank", tmp_path / "c", tmp_path / "out.jsonl")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == stating(bank)
    assert not any(losses("nugget-bank", tmp_path / "c", tmp_path / "out.jsonl").values())


def test_what_somebody_changed_since_is_what_is_written(tmp_path):
    convert_into("nugget-bank", [write_lines(tmp_path / "b.jsonl", [BANK])], tmp_path / "c")
    path = tmp_path / "c" / "nuggets.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    kept = [line for line in lines if line["nugget"] not in ("a2", "a2-all")]
    kept[0]["importance"] = "okay"
    kept[-1]["text"] = "It is very old"
    write_lines(path, [*kept, {"qid": "1", "nugget": "new", "text": "It is high", "importance": "vital"}])
    convert_out("nugget-bank", tmp_path / "c", tmp_path / "out.jsonl")
    out = json.loads((tmp_path / "out.jsonl").read_text())
    assert out["nugget_bank"] == {}
    assert {key: claim["importance"] for key, claim in out["claim_bank"].items() if "importance" in claim} == {
        "Where is it? in Peru / Where is it? in Asia": "okay",
        "Who built it, and when? about 1450": "okay",
        "It is very old": "vital",
        "It is high": "vital",
    }
    assert "it was built for Pachacuti" in out["claim_bank"]


CLAIMS = st.dictionaries(
    st.text(min_size=1).filter(str.strip), st.sampled_from(["vital", "okay", None, 5, "x"]), min_size=1
)


@pytest.mark.slow
@given(CLAIMS)
def test_any_claims_come_back(tmp_path_factory, claims):
    folder = tmp_path_factory.mktemp("b")
    found = {text: {"claim": text, **({"importance": v} if v else {})} for text, v in claims.items()}
    bank = {"query_id": "1", "claim_bank": found}
    convert_into("nugget-bank", [write_lines(folder / "b.jsonl", [bank])], folder / "c")
    convert_out("nugget-bank", folder / "c", folder / "out.jsonl")
    assert json.loads((folder / "out.jsonl").read_text()) == bank


def test_what_is_no_bank_is_kept_aside(tmp_path):
    bundle = read(tmp_path, {"nugget_bank": {}}, {"query_id": "1", "nugget_bank": 3}, BANK, BANK)
    assert len(bundle.garbled) == 3
    assert not recognises(open_file(write_lines(tmp_path / "x", [{"query_id": 1}])))
    assert recognises(open_file(tmp_path / "banks.jsonl"))


def test_nuggets_deep_within_others_are_left_out_and_counted(tmp_path):
    claim = {"claim": "x"}
    for number in range(30):
        claim = {"claim": f"c{number}", "sub_nuggets": [claim]}
    bundle = read(tmp_path, {"query_id": "1", "claim_bank": [claim]})
    assert len(bundle.nuggets) == 21
    assert sum(bundle.left_out.values()) == 1


def test_auto_judge_itself_reads_what_we_write(tmp_path):
    """With autojudge-base, if it is installed."""
    data = pytest.importorskip("autojudge_base.nugget_data", exc_type=Exception)
    convert_out("nugget-bank", sample_folder(), tmp_path / "out.jsonl")
    banks = data.load_nugget_banks_from_file(tmp_path / "out.jsonl").banks
    sample = read_bundle(sample_folder())
    assert {qid: bank.title_query for qid, bank in banks.items()} == {q.qid: q.text for q in sample.questions.values()}
    written = {(qid, n.claim_id, n.importance) for qid, bank in banks.items() for n in bank.nuggets_as_list()}
    assert written == {(n.qid, n.nugget, n.importance) for n in sample.nuggets}
