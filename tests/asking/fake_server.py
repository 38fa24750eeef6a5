"""A language model that is a program: an OpenAI-compatible server on loopback that records what it is asked.

It says that an answer supports a nugget if the answer has all of its words, partly if it has half of them. `faults` are
used up in their order, one for each request; a fault is a function of the request that returns a `Fault`, or None for
a normal reply.
"""

from __future__ import annotations

import json
import re
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LABELS = ("support", "partial_support", "not_support")


@dataclass
class Request:
    """A request as it came, and what became of it."""

    body: dict[str, Any]
    headers: dict[str, str]
    connection: int  # the client's port
    at: float
    answered: bool = False
    unread: bool = False  # the client was gone before it had read the reply

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])

    @property
    def answer(self) -> str:
        """The text between the markers of this call."""
        return re.search(r"^\[begin (\w+)\]\n(.*)\n\[end \1\]$", self.prompt, re.DOTALL | re.MULTILINE)[2]

    @property
    def nuggets(self) -> list[str]:
        listed = self.prompt.split("[begin ")[0]
        return re.findall(r"^\d+\. (.*)$", listed, re.MULTILINE)


@dataclass
class Fault:
    """A reply that differs from the normal one."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content: str | None = None  # in place of the model's reply
    raw: bytes | None = None  # in place of the whole body
    cut: int | None = None  # the connection breaks after so many bytes of the body
    chunk: int | None = None  # the body comes in chunks of so many bytes
    wait: float = 0.0
    until: Callable[[], object] | None = None  # called before the reply is sent, which waits for it
    more: dict[str, Any] = field(default_factory=dict)  # keys of the completion


def labels_of(request: Request) -> list[str]:
    """What the model finds, by words."""
    has = set(re.findall(r"\w+", request.answer.lower()))
    found = []
    for nugget in request.nuggets:
        words = set(re.findall(r"\w+", nugget.lower()))
        share = len(words & has) / len(words)
        found.append(LABELS[0] if share == 1 else LABELS[1] if share >= 0.5 else LABELS[2])
    return found


def is_gone(connection: socket.socket) -> bool:
    """Whether the client has closed its end, for example because it was killed."""
    if not select.select([connection], [], [], 0)[0]:
        return False
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def reply_of(labels: Iterable[str]) -> str:
    return json.dumps({str(number): label for number, label in enumerate(labels, 1)})


class FakeServer:
    """Use as a context: `with FakeServer() as server: ... server.url`."""

    def __init__(
        self,
        faults: Iterable[Fault | Callable[[Request], Fault | None] | None] = (),
        always: Callable[[Request], Fault | None] | None = None,
        delay: float = 0.0,
        logprobs: bool = False,
        model: str = "fake-1",
        tokens: tuple[int, int] | None = (100, 20),
    ) -> None:
        self.requests: list[Request] = []
        self.most_at_once = self._now = 0
        self.faults, self.always = list(faults), always
        self.delay, self.logprobs, self.model, self.tokens = delay, logprobs, model, tokens
        self._lock, self._closed = threading.Lock(), threading.Condition()
        self._connections = 0  # that are open
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            last: Request | None = None

            def handle(self) -> None:
                """Whoever closes a connection with a reply that was not read resets it."""
                try:
                    super().handle()
                except ConnectionError:
                    if self.last is not None:
                        self.last.unread = True

            def do_POST(self) -> None:
                self.last = outer._serve(self)

            def log_message(self, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def process_request(self, request: Any, client_address: Any) -> None:
                with outer._closed:
                    outer._connections += 1
                super().process_request(request, client_address)

            def process_request_thread(self, request: Any, client_address: Any) -> None:
                try:
                    super().process_request_thread(request, client_address)
                finally:
                    with outer._closed:
                        outer._connections -= 1
                        outer._closed.notify_all()

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that was killed

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> FakeServer:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait_for_the_dead(self) -> None:
        """Wait until all clients are gone, and whatever they have sent is in `requests`."""
        with socket.create_connection(self._server.server_address[:2]) as last:
            last.shutdown(socket.SHUT_WR)
            last.recv(1)  # nothing, once it was let in, and all before it
        with self._closed:
            assert self._closed.wait_for(lambda: not self._connections, 60)

    def settings(self, **more: Any) -> str:
        """The section of `nuggeteer.toml` for this server."""
        values = {"url": self.url, "model": "fake", **more}
        return "[judge.fake]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items())

    @property
    def answered(self) -> list[Request]:
        return [request for request in self.requests if request.answered]

    def _serve(self, handler: BaseHTTPRequestHandler) -> Request:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Request(body, headers, handler.client_address[1], time.monotonic())
        with self._lock:
            self.requests.append(request)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            fault = self.faults.pop(0) if self.faults else self.always
        if callable(fault):
            fault = fault(request)
        fault = fault or Fault()
        time.sleep(self.delay + fault.wait)
        if fault.until is not None:
            fault.until()
        content = fault.raw if fault.raw is not None else self._completion(request, fault)
        with self._lock:
            self._now -= 1
        if is_gone(handler.connection):
            handler.close_connection = True
            return request
        handler.send_response(fault.status)
        for name, value in {"Content-Type": "application/json", **fault.headers}.items():
            handler.send_header(name, value)
        if fault.chunk is None:
            handler.send_header("Content-Length", str(len(content)))
        else:
            handler.send_header("Transfer-Encoding", "chunked")
            pieces = (content[at : at + fault.chunk] for at in range(0, len(content), fault.chunk))
            content = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        handler.end_headers()
        if fault.cut is not None:
            handler.wfile.write(content[: fault.cut])
            handler.wfile.flush()
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return request
        handler.wfile.write(content)
        request.answered = fault.status == 200
        return request

    def _completion(self, request: Request, fault: Fault) -> bytes:
        if fault.status != 200:
            return json.dumps({"error": {"message": fault.content or "no"}}).encode()
        content = reply_of(labels_of(request)) if fault.content is None else fault.content
        choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": content}}
        choice["finish_reason"] = "stop"
        if self.logprobs and request.body.get("logprobs"):
            choice["logprobs"] = {"content": as_tokens(content)}
        completion: dict[str, Any] = {"id": "x", "object": "chat.completion", "model": self.model, "choices": [choice]}
        if self.tokens:
            completion["usage"] = {"prompt_tokens": self.tokens[0], "completion_tokens": self.tokens[1]}
        for key, value in fault.more.items():
            (choice if key == "finish_reason" else completion)[key] = value
        return json.dumps(completion).encode()


def as_tokens(content: str) -> list[dict[str, Any]]:
    """The reply in pieces. Where a label begins, its first piece has the probability 0.7 and the others 0.2 and 0.1."""
    pieces = re.findall(r'"?(?:support|partial_|not_)|\w+|[^\w]', content)
    tokens = []
    for piece in pieces:
        begun = piece.strip('"')
        if begun in ("support", "partial_", "not_") and piece.startswith('"'):
            others = [f'"{other}' for other in ("support", "partial_", "not_") if other != begun]
            top = [{"token": piece, "logprob": -0.35667494}]
            top += [{"token": others[0], "logprob": -1.60943791}, {"token": others[1], "logprob": -2.30258509}]
        else:
            top = [{"token": piece, "logprob": 0.0}]
        tokens.append({"token": piece, "logprob": top[0]["logprob"], "top_logprobs": top})
    return tokens
