"""Follows the variables and arrays of a shell script to the words of each command, with the place of every word."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from doctor.adapters.errors import AdapterError
from doctor.adapters.syntax.shell_scan import Word, statements
from doctor.adapters.text import check_size, line_of

LARGEST = 1024 * 1024
MOST_WORDS = 50_000
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=")
# $NAME, ${NAME}, ${NAME[@]}, each also in double quotes
WHOLE = re.compile(r"(\"?)\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:\[[@*]\])?\})\1")
DEFAULT = re.compile(r"\$\{([A-Za-z_]\w*|\d+):?[-=]([^${}`]*)\}")
ASSIGN_DEFAULT = re.compile(r"\"?\$\{([A-Za-z_]\w*):?=([^${}`]*)\}\"?")
DECLARING = ("export", "declare", "local", "readonly", "typeset")
KEYWORDS = ("if", "then", "elif", "else", "do", "while", "until", "!", "time", "nohup", "exec", "env", "sudo")
NO_PROGRAMS = ("echo", "printf", "cat", "cd", "mkdir", "source", ".", "set", "unset", "shift", "[", "[[", "test")
SHELLS = ("bash", "sh", "zsh", "ssh", "pdsh")


@dataclass(frozen=True, slots=True)
class Definition:
    """A variable that the script sets: [start, end) is its value as written; `words` its words, expanded."""

    name: str
    start: int
    end: int
    words: tuple[Word, ...]
    exported: bool = False
    earlier: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """The words of one command, variables and arrays put in, with the values that variables have there."""

    words: tuple[Word, ...]
    variables: dict[str, Definition]


@dataclass(slots=True)
class Script:
    """A script that was read. `commands` hold options; a list of words that no command here uses counts as one."""

    text: str
    commands: list[Command] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    _variables: dict[str, Definition] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)
    _budget: int = MOST_WORDS

    def raw(self, word: Word) -> str:
        return self.text[word.start : word.end]


def read_script(text: str) -> Script:
    """Read a script, a command line, or a list of arguments alone. Raises AdapterError."""
    check_size(text, LARGEST, "shell")
    script = Script(text)
    for words in statements(text, 0, len(text)):
        _statement(script, words)
    for name, last in script._variables.items():
        if name not in script._used and _is_list(script, last.words):
            script.commands.append(Command(last.words, dict(script._variables)))
    return script


def inner(text: str, start: int, end: int) -> tuple[int, int]:
    """The place of a word's content: without the quotes around all of it."""
    quote = text[start : start + 1]
    whole = end - start >= 2 and quote in ("'", '"') and text[end - 1] == quote
    return (start + 1, end - 1) if whole and quote not in text[start + 1 : end - 1] else (start, end)


def _statement(script: Script, words: list[Word]) -> None:
    while words and script.raw(words[0]) in KEYWORDS:
        words = words[1:]
    if not words:
        return
    first = script.raw(words[0])
    if first in DECLARING:
        for word in words[1:]:
            _assign(script, word, exported=first == "export")
        return
    if first == ":":
        for word in words[1:]:
            if found := ASSIGN_DEFAULT.fullmatch(script.raw(word)):
                begin = word.start + found.start(2)
                end = begin + len(found[2])
                _define(script, found[1], begin, end, (Word(begin, end),))
        return
    at = 0
    while at < len(words) and _assign(script, words[at], exported=at < len(words) - 1):
        at += 1
    if at < len(words) and first not in NO_PROGRAMS:
        script.commands.append(Command(tuple(_expanded(script, words[at:])), dict(script._variables)))


def _assign(script: Script, word: Word, exported: bool) -> bool:
    found = ASSIGNMENT.match(script.raw(word))
    if not found:
        return False
    start = word.start + found.end()
    text, end = script.text, word.end
    if text[start : start + 1] == "(":
        parts = statements(text, start + 1, end - 1, "list")
    else:
        begin, stop = inner(text, start, end)
        parts = statements(text, begin, stop, "string") if (begin, stop) != (start, end) else [[Word(start, end)]]
    if start == end:
        parts = []
    words = tuple(_expanded(script, [part for some in parts for part in some]))
    before = script._variables.get(found[1])
    if found[2] and before is not None:
        words = before.words + words
    elif before is not None and found[1] not in script._used and _is_list(script, before.words):
        script.commands.append(Command(before.words, dict(script._variables)))
    _define(script, found[1], start, end, words, exported)
    return True


def _define(script: Script, name: str, start: int, end: int, words: tuple[Word, ...], exported: bool = False) -> None:
    before = script._variables.get(name)
    earlier = (*before.earlier, line_of(script.text, before.start))[-20:] if before else ()
    definition = Definition(name, start, end, words, exported, earlier)
    script._variables[name] = definition
    script.definitions.append(definition)


def _expanded(script: Script, words: list[Word]) -> list[Word]:
    """`words` with lists and strings of several words put in."""
    found: list[Word] = []
    for at, word in enumerate(words):
        raw = script.raw(word)
        variable = WHOLE.fullmatch(raw)
        known = script._variables.get(variable[2] or variable[3]) if variable else None
        if known is not None:
            script._used.add(known.name)
        if known is not None and (_is_list(script, known.words) or not known.words):
            found.extend(known.words)
        elif raw[:1] in "'\"" and at and _runs(script, words[:at]):
            begin, stop = inner(script.text, word.start, word.end)
            parts = statements(script.text, begin, stop, "command") if (begin, stop) != (word.start, word.end) else []
            found.extend(part for some in parts for part in _expanded(script, some))
        else:
            found.append(word)
        if len(found) > script._budget:
            line = line_of(script.text, word.start)
            raise AdapterError.at(line, "variables expand to too many words", "变量展开后的词过多")
    script._budget -= len(found)
    return found


def _runs(script: Script, before: list[Word]) -> bool:
    """Is the word behind `before` a script for a shell, as in `bash -c "..."`?"""
    return any(script.raw(word).rsplit("/", 1)[-1] in SHELLS for word in before)


def _is_list(script: Script, words: tuple[Word, ...]) -> bool:
    """Do the words read as options, so that they are more than a value?"""
    return any(script.raw(word).startswith("--") or ("=" in script.raw(word) and len(words) > 1) for word in words)
