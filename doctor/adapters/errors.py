"""What can be wrong with a file that a change is to be written into."""

from __future__ import annotations


class AdapterError(ValueError):
    """One line that names the place, and what stands there that cannot be read or changed."""


class Unavailable(AdapterError):
    """The framework has no setting for what is wanted; `zh` says the same in Chinese."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.zh = zh
