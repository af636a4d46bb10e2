"""ms-swift: `megatron sft` and its kin with Megatron's names, `swift sft` with the trainer's.

Source: ms-swift, swift/megatron/arguments/megatron_args.py (switches take true or false, recompute_granularity none,
virtual_pipeline_model_parallel_size) and swift/trainers/arguments.py.
"""

from __future__ import annotations

import re

from doctor.adapters import hf, trainer_names
from doctor.adapters import megatron_names as names
from doctor.adapters.dialect import Dialect, Form, Repeats
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.syntax.command_line import CommandLine
from doctor.adapters.syntax.yaml_file import YamlFile
from doctor.adapters.ways import Way, number, switch

PROGRAM = re.compile(
    r"(?:^|[\s/'\"])(?:(megatron|swift)[ \t]+(?:sft|pt|rlhf)|swift/cli/(_megatron/)?\w+\.py)(?=\s|$)", re.M
)
OWN_KEY = re.compile(r"^(?:tuner_type|train_type)\s*:", re.MULTILINE)
MEGATRON_KEY = re.compile(
    r"^\s*(?:--)?(?:tensor_model_parallel_size|micro_batch_size|mcore_model|pipeline_model_parallel_size)\b", re.M
)
SWITCHES = trainer_names.SWITCHES | frozenset(
    {
        "sequence_parallel", "use_distributed_optimizer", "use_megatron_fsdp", "manual_gc", "overlap_grad_reduce",
        "overlap_param_gather", "cross_entropy_loss_fusion", "optimizer_cpu_offload", "use_precision_aware_optimizer",
        "async_save", "padding_free", "moe_grouped_gemm", "finetune", "merge_lora", "no_save_optim", "no_save_rng",
    }
)  # fmt: skip
RECOMPUTATION = names.recomputation()
MEGATRON_WAYS: dict[str, Way] = {
    **names.degrees(),
    **names.chunks("virtual_pipeline_model_parallel_size", ("num_layers_per_virtual_pipeline_stage",)),
    **names.stage_ends("", "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers"),
    **RECOMPUTATION,
    # Selective is the default here, so that nothing recomputed must be said.
    "recompute": Way(
        RECOMPUTATION["recompute"].keys,
        lambda value: (
            {**RECOMPUTATION["recompute"].write(value)} | ({"recompute_granularity": "none"} if value == "none" else {})
        ),
        RECOMPUTATION["recompute"].read,
    ),
    **names.precision(),
    **names.kernels(),
    **names.sharding(),
    **names.offload(),
    "micro_batch": number("micro_batch_size"),
    "global_batch": number("global_batch_size"),
    "seq": number("max_length"),
    "learning_rate": number("lr"),
    "num_workers": number("dataloader_num_workers"),
    "save_interval": number("save_steps"),
    "manual_gc": switch("manual_gc"),
    "async_save": switch("async_save"),
    "overlap_grad_reduce": switch("overlap_grad_reduce"),
    "overlap_param_gather": switch("overlap_param_gather"),
}
MEGATRON = Dialect(
    title="ms-swift's Megatron arguments",
    ways=MEGATRON_WAYS,
    aliases={
        "dataloader_num_workers": ("num_workers",),
        "save_steps": ("save_interval",),
        "max_length": ("seq_length",),
    },
    groups=(
        (*names.PARALLEL, "virtual_pipeline_model_parallel_size"),
        names.RECOMPUTE,
        names.BATCH,
        names.OPTIMIZER,
        names.NUMERICS,
        ("attention_backend", "cross_entropy_loss_fusion"),
    ),
)
TRAINER = Dialect(
    title="ms-swift",
    ways={
        **trainer_names.WAYS,
        "attention": trainer_names.attention("attn_impl", {"flash": "flash_attn", "unfused": "eager"}),
        "seq": number("max_length"),
        "cp": number("sequence_parallel_size"),
    },
    groups=hf.DIALECT.groups,
    absent=trainer_names.ABSENT,
)


def _megatron(path: str, text: str) -> bool:
    found = PROGRAM.search(text)
    return _command(path, text) and found is not None and (found[1] == "megatron" or bool(found[2]))


def _command(path: str, text: str) -> bool:
    return PROGRAM.search(text) is not None and not path.lower().endswith((".yaml", ".yml", ".json", ".py", ".toml"))


def _yaml(path: str, text: str) -> bool:
    return path.lower().endswith((".yaml", ".yml")) and OWN_KEY.search(text) is not None


LISTS = frozenset({"recompute_modules", "dataset", "target_modules", "report_to"})
ADAPTER = FileAdapter(
    name="swift",
    forms=(
        Form(
            fits=_megatron,
            syntax=CommandLine(switches=SWITCHES, lists=LISTS),
            dialect=MEGATRON,
            repeats=Repeats.ALL,
            shell=True,
        ),
        Form(
            fits=_command,
            syntax=CommandLine(switches=SWITCHES, lists=LISTS),
            dialect=TRAINER,
            repeats=Repeats.ALL,
            shell=True,
        ),
        Form(
            fits=lambda path, text: _yaml(path, text) and MEGATRON_KEY.search(text) is not None,
            syntax=YamlFile(),
            dialect=MEGATRON,
        ),
        Form(fits=_yaml, syntax=YamlFile(), dialect=TRAINER),
    ),
)
