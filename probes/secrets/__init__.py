"""Takes secrets out of what was read, before anything keeps or shows it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import TypeAlias
from urllib.parse import unquote

from probes.secrets.forms import COMPILED
from probes.secrets.names import holds_secret, is_secret, strength
from probes.secrets.sieve import may_hold, may_name

__all__ = ["HIDDEN", "Seen", "hide", "is_secret", "redact", "redact_text"]

HIDDEN = "<redacted>"
ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Control sequences of terminals (ECMA-48)."""

Seen: TypeAlias = Callable[[str, str], None]
"""Is told the kind of each secret and the secret itself."""

NAMED = re.compile(
    r"(?P<name>(?<![\w-])-{0,2}[A-Za-z_][\w.-]{1,80})"
    r"(?P<sign>\\?[\"']?(?:\s*(?:=>|:=|=|:)\s*|\s\.{3,}\s|(?<=[\"'])\s*,\s*)|[\s\0]+)"
    r"(?P<value>\\?\"(?:[^\"\\]|\\.){0,1000}\"|'[^'\n]{0,1000}'|\\?[\"']?[^\s\"'\x00]+)"
)
"""`name=value`, `"name": "value"`, `--name value`, `name ..... value`."""
ENCODED = re.compile(r"(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{20,}={0,2}|(?<==)[A-Za-z0-9+/_-]{20,}={0,2}")
ESCAPED = re.compile(r"\S*%(?:3[aAdD]|40|2[fF])\S*")
PRINTABLE = re.compile(rb"[\t\n\r\x20-\x7e]{12,}")
LONGEST, DEPTH = 1 << 16, 2
CLOSING = ",;)}]"
STANDARD = str.maketrans("-_", "+/")
REFERENCE = re.compile(r"\$\w+(?!\$)\b(?!\$)|\$[{(]|<\w+>")


def redact(name: str, value: str) -> str:
    """The value of a variable; `<redacted>` when the name says that it is a secret, else without those in it."""
    return HIDDEN if value and is_secret(name) else redact_text(value)


def redact_text(text: str) -> str:
    """A line without secrets."""
    return hide(text, lambda kind, secret: None)


def hide(text: str, seen: Seen, depth: int = 0) -> str:
    """One line of text with each secret replaced by `<redacted>`; what is beside the secrets stays as it is.

    Colours of a line that holds a secret go with it: they may stand before it or within.
    """
    if "\x1b" in text:
        plain = ESCAPES.sub("", text).replace("\x1b", "")
        found = hide(plain, seen, depth)
        return text if found == plain else found
    if "\r" in text:  # a progress bar writes over its line, and each of its lines begins and ends there
        return "\r".join(hide(part, seen, depth) if part.strip() else part for part in text.split("\r"))
    if len(text) > LONGEST:
        return "".join(hide(part, seen, depth) for part in _parts(text))
    if may_hold(text):
        for kind, pattern in COMPILED:
            text = pattern.sub(lambda match, kind=kind: _form(match, kind, seen), text)  # type: ignore[misc]
    if may_name(text):
        text = _named(text, seen)
    if depth < DEPTH:
        text = ENCODED.sub(lambda match: _encoded(match[0], seen, depth), text)
        if "%" in text:
            text = ESCAPED.sub(lambda match: _escaped(match[0], seen, depth), text)
    return text


def _parts(text: str) -> Iterator[str]:
    """A very long line in parts that end between words, so that no pattern has far to look."""
    at = 0
    while at < len(text):
        end = at + LONGEST
        if end < len(text):
            end = max(text.rfind(" ", at, end), text.rfind(",", at, end)) + 1 or end
        yield text[at:end]
        at = end


def _form(match: re.Match[str], kind: str, seen: Seen) -> str:
    named = [group for group in match.re.groupindex if match[group] is not None]
    start, end = match.span(named[0] if named else 0)
    secret = match.string[start:end]
    # The name of a user that was hidden, and a password behind it that was not: user:password@.
    half = kind == "password in url" and not secret.endswith(HIDDEN)
    if not half if HIDDEN in secret else REFERENCE.match(secret):
        return match[0]
    seen(kind, secret)
    return match.string[match.start() : start] + HIDDEN + match.string[end : match.end()]


def _named(text: str, seen: Seen) -> str:
    parts, at = [], 0
    while match := NAMED.search(text, at):
        name, value = match["name"], match["value"]
        flag, spaced = name.startswith("-"), match["sign"].strip("\0").strip() == ""
        quote = re.match(r"\\?[\"']", value)
        if quote and len(value) > 2 * len(quote[0]):
            bare = value[len(quote[0]) :].removesuffix(quote[0])
        else:
            bare = value if quote else value.rstrip(CLOSING)
        wanted = (not spaced or flag) and holds_secret(name.lstrip("-"), bare) and HIDDEN not in bare
        if not wanted or (spaced and bare.startswith("-")):
            # The value may be the next name: `--name --other value`, `a: b=c`.
            parts.append(text[at : match.start("value")])
            at = match.start("value")
            continue
        end = match.end()
        if not quote and strength(name) == 2 and match["sign"] == "=" and not text[: match.start()].strip():
            rest = text[end:]
            if rest.strip() and not re.search(r"[=/]|\s-|\.py\b|\||;|&", rest):  # a passphrase of several words
                bare += rest.rstrip()
        seen("named " + ("flag" if flag else "value"), bare)
        parts.append(text[at : match.start("value")] + (quote[0] if quote else "") + HIDDEN)
        at = match.start("value") + (len(quote[0]) if quote else 0) + len(bare)
    return "".join(parts) + text[at:]


def _encoded(word: str, seen: Seen, depth: int) -> str:
    """Base64 of a text that holds a secret."""
    if word.islower() or word.count("/") > len(word) >> 3:  # a name, a path
        return word
    plain = word.rstrip("=").translate(STANDARD)
    try:
        data = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return word
    if not PRINTABLE.fullmatch(data):
        return word
    found: list[str] = []
    for line in data.decode("ascii").splitlines():
        hide(line, lambda kind, secret: found.append(secret), depth + 1)
        if re.fullmatch(r"[\w.-]{1,64}:\S{6,}", line):  # user:password, as in the header of basic authentication
            found.append(line.partition(":")[2])
    if not found:
        return word
    seen("base64", word)
    for secret in found:
        seen("within base64", secret)
    return HIDDEN


def _escaped(word: str, seen: Seen, depth: int) -> str:
    """Percent escapes of a text that holds a secret."""
    found: list[str] = []
    plain = unquote(word)
    if plain == word or hide(plain, lambda kind, secret: found.append(secret), depth + 1) == plain:
        return word
    for secret in found:
        seen("percent-escaped", secret)
    return HIDDEN
