"""Arguments that a program prints into its log."""

from __future__ import annotations

import base64

import pytest

from probes.files.job_config import read_echo
from tests.probes.files.job_config.reading import echoed

MEGATRON = """\
using world size: 256, data-parallel-size: 2, tensor-model-parallel size: 8, pipeline-model-parallel size: 16
------------------------ arguments ------------------------
  num_layers ...................................... 80
  virtual_pipeline_model_parallel_size ............ 2
  sequence_parallel ............................... False
  params_dtype .................................... torch.bfloat16
  num_experts ..................................... None
-------------------- end of arguments ---------------------
"""


def test_megatron() -> None:
    assert echoed(MEGATRON) == {
        "framework": "megatron", "world_size_echoed": 256, "dp": 2, "tp": 8, "pp": 16, "num_layers": 80, "vpp": 2,
        "sequence_parallel": False, "precision": "bf16",
    }  # fmt: skip


def test_megatron_with_context_parallelism_in_the_newer_spelling() -> None:
    line = "using world size: 32, data-parallel size: 2, context-parallel size: 4 tensor-model-parallel size: 4, pipeline-model-parallel size: 1"
    found = echoed("0: " + line)
    assert (found["dp"], found["cp"], found["tp"], found["pp"]) == (2, 4, 4, 1)


def test_deepspeed() -> None:
    text = """\
[2026-01-01 10:00:00,000] [INFO] [config.py:1001:print]   train_batch_size ............. 256
[2026-01-01 10:00:00,000] [INFO] [config.py:1001:print]   world_size ................... 8
[2026-01-01 10:00:00,000] [INFO] [config.py:1001:print]   zero_optimization_stage ...... 3
[2026-01-01 10:00:00,000] [INFO] [config.py:1001:print]   zero_config .................. stage=3 reduce_bucket_size=500000000
[2026-01-01 10:00:00,000] [INFO] [config.py:987:print_user_config]   json = {
    "train_micro_batch_size_per_gpu": 4,
    "bf16": {"enabled": true}
}
"""
    assert echoed(text) == {
        "framework": "deepspeed", "global_batch": 256, "world_size_echoed": 8, "zero_stage": 3, "reduce_bucket": 5e8,
        "micro_batch": 4, "precision": "bf16",
    }  # fmt: skip


def test_the_deepspeed_runner_carries_its_hosts() -> None:
    world = base64.urlsafe_b64encode(b'{"n1": [0, 1, 2, 3], "n2": [0, 1, 2, 3]}').decode()
    text = f"[INFO] [runner.py:568:main] cmd = /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info={world} train.py --x 1"
    found = echoed(text)
    assert (found["nnodes"], found["nproc_per_node"], found["launcher"]) == (2, 4, "deepspeed")


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("[INFO|trainer.py:2317] 2026-01-01 10:00:00,000 >>   Instantaneous batch size per device = 4", "micro_batch", 4),
        ("  Total train batch size (w. parallel, distributed & accumulation) = 1,024", "global_batch", 1024),
        ("  Gradient Accumulation steps = 8", "grad_accum", 8),
        ("trainable params: 1,000 || all params: 8,030,261,248 || trainable%: 0.01", "params", 8030261248.0),
        ("Num processes: 8", "world_size_echoed", 8),
        ("n1:1:1 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.", "env.NCCL_IB_DISABLE", "0"),
        ("n1:1:1 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0", "env.NCCL_SOCKET_IFNAME", "eth0"),
        ("declare -x NCCL_DEBUG=\"INFO\"", "env.NCCL_DEBUG", "INFO"),
        ("root - INFO - Building 2-D device mesh with ['pp', 'tp'], [4, 2]", "pp", 4),
        ("root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]", "world_size_echoed", 8),
        ("[INFO] [trainer.cli] config: base_model=org/m-7B device_map=auto world_size=1", "device_map", "auto"),
        ("[INFO:swift] rank: 0, local_rank: 0, world_size: 16, local_world_size: 8", "nproc_per_node", 8),
        ("  nproc_per_node   : 8", "nproc_per_node", 8),
        ("+ torchrun --nproc_per_node=4 train.py", "nproc_per_node", 4),
        ("[INFO:swift] Using fsdp_config: {'fsdp': 'full_shard auto_wrap', 'fsdp_version': 2}", "fsdp_version", 2),
        (" > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)", "vocab_size", 50304),
    ],
)  # fmt: skip
def test_single_lines(line: str, name: str, value: object) -> None:
    assert echoed(line)[name] == value


@pytest.mark.parametrize(
    "line",
    [
        "INFO [parallel_state.py:1165] rank 0 in world size 2 is assigned as DP rank 0, PP rank 0",
        "{'loss': 1.31, 'learning_rate': 4e-06, 'epoch': 0.01}",
        " iteration 10/ 400 | global batch size:    32 | lm loss: 1.1E+00 | loss scale: 1.0 |",
        'RuntimeError: Config error ... tensor_model_parallel_size must divide 8',
        '  File "/opt/x/deepspeed/runtime/config.py", line 12, in __init__',
    ],
)  # fmt: skip
def test_ordinary_lines_say_nothing(line: str) -> None:
    assert echoed(line) == {}


def test_a_printed_dataclass_and_a_model_configuration_over_several_lines() -> None:
    text = 'args = TrainingArguments(\nbf16=True,\nddp_timeout=1800,\n)\nModel config FooConfig {\n  "hidden_size": 64,\n  "num_hidden_layers": 2\n}\n'
    assert echoed(text) == {"precision": "bf16", "timeout": 1800.0, "hidden_size": 64, "num_layers": 2}


def test_facts_of_a_named_run_are_about_that_run() -> None:
    lines = [(7, "using world size: 8, data-parallel size: 8, tensor-model-parallel size: 1")]
    facts = read_echo("two_nodes", lines, "b.log")
    assert {fact.entity for fact in facts} == {"run:two_nodes"}
    assert {(fact.source.path, fact.source.line) for fact in facts} == {("b.log", 7)}


def test_variables_on_the_command_line_of_mpirun() -> None:
    line = "$ mpirun -np 2 -H a,b -x NCCL_IB_DISABLE=1 -x NCCL_DEBUG=INFO ./build/all_reduce_perf -b 8 -g 1"
    stated = {fact.name: fact.value for fact in read_echo("job", [(1, line)], "b.log")}
    assert stated["env.NCCL_IB_DISABLE"] == "1"
    assert not list(read_echo("job", [(1, "mpirun noticed that process rank 1 exited on signal 11")], "b.log"))
