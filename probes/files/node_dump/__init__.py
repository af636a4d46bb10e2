"""Reads what people paste of a node: the output of nvidia-smi, df, ip, lspci and others, told apart by content.

A text may hold several outputs one after another, with or without the command that printed each. A reader is one
module in `readers/` with the four names of `Reader`; modules are found by listing the folder.
"""

from __future__ import annotations

from dataclasses import dataclass

from doctor.facts.model import Fact
from probes.files.node_dump.hosts import host_of_path
from probes.files.node_dump.registry import readers_for
from probes.files.node_dump.text import blocks, decode

MAX_FACTS = 20_000
_BAD_CELL = (ValueError, LookupError, OverflowError, ArithmeticError, RecursionError, TypeError)


@dataclass(frozen=True, slots=True)
class DumpReading:
    """What was read; `kinds` names the formats that were recognised, none when the text is no dump."""

    facts: tuple[Fact, ...] = ()
    kinds: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def read_dump(name: str, data: bytes, host: str | None = None) -> DumpReading:
    """Facts of every dump in `data`, of which the first 8 MiB are looked at.

    `host` is what the caller knows; a prompt in the text is believed before it, the file's name after it. A dump
    of a host that nobody names is about `node:?`. A reader that cannot cope with its text gives a warning.
    """
    text = decode(data)
    candidates = readers_for(text)
    if not candidates:
        return DumpReading()
    facts: list[Fact] = []
    kinds: dict[str, None] = {}
    warnings: list[str] = []
    for block in blocks(name, text, host or host_of_path(name)):
        for reader in candidates:
            try:
                read = [fact for section in reader.recognise(block) for fact in reader.read(section)]
            except _BAD_CELL as error:
                warnings.append(f"{name}: what looks like {reader.KIND} could not be read: {error}")
                continue
            if read:
                facts += read
                kinds[reader.KIND] = None
    return DumpReading(tuple(dict.fromkeys(facts[:MAX_FACTS])), tuple(kinds), tuple(warnings))
