"""Which names say that their value is a secret: those of variables, flags, keys of configurations."""

from __future__ import annotations

import re

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TRAILING = frozenset((
    "data", "value", "b64", "base64", "b", "string", "raw", "env", "old", "new", "prod", "dev",
))  # fmt: skip
_STRONG = re.compile(
    r"(?:password|passwd|passwort|passphrase|secrets?|credentials?|apikey|authkey|authtoken|cookies?|passw|sshpass"
    r"|secretkey|accesskey|privatekey)$"
)
_ABOUT = frozenset((
    "file", "path", "dir", "directory", "length", "len", "policy", "required", "name", "names", "timeout", "type",
    "url", "uri", "version", "count", "expiry", "enabled", "location", "helper", "store", "manager", "mount", "class",
    "ref", "prompt", "field", "error", "errors", "id",
))  # fmt: skip
"""Last words of what is said about a secret and is none."""
_KEYS = frozenset((
    "api", "access", "secret", "private", "license", "licence", "account", "storage", "encryption", "encrypt",
    "signing", "ssh", "deploy", "shared", "service", "registry", "wandb", "hf", "openai", "anthropic", "consumer",
    "application", "app", "auth", "client", "instance", "ingestion", "admin", "subscription", "rsa", "pem", "vault",
    "session", "sas", "ngc", "comet", "swanlab",
))  # fmt: skip
"""What stands before `key` where that is a secret, and not one of a dictionary, a cache or an attention layer."""
_LOGINS = frozenset((
    "become", "db", "user", "admin", "ssh", "smtp", "sudo", "root", "login", "mysql", "redis", "http", "proxy", "ldap",
    "mail",
))  # fmt: skip
"""What stands before `pass` where that is a password, and not one over the data."""
_PARTS = frozenset((
    "pad", "eos", "bos", "unk", "mask", "sep", "cls", "image", "next", "video", "audio", "special", "stop", "start",
    "end", "per", "num", "max", "last", "prev", "first", "each", "think", "begin", "token", "dispatcher",
))  # fmt: skip
"""What stands before `token` where that is one of text."""
_LOOKUPS = frozenset((
    "sort", "cache", "primary", "foreign", "partition", "group", "image", "text", "config", "state", "head", "query",
    "dict", "p",
))  # fmt: skip

_NOTHING = re.compile(
    r"|None|null|nil|true|false|yes|no|on|off|unset"
    r"|\(?not set\)?|\$\w+|\$[({].*|<[\w|/ -]*>|\[[\w ]*\]|\{\{.*|\{\w*\}|%\w+%|[*xX.•-]+|[|>][-+\d]*"
    r"|REDACTED"
    r"|os\.(?:environ|getenv).*"
    r"|(?:self|args|cfg|config|opts?|os|settings|kwargs)[.\[].*",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"[-+]?[\d.,eE+-]{1,12}|\.{0,2}/.*|[a-z_]{1,15}|[A-Za-z]{1,11}[.:!?]?|.*\(.*|.{1,7}")


def is_secret(name: str) -> bool:
    """Does a variable, flag or key of this name hold a secret?"""
    return strength(name) > 0


def strength(name: str) -> int:
    """2 for a name that cannot mean anything else (`DB_PASSWORD`), 1 for one that mostly means a secret (`token`)."""
    if name in ("PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY"):
        return 0
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and (words[-1].isdigit() or (len(words) > 1 and words[-1] in _TRAILING)):
        words.pop()
    if not words:
        return 0
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    upper = name.isupper() and bool(before)
    if last == "id" and words[-3:-1] == ["access", "key"]:
        return 2
    if last in _ABOUT:
        return 0
    if any(_STRONG.search(word) for word in words) or (last == "pwd" and before) or (last == "pass" and upper):
        return 2
    if last == "pass" and before in _LOGINS:
        return 2
    if last in ("key", "keys"):
        if before in _KEYS:
            return 2
        return 1 if upper and before not in _LOOKUPS else 0
    if last == "token" or last.endswith("token"):
        return 0 if before in _PARTS else 2 if upper or before in ("access", "auth", "refresh", "hf", "session") else 1
    if last in ("auth", "authorization", "dsn", "pat", "signature", "sas"):
        return 1 if upper or last in ("authorization", "dsn") else 0
    return 0


def holds_secret(name: str, value: str) -> bool:
    """Is `value` the secret that `name` announces, and not a number, a word, a reference or nothing at all?"""
    level = strength(name)
    if not level or _NOTHING.fullmatch(value):
        return False
    return level == 2 or not _PLAIN.fullmatch(value)
