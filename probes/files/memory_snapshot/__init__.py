"""Reads snapshots of PyTorch's caching allocator for GPU memory (torch.cuda.memory._dump_snapshot, _snapshot).

A snapshot holds the blocks at one moment and, if recording was on (_record_memory_history), the last allocations with
their stacks. Format: the docstring of torch.cuda.memory._snapshot and c10/cuda/CUDACachingAllocator.cpp. What other
libraries and processes take from the GPU is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doctor.facts.model import Fact, Quality, Source
from probes.files.flight_recorder.ranks import UNKNOWN, rank_in_name
from probes.files.flight_recorder.unpack import DumpError, document
from probes.files.memory_snapshot.facts import device_facts
from probes.files.memory_snapshot.model import Device, Odd, devices

__all__ = ["SnapshotReading", "is_snapshot", "read_snapshots"]

HEAD = 1 << 13
MOST_BYTES = 512 << 20
"""A pickle is one value: it cannot be read piece by piece, and takes some ten times its size in memory (measured)."""

_WORDS = (b"segments", b"device_traces", b"total_size", b"segment_type", b"active_size")


@dataclass(slots=True)
class SnapshotReading:
    """What the snapshots say; the rank of each file; remarks by file."""

    facts: list[Fact] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)

    def says(self, name: str, text: str) -> None:
        self.warnings.setdefault(name, []).append(f"{name}: {text}")


def is_snapshot(path: Path) -> bool:
    """Do the first bytes look like an allocator's snapshot, as pickle or as JSON?"""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
        if head.startswith(b"\x1f\x8b"):
            import gzip

            with gzip.open(path) as packed:
                head = packed.read(HEAD)
    except (OSError, EOFError, ValueError):
        return False
    pickled = head[:1] == b"\x80" and head[1:2] <= b"\x05"
    return (pickled or head.lstrip()[:1] in (b"{", b"[")) and sum(word in head for word in _WORDS) >= 2


def read_snapshots(files: Sequence[tuple[Path, str]]) -> SnapshotReading:
    """Facts of the devices in `files`, each of which `is_snapshot` takes for a snapshot."""
    reading = SnapshotReading()
    for path, name in files:
        try:
            found = _read(path)
        except (Odd, DumpError) as error:
            reading.says(name, str(error).replace("no dump does", "no snapshot does"))
            continue
        except (MemoryError, RecursionError):
            reading.says(name, "is nested or sized beyond any snapshot")
            continue
        try:
            _tell(reading, name, found)
        except Exception as error:  # nothing that a file holds may cost the other files
            reading.says(name, f"cannot be understood: {type(error).__name__}: {str(error)[:120]}")
    return reading


def _read(path: Path) -> list[Device]:
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise Odd(
            f"holds {size:,} bytes, more than the {MOST_BYTES:,} that are read: record with a smaller max_entries"
        )
    return devices(document(path))


def _tell(reading: SnapshotReading, name: str, found: list[Device]) -> None:
    """Adds the facts of one file. Its rank is that of the name, which the device that holds most belongs to."""
    rank = rank_in_name(name) if "rank" in name.lower() else UNKNOWN
    held = [device for device in found if device.segments or device.entries]
    if not held:
        reading.says(name, "holds no memory of any device")
        return
    if rank != UNKNOWN:
        reading.ranks[name] = rank
    main = max(held, key=lambda device: sum(segment.size for segment in device.segments))
    for device in held:
        reading.facts += device_facts(device, name, rank if device is main and rank != UNKNOWN else None)
        if device.damaged:
            reading.says(name, f"{device.damaged} entries of device {device.index} are damaged and were left out")
    where = Source("snapshot", name, 0, f"snapshot of {len(held)} devices")
    reading.facts.append(Fact("snapshot.devices", len(held), "job", where, None, Quality.MEASURED))
    if not any(device.entries for device in held):
        reading.says(
            name,
            "no history was recorded, so it tells what is held and not who asked for it: call "
            "torch.cuda.memory._record_memory_history() before",
        )
    elif len(main.entries) and any(_cut(device) for device in held):
        reading.says(name, "the history begins after the job did: what was there before is told by its size alone")


def _cut(device: Device) -> bool:
    """Is something alive that the history never saw asked for?"""
    asked = {entry.address for entry in device.entries if entry.action == "alloc"}
    return any(block.alive and block.address not in asked for segment in device.segments for block in segment.blocks)
