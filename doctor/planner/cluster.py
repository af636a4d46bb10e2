"""The machines: GPUs, how they are joined in a node, how nodes are joined."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.planner.errors import PlanError, reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One model of GPU.

    memory: B that a program can have; peak_bf16, peak_fp16, peak_fp8: dense FLOP/s; memory_bandwidth: B/s; nvlink,
    pcie: B/s per direction, nvlink 0 where there is none. None where a figure is not known: ask with `known`. `source`
    names where the figures stand; `verified` is False where no primary source was read.
    """

    name: str
    memory: float
    peak_bf16: float | None
    peak_fp16: float | None
    peak_fp8: float | None
    memory_bandwidth: float | None
    nvlink: float | None
    pcie: float | None
    source: str
    verified: bool = True

    def known(self, figure: str) -> float:
        """That figure; raises PlanError where the table has none."""
        value: float | None = getattr(self, figure)
        if value is None:
            raise PlanError(reason("reason.figure", figure=figure, gpu=self.name))
        return value


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
                raise PlanError(reason("reason.least", name=field, value=getattr(self, field)))
        if self.gpus > self.per_node and self.gpus % self.per_node:
            raise PlanError(reason("reason.nodes", gpus=self.gpus, per_node=self.per_node))

    @property
    def nodes(self) -> int:
        return max(1, self.gpus // self.per_node)
