"""Groups log files into runs: one job's files together, before and after or tp8 and tp16 apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PACKED = re.compile(r"\.(?:gz|zst|zstd|xz|bz2|log|txt|out|err|json)$", re.IGNORECASE)
ARCHIVE = re.compile(r"\.(?:zip|tar|tar\.\w{1,4}|t[gx]z|tbz2?|tzst):", re.IGNORECASE)
PLACES = re.compile(
    r"(?<![a-z])(?:(?:global|local|worker|world)?[_.-]?rank|node|host|worker|master|server|machine|pod|launcher|gpu|device|"
    r"task|proc|process|attempt|restart|replica|pid|job|part|shard)s?[-_.]?[a-z]?\d+(?!\d)",
    re.IGNORECASE,
)
COORDINATES = re.compile(r"(?<![a-z])(?:tp|pp|dp|cp|ep|vp|mp|sp|n)[-_]?\d+(?!\d)", re.IGNORECASE)
AXIS = re.compile(r"(?<![a-z])(tp|pp|dp|cp|ep|vp|mp|sp|n)[-_]?(\d{1,6})(?!\d)", re.IGNORECASE)
STREAMS = re.compile(r"(?<![a-z])(?:stdout|stderr|out|err|log|console|output)(?![a-z])", re.I)
NUMBER = re.compile(r"(?<![a-z])\d{4,}(?![a-z0-9])", re.IGNORECASE)
COMPARED = re.compile(
    r"(?<![a-z])(?:before|after|with|without|no|single|two|three|four|multi|one|baseline|base|reference|ref|good|bad|slow|fast|old|new|"
    r"fixed|broken|failing|working|healthy|ok|orig|original|patched|retry|retries|rerun|control|trial|variant|exp|experiment|run|"
    r"first|second|on|off|enabled|disabled|vs)(?![a-z])",
    re.IGNORECASE,
)
SIZED = re.compile(
    r"(?<![a-z])(?:(?:tp|pp|dp|cp|ep|zero|stage|bs|mbs|gbs|world|np|n)[-_]?\d+|\d+[-_]?x?(?:gpus?|nodes?|ranks?|gbps|k)|\d+x\d+)(?![a-z0-9])",
    re.I,
)
JOB = "job"


@dataclass(frozen=True, slots=True)
class _File:
    name: str
    stem: str
    place: str


def runs_of(names: Sequence[str]) -> Mapping[str, str]:
    """The run of each file. One run only is called `job`; the files that set no run apart are `job` too.

    Files differ in run if their names, without rank, node, attempt and the like, hold words that compare (before,
    without, single, tp16), or if two folders hold a log of the same place.
    """
    files = [_file(name) for name in names]
    ranges = _coordinates(files)
    marks = {file.name: _mark(file.stem, ranges) for file in files}
    by_mark: dict[str, list[_File]] = defaultdict(list)
    for file in files:
        by_mark[marks[file.name]].append(file)
    runs: dict[str, str] = {}
    for mark, members in by_mark.items():
        runs.update(dict.fromkeys((file.name for file in members), mark or JOB))
        if not mark:
            runs.update(_by_folder(members))
    if len(set(runs.values())) <= 1:
        return dict.fromkeys(names, JOB)
    return runs


def folders(name: str) -> str:
    """`name` with an archive (`node3.tar.gz:rank0.log`) taken as the folder that it was made of."""
    return ARCHIVE.sub("/", name.replace("\\", "/"))


def _file(name: str) -> _File:
    path = folders(name).strip("/")
    while PACKED.search(path):
        path = PACKED.sub("", path)
    return _File(name, path, path.rpartition("/")[0])


def _coordinates(files: Sequence[_File]) -> set[str]:
    """Axes whose numbers are places (tp0 .. tp7, n1 n2 n3) and not sizes (tp8, tp16): they count from 0 or 1.

    A parallel degree is also compared from 1 up (tp1, tp2), so there only a 0 makes places of the numbers.
    """
    numbers: dict[str, set[int]] = defaultdict(set)
    for file in files:
        for match in AXIS.finditer(file.stem):
            numbers[match[1].lower()].add(int(match[2]))
    counted = {axis for axis, found in numbers.items() if len(found) > 1 and max(found) - min(found) + 1 == len(found)}
    return {axis for axis in numbers if 0 in numbers[axis] or (axis == "n" and axis in counted and 1 in numbers[axis])}


def _mark(stem: str, ranges: set[str]) -> str:
    """The words of a path that set its run apart, or nothing."""
    kept = []
    for part in stem.split("/"):
        bare = PLACES.sub("", part)
        bare = COORDINATES.sub(lambda m: "" if re.match("[a-z]+", m[0], re.I)[0].lower() in ranges else m[0], bare)  # type: ignore[index]
        if COMPARED.search(_spaced(bare)) or SIZED.search(_spaced(bare)):
            kept.append(re.sub(r"[-_.]{2,}", "_", STREAMS.sub("", NUMBER.sub("", bare))).strip("-_. ") or bare)
    return "/".join(kept)


def _spaced(text: str) -> str:
    return text.replace("_", " ").replace("-", " ").replace(".", " ")


def _by_folder(members: Sequence[_File]) -> dict[str, str]:
    """Folders that repeat the same places (run1/rank0, run2/rank0) are runs; torchrun's and nodes' folders are not."""
    folders: dict[str, set[str]] = defaultdict(set)
    for file in members:
        top = file.stem.split("/")[0] if "/" in file.stem else ""
        if not PLACES.fullmatch(top):
            folders[top].add(file.stem.partition("/")[2] if top else file.stem)
    named = [folder for folder in folders if folder]
    repeated = len(named) > 1 and any(folders[a] & folders[b] for a in named for b in named if a < b)
    if not repeated:
        return {}
    return {
        file.name: file.stem.split("/")[0] for file in members if file.stem.split("/")[0] in named and "/" in file.stem
    }
