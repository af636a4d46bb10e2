"""Collects the facts of one file, each with the line it was read in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from doctor.facts.model import Fact, Quality, Source, Value
from probes.files.job_config.knobs import find
from probes.files.job_config.values import is_unset

MOST_FACTS = 5000
MOST_WARNINGS = 20
LONGEST_TEXT = 2000
AUTO_IS_A_CHOICE = frozenset({"config.device_map"})
REDACTED = "<redacted>"
SECRET = re.compile(r"(?:^|_)(?:TOKEN|KEY|PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIALS?)(?:_ID)?$", re.IGNORECASE)
# `NAME=value`, `--name value`, `"name": "value"`, `name: value` whose name says that the value is a secret.
SECRET_IN_TEXT = re.compile(
    r"""((?:\b[A-Z0-9_]{0,60}(?:TOKEN|KEY|PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIALS?)(?:_ID)?
        |\b(?:[\w-]{0,60}[_-])?(?:hf|hub|api|access|auth|secret|private|wandb|user|git|login)[_-](?:token|key)(?:[_-]id)?
        |\b[\w-]{0,60}(?:password|passwd|secret))
        ["']?(?:\s*[=:]\s*|\s+)["']?)([^\s"',;}]+)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class ConfigReading:
    """What a configuration says, and what in it could not be understood."""

    facts: list[Fact]
    warnings: list[str]


def is_secret(name: str) -> bool:
    """Does the name of a variable say that its value must not be shown?"""
    return SECRET.search(name) is not None


def redact(text: str) -> str:
    """`text` without the values of tokens, keys and passwords."""
    return SECRET_IN_TEXT.sub(lambda m: m[1] + REDACTED, text)


def numbered(text: str) -> dict[int, str]:
    """The lines of `text` by number, from 1."""
    return dict(enumerate(text.split("\n"), 1))


class Sheet:
    """The facts read so far in the file `path`, whose numbered lines are `lines`; all are about `entity`."""

    def __init__(self, path: str, lines: Mapping[int, str], entity: str = "job", kind: str = "config") -> None:
        self.path = path
        self.lines = lines
        self.entity = entity
        self.kind = kind
        self._facts: dict[tuple[str, type, Value], Fact] = {}
        self._warnings: dict[str, None] = {}

    def state(self, name: str, value: Value, line: int, quality: Quality = Quality.STATED) -> None:
        """Keep the fact `name`; the same value stated twice is one fact, at its first line."""
        if len(self._facts) < MOST_FACTS:
            self._facts.setdefault(
                (name, type(value), value), Fact(name, value, self.entity, self.source(line), quality=quality)
            )

    def setting(self, key: str, text: str, line: int, quality: Quality = Quality.STATED) -> bool:
        """Read the framework's setting `key`; True where the knob table knows it."""
        knob = find(key)
        if knob is None:
            return False
        text = text.strip()
        if is_unset(text) and not (text and knob.fact in AUTO_IS_A_CHOICE):
            return True
        try:
            value = knob.convert(text)
        except (ValueError, OverflowError) as error:
            self.warn(line, f"{key} = {' '.join(text[:80].split())} is {error}")
            return True
        if isinstance(value, Mapping):
            for name, part in value.items():
                self.state(name, part, line, quality)
        elif value is not None:
            self.state(knob.fact, value, line, quality)
        return True

    def variable(self, name: str, value: str, line: int, quality: Quality = Quality.STATED) -> None:
        """Keep the environment variable `name`, and the setting it stands for where a launcher reads it."""
        if name in PER_PROCESS or value.lower() == "unset" or re.fullmatch(r"\$(?:\{?\w+\}?|\(\.\.\.\))", value):
            return
        self.state(f"env.{name}", REDACTED if is_secret(name) else value[:LONGEST_TEXT], line, quality)
        self.setting(f"env.{name}", value, line, quality)

    def warn(self, line: int, text: str) -> None:
        if len(self._warnings) < MOST_WARNINGS:
            self._warnings[redact(f"{self.path}:{line}: {text}")] = None

    def source(self, line: int) -> Source:
        text = self.lines.get(line, "")
        return Source(self.kind, self.path, line, redact(text[:LONGEST_TEXT].strip()))

    def has(self, name: str) -> bool:
        return any(known == name for known, _, _ in self._facts)

    def reading(self) -> ConfigReading:
        return ConfigReading(list(self._facts.values()), list(self._warnings))


# Variables that differ from process to process or shell to shell and so say nothing about the job.
PER_PROCESS = frozenset(
    {
        "RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "ROLE_RANK", "MACHINE_RANK", "SLURM_PROCID",
        "SLURM_LOCALID", "SLURM_NODEID", "PWD", "OLDPWD", "SHLVL", "PS1", "_", "HOME", "USER", "LOGNAME",
        "HOSTNAME", "TERM", "SHELL",
    }
)  # fmt: skip
