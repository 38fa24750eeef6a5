"""In a browser: nothing is served without the token, under another name, or to a page of another origin."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import signal
import subprocess
import sys

import pytest

from nuggeteer.screens.browser import HOST, application

aiohttp = pytest.importorskip("aiohttp")
pytest.importorskip("textual_serve")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the server's library


@pytest.fixture(autouse=True)
def nothing_left():
    """What the library leaves open complains when it is collected: here, where that is ignored, not in a later test."""
    yield
    gc.collect()


TOKEN = "secret-token"
SAYS_HELLO = (
    f"{sys.executable} -c \"import sys; sys.stdout.write('__GANGLION__\\n'); sys.stdout.flush(); sys.stdin.read(1)\""
)


def ask(*requests):
    """The answers (status, headers, body) to (path, headers) in turn; a path that ends in /ws asks for a websocket."""

    async def go():
        from aiohttp import web
        from aiohttp.test_utils import unused_port

        port = unused_port()
        runner = web.AppRunner(await application(SAYS_HELLO, port, TOKEN))
        await runner.setup()
        await web.TCPSite(runner, HOST, port).start()
        answers = []
        try:
            async with aiohttp.ClientSession() as client:
                for path, headers in requests:
                    headers = {name: value.replace("PORT", str(port)) for name, value in headers.items()}
                    url = f"http://{HOST}:{port}{path}"
                    if path.endswith("/ws"):
                        try:
                            async with client.ws_connect(url, headers=headers):
                                answers.append((101, {}, ""))
                        except aiohttp.WSServerHandshakeError as refused:
                            answers.append((refused.status, {}, ""))
                    else:
                        async with client.get(url, headers=headers, allow_redirects=False) as answer:
                            answers.append((answer.status, dict(answer.headers), await answer.text(errors="replace")))
        finally:
            await runner.cleanup()
        return answers

    return asyncio.run(go())


@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/textual.js", "/download/x", "/wrong/", f"/{TOKEN}x/", "//"])
def test_without_the_token_nothing_is_served(path):
    assert [status for status, _, _ in ask((path, {}))] == [403]


@pytest.mark.parametrize("path", ["/", "/ws", "/static/js/textual.js"])
def test_with_the_token_it_is_but_not_to_pages_of_others(path):
    own = f"/{TOKEN}{path}"
    answers = ask(
        (own, {}),
        (own, {"Origin": f"http://{HOST}:PORT"}),
        (own, {"Origin": "http://evil.example"}),
        (own, {"Origin": "null"}),
        (own, {"Host": "evil.example:PORT"}),  # a name that was made to lead here
        (own, {"Host": "localhost:PORT"}),
    )
    good = 101 if path == "/ws" else 200
    assert [status for status, _, _ in answers] == [good, good, 403, 403, 403, 403]


def test_the_page_fetches_nothing_from_elsewhere():
    [(status, headers, body)] = ask((f"/{TOKEN}/", {}))
    assert status == 200
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"https?://", policy)
    assert f"/{TOKEN}/ws" in body
    assert headers["Referrer-Policy"] == "no-referrer"


async def judge_one(address):
    """Press y in the application that is behind the address, when it shows a question."""
    async with aiohttp.ClientSession() as client, client.ws_connect(f"{address}ws?width=80&height=24") as socket:
        screen, keys = b"", {b"response": "y", b"written": "q"}
        async for message in socket:
            screen += message.data if isinstance(message.data, bytes) else b""
            for sign in [sign for sign in keys if sign in screen]:
                await socket.send_json(["stdin", keys.pop(sign)])


@pytest.mark.slow
def test_it_is_the_same_application_in_a_browser(fermi):
    """From the printed address to a verdict in the ledger; Ctrl+C ends it."""
    command = [sys.executable, "-m", "nuggeteer", "judge", "tonight", "--browser", "--assessor", "ann"]
    with subprocess.Popen(
        [*command, "--collection", str(fermi.root)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        said = process.stdout.readline()
        address = re.match(rf"Open (http://{re.escape(HOST)}:\d+/[\w-]{{32}}/) in a browser", said)
        try:
            asyncio.run(asyncio.wait_for(judge_one(address[1]), 60))
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
    assert process.returncode == 0
    lines = (fermi.root / "judgements" / "ann.jsonl").read_text().splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == [True]
