"""How a watch stands, in two lines that are looked at again and again: does the job live, and does it still write?"""

from __future__ import annotations

from rich.text import Text

from doctor.messages import say
from doctor.session.watch.source import Standing
from doctor.views import present
from doctor.views.safe import visible
from doctor.views.watch_text import BETWEEN, clock, read, standing

RUNS, ENDED = ("▸", "bold blue"), ("■", "bold")


def how_it_stands(now: Standing, lang: str) -> Text:
    """The time, whether it is still watched and else how it ended, then what is known of the job."""
    symbol, style = RUNS if now.end is None else ENDED
    line = Text(f"{symbol} {clock(now.status.at)} ", style)
    line.append(say(lang, "watch.goes_on" if now.end is None else f"watch.end.{now.end}"), style)
    parts = standing(now.status, lang)
    if now.attempt is not None:
        parts.insert(0, say(lang, "watch.episode", n=now.attempt))
    for part in parts:
        wrong = part is parts[-1] and (now.status.findings > 0 or now.status.unexplained)
        line.append(BETWEEN, "dim").append(visible(part), "bold red" if wrong else "")
    return line


def what_it_wrote(now: Standing, lang: str) -> Text:
    """When its last line was read, and how much in all."""
    if now.heard_at is None:
        return Text(say(lang, "watch.silent_yet"), "dim")
    ago = present.seconds(max(now.status.at - now.heard_at, 0.0), lang)
    return Text(say(lang, "watch.last_line", ago=ago) + BETWEEN + read(now.status, lang), "dim")
