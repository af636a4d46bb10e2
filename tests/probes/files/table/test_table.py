"""Small tables of times and of experts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.facts.model import Value
from probes.files.table import read_table
from probes.files.table.cells import to_number
from probes.files.table.times import kind_of


def facts(text: str) -> dict[str, Value]:
    reading = read_table("any.csv", text.encode())
    return {fact.name: fact.value for fact in reading.facts} if reading else {}


OPS = """\
name,calls_per_iter,total_ms_per_iter
cudaMalloc,90,3000
cudaFree,80,2500
ncclDevKernel_AllGather,200,2100
ampere_bf16_s16816gemm,3000,3900
cudaStreamSynchronize,96,700
"""
OVERLAP = """\
stream,kind,busy_ms_per_step,overlapped_with_compute_ms
7,compute,2000,
20,ncclAllGather,1200,300
21,ncclReduceScatter,800,100
# step wall time 3.9 s
"""
NSYS = """\
Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
60.0,6000000000,120,50000000,1,1,1,1,cudaMalloc
40.0,4000000000,10,400000000,1,1,1,1,cudaDeviceSynchronize
"""
TORCH = """\
---------------------------  ------------  ------------  ------------  ------------  ------------  ------------
                       Name    Self CPU %      Self CPU   CPU total %     Self CUDA    CUDA total    # of Calls
---------------------------  ------------  ------------  ------------  ------------  ------------  ------------
                   aten::mm         0.50%       1.200ms         1.00%        1.202s        1.202s           120
      ncclDevKernel_AllReduce         0.00%       0.000us         0.00%     800.000ms     800.000ms            80
                 cudaMalloc        20.00%     480.000ms        20.00%       0.000us       0.000us            48
---------------------------  ------------  ------------  ------------  ------------  ------------  ------------
Self CPU time total: 2.400s
Self CUDA time total: 3.000s
"""


def test_operations_by_kind() -> None:
    found = facts(OPS)
    assert found["trace.cuda_malloc_time"] == pytest.approx(5.5)
    assert found["trace.cuda_malloc_calls"] == 170
    assert found["trace.comm_time"] == pytest.approx(2.1)
    assert found["trace.compute_time"] == pytest.approx(3.9)
    assert found["trace.sync_time"] == pytest.approx(0.7)
    assert found["trace.op_times"][0] == "ampere_bf16_s16816gemm=3.9"  # type: ignore[index]


def test_overlap_with_compute() -> None:
    found = facts(OVERLAP)
    assert found["trace.exposed_comm_time"] == pytest.approx(1.6)
    assert found["trace.overlap_fraction"] == pytest.approx(0.2)
    assert found["trace.step_time"] == pytest.approx(3.9)


def test_exposed_time_in_a_column_of_its_own() -> None:
    found = facts("kernel;total (us);exposed (us)\nall_reduce;2000;500\ngemm;9000;0\n")
    assert found["trace.exposed_comm_time"] == pytest.approx(0.0005)
    assert found["trace.overlap_fraction"] == pytest.approx(0.75)


def test_tables_of_nsys_and_torch() -> None:
    assert facts(NSYS)["trace.cuda_malloc_time"] == pytest.approx(6)
    found = facts(TORCH)
    assert found["trace.compute_time"] == pytest.approx(1.202)
    assert found["trace.comm_time"] == pytest.approx(0.8)
    assert found["trace.cuda_malloc_time"] == pytest.approx(0.48)


def test_waiting_for_data() -> None:
    found = facts("phase\tms_per_iter\nnext(dataloader)\t140\nforward\t50\nGPU idle\t139\nstep\t200\n")
    assert (found["trace.data_time"], found["trace.idle_time"], found["trace.step_time"]) == pytest.approx(
        (0.14, 0.139, 0.2)
    )


def test_names_decide_the_kind() -> None:
    kinds = {
        "ncclDevKernel_ReduceScatter": "comm",
        "grad_sync": "comm",
        "cudaMallocAsync": "cuda_malloc",
        "cudaMallocHost": "",
        "Memcpy HtoD (Pageable -> Device)": "copy",
        "flash_fwd_kernel": "compute",
        "get_batch (CPU)": "data",
        "pipeline bubble": "idle",
        "Optimizer.step#AdamW.step": "optimizer",
        "banana": "",
    }
    assert {name: kind_of(name) for name in kinds} == kinds


def test_experts_in_rows_and_in_columns() -> None:
    found = facts("layer,expert,tokens\n0,0,100\n0,1,300\n1,0,100\n1,1,100\n")
    assert found["moe.tokens_per_expert_max_over_mean"] == pytest.approx(400 / 300)
    assert found["moe.experts_seen"] == 2
    found = facts("step,expert_0,expert_1,expert_2\n1,10,10,70\n2,10,10,70\n")
    assert found["moe.tokens_per_expert_max_over_mean"] == pytest.approx(140 / 60)
    assert found["moe.tokens_per_expert_min_over_mean"] == pytest.approx(20 / 60)


def test_ranks_that_receive_tokens() -> None:
    assert facts("ep_rank,tokens_received\n0,100\n1,300\n")["moe.tokens_per_rank_max_over_mean"] == 1.5


@pytest.mark.parametrize(
    "text",
    [
        "step,loss,lr\n1,2.5,0.1\n2,2.4,0.1\n",
        "index, memory.used [MiB], memory.total [MiB]\n0, 10 MiB, 20 MiB\n1, 10 MiB, 20 MiB\n",
        "fruit,total_ms\nbanana,3\napple,4\n",
        "ncclAllReduce,3\ncudaMalloc,4\n",
        "rank,tokens_per_second\n0,100\n1,300\n",
        "expert,tokens\n0,0\n1,0\n",
        "INFO, forward started, 3 ms\nINFO, backward, and, more, cells\nnothing\n",
        "",
        "one line\n",
        "a,b\n",
    ],
)
def test_other_tables_and_texts_are_none(text: str) -> None:
    assert read_table("trace_top_ops.csv", text.encode()) is None


def test_the_source_is_the_row_that_counts_most() -> None:
    reading = read_table("x.csv", OPS.encode())
    assert reading is not None
    source = next(fact.source for fact in reading.facts if fact.name == "trace.cuda_malloc_time")
    assert (source.kind, source.line, source.text) == ("table", 2, "cudaMalloc,90,3000")


def test_uneven_rows_are_left_out_and_told() -> None:
    reading = read_table("x.csv", (OPS + "gemm,1\n").encode())
    assert reading is not None and "1 rows" in reading.warnings[0]


def test_hostile_cells() -> None:
    for cell in ("1e400", "9" * 5000, "-5", "NaN", "=cmd()", '"', "\x00", "٣", "1,000"):
        read_table("x.csv", OPS.replace("3000", cell).encode())
    read_table("x.csv", b"\xff\xfe" + OPS.encode("utf-16-le"))
    read_table("x.csv", (",".join(f"c{i}" for i in range(5000)) + "\n" + "1," * 4999 + "1\n").encode())
    for end in range(0, len(OVERLAP), 7):
        read_table("x.csv", OVERLAP[:end].encode())


def test_numbers_in_cells() -> None:
    assert to_number("1,240.5") == 1240.5
    assert to_number("3.2ms") == 3.2
    assert to_number("12.5%") == 12.5
    assert to_number("12 apples or so") is None
    assert to_number("ms") is None


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("name,ms\t;|\n \"'12.e-%(#)cudaMalloc"), max_size=300))
def test_no_table_is_too_strange(text: str) -> None:
    read_table("x.csv", text.encode())
