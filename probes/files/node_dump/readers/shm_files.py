"""Segments that NCCL keeps in /dev/shm, in a listing of that folder: those of dead jobs fill it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "ls /dev/shm"
MARKS = ("nccl-",)

_SEGMENT = re.compile(r"(?:^|\s|/)nccl-(?:shm-)?[\w-]{4,80}(?=\s|$)")


def recognise(block: Block) -> list[Block]:
    asked = re.match(r"(?:ls|find|du)\b.*/dev/shm", block.command)
    lines = [line for line in block.lines if _SEGMENT.search(line.text)]
    return [block.part(lines)] if asked and lines else []


def read(section: Block) -> Iterator[Fact]:
    first: Line = section.lines[0]
    yield section.fact("node.shm_nccl_files", sum(len(_SEGMENT.findall(line.text)) for line in section.lines), first)
