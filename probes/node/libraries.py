"""The libraries that the job's ranks have loaded: which copies, and of which version. Nothing of them is run."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from doctor.facts.model import Fact
from probes.node.interface.elf import read_only_data
from probes.node.interface.host import Host
from probes.node.interface.model import ProbeSpec, failed, measured, why
from probes.node.interface.processes import Rank, Ranks, ranks_here

SPEC = ProbeSpec(
    "libraries",
    "libraries that the ranks have loaded, by /proc/PID/maps: copies and versions of NCCL, CUDA and torch, plug-ins",
    (
        *("node.nccl_libraries", "node.libfabric_libraries", "node.net_plugins", "node.ibverbs_libraries"),
        *("node.nccl_loaded", "node.nccl_loaded_copies", "node.libraries_replaced", "node.libraries", "nccl.version"),
    ),
    privilege="the job's user or root",
)

LIBRARIES = {
    "node.nccl_libraries": re.compile(r"/libnccl\.so[\d.]*$"),
    "node.libfabric_libraries": re.compile(r"/libfabric\.so[\d.]*$"),
    "node.net_plugins": re.compile(r"/libnccl-net[\w-]*\.so[\d.]*$"),
    "node.ibverbs_libraries": re.compile(r"/libibverbs\.so[\d.]*$"),
}
NAMED = re.compile(r"/lib(?:nccl|rccl|cudart[\w-]*|torch(?:_cuda|_hip)?|gloo|mpi|ucp|cudnn)\.so[\d.]*$")
NUMBER = re.compile(r"\.so\.(?P<version>\d[\d.]*)$")
NCCL = re.compile(rb"NCCL version (?P<version>\d{1,2}\.\d{1,3}\.\d{1,3})[\w.-]{0,20}(?:\+cuda| compiled with CUDA)")
"""NCCL's own banner, VERSION_STRING of src/init.cc, which older and newer ones end in different words."""
TORCH = re.compile(r"^__version__ = '(?P<version>[\w.+-]{1,60})'", re.MULTILINE)
GONE = " (deleted)"
MOST_MAPS, MOST_RANKS = 8 << 20, 64


def probe(host: Host) -> Iterator[Fact]:
    try:
        ranks = ranks_here(host)
    except OSError:
        ranks = Ranks()
    files: dict[str, Rank] = {}
    copies: dict[str, int] = {}
    replaced: dict[str, str] = {}
    for rank in ranks.job[:MOST_RANKS]:
        path = f"{rank.proc}/maps"
        try:
            lines = host.text(path, MOST_MAPS).splitlines()
        except OSError as error:
            yield failed("node.nccl_libraries", why(error), host.node, path)
            continue
        own = dict.fromkeys(line[line.index("/") :] for line in lines if "/" in line)
        for file in own:
            plain = file.removesuffix(GONE)
            if any(pattern.search(plain) for pattern in (*LIBRARIES.values(), NAMED)):
                files.setdefault(plain, rank)
                if plain != file:
                    replaced.setdefault(plain, path)
        copies[path] = sum(bool(LIBRARIES["node.nccl_libraries"].search(file.removesuffix(GONE))) for file in own)
    if files:
        yield from _loaded(host, files, copies, replaced)


def _loaded(host: Host, files: dict[str, Rank], copies: dict[str, int], replaced: dict[str, str]) -> Iterator[Fact]:
    for name, pattern in LIBRARIES.items():
        if known := tuple(file for file in files if pattern.search(file)):
            yield measured(name, known, host.node, f"{files[known[0]].proc}/maps", known[0])
    most = max(copies, key=lambda path: copies[path])
    yield measured("node.nccl_loaded_copies", copies[most], host.node, most, f"{copies[most]} libnccl in one process")
    yield measured("node.libraries_replaced", tuple(replaced), host.node, most, next(iter(replaced), "none"))
    versions = {file: version for file, rank in files.items() if (version := _version(host, rank, file))}
    shown = tuple(f"{Path(file).name.partition('.so')[0]} {version} {file}" for file, version in versions.items())
    yield measured("node.libraries", shown, host.node, most, shown[0] if shown else "versions are not told")
    nccl = {file: version for file, version in versions.items() if LIBRARIES["node.nccl_libraries"].search(file)}
    told = {file: version for file, version in nccl.items() if version.count(".") == 2}
    if told:
        yield measured("node.nccl_loaded", tuple(sorted(set(told.values()))), host.node, next(iter(told)))
    if len(set(told.values())) == 1:
        file, version = next(iter(told.items()))
        yield measured("nccl.version", version, "job", file, f"NCCL version {version}")


def _version(host: Host, rank: Rank, file: str) -> str:
    """The version a library tells of itself, else the one in its name; "" where neither does."""
    place = host.path(f"{rank.proc}/root{file}")  # as a container sees it
    place = place if place.exists() else host.path(file)
    name = Path(file).name
    try:
        if name.startswith("libnccl.so") and (found := NCCL.search(read_only_data(place))):
            return found["version"].decode("ascii")
        if name.startswith("libtorch"):
            with (place.parent.parent / "version.py").open(encoding="utf-8", errors="replace") as text:
                torch = TORCH.search(text.read(1 << 16))
            return torch["version"] if torch else ""
        resolved = NUMBER.search(os.path.realpath(place)) or NUMBER.search(file)
    except (OSError, ValueError):
        resolved = NUMBER.search(file)
    return resolved["version"].rstrip(".") if resolved else ""
