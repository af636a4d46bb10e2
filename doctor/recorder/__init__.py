"""A recorder inside a training job: where a step's time goes, what holds memory, how often gradients are reduced.

    from doctor import recorder
    recorder.attach(model, optimizer)

It needs nothing but the job's own torch (2.1 or newer, Python 3.10 or newer), writes one small file a rank, never waits
for the GPU or the disk within a step, and never raises: after an error of its own it says so once and is off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from doctor.recorder import place
from doctor.recorder.recorder import Recorder
from doctor.recorder.trainer import callback

__all__ = ["attach", "attach_trainer", "data", "detach", "expert_tokens", "loss", "step"]

_current: Recorder | None = None


def attach(model: Any, optimizer: Any = None, folder: str | None = None, every: int = 10) -> None:
    """Records the training of `model` (a module, a wrapper of one, an engine, or a list of chunks) by `optimizer`.

    `folder`: where the files go; else PDOCTOR_RECORD (0 or off: nothing is recorded), else a folder beside the job's
    working directory's files. `every`: of so many steps one tells the loads of experts. Further calls add models.
    """
    global _current
    try:
        if _current is None or _current.pid != os.getpid():
            chosen = place.folder(folder)
            if chosen is None:
                return
            _current = Recorder(chosen, every)
        _current.attach(model, optimizer)
    except Exception as error:  # whatever happens here, the job goes on
        if _current is not None:
            _current.stop(error)
        else:
            print(f"pdoctor recorder: off: {type(error).__name__}: {error}", file=sys.stderr)


def attach_trainer(trainer: Any, folder: str | None = None, every: int = 10) -> None:
    """Records a Trainer of Hugging Face from the beginning of its training."""
    try:
        trainer.add_callback(callback(trainer, lambda model, optimizer: attach(model, optimizer, folder, every), loss))
    except Exception as error:
        print(f"pdoctor recorder: off: {type(error).__name__}: {error}", file=sys.stderr)


def step() -> None:
    """Marks the end of a step, where no optimizer that was attached does."""
    if _current is not None:
        _current.step_by_hand()


def loss(value: Any) -> None:
    """The loss of this step: a number, or a tensor, which is read later and not waited for."""
    if _current is not None:
        _current.loss(value)


def expert_tokens(layer: Any, counts: Any) -> None:
    """Tokens that each expert of `layer` gets in this step on this rank: a sequence of numbers or a tensor."""
    if _current is not None:
        _current.expert_tokens(layer, counts)


@contextmanager
def data() -> Iterator[None]:
    """Around what waits for a batch, where that is no DataLoader of torch."""
    begin = perf_counter()
    try:
        yield
    finally:
        if _current is not None:
            _current.waited(perf_counter() - begin)


def detach() -> None:
    """Writes what is left and ends the recording."""
    global _current
    if _current is not None:
        _current.close()
    _current = None
