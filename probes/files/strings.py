"""Looks for many plain strings in a text at once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

MEMORY = 64 << 20
"""For the automaton, which is made of what occurs in the texts."""


class Strings:
    """Strings that are looked for in one pass where google-re2 is installed, else one by one."""

    def __init__(self, strings: Iterable[str]) -> None:
        self._strings = tuple(dict.fromkeys(strings))

    def within(self, text: str) -> frozenset[str]:
        """Those that `text` holds."""
        if self._automaton is None:
            return frozenset(string for string in self._strings if string in text)
        found = self._automaton.Match(text.encode("utf-8", "surrogatepass"))
        return frozenset(self._strings[index] for index in found or ())

    @cached_property
    def _automaton(self) -> Any | None:
        try:
            import re2
        except ImportError:
            return None
        options = re2.Options()
        # Bytes of UTF-8 stand in another text of UTF-8 where their characters do.
        options.encoding = re2.Options.Encoding.LATIN1
        options.literal = options.never_capture = True
        options.max_mem = MEMORY
        found = re2.Set.SearchSet(options)
        for string in self._strings:
            found.Add(string.encode("utf-8", "surrogatepass"))
        found.Compile()
        return found
