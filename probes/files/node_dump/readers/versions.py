"""Versions as programs report their environment: collect_env, ds_report, transformers and accelerate env, and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact
from probes.files.node_dump.readers.pip_list import canonical, package
from probes.files.node_dump.text import Block, Line
from probes.files.node_dump.values import size

KIND = "versions"
MARKS = (
    "version",
    "torch ",
    "PyTorch",
    "pytorch ",
    "cuda ",
    "CUDA ",
    "deepspeed ",
    "transformers ",
    "accelerate ",
    "vCPU",
)

_NUMBER = r"v?(?P<version>\d+(?:\.\d+)+[\w.+-]*)"
_LABELS = (
    re.compile(rf"^\s*-?\s*(?:`?(?P<name>[A-Za-z][\w-]*)`? version(?: \(GPU\?\))?)\s*[:.]+\s*{_NUMBER}"),
    re.compile(rf"^(?P<name>torch|deepspeed|triton)\s+(?:version|info)\s*\.{{3,}}\s*{_NUMBER}"),
)
_FIXED = (
    (re.compile(rf"^CUDA used to build PyTorch: {_NUMBER}"), "node.cuda_build"),
    (re.compile(rf"^torch cuda version \.+ {_NUMBER}"), "node.cuda_build"),
    (re.compile(rf"^CUDA runtime version: {_NUMBER}"), "node.cuda_toolkit"),
    (re.compile(rf"Cuda compilation tools, release {_NUMBER}"), "node.cuda_toolkit"),
    (re.compile(rf"^nvcc version \.+ {_NUMBER}"), "node.cuda_toolkit"),
    (re.compile(rf"^Nvidia driver version: {_NUMBER}"), "node.driver_version"),
    (re.compile(rf"^Python version: {_NUMBER}"), "node.python"),
)
_SHM = re.compile(r"^shared memory \(/dev/shm\) size \.+ (?P<size>[\d.]+ [KMGT]B)")
_SURE = re.compile(
    r"^(?:PyTorch version|CUDA used to build|Is CUDA available|torch (?:cuda )?version|deepspeed info"
    r"|shared memory \()|^\s*- "
)
_NO_NOTE = re.compile(r"\b(?:pip|conda|uv) install\b|^\s*(?:import|from|File|Traceback)\b|://")
_AVAILABLE = re.compile(r"^Is CUDA available: (?P<value>True|False)")
_GPU = re.compile(
    r"^(?:GPU models and configuration: )?GPU (?P<index>\d{1,3}): (?P<name>(?:NVIDIA|Tesla|Quadro|GeForce"
    r"|AMD)\b.*?)(?:\s+\(UUID.*\))?\s*$"
)
_GPU_TYPE = re.compile(r"^\s*-?\s*GPU type: (?P<name>.+?)\s*$")
_NOTE = re.compile(
    r"\b(?P<name>torch|pytorch|transformers|accelerate|deepspeed|trl|peft|vllm|python|cuda|driver|megatron-core|megatron_core|nccl|lightning|flash-attn"
    rf"|flash_attn|ms-swift|llamafactory|triton|apex|transformer-engine|verl|xformers)\s*(?:==|=|:)?\s*{_NUMBER}",
    re.IGNORECASE,
)
_IN_NOTE = (
    (re.compile(r"\b(?P<value>\d{1,4}) v?CPUs?\b"), "node.cpus"),
    (re.compile(r"\bRAM:? (?P<value>\d+(?:\.\d+)?) ?(?P<unit>[GT])i?B\b"), "node.memory_total"),
    (
        re.compile(r"(?P<name>NVIDIA (?:[A-Z]{1,4}\d{2,4}\w*|GeForce RTX \d{4}(?: Ti)?|RTX \w+)[\w -]*?)(?=[,;)\n]|$)"),
        "node.gpu_names",
    ),
)
_NAMES = {
    "pytorch": "torch",
    "cuda": "node.cuda_build",
    "python": "node.python",
    "driver": "node.driver_version",
    "nccl": "nccl",
}
_MOST_NOTE = 400
_SHORT_TEXT = 12


def recognise(block: Block) -> list[Block]:
    """Two lines that only such a report has, or a short text a quarter of which speaks of versions."""
    full = [line for line in block.lines if line.text]
    if len(full) > _SHORT_TEXT and sum(1 for line in full if _SURE.match(line.text)) < 2:
        return []
    lines = [line for line in full if _is_label(line) or _is_note(line)]
    sure = sum(1 for line in lines if _SURE.match(line.text))
    short = len(full) <= _SHORT_TEXT and len(lines) * 4 >= len(full)
    return [block.part(lines)] if lines and (sure >= 2 or short) else []


def _is_label(line: Line) -> bool:
    patterns = (*_LABELS, *(pattern for pattern, _ in _FIXED), _AVAILABLE, _GPU, _GPU_TYPE, _SHM)
    return any(pattern.search(line.text[:500]) for pattern in patterns)


def _is_note(line: Line) -> bool:
    """`torch 2.7.1, accelerate 1.12.0, NVIDIA L40S`: two versions at least, on a line that is short and no command."""
    if len(line.text) > _MOST_NOTE or _NO_NOTE.search(line.text):
        return False
    return len({match["name"].lower() for match in _NOTE.finditer(line.text)}) >= 2


def read(section: Block) -> Iterator[Fact]:
    for line in section.lines:
        text = line.text[:500]
        fixed = next(((m, name) for pattern, name in _FIXED if (m := pattern.search(text))), None)
        label = next((m for pattern in _LABELS if (m := pattern.match(text))), None)
        if fixed:
            yield section.fact(fixed[1], fixed[0]["version"], line)
        elif match := _AVAILABLE.match(text):
            yield section.fact("node.cuda_available", match["value"] == "True", line)
        elif match := _GPU.match(text):
            yield section.fact("gpu.name", match["name"].strip(), line, section.gpu(match["index"]))
        elif match := _GPU_TYPE.match(text):
            yield section.fact("node.gpu_names", (match["name"],), line)
        elif match := _SHM.match(text):
            yield section.fact("node.shm_total", size(match["size"]) or 0, line)
        elif label:
            yield from _version(section, line, label["name"], label["version"])
        else:
            yield from _note(section, line)


def _version(section: Block, line: Line, name: str, version: str) -> Iterator[Fact]:
    known = _NAMES.get(name.lower(), canonical(name))
    if known.startswith("node."):
        yield section.fact(known, version, line)
    elif known not in ("os", "gcc", "glibc", "libc", "clang", "cmake", "cudnn", "platform", "hip", "miopen"):
        yield from package(section, line, known, version.rstrip("-."))


def _note(section: Block, line: Line) -> Iterator[Fact]:
    for found in _NOTE.finditer(line.text):
        yield from _version(section, line, found["name"], found["version"].rstrip(".,-"))
    for pattern, name in _IN_NOTE:
        if match := pattern.search(line.text):
            if name == "node.gpu_names":
                yield section.fact(name, (match["name"].strip(),), line)
            elif name == "node.cpus":
                yield section.fact(name, int(match["value"]), line)
            else:
                yield section.fact(
                    name, int(float(match["value"]) * 2**30 * (1024 if match["unit"] == "T" else 1)), line
                )
