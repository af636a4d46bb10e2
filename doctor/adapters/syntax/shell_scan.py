"""Cuts a shell script into statements and words with their places. Nothing is expanded here, and nothing is run."""

from __future__ import annotations

import re
from dataclasses import dataclass

from doctor.adapters.errors import AdapterError
from doctor.adapters.text import line_of

HEREDOC = re.compile(r"<<(-?)[ \t]*([\"']?)([A-Za-z_]\w*)\2")
REDIRECT = re.compile(r"\d*(?:&?>[>|&]?|<>?|<&)[ \t]*")
ASSIGNS = re.compile(r"[A-Za-z_]\w*\+?=")
DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Word:
    """A word as written, quotes included. `within` is "command", "list" (array) or "string" (quoted value)."""

    start: int
    end: int
    within: str = "command"


def statements(text: str, start: int, end: int, within: str = "command") -> list[list[Word]]:
    """The simple commands of text[start:end]. In a list or string a line break is a blank. Raises AdapterError."""
    found: list[list[Word]] = []
    current: list[Word] = []
    waiting: list[tuple[str, bool]] = []
    at = start
    while at < end:
        char = text[at]
        carried = _carried(text, at)
        if char in " \t\r":
            at += 1
        elif carried:
            at += carried
        elif char == "\n":
            at += 1
            if within == "command":
                found, current = _closed(found, current)
            for word, tabs in waiting:
                at = _behind_heredoc(text, at, end, word, tabs)
            waiting = []
        elif char == "#":
            at = _line_end(text, at, end)
        elif here := HEREDOC.match(text, at, end):
            waiting.append((here[3], bool(here[1])))
            at = here.end()
        elif text.startswith("<<<", at):
            at += 3
        elif redirect := REDIRECT.match(text, at, end):
            at = word_end(text, redirect.end(), end)
            at = max(at, redirect.end())
        elif char in ";&|()" or (char in "{}" and text[at + 1 : at + 2] in ("", " ", "\n", "\r", "\t", ";")):
            found, current = _closed(found, current)
            at += 1
        else:
            stop = max(word_end(text, at, end), at + 1)
            current.append(Word(at, stop, within))
            at = stop
    return _closed(found, current)[0]


def word_end(text: str, at: int, end: int) -> int:
    """Where the word that begins at `at` ends."""
    begin = at
    while at < end:
        char = text[at]
        if char in " \t\r\n;&|)<>" or _carried(text, at):
            return at
        if char == "(":
            if not (at > begin and ASSIGNS.fullmatch(text, begin, at)):
                return at
            return _behind_paren(text, at, end)
        at = _behind(text, at, end, 0)
    return at


def _behind(text: str, at: int, end: int, depth: int) -> int:
    """Just behind the character, quote or expansion at `at`."""
    if depth > DEEPEST:
        en, zh = f"quotes and expansions more than {DEEPEST} deep", f"引号与展开嵌套超过 {DEEPEST} 层"
        raise AdapterError.at(line_of(text, at), en, zh)
    char = text[at]
    if char == "\\":
        return at + 2
    if char == "'":
        close = text.find("'", at + 1, end)
        if close < 0:
            raise AdapterError.at(line_of(text, at), "a quote is not closed", "引号没有闭合")
        return close + 1
    if char == '"':
        inner = at + 1
        while inner < end and text[inner] != '"':
            inner = inner + 1 if text[inner] == "'" else _behind(text, inner, end, depth + 1)
        if inner >= end:
            raise AdapterError.at(line_of(text, at), "a quote is not closed", "引号没有闭合")
        return inner + 1
    if text.startswith("$(", at):
        return _behind_paren(text, at + 1, end, depth + 1)
    if text.startswith("${", at):
        inner = at + 2
        while inner < end and text[inner] != "}":
            inner = _behind(text, inner, end, depth + 1)
        if inner >= end:
            raise AdapterError.at(line_of(text, at), "${ is not closed", "${ 没有闭合")
        return inner + 1
    if char == "`":
        close = text.find("`", at + 1, end)
        return close + 1 if close >= 0 else at + 1
    return at + 1


def _behind_paren(text: str, at: int, end: int, depth: int = 0) -> int:
    level, inner = 0, at
    while inner < end:
        char = text[inner]
        if char == "#" and text[inner - 1] in " \t\n":
            inner = _line_end(text, inner, end)
            continue
        level += (char == "(") - (char == ")")
        if level == 0:
            return inner + 1
        inner = inner + 1 if char in "()" else _behind(text, inner, end, depth + 1)
    raise AdapterError.at(line_of(text, at), "a parenthesis is not closed", "括号没有闭合")


def _closed(found: list[list[Word]], current: list[Word]) -> tuple[list[list[Word]], list[Word]]:
    if current:
        found.append(current)
    return found, []


def _carried(text: str, at: int) -> int:
    """Length of a backslash and the line break behind it, 0 where there is none."""
    if text.startswith("\\\n", at):
        return 2
    return 3 if text.startswith("\\\r\n", at) else 0


def _line_end(text: str, at: int, end: int) -> int:
    stop = text.find("\n", at, end)
    return end if stop < 0 else stop


def _behind_heredoc(text: str, at: int, end: int, word: str, tabs: bool) -> int:
    while at < end:
        stop = _line_end(text, at, end)
        line = text[at:stop].rstrip("\r")
        if (line.lstrip("\t") if tabs else line) == word:
            return min(stop + 1, end)
        at = stop + 1
    return end
