"""Untrusted text made safe to show: what could steer a terminal, or hide or reorder letters, becomes visible."""

from __future__ import annotations

from unicodedata import category

# Control, format (bidi marks, zero-width), surrogate, private, unassigned, and the two Unicode line separators.
UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class _Escapes(dict[int, str]):
    """A translation table that fills itself: safe characters stay, others become escapes."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if category(char) not in UNSAFE:
            shown = char
        elif code < 0x100:
            shown = f"\\x{code:02x}"
        else:
            shown = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
        self[code] = shown
        return shown


_ESCAPES = _Escapes({ord("\t"): " "})


def visible(text: str) -> str:
    """`text` on one line without a character that acts on a terminal: ESC is shown as `\\x1b`, a tab as a space."""
    return text if text.isascii() and text.isprintable() else text.translate(_ESCAPES)


def visible_lines(text: str) -> list[str]:
    """The lines of `text`, each made safe; indentation stays."""
    return [visible(line) for line in text.expandtabs(4).splitlines()]


def json_safe(document: str) -> str:
    """A JSON document with the same content in which unsafe characters are written as JSON escapes."""
    if document.isascii() and "\x7f" not in document:
        return document
    return "".join(c if c == "\n" or category(c) not in UNSAFE else _json_escape(c) for c in document)


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
