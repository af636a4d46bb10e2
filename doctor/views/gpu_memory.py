"""Who holds the memory of each GPU, as text and as JSON."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from doctor.messages import say
from doctor.session.gpu_memory import Compared, GpuMemory, picture_of
from doctor.views import present
from doctor.views.bars import cells
from doctor.views.page import Page

MOST = 16


def draw_gpu_memory(page: Page, found: tuple[GpuMemory, ...], lang: str, everything: bool = False) -> None:
    """A bar a GPU where its size is known, then the sizes; GPUs that only the driver tells of when all is asked for."""
    told = [one for one in found if one.rank is not None or everything]
    if not told:
        return
    page.blank()
    page.wrapped(say(lang, "picture.gpu_memory"), style="dim")
    shown = told if everything else told[:MOST]
    for one in shown:
        entities = [entity for entity in (one.rank, one.gpu) if entity is not None]
        label = present.places(entities, lang)
        line = Text(f"  {label:<20} ")
        if (picture := picture_of((one,))) is not None:
            line = Text(f"  {label}  {present.size(picture.bars[0].bytes):<10} ") + cells(picture.bars[0])
        page.row(line)
        page.wrapped(_words(one, lang), indent=4, style="dim")
        if one.apart:
            page.wrapped(say(lang, f"gpu_memory.{one.apart}"), indent=4, style="dim")
        if one.compared:
            page.wrapped(_compared(one.compared, lang), indent=4, style="dim")
    if len(shown) < len(told):
        page.wrapped(say(lang, "picture.more", n=len(told) - len(shown)), indent=2, style="dim")


def gpu_memory_data(found: tuple[GpuMemory, ...]) -> list[dict[str, Any]]:
    """The same as JSON; null is what nobody told."""
    return [
        {
            "gpu": one.gpu,
            "rank": one.rank,
            "total": one.total,
            "parts": [{"what": amount.kind, "bytes": amount.bytes} for amount in one.amounts],
            "predicted": [
                {"what": row.kind, "measured": row.measured, "predicted": row.predicted} for row in one.compared
            ],
            "apart": one.apart or None,
        }
        for one in found
    ]


def _words(one: GpuMemory, lang: str) -> str:
    words = []
    for amount in one.amounts:
        size = present.size(amount.bytes) if amount.bytes is not None else say(lang, "gpu_memory.unknown")
        words.append(f"{say(lang, f'part.gpu_{amount.kind}')} {size}")
    return say(lang, "picture.between").join(words)


def _compared(rows: tuple[Compared, ...], lang: str) -> str:
    words = []
    for row in rows:
        measured = present.size(row.measured) if row.measured is not None else say(lang, "gpu_memory.unknown")
        name = say(lang, f"gpu_memory.part.{row.kind}")
        words.append(f"{name} {measured} ({present.size(row.predicted)})")
    return say(lang, "gpu_memory.compared", rows=say(lang, "picture.between").join(words))
