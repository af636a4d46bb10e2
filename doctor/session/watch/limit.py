"""HTTP requests that end in time, whatever the other side does."""

from __future__ import annotations

import http.client
import socket
import threading
import urllib.request
from contextlib import suppress
from typing import Any


class Limit:
    """Cuts the connections of an attempt that lasts too long: one that sends a little now and then is never silent."""

    def __init__(self, seconds: float) -> None:
        self.over = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Limit:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            for one in self._sockets:
                one.close()
            self._sockets = []

    def watch(self, made: socket.socket) -> None:
        """The same connection under another number: TLS takes the first one away."""
        with self._lock:
            self._sockets.append(made.dup())
        if self.over:
            self._cut()

    def _cut(self) -> None:
        self.over = True
        with self._lock:
            for one in self._sockets:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)


class _Connection(http.client.HTTPConnection):
    """Whose socket is told to `limit`, before anything is said on it."""

    limit: Limit

    def connect(self) -> None:
        super().connect()
        self.limit.watch(self.sock)


class _Secure(http.client.HTTPSConnection, _Connection):
    """The same; HTTPSConnection comes first, and connects through the other one."""


class Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Speaks http and https within `limit`."""

    def __init__(self, limit: Limit) -> None:
        super().__init__()
        self._limit = limit

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self._open(_Connection, req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self._open(_Secure, req)

    def _open(self, kind: type[_Connection], req: urllib.request.Request) -> http.client.HTTPResponse:
        connection: Any = type("_Within", (kind,), {"limit": self._limit})
        return self.do_open(connection, req)
