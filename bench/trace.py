"""How fast profiler traces are read, next to HolisticTraceAnalysis on the same files in the same run.

Whole processes are timed: start of the interpreter, imports, reading, and the breakdown of time. Large traces are
generated.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.trace_generate import generate

REAL = ("mtia_rank0_456k_events.json.gz", "memory_events_rank1of2.json.gz")
BARS = (10.0, 8.0)
"""How many times as fast as HolisticTraceAnalysis each is to be read."""
OTHER = "HolisticTraceAnalysis"
OTHER_CODE = """
import sys
from hta.trace_analysis import TraceAnalysis
print(TraceAnalysis(trace_dir=sys.argv[1]).get_temporal_breakdown(visualize=False))
"""
RUNS = 3
ROW = 32
"""Bytes of an event in columns: start, duration, link, name and place. Only rows that are needed are kept."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one process: seconds by the clock and of the processor, bytes of memory at the peak."""

    wall: float
    cpu: float
    peak: int
    output: str


def cost(command: list[str]) -> Cost | None:
    """What `command` costs; None when it fails."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    start = time.perf_counter()
    with (
        tempfile.TemporaryFile() as out,
        subprocess.Popen(command, env=environment, stdout=out, stderr=subprocess.DEVNULL) as process,
    ):
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        out.seek(0)
        output = out.read().decode("utf-8", "replace")
    if process.returncode:
        return None
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output)


def best(command: list[str]) -> Cost | None:
    """The cheapest of a few runs by the clock: other work on the machine only ever slows one down."""
    found = [result for result in (cost(command) for _ in range(RUNS)) if result is not None]
    return min(found, key=lambda result: result.wall, default=None)


def own(path: Path) -> list[str]:
    return [sys.executable, "-m", "bench.trace_child", str(path)]


def installed(place: Path) -> Path | None:
    """A Python with HolisticTraceAnalysis in an environment of its own, or None."""
    python = place / "other" / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", str(place / "other")], check=True, capture_output=True)
        install = [str(python), "-m", "pip", "install", "-q", OTHER]
        subprocess.run(install, check=True, capture_output=True, timeout=600)
    except (OSError, subprocess.SubprocessError):
        return None
    return python


def real(place: Path) -> None:
    """The real traces of PDOCTOR_DATA."""
    folder = Path(os.environ.get("PDOCTOR_DATA", "")) / "kineto"
    files = [folder / name for name in REAL if (folder / name).is_file()]
    if not files:
        print("Real traces are not measured: PDOCTOR_DATA names no folder with kineto/*.json.gz.\n")
        return
    other = installed(place)
    if other is None:
        print(f"{OTHER} could not be installed: there is nothing to compare with.\n")
    print("| trace | events | s | CPU s | peak MB | HTA s | CPU s | peak MB | times as fast (CPU) | bar | memory |")
    print(f"|{' --- |' * 11}")
    for path, bar in zip(files, BARS, strict=False):
        ours = best(own(path))
        theirs = None
        if other is not None:
            alone = place / path.stem
            alone.mkdir()
            shutil.copy(path, alone)
            theirs = best([str(other), "-c", OTHER_CODE, str(alone)])
        if ours is None:
            print(f"| {path.name} | failed |")
            continue
        events = json.loads(ours.output)["events"]
        line = f"| {path.name} | {events} | {ours.wall:.2f} | {ours.cpu:.2f} | {ours.peak / 1e6:.0f} |"
        if theirs is not None:
            line += f" {theirs.wall:.2f} | {theirs.cpu:.2f} | {theirs.peak / 1e6:.0f} |"
            line += f" {theirs.wall / ours.wall:.1f} ({theirs.cpu / ours.cpu:.1f}) | {bar:.0f} |"
            line += f" {ours.peak / theirs.peak:.2f} |"
        print(line, flush=True)
    print()


def generated(place: Path, sizes: list[float]) -> None:
    print("| generated | events | s | MB/s a core | peak MB | kept MB | columns of all events MB | peak over these |")
    print(f"|{' --- |' * 8}")
    for size in sizes:
        path = place / "generated.json"
        kernels = generate(path, int(size * 1e9))
        ours = cost(own(path))
        length = path.stat().st_size
        path.unlink()
        if ours is None:
            print(f"| {size:g} GB | failed |")
            continue
        told = json.loads(ours.output)
        assert told["kernels"] == [kernels], told["kernels"]
        events, kept = told["events"], told["columns"]
        print(
            f"| {size:g} GB | {events} | {ours.wall:.1f} | {length / ours.cpu / 1e6:.0f} | {ours.peak / 1e6:.0f} "
            f"| {kept / 1e6:.0f} | {events * ROW / 1e6:.0f} | {ours.peak / (events * ROW):.2f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gb", type=float, nargs="*", default=[0.5, 1, 2], help="sizes of generated traces")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pdoctor-bench-") as place:
        real(Path(place))
        generated(Path(place), arguments.gb)


if __name__ == "__main__":
    main()
