"""Tells what kind of configuration a file is, by its content; its name is a weak hint."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from probes.files.job_config import (
    accelerate,
    deepspeed,
    json_configs,
    notes,
    python_excerpt,
    shell,
    torchtitan,
    yaml_configs,
)
from probes.files.job_config.launchers import STARTERS
from probes.files.job_config.sheet import Sheet

# What only a program that runs prints.
LOG_LINE = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d|\[\w*\d+\]:|\[(?:INFO|WARNING|ERROR|DEBUG)\b|(?:INFO|WARNING|ERROR):"
    r"|Traceback \(most recent"
    r"|[IWEF]\d{4} \d\d:|\{'(?:loss|train_loss|eval_loss)'|iteration +\d+/)|NCCL (?:INFO|WARN)|\d+%\|.{0,40}\| *\d+/"
    r"|\biteration +\d+/ +\d+ \|",
    re.MULTILINE,
)
SHELL_LINE = re.compile(
    r"^\s*(?:#|--?[A-Za-z]|export\s+\w+|\w+\+?=|[)\"'}\\]|(?:cd|source|set|echo|mkdir|module|conda|pip|if|then|fi|for|do|done|else|wait|ulimit|unset)\b"
    r"|(?:\S*/)?(?:" + "|".join(re.escape(name) for name in STARTERS) + r")(?:\s|$)|[a-z]\w*(?:\.\w+)+=)"
)
RECORDS = re.compile(r"\}[ \t]*\r?\n\{")
"""One object after another is no document of JSON: a program appends one a step."""
LOG_NAMES = (".log", ".out", ".err", ".stdout", ".stderr")
DOCUMENTS = (".md", ".rst", ".html", ".csv", ".ipynb")
LARGEST_NOTE = 8192
LONGEST_LINE = 4096


class Kind(StrEnum):
    DEEPSPEED = "deepspeed"
    JSON = "json"
    ACCELERATE = "accelerate"
    YAML = "yaml"
    TOML = "toml"
    PYTHON = "python"
    SHELL = "shell"
    NOTES = "notes"


def kind_of(name: str, text: str) -> Kind | None:
    """The kind of configuration that `text`, the beginning of a file, belongs to; None for anything else."""
    low, stripped = name.lower(), text.lstrip("\ufeff \t\r\n")
    if not stripped or "\0" in text or low.endswith(DOCUMENTS):
        return None
    if stripped.startswith("{"):
        # A trainer's first record opens with a brace too, and what follows it is a log.
        return None if LOG_LINE.search(text) or RECORDS.search(text) else _kind_of_json(text)
    text = "\n".join(line[:LONGEST_LINE] for line in text.split("\n"))
    script = stripped.startswith("#!") and "sh" in stripped.partition("\n")[0]
    if script:
        return Kind.SHELL
    # A program may hold a line of a log in a string or a comment.
    if low.endswith(".py") and python_excerpt.parsed(text) is not None:
        return Kind.PYTHON
    if low.endswith(LOG_NAMES) or LOG_LINE.search(text):
        return None
    if low.endswith(".py") or (python_excerpt.matches(text) and not _is_shell(text)):
        return Kind.PYTHON
    if torchtitan.matches(text):
        return Kind.TOML if _says_something(torchtitan.read, text) else None
    if accelerate.matches(text):
        return Kind.ACCELERATE
    if yaml_configs.matches(text) or (low.endswith((".yaml", ".yml")) and yaml_configs.known_keys(text)):
        return Kind.YAML
    if _is_shell(text) and _says_something(shell.read_script, text):
        return Kind.SHELL
    if len(text) <= LARGEST_NOTE and _says_something(_read_notes, text):
        return Kind.NOTES
    return None


def _kind_of_json(text: str) -> Kind | None:
    if not json_configs.matches(text):
        return None
    if deepspeed.matches(text):
        return Kind.DEEPSPEED
    return Kind.JSON if _says_something(json_configs.read, text) else None


def _is_shell(text: str) -> bool:
    """Do most lines look like commands, flags, assignments or comments?"""
    lines = [line for line in text.splitlines()[:400] if line.strip()]
    fitting, carried = 0, False
    for line in lines:
        fitting += carried or SHELL_LINE.match(line) is not None
        carried = line.rstrip().endswith("\\")
    return fitting >= 0.5 * len(lines)


def _says_something(read: Callable[[Sheet, str], object], text: str) -> bool:
    sheet = Sheet("", {})
    read(sheet, text)
    return bool(sheet.reading().facts)


def _read_notes(sheet: Sheet, text: str) -> None:
    notes.read(sheet, enumerate(text.split("\n"), 1))
