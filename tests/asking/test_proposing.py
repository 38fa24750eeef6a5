"""Nuggets that a model proposes: new ones only, with where they come from, and none without a person."""

from __future__ import annotations

import json

import pytest

from nuggeteer.cli.main import main
from nuggeteer.collection.proposals import content_words, repeats
from tests.asking.fake_server import FakeServer, Fault
from tests.conftest import write_lines


def reply(*facts):
    return Fault(content=json.dumps({"nuggets": [{"text": text, "importance": "vital"} for text in facts]}))


def proposals(root):
    path = root / "proposals.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def propose(root, *more, source="answers", run="night"):
    return main(["ask", run, "--propose", source, "--collection", str(root), *more])


def test_only_what_is_new_and_in_the_text_is_proposed_with_its_provenance(ask_folder):
    facts = ["Apples are red.", "Its number is 0.", "The number is 0", "Berlin is large."]
    with FakeServer([reply(*facts)]) as server:
        root = ask_folder(server, questions=1)
        assert propose(root) == 0
    (line,) = proposals(root)
    assert (line["qid"], line["text"], line["importance"]) == ("q0", "Its number is 0.", "vital")
    assert (line["from"], line["run"]) == ("Number 0.", "night")
    assert (line["machine"], line["assessor"], line["model"], line["prompt"]) == (True, "fake", "fake", "propose-1")
    assert line["key"] == json.loads((root / "judges/calls/fake.proposals.jsonl").read_text())["key"]
    assert "Berlin" not in (root / "nuggets.jsonl").read_text()


def test_documents_are_asked_about_one_by_one_and_named(ask_folder, tmp_path):
    documents = [{"qid": "q0", "text": f"Fruit {n} grows well.", "docid": f"d{n}"} for n in range(3)]
    write_lines(tmp_path / "found.jsonl", documents)
    with FakeServer(always=lambda request: reply(request.answer)) as server:
        root = ask_folder(server)
        assert propose(root, source="documents", run=str(tmp_path / "found.jsonl")) == 0
        assert len(server.requests) == 3
        assert all("1. apples are red" in request.prompt for request in server.requests)  # what is known already
    assert {(line["docid"], line["text"]) for line in proposals(root)} == {(d["docid"], d["text"]) for d in documents}


def test_nothing_is_paid_for_twice_and_a_killed_start_loses_no_proposal(ask_folder):
    with FakeServer(always=lambda request: reply("Its number is " + request.answer[-2:])) as server:
        root = ask_folder(server)
        propose(root)
        before = proposals(root)
        assert len(before) == 2
        (root / "proposals.jsonl").unlink()  # as if the process had been killed before they were written
        propose(root)
        assert len(server.requests) == 2
    assert {line["text"] for line in proposals(root)} == {line["text"] for line in before}
    propose(root)
    assert len(proposals(root)) == 2


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"nuggets": [{"text": ""}]}', '{"nuggets": ["x"]}', '{"nuggets": []} {"nuggets": []}']
)
def test_a_reply_without_facts_is_listed_and_nothing_is_guessed(ask_folder, content, capsys):
    with FakeServer(always=lambda request: Fault(content=content)) as server:
        root = ask_folder(server, questions=1)
        assert propose(root) == 0
        assert "No reply to use on q0" in capsys.readouterr().out
        propose(root)
        assert len(server.requests) == 1
    assert proposals(root) == []


def test_a_kept_reply_that_was_edited_is_listed_too(ask_folder, capsys):
    with FakeServer([reply("Its number is 0.")]) as server:
        root = ask_folder(server, questions=1)
        propose(root)
        calls = root / "judges/calls/fake.proposals.jsonl"
        calls.write_text(json.dumps({**json.loads(calls.read_text()), "reply": "edited"}) + "\n")
        capsys.readouterr()
        assert propose(root) == 0
    assert "No reply to use on q0" in capsys.readouterr().out


@pytest.mark.parametrize("line", ["{" + " " * 10_000_001, "no JSON", "[]"], ids=["long", "no JSON", "a list"])
def test_proposals_that_cannot_be_read_are_not_asked_for_again(ask_folder, line, capsys):
    with FakeServer() as server:
        root = ask_folder(server)
        (root / "proposals.jsonl").write_text(f"{line}\n")
        assert propose(root) == 2
        assert main(["check", "--collection", str(root)]) == 2
        assert server.requests == []
    assert capsys.readouterr().err.count("proposals.jsonl:1: ") == 1


def test_limits_hold_here_too(ask_folder):
    with FakeServer(always=lambda request: reply("x")) as server:
        root = ask_folder(server, questions=20)
        assert propose(root, "--max-calls", "3", "--json", str(root / "out.json")) == 0
        assert len(server.requests) == 3
    assert json.loads((root / "out.json").read_text())["left"] == 17


@pytest.mark.parametrize(
    ("fact", "same"),
    [
        ("The apple is red", True),
        ("Red apples", True),
        ("Apples are green", False),
        ("Apples are red and grow on old trees in Kent", False),
        ("", False),
    ],
)
def test_a_fact_in_other_words_of_the_same_stems_is_a_repetition(fact, same):
    assert repeats(fact, [content_words("Apples are red.")]) is same
