from __future__ import annotations

from doctor.facts.derive.operators import derive
from tests.facts.derive.speed_lines import store_of, values


def test_collectives_are_added_up_by_kind() -> None:
    table = ("ncclDevKernel_SendRecv=30", "dispatch=5.5", "ncclAllGather=7", "gemm=100", "no number=x")
    assert values([*derive(store_of(trace__op_times=table))]) == {
        "trace.all_to_all_time": 35.5,
        "trace.all_gather_time": 7.0,
    }
