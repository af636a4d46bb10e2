"""Lines of rich text as strips of exactly one width: what every scrolling widget here draws."""

from __future__ import annotations

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip


def strip_of(text: Text, console: Console, start: int, width: int, style: Style) -> Strip:
    """The cells `start` to `start + width` of a line, the rest filled; wide characters are cut as spaces. A line that
    goes on beyond them ends in an ellipsis."""
    segments = [segment for segment in text.render(console) if not segment.control and segment.text != "\n"]
    # A text without spans is rendered without its own style.
    own = style + console.get_style(text.style, default="") if text.style else style
    strip = Strip(segments).apply_style(own)
    if width > 1 and strip.cell_length > start + width:
        return Strip.join([strip.crop(start, start + width - 1), Strip([Segment("…", own)], 1)])
    return strip.crop_extend(start, start + width, style)
