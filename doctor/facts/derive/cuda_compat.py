"""Is the NVIDIA driver of a node new enough for the CUDA that the job brings? `tables/cuda_drivers.csv`.

A runtime runs on every driver of its major family from the family's first release on (minor-version compatibility:
docs.nvidia.com/deploy/cuda-compatibility); the toolkit's own minimum, from the CUDA release notes, is needed where
PTX has to be compiled on the node. A cuda-compat package in the image lowers the need on data centre GPUs.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from doctor.facts.model import Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("node.driver_version", "node.cuda_build", "pip.torch")
GIVES = ("node.driver_insufficient", "node.driver_below_toolkit")

FAMILIES: Mapping[int, str] = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""First driver of each CUDA family, Linux (CUDA compatibility, minor-version compatibility)."""
_TABLE = Path(__file__).parent.parent / "tables" / "cuda_drivers.csv"
_BUILD = re.compile(r"\+cu(?P<major>1[0-9])(?P<minor>[0-9])$")


@cache
def toolkit_drivers() -> Mapping[str, str]:
    """The least driver of each CUDA toolkit for Linux, without its patch releases: 12.4 -> 550.54.14."""
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return {".".join(row["cuda"].split(".")[:2]): row["driver"] for row in csv.DictReader(file)}


def derive(store: FactStore) -> Iterator[Fact]:
    for driver in store.every("node.driver_version"):
        build = _build(store, driver.entity)
        if build is None:
            continue
        cuda, source = build
        family = FAMILIES.get(int(cuda.split(".")[0]))
        own = toolkit_drivers().get(cuda, "")
        because = (driver.source, source)
        if family and _less(str(driver.value), family):
            text = f"driver {driver.value}, CUDA {cuda} needs {family} or later"
            yield _fact("node.driver_insufficient", text, driver.entity, because)
        elif family and own and _less(str(driver.value), own):
            text = f"driver {driver.value}, toolkit {cuda} comes with {own}; its family works from {family} on"
            yield _fact("node.driver_below_toolkit", text, driver.entity, because)


def _build(store: FactStore, node: str) -> tuple[str, Source] | None:
    """The CUDA version that torch brings, as 12.4."""
    stated = store.get("node.cuda_build", node)
    if stated and re.fullmatch(r"1\d\.\d{1,2}", str(stated.value)):
        return str(stated.value), stated.source
    wheel = store.get("pip.torch", node)
    found = _BUILD.search(str(wheel.value)) if wheel else None
    return (f"{found['major']}.{found['minor']}", wheel.source) if wheel and found else None


def _less(one: str, two: str) -> bool:
    numbers = [[int(part[:9]) for part in re.findall(r"\d+", text)[:3]] for text in (one, two)]
    return bool(numbers[0]) and numbers[0] < numbers[1]


def _fact(name: str, value: str, node: str, because: tuple[Source, ...]) -> Fact:
    return Fact(name, value, node, Source("derived", text=name), quality=Quality.DERIVED, because=because)
