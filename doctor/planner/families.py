"""Well-known models by name, from the table in data/families.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from doctor.planner.errors import PlanError, hint, reason
from doctor.planner.hf_config import read_hf_config
from doctor.planner.shape import Mla, Moe, Norm, Shape


def model(name: str) -> Shape:
    """The model of that name, or of that config.json (or a folder that holds one). Raises PlanError."""
    path = Path(name)
    if path.is_dir():
        return read_hf_config(path / "config.json")
    if path.suffix == ".json" or path.is_file():
        return read_hf_config(path)
    found = by_name(name)
    if found is None:
        near = hint(name.lower().rsplit("/", 1)[-1], families())
        raise PlanError(reason("reason.model", name=repr(name), hint=near, names=", ".join(families())))
    return found


def by_name(name: str) -> Shape | None:
    """The model of the table by its name or the path of its checkpoint; nothing is read from that path."""
    known = {_key(entry): entry for entry in families()}
    entry = known.get(_key(name)) or known.get(_key(name.rstrip("/").rsplit("/", 1)[-1]))
    return families()[entry] if entry else None


@cache
def families() -> Mapping[str, Shape]:
    """All models of the table by name."""
    return {name: _shape(name, row) for name, row in published().items()}


@cache
def published() -> Mapping[str, Mapping[str, Any]]:
    """The rows of the table as they stand, with the published number of parameters and the source."""
    text = files("doctor.planner").joinpath("data/families.yaml").read_text(encoding="utf-8")
    rows: dict[str, dict[str, Any]] = YAML(typ="safe").load(text)
    return rows


def _shape(name: str, row: Mapping[str, Any]) -> Shape:
    fields = {key: value for key, value in row.items() if key not in ("params", "source", "norm", "moe", "mla")}
    return Shape(
        name=name,
        norm=Norm(row.get("norm", "rms")),
        moe=Moe(**row["moe"]) if "moe" in row else None,
        mla=Mla(**row["mla"]) if "mla" in row else None,
        **fields,
    )


def _key(name: str) -> str:
    """`Llama-3.1-70B-Instruct` and `llama3-70b` are the same model for the planner."""
    key = name.lower().replace("meta-", "").replace("_", "-")
    for ending in ("-hf", "-instruct", "-base", "-chat", "-v0.1", "-it"):
        key = key.removesuffix(ending)
    key = key.replace("llama-3.1", "llama3").replace("llama3.1", "llama3").replace("llama-3.3", "llama3")
    return "".join(char for char in key if char.isalnum())
