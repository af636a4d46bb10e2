"""Redaction of texts by the block: what a line may need is told by RE2, and the other lines pass as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from doctor.session.redact import DOMAIN, HOST_SIGNS, Redactor, forms
from probes.secrets import ESCAPES, HIDDEN
from probes.secrets.sieve import automaton, lines_with, suspects

_ESCAPES = re.compile(ESCAPES.pattern.encode())
_DOMAIN = re.compile(DOMAIN.encode())
_ANY_MARK = (
    r"[\w.+-]@[A-Za-z0-9]"
    r"|(?:^|[^\w.-])(?:[1-9]|1[1-9]|[2-9]\d|1[013-9]\d|12[0-689]|2\d\d)(?:\.\d{1,3}){3}"  # neither 10.* nor 127.*
    r"|(?:[0-9A-Fa-f]{1,4}:){7}|(?:[0-9A-Fa-f]{1,4}:){2,6}:"
)
"""What mail addresses, public addresses of version 4 and full or shortened ones of version 6 have in common."""
_NAMES = (
    r"(?:/home/|/Users/)[\w.-]+|\b(?:USER|LOGNAME|USERNAME|SUDO_USER|SLURM_JOB_USER|SBATCH_USER)[\"']?\s*[=:]\s*[^\s]+"
    rf"|[\w.-]+@[\w.-]+[: ][^@\n]*[$#] |(?:{HOST_SIGNS})\s*[^\s]+|^[A-Za-z][\w.-]*:\d"
)
"""Where names of users and hosts stand; the last is the prefix of NCCL."""
MOST_PLACES, LONGEST_SAMPLE = 100_000, 160


class Blocks:
    """`redactor` over blocks of whole lines: `stage` for all blocks of all texts, then `settle` for what it gave."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._places = set[bytes]()
        self._marks: Any = None
        self._hosts: Any = None
        self._host: re.Pattern[bytes] | None = None
        self._names: dict[bytes, bytes] = {}
        self.samples: dict[str, str] = {}

    def stage(self, block: bytes) -> bytes:
        """The block without the secrets that show by themselves, and without colours."""
        if b"\x1b" in block:
            block = _ESCAPES.sub(b"", block).replace(b"\x1b", b"")
        self._learn(block)
        parts: list[bytes] = []
        at = self._staged(block, 0, parts) if self._redactor.midway else 0
        for begin, end in suspects(block):
            if end > at:
                parts.append(block[at:begin])
                at = self._staged(block, begin, parts)
        parts.append(block[at:])
        return b"".join(parts)

    def settle(self, block: bytes) -> bytes:
        """A block that was staged, without what was learnt from all of them."""
        if self._marks is None:
            self._prepare()
        parts: list[bytes] = []
        at = 0
        for begin, end in lines_with(self._marks, block):
            parts += self._renamed(block[at:begin])
            parts.append(self._line(self._redactor.settle, block[begin:end]))
            at = end
        parts += self._renamed(block[at:])
        return b"".join(parts)

    def _staged(self, block: bytes, at: int, parts: list[bytes]) -> int:
        """The line at `at`, and those after it that what began in it may go on in; gives where they end."""
        while True:
            end = block.find(b"\n", at) + 1 or len(block)
            parts.append(self._line(self._redactor.stage, block[at:end]))
            at = end
            if at >= len(block) or not self._redactor.midway:
                return at

    def _line(self, change: Callable[[str], str], line: bytes) -> bytes:
        """The line as `change` gives it, kept as a sample of each kind that was not hidden before."""
        counts = self._redactor.counts
        before = counts.copy()
        text = change(_text(line))
        if counts != before:
            for kind in counts.keys() - self.samples.keys():
                self.samples[kind] = text if len(text) <= LONGEST_SAMPLE else _around(text)
        return _bytes(text)

    def _learn(self, block: bytes) -> None:
        """Tells the redactor each line in which a name stands that did not stand so before."""
        for found in _names().finditer(block):
            begin, end = found.span()
            if (place := block[begin:end]) not in self._places and len(self._places) < MOST_PLACES:
                self._places.add(place)
                start, stop = block.rfind(b"\n", 0, begin + 1) + 1, block.find(b"\n", begin + 1)
                self._redactor.learn_names(_text(block[start : stop if stop >= 0 else len(block)]))

    def _prepare(self) -> None:
        known = self._redactor.known()
        signs = [
            _ANY_MARK,
            *(re.escape(form) for secret in known.secrets for form in forms(secret)),
            *(rf"\b{re.escape(user)}\b" for user in known.users),
            *(rf"{re.escape(stem)}\[\d" for stem in known.stems),
            *(rf"\b{re.escape(host)}\b" for host in known.wordlike),
        ]
        self._marks = automaton(b"|".join(sign.encode("utf-8", "surrogateescape") for sign in signs))
        self._names = {_bytes(host): _bytes(known.names[host]) for host in known.hosts}
        chosen = b"|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        self._hosts = automaton(chosen) if chosen else None
        self._host = re.compile(b"(?<![A-Za-z0-9])(?:" + chosen + b")(?![A-Za-z0-9])") if chosen else None

    def _renamed(self, text: bytes) -> Iterator[bytes]:
        """Lines in which nothing but names of hosts can be to change."""
        at = 0
        for found in self._hosts.finditer(text) if self._hosts else ():
            begin, end = found.span()
            if text[begin - 1 : begin].isalnum() or text[end : end + 1].isalnum():
                if begin < at or self._host is None or not (shorter := self._host.match(text, begin)):
                    continue
                end = shorter.end()
            yield text[at:begin]
            yield self._names[text[begin:end]]
            self._redactor.counts["host"] += 1
            if "host" not in self.samples:
                start, stop = text.rfind(b"\n", 0, begin) + 1, text.find(b"\n", end)
                self.samples["host"] = _text(text[start : stop if stop >= 0 else len(text)])[:LONGEST_SAMPLE]
            domain = _DOMAIN.match(text, end) if text[end : end + 1] == b"." else None
            at = domain.end() if domain else end
        yield text[at:]


@cache
def _names() -> Any:
    return automaton(_NAMES)


def _around(text: str) -> str:
    at = max(text.find(HIDDEN) - LONGEST_SAMPLE // 2, 0)
    return text[at : at + LONGEST_SAMPLE]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
