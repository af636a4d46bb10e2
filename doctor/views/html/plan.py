"""The plan: the job before and after, by layout, memory, time and communication, and the change that leads there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doctor.session.timeline import timeline_of
from doctor.views import plan_report
from doctor.views import plan_words as words
from doctor.views.html.context import Context, diff, section, table
from doctor.views.html.pictures import figure, labelled, legend
from doctor.views.markup import Child, Markup, el, text
from doctor.views.plan_bars import parts, shown_stages
from doctor.views.svg import bars, timeline

if TYPE_CHECKING:  # the planner is loaded for reports that hold something of it
    from doctor.planner.assess import Assessment
    from doctor.session.plan import Planned

MOST_PASSES = 2_000
"""Passes of a step that are drawn."""
TOLD = 0.005
"""Share of a step from which a part is drawn."""
ROLES = ("tp", "cp", "ep", "dp", "pp")
DRAWN_AS = {"memory": "operators", "optimizer": "update"}
"""Parts of a step whose names mean something else among the parts of memory."""


def plan(context: Context) -> Markup | None:
    """The section of the plan; None where the planner has nothing to show."""
    planned = context.report.planned
    if planned is None or planned.before is None:
        changes = _files(context)
        told = [el("p", line) for line in plan_report.together(context.report, context.lang)]
        return section("plan", context.say("html.plan"), told, changes) if changes else None
    after = planned.plan.effect.after if planned.plan else None
    columns = [(context.say("html.now"), planned.before)]
    columns += [(context.say("html.planned"), after)] if after else []
    return section(
        "plan",
        context.say(title(context)),
        [el("p", line) for line in plan_report.together(context.report, context.lang)],
        _compared(context, columns),
        _remarks(context, planned),
        _memory(context, columns),
        _time(context, columns),
        _roles(context, columns),
        _pipeline(context, columns),
        _files(context),
    )


def title(context: Context) -> str:
    """The key of the section's name: without a change there is but the job as it is."""
    planned = context.report.planned
    return "html.plan" if planned is None or planned.before is None or planned.plan else "html.plan.now"


Columns = Sequence[tuple[str, "Assessment"]]


def _compared(context: Context, columns: Columns) -> Markup:
    rows: list[tuple[str, Callable[[Context, Assessment], str]]] = [
        ("html.layout", _layout), ("html.states", _states), ("html.fullest", _fullest), ("html.step", _step),
        ("html.mfu", _mfu), ("html.exposed", _exposed), ("html.bubble", _bubble), ("html.batch", _batch),
    ]  # fmt: skip
    told = [[context.say(key), *(write(context, each) for _, each in columns)] for key, write in rows]
    shown = [_row(row) for row in told if any(row[1:])]
    return table(
        [el("span", context.say("html.quantity"), class_="unseen"), *(name for name, _ in columns)], shown, "compare"
    )


def _row(cells: Sequence[str]) -> list[Child]:
    """What a change alters stands out."""
    return [*cells[:2], *(el("b", cell) if cell != cells[1] else cell for cell in cells[2:])]


def _layout(context: Context, each: Assessment) -> str:
    return context.say(
        "plan.layout", degrees=words.degrees(each.job), micro=each.job.micro_batch, m=each.job.micro_batches
    )


def _states(context: Context, each: Assessment) -> str:
    kept = context.say(f"plan.sharding.{each.job.sharding.value}")
    return context.say("list.and").join([kept, words.recompute(each.job, context.lang)])


def _fullest(context: Context, each: Assessment) -> str:
    stage = each.fullest
    size = context.say(
        "html.fullest.value", usual=words.gib(stage.device), low=words.gib(stage.low), high=words.gib(stage.high),
        capacity=words.gib(each.job.cluster.gpu.memory),
    )  # fmt: skip
    verdict = {
        True: f"✓ {context.say('html.fits')}",
        False: f"✗ {context.say('plan.over')}",
        None: f"? {context.say('plan.perhaps')}",
    }
    return f"{size} · {verdict[each.fits]}"


def _step(context: Context, each: Assessment) -> str:
    if each.time is None:
        return context.say("plan.untimed", why=each.untimed)
    figures = {name: words.seconds(getattr(each.time, name)) for name in ("likely", "low", "high")}
    return context.say("html.step.value", **figures)


def _mfu(context: Context, each: Assessment) -> str:
    return words.share(each.mfu) if each.mfu else ""


def _exposed(context: Context, each: Assessment) -> str:
    return context.say("html.exposed.value", seconds=words.seconds(sum(each.exposed.values()))) if each.time else ""


def _bubble(context: Context, each: Assessment) -> str:
    return words.share(each.bubble) if each.job.layout.pp > 1 else ""


def _batch(context: Context, each: Assessment) -> str:
    return f"{each.job.global_batch:,}"


def _remarks(context: Context, planned: Planned) -> Markup:
    told = context.say("html.estimates") + (" " + context.say("html.calibrated") if planned.calibrated else "")
    assumed = [f"{name.removeprefix('config.')} = {value}" for name, value in planned.understood.assumed]
    if assumed:
        told += " " + context.say("html.assumed", names=context.say("list.and").join(assumed))
    return el("p", told, class_="dim small")


def _memory(context: Context, columns: Columns) -> Markup:
    """Every stage against the capacity, whose place is marked; both jobs on one scale."""
    capacity = columns[0][1].job.cluster.gpu.memory
    scale = max([1.02 * capacity, *(stage.device for _, each in columns for stage in each.stages)])
    rows: list[Markup] = []
    kinds: dict[str, None] = {}
    for name, each in columns:
        rows.append(el("p", name, class_="sub"))
        for first, last in shown_stages(each):
            stage = max(each.stages[first : last + 1], key=lambda one: one.high)
            where = context.say("plan.gpu") if len(each.stages) == 1 else context.say("plan.stage", number=first)
            if last > first:
                where = context.say("plan.stages", first=first, last=last)
            found = {kind: size for kind, size in parts(stage).items() if size > 0}
            kinds |= dict.fromkeys(found)
            pieces = [
                bars.Piece(kind, size / scale, f"{context.say(f'plan.part.{kind}')} {words.gib(size)} GiB")
                for kind, size in found.items()
            ]
            whole = context.say(
                "plan.of", usual=words.gib(stage.device), capacity=words.gib(capacity), high=words.gib(stage.high)
            )
            says = f"{name}, {where}, {whole}: " + context.say("list.and").join(piece.words for piece in pieces)
            rows.append(labelled(where, bars.bar(pieces, says, capacity / scale), f"{words.gib(stage.device)} GiB"))
    entries = [(bars.key(kind), context.say(f"plan.part.{kind}")) for kind in kinds]
    limit = el("p", context.say("html.limit", capacity=words.gib(capacity)), class_="dim small")
    return figure(context.say("html.memory"), *rows, legend(entries), limit)


def _time(context: Context, columns: Columns) -> Markup | None:
    """What a step's time goes to; both jobs on one scale."""
    parted = [
        (name, {kind: amount for kind, amount in each.time.parts.items() if amount >= TOLD * each.time.likely})
        for name, each in columns
        if each.time is not None
    ]
    return _seconds(context, "html.time", parted, [each.time.likely for _, each in columns if each.time is not None])


def _roles(context: Context, columns: Columns) -> Markup | None:
    found = [(name, dict(each.exposed)) for name, each in columns if each.time]
    return _seconds(context, "html.roles", found, [sum(each.values()) for _, each in found])


Parted = Sequence[tuple[str, dict[str, float]]]


def _seconds(context: Context, title: str, columns: Parted, wholes: Sequence[float]) -> Markup | None:
    """Bars of times on one scale; `wholes` are what each comes to, with parts too small to draw."""
    scale = max(wholes, default=0.0)
    if scale <= 0:
        return None
    rows: list[Markup] = []
    kinds: dict[str, None] = {}
    for (name, found), total in zip(columns, wholes, strict=True):
        kinds |= dict.fromkeys(found)
        pieces = [
            bars.Piece(
                DRAWN_AS.get(kind, kind),
                amount / scale,
                context.say("plan.piece", name=context.say(f"plan.time.{kind}"), seconds=words.seconds(amount)),
            )
            for kind, amount in found.items()
        ]
        whole = f"{words.seconds(total)} {context.say('unit.s')}"
        says = f"{name}, {whole}: " + context.say("list.and").join(piece.words for piece in pieces)
        rows.append(labelled(name, bars.bar(pieces, says), whole))
    entries = [(bars.key(DRAWN_AS.get(kind, kind)), context.say(f"plan.time.{kind}")) for kind in kinds]
    return figure(context.say(title), *rows, legend(entries))


def _pipeline(context: Context, columns: Columns) -> Markup | None:
    rows: list[Markup] = []
    for name, each in columns:
        found = timeline_of(each.job)
        if found is None or sum(map(len, found.stages)) > MOST_PASSES:
            continue
        share = context.say("plan.bubble", share=words.share(each.bubble))
        rows.append(el("p", f"{name} · {share}", class_="sub"))
        for number, passes in enumerate(found.stages):
            where = context.say("plan.stage", number=number)
            rows.append(labelled(where, timeline.stage(passes, found.whole, f"{name}, {where}, {share}")))
    if not rows:
        return None
    return figure(context.say("html.timeline"), *rows, el("p", context.say("html.timeline.help"), class_="dim small"))


def _files(context: Context) -> Markup | None:
    """Diffs of the user's own files, and what to know of them."""
    shown: list[Child] = []
    by_hand = [el("p", line, class_="note") for line in plan_report.by_hand_lines(context.report, context.lang)]
    for change in context.report.edits.files if context.report.edits else ():
        shown.append(el("p", context.say("plan.change.file", path=change.path), class_="sub"))
        shown.append(diff(change.diff) if change.diff else None)
        for note in change.notes:
            told = note.zh if context.lang == "zh" else note.en
            shown.append(el("p", f"{note.knob}: {told}", class_="note"))
    shown += by_hand
    return text(el("h3", context.say("html.changes"), id="changes"), shown) if shown else None
