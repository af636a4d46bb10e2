"""Jobs that died or are slow, as folders of files: what a person would hand over."""

from __future__ import annotations

from pathlib import Path

from tests.probes.files.flight_recorder.dumps import world
from tests.probes.files.trace.samples import collective, kernel, launch, trace, written

WATCHDOG = (
    "[rank{rank}]:[E ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=4, OpType=ALLREDUCE, NumelIn=32, NumelOut=32, Timeout(ms)=600000) ran for 600058 milliseconds "
    "before timing out.\n"
)
OOM = (
    "[rank{rank}]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU {rank} has a total "
    "capacity of 79.10 GiB of which 512.00 MiB is free. Process 1 has 78.60 GiB memory in use. Of the allocated memory "
    "76.00 GiB is allocated by PyTorch, and 500.00 MiB is reserved by PyTorch but unallocated.\n"
)
LAUNCH = (
    "torchrun --nnodes 2 --nproc-per-node 8 pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel \\\n"
    "    --pipeline-model-parallel-size 4 --num-layers 32 --hidden-size 4096 --num-attention-heads 32 \\\n"
    "    --ffn-hidden-size 11008 --swiglu --vocab-size 32000 --seq-length 8192 --max-position-embeddings 8192 \\\n"
    "    --micro-batch-size 4 --global-batch-size 64 --use-distributed-optimizer --bf16\n"
)
CARDS = (
    "==============NVSMI LOG==============\n\nDriver Version : 570.86.15\nCUDA Version : 12.8\n\nAttached GPUs : 1\n"
    "GPU 00000000:19:00.0\n    Product Name : NVIDIA H100 80GB HBM3\n    FB Memory Usage\n        Total : 81559 MiB\n"
    "        Used : 12 MiB\n        Free : 81547 MiB\n"
)


def out_of_memory(folder: Path, ranks: int = 1) -> Path:
    """A pipeline of four stages on 16 GPUs, of which the first `ranks` do not hold it, with its launch script."""
    before = "".join(f" iteration {n}/ 100 | elapsed time per iteration (ms): 5120.0 |\n" for n in range(1, 9))
    for rank in range(16):
        (folder / f"rank{rank}.log").write_text(before + (OOM.format(rank=rank) if rank < ranks else "bye\n"))
    (folder / "train.sh").write_text(LAUNCH)
    (folder / "nvidia-smi.txt").write_text(CARDS)
    return folder


def planned(folder: Path) -> Path:
    """The same on all ranks: half the micro-batch makes it fit."""
    return out_of_memory(folder, 16)


def hang(folder: Path) -> Path:
    """Rank 3 of eight never enters a collective, as dumps of the flight recorder and a log tell."""
    job = world(8)
    job.call((0, 1, 2, 4, 5, 6, 7), "all_reduce", "0", done=False, line=42)
    job.write(folder)
    (folder / "train.log").write_text("".join(WATCHDOG.format(rank=rank) for rank in (0, 1, 2, 4, 5, 6, 7)))
    return folder


def slow(folder: Path) -> Path:
    """The host is late on some ranks, communication stands bare on others; experts are loaded unevenly."""
    for rank in range(8):
        events = []
        for n in range(100):
            at = 100.0 * n
            events += [launch(at, n + 1), kernel("k", at + 10, 20.0 + 2 * rank, correlation=n + 1)]
            if n % 3 == 0:
                events.append(collective("AllGather", at + 60, 20.0 + rank, range(8), "TENSOR_MODEL_PARALLEL_GROUP"))
        written(folder / f"trace_{rank}.json", trace(events, rank, 8))
    loads = [[100 + 10 * ((layer + expert) % 5) for expert in range(16)] for layer in range(6)]
    loads[2][3], loads[4][5] = 0, 400
    rows = [f"1,{layer},{expert},{n}" for layer, row in enumerate(loads) for expert, n in enumerate(row)]
    (folder / "tokens_per_expert.csv").write_text("\n".join(["step,layer,expert,num_tokens", *rows]) + "\n")
    return folder
