"""Decides which occurrences of a message are kept, so that a million equal lines cost neither memory nor time."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

FIRST = 200
LAST = 200
MIDDLE = 256
KEYS = 4096

T = TypeVar("T")


class Kept(Generic[T]):
    """The first, the last, an even selection between them, and the first of every key, such as a rank.

    `share` of the usual room is used; less than all where very many logs are kept at a time.
    """

    def __init__(self, share: float = 1.0) -> None:
        self.count = 0
        self._share = share
        self._first: list[T] = []
        self._last: deque[T] = deque(maxlen=max(1, round(LAST * share)))
        self._middle: list[T] = []
        self._of_key: dict[Hashable, T] = {}
        self._stride = 1

    def add(self, item: T, key: Hashable) -> None:
        self.count += 1
        if key is not None and key not in self._of_key and len(self._of_key) < KEYS:
            self._of_key[key] = item
        if len(self._first) < FIRST * self._share:
            self._first.append(item)
            return
        self._last.append(item)
        if self.count % self._stride == 0:
            self._middle.append(item)
            if len(self._middle) >= MIDDLE * self._share:
                self._middle = self._middle[::2]
                self._stride *= 2

    def copy(self) -> Kept[T]:
        other: Kept[T] = Kept(self._share)
        other.count, other._stride = self.count, self._stride
        other._first, other._middle, other._of_key = [*self._first], [*self._middle], dict(self._of_key)
        other._last.extend(self._last)
        return other

    def __iter__(self) -> Iterator[T]:
        seen: set[int] = set()
        for item in (*self._first, *self._middle, *self._last, *self._of_key.values()):
            if id(item) not in seen:
                seen.add(id(item))
                yield item
