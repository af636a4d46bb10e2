"""Defaults of options, from `pdoctor.toml` or `[tool.pdoctor]` in `pyproject.toml`.

The nearest folder that has one counts, from the current one upwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

SEVERITIES = ("fatal", "degraded", "risk", "info")
LANGUAGES = ("en", "zh")


def read_settings(start: Path | None = None) -> dict[str, Any]:
    """click's `default_map` for every command. A wrong key or value is a UsageError that names the file."""
    found = _find(start or Path.cwd())
    if found is None:
        return {}
    path, table = found
    options = {}
    for key, value in table.items():
        if key not in KEYS:
            raise click.UsageError(f"{path}: unknown key {key!r}{_hint(key)}; known keys: {', '.join(KEYS)}")
        name, convert = KEYS[key]
        try:
            options[name] = convert(value, path.parent)
        except ValueError as error:
            raise click.UsageError(f"{path}: {key} = {value!r}: {error}") from None
    rules = dict.fromkeys(("list", "show", "search", "pages", "questions", "check", "test", "new"), options)
    shared = dict.fromkeys(("analyze", "attach", "compare", "run", "probe"), options)
    return {**shared, "rules": rules}


def _find(start: Path) -> tuple[Path, Mapping[str, Any]] | None:
    for folder in (start, *start.parents):
        own, shared = folder / "pdoctor.toml", folder / "pyproject.toml"
        if own.is_file():
            return own, _load(own)
        if shared.is_file() and "tool.pdoctor" in shared.read_text(encoding="utf-8", errors="replace"):
            table = _load(shared).get("tool", {}).get("pdoctor")
            if isinstance(table, dict):
                return shared, table
    return None


def _load(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{path}: {error}") from None


def _hint(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, KEYS, n=1)
    return f", did you mean {near[0]!r}?" if near else ""


def _flag(value: object, _: Path) -> bool:
    if not isinstance(value, bool):
        raise ValueError("should be true or false")
    return value


def _one_of(words: tuple[str, ...]) -> Callable[[object, Path], str]:
    def convert(value: object, _: Path) -> str:
        if value not in words:
            raise ValueError(f"should be one of {', '.join(words)}")
        return str(value)

    return convert


def _path(value: object, folder: Path) -> str:
    if not isinstance(value, str):
        raise ValueError("should be a path in quotes")
    return str(folder / value)


def _paths(value: object, folder: Path) -> list[str]:
    return [_path(v, folder) for v in (value if isinstance(value, list) else [value])]


KEYS: Mapping[str, tuple[str, Callable[[Any, Path], Any]]] = {
    "answers": ("answers", _path),
    "facts": ("facts", _flag),
    "fail-on": ("fail_on", _one_of(SEVERITIES)),
    "json": ("as_json", _flag),
    "lang": ("lang", _one_of(LANGUAGES)),
    "no-color": ("no_color", _flag),
    "no-input": ("no_input", _flag),
    "quiet": ("quiet", _flag),
    "rules": ("rules", _paths),
    "verbose": ("verbose", _flag),
}
"""Each key: the parameter it stands for, and how its value is read."""
