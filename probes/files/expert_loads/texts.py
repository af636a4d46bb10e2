"""Loads in JSON, JSON lines, CSV and Parquet."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from probes.files import parquet
from probes.files.expert_loads.model import MOST_VALUES, LoadError, Loads, is_name, layer_of
from probes.files.parquet import ParquetError

HEAD = 1 << 16
MOST_JSON = 256 << 20
MOST_TRIED = 32 << 20
"""A document of several lines is read whole to be told by its content; larger ones only as a document a line."""
MOST_DEPTH = 6
LONGEST_LINE = 1 << 22

_EXPERT = re.compile(r"^(?:global_?|local_?)?experts?(?:[ _-]?(?:id|idx|index|no|number))?$", re.IGNORECASE)
_LAYER = re.compile(r"^(?:moe[ _-]?)?layers?(?:[ _-]?(?:id|idx|index|no|number))?$", re.IGNORECASE)
_STEP = re.compile(r"^(?:global[ _-]?)?(?:step|iter|iteration)s?$", re.IGNORECASE)
_RANK = re.compile(r"^(?:ep|expert|global)?[ _-]?rank$", re.IGNORECASE)
_TOKENS = re.compile(
    r"^(?:(?:num|n|total|routed|recv|received|dispatched)[ _-]?)?(?:tokens?|counts?|loads?|assignments?)"
    r"(?:[ _-]?count)?$",
    re.IGNORECASE,
)
_TITLES = (("step", _STEP), ("layer", _LAYER), ("expert", _EXPERT), ("rank", _RANK), ("tokens", _TOKENS))
_WIDE = re.compile(r"^(?:expert|e)[ _-]?(?P<index>\d{1,4})(?:[ _-]?tokens?)?$", re.IGNORECASE)
_TRAINING = re.compile(r"loss|lr|learning|grad_norm|throughput|mfu|samples", re.IGNORECASE)
"""Keys beside which counts are one of many things that a training log says: such lines are left to the log's reader."""

_WORDS = re.compile(rb'"[^"]{0,40}(?:expert|moe|router|tokens_per)[^"]{0,60}"\s*:', re.IGNORECASE)


def holds_loads(path: Path) -> bool:
    """Is it a table of layers and experts, or JSON in which loads are found?"""
    described = parquet.footer(path)
    if described:
        return all(re.search(word, described, re.IGNORECASE) for word in (rb"expert", rb"layer", rb"token|count|load"))
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError:
        return False
    if head.lstrip()[:1] in (b"{", b"["):
        return bool(_WORDS.search(head)) and _json_holds(path, head)
    return b"\0" not in head and _columns(_heading(head)) is not None


def read(path: Path, loads: Loads) -> None:
    """Adds what the file says; raises LoadError where it cannot be read."""
    if parquet.footer(path):
        _parquet(path, loads)
        return
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head.lstrip()[:1] in (b"{", b"["):
        _json(path, loads)
    else:
        _csv(path, loads)


def _json_holds(path: Path, head: bytes) -> bool:
    first = head.lstrip().split(b"\n", 1)[0].rstrip(b"\r")
    tried = Loads()
    try:
        told = json.loads(first)
    except (ValueError, RecursionError):
        if path.stat().st_size > MOST_TRIED:
            return False
        try:
            told = json.loads(path.read_bytes())
        except (ValueError, RecursionError, OSError):
            return False
    try:
        _take(told, tried, -1, "")
    except LoadError:
        return True
    return bool(tried.rows)


def _json(path: Path, loads: Loads) -> None:
    if path.stat().st_size <= MOST_JSON:
        try:
            _take(json.loads(path.read_bytes()), loads, -1, "")
            return
        except ValueError:
            pass  # a document a line
        except RecursionError:
            raise LoadError("is nested beyond any table") from None
    bad = 0
    with path.open("rb") as file:
        lines = _Lines(loads)
        while line := file.readline(LONGEST_LINE):
            try:
                if line.strip():
                    lines.take(json.loads(line))
            except (ValueError, RecursionError):
                bad += 1
    lines.finish()
    loads.odd += bad


class _Lines(Loads):
    """Documents, one a line. Where whole layers come again and nothing states a step or a rank, each time is a step."""

    __slots__ = ("_found", "_whole")

    def __init__(self, whole: Loads) -> None:
        super().__init__()
        self._whole = whole
        self._found: dict[str, list[list[float]]] = {}

    def take(self, told: Any) -> None:
        of_rank = isinstance(told, dict) and any(_RANK.match(str(key)) for key in told)
        _take(told, self._whole if of_rank else self, -1, "")

    def add(self, step: int, layer: str, tokens: Iterable[float]) -> None:
        given = list(tokens)
        self.values += len(given)
        if step >= 0 or self.values > MOST_VALUES:
            self._whole.add(step, layer, given)
        else:
            self._found.setdefault(layer, []).append(given)

    def add_one(self, step: int, layer: str, expert: int, tokens: float, rank: int = -1) -> None:
        self._whole.add_one(step, layer, expert, tokens, rank)

    def finish(self) -> None:
        for layer, times in self._found.items():
            for number, tokens in enumerate(times):
                self._whole.add(number if len(times) > 1 and self._whole.step < 0 else -1, layer, tokens)


def _take(told: Any, loads: Loads, step: int, layer: str, named: bool = False, depth: int = 0) -> None:
    """Looks for counts: records of one expert, lists under a telling name, or lists by layer below one."""
    if depth > MOST_DEPTH:
        return
    if isinstance(told, dict):
        if depth == 0 and any(_TRAINING.search(str(key)) for key in told):
            return
        step = next((int(v) for k, v in told.items() if _STEP.match(str(k)) and _whole(v)), step)
        layer = next((str(v) for k, v in told.items() if _LAYER.match(str(k)) and isinstance(v, int | str)), layer)
        keys = {str(key): value for key, value in told.items()}
        expert = next((v for k, v in keys.items() if _EXPERT.match(k) and _whole(v)), None)
        tokens = next((v for k, v in keys.items() if _TOKENS.match(k) and _number(v)), None)
        if expert is not None and tokens is not None:
            rank = next((int(v) for k, v in keys.items() if _RANK.match(k) and _whole(v)), -1)
            loads.add_one(step, layer or "0", int(expert), float(min(tokens, 1e300)), rank)
            return
        for key, value in keys.items():
            below = named or is_name(key)
            at = layer_of(key) if re.search(r"\d", key) and (below or "layer" in key.lower()) else layer
            if isinstance(value, dict | list):
                _take(value, loads, step, at, below or "layer" in key.lower(), depth + 1)
    elif isinstance(told, list):
        if told and all(_number(value) for value in told):
            if named:
                loads.add(step, layer or "0", told)
            return
        matrix = named and all(isinstance(v, list) and v and all(_number(n) for n in v) for v in told)
        for place, value in enumerate(told):
            if matrix:
                loads.add(step, str(place), value)
            elif isinstance(value, dict | list):
                inside = named and isinstance(value, list)
                _take(value, loads, place if inside and step < 0 else step, layer, named, depth + 1)


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value).bit_length() < 54


def _number(value: Any) -> bool:
    """Infinity is one, so that it is counted as odd; a text or a truth is none."""
    return type(value) in (int, float)


def _heading(head: bytes) -> list[str]:
    try:
        lines = [line for line in head.decode("utf-8-sig").split("\n") if line.strip() and not line.startswith("#")]
    except UnicodeDecodeError:
        return []
    if not lines or len(lines[0]) > 20_000:
        return []
    return [cell.strip() for cell in next(csv.reader([lines[0]], delimiter=_sign(lines[0])), [])]


def _sign(line: str) -> str:
    return max("\t,;", key=line.count)


def _columns(heading: Sequence[str]) -> Mapping[str, int] | None:
    """The places of step, layer, expert, tokens and rank in a table that has at least layer, expert and tokens; of a
    table with a column an expert, those of step and layer."""
    found: dict[str, int] = {}
    for place, title in enumerate(heading):
        for name, pattern in _TITLES:
            if pattern.match(title):
                found.setdefault(name, place)
    if {"layer", "expert", "tokens"} <= found.keys():
        return found
    wide = sum(1 for title in heading if _WIDE.match(title))
    return found if "layer" in found and wide >= 2 else None


def _csv(path: Path, loads: Loads) -> None:
    with path.open("rb") as binary:
        heading = _heading(binary.read(HEAD))
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file:
        lines = (line for line in file if line.strip() and not line.startswith("#"))
        first = next(lines, "")
        rows: Iterator[list[Any]] = csv.reader(lines, delimiter=_sign(first))
        try:
            _table(heading, rows, loads)
        except csv.Error as error:
            raise LoadError(f"is no table: {error}") from None


def _parquet(path: Path, loads: Loads) -> None:
    described = parquet.footer(path).decode("utf-8", errors="replace")
    words = re.findall(r"[A-Za-z_][\w-]*", described)
    wanted = [word for word in dict.fromkeys(words) if _WIDE.match(word) or any(p.match(word) for _, p in _TITLES)]
    try:
        columns = parquet.columns(path, wanted)
    except ParquetError as error:
        raise LoadError(str(error)) from None
    _table(list(columns), map(list, zip(*columns.values(), strict=True)), loads)


def _table(heading: Sequence[str], rows: Iterator[list[Any]], loads: Loads) -> None:
    places = _columns(heading)
    if places is None:
        raise LoadError("has no columns of layer, expert and tokens")
    wide = [(place, int(match["index"])) for place, title in enumerate(heading) if (match := _WIDE.match(title))]
    for cells in rows:
        if len(cells) != len(heading):
            loads.odd += 1
            continue
        try:
            step = int(float(cells[places["step"]])) if "step" in places else -1
            layer = _plain(cells[places["layer"]])
            if "expert" in places and "tokens" in places:
                rank = int(float(cells[places["rank"]])) if "rank" in places else -1
                loads.add_one(step, layer, int(float(cells[places["expert"]])), float(cells[places["tokens"]]), rank)
            else:
                loads.add(step, layer, [float(cells[place]) for place, _ in sorted(wide, key=lambda pair: pair[1])])
        except (ValueError, OverflowError, TypeError):
            loads.odd += 1


def _plain(cell: Any) -> str:
    text = str(cell).strip()[:60]
    return str(int(float(text))) if re.fullmatch(r"\d{1,9}(?:\.0+)?", text) else text
