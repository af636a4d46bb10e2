"""Edits of a job's files that leave its fault as it is: what differs between two people's logs of the same failure.

Each edit is a pure function of the files and a seeded generator; it gives None where it has nothing to work on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tests.robustness import benign, clocks, wording


@dataclass(frozen=True, slots=True)
class Files:
    """A job's files by name: which are logs, whose rank a log is, the hosts, and through which line a cut keeps."""

    text: Mapping[str, str]
    logs: frozenset[str] = frozenset()
    hosts: tuple[str, ...] = ()
    ranks: Mapping[str, int] = field(default_factory=dict)
    keep: Mapping[str, int] = field(default_factory=dict)

    def with_logs(self, change: Callable[[str, str], str]) -> Files | None:
        """The files with `change(name, text)` applied to each log; None if nothing came out different."""
        text = {name: change(name, body) if name in self.logs else body for name, body in self.text.items()}
        return replace(self, text=text) if text != dict(self.text) else None


Edit: TypeAlias = Callable[[Files, random.Random], Files | None]

LABEL = re.compile(
    r"\[rank(\d+)\]:|\[default(\d+)\]:|\[1,(\d+)\]<std\w+>:|\[Rank (\d+)\]|\[(?:PG|PG ID) 0\b[^\]]* Rank (\d+)\]"
    r"| {0,3}(\d{1,5}): |([A-Za-z][\w.-]*:\d+):\d+ \[-?\d+\] "
)
"""What tells the rank, or at least the process, that printed a line."""

INDENTED = re.compile(r"^(?:\S*\]:?+ ?+|\s*\d+: )?+(?:\s|\+|\||Traceback|$)")
"""Lines of a block: frames, tables, code. Other lines are put before and after a block, never into it."""

RANK = re.compile(
    r"(?<![A-Za-z_])(?P<word>(?<!local )(?<!node )(?<!group )(?:[Rr]anks?|RANK)(?:[ :=_#]|: |\s\[)?)"
    r"(?P<numbers>\d+(?:, ?\d+)*)(?![\d.])|(?<=\[1,)(?P<mpi>\d+)(?=\]<std)"
)
SUBGROUP = re.compile(r"PG (?:ID )?[1-9]|group|local.?rank|node.?rank", re.IGNORECASE)
LAYOUT = re.compile(r"pipeline|(?<![a-z])pp[ _=:]?\d|last.?stage|(?m:^ {0,3}\d+: )", re.IGNORECASE)
"""Where these occur, the number of a rank means its place in the model (or every line has it as a label)."""

JITTER = 6.0
"""Lines by which output of one process may come later than that of another."""

AFTER_FAILURE = 3
"""Lines that a cut leaves after the failure."""

TRIES = 20
"""An edit may by chance change nothing, such as noise in a short log; then it is tried again."""

RED, RESET = "\x1b[31m", "\x1b[0m"
LEVEL = re.compile(r"\b(?:ERROR|WARNING|WARN|INFO|FATAL)\b|^[A-Za-z_.]*Error(?=:)")


def cut(files: Files, rng: random.Random) -> Files | None:
    """What comes after the failure is missing, as when somebody pastes the part they think matters."""

    def shorter(name: str, text: str) -> str:
        if name not in files.keep:
            return text
        lines = text.splitlines(keepends=True)
        return "".join(lines[: files.keep[name] + rng.randint(1, AFTER_FAILURE)])

    return files.with_logs(shorter)


def other_wording(files: Files, rng: random.Random) -> Files | None:
    """The same messages as other versions of the programs print them."""
    chosen = {variants: rng.randrange(len(variants)) for variants in wording.SAME}
    return files.with_logs(lambda name, text: wording.swapped(text, chosen))


def other_hosts(files: Files, rng: random.Random) -> Files | None:
    """Hosts have other names, in every file and in the names of files."""
    if not files.hosts:
        return None
    form = rng.choice(["trn-{:03d}", "gpu-a{:02d}", "n{:04d}", "ip-10-1-2-{:d}"])
    new = dict(zip(files.hosts, (form.format(n) for n in rng.sample(range(1, 250), len(files.hosts))), strict=True))
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(new, key=len, reverse=True)))})(?![\w-])")

    def renamed(text: str) -> str:
        return pattern.sub(lambda match: new[match[0]], text)

    text = {name: renamed(body) for name, body in files.text.items()}
    return replace(files, text=text, hosts=tuple(new.values())) if text != dict(files.text) else None


def other_ranks(files: Files, rng: random.Random) -> Files | None:
    """Ranks have other numbers; the first and the last keep theirs, since programs give them tasks of their own."""
    everything = "\n".join(files.text.values())
    if LAYOUT.search(everything) or files.ranks:
        return None
    found = sorted({int(n) for match in RANK.finditer(everything) for n in re.findall(r"\d+", match[0])})
    middle = [rank for rank in found if rank not in (0, found[-1])]
    if len(middle) < 2:
        return None
    start = rng.randrange(1, len(middle))
    new = dict(zip(middle, middle[start:] + middle[:start], strict=True))

    def number(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda n: str(new.get(int(n[0]), int(n[0]))), match[0])

    def renumbered(name: str, text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(line if SUBGROUP.search(line) else RANK.sub(number, line) for line in lines)

    return files.with_logs(renumbered)


def other_day(files: Files, rng: random.Random) -> Files | None:
    """Everything happened some days earlier or later."""
    days = rng.choice([-1, 1]) * rng.randint(1, 2000)
    return files.with_logs(lambda name, text: clocks.shifted(text, days))


def other_clock(files: Files, rng: random.Random) -> Files | None:
    """Times are written in another format."""
    form = rng.choice(clocks.FORMATS)
    return files.with_logs(lambda name, text: clocks.rewritten(text, form))


def other_order(files: Files, rng: random.Random) -> Files | None:
    """In a log of several processes their lines come in another order; those of each process keep theirs."""

    def shuffled(name: str, text: str) -> str:
        lines = text.splitlines(keepends=True)
        labels = [_label(line) for line in lines]
        if len(set(labels) - {""}) < 2:
            return text
        latest: dict[str, float] = {}
        keys: list[float] = []
        for index, label in enumerate(labels):
            latest[label] = max(latest.get(label, 0.0), index + rng.random() * JITTER)
            keys.append(latest[label])
        order = sorted(range(len(lines)), key=lambda index: (keys[index], index))
        return "".join(_ended(lines[index]) for index in order)

    return files.with_logs(shuffled)


def _label(line: str) -> str:
    match = LABEL.match(line)
    return match[0] if match else ""


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n"


def noise(files: Files, rng: random.Random) -> Files | None:
    """Warnings and remarks of healthy jobs stand between the lines."""

    def noisy(name: str, text: str) -> str:
        lines = text.splitlines(keepends=True)
        labels = [match[0] for line in lines if (match := re.match(r"\[rank\d+\]: ?|\[default\d+\]: ?", line))]
        mixed: list[str] = []
        for index, line in enumerate(lines):
            inside = INDENTED.match(line) or (index and INDENTED.match(lines[index - 1]))
            if not inside and rng.random() < 0.3:
                label = rng.choice(labels) if len(labels) > 0.5 * len(lines) else ""
                mixed += [f"{label}{warning}\n" for warning in benign.lines(rng, rng.randint(1, 3))]
            mixed.append(line)
        return "".join(mixed)

    return files.with_logs(noisy)


def other_label(files: Files, rng: random.Random) -> Files | None:
    """A launcher or a log collector puts a label before every line."""
    choice, when = rng.randrange(3), rng.random() < 0.5

    def labelled(name: str, text: str) -> str:
        lines = text.splitlines(keepends=True)
        if any(LABEL.match(line) for line in lines):
            label = ""
        elif name in files.ranks:
            rank = files.ranks[name]
            label = (f"[rank{rank}]: ", f"[default{rank}]:", f"{rank}: ")[choice]
        else:
            label = ("[pod/trainer-worker-0/pytorch] ", "trainer-worker-0 pytorch ", "trainer-worker-0  | ")[choice]
        times = clocks.running(lines) if when or not label else None
        return "".join(f"{times[i] + ' ' if times else ''}{label}{line}" for i, line in enumerate(lines))

    return files.with_logs(labelled)


def colour(files: Files, rng: random.Random) -> Files | None:
    """Levels are coloured, some lines whole."""

    def coloured(name: str, text: str) -> str:
        lines = text.splitlines()
        painted = [
            f"{RED}{line}{RESET}"
            if line.strip() and rng.random() < 0.1
            else LEVEL.sub(lambda m: f"{RED}{m[0]}{RESET}", line)
            for line in lines
        ]
        return "\n".join(painted) + "\n"

    return files.with_logs(coloured)


def line_ends(files: Files, rng: random.Random) -> Files | None:
    """Every file came through a system that ends lines with CR LF."""
    return replace(files, text={name: re.sub(r"\r?\n", "\r\n", body) for name, body in files.text.items()})


EDITS: Mapping[str, Edit] = {
    "cut": cut,
    "wording": other_wording,
    "hosts": other_hosts,
    "ranks": other_ranks,
    "day": other_day,
    "clock": other_clock,
    "order": other_order,
    "noise": noise,
    "label": other_label,
    "colour": colour,
    "line ends": line_ends,
}
"""In the order in which they are applied: a cut counts lines of the original, labels go before whole lines."""


def edited(files: Files, rng: random.Random, most: int = 3) -> tuple[Files, tuple[str, ...]]:
    """The files after one to `most` edits that apply to them, and the names of these edits."""
    wanted = rng.randint(1, most)
    chosen: list[str] = []
    for name in rng.sample(list(EDITS), len(EDITS)):
        if len(chosen) < wanted and tried(name, files, rng) is not None:
            chosen.append(name)
    done: list[str] = []
    for name in sorted(chosen, key=list(EDITS).index):
        changed = tried(name, files, rng)
        if changed is not None:
            files = changed
            done.append(name)
    return files, tuple(done)


def tried(name: str, files: Files, rng: random.Random) -> Files | None:
    """The files after one edit, or None if it does not apply to them."""
    return next((changed for _ in range(TRIES) if (changed := EDITS[name](files, rng)) is not None), None)
