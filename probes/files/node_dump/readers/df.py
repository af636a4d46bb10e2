"""Free space: `df` (with and without heading), and the size option of a mounted /dev/shm."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import size

KIND = "df"
MARKS = ("/dev/shm", "Mounted on", "Filesystem", "tmpfs", "overlay", "Use%")

_HEADING = re.compile(r"^\s*Filesystem\s.*(?:Use%|Capacity|IUse%|Avail)")
_ROW = re.compile(
    r"^\s*(?P<device>\S+)\s+(?:(?:tmpfs|ext[234]|xfs|overlay|nfs4?|lustre|zfs|btrfs|fuse\S*|devtmpfs)\s+)?(?P<total>[\d.]+[KMGTP]?i?B?)\s+"
    r"(?P<used>[\d.]+[KMGTP]?i?B?)\s+(?P<free>[\d.]+[KMGTP]?i?B?)\s+(?P<percent>\d{1,3})%\s+(?P<mount>/\S*)\s*$"
)
_MOUNTED = re.compile(r"^\S+ (?:on )?/dev/shm (?:type )?tmpfs \(?(?P<options>[^)\s]+)")
_BLOCKS = re.compile(r"\b(?P<count>\d*)(?P<unit>[KMG])?-blocks\b")
_NAMES = {"/dev/shm": "node.shm", "/": "node.root", "/tmp": "node.tmp"}
FULL = 99
"""Per cent in use from which a file system counts as full; ext4 keeps 5% that df does not show as available."""


def recognise(block: Block) -> list[Block]:
    rows = [
        line for line in block.lines if _ROW.match(line.text) or _HEADING.match(line.text) or _MOUNTED.match(line.text)
    ]
    return [block.part(rows)] if any(not _HEADING.match(line.text) for line in rows) else []


def read(section: Block) -> Iterator[Fact]:
    unit, inodes = "K", False
    full: list[tuple[str, Line]] = []
    no_inodes: list[tuple[str, Line]] = []
    for line in section.lines:
        if _HEADING.match(line.text):
            blocks = _BLOCKS.search(line.text)
            unit = (blocks["unit"] or "K") if blocks else "K"
            inodes = "IUse%" in line.text or "Inodes" in line.text
        elif match := _ROW.match(line.text):
            if int(match["percent"]) >= FULL:
                (no_inodes if inodes else full).append((match["mount"], line))
            if not inodes and match["mount"] in _NAMES:
                yield from _space(section, line, match, unit)
        elif match := _MOUNTED.match(line.text):
            limit = re.search(r"\bsize=(\d+[kmgKMG]?)\b", match["options"])
            total = size(limit[1]) if limit else None
            if total is not None:
                yield section.fact("node.shm_total", total, line)
    if full:
        yield section.fact("node.disks_full", tuple(mount for mount, _ in full), full[0][1])
    if no_inodes:
        yield section.fact("node.inodes_full", tuple(mount for mount, _ in no_inodes), no_inodes[0][1])


def _space(section: Block, line: Line, match: re.Match[str], unit: str) -> Iterator[Fact]:
    for part in ("total", "used", "free"):
        amount = size(match[part], unit)
        if amount is not None:
            yield section.fact(f"{_NAMES[match['mount']]}_{part}", amount, line)
