"""How fast logs are read, next to `grep -cE` with ten of the patterns on the same files in the same run."""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.generate import job
from doctor.facts.model import EventSpec, Symptom

TEN = (
    r"CUDA out of memory\. Tried to allocate",
    r"Watchdog caught collective operation timeout",
    r"NCCL WARN",
    r"Some NCCL operations have failed or timed out",
    r"DataLoader worker \(pid.*\) is killed by signal",
    r"No space left on device",
    r"Address already in use",
    r"ncclSystemError|ncclInternalError|ncclRemoteError",
    r"Traceback \(most recent call last\)",
    r"elapsed time per iteration \(ms\): [0-9.]+",
)


def specs() -> list[EventSpec]:
    """The events of rules/events."""
    from ruamel.yaml import YAML

    folder = Path(__file__).parent.parent / "rules" / "events"
    found = []
    for path in sorted(folder.glob("*.yaml")):
        for name, entry in (YAML(typ="safe").load(path.read_text(encoding="utf-8")) or {}).items():
            found.append(
                EventSpec(
                    name,
                    tuple(entry["patterns"]),
                    entry.get("fields") or {},
                    Symptom(entry.get("symptom", "none")),
                    bool(entry.get("follows")),
                    entry.get("phase") or "",
                )
            )
    return found


def child(folder: Path, cache: Path) -> None:
    """Read all logs once, in a process of its own so that its peak memory is the reader's."""
    from probes.files.log import LogFile, read_logs
    from probes.files.log.matcher import ENGINES

    events = specs()
    files = [LogFile(path, str(path.relative_to(folder))) for path in sorted(folder.rglob("*.log*"))]
    start = time.perf_counter()
    read_logs([], events, cache, engines=ENGINES)  # compiles the patterns, or loads them from the cache
    ready = time.perf_counter() - start
    wall, processor = time.perf_counter(), time.process_time()
    reading = read_logs(files, events, cache)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    result = {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - processor,
        "ready": ready,
        "peak": peak,
        "events": len(reading.events),
        "oom": sum(event.name == "torch.cuda_oom" for event in reading.events),
        "patterns": sum(len(spec.patterns) for spec in events),
    }
    print(json.dumps(result))


def measured(folder: Path, cache: Path) -> dict[str, float]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    command = [sys.executable, "-m", "bench.logs", "--child", str(folder), str(cache)]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    result: dict[str, float] = json.loads(output)
    return result


def timed(action: Callable[..., object], *arguments: object) -> float:
    start = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - start


def grep(program: str, files: Sequence[Path]) -> None:
    command = [program, "-cE", "|".join(TEN), *map(str, files)]
    # Not to /dev/null: grep would stop at the first match.
    subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=2, type=Path, metavar=("FOLDER", "CACHE"), help=argparse.SUPPRESS)
    parser.add_argument("--mb", type=int, default=1000, help="size of all logs together (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.child:
        child(*arguments.child)
        return
    with tempfile.TemporaryDirectory(prefix="pdoctor-bench-") as place:
        run(Path(place), arguments.mb * 1_000_000)


def run(place: Path, total: int) -> None:
    ranks = place / "ranks"
    single, packed = place / "single" / "rank_0.log", place / "packed" / "rank_0.log.gz"
    job(ranks, total)
    job(single.parent, total, ranks=1)
    shutil.move(single.parent / "node0" / "rank_0.log", single)
    packed.parent.mkdir()
    with single.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as out:
        shutil.copyfileobj(source, out, 1 << 20)
    print(f"| logs | MB | MB/s | MB/s a core | peak MB | ready s | grep MB/s | ratio | events |\n|{' --- |' * 9}")
    for name, folder in (
        ("256 files, one a rank", ranks),
        ("one file", single.parent),
        ("one file, gzip", packed.parent),
    ):
        files = sorted(path for path in folder.rglob("*.log*") if path.is_file())
        size = total if folder == packed.parent else sum(path.stat().st_size for path in files)
        search = "zgrep" if folder == packed.parent else "grep"
        grep(search, files)
        by_grep = size / timed(grep, search, files) / 1e6
        result = measured(folder, place / "cache")
        speed, per_core = size / result["wall"] / 1e6, size / result["cpu"] / 1e6
        print(
            f"| {name} | {size / 1e6:.0f} | {speed:.0f} | {per_core:.0f} | {result['peak'] / 1e6:.0f} "
            f"| {result['ready']:.2f} | {by_grep:.0f} ({search}) | {speed / by_grep:.2f} | {result['events']:.0f} |",
            flush=True,
        )
    print(f"\n{result['patterns']:.0f} patterns; grep had ten of them.")


if __name__ == "__main__":
    main()
