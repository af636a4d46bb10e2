"""What a change means for checkpoints that are there: one line in English, one in Chinese.

Every setting that an adapter writes is read when the job starts, so each change needs a restart of the job.

Source: Megatron-LM, docs/api-guide/core/dist_checkpointing.md (dp_reshardable, fully_reshardable), megatron/training/
arguments.py (fsdp_dtensor with Megatron-FSDP only), tools/checkpoint/{convert,checkpoint_inspector}.py. DeepSpeed,
docs/_tutorials/universal-checkpointing.md, checkpoint/ds_to_universal.py. PyTorch, torch.distributed.checkpoint (loads
into another layout). accelerate, utils/fsdp_utils.py (a file a rank with LOCAL_STATE_DICT). verl, utils/checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.adapters.model import Note

DEGREES = ("tp", "pp", "vpp", "cp", "ep", "etp", "first", "last")
STATES = ("sharding", "zero_stage", "stack", "dp", "dp_shard", "dp_replicate", "shard")
MEGATRON = ("megatron", "nemo", "swift")
RESTART = (
    "the job must be started anew: these settings are read at its start",
    "需要重启作业：这些设置只在启动时读取",
)
MEGATRON_MODEL = (
    "checkpoints: torch_dist loads weights into another tp, pp or ep; optimizer states only if they were saved with "
    "--dist-ckpt-optim-fully-reshardable (save once with it first); the legacy torch format needs "
    "tools/checkpoint/convert.py",
    "检查点：torch_dist 可在加载时按新的 tp、pp、ep 重新切分权重；优化器状态须以 --dist-ckpt-optim-fully-reshardable "
    "保存才可（先用它保存一次）；旧的 torch 格式需用 tools/checkpoint/convert.py 转换",
)
MEGATRON_DATA = (
    "checkpoints: torch_dist loads into another number of data-parallel ranks",
    "检查点：torch_dist 可在不同数据并行数下加载",
)
MEGATRON_FSDP = (
    "checkpoints: Megatron-FSDP reads and writes fsdp_dtensor only; convert torch_dist with "
    "tools/checkpoint/checkpoint_inspector.py convert-torch-dist-to-fsdp-dtensor, and leave "
    "CUDA_DEVICE_MAX_CONNECTIONS unset or above 1",
    "检查点：Megatron-FSDP 只读写 fsdp_dtensor；用 tools/checkpoint/checkpoint_inspector.py "
    "convert-torch-dist-to-fsdp-dtensor 转换 torch_dist，并不要把 CUDA_DEVICE_MAX_CONNECTIONS 设为 1",
)
DEEPSPEED = (
    "checkpoints: ZeRO's files fit one stage and one number of ranks; convert with deepspeed/checkpoint/"
    'ds_to_universal.py and load with {"checkpoint": {"load_universal": true}}, or go on from 16-bit weights alone',
    "检查点：ZeRO 的文件只适用于同一阶段和同一 rank 数；用 deepspeed/checkpoint/ds_to_universal.py 转换后以 "
    '{"checkpoint": {"load_universal": true}} 加载，或仅从 16 位权重继续',
)
DCP = (
    "checkpoints: torch.distributed.checkpoint loads into another layout by itself",
    "检查点：torch.distributed.checkpoint 加载时会自动按新布局重新切分",
)
FSDP = (
    "checkpoints: SHARDED_STATE_DICT and FULL_STATE_DICT load into another layout, LOCAL_STATE_DICT does not",
    "检查点：SHARDED_STATE_DICT 与 FULL_STATE_DICT 可在新布局下加载，LOCAL_STATE_DICT 不行",
)
VERL = (
    "checkpoints: verl's FSDP writes one file a rank, named by the number of ranks: merge them with verl.model_merger "
    "and start from the merged weights; its Megatron backend writes torch_dist",
    "检查点：verl 的 FSDP 每个 rank 一个文件，文件名含 rank 总数：用 verl.model_merger 合并后从合并的权重开始；"
    "Megatron 后端写 torch_dist",
)
BATCH = (
    "the global batch changes: check the learning rate and where the data loader goes on",
    "全局批大小改变：请检查学习率以及数据读取的续点",
)
PRECISION = (
    "checkpoints: weights load; the loss scaler of fp16 starts anew",
    "检查点：权重可加载；fp16 的损失缩放器会重新开始",
)


def consequences(framework: str, changes: Mapping[str, Any], now: Mapping[str, Any] | None = None) -> tuple[Note, ...]:
    """What these changes (neutral names) ask for beyond the file: restart, checkpoints, batch.

    `framework` is an adapter's name. now: the settings as they are; what does not change asks for nothing.
    """
    before = now or {}
    changed = {name for name, value in changes.items() if name not in before or before[name] != value}
    if not changed:
        return ()
    said = [("restart", RESTART)]
    if changed & {*DEGREES, *STATES, "offload_optimizer"}:
        said += [("checkpoint", one) for one in _checkpoints(framework, changed, changes)]
    if "precision" in changed:
        said.append(("checkpoint", PRECISION))
    if "global_batch" in changed:
        said.append(("batch", BATCH))
    return tuple(Note(knob, en, zh) for knob, (en, zh) in said)


def _checkpoints(framework: str, changed: set[str], changes: Mapping[str, Any]) -> list[tuple[str, str]]:
    model, states = bool(changed & {"tp", "pp", "vpp", "ep", "etp", "first", "last"}), bool(changed & set(STATES))
    if framework in MEGATRON:
        if str(changes.get("sharding", "")) in ("gradients", "full") and "sharding" in changed:
            return [MEGATRON_FSDP]
        return [MEGATRON_MODEL] if model else [MEGATRON_DATA] if states else []
    if framework == "verl":
        return [VERL] if model or states else []
    if framework == "torchtitan":
        return [DCP] if model or states else []
    if framework in ("deepspeed", "llamafactory"):
        return [DEEPSPEED] if model or states or "offload_optimizer" in changed else []
    return [FSDP, DEEPSPEED] if framework in ("accelerate", "hf") and (model or states) else []
