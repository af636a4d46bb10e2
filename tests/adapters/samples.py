"""One configuration a kind of file, as people write them."""

from __future__ import annotations

MEGATRON_SCRIPT = """#!/bin/bash
#SBATCH --nodes=4
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
TP=8

MODEL_ARGS=(
    --num-layers 80
    --hidden-size 8192
    --seq-length 4096
)
MODEL_PARALLEL_ARGS=(
    --tensor-model-parallel-size $TP   # stays inside the node
    --pipeline-model-parallel-size 4
    --sequence-parallel
)

torchrun --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py \\
    --micro-batch-size 2 \\
    --global-batch-size 512 --bf16 \\
    --recompute-granularity full --recompute-method uniform --recompute-num-layers 1 \\
    --use-distributed-optimizer \\
    "${MODEL_ARGS[@]}" ${MODEL_PARALLEL_ARGS[@]} 2>&1 | tee log.txt
"""

MEGATRON_YAML = """# model
language_model:
  num_layers: 24
  hidden_size: 1024
  activation_func: swiglu   # gelu before
model_parallel:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 1
  sequence_parallel: True
  bf16: True

micro_batch_size: 2
global_batch_size: 128
seq_length: 2048
"""

DEEPSPEED_JSON = """{
    // batch: 64 ranks
    "train_batch_size": 512,
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,   // kept small
    "bf16": {"enabled": true},
    "zero_optimization": {
        "stage": 2,
        "overlap_comm": true,
        "reduce_bucket_size": 5e8
    },
    "gradient_clipping": 1.0
}
"""

ACCELERATE_FSDP1 = """compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_sharding_strategy: FULL_SHARD  # or 1
  fsdp_offload_params: false
  fsdp_state_dict_type: SHARDED_STATE_DICT
machine_rank: 0
mixed_precision: bf16
num_machines: 2
num_processes: 16
"""

ACCELERATE_FSDP2 = """compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_version: 2
  fsdp_reshard_after_forward: true
  fsdp_offload_params: false
mixed_precision: bf16
num_machines: 2
num_processes: 16
"""

ACCELERATE_DEEPSPEED = """compute_environment: LOCAL_MACHINE
deepspeed_config:
  gradient_accumulation_steps: 4
  offload_optimizer_device: none
  zero3_init_flag: true
  zero_stage: 3
distributed_type: DEEPSPEED
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""

HF_COMMAND = """accelerate launch --config_file fsdp.yaml train.py \\
  --model_name_or_path meta/model \\
  --per_device_train_batch_size 4 \\
  --gradient_accumulation_steps=8 \\
  --bf16 True \\
  --gradient_checkpointing \\
  --learning_rate 2e-5 --output_dir out
"""

HF_YAML = """model_name_or_path: meta/model
attn_implementation: eager
per_device_train_batch_size: 4
gradient_accumulation_steps: 8
bf16: true
gradient_checkpointing: false
max_length: 4096
"""

TORCHTITAN_TOML = """[job]
description = "Llama 3 70B"

[training]
local_batch_size = 8
seq_len = 8192
compile = false

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 8  # inside the node
pipeline_parallel_degree = 1

[activation_checkpoint]
mode = "full"
"""

TORCHTITAN_OLD_TOML = """[training]
batch_size = 8
seq_len = 8192
tensor_parallel_degree = 8

[experimental]
pipeline_parallel_degree = 1

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
"""

TORCHTITAN_PYTHON = '''from torchtitan.config import ParallelismConfig, TrainingConfig
from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC
from torchtitan.trainer import Trainer


def llama3_70b() -> Trainer.Config:
    """Größe: 70 B."""
    return Trainer.Config(
        training=TrainingConfig(
            num_tokens_per_microbatch_per_dp_rank=8 * 8192,
            max_context_length=8192,
            steps=1000,
        ),
        parallelism=ParallelismConfig(
            tensor_parallel_degree=8,  # inside the node
            pipeline_parallel_degree=1,
        ),
        activation_checkpoint=SelectiveAC.Config(),
    )
'''

TORCHTITAN_RELEASED = TORCHTITAN_PYTHON.replace(
    "num_tokens_per_microbatch_per_dp_rank=8 * 8192,\n            max_context_length=8192",
    "local_batch_size=8,\n            seq_len=8192",
)

BRIDGE_PYTHON = """from megatron.bridge.recipes.utils import base


def llama3_70b():
    cfg = base()
    cfg.model.tensor_model_parallel_size = 4
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.sequence_parallel = True
    cfg.model.recompute_granularity = None
    cfg.train.global_batch_size = 128
    cfg.train.micro_batch_size = 1
    cfg.mixed_precision = "bf16_mixed"
    return cfg
"""

NEMO_YAML = """trainer:
  devices: 8
model:
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 2
  micro_batch_size: 1
  global_batch_size: 256
  sequence_parallel: true
"""

NEMO_COMMAND = """torchrun --nproc-per-node 8 run_recipe.py --recipe llama3_70b \\
  model.tensor_model_parallel_size=4 \\
  model.pipeline_model_parallel_size=2 \\
  train.micro_batch_size=1 train.global_batch_size=256
"""

VERL_MEGATRON = """python3 -m verl.trainer.main_ppo --config-path=config \\
    --config-name='ppo_megatron_trainer.yaml' \\
    data.train_batch_size=1024 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \\
    actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4 \\
    actor_rollout_ref.actor.megatron.pipeline_model_parallel_size=2 \\
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \\
    actor_rollout_ref.ref.megatron.tensor_model_parallel_size=4 \\
    trainer.n_gpus_per_node=8 $@
"""

VERL_FSDP = """python3 -m verl.trainer.main_ppo \\
    data.train_batch_size=1024 \\
    actor_rollout_ref.model.enable_gradient_checkpointing=False \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 \\
    actor_rollout_ref.actor.fsdp_config.param_offload=False \\
    actor_rollout_ref.ref.fsdp_config.param_offload=True
"""

SWIFT_MEGATRON = """PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True' \\
NPROC_PER_NODE=8 \\
megatron sft \\
    --model some/model \\
    --dataset 'one#500' \\
              'two#500' \\
    --tensor_model_parallel_size 2 \\
    --sequence_parallel true \\
    --micro_batch_size 1 \\
    --global_batch_size 16 \\
    --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \\
    --max_length 2048
"""

LLAMAFACTORY_YAML = """### model
model_name_or_path: some/model

### method
stage: sft
finetuning_type: full
deepspeed: examples/deepspeed/ds_z3_config.json  # z0, z2, z3

### dataset
template: qwen3
cutoff_len: 2048

### train
per_device_train_batch_size: 1
gradient_accumulation_steps: 2
bf16: true
"""

# name of a file -> its text, the adapter that it is for
SAMPLES: dict[str, tuple[str, str]] = {
    "pretrain.sh": (MEGATRON_SCRIPT, "megatron"),
    "gpt.yaml": (MEGATRON_YAML, "megatron"),
    "ds_config.json": (DEEPSPEED_JSON, "deepspeed"),
    "fsdp1.yaml": (ACCELERATE_FSDP1, "accelerate"),
    "fsdp2.yaml": (ACCELERATE_FSDP2, "accelerate"),
    "zero.yaml": (ACCELERATE_DEEPSPEED, "accelerate"),
    "train.sh": (HF_COMMAND, "hf"),
    "sft.yaml": (HF_YAML, "hf"),
    "llama3_70b.toml": (TORCHTITAN_TOML, "torchtitan"),
    "old.toml": (TORCHTITAN_OLD_TOML, "torchtitan"),
    "registry.py": (TORCHTITAN_PYTHON, "torchtitan"),
    "released.py": (TORCHTITAN_RELEASED, "torchtitan"),
    "recipe.py": (BRIDGE_PYTHON, "nemo"),
    "nemo.yaml": (NEMO_YAML, "nemo"),
    "bridge.sh": (NEMO_COMMAND, "nemo"),
    "ppo.sh": (VERL_MEGATRON, "verl"),
    "grpo.sh": (VERL_FSDP, "verl"),
    "megatron_sft.sh": (SWIFT_MEGATRON, "swift"),
    "full_sft.yaml": (LLAMAFACTORY_YAML, "llamafactory"),
}
