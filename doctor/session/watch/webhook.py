"""Posts JSON to an address, again after a while where that fails; its path and query, which are secrets, are shown
nowhere."""

from __future__ import annotations

import base64
import http.client
import threading
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from hashlib import sha256
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, unquote, urlsplit

import doctor
from doctor.session.watch.limit import Handler, Limit

SCHEMES = ("http", "https")
TIMEOUT = 10.0
"""Seconds that a receiver may be silent; an attempt as a whole may take PATIENCE times as long."""
PATIENCE = 3
PAUSES: Sequence[float] = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further attempt."""
LONGEST_PAUSE = 60.0
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may succeed (RFC 9110, RFC 6585, RFC 8470)."""
MOVED = frozenset({301, 302, 307, 308})
MOST_MOVES = 3


class AddressError(ValueError):
    """An address that cannot be posted to; str() says why, without its secrets."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where to post. `shown` names scheme and host alone: the path of a webhook is as good as a password."""

    url: str
    headers: Mapping[str, str]
    shown: str


@dataclass(frozen=True, slots=True)
class Posted:
    """How a post went: whether it was taken, after how many attempts, and the last answer or failure in words."""

    done: bool
    attempts: int
    answer: str


def read_address(url: str) -> Address:
    """The address in `url`, with its user and password as a header; AddressError where there is none."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        raise AddressError("is no address such as https://host/path") from None
    if parts.scheme not in SCHEMES:
        raise AddressError("should begin with https:// or http://")
    if not host or any(ord(char) <= 0x20 or ord(char) >= 0x7F for char in url.strip()):
        raise AddressError("should name a host and hold no space or other than ASCII, as in https://host/path")
    place = f"[{host}]" if ":" in host else host
    place += f":{port}" if port is not None else ""
    headers = {"Content-Type": "application/json; charset=utf-8", "User-Agent": f"pdoctor/{doctor.__version__}"}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode("ascii")
    plain = SplitResult(parts.scheme, place, parts.path or "/", parts.query, "").geturl()
    return Address(plain, headers, f"{parts.scheme}://{place}/…")


class Webhook:
    """Posts texts of JSON to one address; `stopping` ends the waiting between attempts."""

    def __init__(
        self, address: Address, stopping: threading.Event | None = None, pauses: Sequence[float] = PAUSES,
        timeout: float = TIMEOUT,
    ) -> None:  # fmt: skip
        self._address, self._pauses, self._timeout = address, pauses, timeout
        self.stopping = stopping or threading.Event()

    def post(self, document: str, told: Callable[[Posted], object] | None = None) -> Posted:
        """Posts `document`; never raises. A receiver can know a document again by its Idempotency-Key."""
        data = document.encode("utf-8")
        headers = {**self._address.headers, "Idempotency-Key": sha256(data).hexdigest()[:32]}
        posted = Posted(False, 0, "")
        for attempt, pause in enumerate((*self._pauses, None), 1):
            answer, done, wait = self._once(data, headers)
            posted = Posted(done, attempt, answer)
            if told is not None:
                told(posted)
            if done or wait is None or pause is None or self.stopping.wait(max(pause, wait)):
                break
        return posted

    def _once(self, data: bytes, headers: Mapping[str, str]) -> tuple[str, bool, float | None]:
        """One attempt: what came of it, whether it was taken, and the least seconds to wait, None for never again."""
        request = urllib.request.Request(self._address.url, data, dict(headers), method="POST")
        with Limit(PATIENCE * self._timeout) as limit:
            try:
                with _opener(limit).open(request, timeout=self._timeout) as response:
                    return _status(response.status), True, None
            except HTTPError as error:
                with suppress(OSError, http.client.HTTPException):
                    error.close()
                text = str(error.reason) if isinstance(error, _MovedError) else _status(error.code)
                return text, False, _asked(error.headers) if error.code in PASSING else None
            except (OSError, http.client.HTTPException) as error:
                why = error.reason if isinstance(error, URLError) else error
                return _why(TimeoutError() if limit.over else why), False, 0.0
            except (
                Exception
            ) as error:  # a server's answer may break more than is foreseen, and nothing may end the watch
                return type(error).__name__, False, None


class _MovedError(HTTPError):
    """A redirect that is not followed."""


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect with the same method and text, to the same scheme or from http to https, a few times."""

    max_redirections = MOST_MOVES

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if code not in MOVED:
            raise _MovedError("", code, _status(code), headers, fp)
        if new.scheme != old.scheme and (old.scheme, new.scheme) != ("http", "https"):
            raise _MovedError("", code, f"redirects to {new.scheme[:20]}://, which is not followed", headers, fp)
        fp.close()  # what is said besides may have no end
        kept = dict(req.header_items())
        if (new.hostname, new.port) != (old.hostname, old.port):
            kept.pop("Authorization", None)
        kept.pop("Host", None)
        kept.pop("Content-length", None)
        return urllib.request.Request(newurl, req.data, kept, method="POST")

    http_error_308 = urllib.request.HTTPRedirectHandler.http_error_302


def _opener(limit: Limit) -> urllib.request.OpenerDirector:
    """Speaks http and https alone, through the proxy that the environment names."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        Handler(limit),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


def _status(code: int) -> str:
    return f"HTTP {code} {http.client.responses.get(code, '')}".strip()


def _asked(headers: Message | None) -> float:
    """Seconds that the server asks to wait, up to a minute (RFC 9110, Retry-After)."""
    value = headers.get("Retry-After", "") if headers is not None else ""
    return min(float(value), LONGEST_PAUSE) if value.isdecimal() and value.isascii() else 0.0


def _why(error: object) -> str:
    """The system's word for a failure; other texts might quote the address."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__
