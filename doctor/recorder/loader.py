"""How long the main program waits for batches: around the iterators of torch's DataLoader, once for all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

DONE = "_pdoctor_recorder"


def watch(begin: Callable[[], Any], end: Callable[[Any], None]) -> None:
    """From now on `begin` is called before each wait of a DataLoader and `end`, with what it gave, after it.

    Iterators that build on another's `__next__` call both twice, one within the other.
    """
    module = import_module("torch.utils.data.dataloader")
    for iterator in _family(module._BaseDataLoaderIter):
        own = iterator.__dict__.get("__next__")
        if own is not None:
            iterator.__next__ = _around(getattr(own, DONE, own), begin, end)


def _around(own: Callable[[Any], Any], begin: Callable[[], Any], end: Callable[[Any], None]) -> Callable[[Any], Any]:
    @functools.wraps(own)
    def next_batch(self: Any) -> Any:
        begun = begin()
        try:
            return own(self)
        finally:
            end(begun)

    setattr(next_batch, DONE, own)
    return next_batch


def _family(kind: Any) -> Iterator[Any]:
    yield kind
    for child in kind.__subclasses__():
        yield from _family(child)
