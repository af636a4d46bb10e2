"""JSON that is not DeepSpeed's: a model's config.json, FSDP settings, training arguments."""

from __future__ import annotations

import re

from probes.files.job_config.sheet import Sheet
from probes.files.job_config.tree import read_nested

# Traces, training states and notebooks are JSON too, and hold some of the same keys.
OTHER_KINDS = re.compile(r"\"(?:traceEvents|schemaVersion|log_history|cells|nbformat|pg_config|entries)\"\s*:")


def matches(text: str) -> bool:
    return OTHER_KINDS.search(text) is None


def read(sheet: Sheet, text: str) -> int:
    """Read training arguments or a description of a model; how many keys were known."""
    return read_nested(sheet, text, whole=True)
