"""The part of the plan that is no remedy: settings by hand, the search for layouts and what it found."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from doctor.messages import say
from doctor.session.session import Session, in_words
from doctor.views import layouts as words
from doctor.views.page import Page
from doctor.views.safe import visible
from doctor.views.tui.widgets.rows import Row, plain

FIND, EDIT, OWN, LAYOUT = "find", "edit", "own", "layout "


def rows(session: Session, searching: int | None, lang: str) -> Iterator[Row]:
    """What can be done, the settings by hand where there are any, and each layout that was found with its cost.

    `searching` is how many layouts were considered so far, while a search runs."""
    found, own = session.layouts, dict(session.own)
    yield plain("", Text(say(lang, "tui.plan.layouts"), "bold"))
    taken = next((n for n, option in enumerate(found.options) if dict(option.settings) == own), None) if found else None
    if (own and taken is None) or session.given:
        yield plain(OWN, _box(True, say(lang, "tui.plan.by_hand", settings=visible(in_words(session)))))
    if searching is not None:
        yield plain(FIND, Text("  ▸ ").append(say(lang, "tui.plan.finding", considered=searching)))
    else:
        yield plain(FIND, _act("f", say(lang, "tui.plan.find.again" if found else "tui.plan.find")))
    for number, option in enumerate(found.options if found else ()):
        yield plain(f"{LAYOUT}{number}", _box(number == taken, words.name(option, lang)))
        yield plain("", Text(f"      {words.cost(option.job, lang)}", "dim"))
    yield plain(EDIT, _act("e", say(lang, "tui.plan.edit")))


def _act(key: str, text: str) -> Text:
    return Text("  ▸ ", "bold blue").append(text).append(f"  [{key}]", "dim")


def _box(taken: bool, text: str) -> Text:
    line = Text("  ").append("[x] " if taken else "[ ] ", "bold blue" if taken else "")
    return line.append(text, "bold" if taken else "")


def about(page: Page, session: Session, key: str, lang: str) -> bool:
    """Says more of the row under the cursor; False where it is no row of these."""
    found = session.layouts
    if key == FIND:
        page.blank()
        page.wrapped(words.summary(found, lang) if found else say(lang, "tui.plan.help.find"))
    elif key in (EDIT, OWN):
        page.blank()
        page.wrapped(say(lang, "tui.plan.help.edit", example="tp=4"))
    elif key.startswith(LAYOUT) and found and int(key.removeprefix(LAYOUT)) < len(found.options):
        option = found.options[int(key.removeprefix(LAYOUT))]
        page.blank()
        page.wrapped(Text(words.name(option, lang), "bold"))
        page.wrapped(words.cost(option.job, lang))
        page.raw(words.settings(option), 2)
        page.wrapped(words.summary(found, lang), style="dim")
    else:
        return False
    return True
