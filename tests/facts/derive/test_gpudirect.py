from __future__ import annotations

import pytest

from doctor.facts.derive.gpudirect import derive
from doctor.facts.model import Fact, Source, Value
from doctor.facts.store import FactStore


def way(**changed: Value | None) -> Value | None:
    facts: dict[str, Value | None] = {
        "ib_devices": ("mlx5_0",), "modules": ("mlx5_core", "nvidia"), "peermem_loaded": False,
        "open_driver": False, "kernel": "6.8.0-60-generic", **changed,
    }  # fmt: skip
    known = [Fact(f"node.{n}", v, "node:n1", Source("probe", "x")) for n, v in facts.items() if v is not None]
    return next((fact.value for fact in derive(FactStore(known))), None)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"peermem_loaded": True}, "peermem"),
        ({}, "none"),
        ({"open_driver": True}, "dmabuf"),
        ({"open_driver": True, "kernel": "5.4.0-150-generic"}, "none"),
        ({"open_driver": None}, None),
        ({"open_driver": True, "kernel": None}, None),
        ({"ib_devices": ()}, None),
        ({"peermem_loaded": None}, None),  # no NVIDIA driver
        ({"modules": ("efa", "nvidia")}, None),
    ],
)
def test_the_way_to_gpu_memory(changed: dict[str, Value | None], told: str | None) -> None:
    assert way(**changed) == told
