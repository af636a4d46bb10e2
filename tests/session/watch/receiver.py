"""A receiver of webhooks on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


@dataclass
class Receiver:
    """`answers` are (status, headers) in turn, the last one again and again; `heard` is what came."""

    port: int = 0
    answers: list[tuple[int, dict[str, str]]] = field(default_factory=lambda: [(200, {})])
    heard: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def receiver(answers: Sequence[tuple[int, dict[str, str]]] = ((200, {}),)) -> Iterator[Receiver]:
    told = Receiver(answers=list(answers))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            told.heard.append((self.path, dict(self.headers), json.loads(body)))
            status, headers = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    told.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield told
    finally:
        server.shutdown()
        server.server_close()
