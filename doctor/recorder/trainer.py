"""Attaches to a Trainer of Hugging Face, which makes its optimizer only when training begins."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def callback(trainer: Any, attach: Callable[[Any, Any], None], loss: Callable[[Any], None]) -> Any:
    """A callback that attaches to the wrapped model at the beginning of training, and hands on the losses it logs."""
    base: Any = import_module("transformers").TrainerCallback

    class Recording(base):  # type: ignore[misc]
        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            model = getattr(trainer, "model_wrapped", None) or given.get("model")
            attach(model, given.get("optimizer"))

        def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            logged = given.get("logs") or {}
            if "loss" in logged:
                loss(logged["loss"])

    return Recording()
