"""Bars of a plan: what holds the memory of a stage, what takes the time of a step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.text import Text

from doctor.planner.assess import Assessment
from doctor.planner.memory.breakdown import StageMemory

# Told apart without colour too.
FILLS: Mapping[str, tuple[str, str]] = {
    "parameters": ("█", "blue"),
    "gradients": ("▓", "cyan"),
    "optimizer": ("▒", "magenta"),
    "activations": ("░", "yellow"),
    "other": ("▪", "white"),
}
FREE, END, BEYOND = "·", "|", "bold red"


def parts(stage: StageMemory) -> dict[str, float]:
    """B by what a bar shows apart."""
    named = {name: getattr(stage, name) for name in ("parameters", "gradients", "optimizer", "activations")}
    return {**named, "other": stage.device - sum(named.values())}


def memory_bar(stage: StageMemory, capacity: float, scale: float, width: int) -> Text:
    """A stage against the capacity, whose end is marked; `scale` B fill the whole `width`."""
    limit = min(width, round(capacity / scale * width))
    bar = Text()
    drawn, total = 0, 0.0
    for name, amount in parts(stage).items():
        total += max(0.0, amount)
        upto = min(width, round(total / scale * width))
        char, style = FILLS[name]
        bar.append(char * max(0, upto - drawn), style)
        drawn = max(drawn, upto)
    bar.append(FREE * (width - drawn), "dim")
    if limit < width:
        bar = bar[:limit] + Text(END, BEYOND if drawn > limit else "bold") + bar[limit:]
    return bar


def legend(names: Iterable[tuple[str, str]]) -> Text:
    """What the fillings mean; `names` pairs them with words."""
    line = Text()
    for name, word in names:
        char, style = FILLS[name]
        line.append(f"{char} ", style).append(f"{word}  ", "dim")
    line.rstrip()
    return line


def shown_stages(assessment: Assessment, most: int = 4) -> list[tuple[int, int]]:
    """Ranges of stages (first, last) to draw: like neighbours as one, at most `most`, the fullest among them."""
    stages = assessment.stages
    groups: list[tuple[int, int]] = []
    for number, stage in enumerate(stages):
        if groups and abs(stage.device - stages[groups[-1][0]].device) < 0.005 * stage.device:
            groups[-1] = (groups[-1][0], number)
        else:
            groups.append((number, number))
    if len(groups) <= most:
        return groups
    fullest = next(group for group in groups if group[0] <= assessment.fullest.stage <= group[1])
    keep = dict.fromkeys([groups[0], groups[1], fullest, groups[-1]])
    return sorted(keep)
