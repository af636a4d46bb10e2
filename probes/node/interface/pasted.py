"""What a program prints here is read by the readers of what people paste."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from doctor.facts.model import Fact, Quality
from probes.files.node_dump import read_dump
from probes.node.interface.host import Host


def as_pasted(host: Host, command: str, output: str, path: str = "") -> Iterator[Fact]:
    """The facts in the output of `command`, measured on this node; `path` is what evidence names."""
    shown = path or command
    reading = read_dump(shown, f"$ {command}\n{output}\n".encode(), host.name)
    for fact in reading.facts:
        # The line of the command itself is ours, not the program's.
        source = replace(fact.source, kind="probe", line=max(fact.source.line - 1, 0))
        yield replace(fact, source=source, quality=Quality.MEASURED)
