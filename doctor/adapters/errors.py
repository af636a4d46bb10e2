"""What can be wrong with a file that a change is to be written into, in both languages of a report."""

from __future__ import annotations

from typing import Self

from doctor.rulebase.model import Text


class AdapterError(ValueError):
    """One line that names the place, and what stands there that cannot be read or changed."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en, zh)
        self.text = Text(en, zh)

    def __str__(self) -> str:
        return self.text.en

    @classmethod
    def at(cls, line: int | None, en: str, zh: str) -> Self:
        """The same with the line, where it is known."""
        return cls(f"line {line}: {en}", f"第 {line} 行：{zh}") if line else cls(en, zh)


class Unavailable(AdapterError):
    """The framework has no setting for what is wanted."""
