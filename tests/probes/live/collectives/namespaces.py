"""Network namespaces as hosts: a bridge, a cable to each, and a rate on each, so that they are alike."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

RATE, SLOW_RATE = "200mbit", "80mbit"
SHAPE = ("burst", "256kb", "limit", "4mb")


def ip(*words: str, namespace: str = "") -> None:
    _command("ip", *(("-n", namespace) if namespace else ()), *words)


def tc(namespace: str, *words: str) -> None:
    _command("tc", "-n", namespace, *words)


def _command(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=20)


def missing() -> str:
    """Why hosts cannot be made here; nothing where they can."""
    if os.geteuid():
        return "network namespaces need root"
    if absent := [name for name in ("ip", "tc") if not shutil.which(name)]:
        return f"{', '.join(absent)} is not installed"
    try:
        with hosts(1):
            return ""
    except (OSError, subprocess.SubprocessError) as error:
        told = getattr(error, "stderr", b"") or b""
        return f"this kernel makes no shaped hosts: {told.decode(errors='replace').strip() or error}"


@dataclass(slots=True)
class Hosts:
    """The hosts by number. Addresses are 10.77.0.10 and up."""

    names: list[str]
    switch: str
    slowed: list[int] = field(default_factory=list)

    def slow_host(self, host: int) -> None:
        """All that leaves the host is slow."""
        tc(self.names[host], "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", SLOW_RATE, *SHAPE)

    def slow_link(self, one: int, other: int) -> None:
        """What goes from one host to the other is slow, and nothing else."""
        name, device = self.names[one], ("dev", "eth0")
        tc(name, "qdisc", "del", *device, "root")
        tc(name, "qdisc", "add", *device, "root", "handle", "1:", "htb", "default", "10")
        burst = ("burst", "256kb", "cburst", "256kb")  # as tbf has it, so that only the one path differs
        for number, rate in (("10", RATE), ("20", SLOW_RATE)):
            kind = ("parent", "1:", "classid", f"1:{number}", "htb", "rate", rate, "ceil", rate)
            tc(name, "class", "add", *device, *kind, *burst)
        match = ("u32", "match", "ip", "dst", f"10.77.0.{10 + other}/32", "flowid", "1:20")
        tc(name, "filter", "add", *device, "protocol", "ip", "parent", "1:", "prio", "1", *match)

    def cut(self, one: int, other: int) -> None:
        """Nothing that one host sends to the other arrives, and nobody says so: frames go to an address of no host."""
        for here, there in ((one, other), (other, one)):
            address = f"10.77.0.{10 + there}"
            ip("neigh", "replace", address, "lladdr", "02:00:00:00:00:99", "dev", "eth0", "nud", "permanent",
               namespace=self.names[here])  # fmt: skip

    def unplug(self, host: int) -> None:
        ip("link", "set", f"v{host}", "down", namespace=self.switch)


@contextmanager
def hosts(number: int) -> Iterator[Hosts]:
    """Hosts that are there within the block; the names hold the number of this process."""
    stem = f"pdt{os.getpid()}"
    made = Hosts([f"{stem}h{at}" for at in range(number)], f"{stem}s")
    try:
        ip("netns", "add", made.switch)
        ip("link", "add", "br0", "type", "bridge", namespace=made.switch)
        ip("link", "set", "br0", "up", namespace=made.switch)
        for at, name in enumerate(made.names):
            ip("netns", "add", name)
            ip("link", "add", f"v{at}", "type", "veth", "peer", "name", "eth0", "netns", name, namespace=made.switch)
            ip("link", "set", f"v{at}", "master", "br0", "up", namespace=made.switch)
            ip("addr", "add", f"10.77.0.{10 + at}/24", "dev", "eth0", namespace=name)
            ip("link", "set", "eth0", "up", namespace=name)
            ip("link", "set", "lo", "up", namespace=name)
            tc(name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", RATE, *SHAPE)
        yield made
    finally:
        for name in (*made.names, made.switch):
            with suppress(subprocess.SubprocessError):
                ip("netns", "del", name)
