"""The machines: GPUs, how they are joined in a node, how nodes are joined."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.planner.errors import PlanError


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One model of GPU. memory: B; peak_bf16, peak_fp8: dense FLOP/s, 0 where the unit does not exist or is not known;
    memory_bandwidth: B/s; nvlink: B/s per direction, 0 without NVLink; pcie: B/s per direction. `source` names where
    the figures stand; `verified` is False where no primary source was read."""

    name: str
    memory: float
    peak_bf16: float
    peak_fp8: float
    memory_bandwidth: float
    nvlink: float
    pcie: float
    source: str
    verified: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """`gpus` GPUs in nodes of `per_node`.

    nvlink_domain: GPUs that reach each other over NVLink: `per_node` as a rule, 72 in an NVL72 rack, 1 without NVLink.
    nic_bandwidth: B/s per direction of all network cards of one node together.
    """

    gpu: Gpu
    gpus: int
    per_node: int
    nvlink_domain: int
    nic_bandwidth: float

    def __post_init__(self) -> None:
        for field in ("gpus", "per_node", "nvlink_domain"):
            if getattr(self, field) < 1:
                raise PlanError(f"{field} is {getattr(self, field)}; it must be at least 1")
        if self.gpus > self.per_node and self.gpus % self.per_node:
            raise PlanError(f"{self.gpus} GPUs are not whole nodes of {self.per_node}")

    @property
    def nodes(self) -> int:
        return max(1, self.gpus // self.per_node)
