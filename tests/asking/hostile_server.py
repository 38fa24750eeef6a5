"""A server that is a few lines on a socket, for what no library of servers would send."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress

PATIENCE = 10.0  # seconds, after which a server gives up that goes on for ever: a test must end though its client waits


class HostileServer:
    """Use as a context. `act` gets each connection, once a request has come."""

    def __init__(self, act: Callable[[socket.socket], object], reads: bool = True) -> None:
        self._act, self._reads, self._listening = act, reads, socket.create_server(("127.0.0.1", 0), backlog=64)
        self.received: list[bytes] = []
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/v1"

    def __enter__(self) -> HostileServer:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(self._listening.accept()[0],), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, ssl.SSLError):
            if self._reads:
                self.received.append(connection.recv(1 << 20))
            self._act(connection)


def for_ever(piece: bytes, first: bytes = b"", pause: float = 0.05) -> Callable[[socket.socket], None]:
    """Send something first, and then a piece again and again."""

    def act(connection: socket.socket) -> None:
        connection.sendall(first)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            connection.sendall(piece)
            time.sleep(pause)

    return act


def reply(body: bytes, *headers: str, status: str = "200 OK") -> Callable[[socket.socket], None]:
    """Send a whole reply."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]).encode()
    return lambda connection: connection.sendall(head + body)


OK = b"HTTP/1.1 200 OK\r\n"
SLOW = {
    "says nothing": for_ever(b""),
    "a byte of the first line at a time": for_ever(b"H"),
    "a header without an end": for_ever(b"x", OK + b"X-Long: "),
    "one header after the other": for_ever(b"X: y\r\n", OK),
    "a byte of the body at a time": for_ever(b" ", OK + b"Content-Length: 1000000\r\n\r\n"),
    "a body without a length": for_ever(b" ", OK + b"\r\n"),
    "chunk after chunk": for_ever(b"1\r\n \r\n", OK + b"Transfer-Encoding: chunked\r\n\r\n"),
    "continue now and then": for_ever(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "continue as fast as it can": for_ever(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, pause=0),
}

BOMB = bytes(20_000_000)
COMPRESSED = {
    "gzip": gzip.compress(BOMB),
    "gzip, gzip": gzip.compress(gzip.compress(BOMB)),
    "deflate": zlib.compress(BOMB),
    "br": b"\x8b\x00\x80\x00\x03",
    "zstd": bytes.fromhex("28b52ffd0058"),
    "GZIP": gzip.compress(b"{}"),
}
