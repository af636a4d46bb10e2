"""Serves a text at /metrics: to many readers at once, of which none keeps another waiting, and each for a moment."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LOOPBACK = "127.0.0.1"
PATIENCE = 2.0
"""Seconds that a reader may take from its connection to its last byte."""

MOST_READERS = 64
"""Readers at once; the one that has taken longest makes room for a further one."""

LARGEST = 8192
"""Bytes of a request."""


@dataclass(slots=True, eq=False)
class _Reader:
    """`answer` is what is left to send, None until the request is read."""

    connection: socket.socket
    until: float
    asked: bytearray = field(default_factory=bytearray)
    answer: memoryview | None = None


class MetricsServer:
    """Answers GET /metrics with `text`; others get 404. OSError where the port is taken or not allowed."""

    def __init__(self, text: Callable[[], str], port: int, host: str = LOOPBACK) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._text = text
        self._listener = socket.create_server((host, port), family=family)
        self._listener.setblocking(False)
        self.host, self.port = self._listener.getsockname()[:2]
        self._woken, self._waker = socket.socketpair()
        self._readers: dict[int, _Reader] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._waker.close()
        self._thread.join(PATIENCE)

    def _serve(self) -> None:
        while True:
            first = min((reader.until for reader in self._readers.values()), default=None)
            timeout = None if first is None else max(first - time.monotonic(), 0.0)
            for key, _ in self._selector.select(timeout):
                if key.fileobj is self._woken:
                    self._end()
                    return
                if key.fileobj is self._listener:
                    self._accept()
                elif (reader := self._readers.get(key.fd)) is not None:
                    self._go_on(reader)
            now = time.monotonic()
            for reader in [one for one in self._readers.values() if one.until <= now]:
                self._drop(reader)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:  # gone again, or no descriptor is left
            time.sleep(0.05)
            return
        if len(self._readers) >= MOST_READERS:
            self._drop(next(iter(self._readers.values())))
        connection.setblocking(False)
        self._readers[connection.fileno()] = _Reader(connection, time.monotonic() + PATIENCE)
        self._selector.register(connection, selectors.EVENT_READ)

    def _go_on(self, reader: _Reader) -> None:
        try:
            if reader.answer is None:
                data = reader.connection.recv(LARGEST)
                reader.asked += data
                whole = b"\r\n\r\n" in reader.asked or b"\n\n" in reader.asked
                if not whole and data and len(reader.asked) < LARGEST:
                    return
                if not whole:
                    self._drop(reader)
                    return
                reader.answer = memoryview(self._answer(bytes(reader.asked)))
                self._selector.modify(reader.connection, selectors.EVENT_WRITE)
            reader.answer = reader.answer[reader.connection.send(reader.answer) :]
            if not reader.answer:
                self._drop(reader)
        except BlockingIOError:
            return
        except OSError:
            self._drop(reader)

    def _answer(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b" ")
        status, body = "404 Not Found", b""
        if method in (b"GET", b"HEAD") and rest.split(b" ")[0].partition(b"?")[0] == b"/metrics":
            status, body = "200 OK", self._text().encode("utf-8", errors="replace")
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
        )
        return head.encode() + b"\r\n" + (body if method != b"HEAD" else b"")

    def _drop(self, reader: _Reader) -> None:
        del self._readers[reader.connection.fileno()]
        self._selector.unregister(reader.connection)
        with suppress(OSError):
            reader.connection.close()

    def _end(self) -> None:
        for reader in [*self._readers.values()]:
            self._drop(reader)
        self._selector.close()
        self._listener.close()
        self._woken.close()
