"""A plan as text: today's layout, how to find one, the candidates, what to measure, what to change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

from rich.text import Text

from doctor.messages import say, say_count
from doctor.planner.assess import Assessment
from doctor.planner.effect import Effect
from doctor.planner.job import Recompute
from doctor.planner.knobs import STAGES_OF_ZERO
from doctor.planner.parameters import total
from doctor.planner.pareto import Candidate
from doctor.planner.planning import Planning
from doctor.planner.step_time import PARTS
from doctor.planner.trace import LARGE_BUBBLE, Step
from doctor.session.change import FileChange
from doctor.views import plan_words as words
from doctor.views.page import Page
from doctor.views.plan_bars import legend, memory_bar, shown_stages
from doctor.views.safe import visible

COLUMN = 12
BAR = 34
STEPS, SKIPPED = 30, 10
MEMORY = ("parameters", "gradients", "optimizer", "activations", "other")


def print_plan(
    planning: Planning, file: IO[str], lang: str, color: bool = True, files: Sequence[FileChange] = ()
) -> None:
    """Writes the plan to `file`. files: changes of the user's own files, where there are any."""
    PlanText(planning, lang, Page()).compose(files).print(file, color)


class PlanText:
    """Composes the page, one part after the other."""

    def __init__(self, planning: Planning, lang: str, page: Page) -> None:
        self.planning, self.lang, self.page = planning, lang, page

    def say(self, key: str, **values: object) -> str:
        return say(self.lang, key, **values)

    def compose(self, files: Sequence[FileChange] = ()) -> Page:
        planning = self.planning
        self.job()
        if planning.today is not None:
            self.page.blank()
            head = "plan.head.today" if planning.change or planning.found else "plan.head.layout"
            self.assessment(head, planning.today)
        if planning.change is not None:
            self.page.blank()
            self.assessment("plan.head.after", planning.change.after)
            self.page.blank()
            self.effect(planning.change)
        if planning.found is not None:
            self.strategy(planning.steps)
            self.candidates()
            self.measure()
            if not files:
                self.change()
        if files:
            self.page.blank()
            show_files(self.page, files, self.lang, self.say("plan.head.change"), COLUMN)
        return self.page

    def job(self) -> None:
        base, page = self.planning.base, self.page
        cluster = base.cluster
        params = words.short(total(base.shape))
        model = self.say("plan.model", name=visible(base.shape.name), params=params, layers=base.shape.layers)
        page.wrapped(Text(model, "bold"))
        page.wrapped(
            self.say(
                "plan.machines",
                gpus=f"{cluster.gpus:,}", gpu=cluster.gpu.name, memory=words.gib(cluster.gpu.memory),
                per_node=cluster.per_node, framework=self.planning.framework.name,
            )
        )  # fmt: skip
        page.wrapped(
            self.say(
                "plan.batch",
                seq=f"{base.seq:,}", batch=f"{base.global_batch:,}", tokens=words.short(base.seq * base.global_batch),
                precision=base.precision.value,
            )
        )  # fmt: skip
        if self.planning.assumed:
            told = ", ".join(f"{name.removeprefix('config.')} = {value}" for name, value in self.planning.assumed)
            page.beside(self.say("plan.head.assumed"), told, COLUMN, indent=0, style="dim")

    def assessment(self, head: str, assessment: Assessment) -> None:
        """One job: layout, memory by stage, step time by part."""
        job, page = assessment.job, self.page
        layout = self.say("plan.layout", degrees=words.degrees(job), micro=job.micro_batch, m=job.micro_batches)
        page.beside(self.say(head), Text(layout, "bold"), COLUMN, indent=0)
        kept = self.say(f"plan.sharding.{job.sharding.value}")
        page.beside("", self.say("list.and").join([kept, words.recompute(job, self.lang)]), COLUMN, indent=0)
        for line in assessment.problems:
            page.beside(self.say("plan.head.refused"), Text(line.get(self.lang), "bold red"), COLUMN)
        self.memory(assessment)
        self.time(assessment)

    def memory(self, assessment: Assessment) -> None:
        capacity = assessment.job.cluster.gpu.memory
        scale = max(capacity * 1.02, max(stage.device for stage in assessment.stages))
        head = self.say("plan.head.memory")
        many = len(assessment.stages) > 1
        room = max(10, min(BAR, self.page.width - COLUMN - 12 - 34))
        for first, last in shown_stages(assessment):
            stage = max(assessment.stages[first : last + 1], key=lambda each: each.high)
            name = self.say("plan.gpu") if not many else self.say("plan.stage", number=first)
            if last > first:
                name = self.say("plan.stages", first=first, last=last)
            line = Text(name)
            line.pad_right(max(1, 12 - line.cell_len))
            line.append(memory_bar(stage, capacity, scale, room))
            sizes = self.say(
                "plan.of", usual=words.gib(stage.device), capacity=words.gib(capacity), high=words.gib(stage.high)
            )
            line.append(f" {sizes}")
            self.page.beside(head, line, COLUMN)
            head = ""
        names = [(name, self.say(f"plan.part.{name}")) for name in MEMORY]
        self.page.beside("", legend(names), COLUMN)
        verdict = {True: "", False: "plan.over", None: "plan.perhaps"}[assessment.fits]
        if verdict:
            self.page.beside("", Text(self.say(verdict), "bold red"), COLUMN)

    def time(self, assessment: Assessment) -> None:
        time, head = assessment.time, self.say("plan.head.step")
        if time is None:
            self.page.beside(head, self.say("plan.untimed", why=assessment.untimed), COLUMN)
            return
        mfu = assessment.mfu
        whole = self.say(
            "plan.time",
            likely=words.seconds(time.likely), low=words.seconds(time.low), high=words.seconds(time.high),
            mfu=self.say("plan.mfu", share=words.share(mfu)) if mfu else "",
        )  # fmt: skip
        self.page.beside(head, Text(whole, "bold"), COLUMN)
        pieces = sorted(((time.parts[name], name) for name in PARTS), reverse=True)
        told = [
            self.say("plan.piece", name=self.say(f"plan.time.{name}"), seconds=words.seconds(amount))
            for amount, name in pieces
            if amount >= 0.005 * time.likely
        ]
        self.page.beside("", self.say("list.and").join(told), COLUMN)
        if assessment.job.layout.pp > 1:
            self.page.beside("", self.say("plan.bubble", share=words.share(assessment.bubble)), COLUMN)

    def effect(self, effect: Effect) -> None:
        head = self.say("plan.head.effect")
        for line in effect_lines(effect, self.lang):
            self.page.beside(head, line, COLUMN, indent=0)
            head = ""

    def strategy(self, steps: Sequence[Step]) -> None:
        """The moves; of several of one kind in a row only where they lead."""
        self.page.blank()
        head, number = self.say("plan.head.why"), 0
        for position, step in enumerate(steps):
            if position + 1 < len(steps) and steps[position + 1].key == step.key:
                continue
            number += 1
            self.page.beside(head, f"{number}. {step_text(step, self.lang)}", COLUMN, indent=0)
            head = ""
        best, last = self.planning.chosen, next((step.job for step in reversed(steps) if step.job), None)
        if self.planning.held:
            told = self.say("plan.why.held", names=", ".join(self.planning.held))
            self.page.beside("", visible(told), COLUMN, indent=0, style="dim")
        elif best is not None and last is not None and words.degrees(best.job) != words.degrees(last):
            self.page.beside("", self.say("plan.why.search"), COLUMN, indent=0, style="dim")

    def candidates(self) -> None:
        found = self.planning.found
        assert found is not None
        self.page.blank()
        counts = {
            "layouts": found.layouts,
            "considered": found.considered,
            "too_big": found.too_big,
        }
        told = self.say("plan.searched", **{name: f"{count:,}" for name, count in counts.items()})
        self.page.beside(self.say("plan.head.candidates"), told, COLUMN, indent=0)
        if not found.best:
            self.page.wrapped(self.say("plan.none.near"), style="bold red", indent=2)
            return
        for line in _table(found.best, self.planning.chosen, self.lang, self.page.width):
            self.page.row(line)
        best = self.planning.chosen
        if best is not None and not best.fits:
            high, capacity = words.gib(best.peak), words.gib(best.job.cluster.gpu.memory)
            self.page.wrapped(self.say("plan.none", high=high, capacity=capacity), style="bold red", indent=2)
        else:
            self.page.wrapped(self.say("plan.legend"), style="dim", indent=2)
        if len(self.planning.tied) > 1:
            self.page.wrapped(say_count(self.lang, "plan.tied", len(self.planning.tied) - 1), indent=2)

    def measure(self) -> None:
        picked = self.planning.to_measure
        if not picked:
            return
        self.page.blank()
        told = self.say("plan.measure", steps=STEPS, skip=SKIPPED)
        self.page.beside(self.say("plan.head.measure"), told, COLUMN, indent=0)
        for candidate in picked:
            for number, line in enumerate(words.command(candidate.job, self.planning.framework, STEPS)):
                self.page.raw(line, 2 if number == 0 or line.startswith("#") else 4)
        self.page.beside("", self.say("plan.measure.read"), COLUMN, style="dim")
        self.page.beside("", self.say("plan.measure.noise"), COLUMN, style="dim")

    def change(self) -> None:
        best = self.planning.chosen
        if best is None:
            return
        self.page.blank()
        told = self.say("plan.change.flags", framework=self.planning.framework.name)
        self.page.beside(self.say("plan.head.change"), told, COLUMN, indent=0)
        for line in words.flags(best.job, self.planning.framework):
            self.page.raw(line, 2)


def show_files(page: Page, files: Sequence[FileChange], lang: str, head: str, column: int) -> None:
    """Diffs, each line whole, and what to know about them."""
    for change in files:
        page.beside(head, say(lang, "plan.change.file", path=change.path), column, indent=0)
        for line in change.diff.splitlines():
            page.raw(line)
        for note in change.notes:
            told = note.zh if lang == "zh" else note.en
            named = told.startswith((note.knob, "检查点"))
            page.beside("", told if named else f"{note.knob}: {told}", column, style="dim")
        head = ""


def step_text(step: Step, lang: str) -> str:
    """A move of the strategy in words."""
    values: dict[str, Any] = dict(step.values)
    key = step.key
    if key == "trace.whole":
        key += ".one" if values["gpus"] <= 1 else ""
        values["params"] = words.short(values["parameters"])
        values["each"] = f"{values['each']:.4g}"
    if key == "trace.bubble" and values["bubble"] > LARGE_BUBBLE:
        key += ".large"
    unsure = key != "trace.stuck.perhaps" and values.get("peak", 0) <= values["capacity"] < values.get("high", 0)
    for name in ("states", "capacity", "peak", "high", "activations"):
        if name in values:
            values[name] = words.gib(values[name])
    if unsure:
        values["peak"] = say(lang, "trace.peak", peak=values["peak"], high=values["high"])
    if "bubble" in values:
        values["bubble"] = words.share(values["bubble"])
    if step.job is not None:
        values["link"] = "Infinity Fabric" if step.job.cluster.gpu.name.startswith("MI") else "NVLink"
        values["sharding"] = say(lang, f"plan.sharding.{step.job.sharding.value}")
        values["recompute"] = words.recompute(step.job, lang)
    for name in ("gpus", "have", "batch"):
        if name in values:
            values[name] = f"{values[name]:,}"
    return say(lang, key, **values)


def effect_lines(effect: Effect, lang: str) -> list[str]:
    """What changes, what that does, and what goes with it."""
    before, after = effect.before, effect.after
    lines = [
        say(lang, "plan.changed", name=name, old=words.value(old), new=words.value(new))
        for name, (old, new) in effect.changes.items()
    ]
    lines.append(
        say(
            lang, "plan.effect.memory", before=words.gib(before.fullest.device), after=words.gib(after.fullest.device),
            low=words.gib(after.fullest.low), high=words.gib(after.fullest.high),
        )
    )  # fmt: skip
    if after.fits is not True:
        capacity = words.gib(after.job.cluster.gpu.memory)
        key = "plan.effect.unfit" if after.fits is False else "plan.effect.perhaps"
        lines.append(say(lang, key, high=words.gib(after.fullest.high), capacity=capacity))
    if before.time and after.time and effect.speed:
        lines.append(
            say(
                lang, "plan.effect.time", before=words.seconds(before.time.likely),
                after=words.seconds(after.time.likely), change=words.change(effect.speed),
            )
        )  # fmt: skip
        old, new = sum(before.exposed.values()), sum(after.exposed.values())
        lines.append(say(lang, "plan.effect.waits", before=words.seconds(old), after=words.seconds(new)))
    if abs(before.bubble - after.bubble) > 0.0005:
        lines.append(
            say(lang, "plan.effect.bubble", before=words.share(before.bubble), after=words.share(after.bubble))
        )
    if effect.batch_changes:
        sizes = {"before": before.job.global_batch, "after": after.job.global_batch}
        lines.append(say(lang, "plan.effect.batch", **sizes))
    lines.append(say(lang, "plan.effect.reshard" if effect.reshards else "plan.effect.restart"))
    return lines


def _table(candidates: Sequence[Candidate], best: Candidate | None, lang: str, width: int) -> list[Text]:
    """Candidates, one a line, fastest first. Columns in which none differs from 1 are left out, and on narrow terminals
    those that tell least; what risks a candidate has stands below it where there is no room beside it."""
    first = candidates[0].job
    moe = first.shape.moe is not None
    columns: list[tuple[str, list[str]]] = [("", [">" if c is best else "" for c in candidates])]
    for name in ("tp", "cp", "pp", "vpp", "dp", "ep", "etp", "shard"):
        values = [str(getattr(c.job.layout, name)) for c in candidates]
        plain = {"0"} if name == "shard" else {"1"}
        if set(values) != plain and (moe or name not in ("ep", "etp")):
            columns.append((name if name in ("vpp", "shard") else name.upper(), values))
    columns.append((say(lang, "plan.column.micro"), [str(c.job.micro_batch) for c in candidates]))
    if any(c.job.recompute is not Recompute.NONE for c in candidates):
        columns.append((say(lang, "plan.column.recompute"), [c.job.recompute.value for c in candidates]))
    if len({c.job.sharding for c in candidates}) > 1:
        columns.append(
            (say(lang, "plan.column.shard"), [str(STAGES_OF_ZERO.index(c.job.sharding)) for c in candidates])
        )
    columns += [
        (say(lang, "plan.column.memory"), [f"{words.gib(c.usual)} ({words.gib(c.peak)})" for c in candidates]),
        (
            say(lang, "plan.column.step"),
            [f"{words.seconds(c.likely)} ({words.seconds(c.low)}-{words.seconds(c.high)})" for c in candidates],
        ),
        (say(lang, "plan.column.bubble"), [words.share(c.bubble) for c in candidates]),
        (say(lang, "plan.column.waits"), [words.share(c.waits) for c in candidates]),
    ]
    rows = _rows(columns)
    while max(row.cell_len for row in rows) > width and columns[-1][0] != say(lang, "plan.column.step"):
        columns.pop()
        rows = _rows(columns)
    lines = rows[:1]
    for row, candidate in zip(rows[1:], candidates, strict=True):
        told = words.risks(candidate, lang)
        beside = row.cell_len + 1 + Text(told).cell_len <= width
        style = "bold" if candidate is best else "" if candidate.fits else "dim"
        shown = [row + Text(f" {told}") if told and beside else row]
        shown += [Text(f"      {told}")] if told and not beside else []
        for line in shown:
            line.stylize(style)
        lines += shown
    return lines


def _rows(columns: Sequence[tuple[str, list[str]]]) -> list[Text]:
    """Heading and lines of a table, numbers at the right of their columns."""
    rows = [Text("  ") for _ in range(len(columns[0][1]) + 1)]
    for position, (title, values) in enumerate(columns):
        cells = [Text(title, "dim"), *(Text(value) for value in values)]
        wide = max(cell.cell_len for cell in cells)
        for row, cell in zip(rows, cells, strict=True):
            row.append(" " if position else "").append(" " * (wide - cell.cell_len)).append(cell)
    return rows
