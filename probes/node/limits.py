"""Limits that stop a job or slow it down: /dev/shm, locked memory, open files, processes, and those of the cgroup."""

from __future__ import annotations

import os
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.pasted import as_pasted

SPEC = ProbeSpec(
    "limits",
    "/dev/shm, /proc/self/limits, the memory limit and kills of the cgroup, processors that may be used",
    (
        *("node.shm_total", "node.shm_used", "node.shm_free", "node.memlock", "node.open_files", "node.core_size"),
        *("node.max_processes", "node.stack_size", "node.address_space", "node.cgroup_memory_limit"),
        *("node.cgroup_oom_kills", "node.cpus_allowed", "node.root_free", "node.tmp_free"),
    ),
)

LIMITS = "/proc/self/limits"
MEMORY = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
KILLS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
NO_LIMIT = 1 << 62
"""cgroup v1 writes the largest multiple of a page for no limit; no machine has so much."""
PLACES = (("/dev/shm", "node.shm"), ("/", "node.root"), ("/tmp", "node.tmp"))


def probe(host: Host) -> Iterator[Fact]:
    for path, name in PLACES:
        yield from _space(host, path, name)
    try:
        yield from as_pasted(host, f"cat {LIMITS}", host.text(LIMITS), LIMITS)
    except OSError as error:
        yield failed("node.memlock", why(error), host.node, LIMITS)
    yield from _cgroup(host)
    yield from _processors(host)


def _space(host: Host, path: str, name: str) -> Iterator[Fact]:
    try:
        found = os.statvfs(host.path(path))
    except OSError as error:
        yield failed(f"{name}_total", why(error), host.node, path)
        return
    sizes = {"total": found.f_blocks, "used": found.f_blocks - found.f_bfree, "free": found.f_bavail}
    text = ", ".join(f"{part} {blocks * found.f_frsize:,} bytes" for part, blocks in sizes.items())
    for part, blocks in sizes.items():
        yield measured(f"{name}_{part}", blocks * found.f_frsize, host.node, f"statvfs {path}", text)


def _cgroup(host: Host) -> Iterator[Fact]:
    """The limit and kills of the group this process is in, as a container sees them: version 2, else version 1."""
    for path in MEMORY:
        try:
            text = host.text(path)
        except OSError:
            continue
        if text.isdecimal() and int(text) < NO_LIMIT:
            yield measured("node.cgroup_memory_limit", int(text), host.node, path, text, 1)
        break
    for path in KILLS:
        try:
            lines = host.text(path).splitlines()
        except OSError:
            continue
        for number, line in enumerate(lines, 1):
            key, _, count = line.partition(" ")
            if key == "oom_kill" and count.isdecimal():
                yield measured("node.cgroup_oom_kills", int(count), host.node, path, line, number)
        break


def _processors(host: Host) -> Iterator[Fact]:
    from probes.files.node_dump.values import cpu_list

    path = "/proc/self/status"
    try:
        lines = host.text(path).splitlines()
    except OSError as error:
        yield failed("node.cpus_allowed", why(error), host.node, path)
        return
    for number, line in enumerate(lines, 1):
        if line.startswith("Cpus_allowed_list:"):
            yield measured("node.cpus_allowed", len(cpu_list(line.partition(":")[2])), host.node, path, line, number)
