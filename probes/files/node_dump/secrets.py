"""Takes secrets out of environment variables before anything keeps them."""

from __future__ import annotations

import re

HIDDEN = "<redacted>"
_SECRET = re.compile(r"TOKEN|KEY|PASSW|SECRET|CREDENTIAL|AUTH|COOKIE|PRIVATE|SIGNATURE|_DSN$|_PAT$", re.IGNORECASE)
_HARMLESS = re.compile(
    r"^(?:TOKENIZERS_PARALLELISM|SSH_AUTH_SOCK|XAUTHORITY|KEYBOARD\w*|\w*MAX_TOKENS\w*|\w*NUM_TOKENS\w*|\w*_KEYS?_?(?:DIM|SIZE))$"
)
_IN_URL = re.compile(r"\b(?P<scheme>\w{1,20}://)[^/@\s:]+:[^/@\s]+@")
_IN_TEXT = re.compile(
    r"(?P<name>\b[A-Za-z_][\w-]{0,60}(?:TOKEN|KEY|PASSW|SECRET|CREDENTIAL)\w{0,60})(?P<sign>\"?'?\s*[=:]\s*)(?P<value>\"[^\"]*\"|'[^']*'|[^\s,}\"']+)",
    re.IGNORECASE,
)


def is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and not _HARMLESS.match(name)


def redact(name: str, value: str) -> str:
    """The value, or `<redacted>` when the name says that it is a secret; credentials in URLs are hidden too."""
    if is_secret(name) and value:
        return HIDDEN
    return _IN_URL.sub(rf"\g<scheme>{HIDDEN}@", value)


def redact_text(text: str) -> str:
    """A line with the values of secret variables and the credentials of URLs replaced."""

    def hide(match: re.Match[str]) -> str:
        return f"{match['name']}{match['sign']}{HIDDEN}" if is_secret(match["name"]) else match[0]

    return _IN_URL.sub(rf"\g<scheme>{HIDDEN}@", _IN_TEXT.sub(hide, text))
