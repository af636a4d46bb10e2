"""Who holds the memory of each GPU, beside what the planner has for it."""

from __future__ import annotations

from doctor.session.gpu_memory import GpuMemory, memory_by_gpu, picture_of
from doctor.views import present
from doctor.views.html.context import Context, folded, table
from doctor.views.html.pictures import figure, labelled, legend
from doctor.views.markup import Markup, el, text
from doctor.views.svg import bars

DRAWN, UNFOLDED = 16, 240
"""GPUs that are drawn, and drawn in a fold."""


def gpu_memory(context: Context) -> Markup | None:
    """A bar a GPU whose size is known; what nobody told is said to be unknown."""
    found = memory_by_gpu(context.report.store)
    if not found:
        return None
    shown = [_gpu(context, one) for one in found[: DRAWN + UNFOLDED]]
    rest = shown[DRAWN:]
    more = folded(context.say("html.bars.more", n=len(rest)), rest) if rest else None
    left = len(found) - len(shown)
    hidden = el("p", context.say("html.bars.rest", n=left), class_="dim") if left > 0 else None
    drawn = picture_of(found)
    kinds = dict.fromkeys(part.kind for bar in (drawn.bars if drawn else ()) for part in bar.parts)
    entries = [(bars.key(kind), context.say(f"part.{kind}")) for kind in kinds]
    return figure(context.say("picture.gpu_memory"), *shown[:DRAWN], more, hidden, legend(entries))


def _gpu(context: Context, one: GpuMemory) -> Markup:
    name = present.places([entity for entity in (one.rank, one.gpu) if entity is not None], context.lang)
    words = [_sized(context, context.say(f"part.gpu_{amount.kind}"), amount.bytes) for amount in one.amounts]
    told = context.say("picture.between").join(words)
    drawn = picture_of((one,))
    bar = None
    if drawn is not None:
        whole = drawn.bars[0]
        pieces = [bars.Piece(p.kind, p.share, f"{context.say(f'part.{p.kind}')} {p.share:.1%}") for p in whole.parts]
        bar = labelled(name, bars.bar(pieces, f"{name}: {told}"), present.size(whole.bytes))
    apart = el("p", context.say(f"gpu_memory.{one.apart}"), class_="dim small") if one.apart else None
    lines = el("p", told if bar else f"{name}: {told}", class_="dim small")
    return text(bar, lines, apart, _compared(context, one))


def _sized(context: Context, name: str, count: int | None) -> str:
    return f"{name} {present.size(count) if count is not None else context.say('gpu_memory.unknown')}"


def _compared(context: Context, one: GpuMemory) -> Markup | None:
    """What was measured beside what the planner's model has."""
    if not one.compared:
        return None
    rows = []
    for row in one.compared:
        measured = present.size(row.measured) if row.measured is not None else context.say("gpu_memory.unknown")
        rows.append([context.say(f"gpu_memory.part.{row.kind}"), measured, present.size(row.predicted)])
    heads = [el("span", context.say("html.quantity"), class_="unseen"), context.say("html.measured")]
    return folded(context.say("html.against"), table([*heads, context.say("html.predicted")], rows, "num"))
