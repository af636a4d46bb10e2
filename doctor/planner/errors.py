"""What a user can get wrong when a job is described, in both languages of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from doctor.messages_reasons import TEXTS
from doctor.rulebase.errors import nearest
from doctor.rulebase.model import Text


class PlanError(ValueError):
    """One line that names the value, where it stands, and what would be right."""

    def __init__(self, text: Text) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return self.text.en


def reason(key: str, **values: object) -> Text:
    """The text `key` of the catalogue with its places filled; texts among the values are filled in by language."""
    return Text(*(_filled(template, lang, values) for template, lang in zip(TEXTS[key], ("en", "zh"), strict=True)))


def hint(name: str, known: Iterable[str]) -> Text | str:
    """`, did you mean X?` where something of `known` is close to the name."""
    close = nearest(name, known)
    return reason("reason.hint", name=close) if close else ""


def _filled(template: str, lang: str, values: Mapping[str, object]) -> str:
    return template.format(**{name: v.get(lang) if isinstance(v, Text) else v for name, v in values.items()})
