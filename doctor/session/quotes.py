"""Tells what a file prints from what it is written in: programs and documents hold messages that nothing has shown.

A program holds the messages that it may raise, in strings and comments; a manual names errors in its sentences. Only
what stands in a document's blocks of quoted output was printed by some run.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable

from doctor.facts.model import Event, EventSpec, Fact, Symptom
from probes.files.job_config.python_excerpt import matches, parsed

Shown = Callable[[Event, EventSpec | None], bool]
"""Did a run of the job print the event's line? Of an event that is no catalogued message the specification is None."""

PROGRAMS = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp", ".hip", ".go", ".rs", ".js", ".ts", ".java")
DOCUMENTS = (".md", ".markdown", ".rst", ".mdx")
FENCE = re.compile(r"^\s{0,12}(?:>\s*)?(`{3,}|~{3,})")
DIRECTIVE = re.compile(r"^\s*(?:\.\.\s+(?:code|code-block|sourcecode|parsed-literal)::|(?!\.\.\s).*::\s*$)")


def shown_in(name: str, data: bytes) -> Shown | None:
    """Which events of the file were printed by a run; None where all were, as in a log."""
    low = name.lower()
    if low.endswith(DOCUMENTS):
        quoted = quoted_lines(data.decode("utf-8", errors="replace"), low.endswith(".rst"))
        return (lambda event, spec: event.source.line in quoted) if quoted else None
    text = data.decode("utf-8", errors="replace")
    if low.endswith(".py") or matches(text):
        # What does not parse may have a log at its end.
        return None if (tree := parsed(text)) is None else _done_by(tree)
    if low.endswith(PROGRAMS):
        return _harmless
    if text.startswith("#!") and "sh" in text.partition("\n")[0]:
        return _remark
    return None


def agreed(name: str, facts: list[Fact]) -> list[Fact]:
    """`facts` without settings to which a document gives several values: it shows one job after another."""
    if not name.lower().endswith(DOCUMENTS):
        return facts
    stated = Counter(fact.name for fact in facts)
    return [fact for fact in facts if stated[fact.name] == 1 or fact.name == "config.framework"]


def quoted_lines(text: str, directives: bool = False) -> frozenset[int]:
    """The numbers, from 1, of the lines in fenced blocks, and in the literal blocks of reStructuredText.

    None at all where the document has no such block: it may be a note with a log in it.
    """
    quoted: set[int] = set()
    fence, block = "", -1
    for number, line in enumerate(text.split("\n"), 1):
        found = FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence):
                fence = ""
            else:
                quoted.add(number)
        elif found:
            fence = found[1]
        elif directives:
            indent = len(line) - len(line.lstrip())
            if block >= 0 and line.strip() and indent <= block:
                block = -1
            if block >= 0:
                quoted.add(number)
            elif DIRECTIVE.match(line):
                block = indent
    return frozenset(quoted)


def _done_by(tree: ast.Module) -> Shown:
    """What a program does, other than what its documentation and comments speak of."""
    told = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return lambda event, spec: (
        _harmless(event, spec) and event.source.line not in told and not event.source.text.lstrip().startswith("#")
    )


def _harmless(event: Event, spec: EventSpec | None) -> bool:
    return spec is not None and spec.symptom is Symptom.NONE


def _remark(event: Event, spec: EventSpec | None) -> bool:
    """A script's comments tell what its author saw; its commands tell what it would look for or say."""
    return _harmless(event, spec) or event.source.text.lstrip().startswith("#")
