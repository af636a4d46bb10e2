"""Job configurations: launch scripts, framework files, and their echo in logs, as facts of the catalogue.

One reader a kind of file; all of them hand their settings to the knob table in `knobs`. Nothing in the input is run
or imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain

from doctor.facts.model import Fact
from probes.files.job_config import (
    accelerate,
    deepspeed,
    echo,
    json_configs,
    notes,
    python_excerpt,
    shell,
    torchtitan,
    yaml_configs,
)
from probes.files.job_config.kinds import Kind, kind_of
from probes.files.job_config.sheet import ConfigReading, Sheet, numbered

__all__ = ["ConfigReading", "claims", "read_config", "read_echo"]

LARGEST = 4 * 1024 * 1024
HEAD = 64 * 1024
# The trainer before what it runs on: swift trains with DeepSpeed, NeMo with Megatron.
FRAMEWORK_ORDER = (
    "verl", "openrlhf", "slime", "swift", "llamafactory", "axolotl", "trl", "nemo", "torchtitan", "torchtune",
    "megatron", "lightning", "colossalai", "hf", "deepspeed", "fsdp", "accelerate",
)  # fmt: skip
READERS: dict[Kind, Callable[[Sheet, str], object]] = {
    Kind.DEEPSPEED: deepspeed.read,
    Kind.JSON: json_configs.read,
    Kind.ACCELERATE: accelerate.read,
    Kind.YAML: yaml_configs.read,
    Kind.TOML: torchtitan.read,
    Kind.PYTHON: python_excerpt.read,
    Kind.SHELL: shell.read_script,
}


def claims(name: str, head: bytes) -> bool:
    """Is the file that begins with `head` a job configuration or launch script? A training log is not."""
    return kind_of(name, _decode(head[:HEAD])) is not None


def read_config(name: str, data: bytes, entity: str = "job") -> ConfigReading:
    """The facts of a configuration file, about `entity`, and what in it could not be understood."""
    if len(data) > LARGEST:
        return ConfigReading([], [f"{name}: larger than {LARGEST // 2**20} MiB, not read"])
    text = _decode(data)
    kind = kind_of(name, text[:HEAD])
    if kind is None:
        return ConfigReading([], [f"{name}: not a job configuration that is known"])
    lines = numbered(text)
    sheet = Sheet(name, lines, entity)
    if kind in READERS:
        READERS[kind](sheet, text)
    if kind is Kind.NOTES or (kind is Kind.SHELL and not text.startswith("#!")):
        notes.read(sheet, ((n, line) for n, line in lines.items() if kind is Kind.NOTES or "--" not in line))
    reading = sheet.reading()
    facts = python_excerpt.certain(reading.facts, text) if kind is Kind.PYTHON else reading.facts
    return ConfigReading(_in_order(facts), reading.warnings)


def read_echo(run: str, lines: Iterable[tuple[int, str]], path: str) -> list[Fact]:
    """The arguments that a program printed into its log, given the numbered lines of the log's beginning.

    `run` is the run's name, or "job" where there is only one.
    """
    entity = run if run == "job" or run.startswith("run:") else f"run:{run}"
    return _in_order(echo.read(path, lines, entity))


def _in_order(facts: list[Fact]) -> list[Fact]:
    """`facts` with the frameworks sorted, most telling first."""
    frameworks = [fact for fact in facts if fact.name == "config.framework"]
    frameworks.sort(key=lambda fact: FRAMEWORK_ORDER.index(str(fact.value)) if fact.value in FRAMEWORK_ORDER else 99)
    return list(chain(frameworks, (fact for fact in facts if fact.name != "config.framework")))


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace").replace("\r\n", "\n")
