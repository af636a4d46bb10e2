"""Draws bars of shares as text: one line a bar, then what its parts are."""

from __future__ import annotations

from rich.text import Text

from doctor.messages import say
from doctor.session.pictures import Bar, Picture
from doctor.views import present
from doctor.views.page import Page

LENGTH, MOST = 32, 16
"""Cells of a bar; bars that are drawn unless all are asked for."""

MARKS = {
    "compute": ("█", "green"),
    "comm_tp": ("▓", "magenta"),
    "comm_pp": ("▓", "blue"),
    "comm_dp": ("▓", "yellow"),
    "comm_ep": ("▓", "red"),
    "comm_cp": ("▓", "cyan"),
    "comm_unknown": ("▓", "yellow"),
    "memory": ("▒", "blue"),
    "held_parameters": ("█", "green"),
    "held_parameter_buffers": ("█", "green"),
    "held_gradients": ("█", "cyan"),
    "held_optimizer_state": ("█", "blue"),
    "held_activations": ("▓", "yellow"),
    "held_logits": ("▓", "red"),
    "held_communication": ("▓", "magenta"),
    "held_temporary": ("▒", "cyan"),
    "gpu_allocated": ("█", "green"),
    "gpu_cached": ("▒", "cyan"),
    "gpu_fragmented": ("▓", "red"),
    "gpu_outside": ("▓", "magenta"),
    "gpu_others": ("▓", "yellow"),
    "gpu_outside_or_others": ("▓", "magenta"),
    "gpu_used": ("█", "blue"),
    "gpu_driver": ("▒", "dim"),
    "gpu_unknown": ("?", "dim"),
}
IDLE = ("·", "dim")
LEAST = 0.005
"""Shares below half a percent are drawn by no word."""


def draw(page: Page, picture: Picture, lang: str, everything: bool = False) -> None:
    """Writes the bars of `picture` on `page`."""
    page.blank()
    page.wrapped(say(lang, f"picture.{picture.kind}"), style="dim")
    shown = picture.bars if everything else picture.bars[:MOST]
    for bar in shown:
        label = f"{present.places([bar.entity], lang)}  {_whole(bar, lang)}"
        page.row(Text(f"  {label:<20} ") + cells(bar))
        page.wrapped(_words(bar, lang), indent=4, style="dim")
    if len(shown) < len(picture.bars):
        page.wrapped(say(lang, "picture.more", n=len(picture.bars) - len(shown)), indent=2, style="dim")


def _whole(bar: Bar, lang: str) -> str:
    return present.size(bar.bytes) if bar.bytes else present.seconds(bar.seconds, lang)


def cells(bar: Bar) -> Text:
    """The cells of a bar: parts end where their running sum rounds to, so the whole has its length."""
    line, done, total = Text(), 0, 0.0
    for part in bar.parts:
        total += part.share
        end = min(round(total * LENGTH), LENGTH)
        mark, style = MARKS.get(part.kind, IDLE)
        line.append(mark * max(end - done, 0), style)
        done = max(done, end)
    return line


def _words(bar: Bar, lang: str) -> str:
    told = [part for part in bar.parts if part.share >= LEAST]
    words = [f"{say(lang, f'part.{part.kind}')} {part.share:.1%}" for part in told]
    return say(lang, "picture.between").join(words)
