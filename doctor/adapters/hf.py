"""transformers' TrainingArguments and TRL: on a command line, or in a flat YAML.

Source: transformers, training_args.py and hf_argparser.py (switches take true or false; `-` and `_` are the same in
names); TRL, trainer/sft_config.py (max_length) and model_config.py (attn_implementation).
"""

from __future__ import annotations

import re

from doctor.adapters import trainer_names as names
from doctor.adapters.dialect import Dialect, Form, Repeats
from doctor.adapters.file_adapter import FileAdapter
from doctor.adapters.syntax.command_line import CommandLine
from doctor.adapters.syntax.yaml_file import YamlFile
from doctor.adapters.ways import Texts, Wanted, Way, as_number, where_there

OWN_OPTION = re.compile(r"--(?:per[_-]device[_-]train[_-]batch[_-]size|gradient[_-]checkpointing|output[_-]dir)\b")
OWN_KEY = re.compile(
    r"^(?:per_device_train_batch_size|gradient_checkpointing|gradient_accumulation_steps|model_name_or_path)\s*:", re.M
)
IN_CODE = (
    "pass attn_implementation to from_pretrained: this file has no setting for it",
    "在 from_pretrained 中传入 attn_implementation：本文件没有此设置",
)
LENGTH = (
    "the length of sequences is set in code or under the script's own name: none of max_length, max_seq_length is here",
    "序列长度在代码中或以脚本自己的名字设置：这里没有 max_length、max_seq_length",
)


def _length(value: int) -> Wanted:
    return {"max_length": where_there(value, *LENGTH)}


def _length_read(texts: Texts) -> int | float | None:
    return as_number(texts.get("max_length"))


WAYS: dict[str, Way] = {
    **names.WAYS,
    "attention": names.attention("attn_implementation", {"flash": "flash_attention_2", "unfused": "eager"}, *IN_CODE),
    "seq": Way(("max_length",), _length, _length_read),
}
DIALECT = Dialect(
    title="transformers' trainer",
    ways=WAYS,
    aliases={"max_length": ("max_seq_length", "max_seq_len", "block_size", "model_max_length")},
    groups=(names.BATCH, names.NUMERICS, names.LOADER, ("learning_rate", "lr_scheduler_type"), ("save_steps",)),
    absent=names.ABSENT,
)


def _command(path: str, text: str) -> bool:
    return OWN_OPTION.search(text) is not None and not path.lower().endswith((".yaml", ".yml", ".json", ".py", ".toml"))


def _yaml(path: str, text: str) -> bool:
    return path.lower().endswith((".yaml", ".yml")) and OWN_KEY.search(text) is not None


ADAPTER = FileAdapter(
    name="hf",
    forms=(
        Form(
            fits=_command,
            syntax=CommandLine(switches=names.SWITCHES, lists=frozenset({"report_to", "fsdp"})),
            dialect=DIALECT,
            repeats=Repeats.ALL,
            shell=True,
        ),
        Form(fits=_yaml, syntax=YamlFile(), dialect=DIALECT),
    ),
)
