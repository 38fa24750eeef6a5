"""The HTTP client of one OpenAI-compatible endpoint.

Only this machine is asked unless `[judge.NAME] network = true` and the environment variable NUGGETEER_HOSTS names the
host. A collection may come from anybody, so its settings alone cannot send answers and a key to a host of their choice.

The key is read from the environment variable that the settings name. It is only in the request's header, never in
`repr`, errors or stored replies.
"""

from __future__ import annotations

import math
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

import orjson

from nuggeteer.asking.replies import Token
from nuggeteer.asking.secret import Secret
from nuggeteer.errors import NuggeteerError
from nuggeteer.settings import JudgeSettings

if TYPE_CHECKING:
    import httpx

HOSTS: Final = "NUGGETEER_HOSTS"
LARGEST_REPLY: Final = 16_000_000  # bytes
LONGEST_ADDRESS: Final = 2000  # characters
TOP: Final = 5  # alternatives of each token, the most that all servers give
NO_SECRET: Final = Secret("")
# Parts that some servers do not support; dropped once refused.
OPTIONAL: Final = ("response_format", "logprobs", "temperature", "max_tokens")


class Unavailable(Exception):
    """No usable reply this time. `wait` is how long the server asks to wait; `sent` says whether it may have worked on
    the request, and charged for it."""

    def __init__(self, what: str, wait: float | None = None, sent: bool = True) -> None:
        super().__init__(what)
        self.wait, self.sent = wait, sent


class Refused(Exception):
    """The server will not answer this request. `without` are the parts that it may not support."""

    def __init__(self, what: str, without: frozenset[str] = frozenset()) -> None:
        super().__init__(what)
        self.without = without


@dataclass(frozen=True)
class Reply:
    """What a model replied, and what the server says about it."""

    content: str
    finished: bool  # False where the reply was cut off
    tokens: tuple[Token, ...] | None
    model: str | None
    fingerprint: str | None
    input_tokens: int | None
    output_tokens: int | None


class Client:
    """Sends requests to one endpoint, one after the other. Each worker has its own."""

    def __init__(self, judge: JudgeSettings, environment: Mapping[str, str] = os.environ) -> None:
        self._judge = judge
        self._address = check_address(judge, environment)
        self._secret = _secret(judge, environment)
        self._httpx = _library()
        self._http: httpx.Client | None = None
        self._socket: socket.socket | None = None  # of the connection that was made last
        self._over = threading.Event()

    def send(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], without: frozenset[str]) -> Reply:
        """One request. Raises `Unavailable`, `Refused`, or an error that holds for every request."""
        httpx, over = self._httpx, f"no reply within {self._judge.timeout:g} s"
        body = orjson.dumps(self._body(messages, schema, without))
        with self._deadline() as is_over:
            extensions = {"trace": self._keep_socket}
            try:
                with self._connection().stream("POST", self._address, content=body, extensions=extensions) as response:
                    status, headers, content = response.status_code, response.headers, _read(response)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                raise Unavailable(f"cannot connect to {self._address}", sent=False) from error
            except httpx.HTTPError as error:
                late = is_over() or isinstance(error, httpx.TimeoutException)
                raise Unavailable(over if late else f"the connection broke: {type(error).__name__}") from error
            except (httpx.InvalidURL, UnicodeError) as error:
                raise NuggeteerError(f"{_where(self._judge)} {_NO_ADDRESS}") from error
            if is_over():  # of a reply without a length, the end may be missing
                raise Unavailable(over)
        if status == 200:
            return read_reply(content, self._secret)
        self._raise(status, headers, content)
        raise AssertionError

    def close(self) -> None:
        if self._http is not None:
            self._http.close()

    @contextmanager
    def _deadline(self) -> Iterator[Callable[[], bool]]:
        """The time of one whole request. When it is over, the connection is cut. httpx would begin to count anew with
        each piece that comes, so a server that sends a byte now and then, or "100 Continue" for ever, would keep us
        waiting."""
        self._over = over = threading.Event()
        timer = threading.Timer(self._judge.timeout, self._cut, [over])
        timer.daemon = True
        timer.start()
        try:
            yield over.is_set
        finally:
            timer.cancel()

    def _cut(self, over: threading.Event) -> None:
        over.set()
        if self._socket is not None:
            with suppress(OSError):
                # Not the method of a socket with TLS, from which another thread is reading.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _keep_socket(self, event: str, about: Mapping[str, Any]) -> None:
        """httpx calls this at each step of a request."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._socket = about["return_value"].get_extra_info("socket")
            if self._over.is_set():
                self._cut(self._over)

    def _connection(self) -> httpx.Client:
        if self._http is None:
            # Nothing compressed: a few bytes can become gigabytes.
            headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
            if self._secret.value:
                headers["Authorization"] = f"Bearer {self._secret.value}"
            self._http = self._httpx.Client(
                headers=headers,
                # To connect, and then to agree on keys: these are not cut.
                timeout=self._httpx.Timeout(self._judge.timeout, connect=self._judge.timeout / 2),
                follow_redirects=False,
                # A proxy from the environment must not see what is meant for this machine.
                trust_env=not is_loopback(urlsplit(self._address).hostname or ""),
                verify=self._address.startswith("https"),  # without certificates to read, a client is made at once
            )
        return self._http

    def _body(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], without: frozenset[str]
    ) -> dict[str, Any]:
        limit = "max_completion_tokens" if "max_tokens" in without else "max_tokens"
        body: dict[str, Any] = {"model": self._judge.model, "messages": list(messages), limit: self._judge.max_tokens}
        if "temperature" not in without:
            body["temperature"] = 0
        if "logprobs" not in without:
            body |= {"logprobs": True, "top_logprobs": TOP}
        if "response_format" not in without:
            named = {"name": "reply", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def _raise(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        what = f"the server says {status}{_reason(content, self._secret)}"
        if status in (408, 409, 425, 429) or status >= 500:
            raise Unavailable(what, retry_after(headers.get("retry-after")), sent=status >= 500)
        if status in (401, 403):
            key = f"; the key comes from ${self._judge.key_env}" if self._judge.key_env else "; no key_env is set"
            raise NuggeteerError(f"{self._address}: {what}{key}")
        if status in (404, 405) or 300 <= status < 400:
            raise NuggeteerError(f"{self._address}: {what}; look at url and model in [judge.{self._judge.name}]")
        raise Refused(what, _named(content))


def check_address(judge: JudgeSettings, environment: Mapping[str, str] = os.environ) -> str:
    """Where requests go; raises if that is not allowed."""
    where, parts, host = _where(judge), _parts(judge), endpoint_host(judge)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise NuggeteerError(f"{where} has more than a host, a port and a path; the key belongs in $key_env")
    if not is_loopback(host):
        if not judge.network:
            raise NuggeteerError(f"{where} is on another machine ({host}); to allow that, write network = true")
        if host not in {name.strip().lower() for name in environment.get(HOSTS, "").split(",")}:
            what = f"{where} is on another machine, and the answers would be sent to {host}"
            raise NuggeteerError(f"{what}; if you want that, say so outside of the collection: export {HOSTS}={host}")
        if parts.scheme != "https" and judge.key_env:
            raise NuggeteerError(f"{where} would send the key in the clear to {host}; write https")
    return f"{judge.url.rstrip('/')}/chat/completions"


def endpoint_host(judge: JudgeSettings) -> str:
    """The host of a judge's address; raises if that is not an address."""
    return _parts(judge).hostname or ""


def _parts(judge: JudgeSettings) -> SplitResult:
    with suppress(ValueError):  # its message may quote a key that somebody wrote into the address
        parts = urlsplit(judge.url if re.fullmatch(rf"[!-~]{{1,{LONGEST_ADDRESS}}}", judge.url) else "")
        if parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    raise NuggeteerError(f"{_where(judge)} {_NO_ADDRESS}")


def _where(judge: JudgeSettings) -> str:
    return f"nuggeteer.toml: [judge.{judge.name}] url"


_NO_ADDRESS: Final = "is not an address; write for example http://127.0.0.1:8080/v1"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_reply(content: bytes, secret: Secret = NO_SECRET) -> Reply:
    """The reply in a server's answer, without the key; raises `Unavailable` if there is none."""
    try:
        whole = orjson.loads(content)
        choice = whole["choices"][0]
        text = choice["message"].get("content") or ""
        if not isinstance(text, str):
            raise TypeError
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise Unavailable("the server's answer is not a chat completion") from error
    usage = whole.get("usage") if isinstance(whole.get("usage"), dict) else {}
    return Reply(
        secret.hidden(text),
        choice.get("finish_reason") != "length",
        _tokens(choice),
        _text(whole.get("model"), secret),
        _text(whole.get("system_fingerprint"), secret),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
    )


def retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a header that has seconds or a date."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except (ValueError, OverflowError):  # a year of twenty digits
            return None
        seconds = ((when if when.tzinfo else when.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _library() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise NuggeteerError("asking a language model needs the package httpx: install nuggeteer[ask]") from error
    return httpx


def _secret(judge: JudgeSettings, environment: Mapping[str, str]) -> Secret:
    if not judge.key_env:
        return NO_SECRET
    key = environment.get(judge.key_env, "").strip()
    if not key:
        what = (
            f"the environment variable {judge.key_env} is empty; [judge.{judge.name}] key_env says that it has the key"
        )
        raise NuggeteerError(what)
    if not re.fullmatch(r"[!-~]+", key) or '"' in key or "\\" in key:
        raise NuggeteerError(f"the environment variable {judge.key_env} holds no key: only printable ASCII, no quotes")
    return Secret(key)


def _read(response: httpx.Response) -> bytes:
    """The body as it came."""
    if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Unavailable("the server's answer is compressed, and it was asked not to compress")
    parts, size = [], 0
    for part in response.iter_raw():
        parts.append(part)
        size += len(part)
        if size > LARGEST_REPLY:
            raise Unavailable(f"the server's answer has more than {LARGEST_REPLY:,} bytes")
    return b"".join(parts)


def _tokens(choice: dict[str, Any]) -> tuple[Token, ...] | None:
    """The pieces of the reply with their alternatives; None if the server gives none, or garbage."""
    try:
        return tuple(map(_token, choice["logprobs"]["content"]))
    except (KeyError, TypeError, AttributeError):
        return None


def _token(piece: Any) -> Token:
    alternatives = {other["token"]: other["logprob"] for other in piece.get("top_logprobs") or [piece]}
    whole = all(isinstance(text, str) and isinstance(value, int | float) for text, value in alternatives.items())
    if not whole or not isinstance(piece["token"], str):
        raise TypeError
    return Token(piece["token"], alternatives)


def _reason(content: bytes, secret: Secret) -> str:
    """The server's own words about an error, the first of them."""
    try:
        whole = orjson.loads(content)
        message = whole.get("error", whole.get("message"))
        message = message.get("message") if isinstance(message, dict) else message
    except (ValueError, AttributeError):
        return ""
    return f": {secret.hidden(message)[:200]}" if isinstance(message, str) and message else ""


def _named(content: bytes) -> frozenset[str]:
    """The optional parts of a request that an error names."""
    text = content[:2000].decode("utf-8", "replace")
    words = {"json_schema": "response_format", "top_logprobs": "logprobs", "max_completion_tokens": "max_tokens"}
    found = {words.get(word, word) for word in re.findall(r"[a-z]+(?:_[a-z]+)*", text)}
    return frozenset(found & set(OPTIONAL))


def _text(value: Any, secret: Secret) -> str | None:
    return secret.hidden(value)[:200] if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
