"""Ethernet and RDMA links: ethtool (speed, link), ethtool -S, -i, perfquery, `rdma statistic`, counter files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from doctor.facts.model import Fact
from doctor.facts.nic_counters import counter
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import bit_rate

KIND = "ethtool"
MARKS = (
    "Settings for",
    "NIC statistics",
    "Link detected",
    "Speed: ",
    "PortXmitData",
    "SymbolErrorCounter",
    "/counters/",
    "hw_counters",
    "link_downed",
    "bus-info:",
    "symbol_error",
    "out_of_sequence",
)

_SETTINGS = re.compile(r"^\s*Settings for (?P<device>[\w.@-]+):")
_STATISTICS = re.compile(r"^\s*NIC statistics:")
_SPEED = re.compile(r"^\s*Speed: (?P<speed>\d+[MG]b/s|Unknown!?)")
_DETECTED = re.compile(r"^\s*Link detected: (?P<value>yes|no)")
_MODE = re.compile(r"\b(?P<speed>\d{3,6})base\w+/Full\b")
_DRIVER = re.compile(r"^driver: (?P<driver>[\w-]+)\s*$")
_FIRMWARE = re.compile(r"^firmware-version: (?P<firmware>\S.*?)\s*$")
_COUNTER = re.compile(r"^\s*(?P<name>[A-Za-z][\w.\[\]-]*)\s*:\s*\.*\s*(?P<count>\d{1,20})\s*$")
_FILE = re.compile(
    r"/sys/class/infiniband/(?P<device>\w+)/ports/(?P<port>\d+)/(?:hw_)?counters/(?P<name>\w+)\s*[:=]\s*(?P<count>\d{1,20})"
)
_PERFQUERY = re.compile(r"^# Port (?:extended )?counters: Lid (?P<lid>\S+) port (?P<port>\d+)")
_RDMA = re.compile(r"^\s*link (?P<device>[\w.-]+)/(?P<port>\d+) (?P<pairs>(?:[a-z]\w* \d{1,20}(?: |$)){3,})")
_RDMA_JSON = re.compile(r'"ifname":\s?"(?P<device>[\w.-]+)",\s?"port":\s?(?P<port>\d+),(?P<pairs>[^{}\r\n]{20,8000})')
_BAD = re.compile(
    r"^(?:(?:port_)?symbol_error(?:_?counter)?|(?:port_)?rcv_errors|port_rcv_errors|portrcverrors|link_?error_?recovery(?:_?counter)?|link_?downed(?:_?counter)?"
    r"|local_link_integrity_errors|localLinkIntegrityErrors|excessive_buffer_overrun_errors|excbufoverrunerrors|port_xmit_discards|portxmitdiscards"
    r"|out_of_sequence|packet_seq_err|local_ack_timeout_err|rnr_nak_retry_err|roce_adp_retrans_to|req_cqe_error|resp_cqe_error|req_remote_access_errors"
    r"|rx_(?:crc_errors(?:_phy)?|symbol_err_phy|pcs_symbol_err_phy|discards_phy|out_of_buffer|missed_errors|errors|fifo_errors|length_errors)|link_down_events_phy"
    r"|tx_(?:discards_phy|errors|carrier_errors|timeouts?)|rx_icrc_encapsulated|rx_prio\d_discards|symbolerrorcounter|linkdownedcounter|linkerrorrecoverycounter)$",
    re.IGNORECASE,
)  # fmt: skip
_DOWN = re.compile(r"^link_?downed|^link_down_events", re.IGNORECASE)


@dataclass(slots=True)
class _Counters:
    nonzero: dict[str, tuple[int, Line]] = field(default_factory=dict)
    first: Line | None = None
    downed: tuple[int, Line] | None = None
    samples: list[tuple[Line, dict[str, int]]] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def add(self, name: str, count: int, line: Line) -> None:
        if found := counter(name):
            # a counter that comes again begins the next sample
            if not self.samples or name in self.read:
                self.samples.append((line, {}))
                self.read.clear()
            self.read.add(name)
            sample = self.samples[-1][1]
            sample[found.name] = sample.get(found.name, 0) + count
        if not _BAD.match(name):
            return
        self.first = self.first or line
        if _DOWN.match(name):
            self.downed = (count, line)
        if count:
            self.nonzero[name] = (count, line)


def recognise(block: Block) -> list[Block]:
    patterns = (_SETTINGS, _STATISTICS, _DETECTED, _PERFQUERY)
    ours = any(pattern.match(line.text) for line in block.lines for pattern in patterns)
    files = any(_FILE.search(line.text) for line in block.lines)
    listed = sum(1 for line in block.lines if (m := _COUNTER.match(line.text)) and _BAD.match(m["name"]))
    rdma = any(_RDMA.match(line.text) or _RDMA_JSON.search(line.text) for line in block.lines)
    return [block] if ours or files or rdma or listed >= 3 or _device(block) else []


def _device(block: Block) -> str:
    match = re.match(r"ethtool(?: -\w+)* (?P<device>[\w.@-]+)", block.command)
    if not match:
        # perfquery -C names the adapter, which the output itself does not
        match = re.match(r"perfquery\b.*? -C (?P<device>\w+)", block.command)
    return match["device"] if match else ""


def _port(match: re.Match[str]) -> str:
    return match["device"] if match["port"] == "1" else f"{match['device']}:{match['port']}"


def read(section: Block) -> Iterator[Fact]:
    device = _device(section) or "?"
    counters: dict[str, _Counters] = {}
    modes: dict[str, tuple[int, Line]] = {}
    for line in section.lines:
        text = line.text
        if match := _SETTINGS.match(text):
            device = match["device"]
        elif match := _PERFQUERY.match(text):
            device = _device(section) or f"lid {match['lid']}:{match['port']}"
        elif match := _FILE.search(text):
            counters.setdefault(_port(match), _Counters()).add(match["name"], int(match["count"]), line)
        elif match := _RDMA.match(text) or _RDMA_JSON.search(text):
            for name, count in re.findall(r'"?([a-z]\w*)"?(?: |:\s?)(\d{1,20})\b', match["pairs"]):
                counters.setdefault(_port(match), _Counters()).add(name, int(count), line)
        elif match := _COUNTER.match(text):
            counters.setdefault(device, _Counters()).add(match["name"], int(match["count"]), line)
        else:
            yield from _settings(section, line, section.nic(device))
        for mode in _MODE.finditer(text):
            modes[device] = max(modes.get(device, (0, line)), (int(mode["speed"]), line), key=lambda found: found[0])
    for name, (speed, line) in modes.items():
        yield section.fact("nic.rate_max", speed * 1e6 / 8, line, section.nic(name))
    for name, found in counters.items():
        nic = section.nic(name)
        for line, sample in found.samples:
            yield section.fact("nic.counters", tuple(f"{key}={count}" for key, count in sample.items()), line, nic)
        if found.first:
            line = next(iter(found.nonzero.values()))[1] if found.nonzero else found.first
            yield section.fact(
                "nic.errors", tuple(f"{key}={count}" for key, (count, _) in found.nonzero.items()), line, nic
            )
            yield section.fact("nic.error_count", sum(count for count, _ in found.nonzero.values()), line, nic)
            if found.downed:
                yield section.fact("nic.link_downed", *found.downed, nic)


def _settings(section: Block, line: Line, nic: str) -> Iterator[Fact]:
    if match := _SPEED.match(line.text):
        rate = bit_rate(match["speed"])
        if rate is not None:
            yield section.fact("nic.rate", rate, line, nic)
    elif match := _DETECTED.match(line.text):
        yield section.fact("nic.link_detected", match["value"] == "yes", line, nic)
    elif match := _DRIVER.match(line.text):
        yield section.fact("nic.driver", match["driver"], line, nic)
    elif match := _FIRMWARE.match(line.text):
        yield section.fact("nic.firmware", match["firmware"], line, nic)
