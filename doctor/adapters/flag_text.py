"""The flags of a remedy as settings in the framework's own names, where they say exactly what to write.

Rules are written for people: `--micro-batch-size N  # N: half of today's` tells what to do, but not what to write.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from doctor.adapters.errors import Unavailable
from doctor.adapters.model import Own, Scalar

COMMENT = re.compile(r"(?:^|\s+)#\s.*$")
ASIDE = re.compile(r"\s+\((?!with|not |then )[^()]*\)$")
TAKEN_AWAY = re.compile(r"\(?\s*(?:remove|drop|leave out)\s+(--[\w.-]+(?:\s*/\s*--[\w.-]+)*)\s*\)?\s*")
OPTION = re.compile(r"--([A-Za-z][\w.-]*)(?:=(.*))?", re.DOTALL)
OVERRIDE = re.compile(r"[+~]{0,2}([A-Za-z_][\w./@-]*)=(.*)", re.DOTALL)
PAIR = re.compile(r"([A-Za-z_][\w.]*)\s*:\s+(\S.*)")
ASSIGNED = re.compile(r"([A-Za-z_][\w.]*)\s+=\s+(\S.*)")
# A letter for a number (N, P/2, 2C), a name for one (N_NODES, HALF), angle brackets, braces, dots.
PLACEHOLDER = re.compile(r"\d*[A-Z](?:/\d+)?|[A-Z]_[A-Z_]+|HALF|DOUBLE|CKPT|PATH|DIR|NUMBER|VALUE")
LEFT_OPEN = re.compile(r"<[^<>]*>|\.\.\.|…|\{[\w.]+\}|path/to")
EXAMPLE_DEVICE = re.compile(r"(?:^|[=^,])(?:eth|ens|eno|enp|ib|bond|mlx\d_|mlx5_|roce|irdma)\w*\d")
EXAMPLE_PATH = re.compile(r"(?:^|[\s:,=])(?!/(?:opt|etc|usr|tmp|dev|proc|sys|var)\b)(?:/|[\w.-]+/)[\w.$-]+/?[\w./$-]*")
UNSAFE = re.compile(r"[()|;`<>&]|\$\(")


# Frameworks whose settings are written `name=value`, and not only in code.
ASSIGNING = ("torchtitan", "verl", "nemo")


def own_settings(framework: str, text: str) -> Own:
    """The settings of a remedy's flags. Raises Unavailable, which says why they cannot be written as they are."""
    text = text.strip()
    if text.startswith("{"):
        return _checked(_json(text))
    assigning = framework in ASSIGNING
    found: dict[str, Scalar | None] = {}
    for line in text.splitlines():
        line = ASIDE.sub("", COMMENT.sub("", line).strip()).strip()
        while taken := TAKEN_AWAY.match(line):
            found.update((name.strip()[2:].replace("-", "_"), None) for name in taken[1].split("/"))
            line = line[taken.end() :]
        if line:
            found.update(_line(line, assigning))
    if not found:
        raise _words(text)
    return _checked(found)


def _line(line: str, assigning: bool) -> Iterator[tuple[str, Scalar | None]]:
    if not line.startswith("--"):
        pair = PAIR.fullmatch(line) or (ASSIGNED.fullmatch(line) if assigning else None)
        if pair:
            yield from _value(pair[1], pair[2].strip())
            return
    try:
        words = shlex.split(line)
    except ValueError:
        raise _words(line) from None
    while words:
        word = words.pop(0)
        option = OPTION.fullmatch(word)
        if option is None:
            override = OVERRIDE.fullmatch(word)
            if override is None or not assigning:
                raise _words(line)
            yield override[1], override[2]
            continue
        name = option[1].replace("-", "_")
        values = [option[2]] if option[2] is not None else []
        while option[2] is None and words and not words[0].startswith("--"):
            values.append(words.pop(0))
        if not values and name.startswith("no_") and "." in name:  # torchtitan's word for false
            yield name.removeprefix("no_"), False
        else:
            yield name, True if not values else values[0] if len(values) == 1 else tuple(values)


def _value(name: str, text: str) -> Iterator[tuple[str, Scalar | None]]:
    """The value of a line of YAML, TOML or code; an object gives a setting for each of its own."""
    if text[:1] == "{":
        yield from _flat(_parsed(text), f"{name}.")
        return
    if text[:1] == "[":
        raise Unavailable(f"{name} is a list: add to the one that is there", f"{name} 是列表：请加到现有列表中")
    if text[:1] in "'\"" and text[:1] == text[-1:] and len(text) > 1:
        yield name, text[1:-1]
        return
    lowered = text.lower()
    yield name, {"true": True, "false": False, "null": None, "none": None}.get(lowered, text)


def _json(text: str) -> dict[str, Scalar | None]:
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        raise _words(text) from None
    if COMMENT.sub("", text[end:]).strip():
        raise _words(text)
    return dict(_flat(value, ""))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise _words(text) from None


def _flat(value: Any, path: str) -> Iterator[tuple[str, Scalar | None]]:
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield from _flat(inner, f"{path}{name}.")
        elif isinstance(inner, list):
            yield f"{path}{name}", tuple(map(str, inner))
        else:
            yield f"{path}{name}", inner


def _checked(found: dict[str, Scalar | None]) -> Own:
    for name, value in found.items():
        for word in value if isinstance(value, tuple) else (value,):
            if isinstance(word, str) and (reason := to_fill_in(word)):
                raise Unavailable(f"{name}: {reason[0]}", f"{name}：{reason[1]}")
            if isinstance(word, str) and UNSAFE.search(word):
                raise _words(f"{name} {word}")
    return found


def to_fill_in(word: str) -> tuple[str, str] | None:
    """Why a word of a remedy cannot be written as it stands: a person has to put something in its place."""
    if PLACEHOLDER.fullmatch(word) or LEFT_OPEN.search(word):
        return f"{word} stands for a value to fill in", f"{word} 需替换为实际取值"
    if EXAMPLE_DEVICE.search(word):
        return f"{word} is an example: put in the device of your nodes", f"{word} 仅为示例：请填入节点上的设备名"
    if EXAMPLE_PATH.search(word):
        return f"{word} is an example: put in a path of yours", f"{word} 仅为示例：请填入自己的路径"
    return None


def _words(text: str) -> Unavailable:
    shown = " ".join(text.split())[:60]
    return Unavailable(f"these are words for a person, not settings: {shown}", f"这是说明文字，不是设置：{shown}")
