"""The names that a framework has for the neutral settings, and where its files hold them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from doctor.adapters.model import Code, Entry, Note, Syntax
from doctor.adapters.ways import Way

# Sections that do not configure the training itself.
OTHERS = frozenset(
    {
        "rollout", "ref", "critic", "reward", "reward_model", "teacher", "draft", "vllm", "vllm_cfg", "generation",
        "inference", "eval", "validation", "validator", "vision_config", "audio_config", "encoder", "mpirun",
    }
)  # fmt: skip


class Repeats(Enum):
    """What several settings of one name in a file mean."""

    ALL = "all"  # several commands: each of them is changed
    OUTERMOST = "outermost"  # nested sections: the one nearest to the root
    UNCLEAR = "unclear"  # several recipes: which one runs is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """aliases: other names of a key, each read and changed where it is what the file has. groups: keys that people
    write next to each other. sections: where a new key belongs that is looked for without its section. absent: why
    there is no way, where more can be said than that there is none (English, Chinese). keep: values that leave the
    setting to someone else, with whom (English, Chinese). imports: modules of names that new expressions use. prepare
    turns neutral changes, given the settings now, into what `ways` write, and says what it could not turn.
    """

    title: str
    ways: Mapping[str, Way]
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: tuple[tuple[str, ...], ...] = ()
    sections: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    keep: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    imports: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[dict[str, Any], Mapping[str, Any]], tuple[dict[str, Any], list[Note]]] | None = None

    def all_keys(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key for way in self.ways.values() for key in way.keys))

    def names(self, key: str) -> tuple[str, ...]:
        return (key, *self.aliases.get(key, ()))

    def beside(self, key: str) -> Iterator[tuple[str, ...]]:
        """Keys that a new `key` may stand next to, nearest kin first."""
        for group in self.groups:
            if key in group:
                yield group
        yield self.all_keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One kind of file of a framework: when a file is of it (path, text), its syntax, its names.

    null: what is written for a setting that is to have no value, where leaving it out would bring back that of a file
    or recipe underneath.
    """

    fits: Callable[[str, str], bool]
    syntax: Syntax
    dialect: Dialect
    repeats: Repeats = Repeats.OUTERMOST
    shell: bool = False
    null: Code | None = None


def normal(key: str) -> str:
    return key.replace("-", "_")


def placed(entries: tuple[Entry, ...], names: tuple[str, ...], repeats: Repeats, recipe: str = "") -> list[Entry]:
    """The settings called by one of `names` (dotted endings), the first name that the file has; last wins."""
    for name in names:
        wanted = normal(name).split(".")
        found = [entry for entry in entries if _is(entry, wanted)]
        if recipe:
            found = [entry for entry in found if recipe in entry.group.split(".")]
        if not found:
            continue
        last = {entry.group: entry for entry in found}
        if repeats is Repeats.OUTERMOST:
            least = min(entry.key.count(".") for entry in last.values())
            return [[entry for entry in last.values() if entry.key.count(".") == least][-1]]
        return list(last.values())
    return []


def _is(entry: Entry, wanted: list[str]) -> bool:
    parts = normal(entry.key).split(".")
    return parts[-len(wanted) :] == wanted and OTHERS.isdisjoint(parts[: -len(wanted)])
