"""A pasted text as blocks: what one command printed on one host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from doctor.facts.model import Fact, Source, Value
from probes.files.node_dump.commands import command_of, host_in_command, inline_output, is_bare_command, strip_wrappers
from probes.secrets import redact_text

MAX_BYTES = 8 << 20
MAX_LINE = 1 << 14
MAX_SHOWN = 1000

_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_PROMPTS = (
    re.compile(r"^(?:\([\w./-]{1,40}\)\s*)?[\w.-]{1,40}@(?P<host>[\w.-]{1,80}):[^$#\n]{0,120}[$#]\s*(?P<command>.*)$"),
    re.compile(
        r"^(?:\([\w./-]{1,40}\)\s*)?\[[\w.-]{1,40}@(?P<host>[\w.-]{1,80})[ :][^\]]{0,80}\]\s?[$#]\s*(?P<command>.*)$"
    ),
    re.compile(r"^(?P<host>)(?:\$|>>?\s?\$|❯|➜)\s+(?P<command>\S.*)$"),
)
_TITLE = re.compile(
    r"^\s*(?:#+|=+>?|-{2,}|\*{2,}|>{2,})\s*(?P<title>[^\s=*<-].{0,100}?)\s*(?:=+|-{2,}|\*{2,}|<=+|:)?\s*$"
)
_HOST_WORD = re.compile(
    r"\b(?:(?:node|host|server|worker|machine|master|compute|dgx|hgx|vm|gpu-?node)[-_]?(?:\d{1,4}|[a-zA-Z](?![a-zA-Z]))"
    r"|(?=[a-z0-9-]*[a-z]-?\d)[a-z][a-z0-9]*(?:-[a-z0-9]+){2,5})\b(?![.:]\d)"
)
_NOTHING = re.compile(
    r"^[(<\[]?(?:nothing|empty|none|no (?:output|match(?:es)?|lines?|result)|blank|\(\))[)>\]]?\.?$", re.IGNORECASE
)
_PARALLEL = re.compile(r"^(?P<host>[A-Za-z][\w.-]*\d[\w.-]*): ?(?P<rest>.*)$")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a dump: `text` is what the command printed, `raw` the line as it stands in the file."""

    number: int
    text: str
    raw: str


@dataclass(frozen=True, slots=True)
class Block:
    """The output of one command, or a whole file without prompts. `command` and `host` are "" when not known.

    `start` is the line that gives the command, where a prompt stands before it or a note tells its output: only then
    does no output mean that the command printed nothing.
    """

    path: str
    lines: tuple[Line, ...]
    host: str = ""
    command: str = ""
    start: Line | None = None

    @property
    def printed_nothing(self) -> bool:
        return self.start is not None and not any(line.text.strip() for line in self.lines)

    @property
    def node(self) -> str:
        return f"node:{self.host or '?'}"

    def gpu(self, index: object) -> str:
        return f"gpu:{self.host or '?'}/{index}"

    def nic(self, device: str) -> str:
        return f"nic:{self.host or '?'}/{device}"

    def fact(self, name: str, value: Value, line: Line | None, entity: str = "") -> Fact:
        """A fact of this block's node, or of `entity`, read from `line`."""
        line = line or self.start
        text = redact_text(line.raw[:MAX_SHOWN]) if line else ""
        source = Source("dump", self.path, line.number if line else 0, text)
        return Fact(name, value, entity or self.node, source)

    def part(self, lines: list[Line] | tuple[Line, ...]) -> Block:
        return replace(self, lines=tuple(lines))


def decode(data: bytes) -> str:
    """The head of a file as text; "" for a binary file. UTF-16 with a byte order mark is what PowerShell writes."""
    head = data[:MAX_BYTES]
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", errors="replace")
    if head[:4096].count(0) > len(head[:4096]) // 16:
        return ""
    return head.decode("utf-8-sig", errors="replace")


def split_lines(text: str) -> Iterator[Line]:
    """Lines without terminal control sequences; parts that a carriage return separates share a number."""
    for number, line in enumerate(text.split("\n"), 1):
        for part in line.rstrip("\r").split("\r"):
            raw = _CONTROL.sub("", part[:MAX_LINE])
            yield Line(number, raw.rstrip(), raw.rstrip())


def blocks(path: str, text: str, host: str = "") -> list[Block]:
    """The blocks of a text. `host` is what the caller or the file's name says; a prompt in the text knows better."""
    found: list[Block] = []
    for owner, lines in _by_host(list(split_lines(text))):
        found += _by_command(path, lines, owner or host)
    return found


def _by_host(lines: list[Line]) -> list[tuple[str, list[Line]]]:
    """Splits the output of a parallel shell (`pdsh`, `clush`, `ansible`), where every line starts with its host."""
    full = [line for line in lines if line.text.strip()]
    parts = [_PARALLEL.match(line.text) for line in full]
    if len(full) < 4 or not all(parts):
        return [("", lines)]
    owners: dict[str, list[Line]] = {}
    for line, match in zip(full, parts, strict=True):
        if match:
            owners.setdefault(match["host"], []).append(replace(line, text=match["rest"]))
    if min(len(own) for own in owners.values()) < 2:
        return [("", lines)]
    return list(owners.items())


def _by_command(path: str, lines: list[Line], host: str) -> list[Block]:
    found: list[Block] = []
    current: list[Line] = []
    begun = _Start("", "", False)
    owner, shown = host, None
    for line in lines:
        start = _start(line.text)
        if start is None:
            current.append(line)
            continue
        if current or begun.command:
            found.append(Block(path, tuple(current), owner, begun.command, shown))
        begun, owner, shown = start, start.host or owner, line if start.shown else None
        current = [replace(line, text=start.output)] if start.output else []
    if current or begun.command:
        found.append(Block(path, tuple(current), owner, begun.command, shown))
    return found


@dataclass(frozen=True, slots=True)
class _Start:
    """What a line says about the output after it; `shown` as `Block.start` has it."""

    host: str
    command: str
    shown: bool
    output: str = ""


def _start(text: str) -> _Start | None:
    """Set when this line begins the output of another command."""
    if not text or text[0] in "|+ \t":
        return None
    for prompt in _PROMPTS:
        if match := prompt.match(text):
            command = match["command"].strip()
            return _Start(host_in_command(command) or match["host"], strip_wrappers(command), True)
    if inline := inline_output(text):
        command, output = inline
        return _Start("", command, True, "" if _NOTHING.match(output) else output)
    if is_bare_command(text):
        return _Start(host_in_command(text), strip_wrappers(text), False)
    if match := _TITLE.match(text):
        title = match["title"]
        if title.endswith("ping statistics"):
            return None
        named = _HOST_WORD.search(title)
        command = command_of(title)
        if named or command:
            return _Start(named[0] if named else "", command, False)
    return None
