"""The planner's part of a report: what each remedy would do, and one plan of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doctor.messages import say
from doctor.rulebase.model import Text
from doctor.session.report import Report

if TYPE_CHECKING:  # the planner is loaded for reports that hold something of it
    from doctor.planner.compose import Plan
    from doctor.planner.effect import Effect
    from doctor.session.plan import Planned


OWN = "own"  # as doctor.session.plan names a person's own settings


def effect_data(report: Report, rule: str, remedy: str, lang: str) -> dict[str, Any] | None:
    """The effect of a remedy for programs; None where there is none to show."""
    found = report.planned.effects.get((rule, remedy)) if report.planned else None
    if found is None:
        return None
    from doctor.views.plan_json import effect

    return effect(found, lang)


def estimate(report: Report, rule: str, remedy: str, lang: str) -> str:
    """One line of what a remedy does, or why it cannot be taken; empty where there is nothing to say."""
    if report.planned is None:
        return ""
    refused = report.planned.refused.get((rule, remedy))
    if refused:
        return say(lang, "plan.estimate.refused", why=refused)
    found = report.planned.effects.get((rule, remedy))
    return say(lang, "plan.estimate", effect=_short(found, lang)) if found else ""


def plan_data(report: Report, lang: str) -> dict[str, Any] | None:
    """The plan for programs: its remedies, the job before and after, what was assumed or is missing."""
    planned, edits = report.planned, report.edits
    if planned is None and not (edits and edits.patch):
        return None
    from doctor.views.plan_json import assessment, effect, patch

    plan, understood = (planned.plan, planned.understood) if planned else (None, None)
    after = effect(plan.effect, lang) if plan else None
    return {
        "steps": [_step(report, name, lang) for name in steps(report)],
        "rejected": [
            {
                **_step(report, each.name, lang),
                "setting": each.knob,
                "against": each.against,
                "why": _told(each.why, lang) or "",
            }
            for each in (plan.rejected if plan else ())
        ],
        "before": assessment(planned.before, lang) if planned and planned.before else None,
        "after": assessment(plan.effect.after, lang) if plan else None,
        "changes": after["changes"] if after else [],
        "effect": after,
        "patch": patch(edits.files if edits else (), lang),
        "by_hand": [
            {"rule": name.partition(":")[0], "remedy": name.partition(":")[2], "why": why}
            for name, why in left(report, lang)
        ],
        "calibrated": bool(planned and planned.calibrated),
        "assumed": [{"name": name, "value": value} for name, value in (understood.assumed if understood else ())],
        "missing": list(understood.missing) if understood else [],
        "problem": _told(understood.problem, lang) if understood else None,
    }


def steps(report: Report) -> tuple[str, ...]:
    """The remedies of the plan: those that the planner composed, and those that the changes of the files hold."""
    plan = report.planned.plan if report.planned else None
    edits = report.edits
    written = {name for name, _ in edits.done} if edits and edits.patch else set[str]()
    return tuple(name for name in report.taken if name in written or (plan and name in plan.taken))


def left(report: Report, lang: str) -> list[tuple[str, str]]:
    """What of the plan's remedies no file was changed for, as (`RULE:remedy`, why)."""
    reasons = report.edits.left if report.edits else {}
    plan = report.planned.plan if report.planned else None
    told = {each.name for each in plan.rejected} if plan else set[str]()
    return list(dict.fromkeys((name, why.get(lang)) for (name, _), why in reasons.items() if name not in told))


def by_hand_lines(report: Report, lang: str) -> list[str]:
    """The same, a line each, and what to do where that is not enough."""
    told = [
        say(lang, "plan.by_hand", name=_step(report, name, lang)["title"], why=why) for name, why in left(report, lang)
    ]
    return told + leads_on(report, lang)


def leads_on(report: Report, lang: str) -> list[str]:
    """Where the job does not fit with the plan either, what finds a layout that does."""
    plan = report.planned.plan if report.planned else None
    if plan is None or plan.effect.after.fits is not False:
        return []
    return [say(lang, "plan.leads_on", search="pdoctor plan --from PATH", walk="--tui")]


def together(report: Report, lang: str) -> list[str]:
    """Lines of the plan: its remedies, and where there are several what they do together."""
    plan = report.planned.plan if report.planned else None
    names = steps(report)
    titles = [_step(report, name, lang)["title"] for name in names]
    titles = [say(lang, "plan.own"), *titles] if plan and OWN in plan.taken else titles
    if plan is None or len(titles) + len(plan.rejected) < 2:
        return titles if report.edits and report.edits.files else []
    from doctor.views.plan_text import effect_lines

    lines = [say(lang, "plan.together", names=say(lang, "list.and").join(titles)), *effect_lines(plan.effect, lang)]
    return lines + rejected_lines(plan, report, lang)


def rejected_lines(plan: Plan, report: Report, lang: str) -> list[str]:
    """Why remedies are not part of the plan, a line each."""
    lines = []
    for each in plan.rejected:
        title = say(lang, "plan.own") if each.name == OWN else _step(report, each.name, lang)["title"]
        if each.why:
            lines.append(say(lang, "plan.rejected.why", name=title, why=each.why))
        else:
            own = each.against == OWN
            other = say(lang, "plan.own") if own else _step(report, each.against, lang)["title"]
            lines.append(say(lang, "plan.rejected.clash", name=title, knob=each.knob, against=other))
    return lines


def gap(report: Report, lang: str) -> tuple[str, str] | None:
    """Why effects are not there, as a pair of what was not checked and why."""
    planned = report.planned
    if planned is None:
        return (say(lang, "plan.missing"), say(lang, "plan.missing.all")) if any(report.patched.values()) else None
    if planned.before is not None:
        return None
    why = _told(planned.understood.problem, lang) or say(lang, "missing.why", names=_missing(planned))
    return say(lang, "plan.missing"), why


def _told(text: Text | None, lang: str) -> str | None:
    return text.get(lang) if text else None


def _missing(planned: Planned) -> str:
    return ", ".join(name.removeprefix("config.") for name in planned.understood.missing)


def _short(found: Effect, lang: str) -> str:
    """Memory and time before and after, the two that a decision hangs on."""
    from doctor.views import plan_words as words

    before, after = found.before, found.after
    parts = [
        say(
            lang, "plan.effect.memory", before=words.gib(before.fullest.device), after=words.gib(after.fullest.device),
            low=words.gib(after.fullest.low), high=words.gib(after.fullest.high),
        )
    ]  # fmt: skip
    if after.fits is not True:
        parts.append(say(lang, "plan.over" if after.fits is False else "plan.perhaps"))
    if before.time and after.time and found.speed:
        old, new = words.seconds(before.time.likely), words.seconds(after.time.likely)
        parts.append(say(lang, "plan.effect.time", before=old, after=new, change=words.change(found.speed)))
    if found.batch_changes:
        parts.append(say(lang, "plan.effect.batch.short", after=after.job.global_batch))
    if found.reshards:
        parts.append(say(lang, "plan.effect.reshard.short"))
    return say(lang, "list.and").join(parts)


def _step(report: Report, name: str, lang: str) -> dict[str, Any]:
    rule, _, remedy = name.partition(":")
    titles = {each.id: each.title.get(lang) for each in report.rulebase.rules[rule].remedies}
    return {"rule": rule, "remedy": remedy, "title": titles.get(remedy, remedy)}
