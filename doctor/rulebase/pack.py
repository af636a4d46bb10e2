"""The compiled rule base: checked rules as MessagePack, keyed by a hash of everything they were read from."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from doctor import __version__
from doctor.rulebase.errors import RuleError
from doctor.rulebase.model import RuleBase

FORMAT = 7
KEPT = 4
"""Packs that stay in the cache: several versions or rule folders may be in use by turns."""


class Pack(msgspec.Struct, frozen=True):
    """What is kept: the rule base, and the mistakes of files that are not in it, as (message, path, line, column)."""

    base: RuleBase
    problems: tuple[tuple[str, str, int, int], ...] = ()


def cache_folder() -> Path:
    """The user's cache folder for pdoctor (XDG_CACHE_HOME, else ~/.cache)."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "pdoctor"


def path_of(files: Iterable[tuple[Path, str]], folder: Path | None = None) -> Path:
    """Where the pack of `files` lies; the name changes with any byte of them, and with the version of pdoctor."""
    digest = hashlib.sha256(f"{FORMAT} {__version__}".encode())
    for path, shown in files:
        digest.update(f"\0{shown}\0".encode())
        try:
            digest.update(path.read_bytes() if path.is_file() else b"")  # a pipe would block
        except OSError:
            digest.update(b"\0unreadable")
    return (folder or cache_folder()) / f"rules-{digest.hexdigest()[:24]}.msgpack"


def load(path: Path) -> tuple[RuleBase, tuple[RuleError, ...]] | None:
    """The pack at `path`, or None when there is none or it is damaged."""
    try:
        pack = msgspec.msgpack.decode(path.read_bytes(), type=Pack)
    except (OSError, msgspec.DecodeError, ValueError):
        return None
    return pack.base, tuple(RuleError(*problem) for problem in pack.problems)


def save(path: Path, base: RuleBase, problems: Sequence[RuleError]) -> None:
    """Writes the pack whole or not at all and drops the oldest; a folder that cannot be written is no error."""
    mistakes = tuple((p.message, p.path, p.line, p.column) for p in problems)
    data = msgspec.msgpack.encode(Pack(without_tests(base), mistakes))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".rules-")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
        for old in sorted(path.parent.glob("rules-*.msgpack"), key=lambda p: p.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def without_tests(base: RuleBase) -> RuleBase:
    """The same rule base without the tests of its rules, which diagnosing does not need."""
    return replace(base, rules={key: replace(rule, tests=()) for key, rule in base.rules.items()})
