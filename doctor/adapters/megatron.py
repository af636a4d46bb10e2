"""Megatron-LM: arguments in a launch script, and the YAML of `--yaml-cfg`.

Source: Megatron-LM, megatron/training/arguments.py (names, store_true, what excludes what) and yaml_arguments.py
(sections model_parallel and language_model).
"""

from __future__ import annotations

import re

from doctor.adapters import megatron_names as names
from doctor.adapters.dialect import Dialect, Form, Repeats
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.syntax.command_line import CommandLine
from doctor.adapters.syntax.yaml_file import YamlFile
from doctor.adapters.ways import Way, choice, number, switch

OWN_OPTION = re.compile(
    r"--(?:tensor-model-parallel-size|pipeline-model-parallel-size|use-distributed-optimizer|micro-batch-size"
    r"|recompute-granularity|num-layers-per-virtual-pipeline-stage|context-parallel-size|expert-model-parallel-size)\b"
)
OWN_SECTION = re.compile(r"^(?:model_parallel|language_model)\s*:", re.MULTILINE)
SWITCHES = frozenset(
    {
        "sequence_parallel", "use_distributed_optimizer", "use_megatron_fsdp", "bf16", "fp16", "manual_gc",
        "overlap_grad_reduce", "overlap_param_gather", "cross_entropy_loss_fusion", "optimizer_cpu_offload",
        "use_precision_aware_optimizer", "recompute_activations", "async_save", "use_flash_attn", "use_mcore_models",
        "swiglu", "untie_embeddings_and_output_weights", "disable_bias_linear", "tp_comm_overlap",
        "group_query_attention", "moe_grouped_gemm", "fp8_param_gather", "use_torch_fsdp2", "mock_data",
        "no_load_optim", "no_load_rng", "no_save_optim", "no_masked_softmax_fusion", "no_gradient_accumulation_fusion",
        "use_rotary_position_embeddings",
        "accumulate_allreduce_grads_in_fp32", "finetune", "auto_detect_ckpt_format", "use_checkpoint_args",
    }
)  # fmt: skip
WAYS: dict[str, Way] = {
    **names.degrees(),
    **names.chunks("num_virtual_stages_per_pipeline_rank", ("num_layers_per_virtual_pipeline_stage",)),
    **names.stage_ends("", "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"),
    **names.recomputation(),
    **names.precision(),
    **names.kernels(),
    **names.sharding(checkpoint="ckpt_format"),
    **names.offload(),
    "micro_batch": number("micro_batch_size"),
    "global_batch": number("global_batch_size"),
    "seq": number("seq_length"),
    "optimizer": choice("optimizer", {"adam": "adam", "sgd": "sgd", "muon": "muon"}, {"dist_muon": "muon"}),
    "learning_rate": number("lr"),
    "num_workers": number("num_workers"),
    "save_interval": number("save_interval"),
    "dp_replicate": number("num_distributed_optimizer_instances"),
    "manual_gc": switch("manual_gc"),
    "async_save": switch("async_save"),
    "overlap_grad_reduce": switch("overlap_grad_reduce"),
    "overlap_param_gather": switch("overlap_param_gather"),
}
GROUPS = (
    (*names.PARALLEL, "num_virtual_stages_per_pipeline_rank", "num_layers_per_virtual_pipeline_stage",
     "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"),
    names.RECOMPUTE,
    names.BATCH,
    (*names.OPTIMIZER, "use_megatron_fsdp", "data_parallel_sharding_strategy", "use_precision_aware_optimizer"),
    names.NUMERICS,
    ("save_interval", "ckpt_format", "async_save"),
)  # fmt: skip
ABSENT = {
    "offload_param": (
        "Megatron-LM keeps weights on the GPU; it can offload activations and, with optimizer_cpu_offload, states",
        "Megatron-LM 的权重始终在 GPU 上；可卸载激活值，或用 optimizer_cpu_offload 卸载优化器状态",
    ),
    "compile": ("Megatron-LM has no switch for torch.compile", "Megatron-LM 没有 torch.compile 开关"),
    "shard": (
        "Megatron-LM takes the number of replicas instead: num_distributed_optimizer_instances = dp x cp / shard",
        "Megatron-LM 用副本数表示：num_distributed_optimizer_instances = dp × cp / shard",
    ),
    "grad_accum": (
        "Megatron-LM derives accumulation steps: global batch / (micro-batch x data-parallel ranks)",
        "Megatron-LM 的累积步数由 全局批 /（微批 × 数据并行数）得出",
    ),
}
DIALECT = Dialect(title="Megatron-LM", ways=WAYS, groups=GROUPS, absent=ABSENT)
# The YAML has two sections for the fields of the model's configuration classes, and calls some of them otherwise.
LANGUAGE_MODEL = (*names.RECOMPUTE, "fp8", "attention_backend", "num_layers_in_first_pipeline_stage",
                  "num_layers_in_last_pipeline_stage")  # fmt: skip
MODEL_PARALLEL = (*names.PARALLEL, "bf16", "fp16", "cross_entropy_loss_fusion")
YAML_DIALECT = Dialect(
    title="Megatron-LM's YAML",
    ways={
        **{name: way for name, way in WAYS.items() if name != "vpp"},
        **names.precision(fp8="fp8"),
        **names.stage_ends("", "num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage"),
    },
    sections={**dict.fromkeys(LANGUAGE_MODEL, "language_model"), **dict.fromkeys(MODEL_PARALLEL, "model_parallel")},
    groups=GROUPS,
    absent=ABSENT
    | {
        "vpp": (
            "the YAML takes layers of a chunk instead: num_layers_per_virtual_pipeline_stage = layers / (pp x vpp)",
            "YAML 用每块层数表示：num_layers_per_virtual_pipeline_stage = 层数 /（pp × vpp）",
        )
    },
)


def _script(path: str, text: str) -> bool:
    return OWN_OPTION.search(text) is not None and not path.lower().endswith((".yaml", ".yml", ".json", ".toml", ".py"))


def _yaml(path: str, text: str) -> bool:
    return path.lower().endswith((".yaml", ".yml", "")) and len(OWN_SECTION.findall(text)) > 0


ADAPTER = FileAdapter(
    name="megatron",
    forms=(
        Form(
            fits=_script,
            syntax=CommandLine(
                switches=SWITCHES,
                lists=frozenset({"recompute_modules", "cp_comm_type", "data_path"}),
                stores_true=True,
                hyphens=True,
            ),
            dialect=DIALECT,
            repeats=Repeats.ALL,
            shell=True,
        ),
        Form(fits=_yaml, syntax=YamlFile(), dialect=YAML_DIALECT),
    ),
)
