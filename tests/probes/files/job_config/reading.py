"""Short ways to read a configuration in tests."""

from __future__ import annotations

from doctor.facts.model import Value
from probes.files.job_config import read_config, read_echo


def facts(text: str, name: str = "launch.sh") -> dict[str, Value]:
    """First value of every fact, without "config."."""
    found: dict[str, Value] = {}
    for fact in read_config(name, text.encode()).facts:
        found.setdefault(fact.name.removeprefix("config."), fact.value)
    return found


def every(text: str, fact: str, name: str = "launch.sh") -> list[Value]:
    return [found.value for found in read_config(name, text.encode()).facts if found.name == fact]


def warnings(text: str, name: str = "launch.sh") -> list[str]:
    return read_config(name, text.encode()).warnings


def echoed(text: str, run: str = "job") -> dict[str, Value]:
    found: dict[str, Value] = {}
    for fact in read_echo(run, enumerate(text.split("\n"), 1), "rank0.log"):
        found.setdefault(fact.name.removeprefix("config."), fact.value)
    return found
