"""Every fact that these probes can give is in the catalogue, with a unit and a scope that fit."""

from __future__ import annotations

import re
from pathlib import Path

from ruamel.yaml import YAML

from doctor.facts.units import dimension

ROOT = Path(__file__).parents[4]
NAME = re.compile(r'"((?:node|gpu|nic|container|trace|moe|pip)\.[a-z0-9_]+)"')


def catalogue() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for file in sorted((ROOT / "doctor/facts/catalogue").glob("*.yaml")):
        found |= YAML(typ="safe").load(file) or {}
    return found


def test_names_in_the_readers_are_declared() -> None:
    declared = catalogue()
    for folder in ("probes/files/node_dump", "probes/files/table"):
        for file in (ROOT / folder).rglob("*.py"):
            used = set(NAME.findall(file.read_text())) - {"node.shm", "node.root", "node.tmp"}
            assert not used - set(declared), file


def test_lines_of_the_catalogue() -> None:
    for name, spec in catalogue().items():
        if "node_dump" in str(spec.get("providers")) and not name.startswith("env"):
            dimension(str(spec.get("unit", "1")))
            scope = {"gpu": "gpu", "nic": "nic"}.get(name.split(".")[0], "")
            assert spec["scope"] in (scope, "node", "job"), name
