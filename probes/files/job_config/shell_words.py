"""Splits a shell script into commands and words, following variables and arrays that the script itself sets.

Nothing is run. What only a run can tell (`$(command)`, unset variables, loops) stays in the text as `$...`, which
reads as "not known".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from probes.files.job_config.shell_lines import closing, logical_lines, without_comment
from probes.files.job_config.values import arithmetic

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
EXPANSION = re.compile(r"\$\{[^{}\n]*\}|\$[A-Za-z_]\w*|\$[@*#?$!0-9-]")
ARITHMETIC = re.compile(r"\$\(\([^()]*(?:\([^()]*\)[^()]*)*\)\)")
DEFAULT = re.compile(r"([A-Za-z_]\w*|\d+)(?:\[[@*]\])?(?::?[-=](.*))?")
ITEMS = re.compile(r"\"\$\{\w+\[@\]\}\"")
ENDS_WORD = re.compile(r"[\s;&|)]|$")
TOKEN = re.compile(
    rf"""(?P<carry>\\[ \t]*\n)|(?P<escape>\\.?)
    |(?P<single>'[^']*'?)|(?P<items>{ITEMS.pattern}(?=[\s;&|)]|$))|(?P<double>"(?:[^"\\]|\\.)*"?)
    |(?P<open>\$?\()|(?P<expansion>{EXPANSION.pattern})
    |(?P<redirect>&?[<>][<>&|]*[ \t]*[^\s;|]*)|(?P<blank>[ \t]+)|(?P<end>[\n;&|)`])|(?P<comment>\#[^\n]*)
    |(?P<plain>[^\s;&|()`<>\\'"$\#]+|\$)""",
    re.VERBOSE | re.DOTALL,
)
DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
KEYWORDS = frozenset(
    {
        "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "{", "}", "!", "time", "nohup",
        "exec", "eval", "sudo", "command",
    }
)  # fmt: skip
DIRECTIVE = re.compile(r"#\s?(SBATCH|PBS|BSUB|\$)\s")
MOST_WORDS = 20_000
LONGEST_VALUE = 100_000


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command. A quoted word may hold blanks and newlines; `line` is that of its start.

    `assumed` says that it comes from a default such as `${NNODES:-1}`, which the caller's environment may replace.
    """

    text: str
    line: int
    assumed: bool = False

    def pieces(self) -> list[Word]:
        """The words that the shell makes of this one when it is expanded without quotes."""
        pieces = []
        for found in re.finditer(r"[^\s\\]\S*|\\\S+", self.text):
            line = self.line + self.text.count("\n", 0, found.start()) if self.line else 0
            pieces.append(Word(found[0], line, self.assumed))
        return pieces


@dataclass(frozen=True, slots=True)
class Command:
    """`variables` are set for this command alone, or exported for all that follow where it has no `words`."""

    words: tuple[Word, ...] = ()
    variables: tuple[tuple[str, Word], ...] = ()
    exported: bool = False
    directive: bool = False
    heredoc: Word | None = None


@dataclass(slots=True)
class Script:
    """A script being read; `variables` are those set so far."""

    text: str
    first_line: int = 1
    variables: dict[str, tuple[Word, ...]] = field(default_factory=dict)
    _budget: int = MOST_WORDS
    _assumed: bool = False

    def commands(self) -> Iterator[Command]:
        """The commands in order; assignments take effect between one and the next."""
        for logical in logical_lines(self.text, self.first_line):
            if DIRECTIVE.match(logical.text.lstrip()):
                words = self._split(without_comment(logical.text.lstrip()[1:]), logical.line)
                yield Command(tuple(word for word in words if word.text != "\0")[1:], directive=True)
                continue
            current: list[Word] = []
            for word in self._split(logical.text, logical.line):
                if word.text == "\0":
                    yield from self._finish(current)
                    current = []
                else:
                    current.append(word)
            yield from self._finish(current)
            if logical.heredoc is not None:
                yield Command(heredoc=Word(self._expand(logical.heredoc), logical.heredoc_line))

    def _finish(self, words: list[Word]) -> Iterator[Command]:
        while words and words[0].text in KEYWORDS:
            words = words[1:]
        exported = bool(words) and words[0].text in DECLARING
        declared = words[0].text if exported else ""
        body = [w for w in words[1:] if not w.text.startswith("-")] if exported else words
        assigned: list[tuple[str, Word]] = []
        for at, word in enumerate(body):
            found = ASSIGNMENT.fullmatch(word.text)
            if not found:
                if exported and word.text in self.variables:
                    value = " ".join(w.text for w in self.variables[word.text])
                    assigned.append((word.text, Word(value, word.line)))
                    continue
                if not exported:
                    start = at + 1 if word.text == "env" else at
                    yield Command(tuple(body[start:]), tuple(assigned))
                    return
                continue
            assigned.append((found[1], replace(word, text=found[3][:LONGEST_VALUE])))
            self._assign(found[1], found[2] == "+", assigned[-1][1])
        if assigned:
            yield Command(variables=tuple(assigned), exported=declared in ("export", "declare", "typeset"))

    def _assign(self, name: str, append: bool, value: Word) -> None:
        words: tuple[Word, ...] = (value,)
        if value.text.startswith("(") and value.text.endswith(")"):
            lines = enumerate(value.text[1:-1].split("\n"), value.line)
            found = (word for number, part in lines for word in self._split(part, number))
            words = tuple(word for word in found if word.text not in ("\0", "\\", ""))
        before = self.variables.get(name, ()) if append else ()
        self.variables[name] = (*before, *words)[:MOST_WORDS]

    def _split(self, raw: str, line: int) -> Iterator[Word]:
        """The words of a logical line, expanded; a word "\0" stands where a command ends."""
        at, here, buffer = 0, line, ""
        begun = quoted = False
        self._assumed = False
        while at < len(raw) and self._budget > 0:
            token = TOKEN.match(raw, at)
            if token is None:
                at += 1
                continue
            kind, text = token.lastgroup, token[0]
            if not begun:
                here = line + raw.count("\n", 0, at)
            at = token.end()
            if kind == "comment" and begun:
                # Inside a word `#` is a letter like any other.
                buffer, at = buffer + "#", token.start() + 1
            elif kind in ("blank", "carry", "end", "redirect", "comment"):
                if begun and not (kind == "redirect" and buffer.isdigit()):
                    yield self._word(buffer, here)
                begun, quoted, buffer = False, False, ""
                if kind == "end":
                    yield Word("\0", here)
            elif kind == "expansion" and not begun and ENDS_WORD.match(raw, at):
                values = self._values(text)
                self._assumed = False
                pieces = [piece for value in (values or (Word(text, here),)) for piece in value.pieces()]
                pieces = [] if values == () else pieces[: self._budget]
                self._budget -= len(pieces)
                yield from (replace(piece, line=piece.line or here) for piece in pieces)
            elif kind == "items" and not begun and ITEMS.fullmatch(text) and self._values(text.strip('"')) is not None:
                items = (self._values(text.strip('"')) or ())[: self._budget]
                self._budget, self._assumed = self._budget - len(items), False
                yield from items
            elif kind == "open":
                end = closing(raw, at - 1)
                inside = raw[token.start() : end]
                if text == "$(":
                    buffer += self._substitute(inside)
                elif begun and buffer.endswith("=") and not quoted:
                    buffer += inside
                else:
                    if begun:
                        yield self._word(buffer, here)
                    yield Word("\0", here)
                    begun, buffer = False, ""
                    continue
                begun, at = True, end
            else:
                quoted = quoted or kind in ("single", "double", "items")
                begun, buffer = True, (buffer + self._plain(kind, text))[:LONGEST_VALUE]
        if begun:
            yield self._word(buffer, here)

    def _word(self, text: str, line: int) -> Word:
        self._budget -= 1
        word = Word(text, line, self._assumed)
        self._assumed = False
        return word

    def _plain(self, kind: str | None, text: str) -> str:
        """What a part of a word stands for."""
        if kind == "single":
            return text.strip("'")
        if kind in ("double", "items"):
            return self._expand(text[1:-1] if text.endswith('"') and len(text) > 1 else text[1:])
        if kind == "expansion":
            values = self._values(text)
            return text if values is None else " ".join(word.text for word in values)
        return text[1:] if kind == "escape" else text

    def _values(self, expansion: str) -> tuple[Word, ...] | None:
        """What `$name` or `${name...}` stands for; None where the script does not say."""
        inside = expansion[2:-1] if expansion.startswith("${") else expansion[1:]
        if inside in ("@", "*"):
            return ()
        parts = DEFAULT.fullmatch(inside)
        if not parts:
            return None
        values = self.variables.get(parts[1])
        if values is None and parts[2] is not None and "$" not in parts[2]:
            values = (Word(parts[2].strip("\"'"), 0, True),)
        self._assumed = self._assumed or any(word.assumed for word in values or ())
        return values

    def _expand(self, text: str) -> str:
        """`text` of a double-quoted word with the known variables put in."""
        text = text.replace('\\"', '"')
        if "$" not in text:
            return text
        text = ARITHMETIC.sub(lambda found: self._substitute(found[0]), text)
        return EXPANSION.sub(lambda found: self._plain("expansion", found[0]), text)[:LONGEST_VALUE]

    def _substitute(self, text: str) -> str:
        """The value of `$((...))` where it is arithmetic of known numbers; anything else stays as it is."""
        if not (text.startswith("$((") and text.endswith("))")):
            return "$(...)"
        inside = re.sub(r"\$?\{?([A-Za-z_]\w*)\}?", lambda m: self._number(m[1]), text[3:-2])
        value = arithmetic(inside)
        return "$(...)" if value is None else str(int(value))

    def _number(self, name: str) -> str:
        words = self.variables.get(name, ())
        return words[0].text if len(words) == 1 else "?"
