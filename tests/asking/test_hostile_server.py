"""A server that means no good: it takes no more than the time and the memory of one request, and breaks nothing."""

from __future__ import annotations

import json
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nuggeteer.asking.client import Client, Unavailable, read_reply, retry_after
from nuggeteer.asking.proposing import read_facts
from nuggeteer.asking.replies import WrongShape, read_labels
from nuggeteer.cli.main import main
from nuggeteer.settings import JudgeSettings
from tests.asking.fake_server import FakeServer, Fault, reply_of
from tests.asking.hostile_server import COMPRESSED, OK, PATIENCE, SLOW, HostileServer, for_ever, reply
from tests.asking.test_session import lines


def judge(url, timeout=0.3):
    return JudgeSettings("j", url, "m", timeout=timeout)


def send(url):
    client = Client(judge(url))
    try:
        return client.send([{"role": "user", "content": "?"}], {}, frozenset())
    finally:
        client.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", SLOW)
def test_a_request_has_one_deadline_however_slowly_a_server_speaks(how):
    with HostileServer(SLOW[how]) as server:
        begun = time.monotonic()
        with pytest.raises(Unavailable, match=r"no reply within 0\.3 s"):
            send(server.url)
    assert time.monotonic() - begun < PATIENCE / 2


@pytest.mark.slow
@pytest.mark.parametrize("how", ["says nothing", "a byte of the first line at a time"])
def test_agreeing_on_keys_is_part_of_it(how):
    with HostileServer(SLOW[how], reads=False) as server:
        begun = time.monotonic()
        with pytest.raises(Unavailable, match=r"no reply within|cannot connect"):
            send(server.url.replace("http:", "https:"))
    assert time.monotonic() - begun < PATIENCE / 2


def test_a_connection_that_was_cut_does_not_spoil_the_next_request():
    acts = [for_ever(b" ", OK), reply(b'{"choices": [{"message": {"content": "hello"}}]}')]
    with HostileServer(lambda connection: acts.pop(0)(connection)) as server:
        client = Client(judge(server.url))
        with pytest.raises(Unavailable):
            client.send([], {}, frozenset())
        assert client.send([], {}, frozenset()).content == "hello"
        client.close()


@pytest.mark.parametrize("encoding", COMPRESSED)
def test_nothing_compressed_is_asked_for_or_unpacked(encoding):
    act = reply(COMPRESSED[encoding], f"Content-Encoding: {encoding}")
    with HostileServer(act) as server, pytest.raises(Unavailable, match="is compressed"):
        send(server.url)
    assert b"accept-encoding: identity\r\n" in server.received[0].lower()


YEAR = "Wed, 21 Oct 20151021202020202020 07:28:00 GMT"


@given(st.from_regex(r"\A(\w{3}, )?\d{1,30} \w{3} \d{1,30} \d{1,30}:\d{1,30}:\d{1,30} ([+-]\d{1,30}|GMT)\Z"))
def test_any_date_is_a_time_or_none(value):
    assert (retry_after(value) or 0) >= 0


def nested(depth):
    return f"{'[' * depth}{']' * depth}"


PLACES = [
    '{"choices": [{"message": {"content": HERE}}]}',
    '{"choices": [{"message": HERE}]}',
    '{"choices": [HERE]}',
    '{"choices": HERE}',
    '{"choices": [{"message": {"content": "{}"}, "finish_reason": HERE}]}',
    '{"choices": [{"message": {"content": "{}"}}], "model": HERE, "system_fingerprint": HERE, "usage": HERE}',
    '{"choices": [{"message": {"content": "{}"}}], "usage": {"prompt_tokens": HERE}}',
    '{"choices": [{"message": {"content": "{}"}, "logprobs": HERE}]}',
    '{"choices": [{"message": {"content": "{}"}, "logprobs": {"content": HERE}}]}',
    '{"choices": [{"message": {"content": "{}"}, "logprobs": {"content": [{"token": HERE, "logprob": 0}]}}]}',
    '{"choices": [{"message": {"content": "{}"}, "logprobs": {"content": [{"token": "x", "logprob": HERE}]}}]}',
    '{"choices": [{"message": {"content": "{}"}, "logprobs": {"content": [{"token": "", "top_logprobs": HERE}]}}]}',
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("depth", [1, 100, 960, 980, 990, 1000, 1015])
def test_what_is_nested_deeply_is_a_reply_or_none(place, depth):
    try:
        found = read_reply(place.replace("HERE", nested(depth)).encode())
    except Unavailable:
        return
    assert (found.tokens or ()) == ()


@pytest.mark.parametrize("content", ['{"1": HERE}', '{"1": HERE} {"1": HERE}', '{"nuggets": HERE}'])
def test_labels_and_facts_that_are_nested_deeply_have_a_wrong_shape(content):
    """At each depth: what one part of Python can still read, another cannot write any more."""
    for depth in range(900, 1100):
        for read in (lambda text: read_labels(text, 1), read_facts):
            with pytest.raises(WrongShape):
                read(content.replace("HERE", nested(depth)))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(429, headers={"Retry-After": YEAR}),
        Fault(content=f'{{"1": {nested(986)}}}'),
        Fault(raw=PLACES[9].replace("HERE", nested(1015)).encode()),
        Fault(content='{"nuggets": [{"text": "apples \\ud800 are red and pears are green"}]}'),
    ],
    ids=["year", "labels", "tokens", "half a surrogate"],
)
@pytest.mark.parametrize("how", [["--all"], ["--propose", "answers"]], ids=" ".join)
def test_no_reply_is_a_bug_of_ours_and_each_is_in_the_ledger(ask_folder, monkeypatch, capsys, fault, how):
    monkeypatch.setattr("nuggeteer.asking.sender.FIRST_PAUSE", 0.001)
    with FakeServer([fault]) as server:
        root = ask_folder(server, questions=1, concurrency=1)
        assert main(["ask", "night", *how, "--collection", str(root)]) == 0, capsys.readouterr().err
        name = "fake.proposals" if "--propose" in how else "fake"
        assert sum(line["requests"] for line in lines(root, f"judges/calls/{name}.jsonl")) == len(server.requests)


def test_garbage_in_place_of_tokens_takes_nothing_from_a_paid_reply(ask_folder):
    garbage = {"content": [{"token": json.loads(nested(900)), "logprob": 0}]}
    choice = {"message": {"content": reply_of(["support"] * 5)}, "logprobs": garbage}
    with FakeServer([Fault(raw=json.dumps({"choices": [choice]}).encode())]) as server:
        root = ask_folder(server, questions=1)
        assert main(["ask", "night", "--all", "--collection", str(root)]) == 0
        assert len(server.requests) == 1
    assert [line["assignment"] for line in lines(root)] == ["support"] * 5


@pytest.mark.parametrize(
    "url",
    [
        "http://[",
        "http://127.0.0.1]/",
        "http://127.0.0.1/\\u0000",
        "http://127.0.0.1/\\t",
        "http://127.0.0.1/ v1",
        f"http://127.0.0.1/{'v' * 65536}",
        "http://127.0.0.1:0/",
        "http://127.0.0.1/\u00e9",
        "http://",
    ],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"]], ids=["", "dry"])
def test_no_address_is_a_bug_of_ours(ask_folder, capsys, monkeypatch, url, more):
    monkeypatch.setattr("nuggeteer.asking.sender.FIRST_PAUSE", 0.001)
    root = ask_folder(None)
    (root / "nuggeteer.toml").write_text(f'[judge.fake]\nurl = "{url}"\nmodel = "m"\n', encoding="utf-8")
    code = main(["ask", "night", "--all", *more, "--collection", str(root)])
    told = capsys.readouterr().err
    assert code == 2
    assert "[judge.fake] url is not an address; write for example" in told
    assert len(told) < 1000


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "-", "a_b", "[::1%lo]", "[::1%25lo]", "[::ffff:1.2.3.4]"])
def test_no_name_of_a_host_is_a_bug_of_ours(ask_folder, capsys, monkeypatch, host):
    def look_up(host, *more):
        host.encode("idna")  # as the real one does first
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr("nuggeteer.asking.sender.FIRST_PAUSE", 0.001)
    monkeypatch.setattr("socket.getaddrinfo", look_up)
    monkeypatch.setenv("NUGGETEER_HOSTS", host.strip("[]"))
    root = ask_folder(None)
    settings = f'[judge.fake]\nurl = "https://{host}/v1"\nmodel = "m"\nnetwork = true\n'
    (root / "nuggeteer.toml").write_text(settings)
    code = main(["ask", "night", "--all", "--collection", str(root)])
    printed = capsys.readouterr()
    assert code == 2
    assert "cannot connect" in printed.err or "is not an address" in printed.err
