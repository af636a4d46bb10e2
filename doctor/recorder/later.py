"""Numbers of a device that are read once they have arrived: nothing ever waits for them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

MOST = 256
"""Copies under way at once; what comes beyond is left out."""


class Later:
    """Small tensors on their way to the host, and pairs of events on the device's clock."""

    def __init__(self) -> None:
        self._torch = import_module("torch")
        self._waiting: deque[tuple[Any, Callable[[], None]]] = deque()

    def tell(self, tensor: Any, told: Callable[[list[float]], None]) -> None:
        """Calls `told` with the numbers of `tensor`: at once if they are here, else when they have come."""
        tensor = tensor.detach()
        tensor = getattr(tensor, "_local_tensor", tensor).flatten()
        if tensor.device.type == "cpu":
            told([float(value) for value in tensor.tolist()])
        elif tensor.device.type == "cuda" and len(self._waiting) < MOST and not self._capturing():
            here = self._torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            here.copy_(tensor, non_blocking=True)
            event = self._torch.cuda.Event()
            event.record()
            self._waiting.append((event, partial(_read, here, tensor, told)))

    def mark(self) -> Any:
        """A point on the current stream's clock; None without a GPU."""
        cuda = self._torch.cuda
        if not cuda.is_initialized() or self._capturing():
            return None
        event = cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, first: Any, last: Any, told: Callable[[float], None]) -> None:
        """Calls `told` with the seconds that the device itself counts from `first` to `last`."""
        if first is not None and last is not None and len(self._waiting) < MOST:
            self._waiting.append((last, lambda: told(float(first.elapsed_time(last)) / 1000)))

    def arrived(self) -> None:
        """Tells what has come since; asks the device only whether it has."""
        while self._waiting and self._waiting[0][0].query():
            _, tell = self._waiting.popleft()
            tell()

    def _capturing(self) -> bool:
        return bool(self._torch.cuda.is_initialized() and self._torch.cuda.is_current_stream_capturing())


def _read(here: Any, source: Any, told: Callable[[list[float]], None]) -> None:
    """`source` is kept until the copy is done: its memory must not be given to another meanwhile."""
    told([float(value) for value in here.tolist()])
