"""Providers of libfabric as `fi_info` lists them; EFA must be among them on AWS."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block

KIND = "fi_info"
MARKS = ("provider:", "fi_getinfo", "fi_info", "prov_name:")

_PROVIDER = re.compile(r"^\s*(?:provider|prov_name):\s*(?P<name>[\w;-]+)")
_DOMAIN = re.compile(r"^\s*domain:\s*(?P<name>\S+)")
_DETAIL = re.compile(r"^\s*(?:fabric|domain|version|type|protocol):\s*\S+")
_FAILED = re.compile(r"fi_getinfo(?:\(\))?:? (?:call )?(?:failed: )?(?P<code>-\d+|-?\d+ ?\(?.*|No data available.*)")
_MISSING = re.compile(r"fi_info: command not found")


def recognise(block: Block) -> list[Block]:
    listed = any(
        _PROVIDER.match(a.text) and _DETAIL.match(b.text) for a, b in zip(block.lines, block.lines[1:], strict=False)
    )
    asked = block.command.startswith("fi_info") or any(line.text.startswith("fi_getinfo:") for line in block.lines)
    failed = asked and any(_FAILED.search(line.raw) for line in block.lines)
    short = block.command.startswith("fi_info") and any(_PROVIDER.match(line.text) for line in block.lines)
    return [block] if listed or failed or short or any(_MISSING.search(line.raw) for line in block.lines) else []


def read(section: Block) -> Iterator[Fact]:
    providers = {m["name"]: line for line in reversed(section.lines) if (m := _PROVIDER.match(line.text))}
    if providers:
        names = tuple(sorted(providers))
        first = providers[names[0]]
        yield section.fact("node.libfabric_providers", names, first)
        efa = next((line for name, line in providers.items() if name.split(";")[0] == "efa"), None)
        yield section.fact("node.efa_available", efa is not None, efa or first)
    elif failed := next((line for line in section.lines if _FAILED.search(line.raw)), None):
        yield section.fact("node.fi_info_error", failed.raw.strip()[:300], failed)
        if "efa" in section.command or "efa" in failed.raw or "-61" in failed.raw or "No data" in failed.raw:
            yield section.fact("node.efa_available", False, failed)
    domains = {
        m["name"]: line
        for line in section.lines
        if (m := _DOMAIN.match(line.text)) and re.match(r"(?:efa|rdmap)", m["name"])
    }
    if domains:
        devices = tuple(sorted({name.removesuffix("-rdm").removesuffix("-dgrm") for name in domains}))
        yield section.fact("node.efa_devices", devices, next(iter(domains.values())))
