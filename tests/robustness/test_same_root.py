"""The first root stays what it is when a job's files are edited in ways that leave the fault alone.

The study over the folder of cases (`make calibration`) is the measure; this is its small brother on inputs that are in
the repository: the sample and one made-up job an area.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from doctor.rulebase.load import load_rulebase
from doctor.rulebase.model import RuleBase
from studies.robustness import diagnosed, verdict
from tests.robustness.edits import Files, edited

SAMPLE = Path(__file__).parent.parent.parent / "fixtures" / "sample" / "job"
COPIES = 6

JOBS = {
    "allocator-fragmentation": (
        "2025-03-03 08:00:01,100 INFO step:41 - actor/grad_norm:0.21 - timing_s/step:88.1\n"
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB. GPU 3 has a total capacity of "
        "79.10 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.89 GiB memory in use. Of "
        "the allocated memory 64.70 GiB is allocated by PyTorch, and 11.94 GiB is reserved by PyTorch but unallocated.\n"
    ),
    "shm-too-small": (
        "n1:21:50 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
        "n1:21:50 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-AbCdEf to 9637892 bytes\n"
        "n1:21:50 [0] misc/shmutils.cc:113 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-AbCdEf "
        "(size 9637888)\n"
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:317, "
        "unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n"
    ),
    "port-in-use": (
        "2025-03-03 08:00:01,100 INFO starting\n"
        "[W socket.cpp:426] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in "
        "use).\n"
        "[E socket.cpp:462] [c10d] The server socket has failed to listen on any local network address.\n"
        "RuntimeError: The server socket has failed to listen on any local network address. The server socket has failed "
        "to bind to [::]:29500 (errno: 98 - Address already in use).\n"
    ),
    "gpu-fell-off-bus": (
        "[Mon Mar  3 08:00:01 2025] NVRM: Xid (PCI:0000:9c:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off "
        "the bus.\n"
        "[Mon Mar  3 08:00:01 2025] NVRM: GPU 0000:9c:00.0: GPU has fallen off the bus.\n"
    ),
    "zero23-with-pp": (
        "[2025-03-03 08:00:01,100] [INFO] [logging.py:96:log_dist] [Rank 0] DeepSpeed info: version=0.15.4\n"
        "Traceback (most recent call last):\n"
        '  File "/app/deepspeed/runtime/pipe/engine.py", line 74, in __init__\n'
        '    assert self.zero_optimization_stage() < ZeroStageEnum.gradients, "..."\n'
        "AssertionError: ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism\n"
    ),
    "healthy": "".join(
        f"2025-03-03 08:00:{step:02d},100 INFO iter {step}: loss {3 - step / 50:.4f}, time 412.10ms, mfu 41.20%\n"
        for step in range(1, 31)
    ),
}


@pytest.fixture(scope="module")
def base() -> RuleBase:
    return load_rulebase().base


def sample() -> Files:
    text = {str(p.relative_to(SAMPLE)): p.read_text("utf-8") for p in sorted(SAMPLE.rglob("*")) if p.is_file()}
    return Files(text, frozenset(name for name in text if name.endswith(".log")))


@pytest.mark.parametrize("cause", JOBS)
def test_made_up_jobs_keep_their_root(cause: str, base: RuleBase) -> None:
    files = Files({"job.log": JOBS[cause]}, frozenset({"job.log"}), ("n1",))
    assert verdict(diagnosed(files, base)) == cause
    keeps_its_root(files, cause, base)


def test_the_sample_keeps_its_root(base: RuleBase) -> None:
    keeps_its_root(sample(), verdict(diagnosed(sample(), base)), base)


def keeps_its_root(files: Files, cause: str, base: RuleBase) -> None:
    for seed in range(COPIES):
        changed, names = edited(files, random.Random(seed))
        assert verdict(diagnosed(changed, base)) == cause, f"seed {seed}: {names}"
