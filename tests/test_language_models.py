"""The guide to language models, done: its commands run as they stand against a server that plays the model."""

from __future__ import annotations

import json
import re

import pytest

from nuggeteer.formats.toml_settings import read_settings
from tests.asking.fake_server import FakeServer, Fault
from tests.conftest import ROOT
from tests.shell import run_script

PAGE = (ROOT / "docs/guides/language-models.md").read_text(encoding="utf-8")


def facts(request):
    """A proposal, where nuggets are asked for, and else the usual labels."""
    proposed = {"nuggets": [{"text": request.answer.split(". ")[0], "importance": "okay"}]}
    return Fault(content=json.dumps(proposed)) if "Known already" in request.prompt else None


@pytest.mark.slow
def test_the_commands_lead_from_an_endpoint_to_a_score(tmp_path):
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    with FakeServer(always=facts, logprobs=True) as server:
        script = "\n".join(blocks).replace("http://127.0.0.1:8080/v1", server.url)
        done = run_script(script, tmp_path)
    assert done.returncode == 0, done.stderr
    for shown in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL):
        assert shown in done.stdout
    assert "F(3)" in done.stdout
    verdicts = [json.loads(line) for line in (tmp_path / "qa/judges/local.jsonl").read_text().splitlines()]
    assert {line["run"] for line in verdicts} == {"aurora", "build-103"}
    assert all("probability" in line for line in verdicts)
    assert (tmp_path / "qa/proposals.jsonl").read_text().count("\n") >= 1
    assert len({json.dumps(request.body["messages"][1]) for request in server.requests}) == len(server.requests)


def test_the_settings_on_the_page_are_settings(tmp_path):
    (block,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "nuggeteer.toml").write_text(block, encoding="utf-8")
    judge = read_settings(tmp_path / "nuggeteer.toml").judge("hosted")
    assert (judge.network, judge.key_env) == (True, "EXAMPLE_KEY")
