"""How long the search takes: all layouts of dense models and models of experts, on one core."""

from __future__ import annotations

import statistics
import time

from doctor.planner.families import model
from doctor.planner.frameworks import framework, start
from doctor.planner.hardware import gpu, node_of
from doctor.planner.search import search

# model, GPUs, tokens of a sequence, sequences of a step
CASES = (
    ("llama3-70b", 1024, 8192, 1024),
    ("mixtral-8x22b", 1024, 8192, 1024),
    ("qwen3-235b-a22b", 1024, 4096, 4096),
    ("deepseek-v3", 1024, 4096, 8192),
    ("llama3-405b", 16384, 8192, 2048),
    ("llama3-70b", 16384, 8192, 16384),
    ("deepseek-v3", 16384, 4096, 16384),
)
RUNS = 3


def main() -> None:
    for name, gpus, seq, batch in CASES:
        plan = framework("megatron")
        base = start(plan, model(name), node_of(gpu("H100"), gpus), seq, batch)
        taken = []
        for _ in range(RUNS):
            began = time.process_time()
            found = search(base, plan)
            taken.append(time.process_time() - began)
        print(
            f"{name}, {gpus} GPUs: {found.layouts} layouts, {found.considered} with micro-batch and chunks, "
            f"{statistics.median(taken):.2f} s (median of {RUNS})"
        )


if __name__ == "__main__":
    main()
