from __future__ import annotations

import socket
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress

import pytest

from doctor.session.watch.webhook import AddressError, Webhook, read_address
from tests.session.watch.receiver import receiver

SOON = (0.01, 0.01, 0.01)


def hook(url: str, **more: object) -> Webhook:
    return Webhook(read_address(url), pauses=SOON, **more)  # type: ignore[arg-type]


def test_json_is_posted() -> None:
    with receiver() as told:
        posted = hook(f"{told.url}/services/a?b=c").post('{"rule":"MEM001"}')
    path, headers, body = told.heard[0]
    assert posted.done
    assert (path, body) == ("/services/a?b=c", {"rule": "MEM001"})
    assert headers["Content-Type"].startswith("application/json")
    assert len(told.heard) == 1


def test_a_passing_failure_is_tried_again_with_the_same_key() -> None:
    with receiver([(503, {}), (429, {"Retry-After": "0"}), (200, {})]) as told:
        posted = hook(told.url).post("{}")
    assert (posted.done, posted.attempts) == (True, 3)
    assert len({headers["Idempotency-Key"] for _, headers, _ in told.heard}) == 1


@pytest.mark.parametrize("status", [400, 401, 404, 410])
def test_a_refusal_is_final(status: int) -> None:
    with receiver([(status, {})]) as told:
        posted = hook(told.url).post("{}")
    assert (posted.done, posted.attempts) == (False, 1)
    assert str(status) in posted.answer


def test_nobody_there_is_tried_again_and_then_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        posted = hook(f"http://127.0.0.1:{taken.getsockname()[1]}/x").post("{}")
    assert (posted.done, posted.attempts, posted.answer) == (False, 4, "Connection refused")


def test_a_receiver_that_never_answers_costs_its_time_out() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        posted = hook(f"http://127.0.0.1:{deaf.getsockname()[1]}/", timeout=0.05).post("{}")
    assert (posted.done, posted.answer) == (False, "no answer in time")


def test_waiting_ends_when_the_watch_ends() -> None:
    stopping = threading.Event()
    stopping.set()
    with receiver([(503, {})]) as told:
        posted = Webhook(read_address(told.url), stopping, pauses=(3600.0,)).post("{}")
    assert (posted.done, posted.attempts) == (False, 1)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_of_the_same_scheme_is_followed_with_what_is_posted(status: int) -> None:
    with receiver() as target, receiver([(status, {"Location": f"{target.url}/there"})]) as told:
        posted = hook(told.url).post('{"a":1}')
    assert posted.done
    assert [(path, body) for path, _, body in target.heard] == [("/there", {"a": 1})]


def test_the_password_does_not_follow_to_another_host() -> None:
    with receiver() as target, receiver([(307, {"Location": f"{target.url}/there"})]) as told:
        hook(f"http://me:secret@127.0.0.1:{told.port}/").post("{}")
    assert told.heard[0][1]["Authorization"] == "Basic " + b64encode(b"me:secret").decode()
    assert "Authorization" not in target.heard[0][1]


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/"])
def test_a_redirect_to_another_scheme_is_not_followed(place: str) -> None:
    with receiver([(302, {"Location": place})]) as told:
        posted = hook(told.url).post("{}")
    assert not posted.done
    assert posted.attempts == 1


def test_a_circle_of_redirects_ends() -> None:
    with receiver([(302, {"Location": "/round"})]) as told:
        posted = hook(told.url).post("{}")
    assert not posted.done
    assert len(told.heard) < 10


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example/x",
        "file:///etc/passwd",
        "ftp://h/x",
        "https://",
        "https://h:port/",
        "http://a b/",
        "http://[::1",
    ],
)
def test_what_is_no_address_is_said_without_it(url: str) -> None:
    with pytest.raises(AddressError) as error:
        read_address(url)
    assert "passwd" not in str(error.value)


def test_secrets_of_the_address_are_shown_nowhere() -> None:
    address = read_address("https://me:s3cret@hooks.example:8443/services/T0KEN?sig=abc#frag")
    assert address.shown == "https://hooks.example:8443/…"
    with receiver([(404, {})]) as told:
        posted = hook(f"{told.url}/T0KEN").post("{}")
    assert "T0KEN" not in posted.answer


def drips(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X")
        time.sleep(0.01)


def goes_on(connection: socket.socket) -> None:
    while True:
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.001)


def endless_redirect(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 302 Found\r\nLocation: /there\r\n\r\n")
    while True:
        connection.sendall(b"x" * 65536)


def endless_heads(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"a: " + b"b" * 60000 + b"\r\n")


@pytest.mark.parametrize("answer", [drips, goes_on, endless_redirect, endless_heads])
def test_a_receiver_that_answers_without_end_is_hung_up_on(answer: Callable[[socket.socket], None]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                connection.recv(1 << 16)
                answer(connection)

        threading.Thread(target=serve, daemon=True).start()
        posted = hook(f"http://127.0.0.1:{server.getsockname()[1]}/", timeout=0.1).post("{}")
        assert posted.done == posted.answer.startswith("HTTP 200")
