"""The kernel's log of the last day: Xid errors, PCIe errors, links that went down, processes it killed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, datetime

from probes.node.interface.host import Host
from probes.node.interface.model import Given, ProbeSpec, Text, failed, why

SPEC = ProbeSpec(
    "kernel_log",
    "the kernel's log of the last 24 hours: /dev/kmsg, else dmesg, else the journal",
    ("node.driver_version", "node.open_driver", "node.kernel", "node.kernel_cmdline", "node.iommu"),
    privilege="root, or the group adm, where kernel.dmesg_restrict is 1",
)

KMSG, STAT = "/dev/kmsg", "/proc/stat"
DAY = 86400.0
MOST_RECORDS, RECORD = 200_000, 8192
"""The kernel's buffer is some MiB; a record is read whole or not at all (Documentation/ABI/testing/dev-kmsg)."""
RAW = re.compile(r"\d+,\d+,(?P<microseconds>\d+),[^;]*;(?P<text>.*)")
DMESG = re.compile(r"(?:<\d+>)?\[ *(?P<seconds>\d+\.\d+)\] ?(?P<text>.*)")


def probe(host: Host) -> Iterator[Given]:
    """A Text in the form of syslog, so that each line says when and where it was written."""
    reasons = []
    for name, read in (("/dev/kmsg", _kmsg), ("dmesg", _dmesg), ("the journal", _journal)):
        try:
            lines = read(host)
        except OSError as error:
            reasons.append(f"{name}: {str(error) if isinstance(error, TimeoutError) else why(error)}")
            continue
        if lines:
            yield Text("kernel log", "\n".join(lines) + "\n", host.name)
        return
    yield failed("node.kernel_log", "; ".join(reasons), host.node, KMSG)


def _kmsg(host: Host) -> list[str]:
    records: list[tuple[float, str]] = []
    for record in _records(host):
        if match := RAW.match(record):
            records.append((int(match["microseconds"]) / 1e6, match["text"]))
    return _dated(host, records)


def _records(host: Host) -> Iterator[str]:
    """Each read of the device gives one record; EPIPE means that records were overwritten meanwhile."""
    handle = os.open(host.path(KMSG), os.O_RDONLY | os.O_NONBLOCK)
    try:
        if not stat.S_ISCHR(os.fstat(handle).st_mode):
            with os.fdopen(os.dup(handle), encoding="utf-8", errors="replace") as file:
                yield from file
            return
        for _ in range(MOST_RECORDS):
            try:
                record = os.read(handle, RECORD)
            except BlockingIOError:
                return
            except BrokenPipeError:
                continue
            if not record:
                return
            yield record.decode("utf-8", errors="replace").split("\n", 1)[0]
    finally:
        os.close(handle)


def _dmesg(host: Host) -> list[str]:
    ran = host.run(["dmesg", "--raw"], 1.0)
    if ran.status:
        raise PermissionError(0, (ran.error.strip().splitlines() or [f"ended with {ran.status}"])[-1][:200])
    matches = (DMESG.match(line) for line in ran.out.splitlines())
    return _dated(host, [(float(match["seconds"]), match["text"]) for match in matches if match])


def _journal(host: Host) -> list[str]:
    command = ["journalctl", "-k", "-q", "--no-pager", "-o", "short-iso", "--since", "-24h"]
    ran = host.run(command, 1.5)
    if ran.status or not ran.out.strip():
        raise PermissionError(0, (ran.error.strip().splitlines() or ["holds no kernel messages"])[-1][:200])
    return ran.out.splitlines()


def _dated(host: Host, records: list[tuple[float, str]]) -> list[str]:
    """Lines of the last day. The kernel counts seconds since the boot, without those in which the machine slept."""
    boot = _boot(host)
    oldest = host.clock() - DAY - boot
    return [
        f"{datetime.fromtimestamp(boot + seconds, UTC).isoformat(timespec='milliseconds')} {host.name} kernel: {text}"
        for seconds, text in records
        if seconds >= oldest
    ]


def _boot(host: Host) -> float:
    match = re.search(r"^btime (\d{1,12})$", host.text(STAT), re.MULTILINE)
    if match is None:
        raise FileNotFoundError(0, f"{STAT} has no btime, so that lines cannot be dated")
    return float(match[1])
