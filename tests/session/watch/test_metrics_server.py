from __future__ import annotations

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from doctor.session.watch.metrics_server import CONTENT_TYPE, MetricsServer


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    made = MetricsServer(lambda: "pdoctor_step 7\n", 0)
    yield made
    made.close()


def get(server: MetricsServer, path: str = "/metrics") -> tuple[str, str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=60) as answer:
        return answer.headers["Content-Type"], answer.read().decode()


def test_the_port_answers_on_loopback_alone(server: MetricsServer) -> None:
    assert get(server) == (CONTENT_TYPE, "pdoctor_step 7\n")
    assert get(server, "/metrics?name=x")[1] == "pdoctor_step 7\n"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(server, "/etc/passwd")
    assert server.host == "127.0.0.1"
    with pytest.raises(OSError, match="in use"):
        MetricsServer(lambda: "", server.port)


def test_readers_that_ask_for_nothing_keep_nobody_waiting(server: MetricsServer) -> None:
    with ExitStack() as idle:
        for number in range(300):
            one = idle.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60))
            one.sendall(b"GET /met"[: number % 9])
        assert get(server)[1] == "pdoctor_step 7\n"


@pytest.mark.parametrize("request_", [b"\x16\x03\x01" * 4000, b"GET " + b"/" * 100_000, b"\r\n\r\n", b"\n\n"])
def test_what_is_no_request_is_hung_up_on(server: MetricsServer, request_: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as one:
        try:
            one.sendall(request_)
            assert b"200 OK" not in one.recv(100)
        except ConnectionError:
            pass
    assert get(server)[1] == "pdoctor_step 7\n"


def test_a_large_text_arrives_whole() -> None:
    text = "pdoctor_step 7\n" * 500_000
    server = MetricsServer(lambda: text, 0)
    try:
        assert get(server)[1] == text
    finally:
        server.close()


def test_the_port_is_free_again_at_once(server: MetricsServer) -> None:
    first = MetricsServer(lambda: "", 0)
    first.close()
    MetricsServer(lambda: "", first.port).close()
