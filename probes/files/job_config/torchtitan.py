"""torchtitan's TOML, old section names (`[experimental]`, `[training]`) and new (`[parallelism]`), and other TOML."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

from probes.files.job_config.sheet import Sheet

SECTION = re.compile(r"\s*\[\[?([\w.\"' -]+)\]\]?\s*(?:#.*)?")
PAIR = re.compile(r"\s*([\w.\"'-]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^#]*)")
OWN_SECTIONS = frozenset(("training", "parallelism", "experimental"))
OWN_KEYS = re.compile(r"_parallel_degree|local_batch_size|_shard_degree")


def matches(text: str) -> bool:
    """Does the text consist of sections and `key = value` lines?"""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    fitting = sum(bool(SECTION.fullmatch(line) or PAIR.match(line)) for line in lines)
    return any(SECTION.fullmatch(line) for line in lines) and fitting >= 0.8 * len(lines) and len(lines) > 1


def pairs(text: str) -> Iterator[tuple[str, str, int]]:
    """Dotted key, value without quotes, line. Values of several lines are passed over."""
    section = ""
    for number, line in enumerate(text.split("\n"), 1):
        if found := SECTION.fullmatch(line):
            section = found[1].strip("\"' ")
        elif found := PAIR.match(line):
            key = found[1].strip("\"'")
            yield (f"{section}.{key}" if section else key), found[2].strip().strip("\"'"), number


def read(sheet: Sheet, text: str) -> int:
    """Read the file; how many keys were known."""
    try:
        tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        sheet.warn(_line_of(error), f"not valid TOML: {error}")
    known, model = 0, ""
    flavored = re.search(r"^\s*flavor\s*=", text, re.MULTILINE) is not None
    for key, value, line in pairs(text):
        if key == "model.name" and flavored:
            model = value
            continue
        if key == "model.flavor" and model:
            sheet.state("config.model", f"{model} {value}", line)
        known += sheet.setting(key, value, line)
        if key.split(".")[0] in OWN_SECTIONS and OWN_KEYS.search(key):
            sheet.state("config.framework", "torchtitan", line)
    return known


def _line_of(error: Exception) -> int:
    found = re.search(r"line (\d+)", str(error))
    return int(found[1]) if found else 0
