"""Asking a fake server, with every fault that servers have."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from nuggeteer.asking import budget as budget_module
from nuggeteer.asking import sender as sender_module
from nuggeteer.asking.budget import Budget
from nuggeteer.asking.calls import Identity, every_call
from nuggeteer.asking.prompts import find_prompt
from nuggeteer.asking.sender import Sender
from nuggeteer.asking.session import Session
from nuggeteer.asking.store import VerdictStore
from nuggeteer.collection.folder import read_collection
from nuggeteer.errors import NuggeteerError
from tests.asking.conftest import NUGGETS
from tests.asking.fake_server import FakeServer, Fault, labels_of, reply_of

NOTHING_NEW = '{"nuggets": []}'


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr(sender_module, "FIRST_PAUSE", 0.01)


def ask(root, again=False, **budget):
    """Ask about everything in the run; what the session did, and its store."""
    collection = read_collection(root)
    (judge,) = collection.settings.judges
    prompt = find_prompt(judge.prompt)
    store = VerdictStore(root, Identity.of(judge, prompt))
    if again:
        store.ask_again()
    sender = Sender(judge, prompt, Budget(**budget))
    try:
        return Session(store, sender).run(every_call(collection.key, [collection.run("night")]))
    finally:
        store.close()


def lines(root, name="judges/fake.jsonl"):
    path = root / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def verdicts(root):
    found = {(line["qid"], line["nugget"]): line["assignment"] for line in lines(root)}
    assert len(found) == len(lines(root))
    return found


def expected(server):
    """What the server's own rule says, by question and nugget, of the whole requests that it answered."""
    found = {}
    for request in server.answered:
        qid = f"q{request.answer.rpartition(' ')[2].rstrip('.')}"
        for nugget, label in zip(request.nuggets, labels_of(request), strict=True):
            found[qid, f"0-{NUGGETS.index(nugget)}"] = label
    return found


def test_every_nugget_of_every_answer_gets_its_label(ask_folder):
    with FakeServer() as server:
        root = ask_folder(server)
        asked = ask(root)
    assert asked.calls == asked.requests == len(server.requests) == 2
    assert verdicts(root) == expected(server)
    labels = [label for _, label in sorted(verdicts(root).items())]
    assert labels[:5] == ["support", "support", *["not_support"] * 3]
    assert labels[5:] == ["not_support", "not_support", "support", "not_support", "partial_support"]
    assert asked.labels == {"support": 3, "partial_support": 1, "not_support": 6}


def thinking(request):
    return Fault(content=f"<think>apples? {reply_of(['support'] * 5)}</think>\n{reply_of(labels_of(request))}")


def prose(request):
    return Fault(
        content=f"Sure! Here are {{the}} labels:\n```json\n{reply_of(labels_of(request))}\n```\nAnything else?"
    )


def reordered(request):
    pairs = list(enumerate(labels_of(request), 1))[::-1]
    return Fault(content=json.dumps({str(number): label for number, label in pairs}))


def shouted(request):
    return Fault(content=reply_of(label.upper().replace("_", " ") for label in labels_of(request)))


def duplicated(request):
    labels = labels_of(request)
    return Fault(content=f'{{"1": "support", {reply_of(labels)[1:]}')


MALFORMED = {
    "half JSON": lambda request: Fault(content=reply_of(labels_of(request))[:20]),
    "too short": lambda request: Fault(content=reply_of(labels_of(request)[:-1])),
    "too long": lambda request: Fault(content=reply_of([*labels_of(request), "support"])),
    "duplicated": duplicated,
    "two that differ": lambda request: Fault(content=reply_of(["support"] * 5) + reply_of(["not_support"] * 5)),
    "unknown label": lambda request: Fault(content=reply_of(["yes"] * 5)),
    "a list": lambda request: Fault(content=json.dumps(labels_of(request))),
    "nothing": lambda request: Fault(content=""),
    "thinking to the end": lambda request: Fault(content="<think>well, apples", more={"finish_reason": "length"}),
    "thinking without an end": lambda request: Fault(content="<think>" + reply_of(["support"] * 5)),
}


@pytest.mark.parametrize("fault", [MALFORMED[name] for name in ("half JSON", "two that differ", "thinking to the end")])
def test_a_reply_of_a_wrong_shape_is_asked_for_again_in_halves(ask_folder, fault):
    with FakeServer([fault]) as server:
        root = ask_folder(server, concurrency=1)
        asked = ask(root)
    assert sorted(len(request.nuggets) for request in server.requests) == [2, 3, 5, 5]
    assert (asked.failed, verdicts(root)) == ([], expected(server))
    assert [line["outcome"] for line in lines(root, "judges/calls/fake.jsonl")].count("malformed") == 1


def test_what_fails_to_the_end_is_listed_and_never_guessed(ask_folder):
    def plums(request):
        return Fault(content="I would rather not say") if "plums are blue" in request.nuggets else None

    with FakeServer(always=plums) as server:
        root = ask_folder(server, questions=1)
        asked = ask(root)
        assert [(pair.qid, pair.nugget, pair.reason) for pair in asked.failed] == [
            ("q0", "0-2", "no JSON object in the reply")
        ]
        assert set(verdicts(root)) == {("q0", f"0-{n}") for n in (0, 1, 3, 4)}
        asked_before = len(server.requests)
        assert asked_before == 5  # all five; the three, with plums last; two of these; plums alone; the other two
        again = ask(root)
        assert (len(server.requests), again.failed, again.left) == (asked_before, [], 0)
        ask(root, again=True)
        assert [request.nuggets for request in server.requests[asked_before:]] == [["plums are blue"]]


def test_a_start_after_an_unusable_reply_goes_on_with_the_halves(ask_folder):
    with FakeServer([Fault(content="?")], always=lambda request: None) as server:
        root = ask_folder(server, questions=1)
        ask(root, max_calls=1)
        assert len(lines(root, "judges/calls/fake.jsonl")) == 1
        ask(root)
    assert [len(request.nuggets) for request in server.requests] == [5, 3, 2]


UNAVAILABLE = {
    "429 with Retry-After": Fault(429, {"Retry-After": "0"}),
    "429": Fault(429),
    "500": Fault(500),
    "503": Fault(503, raw=b"<html>"),
    "cut connection": Fault(cut=30),
    "cut before the body": Fault(cut=0),
    "no completion": Fault(raw=b"{}"),
    "not JSON": Fault(raw=b"null"),
    "choices that are none": Fault(raw=b'{"choices": [3]}'),
}


@pytest.mark.parametrize("fault", UNAVAILABLE.values(), ids=UNAVAILABLE)
def test_a_request_that_failed_is_sent_again(ask_folder, fault):
    with FakeServer([fault, fault]) as server:
        root = ask_folder(server, concurrency=1)
        asked = ask(root)
    assert asked.requests == len(server.requests) == 4
    assert (asked.failed, len(verdicts(root))) == ([], 10)


@pytest.mark.slow
def test_a_slow_reply_is_given_up_and_asked_for_again(ask_folder):
    """The first reply is held back until it is asked for again. On a busy machine others may be late, too."""
    again = threading.Event()
    with FakeServer([Fault(until=again.wait)], always=lambda request: again.set()) as server:
        root = ask_folder(server, timeout=1, concurrency=1, input_price=1e6, output_price=0)
        asked = ask(root)
    assert len(server.requests) == asked.requests >= 3
    assert len(verdicts(root)) == 10
    assert asked.spent > 3 * 100  # the request that timed out may have been charged, so its limit is counted


@pytest.mark.slow
def test_all_wait_as_long_as_the_server_asks(ask_folder):
    with FakeServer([Fault(429, {"Retry-After": "1"})]) as server:
        root = ask_folder(server, questions=4, concurrency=1)
        ask(root)
    times = [request.at for request in server.requests]
    assert times[1] - times[0] >= 1


@pytest.mark.slow
def test_a_server_that_is_down_ends_the_session_and_is_asked_again_by_the_next(ask_folder):
    with FakeServer(always=lambda request: Fault(500)) as server:
        root = ask_folder(server, questions=20, concurrency=2)
        asked = ask(root)
        assert asked.stopped == "5 calls failed one after the other"
        assert asked.left
        assert lines(root) == []
        server.always = None
        assert ask(root).left == 0
        assert len(verdicts(root)) == 100


def test_a_server_without_schemas_or_log_probabilities_is_asked_without(ask_folder):
    def old(request):
        unknown = [part for part in ("response_format", "logprobs") if part in request.body]
        return Fault(400, content=f"unknown field {unknown[0]}") if unknown else None

    with FakeServer(always=old) as server:
        root = ask_folder(server, questions=6, concurrency=1)
        assert len(ask(root).failed) == 0
    assert len(server.requests) == 8  # two refusals, and never again
    assert len(verdicts(root)) == 30


@pytest.mark.parametrize("says", ["unsupported parameter: temperature", "use max_completion_tokens, not max_tokens"])
def test_a_model_that_takes_other_parameters_is_asked_without(ask_folder, says):
    def picky(request):
        return Fault(400, content=says) if {"temperature", "max_tokens"} <= set(request.body) else None

    with FakeServer(always=picky) as server:
        ask(root := ask_folder(server, questions=1))
    assert len(server.requests) == 2
    assert len(verdicts(root)) == 5
    assert server.requests[1].body.get("temperature", 0) == 0
    assert ("max_completion_tokens" in server.requests[1].body) == ("max_tokens" in says)


def test_what_the_server_refuses_is_listed_with_its_reason_and_does_not_change_other_requests(ask_folder):
    def long(request):
        return Fault(400, content="the context is too long") if "Number 0" in request.answer else None

    with FakeServer(always=long) as server:
        root = ask_folder(server, concurrency=1)
        asked = ask(root)
    assert {pair.reason for pair in asked.failed} == {"the server says 400: the context is too long"}
    assert {qid for qid, _ in verdicts(root)} == {"q1"}
    assert "response_format" in server.requests[-1].body


@pytest.mark.parametrize(
    ("status", "says"), [(401, "no key_env is set"), (404, "look at url and model"), (302, "look at url")]
)
def test_what_holds_for_every_request_is_an_error_at_once(ask_folder, status, says):
    with FakeServer(always=lambda request: Fault(status, content="secret place")) as server:
        root = ask_folder(server, questions=30, concurrency=1)
        with pytest.raises(NuggeteerError, match=says):
            ask(root)
    assert len(server.requests) == 1


def test_another_model_behind_the_same_name_stops_the_session(ask_folder):
    with FakeServer() as server:
        root = ask_folder(server, questions=4, concurrency=1)
        ask(root, max_calls=2)
        server.model = "fake-2"
        with pytest.raises(NuggeteerError, match=r"now answers as the model 'fake-2'.*of 'fake-1'"):
            ask(root)
        assert len(server.requests) == 3
    assert {line["served"] for line in lines(root)} == {"fake-1"}
    assert lines(root, "judges/calls/fake.jsonl")[-1]["served"] == "fake-2"  # it was paid for, and is recorded


@pytest.mark.parametrize("change", [{"model": "other"}, {"revision": "2"}, {"prompt": "mine.txt"}])
def test_another_model_revision_or_prompt_is_another_judge(ask_folder, change):
    with FakeServer() as server:
        root = ask_folder(server)
        (root / "mine.txt").write_text("{nuggets} {answer} {reply}")
        ask(root)
        before = len(server.requests)
        (root / "nuggeteer.toml").write_text(server.settings(**change))
        with pytest.raises(NuggeteerError, match="that is another judge"):
            ask(root)
        assert len(server.requests) == before
        (root / "nuggeteer.toml").write_text(server.settings(**change).replace("judge.fake", "judge.fake2"))
        collection = read_collection(root)
        assert (
            VerdictStore(root, Identity.of(collection.settings.judge("fake2"), find_prompt("assign-1"))).served is None
        )


def test_nothing_is_asked_twice_and_what_is_new_is_asked(ask_folder):
    with FakeServer() as server:
        root = ask_folder(server)
        ask(root)
        assert ask(root).requests == 0
        with (root / "nuggets.jsonl").open("a") as file:
            file.write('{"qid": "q1", "nugget": "0-00", "text": "new fact", "importance": "okay"}\n')
        assert ask(root).requests == 1
        assert server.requests[-1].nuggets == ["new fact"]
        text = (root / "nuggets.jsonl").read_text().replace("new fact", "newer fact")
        (root / "nuggets.jsonl").write_text(text)
        ask(root)
        assert server.requests[-1].nuggets == ["newer fact"]  # a verdict on other words is none on these
        run = root / "runs" / "night.jsonl"
        run.write_text(run.read_text().replace("Number 0", "Number 7"))
        ask(root)
        assert "Number 7" in server.requests[-1].answer
        run.write_text(run.read_text().replace("Number 7.", "Number 7 [1]"))
        assert ask(root).requests == 0  # a citation marker makes no other answer


def test_answers_that_say_the_same_are_asked_about_once(ask_folder):
    with FakeServer() as server:
        root = ask_folder(server)
        run = (root / "runs" / "night.jsonl").read_text()
        (root / "runs" / "again.jsonl").write_text(
            run.upper().replace("QID", "qid").replace("TEXT", "text").replace('"Q', '"q')
        )
        collection = read_collection(root)
        assert len(list(every_call(collection.key, [collection.run("night"), collection.run("again")]))) == 2


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("most", [1, 7, 20])
def test_max_calls_hold_to_the_request(ask_folder, concurrency, most):
    with FakeServer(delay=0.01, always=flaky(0.3)) as server:
        root = ask_folder(server, questions=30, concurrency=concurrency)
        asked = ask(root, max_calls=most)
    assert len(server.requests) == asked.requests == most
    assert asked.stopped == "max-calls"
    assert len(lines(root)) + asked.left + len(asked.failed) == 150


def flaky(share):
    """Every so many requests fail, evenly."""
    count = iter(range(10**6))

    def fault(request):
        return Fault(503) if next(count) * share % 1 < share else None

    return fault


@pytest.mark.parametrize("concurrency", [1, 8])
@pytest.mark.parametrize("most", [0.5, 3.0])
def test_max_cost_is_never_exceeded_and_almost_used(ask_folder, concurrency, most):
    """A request costs 0.1 × 1000 + 0.1 × 20 tokens / 1000 = 0.12 here."""
    with FakeServer(delay=0.01, tokens=(1000, 20)) as server:
        root = ask_folder(
            server, questions=40, concurrency=concurrency, max_tokens=64, input_price=100, output_price=1000
        )
        asked = ask(root, max_cost=most)
    assert asked.spent == pytest.approx(0.12 * len(server.requests))
    assert asked.spent <= most
    assert asked.stopped == "max-cost"
    longest = max(len(json.dumps(request.body)) for request in server.requests)
    assert asked.spent + (longest + 200) * 100 / 1e6 + 64 * 1000 / 1e6 > most  # the next might have been too much


def test_nothing_is_sent_after_the_minutes(ask_folder, monkeypatch):
    """The clock goes on by ten seconds with each request."""
    server = FakeServer()
    monkeypatch.setattr(budget_module, "time", SimpleNamespace(monotonic=lambda: 10.0 * len(server.requests)))
    with server:
        root = ask_folder(server, questions=100, concurrency=2)
        asked = ask(root, minutes=0.5)
    assert asked.stopped == "minutes"
    assert 3 <= asked.calls <= 4  # the other worker may have sent its own just before
    assert len(lines(root)) == 5 * asked.calls == 5 * len(server.requests)


def test_requests_are_paced(ask_folder):
    with FakeServer() as server:
        root = ask_folder(server, questions=6, concurrency=6, requests_per_minute=600)
        begin = time.monotonic()  # not the first arrival, which may be late on a busy machine
        ask(root)
    assert max(request.at for request in server.requests) - begin >= 0.5  # five gaps of 0.1 s


def test_as_many_requests_are_open_as_the_settings_say(ask_folder):
    """The server replies when four have come, and not before."""
    four = threading.Barrier(4, timeout=60)
    with FakeServer(always=lambda request: Fault(until=four.wait)) as server:
        root = ask_folder(server, questions=12, concurrency=4)
        ask(root)
    assert len(server.requests) == 12
    assert server.most_at_once == 4


@pytest.mark.slow
def test_two_sessions_at_once_share_the_work(ask_folder):
    """In two processes, because locks belong to processes; `test_kill.py` has many more."""
    with FakeServer(delay=0.02) as server:
        root = ask_folder(server, questions=40, concurrency=2)
        both = [start(root, "--all") for _ in range(2)]
        assert [process.wait(60) for process in both] == [0, 0]
        assert len(server.requests) == 40
    assert len(verdicts(root)) == 200


def start(root, *more):
    # A shell makes its background jobs deaf to interrupts, and a build server may start the tests as one.
    heard = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    heard += "; runpy.run_module('nuggeteer', run_name='__main__')"
    command = [sys.executable, "-c", heard, "ask", "night", *more, "--collection", str(root)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def test_a_full_disk_stops_everybody_and_nothing_is_lost(ask_folder, monkeypatch):
    from nuggeteer.asking import store as store_module

    real, calls = store_module.append_bytes, []

    def full(path, data, flush=True):
        calls.append(path)
        if len(calls) > 12:
            raise NuggeteerError("no room")
        return real(path, data, flush)

    with FakeServer() as server:
        root = ask_folder(server, questions=20, concurrency=4)
        monkeypatch.setattr(store_module, "append_bytes", full)
        with pytest.raises(NuggeteerError, match="no room"):
            ask(root)
        monkeypatch.undo()
        ask(root)
    assert len(verdicts(root)) == 100


@pytest.mark.parametrize("torn", [0, 1, 30, 400, 1000])
def test_verdicts_of_which_only_the_call_was_written_are_taken_from_it(ask_folder, torn):
    """As if the process had been killed between the two files, or within the second."""
    with FakeServer(logprobs=True) as server:
        root = ask_folder(server)
        ask(root)
        whole = lines(root)
        path = root / "judges" / "fake.jsonl"
        path.write_bytes(path.read_bytes()[:torn])
        asked = ask(root)
        assert (asked.requests, len(server.requests)) == (0, 2)
    again = {(line["qid"], line["nugget"]): line for line in lines(root)}
    assert len(again) == len(lines(root)) == 10
    for line in whole:
        assert {**again[line["qid"], line["nugget"]], "at": ""} == {**line, "at": ""}


@pytest.mark.slow
@pytest.mark.parametrize("slowest", range(3))
def test_an_interrupt_waits_for_what_is_paid_for(ask_folder, slowest):
    """All replies are held back until the interrupt is sent, and one of them longer."""
    sent = threading.Event()
    faults = [Fault(wait=0.5 * (number == slowest), until=sent.wait) for number in range(3)]
    with FakeServer(faults, delay=0.3) as server:
        root = ask_folder(server, questions=60, concurrency=3)
        interrupt(start(root, "--all"), server, sent)
        asked = len(server.requests)
        assert len(verdicts(root)) == 5 * asked
        assert asked < 60
        server.delay = 0
        ask(root)
    assert len(server.requests) == 60


@pytest.mark.slow
def test_an_interrupt_of_proposing_waits_for_what_is_paid_for_too(ask_folder):
    sent = threading.Event()
    faults = [Fault(content=NOTHING_NEW, until=sent.wait)] * 3
    with FakeServer(faults, always=lambda request: Fault(content=NOTHING_NEW), delay=0.3) as server:
        root = ask_folder(server, questions=60, concurrency=3)
        interrupt(start(root, "--propose", "answers"), server, sent)
    calls = lines(root, "judges/calls/fake.proposals.jsonl")
    assert [call["outcome"] for call in calls] == ["answered"] * len(server.requests)
    assert 3 <= len(calls) < 60


def interrupt(process, server, sent):
    """Interrupt a command as soon as it waits for three replies, which come when that is `sent`."""
    while len(server.requests) < 3:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    sent.set()
    assert process.wait(60) == 130
