"""Splits a shell script into commands and words, following variables and arrays that the script itself sets.

Nothing is run. What only a run can tell (`$(command)`, unset variables, loops) stays in the text as `$...`, which
reads as "not known".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from probes.files.job_config.shell_lines import closing, logical_lines, quote_end, without_comment
from probes.files.job_config.values import arithmetic

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?)=(.*)", re.DOTALL)
EXPANSION = re.compile(r"\$(?:\{(?P<braced>[^{}\n]*)\}|(?P<name>[A-Za-z_]\w*)|(?P<special>[@*#?$!0-9-]))")
DEFAULT = re.compile(r"([A-Za-z_]\w*|\d+)(?:\[[@*]\])?(?::?[-=](.*))?")
DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
KEYWORDS = frozenset(
    {
        "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "{", "}", "!", "time", "nohup",
        "exec", "eval", "sudo", "command",
    }
)  # fmt: skip
CONTINUATION = re.compile(r"\\[ \t]*\n")
REDIRECT = re.compile(r"[<>&|]+\s*[^\s;|]*")
PLAIN = re.compile(r"[^\s;&|()`<>\\'\"$]+")
ALL_ITEMS = re.compile(r"\"\$\{(\w+)\[@\]\}\"(?=[\s;&|)]|$)")
DIRECTIVE = re.compile(r"#\s?(SBATCH|PBS|BSUB|\$)\s")
MOST_WORDS = 20_000
LONGEST_VALUE = 100_000


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command. A quoted word may hold blanks and newlines; `line` is that of its start."""

    text: str
    line: int

    def pieces(self) -> list[Word]:
        """The words that the shell makes of this one when it is expanded without quotes."""
        pieces = []
        for found in re.finditer(r"[^\s\\]\S*|\\\S+", self.text):
            pieces.append(Word(found[0], self.line + self.text.count("\n", 0, found.start())))
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
                yield Command(heredoc=Word(logical.heredoc, logical.heredoc_line))

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
            assigned.append((found[1], Word(found[3], word.line)))
            self._assign(found[1], found[2] == "+", found[3], word.line)
        if assigned:
            yield Command(variables=tuple(assigned), exported=declared in ("export", "declare", "typeset"))

    def _assign(self, name: str, append: bool, value: str, line: int) -> None:
        if value.startswith("(") and value.endswith(")"):
            lines = value[1:-1].split("\n")
            found = (word for n, part in enumerate(lines) for word in self._split(part, line + n))
            words: tuple[Word, ...] = tuple(word for word in found if word.text not in ("\0", "\\"))
        else:
            words = (Word(value[:LONGEST_VALUE], line),)
        before = self.variables.get(name, ()) if append else ()
        self.variables[name] = (*before, *words)[:MOST_WORDS]

    def _split(self, raw: str, line: int) -> Iterator[Word]:
        """The words of a logical line, expanded; a word "\\0" stands where a command ends."""
        at, start, here, quoted = 0, 0, line, False
        buffer: str | None = None
        while at < len(raw) and self._budget > 0:
            char = raw[at]
            if buffer is None:
                start = at
                here = line + raw.count("\n", 0, start)
            if char == "\\":
                if carried := CONTINUATION.match(raw, at):
                    if buffer is not None:
                        yield Word(buffer, here)
                    buffer, at = None, carried.end()
                    continue
                buffer, at = (buffer or "") + raw[at + 1 : at + 2], at + 2
            elif buffer is None and (array := ALL_ITEMS.match(raw, at)) and array[1] in self.variables:
                at = array.end()
                yield from self.variables[array[1]]
            elif char in "'\"":
                end = quote_end(raw, at + 1, char)
                inside = raw[at + 1 : end]
                buffer = (buffer or "") + (inside if char == "'" else self._expand(inside.replace('\\"', '"')))
                at, quoted = end + 1, True
            elif char == "$":
                found = EXPANSION.match(raw, at)
                if raw.startswith("$(", at):
                    end = closing(raw, at + 1)
                    buffer = (buffer or "") + self._substitute(raw[at:end])
                    at = end
                elif not found:
                    buffer, at = (buffer or "") + char, at + 1
                else:
                    at = found.end()
                    values = self._values(found)
                    if buffer is None and values is not None and (at >= len(raw) or raw[at] in " \t\n;&|)"):
                        for value in values:
                            for piece in value.pieces():
                                self._budget -= 1
                                yield piece if piece.line else Word(piece.text, here)
                        continue
                    joined = found[0] if values is None else " ".join(w.text for w in values)
                    buffer = ((buffer or "") + joined)[:LONGEST_VALUE]
            elif char == "(" and buffer is not None and buffer.endswith("=") and not quoted:
                end = closing(raw, at)
                buffer, at = buffer + raw[at:end], end
            elif char in "<>":
                if buffer is not None and not buffer.isdigit():
                    yield Word(buffer, here)
                buffer = None
                redirect = REDIRECT.match(raw, at)
                at = redirect.end() if redirect else at + 1
            elif char in " \t\n;&|()`":
                if buffer is not None:
                    self._budget -= 1
                    yield Word(buffer, here)
                buffer, quoted = None, False
                if char not in " \t`":
                    yield Word("\0", here)
                at += 1
            elif char == "#" and buffer is None:
                end = raw.find("\n", at)
                at = len(raw) if end < 0 else end
            else:
                run = PLAIN.match(raw, at)
                end = run.end() if run else at + 1
                buffer, at = (buffer or "") + raw[at:end], end
        if buffer is not None:
            yield Word(buffer, here)

    def _values(self, found: re.Match[str]) -> tuple[Word, ...] | None:
        """What an expansion stands for; None where the script does not say."""
        if found["special"]:
            return () if found["special"] in "@*" else None
        inside = found["braced"] if found["braced"] is not None else found["name"]
        parts = DEFAULT.fullmatch(inside)
        if not parts:
            return None
        if parts[1] in self.variables:
            return self.variables[parts[1]]
        return (Word(parts[2], 0),) if parts[2] is not None and "$" not in parts[2] else None

    def _expand(self, text: str) -> str:
        """`text` of a double-quoted word with the known variables put in."""

        def one(found: re.Match[str]) -> str:
            values = self._values(found)
            return found[0] if values is None else " ".join(w.text for w in values)

        if "$" not in text:
            return text
        text = re.sub(r"\$\(\([^()]*(?:\([^()]*\)[^()]*)*\)\)", lambda m: self._substitute(m[0]), text)
        return EXPANSION.sub(one, text)[:LONGEST_VALUE]

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
