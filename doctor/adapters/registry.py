"""All adapters, and the one that a file is for."""

from __future__ import annotations

from doctor.adapters import (
    accelerate,
    deepspeed,
    hf,
    llamafactory,
    megatron,
    nemo,
    swift,
    torchtitan,
    verl,
)
from doctor.adapters.errors import AdapterError
from doctor.adapters.model import Adapter

LARGEST = 1024 * 1024

# What trains before what it trains with: ms-swift takes Megatron's names, LLaMA-Factory the trainer's.
ADAPTERS: tuple[Adapter, ...] = tuple(
    module.ADAPTER for module in (verl, swift, llamafactory, torchtitan, nemo, megatron, deepspeed, accelerate, hf)
)


def adapter_for(path: str, text: str) -> Adapter | None:
    """The adapter whose framework the file configures, None where it is none that is known."""
    if len(text) > LARGEST or "\0" in text:
        return None
    return next((adapter for adapter in ADAPTERS if adapter.recognises(path, text)), None)


def adapter_named(name: str) -> Adapter:
    """The adapter of that name. Raises AdapterError that lists the known ones."""
    for adapter in ADAPTERS:
        if adapter.name == name:
            return adapter
    known = ", ".join(adapter.name for adapter in ADAPTERS)
    raise AdapterError(
        f"{name!r} is no framework with an adapter; known are {known}", f"没有 {name!r} 的适配器；已知的有 {known}"
    )


def decoded(data: bytes) -> str:
    """The text of a file, every byte kept so that it can be written back. Raises AdapterError for what is not text."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise AdapterError(
            "the file is UTF-16; save it as UTF-8 to have it changed", "文件是 UTF-16；存为 UTF-8 后才能修改"
        )
    if b"\0" in data[:65536]:
        raise AdapterError("the file is binary, no configuration", "文件是二进制，不是配置")
    return data.decode("utf-8", errors="surrogateescape")


def encoded(text: str) -> bytes:
    """The bytes of a text that came from `decoded`."""
    return text.encode("utf-8", errors="surrogateescape")
