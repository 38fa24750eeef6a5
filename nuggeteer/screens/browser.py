"""The terminal application in a browser on the same machine, by `textual-serve`.

It listens on the loopback address only. Everything is served under a random token that only the printed address
contains. The answer is 403 without the token, for another host name (such as a domain made to resolve to this machine),
and for a page of another origin. This holds for the page, its files and the websocket that carries the keys. Nothing is
fetched from anywhere else.
"""

from __future__ import annotations

import secrets
import shlex
import socket
import sys
from collections.abc import Sequence
from hmac import compare_digest
from typing import Any

from nuggeteer.errors import NuggeteerError

HOST = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self' ws://{host}; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


def application(command: str, port: int, token: str) -> Any:
    """The pages and the websocket of the server, behind the token: a coroutine for aiohttp."""
    try:
        from aiohttp import web
        from textual_serve.server import Server
    except ImportError as error:
        raise NuggeteerError("--browser needs textual-serve: pip install 'nuggeteer[browser]'") from error

    host = f"{HOST}:{port}"

    async def print_nothing(app: Any) -> None:
        """In place of the server's own banner: `serve` prints the address."""

    @web.middleware
    async def guard(request: Any, handler: Any) -> Any:
        origin = request.headers.get("Origin")
        first = request.path.split("/")[1]
        if (
            not compare_digest(first.encode(), token.encode())
            or request.headers.get("Host") != host
            or origin not in (None, f"http://{host}")
        ):
            raise web.HTTPForbidden(text="Open the address that `nuggeteer judge --browser` printed.\n")
        return await handler(request)

    async def harden(request: Any, response: Any) -> None:
        response.headers["Content-Security-Policy"] = POLICY.format(host=host)
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"

    async def make() -> Any:
        server: Any = Server(command, host=HOST, port=port, title="nuggeteer judge")
        server.on_startup = print_nothing
        inner = await server._make_app()
        outer = web.Application(middlewares=[guard])
        outer.add_subapp(f"/{token}", inner)
        outer.on_response_prepare.append(harden)
        return outer

    return make()


def serve(words: Sequence[str]) -> None:
    """Serve `judge` with these command-line arguments until interrupted."""
    with socket.create_server((HOST, 0)) as listening:
        port = listening.getsockname()[1]
        token = secrets.token_urlsafe(24)
        command = shlex.join([sys.executable, "-m", "nuggeteer", "judge", *words])
        app = application(command, port, token)
        from aiohttp import web

        print(
            f"Open http://{HOST}:{port}/{token}/ in a browser on this machine, and click into it. Ctrl+C ends it.",
            flush=True,
        )
        web.run_app(app, sock=listening, print=None)
