"""LLaMA-Factory's YAML: the trainer's arguments and its own, flat.

Source: LLaMA-Factory, src/llamafactory/hparams/{model,data,training}_args.py; examples/deepspeed (ds_zN_config.json),
hparams/megatron_bridge_args.py and mcore_adapter for the parallel degrees, which count with Megatron alone.
"""

from __future__ import annotations

import re
from typing import Any

from doctor.adapters import trainer_names as names
from doctor.adapters.dialect import Dialect, Form, Repeats
from doctor.adapters.errors import Unavailable
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.syntax.command_line import CommandLine
from doctor.adapters.syntax.yaml_file import YamlFile
from doctor.adapters.ways import Rewrite, Texts, Wanted, Way, as_number, number, switch, where_there

OWN_KEY = re.compile(r"^(?:finetuning_type|cutoff_len|stage|template)\s*:", re.MULTILINE)
OWN_PROGRAM = re.compile(r"\bllamafactory-cli\s+train\b.*--|\bllamafactory-cli\s+train\s*\\", re.DOTALL)
PRESET = re.compile(r"(?P<head>.*ds_z)(?P<stage>\d)(?P<tail>(?:_offload)?_config\.json)")
STAGES = ("none", "optimizer", "gradients", "full")
BY_FILE = (
    "set in the file that deepspeed or fsdp_config names",
    "在 deepspeed 或 fsdp_config 所指的文件中设置",
)
WITH_MEGATRON = (
    "counts only where LLaMA-Factory trains with Megatron (USE_MCA=1), which this file does not",
    "仅在 LLaMA-Factory 使用 Megatron（USE_MCA=1）时有效，本文件没有使用",
)


def _preset(texts: Texts) -> Any:
    found = PRESET.fullmatch(texts.get("deepspeed", ""))
    return STAGES[int(found["stage"])] if found and int(found["stage"]) < 4 else None


def _stage(value: Any) -> Wanted:
    """The files that come with LLaMA-Factory are named by stage; there is none for stage 1."""

    def rewrite(now: str | None) -> str:
        found = PRESET.fullmatch(now or "")
        stage = STAGES.index(value)
        if not found or stage == 1 or (stage == 0 and "offload" in found["tail"]):
            raise Unavailable(*BY_FILE)
        return f"{found['head']}{stage}{found['tail']}"

    return {"deepspeed": rewrite}


def _offload(value: Any) -> Wanted:
    def rewrite(now: str | None) -> str:
        found = PRESET.fullmatch(now or "")
        if not found or (value and found["stage"] not in "23"):
            raise Unavailable(*BY_FILE)
        return f"{found['head']}{found['stage']}{'_offload' if value else ''}_config.json"

    return {"deepspeed": rewrite}


def _offloads(texts: Texts) -> bool | None:
    found = PRESET.fullmatch(texts.get("deepspeed", ""))
    return "_offload" in found["tail"] if found else None


def _megatron(key: str) -> Way:
    def write(value: Any) -> dict[str, Rewrite]:
        return {key: where_there(value, *WITH_MEGATRON)}

    return Way((key,), write, lambda texts: as_number(texts.get(key)))


WAYS: dict[str, Way] = {
    **names.WAYS,
    "fused_loss": switch("enable_liger_kernel"),
    "recompute": names.checkpointing("disable_gradient_checkpointing", when=False),
    "attention": names.attention("flash_attn", {"flash": "fa2", "unfused": "disabled"}),
    "seq": number("cutoff_len"),
    "sharding": Way(("deepspeed",), _stage, _preset),
    "offload_optimizer": Way(("deepspeed",), _offload, _offloads),
    "tp": _megatron("tensor_model_parallel_size"),
    "pp": _megatron("pipeline_model_parallel_size"),
    "cp": _megatron("context_parallel_size"),
    "ep": _megatron("expert_model_parallel_size"),
    "vpp": _megatron("virtual_pipeline_model_parallel_size"),
}
del WAYS["loss"]
DIALECT = Dialect(
    title="LLaMA-Factory",
    ways=WAYS,
    groups=(
        names.BATCH,
        (*names.NUMERICS, "enable_liger_kernel", "flash_attn"),
        ("cutoff_len", "template"),
        names.LOADER,
    ),
    absent={**names.ABSENT, "offload_param": BY_FILE},
)


def _yaml(path: str, text: str) -> bool:
    return not path.lower().endswith((".sh", ".json", ".py")) and len(set(OWN_KEY.findall(text))) >= 2


def _command(path: str, text: str) -> bool:
    return not path.lower().endswith((".yaml", ".yml", ".json", ".py")) and OWN_PROGRAM.search(text) is not None


ADAPTER = FileAdapter(
    name="llamafactory",
    forms=(
        Form(fits=_yaml, syntax=YamlFile(), dialect=DIALECT),
        Form(
            fits=_command,
            syntax=CommandLine(switches=names.SWITCHES),
            dialect=DIALECT,
            repeats=Repeats.ALL,
            shell=True,
        ),
    ),
)
