"""What a remedy's flags say to write, and what they leave to a person."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.adapters.errors import Unavailable
from doctor.adapters.flag_text import own_settings, to_fill_in


@pytest.mark.parametrize(
    ("framework", "text", "settings"),
    [
        ("megatron", "--distributed-timeout-minutes 120", {"distributed_timeout_minutes": "120"}),
        ("megatron", "--ckpt-format torch_dist --async-save", {"ckpt_format": "torch_dist", "async_save": True}),
        ("megatron", "--use-flash-attn   # or --attention-backend flash", {"use_flash_attn": True}),
        ("megatron", "--tensor-model-parallel-size 2 (vocab-parallel loss)", {"tensor_model_parallel_size": "2"}),
        ("megatron", "remove --sequence-parallel (more memory)", {"sequence_parallel": None}),
        ("megatron", "(remove --a-b) --c-d e", {"a_b": None, "c_d": "e"}),
        ("hf", "bf16: true\nfp16: false", {"bf16": True, "fp16": False}),
        ("deepspeed", '{"zero_optimization": {"stage": 3}}   # no offload', {"zero_optimization.stage": 3}),
        ("torchtitan", "--checkpoint.async_mode async", {"checkpoint.async_mode": "async"}),
        ("torchtitan", 'activation_checkpoint.mode = "full"', {"activation_checkpoint.mode": "full"}),
        ("torchtitan", "--no-training.enable_cpu_offload", {"training.enable_cpu_offload": False}),
        ("verl", "+a.b.c=0.001 a.d=True", {"a.b.c": "0.001", "a.d": "True"}),
    ],
)
def test_flags_are_settings_by_their_own_names(framework: str, text: str, settings: dict[str, Any]) -> None:
    assert dict(own_settings(framework, text)) == settings


@pytest.mark.parametrize(
    ("framework", "text"),
    [
        ("megatron", "--micro-batch-size N  # N: half of today's"),
        ("megatron", "--tensor-model-parallel-size T/2 --context-parallel-size 2C"),
        ("megatron", "--load CKPT --iterations-to-skip N ..."),
        ("megatron", "--max-position-embeddings {config.seq_len}"),
        ("megatron", "--recompute-activations (selective) in place of --recompute-granularity full"),
        ("torchrun", "--standalone  |  --master-port=29611"),
        ("accelerate", "InitProcessGroupKwargs(timeout=timedelta(hours=2))"),
        ("deepspeed", '{"train_micro_batch_size_per_gpu": "<half>"}'),
        ("deepspeed", '{"zero_optimization": {"stage": 1}} with a call'),
        ("llamafactory", "tokenized_path: /path/to/cache"),
        ("llamafactory", "quantization_bit: 4 (without deepspeed)"),
        ("hf", "model.config.output_router_logits = True; router_aux_loss_coef = 0.001"),
        ("hf", "router_aux_loss_coef = 0.001"),
        ("swift", "upgrade ms-swift"),
    ],
)
def test_what_a_person_must_fill_in_or_do_is_no_setting(framework: str, text: str) -> None:
    with pytest.raises(Unavailable) as reason:
        own_settings(framework, text)
    assert reason.value.text.en and reason.value.text.zh


@pytest.mark.parametrize("word", ["<interface>", "eth0", "=mlx5_0,mlx5_1", "/shared/fr_", "N", "a...b"])
def test_examples_are_not_for_every_machine(word: str) -> None:
    assert to_fill_in(word)


@pytest.mark.parametrize(
    "word", ["expandable_segments:True", "LOC", "DETAIL", "^lo,docker", "/etc/nccl/topo.xml", "22"]
)
def test_plain_values_are_written_as_they_are(word: str) -> None:
    assert to_fill_in(word) is None
