"""The HTTP client: where it may send, what it keeps secret, and what it makes of a server's answers."""

from __future__ import annotations

import builtins
import json
import math
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.asking.client import HOSTS, Client, Unavailable, check_address, read_reply, retry_after
from nuggeteer.asking.secret import Secret
from nuggeteer.cli.main import main
from nuggeteer.errors import NuggeteerError
from nuggeteer.settings import JudgeSettings
from tests.asking.fake_server import FakeServer, Fault
from tests.asking.test_session import ask

KEY = "sk-Very+Secret/0123456789=="


def judge(url, **more):
    return JudgeSettings("j", url, "m", **more)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/v1", "http://localhost/v1/", "http://[::1]:8080", "https://127.8.9.10/v1"]
)
def test_this_machine_may_be_asked(url):
    assert check_address(judge(url), {}).endswith("/chat/completions")


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/v1",
        "http://0.0.0.0/v1",
        "http://10.0.0.1/v1",
        "https://127.0.0.1.example.com",
        "https://localhost.example.com",
        "http://2130706433/v1",  # 127.0.0.1 as one number, which not every resolver reads so
    ],
)
def test_another_machine_needs_the_collections_yes_and_the_users(url):
    host = url.split("//")[1].split("/")[0]
    with pytest.raises(NuggeteerError, match="network = true"):
        check_address(judge(url), {HOSTS: host})
    with pytest.raises(NuggeteerError, match=f"export {HOSTS}={host}"):
        check_address(judge(url, network=True), {HOSTS: f"not.{host}, x"})
    assert check_address(judge(url, network=True), {HOSTS: f"x, {host.upper()}"})


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ftp://127.0.0.1", "not an address"),
        ("127.0.0.1:80", "not an address"),
        ("http://", "not an address"),
        ("http://127.0.0.1:99999", "not an address"),
        ("http://[::1", "not an address"),
        (f"http://user:{KEY}@127.0.0.1/v1", "not an address"),
        ("http://user:secret@127.0.0.1/v1", "the key belongs in"),
        ("http://user@127.0.0.1/v1", "the key belongs in"),
        (f"http://127.0.0.1/v1?key={KEY}", "the key belongs in"),
        (f"http://127.0.0.1/v1#{KEY}", "the key belongs in"),
    ],
)
def test_an_address_is_a_host_a_port_and_a_path_and_errors_do_not_quote_it(url, says):
    with pytest.raises(NuggeteerError, match=says) as caught:
        check_address(judge(url), {})
    assert KEY not in str(caught.value)


def test_a_key_never_leaves_in_the_clear():
    with pytest.raises(NuggeteerError, match="write https"):
        check_address(judge("http://example.com", network=True, key_env="K"), {HOSTS: "example.com"})


def test_no_proxy_sees_what_is_for_this_machine(ask_folder, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with FakeServer() as server:
        assert ask(ask_folder(server)).calls == 2


def test_a_redirection_is_not_followed(ask_folder):
    with FakeServer() as other:
        with FakeServer(always=lambda request: Fault(307, {"Location": f"{other.url}/chat/completions"})) as server:
            root = ask_folder(server)
            with pytest.raises(NuggeteerError, match="307"):
                ask(root)
        assert other.requests == []


def test_the_key_is_sent_and_stands_in_no_error_and_no_repr(monkeypatch):
    """Of files and outputs: test_secret.py."""
    monkeypatch.setenv("THE_KEY", f" {KEY}\n")
    with FakeServer(always=lambda request: Fault(401, content=f"Incorrect API key provided: {KEY}")) as server:
        client = Client(judge(server.url, key_env="THE_KEY"))
        with pytest.raises(NuggeteerError) as caught:
            client.send([], {}, frozenset())
        client.close()
        assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {KEY}"]
    shown = [repr(caught.value), repr(client), "".join(traceback.format_exception(caught.value))]
    assert not any(KEY in text for text in [*shown, repr(Secret(KEY)), str(Secret(KEY))])


@pytest.mark.parametrize(("value", "says"), [("", "is empty"), (" \n", "is empty"), ("a b", "no key"), ('"', "no key")])
def test_a_key_that_is_none_is_said_by_the_name_of_its_variable(monkeypatch, value, says):
    monkeypatch.setenv("THE_KEY", value)
    with pytest.raises(NuggeteerError, match=says) as caught:
        Client(judge("http://127.0.0.1", key_env="THE_KEY"))
    assert "THE_KEY" in str(caught.value)
    monkeypatch.delenv("THE_KEY")
    with pytest.raises(NuggeteerError, match="is empty"):
        Client(judge("http://127.0.0.1", key_env="THE_KEY"))


def test_without_httpx_the_extra_is_named(ask_folder, monkeypatch, capsys):
    real = builtins.__import__

    def without(name, *more):
        if name == "httpx":
            raise ImportError(name)
        return real(name, *more)

    with FakeServer() as server:
        root = ask_folder(server)
    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["ask", "night", "--all", "--collection", str(root)]) == 2
    assert "install nuggeteer[ask]" in capsys.readouterr().err
    assert not (root / "judges").exists()


def test_a_server_that_is_not_there_costs_nothing_and_says_where(ask_folder, monkeypatch):
    monkeypatch.setattr("nuggeteer.asking.sender.FIRST_PAUSE", 0.01)
    with FakeServer() as server:
        root = ask_folder(server, questions=1, input_price=100.0)
    asked = ask(root)
    assert (asked.spent, asked.calls) == (0.0, 0)
    assert {pair.reason for pair in asked.failed} == {f"cannot connect to {server.url}/chat/completions"}


@pytest.mark.parametrize("more", [[], ["--all"], ["--max-calls", "1"], ["--propose", "answers"]])
def test_a_server_that_is_not_there_is_said_once_and_nothing_else_is(ask_folder, monkeypatch, capsys, more):
    """It exited with 0 after "about 0.142 with these verdicts", without any, or "--max-calls is reached" alone."""
    monkeypatch.setattr("nuggeteer.asking.sender.FIRST_PAUSE", 0.01)
    with FakeServer() as server:
        root = ask_folder(server)
    assert main(["ask", "night", *more, "--collection", str(root)]) == 2
    said = capsys.readouterr()
    missing = f"cannot connect to {server.url}/chat/completions"
    assert said.err.splitlines()[-1] == f"nuggeteer: fake: {missing}; nothing was answered; the same command asks again"
    assert "these verdicts" not in said.out
    assert "--again" not in said.out


def test_a_model_of_which_nothing_can_be_read_is_an_error(ask_folder, capsys):
    with FakeServer(always=lambda request: Fault(content="I would rather not say")) as server:
        root = ask_folder(server)
        assert main(["ask", "night", "--all", "--collection", str(root)]) == 2
    said = capsys.readouterr()
    assert said.err.splitlines()[-1].startswith("nuggeteer: fake: no reply could be used: ")
    assert "fake gave 0 verdicts on night" in " ".join(said.out.split())


def test_a_server_that_goes_away_is_said_beside_what_it_has_answered(ask_folder, monkeypatch, capsys):
    monkeypatch.setattr("nuggeteer.asking.sender.FIRST_PAUSE", 0.01)
    calls = []
    with FakeServer(always=lambda request: calls.append(request) or (Fault(503) if len(calls) > 1 else None)) as server:
        root = ask_folder(server, concurrency=1)
        assert main(["ask", "night", "--all", "--collection", str(root)]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert "fake gave 5 verdicts on night in 1 call " in out
        assert "No reply about 5 nuggets: the server says 503: no. The same command asks again." in out
        assert "--again" not in out
        server.always = None
        assert main(["ask", "night", "--all", "--collection", str(root)]) == 0
    assert "fake gave 5 verdicts on night in 1 call." in capsys.readouterr().out


def test_what_is_not_answered_does_not_narrow(ask_folder, capsys):
    """The width after a session that was stopped is that of what it was told, not of all that it wanted to ask."""
    with FakeServer() as server:
        root = ask_folder(server, questions=4, concurrency=1)
        assert main(["ask", "night", "--max-calls", "1", "--collection", str(root), "--json", str(root / "a")]) == 0
        first = json.loads((root / "a").read_text())["width"]
        assert main(["ask", "night", "--max-calls", "1", "--collection", str(root), "--json", str(root / "b")]) == 0
        second = json.loads((root / "b").read_text())["width"]
    assert first["after"] == pytest.approx(second["before"])
    assert "and about" in capsys.readouterr().out


def test_a_reply_that_never_ends_is_cut_off(ask_folder, monkeypatch):
    monkeypatch.setattr("nuggeteer.asking.client.LARGEST_REPLY", 1000)
    monkeypatch.setattr("nuggeteer.asking.sender.FIRST_PAUSE", 0.01)
    with FakeServer([Fault(raw=b" " * 5000)]) as server:
        asked = ask(ask_folder(server, questions=1))
    assert asked.requests == 2


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(
                    ["choices", "message", "content", "logprobs", "token", "usage", "model", "prompt_tokens"]
                ),
                x,
            )
        ),
    )
)
def test_whatever_a_server_answers_is_a_reply_or_none(answer):
    try:
        reply = read_reply(json.dumps(answer).encode())
    except Unavailable:
        return
    assert isinstance(reply.content, str)


def test_seconds_and_dates_say_how_long_to_wait():
    later = (datetime.now(UTC) + timedelta(seconds=90)).replace(microsecond=0)
    most = (later - datetime.now(UTC)).total_seconds()
    wait = retry_after(format_datetime(later, usegmt=True))
    assert (later - datetime.now(UTC)).total_seconds() <= wait <= most
    assert retry_after("7") == 7
    assert retry_after("0.5") == 0.5
    assert retry_after("-3") == 0
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert [retry_after(value) for value in (None, "", "soon", "nan", "inf")] == [None] * 5


@given(st.text(max_size=40))
def test_any_header_is_a_time_or_none(value):
    wait = retry_after(value)
    assert wait is None or (wait >= 0 and math.isfinite(wait))
