"""Jobs for the planner's tests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from doctor.planner.cluster import Cluster
from doctor.planner.families import model
from doctor.planner.hardware import gpu, node_of
from doctor.planner.job import Job
from doctor.planner.layout import Layout


def cluster(gpus: int, name: str = "A100-SXM4-80GB", per_node: int = 8) -> Cluster:
    return node_of(gpu(name), gpus, min(per_node, gpus))


def job(name: str = "llama2-70b", gpus: int = 64, **changes: Any) -> Job:
    """A job on A100s; layout degrees (tp, pp, cp, dp, ep, vpp, sp ...) may be given beside the job's own fields."""
    degrees = {key: changes.pop(key) for key in tuple(changes) if key in Layout.__dataclass_fields__}
    tp, pp, cp = (degrees.get(key, 1) for key in ("tp", "pp", "cp"))
    degrees.setdefault("dp", max(1, gpus // max(1, tp * pp * cp)))
    plain = {"seq": 4096, "micro_batch": 1, "global_batch": 512}
    fields = {**plain, **changes}
    shape = fields.pop("shape", None) or model(name)
    return Job(shape=shape, cluster=fields.pop("cluster", None) or cluster(gpus), layout=Layout(**degrees), **fields)


__all__ = ["cluster", "job", "replace"]
