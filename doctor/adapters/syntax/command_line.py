"""Options of commands in a shell script: `--name value`, `--name=value`, `--switch`, `section.name=value`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Entry, Scalar
from doctor.adapters.syntax.shell_scan import Word
from doctor.adapters.syntax.shell_script import DEFAULT, WHOLE, Command, Definition, Script, inner, read_script
from doctor.adapters.text import (
    Lines,
    begins_line,
    indent_of,
    line_break,
    line_end,
    line_of,
    line_start,
    splice,
    without_line,
)

OPTION = re.compile(r"--([A-Za-z][\w.-]*)(=?)")
OVERRIDE = re.compile(r"([+~]{0,2}[A-Za-z_][\w./@-]*)=")
SAFE = re.compile(r"[\w.,:/+@%-]+")
BOOLEAN = ("true", "false", "1", "0", "yes", "no")
SHELL_ONLY = re.compile(r"[$`]")


@dataclass(frozen=True, slots=True)
class Option:
    """An option in a command: its name, the words of its value; `words` are all of them in the script's text."""

    name: str
    words: tuple[Word, ...]
    start: int
    end: int
    joined: bool
    override: bool


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Command lines. switches: options without a value, by their names with `_`; lists: those with several words.

    stores_true: a switch is on by being there (argparse's store_true), else it takes true or false. hyphens: new names
    are written with `-`. overrides: new settings are written `name=value`, as hydra reads them.
    """

    switches: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    stores_true: bool = False
    hyphens: bool = False
    overrides: bool = False

    def entries(self, text: str) -> tuple[Entry, ...]:
        script = read_script(text)
        commands = [(command, list(self._options(script, command))) for command in script.commands]
        uses: dict[str, set[str]] = {}
        lines = Lines(text)
        for _, options in commands:
            for option in options:
                if name := _variable(text, option):
                    uses.setdefault(name, set()).add(option.name)
        found: dict[tuple[int, int, str], Entry] = {}
        for number, (command, options) in enumerate(commands):
            # Of an option that is given twice the parser keeps the last.
            counting = {option.name: option for option in options}
            for option in counting.values():
                entry = _entry(text, lines, command, option, uses, str(number))
                found.setdefault((entry.first, entry.last, entry.key), entry)
        return tuple(found.values())

    def replace(self, text: str, entry: Entry, value: Scalar) -> str:
        """Overwrite the value, where it is defined. A switch that is on by being there goes when it is to be off."""
        if entry.start == entry.end and self._is_switch(entry.key):
            if value is True:
                return text
            return self.remove(text, entry) if self.stores_true else splice(text, entry.last, entry.last, " false")
        before = text[entry.start - 1 : entry.start]
        quoted = before in "'\"" and before == text[entry.end : entry.end + 1] and before != ""
        hydra = not text.startswith(("--", "'--", '"--'), entry.first)
        return splice(text, entry.start, entry.end, _written(value, text[entry.start : entry.end], quoted, hydra))

    def add(self, text: str, key: str, value: Scalar, beside: tuple[Entry, ...]) -> str:
        if not beside:
            raise AdapterError(
                "no command with options of this framework was found to add it to", "没有找到带该框架选项的命令可供添加"
            )
        if self.stores_true and value is False:
            return text
        most = max({entry.group for entry in beside}, key=lambda group: sum(entry.group == group for entry in beside))
        anchor = max((entry for entry in beside if entry.group == most), key=lambda entry: entry.last)
        piece = self._piece(text, key, value, anchor)
        indent, rest = indent_of(text, anchor.first), text[anchor.last : line_end(text, anchor.last)]
        carried = re.match(r"[ \t]*\\$", rest)
        ends_line = indent and (carried or not rest.strip())
        if not begins_line(text, anchor.first) and not ends_line:
            return splice(text, anchor.last, anchor.last, f" {piece}")
        if carried:
            return splice(text, anchor.last, anchor.last, f"{carried[0]}{line_break(text)}{indent}{piece}")
        if anchor.group and _in_command(text, anchor):
            return splice(text, anchor.last, anchor.last, f" \\{line_break(text)}{indent}{piece}")
        at = anchor.last + len(rest) if re.fullmatch(r"\s*(#.*)?", rest) else anchor.last
        return splice(text, at, at, f"{line_break(text)}{indent}{piece}")

    def remove(self, text: str, entry: Entry) -> str:
        end = line_end(text, entry.last)
        rest = text[entry.last : end].strip()
        alone = begins_line(text, entry.first)
        if alone and (rest == "\\" or (rest[:1] in ("", "#") and not _in_command(text, entry))):
            return without_line(text, entry.first, entry.last)
        before = re.search(r"(?:[ \t]|\\\r?\n)*$", text[: entry.first])
        start = before.start() if before else entry.first
        if alone and not rest and start == line_start(text, entry.first):
            return without_line(text, entry.first, entry.last)
        return splice(text, start, entry.last, "")

    def _options(self, script: Script, command: Command) -> Iterator[Option]:
        words, text, at = command.words, script.text, 0
        while at < len(words):
            word = words[at]
            begin, stop = inner(text, word.start, word.end)
            at += 1
            option, override = OPTION.match(text, begin, stop), OVERRIDE.match(text, begin, stop)
            if option and option[2]:
                value = Word(option.end(), stop, word.within)
                yield Option(normal(option[1]), (value,), word.start, word.end, True, False)
            elif option and option.end() == stop:
                used = self._values(script, words, at, normal(option[1]))
                taken, at = words[at : at + used], at + used
                last = taken[-1].end if taken and _follows(word, taken) else word.end
                yield Option(normal(option[1]), tuple(taken), word.start, last, False, False)
            elif override and at > 1:
                value = Word(override.end(), stop, word.within)
                yield Option(normal(override[1].lstrip("+~")), (value,), word.start, word.end, True, True)

    def _values(self, script: Script, words: tuple[Word, ...], at: int, name: str) -> int:
        """How many of the words from `at` are the value of the option `name`."""
        used = 0
        while at + used < len(words) and not re.match(r"[\"']?--?[A-Za-z]", script.raw(words[at + used])):
            used += 1
            if name not in self.lists:
                break
        if self._is_switch(name) and used:
            boolean = script.raw(words[at]).strip("\"'").lower() in BOOLEAN
            return int(boolean and not self.stores_true)
        return used

    def _is_switch(self, name: str) -> bool:
        return name.rsplit(".", 1)[-1] in self.switches or name in self.switches

    def _piece(self, text: str, key: str, value: Scalar, anchor: Entry) -> str:
        if self.overrides and not text.startswith("--", anchor.first):
            # hydra adds a key that its schema may not have only when told to.
            forced = "++" if ".override_" in key else ""
            return f"{forced}{key}={_written(value, '', False, hydra=True)}"
        beside = OPTION.match(text, anchor.first)
        dashed = beside is not None and "-" in beside[1] and "_" not in beside[1]
        name = key.replace("_", "-") if self.hyphens or dashed else key
        if self.stores_true and value is True:
            return f"--{name}"
        joined = text.startswith("=", anchor.first + 2 + len(anchor.key))
        return f"--{name}{'=' if joined else ' '}{_written(value, '', False)}"


def normal(name: str) -> str:
    return name.replace("-", "_")


def _follows(word: Word, taken: tuple[Word, ...]) -> bool:
    """Do the words stand one behind the other in the text?"""
    places = [word.start, *(one.start for one in taken)]
    return places == sorted(places) and taken[-1].end - word.start < 20_000


def _variable(text: str, option: Option) -> str:
    """The variable that is the whole value, or ""."""
    if len(option.words) != 1:
        return ""
    found = WHOLE.fullmatch(text, option.words[0].start, option.words[0].end)
    return (found[2] or found[3]) if found else ""


def _entry(text: str, lines: Lines, command: Command, option: Option, uses: dict[str, set[str]], group: str) -> Entry:
    line = lines.number(option.start)
    if not option.words:
        return Entry(option.name, "true", line, option.end, option.end, option.start, option.end, group)
    start, end = inner(text, option.words[0].start, option.words[0].end)
    if len(option.words) > 1:
        start, end = option.words[0].start, option.words[-1].end
    first, last = option.start, option.end
    name = _variable(text, option)
    known = command.variables.get(name)
    if known is None:
        default = DEFAULT.fullmatch(text, start, end)
        if default:
            known = command.variables.get(default[1])
            name = name or default[1]
            if known is None:
                said = _from_outside(default[1])
                begin, stop = inner(text, *default.span(2))
                return Entry(option.name, text[begin:stop], line, begin, stop, first, last, group, said)
        elif name:
            said = (
                f"{name} is not set in this file: the value is written in its place",
                f"本文件没有设置 {name}：直接写入数值",
            )
            return Entry(option.name, text[start:end], line, start, end, first, last, group, said)
    if known is None:
        return Entry(option.name, text[start:end], line, start, end, first, last, group)
    value = _value(text, command, known)
    others = uses.get(name, set()) - {option.name}
    if others:
        shared = ", ".join(sorted(others)[:3])
        said = (
            f"{name} also sets {shared}: the value is written here instead",
            f"{name} 还用于 {shared}：因此在此处直接写入数值",
        )
        return Entry(option.name, value, line, start, end, first, last, group, said)
    begin, stop, remark = _defined(text, known)
    return Entry(option.name, value, lines.number(begin), begin, stop, first, last, group, remark)


def _defined(text: str, known: Definition) -> tuple[int, int, tuple[str, str] | None]:
    """Where a variable's value stands, and what to say about that."""
    start, end = inner(text, known.start, known.end)
    if default := DEFAULT.fullmatch(text, start, end):
        return *inner(text, *default.span(2)), _from_outside(default[1])
    if known.earlier:
        lines = ", ".join(map(str, known.earlier[-3:]))
        said = (
            f"{known.name} is also set on line {lines}; line {line_of(text, start)} is the last and was changed",
            f"{known.name} 在第 {lines} 行也有赋值；修改的是最后一处（第 {line_of(text, start)} 行）",
        )
        return start, end, said
    return start, end, None


def _from_outside(name: str) -> tuple[str, str]:
    if name.isdigit():
        return (
            f"argument {name} of the script, where it is given, replaces this default",
            f"若调用脚本时给出第 {name} 个参数，则会取代此默认值",
        )
    return (f"a variable {name} in the environment replaces this default", f"环境变量 {name} 若已设置，会取代此默认值")


def _value(text: str, command: Command, known: Definition, depth: int = 0) -> str:
    """What a variable stands for, as far as the script says."""
    start, end = inner(text, known.start, known.end)
    if default := DEFAULT.fullmatch(text, start, end):
        return default[2].strip("\"'")
    further = WHOLE.fullmatch(text, start, end)
    after = command.variables.get(further[2] or further[3]) if further else None
    if after is not None and depth < 8 and after is not known:
        return _value(text, command, after, depth + 1)
    return text[start:end]


def _in_command(text: str, entry: Entry) -> bool:
    """Does the setting stand in a command itself, whose lines must be carried on, and not in an array or a string?"""
    for command in read_script(text).commands:
        for word in command.words:
            if word.start == entry.first:
                return word.within == "command"
    return False


def _written(value: Scalar, old: str, quoted: bool, hydra: bool = False) -> str:
    if isinstance(value, bool):
        word = "true" if value else "false"
        return word.capitalize() if old[:1] in ("T", "F") else word
    if isinstance(value, tuple):
        brackets = hydra or old.startswith("[")
        word = "[" + ",".join(value) + "]" if brackets else " ".join(value)
        return word if quoted or not brackets else f"'{word}'"
    word = _number(value) if isinstance(value, int | float) else value
    return word if quoted or SAFE.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def _number(value: int | float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
