"""Files of one job are one run; files that compare are several."""

from __future__ import annotations

import pytest

from probes.files.runs import runs_of


@pytest.mark.parametrize(
    "names",
    [
        ["job.log"],
        ["rank_0.log", "rank_1.log"],
        ["node0/rank0.log", "node1/rank8.log"],
        ["attempt_0/0/stderr.log", "attempt_0/1/stderr.log", "attempt_1/0/stdout.log"],
        ["tp0_pp0_dp0.log", "tp1_pp0_dp0.log", "tp1_pp1_dp3.log"],
        ["job.log", "dmesg.txt", "nccl_debug.log"],
        ["worker-0.log", "worker-1.log", "master-0.log"],
        ["slurm-551.out", "slurm-551.err"],
        ["logs/a/rank0.log", "logs/a/rank1.log"],
        ["n1.log", "n2.log"],
        ["n0/rank0.log", "n1/rank8.log"],
        ["node0.tar.gz:rank0.log", "node1.tar.gz:rank8.log"],
    ],
)
def test_one_run(names: list[str]) -> None:
    assert set(runs_of(names).values()) == {"job"}


@pytest.mark.parametrize(
    ("names", "runs"),
    [
        (["before.log", "after.log"], ["before", "after"]),
        (["with_offload.log", "without_offload.log"], ["with_offload", "without_offload"]),
        (["run_a_tp8.log", "run_b_tp16.log"], ["run_a_tp8", "run_b_tp16"]),
        (["single_node.log", "two_nodes.log"], ["single_node", "two_nodes"]),
        (["job.log", "single_node.log"], ["job", "single_node"]),
        (["node1.log", "single_node.log", "two_nodes_zero0.log"], ["job", "single_node", "two_nodes_zero0"]),
        (["tp8.log", "tp16.log"], ["tp8", "tp16"]),
        (["n2.log", "n4.log", "n8.log"], ["n2", "n4", "n8"]),
        (["tp1.log", "tp2.log"], ["tp1", "tp2"]),
        (["bench_8gpus.log", "bench_16gpus.log"], ["bench_8gpus", "bench_16gpus"]),
        (["before/rank0.log", "before/rank1.log", "after/rank0.log"], ["before", "before", "after"]),
        (["alpha/rank0.log", "alpha/rank1.log", "beta/rank0.log"], ["alpha", "alpha", "beta"]),
        (["alpha.zip:rank0.log", "alpha.zip:rank1.log", "beta.tar.gz:rank0.log"], ["alpha", "alpha", "beta"]),
        (["before_rank0.log", "before_rank1.log", "after_rank0.log"], ["before", "before", "after"]),
    ],
)
def test_several_runs(names: list[str], runs: list[str]) -> None:
    assert list(runs_of(names).values()) == runs
