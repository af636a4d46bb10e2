"""The chosen remedies as what a person applies: a patch of their own files, and lines for what no file holds."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

from doctor.session.session import Session, remedies
from doctor.views import present


@dataclass(frozen=True, slots=True)
class ByHand:
    """A remedy, or what of it, no file of the job could be changed for. `kind` is env, command, code, config or a
    framework; `text` is ready to copy; `why` says why it is not in the patch, empty where no file could hold it."""

    title: str
    kind: str
    text: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Fix:
    """`patch` is for `patch -p1` in `folder`, which is empty where that is the current one or is not known."""

    patch: str
    by_hand: tuple[ByHand, ...]
    folder: str = ""

    def command(self, path: str) -> str:
        """What applies the patch once it lies at `path`."""
        where = f"-d {shlex.quote(self.folder)} " if self.folder else ""
        return f"patch {where}-p1 < {shlex.quote(path)}"

    @property
    def script(self) -> str:
        """All that is to be done by hand as a file of comments and lines."""
        return "\n".join("\n".join([*_head(each), _lines(each), ""]) for each in self.by_hand)

    @property
    def text(self) -> str:
        """Everything, for the clipboard."""
        return "\n".join(part for part in (self.patch, self.script) if part)


def fix_of(session: Session, lang: str) -> Fix:
    """The fix of what the session takes."""
    edits, taken = session.edits, set(session.taken)
    done = edits.done if edits else frozenset[tuple[str, str]]()
    left = edits.left if edits else {}
    by_hand = [
        ByHand(remedy.title.get(lang), kind, text, left[name, kind].get(lang) if (name, kind) in left else "")
        for name, remedy, root in remedies(session.report)
        if name in taken
        for kind, text in present.changes(root.rule, remedy, session.report)
        if (name, kind) not in done
    ]
    return Fix(edits.patch if edits else "", tuple(by_hand), _folder(session))


def _folder(session: Session) -> str:
    """The folder that the names in the patch count from; files of an archive lie in none."""
    names = [change.path for change in session.edits.files if change.diff] if session.edits else []
    places = {given.path: given.place for given in session.report.inputs if given.place}
    ends = {os.path.abspath(places[name]).removesuffix(name.lstrip("/")) for name in names if name in places}
    found = ends.pop() if len(ends) == 1 else ""
    known = found.endswith("/") and all(name in places for name in names)
    return found if known and os.path.realpath(found) != os.path.realpath(".") else ""


def _head(each: ByHand) -> list[str]:
    return [f"# {line}" for text in (each.title, each.why) for line in text.splitlines()]


def _lines(each: ByHand) -> str:
    if each.kind in ("env", "command"):
        return each.text
    return "\n".join(f"#   {line}" for line in each.text.splitlines())
