"""Tells the progress bar of a training loop from those of loading, saving, evaluation and data preparation."""

from __future__ import annotations

TRAINING = ("train", "epoch", "step", "iter", "loss")
OTHER = (
    *("eval", "valid", "val_", "val ", "predict", "test", "gener", "load", "sav", "shard", "download"),
    *("map", "token", "prepro", "filter", "pack"),
)


def is_training(label: str) -> bool:
    """A bar without a label is the training loop of the Hugging Face Trainer; labelled ones must say so."""
    words = label.lower()
    if any(word in words for word in OTHER):
        return False
    return not words or any(word in words for word in TRAINING)
