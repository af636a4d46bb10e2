"""The chosen remedies as what a person applies: a patch of their own files, and lines for what no file holds."""

from __future__ import annotations

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
    """`patch` is for `patch -p1` in the folder of the files."""

    patch: str
    by_hand: tuple[ByHand, ...]

    @property
    def script(self) -> str:
        """All that is to be done by hand as a file of comments and lines."""
        blocks = [
            f"# {each.title}\n" + (f"# {each.why}\n" if each.why else "") + f"{_lines(each)}\n" for each in self.by_hand
        ]
        return "\n".join(blocks)

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
    return Fix(edits.patch if edits else "", tuple(by_hand))


def _lines(each: ByHand) -> str:
    if each.kind in ("env", "command"):
        return each.text
    return "\n".join(f"#   {line}" for line in each.text.splitlines())
