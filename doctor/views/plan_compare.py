"""A plan as two jobs side by side: layout, memory by stage, bubble, communication by role, step time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.text import Text

from doctor.messages import say
from doctor.planner.assess import ROLES, Assessment
from doctor.session.report import Report
from doctor.session.timeline import timeline_of
from doctor.views import plan_report
from doctor.views import plan_words as words
from doctor.views.page import Page
from doctor.views.plan_bars import legend, memory_bar, shown_stages
from doctor.views.plan_text import MEMORY, effect_lines
from doctor.views.timeline import draw_timeline

if TYPE_CHECKING:
    from doctor.session.plan import Planned

HEAD, LEAST = 16, 24
"""Columns of a row's name; columns that both jobs need at least, to stand side by side."""


def compare(page: Page, planned: Planned, report: Report, lang: str) -> None:
    """Writes the job as it is, and beside it (below it, where the page is narrow) the job with the plan."""
    before = planned.before
    if before is None:
        return
    after = planned.plan.effect.after if planned.plan else None
    jobs = [(say(lang, "tui.plan.now"), before)]
    if after is not None:
        jobs.append((say(lang, "tui.plan.then"), after))
    _Table(page, lang, jobs).write()
    timeline = timeline_of((after or before).job)
    if timeline is not None:
        page.blank()
        draw_timeline(page, timeline, lang)
    if planned.plan is not None:
        page.blank()
        for line in effect_lines(planned.plan.effect, lang):
            page.wrapped(f"· {line}", hang=2)
        for line in plan_report.rejected_lines(planned.plan, report, lang):
            page.wrapped(f"× {line}", hang=2, style="yellow")


class _Table:
    def __init__(self, page: Page, lang: str, jobs: list[tuple[str, Assessment]]) -> None:
        self.page, self.lang, self.jobs = page, lang, jobs
        self.wide = max((page.width - HEAD) // max(len(jobs), 1) - 1, LEAST)

    def write(self) -> None:
        self._row("", [Text(name, "bold") for name, _ in self.jobs])
        self._each("plan.head.layout", lambda job: Text(words.degrees(job.job)))
        self._each("plan.column.micro", lambda job: Text(f"{job.job.micro_batch} × {job.job.micro_batches}"))
        self._each("plan.column.recompute", lambda job: Text(words.recompute(job.job, self.lang)))
        self._stages()
        self._each("plan.head.step", self._time)
        self._each("plan.column.bubble", lambda job: Text(words.share(job.bubble)))
        for role in ROLES:
            if any(role in job.exposed for _, job in self.jobs):
                self._each(f"plan.time.{role}", lambda job, role=role: self._exposed(job, role))  # type: ignore[misc]
        self.page.wrapped(legend([(name, say(self.lang, f"plan.part.{name}")) for name in MEMORY]), indent=2)

    def _time(self, job: Assessment) -> Text:
        time = job.time
        if time is None:
            return Text("—")
        return Text(f"{words.seconds(time.likely)} s ({words.seconds(time.low)}–{words.seconds(time.high)})")

    def _exposed(self, job: Assessment, role: str) -> Text:
        seconds = job.exposed.get(role, 0.0)
        share = f"  {words.share(seconds / job.time.likely)}" if job.time and job.time.likely else ""
        return Text(f"{words.seconds(seconds)} s{share}")

    def _stages(self) -> None:
        """A row a stage of either job; alike neighbours are one."""
        rows = [shown_stages(job) for _, job in self.jobs]
        for number in range(max(len(each) for each in rows)):
            cells, names = [], []
            for (_, job), stages in zip(self.jobs, rows, strict=True):
                if number >= len(stages):
                    cells.append(Text())
                    continue
                first, last = stages[number]
                stage = max(job.stages[first : last + 1], key=lambda each: each.high)
                limit = job.job.cluster.gpu.memory
                scale = max(limit * 1.02, max(each.device for _, one in self.jobs for each in one.stages))
                told = f" {words.gib(stage.device)}/{words.gib(limit)}"
                bar = memory_bar(stage, limit, scale, max(self.wide - len(told) - 1, 8))
                cells.append(bar.append(told, "bold red" if stage.high > limit else ""))
                names.append(say(self.lang, "plan.stage", number=first) if last == first else f"{first}–{last}")
            many = any(len(job.stages) > 1 for _, job in self.jobs)
            head = say(self.lang, "plan.head.memory") if not many else f"GiB {' / '.join(dict.fromkeys(names))}"
            self._row(head, cells)

    def _each(self, key: str, of: Callable[[Assessment], Text]) -> None:
        cells = [of(job) for _, job in self.jobs]
        same = len(cells) > 1 and cells[0].plain == cells[1].plain
        if len(cells) > 1 and not same:
            cells[1].stylize("bold")
        self._row(say(self.lang, key), cells)

    def _row(self, head: str, cells: list[Text]) -> None:
        beside = HEAD + len(cells) * (self.wide + 1) <= self.page.width
        line = Text().append(head, "dim")  # a style of the whole line would be that of its cells too
        line.truncate(HEAD - 1, overflow="ellipsis")
        line.pad_right(HEAD - line.cell_len)
        if beside or len(cells) == 1:
            for cell in cells:
                cell.truncate(self.wide, overflow="ellipsis")
                cell.pad_right(self.wide + 1 - cell.cell_len)
                line += cell
            self.page.row(line)
            return
        for number, cell in enumerate(cells):
            self.page.row((line if number == 0 else Text(" " * (HEAD - 2) + "→ ")) + cell)
