"""What `pdoctor attach` costs beside a job of 256 ranks whose logs grow by 10 MB a second: processor time, memory,
lines lost, and the time from a line to its finding.

Every figure is of the whole command, in a process of its own. Lines are counted by the writer and by pdoctor.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench.generate import PER_NODE, RANKS, blocks, ending

RATE, SECONDS, TICK = 10_000_000, 60.0, 0.1
"""B a second in all files together, for how long, and how often each file is written to."""
POOL, SMALL_POOL = 400, 40
"""Steps of each rank that are made before the clock starts, and written again and again."""
ROUNDS = 20
SAMPLES = 20
"""Readings of the memory in the course of a replay."""
FULL = 4_000_000
"""B from which the sped-up writer rotates a file."""
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
PATIENCE = 60.0


@dataclass(slots=True)
class Rank:
    """A log that is written piece by piece, sometimes in the middle of a line."""

    path: Path
    text: bytes
    at: int = 0
    lines: int = 0

    def write(self, size: int) -> None:
        with self.path.open("ab") as file:
            while size > 0:
                piece = self.text[self.at : self.at + size]
                file.write(piece)
                self.lines += piece.count(b"\n")
                self.at = (self.at + len(piece)) % len(self.text)
                size -= len(piece)

    def end_line(self) -> None:
        """Writes on to the end of the line."""
        if self.at:
            self.write(self.text.index(b"\n", self.at - 1) + 1 - self.at)


def made(folder: Path, pool: int = POOL) -> list[Rank]:
    ranks = []
    for rank in range(RANKS):
        path = folder / f"node{rank // PER_NODE}" / f"rank_{rank}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(islice(blocks(rank, RANKS, random.Random(rank)), pool)).encode()
        ranks.append(Rank(path, text))
    return ranks


def write(folder: Path, seconds: float, rate: float, pool: int) -> None:
    """Writes until it is stopped, in a process of its own; a file `lines` beside the logs tells how many there are."""
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))
    ranks = made(folder, pool)
    begun = time.monotonic()
    written = 0.0
    while (passed := time.monotonic() - begun) < seconds and not stopped:
        due = passed * rate - written
        each = int(due / len(ranks))
        for rank in ranks:
            rank.write(each)
        written += each * len(ranks)
        time.sleep(max(begun + passed + TICK - time.monotonic(), 0.0))
    for rank in ranks:
        rank.end_line()
    (folder.parent / "lines").write_text(str(sum(rank.lines for rank in ranks)))


def write_fast(folder: Path, total: int, port: int) -> None:
    """Writes and rotates as fast as pdoctor reads, never more than 64 MB ahead of it."""
    ranks = made(folder)
    written = 0
    each = 65_536
    size = dict.fromkeys(range(len(ranks)), 0)
    while written < total:
        for number, rank in enumerate(ranks):
            rank.write(each)
            size[number] += each
            if size[number] >= FULL:
                rank.end_line()
                os.replace(rank.path, rank.path.with_name(rank.path.name + ".1"))
                rank.path.touch()
                size[number] = 0
        written += each * len(ranks)
        while written - told(port).get("pdoctor_bytes_total", 0.0) > 64_000_000:
            time.sleep(0.05)
    for rank in ranks:
        rank.end_line()
    (folder.parent / "lines").write_text(str(sum(rank.lines for rank in ranks)))


def told(port: int) -> dict[str, float]:
    """The metrics of pdoctor, without those that have labels."""
    with suppress(OSError, ValueError), urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
        return {
            name: float(value)
            for name, _, value in (x.partition(" ") for x in lines)
            if "{" not in name and name != "#"
        }
    return {}


@dataclass(slots=True)
class Attached:
    process: subprocess.Popen[bytes]
    port: int
    said: Path

    def cpu(self) -> float:
        """Seconds of processor time so far, all threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> float:
        """MB in memory."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * PAGE / 1e6

    def lines(self) -> float:
        return told(self.port).get("pdoctor_lines_total", 0.0)

    def wait_for(self, lines: float) -> float:
        """Waits until so many lines are read, or until no more come; how many are."""
        last, since = -1.0, time.monotonic()
        while (now := self.lines()) < lines and time.monotonic() - since < PATIENCE:
            if now > last:
                last, since = now, time.monotonic()
            time.sleep(0.1)
        return now


@contextmanager
def attached(folder: Path, *more: str) -> Iterator[Attached]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    said = folder.parent / "said.jsonl"
    command = [sys.executable, "-m", "doctor", "attach", str(folder), "--metrics-port", str(port), "--jsonl", str(said)]
    process = subprocess.Popen([*command, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + PATIENCE
        while not told(port):
            if process.poll() is not None or time.monotonic() > end:
                assert process.stderr is not None
                process.kill()
                raise SystemExit(f"attach did not start: {process.stderr.read().decode()[-500:]}")
            time.sleep(0.05)
        yield Attached(process, port, said)
    finally:
        process.terminate()  # SIGINT is ignored below a shell that runs in the background
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.wait()


@contextmanager
def writer(*arguments: object) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", "bench.attach", *map(str, arguments)])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def steady(place: Path, seconds: float, rate: float) -> str:
    """A minute at the usual rate, from when pdoctor has caught up with the beginning."""
    folder = place / "steady" / "logs"
    folder.mkdir(parents=True)
    with attached(folder) as one, writer("--write", folder, 3600, rate, POOL) as process:
        caught_up(one, folder, rate)
        begun, cpu, memory = time.monotonic(), one.cpu(), one.memory()
        time.sleep(seconds)
        wall, spent, after = time.monotonic() - begun, one.cpu() - cpu, one.memory()
        process.terminate()
        process.wait()
        written = int((folder.parent / "lines").read_text())
        read = one.wait_for(written)
    return (
        f"| {RANKS} files, {rate / 1e6:.0f} MB/s for {wall:.0f} s | {written} | {written - read:.0f} "
        f"| {spent:.1f} of {wall:.1f} | {spent / wall:.2f} | {memory:.0f} | {after:.0f} |"
    )


def caught_up(one: Attached, folder: Path, rate: float) -> None:
    """Waits until some seconds' worth of bytes is there, and less than one second's is unread."""
    end = time.monotonic() + 3 * PATIENCE
    while time.monotonic() < end:
        size = sum(path.stat().st_size for path in folder.rglob("*.log"))
        if size > 5 * rate and size - told(one.port).get("pdoctor_bytes_total", 0.0) < rate:
            return
        time.sleep(0.2)


def replay(place: Path, total: int) -> str:
    """Many hours of a usual job, as fast as they are read, in files that rotate."""
    folder = place / "replay" / "logs"
    folder.mkdir(parents=True)
    with attached(folder) as one:
        begun = time.monotonic()
        with writer("--fast", folder, total, one.port) as process:
            memory: list[float] = []
            while process.poll() is None:
                if told(one.port).get("pdoctor_bytes_total", 0.0) >= total * (len(memory) + 1) / SAMPLES:
                    memory.append(one.memory())
                time.sleep(0.1)
        lines = int((folder.parent / "lines").read_text())
        read = one.wait_for(lines)
        wall, spent, after = time.monotonic() - begun, one.cpu(), one.memory()
    return (
        f"| {RANKS} files that rotate, {total / 1e9:.1f} GB in {wall:.0f} s | {lines} | {lines - read:.0f} "
        f"| {spent:.1f} of {wall:.1f} | {spent / wall:.2f} | {memory[1]:.0f} | {after:.0f} |\n\n"
        f"MB in memory after each {100 / SAMPLES:.0f} % of it: {', '.join(f'{one:.0f}' for one in memory)}"
    )


def latencies(place: Path, rounds: int, rate: float) -> list[float]:
    """Seconds from the write of a failure's last line to the line of its finding, once a round of a fresh job: out of
    memory and a watchdog's time-out in turn."""
    found = []
    for number in range(rounds):
        folder = place / f"round{number}" / "logs"
        folder.mkdir(parents=True)
        rng = random.Random(number)
        with attached(folder) as one, writer("--write", folder, 3600, rate, SMALL_POOL):
            caught_up(one, folder, rate)
            time.sleep(rng.uniform(0.5, 1.5))
            own = folder / "failing.log"
            own.write_text("[rank3]: starting\n")
            time.sleep(1.5)
            with own.open("a") as file:
                file.write(ending(3 + number % 2))
            written = time.time()
            while not (one.said.exists() and b'"kind":"new"' in one.said.read_bytes()):
                if time.time() - written > PATIENCE:
                    break
                time.sleep(0.005)
            found.append(time.time() - written)
    return found


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", nargs=4, metavar=("FOLDER", "SECONDS", "RATE", "POOL"), help=argparse.SUPPRESS)
    parser.add_argument("--fast", nargs=3, metavar=("FOLDER", "BYTES", "PORT"), help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of the steady writer (default: %(default)s)")
    parser.add_argument("--gb", type=float, default=4.0, help="of the replay; an hour is 36 (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of latency (default: %(default)s)")
    given = parser.parse_args(arguments)
    if given.write:
        write(Path(given.write[0]), float(given.write[1]), float(given.write[2]), int(given.write[3]))
        return
    if given.fast:
        write_fast(Path(given.fast[0]), int(given.fast[1]), int(given.fast[2]))
        return
    with tempfile.TemporaryDirectory(prefix="pdoctor-bench-", ignore_cleanup_errors=True) as place:
        print(f"| attach | lines | lost | CPU s | cores | MB at begin | MB at end |\n|{' --- |' * 7}")
        print(steady(Path(place), given.seconds, RATE), flush=True)
        print(replay(Path(place), int(given.gb * 1e9)), flush=True)
        times = latencies(Path(place), given.rounds, RATE)
    load = os.getloadavg()[0]
    print(
        f"\nfrom line to finding: median {statistics.median(times):.2f} s, p99 {quantile(times, 0.99):.2f} s "
        f"of {len(times)}; {os.cpu_count()} cores, load {load:.1f}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
