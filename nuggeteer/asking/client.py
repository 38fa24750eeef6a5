"""The HTTP client of one OpenAI-compatible endpoint.

Only this machine is asked unless `[judge.NAME] network = true` and the environment variable NUGGETEER_HOSTS names the
host. A collection may come from anybody, so its settings alone cannot send answers and a key to a host of their choice.

The key is read from the environment variable that the settings name. It is only in the request's header: `repr`,
errors and what is kept of replies do not have it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import orjson

from nuggeteer.asking.replies import Token
from nuggeteer.errors import NuggeteerError
from nuggeteer.settings import JudgeSettings

if TYPE_CHECKING:
    import httpx

HOSTS: Final = "NUGGETEER_HOSTS"
LARGEST_REPLY: Final = 16_000_000  # bytes
TOP: Final = 5  # alternatives of each token, the most that all servers give
# What a server may not know. It is left out when the server refuses it.
OPTIONAL: Final = ("response_format", "logprobs", "temperature", "max_tokens")


class Unavailable(Exception):
    """No usable reply this time. `wait` is how long the server asks to wait; `sent` says whether it may have worked on
    the request, and charged for it."""

    def __init__(self, what: str, wait: float | None = None, sent: bool = True) -> None:
        super().__init__(what)
        self.wait, self.sent = wait, sent


class Refused(Exception):
    """The server will not answer this request. `without` are the parts of it that the server may not know."""

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


@dataclass(frozen=True)
class Secret:
    """A key that does not show itself."""

    value: str = field(repr=False)

    def hidden(self, text: bytes) -> bytes:
        """The text without the key, in case a server quotes it."""
        return text.replace(self.value.encode(), b"***") if self.value else text


class Client:
    """Sends requests to one endpoint, one after the other. Each worker has its own."""

    def __init__(self, judge: JudgeSettings, environment: Mapping[str, str] = os.environ) -> None:
        self._judge = judge
        self._address = check_address(judge, environment)
        self._secret = _secret(judge, environment)
        self._httpx = _library()
        self._http: httpx.Client | None = None

    def send(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any], without: frozenset[str]) -> Reply:
        """One request. Raises `Unavailable`, `Refused`, or an error that holds for every request."""
        httpx = self._httpx
        body = orjson.dumps(self._body(messages, schema, without))
        try:
            with self._connection().stream("POST", self._address, content=body) as response:
                status, headers, content = response.status_code, response.headers, _read(response)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Unavailable(f"cannot connect to {self._address}", sent=False) from error
        except httpx.TimeoutException as error:
            raise Unavailable(f"no reply within {self._judge.timeout:g} s") from error
        except httpx.HTTPError as error:
            raise Unavailable(f"the connection broke: {type(error).__name__}") from error
        content = self._secret.hidden(content)
        if status == 200:
            return read_reply(content)
        self._raise(status, headers, content)
        raise AssertionError

    def close(self) -> None:
        if self._http is not None:
            self._http.close()

    def _connection(self) -> httpx.Client:
        if self._http is None:
            headers = {"Content-Type": "application/json"}
            if self._secret.value:
                headers["Authorization"] = f"Bearer {self._secret.value}"
            self._http = self._httpx.Client(
                headers=headers,
                timeout=self._judge.timeout,
                follow_redirects=False,
                # A proxy of the environment must not see what is meant for this machine.
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
        what = f"the server says {status}{_reason(content)}"
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
    where = f"nuggeteer.toml: [judge.{judge.name}] url"
    try:
        parts = urlsplit(judge.url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:  # its message may quote a key that somebody wrote into the address
        raise NuggeteerError(f"{where} is no address; write for example http://127.0.0.1:8080/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        raise NuggeteerError(f"{where} is no address; write for example http://127.0.0.1:8080/v1")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise NuggeteerError(f"{where} has more than a host, a port and a path; the key belongs into $key_env")
    if not is_loopback(host):
        if not judge.network:
            raise NuggeteerError(f"{where} is on another machine ({host}); to allow that, write network = true")
        if host not in {name.strip().lower() for name in environment.get(HOSTS, "").split(",")}:
            what = f"{where} is on another machine, and the answers would be sent to {host}"
            raise NuggeteerError(f"{what}; if you want that, say so outside of the collection: export {HOSTS}={host}")
        if parts.scheme != "https" and judge.key_env:
            raise NuggeteerError(f"{where} would send the key in the clear to {host}; write https")
    return f"{judge.url.rstrip('/')}/chat/completions"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_reply(content: bytes) -> Reply:
    """The reply in a server's answer; raises `Unavailable` if it is none."""
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
        text,
        choice.get("finish_reason") != "length",
        _tokens(choice),
        _text(whole.get("model")),
        _text(whole.get("system_fingerprint")),
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
        except ValueError:
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
        return Secret("")
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
    parts, size = [], 0
    for part in response.iter_bytes():
        parts.append(part)
        size += len(part)
        if size > LARGEST_REPLY:
            raise Unavailable(f"the server's answer has more than {LARGEST_REPLY:,} bytes")
    return b"".join(parts)


def _tokens(choice: dict[str, Any]) -> tuple[Token, ...] | None:
    """The pieces of the reply with their alternatives; None where the server gives none, or garbage."""
    try:
        listed = choice["logprobs"]["content"]
        return tuple(
            Token(
                str(piece["token"]),
                {str(other["token"]): float(other["logprob"]) for other in piece.get("top_logprobs") or [piece]},
            )
            for piece in listed
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _reason(content: bytes) -> str:
    """The server's own words about an error, the first of them."""
    try:
        whole = orjson.loads(content)
        message = whole.get("error", whole.get("message"))
        message = message.get("message") if isinstance(message, dict) else message
    except (ValueError, AttributeError):
        return ""
    return f": {message[:200]}" if isinstance(message, str) and message else ""


def _named(content: bytes) -> frozenset[str]:
    """The optional parts of a request that an error names."""
    text = content[:2000].decode("utf-8", "replace")
    words = {"json_schema": "response_format", "top_logprobs": "logprobs", "max_completion_tokens": "max_tokens"}
    found = {words.get(word, word) for word in re.findall(r"[a-z]+(?:_[a-z]+)*", text)}
    return frozenset(found & set(OPTIONAL))


def _text(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) and value else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
