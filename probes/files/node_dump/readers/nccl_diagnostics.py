"""The report of NCCL_RUN_DIAGNOSTICS=1: copies between GPUs that fail, and ranks whose network is off the median.

NCCL 2.31 and later print it on the standard output of rank 0, each line with `NCCL DIAG`; RCCL prints the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "NCCL diagnostics"
MARKS = ("NCCL DIAG ",)

_LINE = re.compile(r"\bNCCL DIAG (?:\[(?P<tag>OK|INFO)\]\s+)?(?P<text>\S.*)$")
_EDGE = re.compile(
    r"^p2p: (?P<what>destination buffer unavailable|local (?:CUDA|HIP) setup failed|peer-memory import failed"
    r"|write mismatch|read mismatch|topology check failed|launch/check failed)\b"
)
_FIELD = re.compile(r"\b(?P<name>srcRank|dstRank|srcNvmlDev|dstNvmlDev|path)=(?P<value>[\w-]{1,20})")
_MEDIAN = re.compile(
    r"^net bw: (?P<low>[\d.]{1,12})/(?P<median>[\d.]{1,12})/(?P<high>[\d.]{1,12}) Gbit/s min/median/max [\w-]+ bw"
)
_OFF = re.compile(
    r"^net bw: (?P<mode>[\w-]+) rank (?P<rank>\d{1,7}) \((?P<host>[\w.:-]{1,80})\): (?P<rate>[\d.]{1,12}) Gbit/s,"
    r" >30% off median (?P<median>[\d.]{1,12}) Gbit/s"
)
_DONE = re.compile(r"^NCCL diagnostics completed in [\d.]+ ms across (?P<ranks>\d{1,7}) ranks")
GBIT = 1e9 / 8
MOST = 64


def recognise(block: Block) -> list[Block]:
    return [block] if any(_LINE.search(line.text) for line in block.lines) else []


def read(section: Block) -> Iterator[Fact]:
    wrong: dict[str, Line] = {}
    failed: dict[str, Line] = {}
    slow: dict[str, tuple[float, Line]] = {}
    rates: list[tuple[float, Line]] = []
    for line in section.lines:
        match = _LINE.search(line.text[:2000])
        if match is None:
            continue
        text = match["text"]
        if edge := _EDGE.match(text):
            values = {one["name"]: one["value"] for one in _FIELD.finditer(text)}
            pair = f"{_end(values, 'src')}->{_end(values, 'dst')}"
            if "mismatch" in edge["what"]:
                wrong.setdefault(pair, line)
            else:
                failed.setdefault(f"{pair} {edge['what']}, path {values.get('path', '?')}", line)
        elif off := _OFF.match(text):
            rate, usual = float(off["rate"]), float(off["median"])
            if 0 < rate < usual:
                told = f"rank {off['rank']} on {off['host']}, {off['mode']}: {rate:g} of {usual:g} Gbit/s"
                slow.setdefault(told, (rate / usual, line))
        elif net := _MEDIAN.match(text):
            rates.append((float(net["median"]) * GBIT, line))
        elif done := _DONE.match(text):
            yield section.fact("nccl_diag.ranks", int(done["ranks"]), line, "job")
    if wrong:
        yield section.fact("node.p2p_copy_wrong", tuple(wrong)[:MOST], next(iter(wrong.values())))
    if failed:
        yield section.fact("node.p2p_copy_failed", tuple(failed)[:MOST], next(iter(failed.values())))
    if rates:
        yield section.fact("nccl_diag.net_rate", *rates[0], "job")
    if slow:
        yield section.fact("nccl_diag.net_slow", tuple(slow)[:MOST], next(iter(slow.values()))[1], "job")
        share, line = min(slow.values(), key=lambda one: one[0])
        yield section.fact("nccl_diag.net_slow_share", share, line, "job")


def _end(values: dict[str, str], side: str) -> str:
    """The GPU as nvidia-smi numbers it, else the rank."""
    return values.get(f"{side}NvmlDev") or f"rank{values.get(f'{side}Rank', '?')}"
