"""A user's words on the setup: "4 nodes x 8 A100-80GB", "world size 32", "2x RTX 4090"."""

from __future__ import annotations

import re
from collections.abc import Iterable

from probes.files.job_config.sheet import Sheet

GPU = (
    r"(?:(?:NVIDIA|GeForce|Tesla|Quadro|AMD|Instinct)\s+)*"
    r"(?:(?:TITAN|RTX|GTX)\s+(?:A?\d{4}(?:\s?Ti)?|RTX|V|Xp|X)(?:\s+Ada)?"
    r"|(?:GB|GH|MI|[ABHLPVT])\d{1,3}[A-Z]?\b|Gaudi ?\d|910B)"
    r"(?:[\s-]?(?:SXM\d?|PCIe|NVL))?(?:[\s-]\d{2,3}\s?GB?)?"
)
NODES = re.compile(
    rf"\b(?P<nodes>\d{{1,5}})\s*(?:nodes?|machines?|hosts?|servers?)\b"
    rf"(?:\s*[x×*,(]\s*|\s+(?:with|of|each(?: with)?)\s+)"
    rf"(?P<each>\d{{1,2}})\s*[x×*]?\s*(?:(?P<gpu>{GPU})|GPUs?\b|cards?\b)",
    re.IGNORECASE,
)
WORLD = re.compile(r"\bworld(?:[\s_-]?size)?\s*[:=]?\s*(?:of\s+)?(?P<world>\d{1,6})\b", re.IGNORECASE)
CARDS = re.compile(rf"(?<![\w.])(?P<each>\d{{1,3}})\s*[x×*]\s*(?P<gpu>{GPU})")
MODEL = re.compile(r"\b([A-Z][A-Za-z0-9.]*(?:[-_][A-Za-z0-9.]+)*[-_]\d{1,4}(?:\.\d+)?[Bb](?:-[A-Za-z0-9.]+)*)\b")
# A line of the hostfile of DeepSpeed or Open MPI.
HOST = re.compile(r"[A-Za-z0-9][\w.-]* +slots=(\d{1,4})")
# `enable_cpu_affinity: True` in running text; the underscore tells a setting from a word.
INLINE = re.compile(r"(?<![\w.])([a-z]+(?:_[a-z0-9]+)+)\s*:\s*([\w.+-]+)")


def read(sheet: Sheet, lines: Iterable[tuple[int, str]]) -> None:
    """Read the sizes that the lines name."""
    hosts: list[tuple[int, int]] = []
    for number, line in lines:
        line = line[:2000]
        if found := HOST.fullmatch(line.strip()):
            hosts.append((number, int(found[1])))
        setup = False
        if found := NODES.search(line):
            sheet.state("config.nnodes", int(found["nodes"]), number)
            sheet.state("config.nproc_per_node", int(found["each"]), number)
            setup = True
        if found := WORLD.search(line):
            sheet.state("config.world_size", int(found["world"]), number)
        model = NODES.search(line) or CARDS.search(line)
        if model and model["gpu"]:
            sheet.state("config.gpu_model", model["gpu"].strip(), number)
            setup = True
        for key, value in INLINE.findall(line):
            sheet.setting(key, value, number)
        if setup and (name := MODEL.search(line)):
            sheet.state("config.model", name[1], number)
    if hosts:
        sheet.state("config.nnodes", len(hosts), hosts[0][0])
        if len({slots for _, slots in hosts}) == 1:
            sheet.state("config.nproc_per_node", hosts[0][1], hosts[0][0])
