"""Remarks on the input: what could not be read, and why. A view puts them into words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Note:
    """One remark: the `key` of its text in the message catalogue, the file it is about, and what fills the text."""

    key: str
    path: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
