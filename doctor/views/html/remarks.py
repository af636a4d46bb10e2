"""What to do next, what was and was not looked at, what was ruled out, what was read and with which versions."""

from __future__ import annotations

from collections.abc import Sequence

import doctor
from doctor.engine.model import Finding, Role, RuledOut
from doctor.facts.model import Event, Fact
from doctor.rulebase.truth import Truth
from doctor.views import coverage, present
from doctor.views.explain import Explanation
from doctor.views.html.context import Context, capped, folded, items, section, table
from doctor.views.html.evidence import place, quote
from doctor.views.html.finding import line
from doctor.views.json import SCHEMA
from doctor.views.markup import Child, Markup, el, text
from doctor.views.page import Page
from doctor.views.quote import excerpt

ALSO, UNEXPLAINED, STEPS, GAPS, RULED_OUT, FILES, REMARKS, VERSIONS, FACTS = 60, 12, 8, 60, 100, 300, 60, 60, 2_000
CONDITIONS, CONDITION = 2, 160
"""Conditions that are quoted of a rule that was ruled out, and their characters."""


def also(context: Context) -> Markup | None:
    """Findings that are worth knowing, no more; those that are rivals of a root stand there."""
    told = {rule for root in context.report.diagnosis.roots for rule in root.rivals}
    found = [f for f in context.report.diagnosis.findings if f.role is Role.CONTRIBUTING and f.rule.id not in told]
    return listed(context, "also", "html.also", found)


def listed(context: Context, anchor: str, key: str, found: Sequence[Finding]) -> Markup | None:
    if not found:
        return None
    lines: list[Child] = [line(context, finding) for finding in found[: ALSO + 1]]
    rest = el("p", context.say("html.more", n=len(found) - ALSO), class_="dim") if len(found) > ALSO else None
    return section(anchor, context.say(key), items(lines[:ALSO], "plain"), rest)


def unexplained(context: Context) -> Markup | None:
    alike: dict[str, list[Event]] = {}
    for event in present.unexplained(context.report):
        alike.setdefault(event.name, []).append(event)
    if not alike:
        return None
    entries: list[Child] = []
    for same in list(alike.values())[:UNEXPLAINED]:
        more = context.count("html.alike", len(same) - 1) if same[1:] else ""
        head = [el("span", place(context, same[0].source), class_="place"), el("span", more, class_="dim")]
        entries.append(folded(head, quote(context, same[0].source), open_=not entries, class_="evidence"))
    rest = len(alike) - UNEXPLAINED
    left = el("p", context.say("html.more", n=rest), class_="dim") if rest > 0 else None
    return section("unexplained", context.say("html.unexplained"), entries, left)


def next_steps(context: Context) -> Markup | None:
    """What to find out, what that tells apart, and how to hand the answer over."""
    report, lang = context.report, context.lang
    lines: list[Child] = []
    for step in present.next_steps(report)[:STEPS]:
        answers = present.choices(step, report, lang)
        each = [key if key == words else f"{key} ({words})" for key, words in answers]
        asked = context.say("next.answer", question=step.asks, answers=context.say("list.choices").join(each))
        apart = context.say("list.apart").join(present.cause_title(report, cause, lang) for cause in step.separates)
        lines.append(
            text(
                el("b", present.step_text(step, report, lang)),
                el("p", el("code", asked)) if answers else None,
                el("p", context.say("next.separates", causes=apart), class_="dim") if step.separates[1:] else None,
            )
        )
    if not lines:
        return None
    return section("next", context.say("html.next"), el("ol", [el("li", each) for each in lines], class_="steps"))


def not_checked(context: Context) -> Markup | None:
    gaps = coverage.not_checked(context.report, context.lang)
    lines = [text(el("b", what), f" — {why}") for what, why in gaps]
    return section("unchecked", context.say("html.not_checked"), items(capped(context, lines, GAPS))) if lines else None


def looked_at(context: Context) -> Markup:
    """What was checked, what was ruled out, what was read, the remarks on it, and versions."""
    parts = [
        items(coverage.checked(context.report, context.lang)),
        _ruled_out(context),
        _inputs(context),
        _warnings(context),
        _versions(context),
    ]
    return section("checked", context.say("html.checked"), parts)


def _ruled_out(context: Context) -> Markup | None:
    """What was considered because a sign of it was seen, the most believed first; of the others how many there are."""
    every = context.report.diagnosis.ruled_out
    if not every:
        return None
    found = sorted(filter(_considered, every), key=lambda each: -each.belief)
    reasons = Explanation(context.report, context.lang, Page())
    rows = [
        [
            text(
                el("span", each.rule.id, class_="id"),
                f" {each.rule.title.get(context.lang)} ",
                el("span", f"{each.belief:.2f}", class_="dim"),
            ),
            text(reasons.reason(each), [el("code", why, class_="dim cond") for why in _against(each)]),
        ]
        for each in found[:RULED_OUT]
    ]
    heads = [context.say(f"html.{key}") for key in ("rule", "reason")]
    told = table(heads, rows) if rows else None
    rest = len(every) - len(found)
    unseen = el("p", context.say("html.unseen", n=rest), class_="dim") if rest else None
    more = _rest(context, len(found), RULED_OUT, "html.cut")
    return folded(f"{context.say('html.ruled_out')} · {len(every)}", told, more, unseen)


def _considered(other: RuledOut) -> bool:
    none = other.rule.condition.none
    return any(outcome.truth is Truth.TRUE and outcome.signal not in none for outcome in other.outcomes)


def _against(other: RuledOut) -> list[str]:
    """What was looked for and not there, or was there and speaks against it."""
    condition = other.rule.condition
    wanted = {*condition.all, *condition.any}
    return [
        excerpt(outcome.text, CONDITION)
        for outcome in other.outcomes
        if (outcome.signal in wanted and outcome.truth is Truth.FALSE)
        or (outcome.signal in condition.none and outcome.truth is Truth.TRUE)
    ][:CONDITIONS]


def _inputs(context: Context) -> Markup | None:
    found = context.report.inputs
    if not found:
        return None
    rows: list[list[Child]] = []
    for given in found[:FILES]:
        of = [present.places([f"rank:{given.rank}"], context.lang)] if given.rank is not None else []
        of += [given.host] if given.host else []
        kind = given.kind.replace("_", " ") or context.say("html.nothing")
        rows.append([given.path, kind, present.size(given.bytes) if given.bytes else "", " · ".join(of)])
    heads = [context.say(f"html.{key}") for key in ("file", "kind", "size", "of")]
    told = table(heads, rows)
    return folded(f"{context.say('html.inputs')} · {len(found)}", told, _rest(context, len(found), FILES))


def _warnings(context: Context) -> Markup | None:
    found = present.warnings(context.report, context.lang)
    if not found:
        return None
    return folded(f"{context.say('html.warnings')} · {len(found)}", items(capped(context, found, REMARKS)), open_=True)


def _versions(context: Context) -> Markup:
    rules = context.say("html.rules", rules=len(context.report.rulebase.rules), schema=SCHEMA)
    known: dict[tuple[str, str], list[Fact]] = {}
    for fact in context.report.store.facts():
        if fact.quality != "failed" and (fact.name.endswith("version") or fact.name.startswith("pip.")):
            known.setdefault((fact.name, present.value(fact.value)), []).append(fact)
    rows = [
        [name, value, present.places({fact.entity for fact in facts}, context.lang)]
        for (name, value), facts in sorted(known.items())
    ]
    heads = [context.say(f"html.{key}") for key in ("name", "value", "of")]
    shown = table(heads, rows[:VERSIONS]) if rows else None
    own = items([f"pdoctor {doctor.__version__}", rules])
    return folded(context.say("html.versions"), own, shown, _rest(context, len(rows), VERSIONS, "html.cut"))


def facts(context: Context) -> Markup:
    """All that is known, folded."""
    found = sorted(context.report.store.facts(), key=lambda fact: (fact.name, fact.entity))
    rows = []
    for fact in found[:FACTS]:
        source = fact.source
        spot = f"{source.path}:{source.line}" if source.line else source.path or source.kind
        rows.append([fact.name, present.value(fact.value)[:300], fact.entity, spot])
    heads = [context.say(f"html.{key}") for key in ("name", "value", "of", "source")]
    told = folded(context.say("html.facts.all", n=len(found)), table(heads, rows), _rest(context, len(found), FACTS))
    return section("facts", context.say("html.facts"), told)


def _rest(context: Context, many: int, most: int, key: str = "html.more") -> Markup | None:
    return el("p", context.say(key, n=many - most), class_="dim") if many > most else None
