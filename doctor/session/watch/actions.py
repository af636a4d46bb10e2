"""What is done with announcements where a person asked for it: a program, a webhook, lines in a file, metrics.

Each works in a thread of its own, so that the watch never waits; each says how it went.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from doctor.engine.model import Role
from doctor.session.notes import Note
from doctor.session.watch.command import Ended, run_command
from doctor.session.watch.jsonl import Lines
from doctor.session.watch.metrics import Metrics
from doctor.session.watch.metrics_server import LOOPBACK, MetricsServer
from doctor.session.watch.model import Announcement, Kind, Status
from doctor.session.watch.trouble import Told, Trouble
from doctor.session.watch.webhook import Address, Webhook
from doctor.session.watch.worker import Worker
from doctor.session.written import replace_file

COMMAND, WEBHOOK, JSONL = "on-finding", "webhook", "jsonl"
"""The outlets, called as their options are."""
RETRY, METRICS_EVERY = 2.0, 5.0
"""Seconds until lines that could not be written are tried again, and between two files of metrics."""
MOST_LINES = 1000
LASTING = "!"
"""Stands before a document that the disk has to confirm."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asked for; nothing by default. `command` are the words of a program, `metrics_port` a TCP port."""

    command: tuple[str, ...] = ()
    webhook: Address | None = None
    jsonl: Path | None = None
    metrics_file: Path | None = None
    metrics_port: int | None = None
    metrics_host: str = LOOPBACK


class Actions:
    """Hears every announcement and every status.

    `document` puts an announcement into JSON on one line, `told` is given remarks, from any thread; `owed` is what was
    owed before a restart. Raises OSError where the port for metrics cannot be had.
    """

    def __init__(
        self,
        asked: Asked,
        document: Callable[[Announcement], str],
        told: Told,
        owed: Mapping[str, Sequence[str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.metrics = Metrics()
        self._document, self._told, self._clock = document, told, clock
        self._server: MetricsServer | None = None
        self._metrics_at = float("-inf")
        self._full: set[str] = set()
        self._workers: dict[str, Worker] = {}
        if asked.metrics_port is not None:
            self._server = MetricsServer(self.metrics.text, asked.metrics_port, asked.metrics_host)
        if asked.command:
            self._workers[COMMAND] = Worker("on-finding", lambda text: self._run(asked.command, text))
        if asked.webhook is not None:
            address = asked.webhook
            self._workers[WEBHOOK] = Worker("webhook", lambda text: self._post(address, text))
        if asked.jsonl is not None:
            lines, trouble = Lines(asked.jsonl), Trouble(asked.jsonl, told)
            self._workers[JSONL] = Worker("jsonl", lambda text: self._line(lines, trouble, text), MOST_LINES)
        self._metrics_file: Worker | None = None
        if asked.metrics_file is not None:
            path, troubled = asked.metrics_file, Trouble(asked.metrics_file, told)
            self._metrics_file = Worker("metrics file", lambda text: _put(path, text, troubled), 1)
        for name, documents in (owed or {}).items():
            for text in documents if name in self._workers else ():
                self._workers[name].offer(text)

    @property
    def metrics_port(self) -> int | None:
        return self._server.port if self._server else None

    def __call__(self, said: Announcement) -> None:
        """Hands an announcement on. Neither waits nor raises."""
        self.metrics.hear(said)
        if not self._workers:
            return
        document = self._document(said)
        lasting = said.kind is Kind.NEW and (said.finding is None or said.finding.role is Role.ROOT)
        for name, worker in self._workers.items():
            if not worker.offer(LASTING + document if lasting and name == JSONL else document):
                if name not in self._full:
                    self._told(Note("attach.too_slow", name))
                self._full.add(name)

    def status(self, status: Callable[[], Status]) -> None:
        """Takes note of how the job stands, where metrics are asked for."""
        if self._server is None and self._metrics_file is None:
            return
        self.metrics.see(status())
        if self._metrics_file is not None and self._clock() - self._metrics_at >= METRICS_EVERY:
            self._metrics_at = self._clock()
            self._metrics_file.offer(self.metrics.text())

    def owed(self) -> dict[str, tuple[str, ...]]:
        """What was taken on and is not done, by outlet: kept in the state."""
        return {name: tuple(pending) for name, worker in self._workers.items() if (pending := worker.pending())}

    def close(self, seconds: float) -> None:
        """Waits up to `seconds` in all for what is pending, and says what was left undone."""
        end = self._clock() + seconds
        if self._metrics_file is not None:
            self._metrics_file.wait(1.0)
            self._metrics_file.offer(self.metrics.text())
            self._metrics_file.close(1.0)
        for name, worker in self._workers.items():
            left = worker.close(max(end - self._clock(), 0.0)) + worker.left_out
            if left:
                self._told(Note("attach.left_undone", name, {"n": str(left)}))
        if self._server is not None:
            self._server.close()

    def _run(self, words: Sequence[str], text: str) -> bool:
        ended = run_command(words, text, self._workers[COMMAND].stopping)
        self._told(_how(words[0], ended))
        return not (ended.status is None and self._workers[COMMAND].stopping.is_set())

    def _post(self, address: Address, text: str) -> bool:
        stopping = self._workers[WEBHOOK].stopping
        posted = Webhook(address, stopping).post(text)
        key = "attach.posted" if posted.done else "attach.not_posted"
        self._told(Note(key, address.shown, {"answer": posted.answer, "n": str(posted.attempts)}))
        return posted.done or not stopping.is_set()

    def _line(self, lines: Lines, trouble: Trouble, text: str) -> bool:
        """Writes a line; where that fails it is tried until it works."""
        document, lasting = text.removeprefix(LASTING), text.startswith(LASTING)
        while not lines.write(document, lasting):
            trouble.set(lines.reason)
            if self._workers[JSONL].stopping.wait(RETRY):
                return False
        trouble.set("")
        return True


def _put(path: Path, text: str, trouble: Trouble) -> bool:
    try:
        replace_file(path, text.encode("utf-8", errors="replace"))
        trouble.set("")
    except OSError as error:
        trouble.set(error.strerror or str(error))
    return True


def _how(program: str, ended: Ended) -> Note:
    values = {"how": ended.words, "seconds": f"{ended.seconds:.1f}"}
    last = "".join(ended.output.splitlines()[-1:])
    if ended.status == 0 or not last:
        return Note("attach.ran", program, values)
    return Note("attach.ran_badly", program, {**values, "output": last})
