"""Accelerate's YAML (`accelerate config`): processes, ZeRO or FSDP plugin, mixed precision."""

from __future__ import annotations

import re

from probes.files.job_config.sheet import Sheet
from probes.files.job_config.yaml_configs import scalars

OWN_KEYS = re.compile(
    r"^[\t ]*(?:- )?(?:compute_environment|distributed_type|downcast_bf16|fsdp_config|deepspeed_config)\s*:",
    re.MULTILINE,
)
PLUGINS = {"deepspeed": "deepspeed", "fsdp": "fsdp", "megatron_lm": "megatron"}


def matches(text: str) -> bool:
    return len({found[0] for found in OWN_KEYS.finditer(text)}) >= 2


def read(sheet: Sheet, text: str) -> int:
    """Read the file; how many keys were known."""
    known = 0
    for key, value, line in scalars(sheet, text):
        if key == "distributed_type":
            if plugin := PLUGINS.get(value.lower()):
                sheet.state("config.framework", plugin, line)
            sheet.state("config.framework", "accelerate", line)
        known += sheet.setting(key, value, line)
    return known
