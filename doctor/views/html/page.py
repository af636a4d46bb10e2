"""The whole page: the verdict first, then causes, plan, pictures, what to do next, what was looked at; and all as JSON.

Nothing in it is fetched and nothing runs: there is no script but a block of data, and the policy in its head forbids
both. Everything read from a file is escaped where an element is made of it (doctor/views/markup.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import doctor
from doctor.engine.model import Finding
from doctor.facts.model import Event, Source
from doctor.rulebase.truth import Truth
from doctor.session.report import Report
from doctor.session.surroundings import surroundings
from doctor.views import json as json_view
from doctor.views import present
from doctor.views.html import remarks
from doctor.views.html.context import Context, section
from doctor.views.html.finding import badge, root
from doctor.views.html.memory import gpu_memory
from doctor.views.html.pictures import pictures
from doctor.views.html.stacks import stacks
from doctor.views.html.style import STYLE
from doctor.views.markup import NOTHING, Child, Markup, el, text
from doctor.views.related import Related

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
ROOTS, AROUND, UNEXPLAINED = 30, 3, 12
"""Root causes that are told in full; lines of each signal, and unexplained ones, of which the log around is shown."""
LARGEST_JSON = 16 << 20
THEMES = ("auto", "light", "dark")
VERDICTS = {"healthy": "✓", "problem": "✗", "undetermined": "?"}
LANGUAGES = {"en": "en", "zh": "zh-Hans"}


def render(report: Report, lang: str, facts: bool = False) -> str:
    """The page as one string; with `facts`, everything that is known of the job is in it."""
    context = _context(report, lang)
    title = context.say("html.title", headline=present.summary(report, lang))
    head = el(
        "head",
        el("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        Markup(f"<style>{STYLE}</style>"),
    )
    parts = _parts(context, facts)
    body = el(
        "body",
        el("a", context.say("html.skip"), href="#main", class_="skip"),
        _bar(context),
        _contents(context, [part for part in parts if part]),
        el("main", _verdict(context), [part for _, _, part in parts if part], id="main"),
        _foot(context, facts),
    )
    return f"<!doctype html>\n{el('html', head, body, lang=LANGUAGES.get(lang, lang))}\n"


def _context(report: Report, lang: str) -> Context:
    events: dict[Source, Event] = {}
    for event in (*report.diagnosis.unexplained, *_events(report)):
        events.setdefault(event.source, event)
        for source in event.context:
            events.setdefault(source, event)
    shown = [o for root in report.diagnosis.roots[:ROOTS] for o in root.outcomes if o.truth is Truth.TRUE]
    wanted = [source for outcome in shown for source in outcome.sources[:AROUND]]
    wanted += [event.source for event in present.unexplained(report)[:UNEXPLAINED]]
    return Context(report, lang, Related(report), surroundings(report.inputs, wanted), events)


def _events(report: Report) -> list[Event]:
    outcomes = {id(outcome): outcome for finding in report.diagnosis.findings for outcome in finding.outcomes}
    return [event for outcome in outcomes.values() for event in outcome.events]


Part = tuple[str, str, Markup | None]


def _parts(context: Context, facts: bool) -> list[Part]:
    """Anchor, name and content of each section, in their order."""
    from doctor.views.html.plan import plan, title

    roots = context.report.diagnosis.roots
    drawn = [*pictures(context), *(each for each in (gpu_memory(context), stacks(context)) if each)]
    shown = section("pictures", context.say("html.pictures"), drawn) if drawn else None
    told = [
        ("causes", "html.causes", _causes(context, roots)),
        ("unexplained", "html.unexplained", remarks.unexplained(context)),
        ("plan", title(context), plan(context) if context.report.planned or context.report.edits else None),
        ("pictures", "html.pictures", shown),
        ("next", "html.next", remarks.next_steps(context)),
        ("also", "html.also", remarks.also(context)),
        ("unchecked", "html.not_checked", remarks.not_checked(context)),
        ("checked", "html.checked", remarks.looked_at(context)),
        ("facts", "html.facts", remarks.facts(context) if facts else None),
    ]
    return [(anchor, context.say(key), part) for anchor, key, part in told if part]


def _causes(context: Context, roots: Sequence[Finding]) -> Markup | None:
    if not roots:
        return None
    rest = remarks.listed(context, "more-causes", "html.causes", roots[ROOTS:])
    hint = el("p", context.say("html.copy"), class_="dim small screen")
    return text(
        section("causes", context.say("html.causes"), hint, [root(context, each) for each in roots[:ROOTS]]), rest
    )


def _bar(context: Context) -> Markup:
    """The name of the tool and the choice of colours, which the style sheet alone acts on."""
    choices = [
        el(
            "label",
            el("input", type="radio", name="theme", id=f"theme-{theme}", checked=theme == "auto"),
            el("span", context.say(f"html.theme.{theme}")),
        )
        for theme in THEMES
    ]
    legend = el("legend", context.say("html.theme"), class_="unseen")
    return el("header", el("span", "pdoctor", class_="brand"), el("fieldset", legend, choices), class_="top")


def _contents(context: Context, parts: Sequence[Part]) -> Markup:
    links = [el("li", el("a", name, href=f"#{anchor}")) for anchor, name, _ in parts]
    return el("nav", el("ul", links), aria_label=context.say("html.contents"))


def _verdict(context: Context) -> Markup:
    report = context.report
    verdict = str(report.diagnosis.verdict)
    name = f"{VERDICTS[verdict]} {context.say(f'verdict.{verdict}')}"
    roots = report.diagnosis.roots
    lines: list[Child] = [
        el(
            "li",
            badge(context, str(each.severity)),
            " ",
            el("a", each.rule.title.get(context.lang), href=f"#{each.rule.id}"),
            el("span", f" · {present.where(each, report, context.lang)}", class_="dim"),
        )
        for each in roots[:ROOTS]
    ]
    return el(
        "div",
        el("h1", el("span", name, class_="word"), el("span", present.headline(report, context.lang))),
        el("ul", lines, class_="plain") if lines else NOTHING,
        class_=f"verdict {verdict}",
    )


def _foot(context: Context, facts: bool) -> Markup:
    document = json_view.render(context.report, context.lang, facts)
    own = f"pdoctor {doctor.__version__}"
    if len(document) > LARGEST_JSON:
        return el("footer", el("p", own, " · ", context.say("html.json.large")))
    told = context.say("html.json", id="#report")
    return el("footer", el("p", own, " · ", told), _data(document))


def _data(document: str) -> Markup:
    """JSON in a page: no letter that could end the element, or begin a comment in it, stands as itself."""
    for letter in "<>&":
        document = document.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(f'<script type="application/json" id="report">{document}</script>')
