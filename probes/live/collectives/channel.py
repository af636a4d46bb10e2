"""The side that gives orders: a listening socket, a connection a rank, and who did not answer."""

from __future__ import annotations

import json
import secrets
import selectors
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]

LONGEST = 1 << 16
"""Bytes of a line: what is longer is no answer of ours."""

GRACE, PONG = 2.0, 2.0
"""Seconds for the others to answer once one is gone, and to answer a ping."""

POLL = 0.2


class RanksLost(Exception):
    """Ranks did not answer. `ranks` is empty where all wait alike."""

    def __init__(self, ranks: Iterable[int], why: str) -> None:
        super().__init__(why)
        self.ranks = tuple(sorted(ranks))
        self.why = why


@dataclass(slots=True)
class Connection:
    """One connection; `rank` is -1 until it says whose it is."""

    socket: socket.socket
    rank: int = -1
    unread: bytes = b""


@dataclass(slots=True)
class Channel:
    """Connections of all ranks. `clock` gives seconds that never go back."""

    listener: socket.socket
    clock: Callable[[], float]
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    ranks: dict[int, Connection] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)
    backends: dict[int, str] = field(default_factory=dict)
    gone: dict[int, str] = field(default_factory=dict)
    launched: Json | None = None
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)
    orders: int = 0

    def __post_init__(self) -> None:
        self.listener.setblocking(False)
        self.selector.register(self.listener, selectors.EVENT_READ)

    def gather(self, world: int | None, seconds: float, alive: Callable[[], str]) -> int:
        """Waits for `world` ranks (None: as many as the launcher says) and gives back their number.

        `alive` says why the own process has ended, nothing while it runs. Raises RanksLost.
        """
        end = self.clock() + seconds
        while True:
            if world is None and self.launched is not None:
                world = int(self.launched["launch"])
            if world is not None and len(self.ranks) >= world:
                return world
            missing = sorted(set(range(world or 0)) - set(self.ranks))
            if (reason := alive()) and (world is None or not self.ranks):
                raise RanksLost(missing, reason)
            if any(rank in self.gone for rank in missing) or self.clock() > end:
                why = "; ".join(f"rank {rank}: {self.gone[rank]}" for rank in missing if rank in self.gone)
                raise RanksLost(missing, why or f"did not come within {seconds:.0f} s")
            self._pump(POLL)

    def again(self, world: int, seconds: float, alive: Callable[[], str]) -> None:
        """Starts every rank anew, also those that hang, and waits for them. Raises RanksLost."""
        for rank, connection in self.ranks.items():
            self._send(rank, {"do": "again"})
            if rank not in self.gone:
                self.selector.unregister(connection.socket)
                connection.socket.close()
        self.ranks.clear()
        self.gone.clear()
        self.gather(world, seconds, alive)

    def answers(self, orders: Mapping[int, Json], seconds: float) -> dict[int, Json]:
        """Gives each rank its order: what is answered within `seconds`, which may be less than all."""
        self.orders += 1
        number, answers = self.orders, dict[int, Json]()
        self._inbox = lambda rank, message: answers.setdefault(rank, message) if message.get("id") == number else None
        for rank, order in orders.items():
            self._send(rank, {**order, "id": number})
        end = self.clock() + seconds
        while not orders.keys() <= answers.keys() | self.gone.keys() and self.clock() < end:
            self._pump(min(POLL, max(0.0, end - self.clock())))
        return answers

    def ask(self, orders: Mapping[int, Json], seconds: float) -> dict[int, Json]:
        """Gives each rank its order and waits for all answers, at most `seconds`. Raises RanksLost."""
        self.orders += 1
        number, answers, pongs = self.orders, dict[int, Json](), set[int]()
        self._inbox = lambda rank, message: (
            answers.setdefault(rank, message)
            if message.get("id") == number
            else pongs.add(rank)
            if message.get("pong") == number
            else None
        )
        for rank, order in orders.items():
            self._send(rank, {**order, "id": number})
        end = self.clock() + seconds
        hurried = False
        while (waiting := orders.keys() - answers.keys()) and self.clock() < end:
            if not hurried and (waiting & self.gone.keys() or any("error" in answer for answer in answers.values())):
                hurried, end = True, min(end, self.clock() + GRACE)
            if waiting <= self.gone.keys():
                break
            self._pump(min(POLL, max(0.0, end - self.clock())))
        if not waiting:
            return answers
        raise self._lost(waiting, answers, pongs, number, seconds)

    _inbox: Callable[[int, Json], object] = field(default=lambda rank, message: None)

    def _lost(
        self, waiting: set[int], answers: Mapping[int, Json], pongs: set[int], number: int, seconds: float
    ) -> RanksLost:
        if gone := waiting & self.gone.keys():
            return RanksLost(gone, "; ".join(sorted({self.gone[rank] for rank in gone})))
        for rank in waiting:
            self._send(rank, {"do": "ping", "id": number})
        end = self.clock() + PONG
        while not waiting <= pongs | answers.keys() | self.gone.keys() and self.clock() < end:
            self._pump(POLL)
        if silent := waiting - pongs - answers.keys():
            return RanksLost(silent, f"no sign of life within {seconds:.0f} s")
        if errors := {rank: str(answer["error"]) for rank, answer in answers.items() if "error" in answer}:
            return RanksLost(errors, next(iter(errors.values())))
        if answers:
            return RanksLost(waiting, f"live, but not done within {seconds:.0f} s; the other ranks are")
        return RanksLost((), f"all ranks live, and {len(waiting)} wait for more than {seconds:.0f} s")

    def close(self) -> None:
        """Ends every rank that is still there: a rank goes when its connection does."""
        for connection in self.ranks.values():
            connection.socket.close()
        self.listener.close()
        self.selector.close()

    def _send(self, rank: int, message: Json) -> None:
        if rank in self.ranks and rank not in self.gone:
            try:
                self.ranks[rank].socket.sendall(json.dumps(message).encode() + b"\n")
            except OSError as error:
                self.gone.setdefault(rank, f"connection lost ({error.strerror or error})")

    def _pump(self, seconds: float) -> None:
        for key, _ in self.selector.select(seconds):
            if key.fileobj is self.listener:
                self._accept()
            else:
                self._read(key.data)

    def _accept(self) -> None:
        try:
            new, _ = self.listener.accept()
        except OSError:
            return
        new.settimeout(5)
        self.selector.register(new, selectors.EVENT_READ, Connection(new))

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.socket.recv(1 << 16)
        except OSError:
            data = b""
        connection.unread += data
        *lines, connection.unread = connection.unread.split(b"\n")
        for line in lines:
            self._message(connection, line)
        if not data or len(connection.unread) > LONGEST:
            self.selector.unregister(connection.socket)
            connection.socket.close()
            if connection.rank >= 0:
                self.gone.setdefault(connection.rank, "its process ended or its connection broke")

    def _message(self, connection: Connection, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        if connection.rank >= 0:
            self._inbox(connection.rank, message)
        elif message.get("token") != self.token:
            return
        elif isinstance(rank := message.get("hello"), int):
            connection.rank = rank
            self.ranks[rank] = connection
            self.hosts[rank] = str(message.get("host", "?"))
            self.backends[rank] = str(message.get("backend", ""))
        elif "launch" in message:
            self.launched = message
        elif isinstance(rank := message.get("ended"), int):
            self.gone[rank] = f"its process ended with {message.get('how')}"
