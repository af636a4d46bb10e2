"""A root cause: what it is, where, why, how it shows, what follows, what to do and what not."""

from __future__ import annotations

from doctor.engine.model import Finding, Follow
from doctor.facts.ranks import ranges
from doctor.rulebase.model import Remedy
from doctor.views import plan_report, present
from doctor.views.html.context import Context, capped, code, folded, items
from doctor.views.html.evidence import evidence
from doctor.views.markup import Child, Markup, el, text

FOLLOWS, RIVALS = 8, 12


def badge(context: Context, severity: str) -> Markup:
    """A severity as symbol and word."""
    return el("span", f"{present.SYMBOLS[severity]} {context.say(f'severity.{severity}')}", class_=f"badge {severity}")


def certainty(context: Context, finding: Finding) -> Markup:
    return el("span", f"{context.say(f'label.{finding.label}')} {finding.belief:.2f}", class_="badge plain")


def root(context: Context, finding: Finding) -> Markup:
    """The whole of one root cause."""
    rule, lang = finding.rule, context.lang
    head = el(
        "header",
        el("p", badge(context, str(finding.severity)), certainty(context, finding), el("span", rule.id, class_="id")),
        el("h3", rule.title.get(lang), id=f"t-{rule.id}"),
    )
    facts = el(
        "dl",
        el("dt", context.say("html.where")), el("dd", present.where(finding, context.report, lang)),
        el("dt", context.say("html.why")), el("dd", rule.because.get(lang)),
    )  # fmt: skip
    parts: list[Child] = [
        head,
        facts,
        _part(context, "html.evidence", evidence(context, finding)),
        _part(context, "html.follows", _follows(context, finding)),
        _part(context, "html.remedies", _remedies(context, finding)),
        _part(context, "html.avoid", _avoid(context, finding)),
        _part(context, "html.rivals", _rivals(context, finding)),
        _part(context, "html.references", _references(finding)),
    ]
    return el("article", parts, id=rule.id, class_=f"root {finding.severity}", aria_labelledby=f"t-{rule.id}")


def line(context: Context, finding: Finding) -> Markup:
    """A finding on one line."""
    title = finding.rule.title.get(context.lang)
    spot = present.where(finding, context.report, context.lang)
    return text(
        badge(context, str(finding.severity)), " ", el("span", finding.rule.id, class_="id"), f" {title} ",
        el("span", f"· {spot} · {context.say(f'label.{finding.label}')} {finding.belief:.2f}", class_="dim"),
    )  # fmt: skip


def _part(context: Context, key: str, content: Markup) -> Markup | None:
    return text(el("h4", context.say(key)), content) if content else None


def _follows(context: Context, finding: Finding) -> Markup:
    lines: list[Child] = []
    for effect in context.related.effects(finding):
        spot = present.where(effect, context.report, context.lang)
        name = f"{effect.rule.id} {effect.rule.title.get(context.lang)}"
        lines.append(context.say("summary.roots", title=name, where=spot))
    lines += [_follow(context, follow) for follow in finding.follows]
    if not lines:
        return text()
    rest = lines[FOLLOWS:]
    more = folded(context.say("html.cut", n=len(rest)), items(capped(context, rest, 200))) if rest else None
    return text(items(lines[:FOLLOWS], "follows"), more)


def _follow(context: Context, follow: Follow) -> str:
    what = present.event_meaning(context.report, follow.event, context.lang)
    if len(follow.ranks) > 1:
        spot = context.say("place.count", n=len(follow.ranks), names=ranges(follow.ranks))
    elif follow.ranks:
        spot = present.places([f"rank:{follow.ranks[0]}"], context.lang)
    else:
        spot = f"{follow.first.path}:{follow.first.line}"
    key = "follows.many" if follow.count > max(len(follow.ranks), 1) else "follows.one"
    told = context.say(key, where=spot, what=what, count=follow.count)
    if follow.lag is not None and follow.lag >= 1:
        told += context.say("follows.lag", seconds=present.seconds(follow.lag, context.lang))
    return told


def _remedies(context: Context, finding: Finding) -> Markup:
    cures = [remedy for remedy in finding.rule.remedies if not remedy.avoid]
    shown = [_remedy(context, finding, remedy, number == 0) for number, remedy in enumerate(cures)]
    return el("ol", [el("li", each) for each in shown], class_="remedies") if shown else text()


def _remedy(context: Context, finding: Finding, remedy: Remedy, first: bool) -> Markup:
    tags = [el("span", context.say(key), class_="tag") for key in (f"risk.{remedy.risk}", f"restart.{remedy.restart}")]
    title = el("b", remedy.title.get(context.lang))
    told = plan_report.estimate(context.report, finding.rule.id, remedy.id, context.lang)
    body: list[Child] = []
    for framework, change in present.changes(finding.rule, remedy, context.report):
        if framework not in ("env", "command"):
            key = f"change.{framework}" if framework in ("config", "code") else "change.for"
            body.append(el("p", context.say(key, framework=framework), class_="dim"))
        body.append(code(change))
    effect = el("p", told, class_="effect") if told else None
    if not body and effect is None:
        return el("div", title, " ", tags, class_="remedy")
    return folded([title, " ", tags], body, effect, open_=first, class_="remedy")


def _avoid(context: Context, finding: Finding) -> Markup:
    lines: list[Child] = []
    for remedy in finding.rule.remedies:
        if remedy.avoid:
            why = f" — {remedy.why.get(context.lang)}" if remedy.why else ""
            lines.append(text("⊘ ", el("b", remedy.title.get(context.lang)), why))
    return items(lines, "avoid") if lines else text()


def _rivals(context: Context, finding: Finding) -> Markup:
    lines: list[Child] = []
    for rule, how, belief in context.related.rivals(finding, context.lang):
        title = context.report.rulebase.rules[rule].title.get(context.lang)
        share = f" [{belief:.2f}]" if belief is not None else ""
        lines.append(text(el("span", rule, class_="id"), f" {title}{share}", el("br") if how else None,
                          el("span", how, class_="dim") if how else None))  # fmt: skip
    return items(capped(context, lines, RIVALS)) if lines else text()


def _references(finding: Finding) -> Markup:
    links = [
        el("a", reference.title, href=reference.url, rel="noreferrer noopener")
        for reference in finding.rule.references
        if reference.url.startswith("https://")
    ]
    return items(links) if links else text()
