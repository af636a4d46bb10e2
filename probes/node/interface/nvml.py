"""NVIDIA's management library through nvidia-ml-py, which is loaded only when a probe looks at GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class NoNvmlError(Exception):
    """NVML cannot be used here. `code` is its error, 0 where there is no driver or no Python module; str() says why."""

    def __init__(self, reason: str, code: int = 0) -> None:
        super().__init__(reason)
        self.code = code


@contextmanager
def nvml() -> Iterator[Any]:
    """The module `pynvml` with the library initialised; NoNvmlError when that cannot be."""
    try:
        import pynvml
    except ImportError:
        raise NoNvmlError("the Python package nvidia-ml-py is not installed") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
            raise NoNvmlError("no NVIDIA driver here: libnvidia-ml.so.1 is not found") from None
        raise NoNvmlError(str(error), error.value) from None
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def asked(library: Any, call: Callable[[], T]) -> T | None:
    """What a call gives, None where this GPU or driver does not know of it; other errors are raised."""
    unknown = (
        library.NVML_ERROR_NOT_SUPPORTED,
        library.NVML_ERROR_FUNCTION_NOT_FOUND,
        library.NVML_ERROR_INVALID_ARGUMENT,
        library.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
        library.NVML_ERROR_NO_DATA,
        library.NVML_ERROR_NOT_FOUND,
    )
    try:
        return call()
    except library.NVMLError as error:
        if error.value in unknown:
            return None
        raise
