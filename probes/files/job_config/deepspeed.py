"""DeepSpeed configurations: JSON, with "auto" where the trainer decides."""

from __future__ import annotations

import re

from probes.files.job_config.sheet import Sheet
from probes.files.job_config.tree import read_nested

OWN_KEYS = re.compile(
    r"[\"'](?:zero_optimization|train_micro_batch_size_per_gpu|zero_allow_untested_optimizer|wall_clock_breakdown"
    r"|zero_force_ds_cpu_optimizer|stage3_\w+|fp16_master_weights_and_gradients)[\"']\s*:"
)


def matches(text: str) -> bool:
    return OWN_KEYS.search(text) is not None


def read(sheet: Sheet, text: str, first_line: int = 1, whole: bool = True) -> int:
    """Read a DeepSpeed configuration; how many of its keys were known."""
    known = read_nested(sheet, text, first_line, section="deepspeed", whole=whole)
    at = OWN_KEYS.search(text)
    sheet.state("config.framework", "deepspeed", first_line + text.count("\n", 0, at.start() if at else 0))
    return known
