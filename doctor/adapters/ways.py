"""How a framework writes one neutral setting, and how it is read back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from doctor.adapters.errors import Unavailable
from doctor.adapters.model import Scalar

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class Keep:
    """The setting stays as it is, also where it is missing."""


KEEP = Keep()
# What a setting becomes, given its text in the file, None where it is missing.
Rewrite: TypeAlias = Callable[[str | None], "Scalar | Keep | None"]


def default(value: Scalar) -> Rewrite:
    """`value` for a setting that the file does not have; one that is there stays."""
    return lambda now: value if now is None else KEEP


def instead(old: str, value: Scalar | None) -> Rewrite:
    """`value` where the setting is `old` now; anything else stays."""
    return lambda now: value if now is not None and now.lower() == old else KEEP


def unless(fine: tuple[str, ...], value: Scalar) -> Rewrite:
    """`value` unless the setting has one of the `fine` values."""
    return lambda now: KEEP if now is not None and now.lower() in fine else value


def where_there(value: Scalar, en: str, zh: str) -> Rewrite:
    """`value` for a setting that the file has; where it is missing `en` and `zh` say what to do."""

    def rewrite(now: str | None) -> Scalar:
        if now is None:
            raise Unavailable(en, zh)
        return value

    return rewrite


# By the framework's key; None takes a setting away.
Wish: TypeAlias = Scalar | Rewrite | None
Wanted: TypeAlias = Mapping[str, Wish]
Texts: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Way:
    """`keys`: the framework's settings that state the neutral one. `read` gives None where the file does not say."""

    keys: tuple[str, ...]
    write: Callable[[Any], Wanted]
    read: Callable[[Texts], Any]


def number(key: str, off: int | None = None) -> Way:
    """A number under one key; `off` is the value that is written by leaving the key out."""
    return Way((key,), lambda value: {key: None if value == off else value}, lambda texts: as_number(texts.get(key)))


def switch(key: str) -> Way:
    return Way((key,), lambda value: {key: bool(value)}, lambda texts: as_switch(texts.get(key)))


def inverted(key: str) -> Way:
    """A switch that is on when the neutral one is off."""

    def read(texts: Texts) -> bool | None:
        value = as_switch(texts.get(key))
        return None if value is None else not value

    return Way((key,), lambda value: {key: not value}, read)


def words(key: str) -> Way:
    """A list of words, whose order does not matter; an empty one is left out."""

    def write(value: Any) -> Wanted:
        wanted = tuple(sorted(value))
        return {key: lambda now: KEEP if wanted and _listed(now) == frozenset(wanted) else wanted or None}

    return Way((key,), write, lambda texts: _listed(texts.get(key)) or None)


def _listed(text: str | None) -> frozenset[str]:
    found = re.findall(r"[^\s,\[\]\"']+", text or "")
    plain = all(re.fullmatch(r"[a-z_]\w*", word) for word in found)
    return frozenset(found) if plain and found not in (["null"], ["none"]) else frozenset()


def choice(key: str, names: Mapping[str, Scalar | None], also: Mapping[str, str] | None = None) -> Way:
    """Neutral words and the framework's; `also` has further spellings of the framework, lower case, for reading."""
    back = {str(name).lower(): word for word, name in reversed(list(names.items())) if name is not None}
    back |= dict(also or {})

    def write(value: Any) -> Wanted:
        if value not in names:
            return nothing_for(key, value)
        return {key: names[value]}

    return Way((key,), write, lambda texts: back.get(texts.get(key, "").lower()))


def either(names: Mapping[str, Wanted], read: Callable[[Texts], Any], keys: tuple[str, ...], what: str) -> Way:
    """Neutral words that each stand for several settings."""

    def write(value: Any) -> Wanted:
        return names[value] if value in names else nothing_for(what, value)

    return Way(keys, write, read)


def follows() -> Way:
    """A setting that the framework derives from others: there is nothing to write."""
    return Way((), lambda value: {}, lambda texts: None)


def nothing_for(what: str, value: Any) -> Wanted:
    raise Unavailable(f"{what} has no value that means {value}", f"{what} 没有与 {value} 对应的取值")


def as_number(text: str | None) -> int | float | None:
    try:
        value = float((text or "").replace("_", ""))
    except ValueError:
        return None
    if value != value or abs(value) > 1e18:
        return None
    return int(value) if value == int(value) else value


def as_switch(text: str | None) -> bool | None:
    low = (text or "").strip().lower()
    return True if low in TRUE else False if low in FALSE else None


def same(text: str, value: Scalar | None) -> bool:
    """Does the text in the file already say that value?"""
    if isinstance(value, bool):
        return as_switch(text) is value
    if isinstance(value, int | float):
        return as_number(text) == value
    if isinstance(value, tuple):
        plain = text.replace("[", " ").replace("]", " ").replace(",", " ").replace('"', " ").replace("'", " ")
        return tuple(plain.split()) == value
    return value is not None and text == value
