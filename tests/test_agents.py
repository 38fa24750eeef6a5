"""What agents are told, done: the commands of the skill run, and the guide names the server's tools."""

from __future__ import annotations

import inspect
import json
import re

import pytest

from nuggeteer.cli.main import COMMANDS
from nuggeteer.collection.sample import copy_sample
from nuggeteer.plugins.agent import LONGEST, Reading
from tests.conftest import ROOT
from tests.shell import run_script

SKILL = ROOT / "skills" / "nuggeteer" / "SKILL.md"
PAGE = (ROOT / "docs" / "guides" / "agents.md").read_text(encoding="utf-8")


def test_the_skill_has_the_form_that_agents_load():
    """A head in YAML with a name, that of its folder, and a description; and a body that is worth its tokens."""
    yaml = pytest.importorskip("yaml")
    _, head, body = SKILL.read_text(encoding="utf-8").split("---\n", 2)
    about = yaml.safe_load(head)
    assert set(about) == {"name", "description"}
    assert about["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", about["name"])
    assert len(about["description"]) <= 1024
    assert len(body.splitlines()) < 500
    assert "Never write a verdict as a person's" in body


def test_the_skill_names_commands_that_there_are():
    named = set(re.findall(r"nuggeteer ([a-z]+)\b", SKILL.read_text(encoding="utf-8").split("---\n", 2)[2]))
    assert named <= set(COMMANDS)
    assert {"check", "score", "diff", "nightly", "judge"} <= named


@pytest.mark.slow
def test_the_commands_of_the_skill_run_and_write_no_verdict(tmp_path):
    copy_sample(tmp_path / "qa")
    before = {path: path.read_bytes() for path in (tmp_path / "qa" / "judgements").glob("*.jsonl")}
    blocks = re.findall(r"```sh\n(.*?)```", SKILL.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    done = run_script("\n".join(blocks), tmp_path / "qa")
    assert done.returncode == 0, done.stderr
    scored = json.loads((tmp_path / "qa" / "score.json").read_text(encoding="utf-8"))
    changed = json.loads((tmp_path / "qa" / "diff.json").read_text(encoding="utf-8"))
    assert {"value", "low", "high"} <= scored["runs"][0]["f3"].keys()
    assert {"known", "guessed"} == scored["runs"][0]["pairs"].keys()
    assert {"probability", "importance", "text"} <= changed["lost"][0].keys()
    assert before == {path: path.read_bytes() for path in (tmp_path / "qa" / "judgements").glob("*.jsonl")}


def test_the_page_lists_the_tools_and_their_arguments():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE, re.MULTILINE)
    listed = {name: re.findall(r"`(\w+)`", arguments) for name, arguments in rows}
    tools = {name: tool for name, tool in vars(Reading).items() if not name.startswith("_")}
    assert listed == {name: list(inspect.signature(tool).parameters)[1:] for name, tool in tools.items()}
    assert f"{LONGEST:,} characters" in PAGE
    (server,) = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])["mcpServers"].values()
    assert server["args"][0] in COMMANDS
