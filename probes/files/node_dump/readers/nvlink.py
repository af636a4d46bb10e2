"""NVLinks of each GPU: `nvidia-smi nvlink -s` (speed or inactive) and `-e` (error counters)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "nvidia-smi nvlink"
MARKS = ("Link 0:", "Link 1:", "Replay Errors", "CRC Errors", "<inactive>", "Unable to retrieve NVLink")

_GPU = re.compile(r"^\s*GPU (?P<index>\d{1,3}): (?P<name>.+?)(?: \(UUID: .*\))?\s*$")
_SPEED = re.compile(r"^\s*Link (?P<link>\d{1,2}): (?P<state><inactive>|[\d.]+ GB/s|Inactive|Disabled|Off|Down)")
_ERROR = re.compile(
    r"^\s*Link (?P<link>\d{1,2}): (?P<kind>Replay|Recovery|CRC(?: FLIT| Data)?"
    r"|ECC(?: Lane \d)?) Errors?: (?P<count>\d{1,18})"
)
_NEW_ERROR = re.compile(
    r"^\s*(?:Link (?P<link>\d{1,2}): )?(?P<kind>(?:Malformed packet|Buffer overrun|Rx|Rx remote|Rx general"
    r"|Local link integrity|Tx discards|Link recovery (?:successful|failed)|Effective"
    r"|Symbol)[\w ]*?) ?(?:Errors|events|BER|Discards)?: (?P<count>\d{1,18})\s*$"
)
_UNABLE = re.compile(r"Unable to retrieve NVLink information as all links are inActive", re.IGNORECASE)
_NAMES = {
    "Replay": "gpu.nvlink_replay_errors",
    "Recovery": "gpu.nvlink_recovery_errors",
    "CRC": "gpu.nvlink_crc_errors",
    "ECC": "gpu.nvlink_ecc_errors",
}


def recognise(block: Block) -> list[Block]:
    ours = any(_SPEED.match(line.text) or _ERROR.match(line.text) or _UNABLE.search(line.text) for line in block.lines)
    return [block] if ours else []


def read(section: Block) -> Iterator[Fact]:
    speeds: dict[str, list[tuple[bool, Line]]] = defaultdict(list)
    errors: dict[tuple[str, str], tuple[int, Line]] = {}
    current = "?"
    for line in section.lines:
        if match := _GPU.match(line.text):
            current = match["index"]
            yield section.fact("gpu.name", match["name"], line, section.gpu(current))
        elif match := _SPEED.match(line.text):
            speeds[current].append((match["state"][0].isdigit(), line))
        elif match := _ERROR.match(line.text):
            name = _NAMES[match["kind"].split()[0]]
            total, shown = errors.get((current, name), (0, line))
            count = int(match["count"])
            errors[current, name] = (total + count, line if count and not total else shown)
        elif (match := _NEW_ERROR.match(line.text)) and int(match["count"]) and "successful" not in match["kind"]:
            total, shown = errors.get((current, "gpu.nvlink_link_errors"), (0, line))
            errors[current, "gpu.nvlink_link_errors"] = (total + int(match["count"]), shown)
        elif _UNABLE.search(line.text):
            speeds[current].append((False, line))
    for gpu, links in speeds.items():
        down = [line for active, line in links if not active]
        yield section.fact("gpu.nvlinks_active", len(links) - len(down), links[0][1], section.gpu(gpu))
        yield section.fact("gpu.nvlinks_inactive", len(down), down[0] if down else links[0][1], section.gpu(gpu))
    for (gpu, name), (total, line) in errors.items():
        yield section.fact(name, total, line, section.gpu(gpu))
