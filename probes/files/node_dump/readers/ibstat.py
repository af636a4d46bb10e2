"""State of InfiniBand and RoCE ports: ibstat, ibstatus, ibv_devinfo, ibdev2netdev, `rdma link`, and device listings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import bit_rate, integer, number

KIND = "ibstat"
MARKS = (
    *(
        "CA '",
        "Infiniband device",
        "hca_id:",
        "==> ",
        "/sys/class/infiniband",
        "/dev/infiniband",
        "No IB devices found",
    ),
    *(
        "link mlx5",
        "link roce",
        "link bnxt",
        "link irdma",
        "phys state",
        "Physical state:",
        "active_mtu",
        "physical_state",
    ),
)

_STARTS = (
    re.compile(r"^\s*CA '(?P<device>[\w.-]+)'"),
    re.compile(r"^\s*Infiniband device '(?P<device>[\w.-]+)' port (?P<port>\d+) status"),
    re.compile(r"^\s*hca_id:\s*(?P<device>[\w.-]+)"),
)
_PORT = re.compile(r"^\s*(?:Port (?P<a>\d+):|port:\s*(?P<b>\d+))\s*$")
_PAIR = re.compile(r"^\s*(?P<key>[A-Za-z][\w ]{1,24}?):\s*(?P<value>\S.*)$")
_NETDEV = re.compile(r"^\s*(?P<device>\w+) port (?P<port>\d+) ==> (?P<netdev>\S+) \((?P<state>Up|Down)\)")
_RDMA_LINK = re.compile(
    r"^\s*(?:\d+: )?link (?P<device>\w+)/(?P<port>\d+) (?:subnet_prefix \S+ )?.*?state (?P<state>\w+)"
    r" physical_state (?P<phys>\w+)"
    r"(?: netdev (?P<netdev>\S+))?"
)
_NONE = re.compile(
    r"No IB devices found|Failed to get IB devices list|No rdma devices found|ibwarn: .*can't open UMAD"
    r"|/sys/class/infiniband'?: No such file",
    re.IGNORECASE,
)
_NO_FILES = re.compile(
    r"/dev/infiniband(?:/\S*)?'?(?:: | -> |: cannot access.*)?\s*No such file|cannot access '?/dev/infiniband"
)
_DEVICE_FILES = re.compile(r"\b(?:uverbs\d+|rdma_cm|umad\d+|issm\d+)\b")
_DEVICES = re.compile(
    r"\b(?:mlx[45]_(?:bond_)?\d+|rocep\w+|ibp\w+|bnxt_re\d+|irdma\d+|efa_\d+|rdmap\w+|hfi1_\d+|rxe\d+|siw\d+)\b"
)
_MTU = {"1": 256, "2": 512, "3": 1024, "4": 2048, "5": 4096}


@dataclass(slots=True)
class _PortState:
    device: str
    port: str = ""
    pairs: dict[str, tuple[str, Line]] = field(default_factory=dict)


def recognise(block: Block) -> list[Block]:
    return [block] if any(_is_ours(block, line) for line in block.lines) or _is_empty_listing(block) else []


def _is_ours(block: Block, line: Line) -> bool:
    text = line.text
    return bool(
        any(start.match(text) for start in _STARTS)
        or _NETDEV.match(text)
        or _RDMA_LINK.match(text)
        or _NONE.search(text)
        or _NO_FILES.search(line.raw)
        or ("infiniband" in block.command and (_DEVICES.search(text) or _DEVICE_FILES.search(text)))
    )


def _is_empty_listing(block: Block) -> bool:
    return bool(re.match(r"ls (?:-\w+ )?/(?:sys/class|dev)/infiniband/?$", block.command)) and block.printed_nothing


def read(section: Block) -> Iterator[Fact]:
    ports: list[_PortState] = []
    names: dict[str, Line] = {}
    for line in section.lines:
        text = line.text
        if start := next((m for pattern in _STARTS if (m := pattern.match(text))), None):
            names.setdefault(start["device"], line)
            ports.append(_PortState(start["device"], start.groupdict().get("port") or ""))
        elif ports and (match := _PORT.match(text)):
            if ports[-1].port:
                general = {key: value for key, value in ports[-1].pairs.items() if key in _DEVICE_KEYS}
                ports.append(_PortState(ports[-1].device, "", general))
            ports[-1].port = match["a"] or match["b"]
        elif match := _NETDEV.match(text):
            names.setdefault(match["device"], line)
            nic = section.nic(match["device"])
            yield section.fact("nic.netdev", match["netdev"], line, nic)
            yield section.fact("nic.netdev_state", match["state"].upper(), line, nic)
        elif match := _RDMA_LINK.match(text):
            names.setdefault(match["device"], line)
            pairs = {
                "state": (match["state"], line),
                "phys state": (match["phys"], line),
                "netdev": (match["netdev"] or "", line),
            }
            ports.append(_PortState(match["device"], match["port"], pairs))
        elif ports and (match := _PAIR.match(text)):
            ports[-1].pairs.setdefault(match["key"].strip().lower().replace("_", " "), (match["value"].strip(), line))
        else:
            yield from _listing(section, line, names)
    for port in ports:
        yield from _facts(section, port)
    if names:
        yield section.fact("node.ib_devices", tuple(names), next(iter(names.values())))
    elif _is_empty_listing(section):
        if "/dev/" in section.command:
            yield section.fact("node.ib_device_files", False, None)
        else:
            yield section.fact("node.ib_devices", (), None)


_DEVICE_KEYS = ("ca type", "firmware version", "fw ver", "board id", "transport")


def _listing(section: Block, line: Line, names: dict[str, Line]) -> Iterator[Fact]:
    """`ls /sys/class/infiniband`, `ls /dev/infiniband`, or the message that there is nothing."""
    if _NO_FILES.search(line.raw):
        yield section.fact("node.ib_device_files", False, line)
    elif _NONE.search(line.raw):
        yield section.fact("node.ib_devices", (), line)
    elif "/dev/infiniband" in section.command and _DEVICE_FILES.search(line.text):
        yield section.fact("node.ib_device_files", True, line)
    elif "/sys/class/infiniband" in section.command or "ibv_devices" in section.command:
        for device in _DEVICES.findall(line.text):
            names.setdefault(device, line)


def _facts(section: Block, port: _PortState) -> Iterator[Fact]:
    nic = section.nic(port.device if port.port in ("", "1") else f"{port.device}:{port.port}")
    for keys, name, convert in _FIELDS:
        for key in keys:
            if key in port.pairs:
                text, line = port.pairs[key]
                value = convert(text)
                if value is not None and value != "":
                    yield section.fact(name, value, line, nic)
                break


def _state(text: str) -> str:
    """`4: ACTIVE`, `PORT_ACTIVE (4)` and `Active` all become ACTIVE."""
    word = re.sub(r"^\d+:\s*|\s*\(\d+\)$|^PORT_", "", text).strip().upper()
    return {"INITIALIZING": "INIT", "ACTIVE_DEFER": "ACTIVE"}.get(word, word)


def _physical(text: str) -> str:
    return re.sub(r"^\d+:\s*|\s*\(\d+\)$", "", text).strip().replace("LINK_UP", "LinkUp")


def _rate(text: str) -> float | None:
    """Bytes a second; ibstat prints the bare number of Gb/s."""
    if text.strip().replace(".", "").isdigit():
        return (number(text) or 0.0) * 1e9 / 8
    return bit_rate(text)


def _mtu(text: str) -> int | None:
    """`1024 (3)`: bytes, then the code."""
    found = integer(text)
    return _MTU.get(str(found), found)


def _lid(text: str) -> int | None:
    word = text.split()[0]
    return int(word, 16) if word.lower().startswith("0x") else integer(word)


_FIELDS = (
    (("state",), "nic.state", _state),
    (("physical state", "phys state"), "nic.phys_state", _physical),
    (("rate",), "nic.rate", _rate),
    (("link layer",), "nic.link_layer", str),
    (("active mtu",), "nic.mtu", _mtu),
    (("max mtu",), "nic.mtu_max", _mtu),
    (("base lid", "port lid"), "nic.lid", _lid),
    (("sm lid",), "nic.sm_lid", _lid),
    (("ca type",), "nic.type", str),
    (("firmware version", "fw ver"), "nic.firmware", str),
    (("netdev",), "nic.netdev", str),
)
