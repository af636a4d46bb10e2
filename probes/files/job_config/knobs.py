"""The knob table: what the frameworks call a setting, and the fact it stands for. A new key is one more word here.

A key is written as in the file, lower case with `_` for `-`. A dotted key matches only inside that section; the
longest match wins. The first section of a key read on a command line is the program (`torchrun.nnodes`), that of an
environment variable is `env`. Names are those of the frameworks' own argument parsers and configuration classes:
Megatron-LM, Megatron-Bridge and NeMo, torchtitan, DeepSpeed, Accelerate, transformers, TRL, LLaMA-Factory, axolotl,
ms-swift, verl, OpenRLHF, slime, Lightning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from probes.files.job_config import presets
from probes.files.job_config.values import (
    Converter,
    count,
    flag,
    flag_as,
    flags,
    inverted,
    lower,
    milliseconds,
    minutes,
    number,
    offload,
    precision,
    seconds,
    size,
    text,
    whole,
    zero_stage,
)

# Sections that do not configure the training itself: generation, reference and reward models, evaluation.
OTHER_MODELS = frozenset(
    {
        "rollout", "ref", "critic", "reward", "reward_model", "teacher", "draft", "vllm", "vllm_cfg",
        "vllm_kwargs", "sglang", "generation", "inference", "eval", "validation", "sampling_params",
        "val_kwargs", "vision_config", "audio_config",
    }
)  # fmt: skip
# Settings in such sections on which the batch of the training depends.
OF_THE_TRAINING = frozenset({"rollout.n"})


@dataclass(frozen=True, slots=True)
class Knob:
    """`convert` turns the setting's text into the value of `fact`."""

    fact: str
    convert: Converter


# fact, converter, the keys that state it
TABLE: tuple[tuple[str, Converter, str], ...] = (
    # ---- processes and launchers
    ("world_size", count, "world_size num_processes mpirun.np mpirun.n horovodrun.np srun.ntasks_total dist_world_size"
     " num_gpus_total trainer.world_size"),
    ("world_size_echoed", count, "echo.world_size"),
    ("nnodes", presets.node_range, "nnodes nnode num_nodes num_machines actor_num_nodes cluster.num_nodes"
     " env.nnodes env.pet_nnodes env.num_nodes env.slurm_nnodes env.slurm_job_num_nodes resources.num_nodes"
     " sbatch.nodes sbatch.n_nodes srun.nodes srun.n_nodes"),
    ("nnodes_min", count, "min_nodes"),
    ("nnodes_max", count, "max_nodes"),
    ("nproc_per_node", presets.processes, "nproc_per_node n_gpus_per_node num_gpus_per_node actor_num_gpus_per_node"
     " echo.local_world_size num_local_procs cluster.gpus_per_node trainer.devices trainer.gpus mpirun.npernode"
     " mpirun.ppn mpirun.n_per_node deepspeed_launcher.num_gpus env.nproc_per_node env.pet_nproc_per_node"
     " env.local_world_size gpus_per_node_to_train resources.gpus_per_node"),
    ("gpus_per_node", presets.generic_resource, "sbatch.gpus_per_node sbatch.gres srun.gpus_per_node srun.gres"),
    ("gpus", presets.generic_resource, "sbatch.gpus sbatch.g srun.gpus"),
    ("tasks_per_node", count, "sbatch.ntasks_per_node sbatch.tasks_per_node srun.ntasks_per_node"),
    ("tasks", count, "sbatch.ntasks sbatch.n srun.ntasks srun.n"),
    ("cpus_per_task", count, "sbatch.cpus_per_task sbatch.c srun.cpus_per_task srun.c"),
    ("host_memory_limit", size("m"), "sbatch.mem srun.mem"),
    ("host_memory_limit", size(), "docker.memory docker.m"),
    ("container_shm_size", size(), "docker.shm_size shm_size"),
    ("container_ipc_host", presets.ipc_host, "docker.ipc"),
    ("rdzv_backend", lower, "rdzv_backend"),
    ("rdzv_endpoint", text, "rdzv_endpoint"),
    ("master_addr", text, "master_addr main_process_ip env.master_addr"),
    ("master_port", count, "master_port main_process_port env.master_port"),
    ("init_method", text, "init_process_group.init_method dist_url"),
    ("backend", lower, "distributed_backend init_process_group.backend ddp_backend dist_backend"),
    ("timeout", seconds, "ddp_timeout distributed_timeout_seconds_after_init init_timeout_seconds train_timeout_seconds"
     " init_process_group.timeout initprocessgroupkwargs.timeout new_group.timeout nccl_timeout"
     " distributed_timeout init_device_mesh.timeout accelerator.timeout init_distributed.timeout"
     " dist_timeout initialize_dist.timeout torchconfig.timeout_s ddpstrategy.timeout fsdpstrategy.timeout"
     " modelparallelstrategy.timeout deepspeedstrategy.timeout"),
    ("timeout", minutes, "distributed_timeout_minutes dist_timeout_minutes timeout_minutes"),
    ("timeout", milliseconds, "timeout_ms"),
    ("cpu_affinity", flag, "enable_cpu_affinity"),
    # ---- parallel degrees
    ("tp", count, "tensor_model_parallel_size tensor_parallel_degree tensor_parallel_size tp_size autotp_size"
     " tensor_model_parallel parallelism_config_tp_size model_parallel_size intra_layer_model_parallel_size"),
    ("pp", count, "pipeline_model_parallel_size pipeline_parallel_degree pipeline_parallel_size pp_size"
     " transformer_pipeline_model_parallel_size pipe_parallel_size pipeline_model_parallel"),
    ("cp", count, "context_parallel_size context_parallel_degree cp_size sequence_parallel_size"
     " parallelism_config_cp_size ring_attn_size context_parallel"),
    ("cp", presets.ulysses, "ulysses_sequence_parallel_size sp_size ds_sequence_parallel_size ulysses_parallel_size"
     " parallelism_config_sp_size"),
    ("ep", count, "expert_model_parallel_size expert_parallel_degree expert_parallel_size ep_size ep_world_size"
     " moe_expert_parallel_size expert_model_parallel"),
    ("etp", count, "expert_tensor_parallel_size expert_tensor_parallel_degree etp_size"),
    ("dp", count, "data_parallel_size data_parallel_degree dp_size data_parallel_world_size"),
    ("dp_shard", count, "data_parallel_shard_degree dp_shard_size dp_shard parallelism_config_dp_shard_size fsdp_size"
     " sharding_group_size"),
    ("dp_replicate", count, "data_parallel_replicate_degree dp_replicate_size dp_replicate"
     " parallelism_config_dp_replicate_size replica_group_size num_distributed_optimizer_instances"),
    ("vpp", count, "virtual_pipeline_model_parallel_size virtual_pipeline_parallel_size"
     " num_virtual_stages_per_pipeline_rank vpp_size virtual_pp_size"),
    ("layers_per_virtual_stage", count, "num_layers_per_virtual_pipeline_stage pipeline_parallel_layers_per_stage"),
    ("pp_schedule", lower, "pipeline_parallel_schedule pipeline_schedule pp_schedule"),
    ("pp_uneven", presets.layout, "pipeline_model_parallel_split_rank pipeline_parallel_split_points"
     " pipeline_parallel_module_fqns_per_model_part hybrid_layer_pattern hybrid_override_pattern"),
    ("pp_layout", presets.by_hand("config.pp_layout"), "pipeline_model_parallel_layout"),
    ("first_stage_layers", presets.by_hand("config.first_stage_layers"), "decoder_first_pipeline_num_layers"
     " num_layers_in_first_pipeline_stage"),
    ("last_stage_layers", presets.by_hand("config.last_stage_layers"), "decoder_last_pipeline_num_layers"
     " num_layers_in_last_pipeline_stage"),
    ("embedding_as_layer", presets.as_layer("config.embedding_as_layer"), "account_for_embedding_in_pipeline_split"),
    ("loss_as_layer", presets.as_layer("config.loss_as_layer"), "account_for_loss_in_pipeline_split"),
    ("vp_group", count, "microbatch_group_size_per_vp_stage microbatch_group_size_per_virtual_pipeline_stage"),
    ("sequence_parallel", flag, "sequence_parallel sequence_parallel_enabled"),
    ("distributed_optimizer", flag, "use_distributed_optimizer"),
    # ---- ZeRO and FSDP
    ("zero_stage", zero_stage, "zero_stage zero_optimization.stage zero_optimization_stage zero.stage"
     " zero_config.stage deepspeed_config.zero_stage actor_zero_stage"),
    ("zero_stage", flag_as(0), "zero_optimization_disabled"),
    ("zero_hpz", count, "zero_hpz_partition_size zpg"),
    ("offload_optimizer", offload("config.offload_optimizer"), "offload_optimizer_device offload_optimizer.device"
     " offload_optimizer optimizer_offload adam_offload cpu_offload optimizer_cpu_offload offload_config.device"),
    ("offload_param", offload("config.offload_param"), "offload_param_device offload_param.device offload_param"
     " param_offload fsdp_offload_params offload_params enable_cpu_offload cpuoffload.offload_params"),
    ("deepspeed_config", presets.deepspeed, "deepspeed deepspeed_config deepspeed_config_file ds_config ds_config_file"
     " deepspeed_config_path deepspeed_plugin.hf_ds_config"),
    ("fsdp", presets.fsdp, "fsdp trainer.strategy distributed.strategy actor.strategy distributed_type strategy"
     " tune.strategy"),
    ("fsdp", flag, "use_fsdp enable_fsdp"),
    ("fsdp", flags(fsdp=True, megatron_fsdp=True), "use_megatron_fsdp use_custom_fsdp"),
    ("fsdp", flags(fsdp=True, torch_fsdp2=True), "use_torch_fsdp2"),
    ("fsdp_version", whole, "fsdp_version"),
    ("fsdp_strategy", presets.sharding, "fsdp_sharding_strategy sharding_strategy data_parallel_sharding_strategy"),
    ("fsdp_limit_all_gathers", flag, "limit_all_gathers fsdp_limit_all_gathers"),
    ("fsdp_sync_module_states", flag, "sync_module_states fsdp_sync_module_states"),
    ("cpu_ram_efficient_loading", flag, "cpu_ram_efficient_loading fsdp_cpu_ram_efficient_loading"),
    ("state_dict_type", lower, "fsdp_state_dict_type state_dict_type"),
    ("gather_weights_on_save", flag, "stage3_gather_16bit_weights_on_model_save zero3_save_16bit_model"
     " stage3_gather_fp16_weights_on_model_save"),
    ("find_unused_parameters", flag, "ddp_find_unused_parameters find_unused_parameters"),
    ("device_map", text, "device_map"),
    # ---- model
    ("model", text, "model_name_or_path base_model pretrained_model_name_or_path model_id model_path hf_model_id"
     " model.path actor_rollout_ref.model.path model_name hf_checkpoint pretrain checkpointer.checkpoint_dir"
     " model.model_name from_pretrained.0 swift.model model_id_or_path _name_or_path policy.model_name model.name"
     " model.name_or_path"
     " trainer.model_path llamafactory.model transformer.name import_ckpt.source deepspeed.model"
     " megatron.model"),
    ("params", number, "num_parameters model_num_params total_parameters all_params"),
    ("trainable_params", number, "number_of_trainable_parameters trainable_params"),
    ("num_layers", count, "num_layers num_hidden_layers n_layers n_layer encoder_num_layers"),
    ("hidden_size", count, "hidden_size n_embd d_model hidden_dim model.dim"),
    ("ffn_hidden_size", count, "ffn_hidden_size intermediate_size ffn_dim n_inner"),
    ("moe_ffn_hidden_size", count, "moe_ffn_hidden_size moe_intermediate_size"),
    ("gated_mlp", flag, "swiglu gated_linear_unit"),
    ("gated_mlp", presets.gated, "hidden_act"),
    ("decoder_layers", count, "decoder_num_layers"),
    ("max_positions", count, "max_position_embeddings"),
    ("num_heads", count, "num_attention_heads n_heads n_head"),
    ("num_kv_heads", count, "num_key_value_heads num_query_groups n_kv_heads"),
    ("head_dim", count, "head_dim kv_channels"),
    ("num_experts", count, "num_experts num_local_experts n_routed_experts num_moe_experts moe_num_experts"),
    ("moe_topk", count, "moe_router_topk num_experts_per_tok moe_top_k"),
    ("vocab_size", count, "vocab_size padded_vocab_size"),
    ("tied_embeddings", flag, "tie_word_embeddings"),
    ("tied_embeddings", inverted, "untie_embeddings_and_output_weights"),
    ("seq_len", count, "seq_length seq_len sequence_len sequence_length cutoff_len max_seq_length max_seq_len"
     " max_length block_size model_max_length encoder_seq_length decoder_seq_length max_source_length"
     " dataset.max_length"),
    ("lora", flags(lora=True), "use_peft use_lora"),
    ("lora", presets.adapter, "adapter finetuning_type tuner_type train_type sft_type peft_type peft_scheme lora_type"
     " peft"),
    ("quantization", flag_as("4bit"), "load_in_4bit"),
    ("quantization", flag_as("8bit"), "load_in_8bit"),
    ("quantization", presets.bits, "quantization_bit quant_bits"),
    # ---- batch
    ("micro_batch", count, "micro_batch_size per_device_train_batch_size train_micro_batch_size_per_gpu"
     " local_batch_size train_micro_batch_size micro_train_batch_size ppo_micro_batch_size_per_gpu training.batch_size"
     " per_gpu_train_batch_size dataloader.batch_size device_train_microbatch_size micro_batch_size_per_gpu"
     " per_device_batch_size"),
    ("global_batch", count, "global_batch_size deepspeed.train_batch_size train_global_batch_size ds.train_batch_size"
     " ds_config.train_batch_size deepspeed_config.train_batch_size openrlhf.train_batch_size total_train_batch_size"
     " global_train_batch_size"),
    ("prompts_per_step", count, "ppo_mini_batch_size"),
    ("grad_accum", count, "gradient_accumulation_steps accumulate_grad_batches grad_accum_steps grad_accum"),
    ("pp_microbatches", count, "pipeline_parallel_microbatches num_pp_microbatches num_microbatches"
     " ds_pipe_microbatches"),
    ("eval_batch", count, "per_device_eval_batch_size eval_batch_size"),
    ("eval_accumulation_steps", count, "eval_accumulation_steps"),
    ("max_tokens_per_gpu", count, "max_tokens_per_gpu ppo_max_token_len_per_gpu train_mb_tokens max_token_len_per_gpu"),
    ("num_generations", count, "num_generations n_samples_per_prompt num_generations_per_prompt rollout.n"),
    ("dynamic_batch", flag, "use_dynamic_bsz"),
    ("group_by_length", flag, "group_by_length"),
    ("packing", flag, "packing sample_packing neat_packing sequence_packing.enabled use_remove_padding"),
    # ---- numerics
    ("precision", flag_as("bf16"), "bf16 bf16.enabled bfloat16.enabled bfloat16_enabled use_bf16"),
    ("precision", flag_as("fp16"), "fp16 fp16.enabled fp16_enabled use_fp16"),
    ("precision", precision, "mixed_precision precision params_dtype mixed_precision_param"),
    ("param_dtype", precision, "torch_dtype param_dtype model_dtype from_pretrained.dtype mixedprecision.param_dtype"
     " mixedprecisionpolicy.param_dtype"),
    ("fp8", flag_as(True, False), "fp8.enabled enable_fp8"),
    ("fp8", presets.fp8, "fp8 fp8_format fp8_recipe"),
    ("loss_scale", number, "loss_scale"),
    ("initial_scale_power", whole, "initial_scale_power"),
    ("min_loss_scale", number, "min_loss_scale"),
    ("learning_rate", number, "learning_rate lr"),
    ("optimizer", lower, "optim optimizer optimizer_type optimizer.type optim.name optimizer.name optimizer_name"),
    # ---- memory and speed
    ("recompute", presets.recompute, "recompute_granularity activations_checkpoint_granularity ac_mode"
     " activation_checkpoint.mode"),
    ("recompute", flag_as("full", "none"), "gradient_checkpointing activation_checkpointing checkpoint_activations"
     " enable_gradient_checkpointing fsdp_activation_checkpointing deepspeed_activation_checkpointing"
     " enable_activation_checkpointing use_gradient_checkpointing gradient_checkpointing_enable"),
    ("recompute", flag_as("selective"), "recompute_activations"),
    ("recompute", flag_as("none", "full"), "no_gradient_checkpointing disable_gradient_checkpointing"),
    ("recompute_layers", count, "recompute_num_layers activations_checkpoint_num_layers"),
    ("recompute_method", lower, "recompute_method activations_checkpoint_method"),
    ("reentrant", flag, "use_reentrant gradient_checkpointing_use_reentrant use_reentrant_gc"),
    ("attention", presets.attention, "attn_implementation flash_attn attn_impl attention_backend attn_backend attn_mode"
     " attn_type _attn_implementation"),
    ("attention", flag_as("flash", None), "flash_attention use_flash_attn use_flash_attn_v2 use_flash_attention"
     " use_flash_attention_2 flash_attn_2"),
    ("attention", flag_as("sdpa", None), "sdp_attention"),
    ("fused_loss", flag, "use_liger_kernel use_liger liger_fused_linear_cross_entropy enable_liger_kernel"
     " liger_kernel use_liger_loss cut_cross_entropy use_fused_kernels cross_entropy_loss_fusion"
     " chunked_cross_entropy enable_linear_cross_entropy linear_cross_entropy"),
    ("fused_loss", flags(fused_loss=True), "log_probs_chunk_size logprob_chunk_size ce_loss_chunk_size"),
    ("compile", flag, "torch_compile compile.enable training.compile use_torch_compile"),
    ("reduce_bucket", number, "reduce_bucket_size"),
    ("allgather_bucket", number, "allgather_bucket_size"),
    ("prefetch_bucket", number, "stage3_prefetch_bucket_size prefetch_bucket_size"),
    ("max_live_parameters", number, "stage3_max_live_parameters max_live_parameters"),
    ("overlap_comm", flag, "overlap_comm"),
    ("contiguous_gradients", flag, "contiguous_gradients"),
    ("overlap_grad_reduce", flag, "overlap_grad_reduce"),
    ("overlap_param_gather", flag, "overlap_param_gather"),
    ("tp_comm_overlap", flag, "tp_comm_overlap"),
    ("num_workers", whole, "num_workers dataloader_num_workers dataset_num_workers"),
    ("mock_data", flag, "mock_data"),
    ("pin_memory", flag, "dataloader.pin_memory dataloader_pin_memory"),
    ("save_interval", count, "save_interval save_steps save_freq checkpoint.interval ckpt_every_steps"
     " step_scheduler.ckpt_every_steps"),
    ("async_save", flag, "async_save is_async checkpoint.is_async"),
    ("async_save", presets.async_mode, "async_mode"),
    ("manual_gc", flag, "manual_gc"),
    ("profiler", flag, "enable_profiling use_pytorch_profiler profile profiling.enabled wall_clock_profiler"
     " profiler_enabled"),
    ("vllm_mode", lower, "vllm_mode"),
    # ---- mixture of experts
    ("moe_balancing", presets.balancing, "moe_router_load_balancing_type"),
    ("moe_aux_coeff", number, "moe_aux_loss_coeff router_aux_loss_coef moe_aux_loss_coef moe_loss_coeff"
     " aux_loss_coef moe_loss_weight moe_aux_loss_weight aux_loss_alpha"),
    ("moe_expert_bias", flag, "moe_router_enable_expert_bias"),
    ("moe_random_routing", flag, "moe_router_force_load_balancing debug_moe_force_load_balance moe_force_load_balance"),
    ("moe_capacity_factor", number, "moe_expert_capacity_factor moe_capacity_factor capacity_factor"
     " moe_train_capacity_factor"),
    ("moe_pad_to_capacity", flag, "moe_pad_expert_input_to_capacity"),
    ("moe_dispatcher", lower, "moe_token_dispatcher_type"),
    ("moe_grouped_gemm", flag, "moe_grouped_gemm"),
)  # fmt: skip


@cache
def _table() -> dict[str, Knob]:
    return {key: Knob(f"config.{fact}", convert) for fact, convert, keys in TABLE for key in keys.split()}


def normal(key: str) -> str:
    """`--Tensor-Parallel.Size` as the table writes it."""
    return re.sub(r"\[\d*\]|(?<=\.)-+", "", key).strip("-+~ \"'").replace("-", "_").lower()


@cache
def find(key: str) -> Knob | None:
    """The knob that the dotted `key` names, by its longest known ending; None outside the training's own settings."""
    parts = normal(key).split(".")[-8:]
    if not OTHER_MODELS.isdisjoint(parts[:-1]) and ".".join(parts[-2:]) not in OF_THE_TRAINING:
        return None
    table = _table()
    return next((knob for tail in _tails(parts) if (knob := table.get(tail))), None)


def _tails(parts: list[str]) -> Iterable[str]:
    return (".".join(parts[start:]) for start in range(max(0, len(parts) - 3), len(parts)))
