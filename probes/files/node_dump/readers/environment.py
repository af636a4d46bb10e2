"""Environment variables: what env, printenv, export or `declare -x` print, and Python's os.environ."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.text import Block, Line
from probes.secrets import redact

KIND = "environment"
MARKS = ("=", "environ(")

_ASSIGNMENT = re.compile(r"^\s*(?:(?:export|declare -x|setenv|set)\s+)?(?P<name>[A-Z][A-Z0-9_]{1,80})=(?P<value>.*)$")
# `NCCL_DEBUG=INFO torchrun ...` starts a program; a launch script is not a dump.
_LAUNCH = re.compile(
    r"=(?:\"[^\"]*\"|'[^']*'|\S*)\s+(?:[A-Za-z_]\w*=\S*\s+)*(?:\S*/)?(?:python[\d.]*|torchrun"
    r"|deepspeed|accelerate|srun|mpirun|bash|sh|swift|ray|numactl|nohup"
    r"|\w+-cli|exec|docker|singularity|horovodrun|colossalai|xtuner|\$\{?\w+)\s"
)
_DICT = re.compile(r"environ\(\{(?P<body>.*)\}\)")
_ENTRY = re.compile(r"'(?P<name>[A-Za-z_]\w{1,80})': '(?P<value>[^']{0,4000})'")
_TELLING = re.compile(
    r"^(?:PATH|HOME|PWD|USER|SHELL|LANG|HOSTNAME|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH"
    r"|MASTER_ADDR|MASTER_PORT|WORLD_SIZE|RANK|LOCAL_RANK|NODE_RANK|OMP_NUM_THREADS|KMP_\w+"
    r"|(?:NCCL|TORCH|CUDA|FI|OFI|UCX|GLOO|SLURM|PYTORCH|HF|DS|OMPI|PMI|PMIX|NVIDIA|MKL|HSA|ROCR"
    r"|RCCL|HPCX|MLX5|GOMP|XLA|VLLM|RAY)_\w+)$"
)
_RUN_IN_LOG = 5
"""Assignments in a row that make a dump in the midst of other text."""
_UNSET = ("unset", "<unset>", "(unset)", "not set", "(not set)", "None", "<not set>")


def recognise(block: Block) -> list[Block]:
    if re.match(r"^(?:env|printenv|export|set|declare)\b(?!.*\bactivate\b)", block.command):
        lines = [line for line in block.lines if _assignment(line)]
        return [block.part(lines)] if lines else []
    full = [line for line in block.lines if line.text.strip() and not line.text.lstrip().startswith("#")]
    ours = [line for line in full if _assignment(line)]
    known = any(_TELLING.match(m["name"]) for line in ours if (m := _assignment(line)))
    if known and 2 * len(ours) >= len(full):
        return [block.part(ours)]
    found = [block.part(run) for run in _runs(full)]
    return found + [block.part([line]) for line in full if _DICT.search(line.text)]


def _assignment(line: Line) -> re.Match[str] | None:
    match = _ASSIGNMENT.match(line.text)
    return match if match and not _LAUNCH.search(line.text[:400]) else None


def _runs(lines: list[Line]) -> Iterator[list[Line]]:
    run: list[Line] = []
    for line in [*lines, None]:
        if line is not None and _assignment(line):
            run.append(line)
            continue
        names = [m["name"] for own in run if (m := _assignment(own))]
        if len(run) >= _RUN_IN_LOG and sum(1 for name in names if _TELLING.match(name)) >= 2:
            yield run
        run = []


def read(section: Block) -> Iterator[Fact]:
    for line in section.lines:
        if match := _assignment(line):
            yield from variable(section, line, match["name"], match["value"])
        elif match := _DICT.search(line.text):
            for entry in _ENTRY.finditer(match["body"]):
                yield from variable(section, line, entry["name"], entry["value"])


def variable(section: Block, line: Line, name: str, text: str) -> Iterator[Fact]:
    """`env.NAME` of the job, and of the node when it is known. A secret's value is replaced."""
    value = text.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    if value in _UNSET or len(value) > 20_000:
        return
    for entity in ("job", section.node) if section.host else ("job",):
        yield section.fact(f"env.{name}", redact(name, value), line, entity)
