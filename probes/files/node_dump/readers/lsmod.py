"""Loaded kernel modules: is GPUDirect RDMA's peer memory module among them?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "lsmod"
MARKS = (
    "nvidia_peermem",
    "nvidia-peermem",
    "nv_peer_mem",
    "Used by",
    "peermem",
    "nvidia_uvm",
    "lsmod",
    "ib_core",
    "efa",
)

_HEADING = re.compile(r"^\s*Module\s+Size\s+Used by")
_ROW = re.compile(
    r"^\s*(?P<name>[a-z][\w-]*)\s+(?P<size>\d{3,9})\s+(?P<uses>-?\d{1,6})(?:\s+(?P<by>[\w,-]*))?(?:\s+(?:Live|Loading)\s.*)?\s*$"
)
_ABSENT = re.compile(
    r"(?P<name>nvidia[-_]peermem|nv_peer_mem)\b.{0,40}?(?:not found|not loaded|is not currently loaded"
    r"|No such file|not (?:be )?inserted)"
)
_REFUSED = re.compile(r"modprobe: (?:ERROR|FATAL): (?:could not insert|Module) '?(?P<name>[\w-]+)'?.*")
_FOLDER = re.compile(r"/sys/module/(?P<name>nvidia_peermem|nv_peer_mem)\b")
# grep for this shows every module of the driver.
_ALL_NVIDIA = re.compile(r"^lsmod \| grep (?:-\w+ )*[\"']?(?:nvidia|nv)[\"']?$")
_PEER = ("nvidia_peermem", "nv_peer_mem")
_WORTH = re.compile(
    r"^(?:nvidia\w*|nv_peer_mem|gdrdrv|mlx\w+|ib_\w+|rdma_\w+|efa|efa_\w+|nouveau|amdgpu|irdma|bnxt_re|nvidia_fs|knem|xpmem)$"
)


def recognise(block: Block) -> list[Block]:
    rows = [line for line in block.lines if _ROW.match(line.text)]
    known = [line for line in rows if _WORTH.match(line.text.split()[0])]
    asked = block.command.startswith("lsmod") or any(_HEADING.match(line.text) for line in block.lines)
    messages = [
        line
        for line in block.lines
        if _ABSENT.search(line.raw) or _REFUSED.search(line.raw) or _FOLDER.search(line.raw)
    ]
    empty = bool(re.search(r"lsmod.*grep.*peer", block.command)) and block.printed_nothing
    if (
        messages
        or empty
        or (asked and rows)
        or (known and 2 * len(rows) >= sum(1 for line in block.lines if line.text.strip()))
    ):
        return [block]
    return []


def read(section: Block) -> Iterator[Fact]:
    loaded: dict[str, Line] = {}
    absent: Line | None = None
    headed, rows = False, 0
    for line in section.lines:
        if match := _ROW.match(line.text):
            rows += 1
            loaded.setdefault(match["name"].replace("-", "_"), line)
            for user in (match["by"] or "").split(","):
                if user:
                    loaded.setdefault(user.replace("-", "_"), line)
        elif _HEADING.match(line.text):
            headed = True
        elif match := _ABSENT.search(line.raw):
            absent = absent or line
        elif match := _REFUSED.search(line.raw):
            yield section.fact("node.modprobe_error", match[0], line)
        elif match := _FOLDER.search(line.raw):
            loaded.setdefault(match["name"], line)
    names = tuple(sorted(name for name in loaded if _WORTH.match(name)))
    if names:
        yield section.fact("node.modules", names, loaded[names[0]])
    peer = next((loaded[name] for name in _PEER if name in loaded), None)
    if peer:
        yield section.fact("node.peermem_loaded", True, peer)
    elif absent:
        yield section.fact("node.peermem_loaded", False, absent)
    elif section.printed_nothing:
        yield section.fact("node.peermem_loaded", False, None)
    elif rows and _ALL_NVIDIA.search(section.command) and "nvidia" in loaded:
        yield section.fact("node.peermem_loaded", False, loaded["nvidia"])
    elif headed and rows >= 20 and "nvidia" in loaded and "grep" not in section.command:
        # A whole list: what is not in it is not loaded.
        yield section.fact(
            "node.peermem_loaded", False, next(line for line in section.lines if _HEADING.match(line.text))
        )
