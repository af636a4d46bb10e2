"""Package versions: pip list and freeze, conda list, uv, `pip show`, and the list at the end of torch's collect_env."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line

KIND = "pip list"
MARKS = (
    "==",
    "Package",
    "torch",
    "nccl",
    "transformers",
    "deepspeed",
    "[pip3]",
    "[conda]",
    "Name: ",
    "accelerate",
    "numpy",
)

_VERSION = r"(?P<version>\d[\w.+!-]*)"
_FREEZE = re.compile(rf"^\s*(?:\[pip3?\]\s+)?(?P<name>[A-Za-z][\w.-]*)==={{0,1}}{_VERSION}(?:\s*;.*)?\s*$")
_TABLE = re.compile(
    rf"^\s*(?:\[(?:pip3?|conda)\]\s+)?(?P<name>[A-Za-z][\w.-]*)\s+{_VERSION}(?:\s+(?P<build>\S+))?(?:\s+(?P<channel>\S+))?\s*$"
)
_EDITABLE = re.compile(r"^(?P<name>[A-Za-z][\w.-]*) @ \S+?-(?P<version>\d+(?:\.\d+)+[\w.+]*)-\S+\.whl")
_HEADING = re.compile(r"^(?:Package\s+Version|# packages in environment at|# Name\s+Version\s+Build|-{3,}\s+-{3,})")
_SHOW = re.compile(r"^(?P<key>Name|Version): (?P<value>\S+)\s*$")
_FAMOUS = frozenset(
    (
        *(
            "torch",
            "torchvision",
            "torchaudio",
            "pytorch",
            "triton",
            "numpy",
            "cupy",
            "nccl",
            "cudatoolkit",
            "mpi4py",
            "ray",
        ),
        *(
            "transformers",
            "datasets",
            "tokenizers",
            "safetensors",
            "accelerate",
            "peft",
            "trl",
            "bitsandbytes",
            "xformers",
        ),
        *(
            "deepspeed",
            "megatron_core",
            "transformer_engine",
            "apex",
            "flash_attn",
            "liger_kernel",
            "torchtitan",
            "vllm",
        ),
        *("sglang", "lightning", "pytorch_lightning", "nemo_toolkit", "ms_swift", "llamafactory", "verl", "axolotl"),
    )
)
_MAX = 3000


def canonical(name: str) -> str:
    """The name as a fact's: lower case, words joined by `_`, so that an expression can hold it."""
    return re.sub(r"[-_.]+", "_", name).lower()


def recognise(block: Block) -> list[Block]:
    command = re.match(r"^(?:pip3?|conda|uv|python3? -m pip|mamba)\b", block.command)
    full = [line for line in block.lines if line.text.strip()]
    headed = any(_HEADING.match(line.text) for line in full)
    frozen = [line for line in full if _FREEZE.match(line.text)]
    if "pip show" in block.command or _shown(full):
        return [block]
    tabled = [line for line in full if _TABLE.match(line.text)]
    famous = [line for line in frozen or tabled if _is_famous(line)]
    tagged = [line for line in full if re.match(r"^\s*\[(?:pip3?|conda)\]", line.text)]
    rows = sorted({*frozen, *tabled} if command or headed else {*frozen, *tagged}, key=lambda line: line.number)
    if rows and (command or headed or tagged or 2 * len(frozen) > len(full) or (len(frozen) >= 3 and famous)):
        return [block.part(rows[:_MAX])]
    if famous and 2 * len(tabled) > len(full) and not any("%" in line.text for line in full):
        return [block.part(tabled[:_MAX])]
    return []


def _shown(lines: list[Line]) -> bool:
    return any(a.text.startswith("Name: ") and b.text.startswith("Version: ") for a, b in pairwise(lines))


def _is_famous(line: Line) -> bool:
    match = _FREEZE.match(line.text) or _TABLE.match(line.text)
    if match is None:
        return False
    name = canonical(match["name"])
    return name in _FAMOUS or "nccl" in name or name.startswith("nvidia_")


def read(section: Block) -> Iterator[Fact]:
    wheels: dict[str, Line] = {}
    name = ""
    for line in section.lines:
        if show := _SHOW.match(line.text):
            if show["key"] == "Name":
                name = show["value"]
            elif name:
                yield from package(section, line, name, show["value"])
                name = ""
            continue
        match = _FREEZE.match(line.text) or _EDITABLE.match(line.text) or _TABLE.match(line.text)
        if not match:
            continue
        yield from package(section, line, match["name"], match["version"])
        if re.fullmatch(r"nvidia[-_]nccl(?:[-_]cu\d+)?", match["name"], re.IGNORECASE):
            wheels.setdefault(f"{canonical(match['name'])}=={match['version']}", line)
    if wheels:
        yield section.fact("pip.nccl_wheels", tuple(wheels), next(iter(wheels.values())), "job")


def package(section: Block, line: Line, name: str, version: str) -> Iterator[Fact]:
    """`pip.NAME` of the job, and of the node when it is known."""
    for entity in ("job", section.node) if section.host else ("job",):
        yield section.fact(f"pip.{canonical(name)}", version, line, entity)
