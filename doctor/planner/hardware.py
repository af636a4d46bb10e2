"""GPUs by name, from the table in data/gpus.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from ruamel.yaml import YAML

from doctor.planner.cluster import Cluster, Gpu
from doctor.planner.errors import PlanError, hint, reason

GB = 1e9
TERA = 1e12
MAKERS = ("nvidia", "tesla", "geforce", "amd", "instinct")


@cache
def gpus() -> Mapping[str, Gpu]:
    """All GPUs of the table by name."""
    return {name: _gpu(name, row) for name, row in _rows().items()}


def gpu(name: str) -> Gpu:
    """The GPU of that name, as a person (`A100-80G`) or the driver (`NVIDIA H100 80GB HBM3`) writes it.

    Case, blanks and dashes do not matter; a beginning stands for the first of the table that starts with it. Raises
    PlanError that names the nearest.
    """
    spellings, wanted = _spellings(), _key(name)
    found = spellings.get(wanted) or next(
        (row for key, row in spellings.items() if wanted and key.startswith(wanted)), ""
    )
    if not found:
        raise PlanError(reason("reason.gpu", name=repr(name), hint=hint(name, gpus()), names=", ".join(gpus())))
    return gpus()[found]


def node_of(entry: Gpu, gpus_in_all: int, per_node: int | None = None, nic_bandwidth: float | None = None) -> Cluster:
    """A cluster of usual nodes of that GPU: NVLink domain and network cards as the vendor's reference node has them.

    nic_bandwidth: B/s per direction of a whole node, where it is not the reference node's. Raises PlanError where
    several nodes are asked for and their network is not known.
    """
    row = _rows().get(entry.name, {})
    usual = int(row.get("per_node", 8))
    inside = per_node or min(usual, gpus_in_all)
    domain = int(row.get("nvlink_domain", inside if entry.nvlink else 1))
    if domain <= usual:
        domain = min(domain, inside)
    per_gpu = row.get("nic_per_gpu_gbs")
    if nic_bandwidth is None and per_gpu is not None:
        nic_bandwidth = float(per_gpu) * GB * inside
    if nic_bandwidth is None and gpus_in_all > inside:
        raise PlanError(reason("reason.network", gpu=entry.name))
    return Cluster(
        gpu=entry,
        gpus=gpus_in_all,
        per_node=inside,
        nvlink_domain=min(domain, gpus_in_all),
        nic_bandwidth=nic_bandwidth or 0.0,
    )


@cache
def _rows() -> Mapping[str, Mapping[str, Any]]:
    text = files("doctor.planner").joinpath("data/gpus.yaml").read_text(encoding="utf-8")
    rows: dict[str, dict[str, Any]] = YAML(typ="safe").load(text)
    return rows


@cache
def _spellings() -> Mapping[str, str]:
    """Row by every spelling, names before aliases so that a beginning finds the table's own order."""
    keys = {_key(name): name for name in _rows()}
    for name, row in _rows().items():
        for alias in row["aliases"]:
            keys.setdefault(_key(alias), name)
    return keys


def _gpu(name: str, row: Mapping[str, Any]) -> Gpu:
    def rate(field: str, unit: float) -> float | None:
        value = row.get(field)
        return None if value is None else float(value) * unit

    bf16 = rate("bf16_tflops", TERA)
    return Gpu(
        name=name,
        memory=float(row["memory_gib"]) * 2**30,
        peak_bf16=bf16,
        peak_fp16=rate("fp16_tflops", TERA) or bf16,
        peak_fp8=rate("fp8_tflops", TERA),
        memory_bandwidth=rate("memory_gbs", GB),
        nvlink=rate("nvlink_gbs", GB),
        pcie=rate("pcie_gbs", GB),
        source=str(row["source"]),
        verified=bool(row["verified"]),
    )


def _key(name: str) -> str:
    key = "".join(char for char in name.lower() if char.isalnum())
    for maker in MAKERS:
        key = key.removeprefix(maker)
    return key
