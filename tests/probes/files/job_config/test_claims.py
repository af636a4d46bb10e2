"""Which files are job configurations."""

from __future__ import annotations

import pytest

from probes.files.job_config import claims

CONFIGURATIONS = [
    ("run.sh", "#!/bin/bash\nset -e\n"),
    ("notes", "torchrun --nproc_per_node 8 train.py\n"),
    ("args.txt", "--num-layers 12\n--hidden-size 768\n"),
    ("a.txt", "export NCCL_DEBUG=INFO\nexport NCCL_IB_DISABLE=1\n"),
    ("z", '{"zero_optimization": {"stage": 2}, "train_batch_size": "auto"}'),
    ("config.json", '{"hidden_size": 4096, "num_hidden_layers": 32}'),
    ("x.yaml", "model_name_or_path: a/b-7b\ncutoff_len: 2048\n"),
    ("flow.yaml", "policy: {megatron_cfg: {tensor_model_parallel_size: 4}}\n"),
    ("t.toml", "[training]\nlocal_batch_size = 2\nseq_len = 4096\n"),
    ("train.py", "import torch\n\nloader = build()\n"),
    ("excerpt", "model = FSDP(model, device_id=0)\noptimizer = AdamW(model.parameters())\n"),
    ("setup.txt", "2 nodes x 8 H100, llama 7B\n"),
]
OTHERS = [
    ("job.log", "$ torchrun --nproc_per_node 8 train.py\nstep 1 loss 2.3\n"),
    ("out.txt", "[2026-01-01 10:00:00,000] [INFO] starting\n--num-layers 12\n"),
    ("rank0", "n1:1:1 [0] NCCL INFO NCCL_DEBUG set by environment to INFO\n"),
    ("err.txt", 'Traceback (most recent call last):\n  File "a.py", line 1, in main\nValueError: tp_size: 3\n'),
    (
        "records",
        "{'loss': 2.9, 'learning_rate': 5e-05, 'epoch': 0.02}\n  1%| | 10/1856\nRuntimeError: file write failed\n",
    ),
    ("steps.jsonl", '{"step": 1, "loss": 2.9, "lr": 5e-05}\n{"step": 2, "loss": 2.8, "lr": 5e-05}\n'),
    ("trace.json", '{"traceEvents": [], "world_size": 8}'),
    ("trainer_state.json", '{"log_history": [], "train_batch_size": 8}'),
    ("compose.yaml", "services:\n  web:\n    image: nginx\n    ports: ['80']\n"),
    ("pyproject.toml", '[project]\nname = "x"\nversion = "1"\n'),
    ("README.md", "Run it:\n\n    torchrun --nproc_per_node 8 train.py\n"),
    ("dmesg.txt", "[   12.3] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus.\n"),
    ("lsmod.txt", "nvidia_peermem 16384 0\nib_core 491520 9 rdma_cm\n"),
    ("versions.txt", "deepspeed 0.14.5, torch 2.5.1\n"),
    ("empty", ""),
    ("binary", "\x00\x01torchrun --nproc_per_node 8 a.py\n"),
]


@pytest.mark.parametrize(("name", "text"), CONFIGURATIONS, ids=[name for name, _ in CONFIGURATIONS])
def test_claimed(name: str, text: str) -> None:
    assert claims(name, text.encode())


@pytest.mark.parametrize(("name", "text"), OTHERS, ids=[name for name, _ in OTHERS])
def test_not_claimed(name: str, text: str) -> None:
    assert not claims(name, text.encode())
