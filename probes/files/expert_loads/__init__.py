"""Reads how many tokens the experts of a model get, from CSV, JSON, Parquet, NumPy and PyTorch files.

A file is told by what it holds: columns or keys that name layers, experts and tokens, or whole numbers whose rows have
alike sums, as counts of the same tokens have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doctor.facts.model import Fact

__all__ = ["LoadsReading", "is_loads", "is_packed_loads", "read_loads"]

LARGEST = 4 << 30


@dataclass(slots=True)
class LoadsReading:
    """What the loads say; remarks by file. Files of several ranks are added up, so none is of one rank."""

    facts: list[Fact] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)

    def says(self, name: str, text: str) -> None:
        self.warnings.setdefault(name, []).append(f"{name}: {text}")


def is_packed_loads(path: Path) -> bool:
    """Is this a zip archive of arrays or tensors that holds loads? Such a one is read whole and not as a folder."""
    from probes.files.expert_loads import arrays

    return arrays.kind_of(path) in ("npz", "torch") and is_loads(path)


def is_loads(path: Path) -> bool:
    """Does the file hold tokens of experts, by its content?"""
    from probes.files.expert_loads import arrays, from_arrays, texts

    try:
        return from_arrays.holds_loads(path) if arrays.kind_of(path) else texts.holds_loads(path)
    except Exception:  # whatever a damaged archive or table raises: it is none of ours
        return False


def read_loads(files: Sequence[tuple[Path, str]]) -> LoadsReading:
    """Facts of `files`, each of which `is_loads` takes for loads. Those of one step and layer are added up: they are
    the counts of several ranks. Files that are named by steps are of these steps."""
    from probes.files.expert_loads import arrays, from_arrays, texts
    from probes.files.expert_loads.facts import facts
    from probes.files.expert_loads.judge import judge
    from probes.files.expert_loads.model import LoadError, Loads, steps_of

    reading = LoadsReading()
    loads, first = Loads(), ""
    for (path, name), loads.step in zip(files, steps_of([name for _, name in files]), strict=True):
        odd = loads.odd
        try:
            (from_arrays if arrays.kind_of(path) else texts).read(path, loads)
            first = first or name
        except LoadError as error:
            reading.says(name, str(error))
        except Exception as error:  # nothing that a file holds may cost the other files
            reading.says(name, f"cannot be read: {str(error)[:200] or type(error).__name__}")
        if loads.odd > odd:
            reading.says(name, f"{loads.odd - odd} entries are no counts of tokens and were left out")
    found = judge(loads)
    if found is not None:
        reading.facts += facts(found, loads, first)
    elif first:
        reading.says(first, "holds no tokens of any expert")
    return reading
