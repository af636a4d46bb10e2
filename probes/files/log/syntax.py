"""Takes patterns apart, as far as is needed to scan for them faster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

OPTIONAL = (b"??", b"*?", b"?", b"*")
GROUP = re.compile(rb"\((?:\?:|\?P<\w+>)?(?!\?)")
PLAIN_ESCAPES = rb"\.^$*+?{}[]()|/-#=: '\"<>&%@!,;~`"
GAP = re.compile(rb"(?:\.|\[\^[^\]]*\])(?:[*+]|\{\d*,\d*\})\??")
CLASS = rb"\[\^?\]?(?:\\.|[^\]\\])*\]"
ATOM = re.compile(rb"\\x..|\\.|" + CLASS + rb"|[^(\[\\]", re.DOTALL)
TOKEN = re.compile(rb"\\.|" + CLASS + rb"|[()]", re.DOTALL)
QUANTIFIER = re.compile(rb"(?:[*+?]|\{\d*,?\d*\})\??")
REPEATED = re.compile(rb"[*+{]")
CHOICE = re.compile(rb"(?<!\()[*+?{|]")
UNBOUNDED = re.compile(rb"\.[*+]")
MOST_UNBOUNDED = 2
MOST = 16
LONG = 16


def detection(pattern: bytes) -> bytes:
    """The shortest start of `pattern` that occurs in the same lines; `pattern` itself where that is hard to tell.

    What a pattern may match after its last required part adds captures but no lines.
    """
    while (shorter := _without_tail(pattern)) is not None:
        pattern = shorter
    return pattern


def may_explode(pattern: bytes) -> bool:
    """May trying all ways to match `pattern` take time that is exponential, or worse than quadratic, in the line?

    So it is said of a repeated group that holds a repetition or a choice, as in `(a+)+`, and of many `.*`. Of these
    each optional group at the end counts by itself: whether it matches or not, nothing before it is tried again.
    """
    opened: list[int] = []
    for token in TOKEN.finditer(pattern):
        if token[0] == b"(":
            opened.append(token.end())
        elif token[0] == b")" and opened:
            begin = opened.pop()
            if REPEATED.match(pattern, token.end()) and CHOICE.search(pattern, begin, token.start()):
                return True
    return any(len(UNBOUNDED.findall(part)) > MOST_UNBOUNDED for part in _tried_alone(pattern))


def _tried_alone(pattern: bytes) -> Iterator[bytes]:
    """The optional parts at the end of a pattern, and what stands before them."""
    end = len(pattern)
    for start, atom_end, after in reversed(_atoms(pattern) if len(_branches(pattern)) == 1 else ()):
        if pattern[atom_end:after] not in OPTIONAL:
            break
        yield pattern[start:after]
        end = start
    yield pattern[:end]


def telling_part(pattern: bytes) -> bytes:
    """The part of `pattern` between gaps (`.*`, `.{0,80}`) that has a string of LONG bytes or more, else `pattern`.

    It occurs in nearly the same lines, and an engine need not follow the gap through each of them.
    """
    if len(_branches(pattern)) > 1:
        return pattern
    parts, begin = [], 0
    for start, _, after in _atoms(pattern):
        if GAP.fullmatch(pattern, start, after):
            parts.append(pattern[begin:start])
            begin = after
    parts.append(pattern[begin:])
    best = max(parts, key=lambda part: _worth(literals(part)) if literals(part) else 0.0)
    return best if min(map(len, literals(best)), default=0) >= LONG else pattern


@lru_cache(maxsize=1 << 13)
def literals(pattern: bytes) -> frozenset[bytes]:
    """Strings of which each match of `pattern` holds at least one: the longest such choice, or none if unknown.

    Patterns with inline flags have none.
    """
    if pattern.startswith(b"(?") and not GROUP.match(pattern):
        return frozenset()
    choices = [choice for choice in _required(pattern) if all(choice)]
    return max(choices, key=_worth, default=frozenset())


def _worth(choice: frozenset[bytes]) -> float:
    return min(map(len, choice)) - 0.2 * len(choice)


def _required(pattern: bytes) -> Iterator[frozenset[bytes]]:
    """Sets of strings, of each of which a match holds one."""
    branches = _branches(pattern)
    if len(branches) > 1:
        chosen = [max(_required(branch), key=_worth, default=frozenset()) for branch in branches]
        if all(chosen):
            yield frozenset().union(*chosen)
        return
    run: list[bytes] = [b""]
    for start, end, after in _atoms(pattern):
        atom, quantifier = pattern[start:end], pattern[end:after]
        strings = _strings(atom)
        if not quantifier and strings and len(run) * len(strings) <= MOST:
            run = [before + string for before in run for string in strings]
            continue
        if any(run):
            yield frozenset(run)
        run = list(strings) if not quantifier and strings and len(strings) <= MOST else [b""]
        if (group := GROUP.match(atom)) and not quantifier.startswith((b"?", b"*", b"{0", b"{,")):
            yield from _required(atom[group.end() : -1])
    if any(run):
        yield frozenset(run)


@lru_cache(maxsize=1 << 14)
def _strings(atom: bytes) -> list[bytes] | None:
    """All that an atom can match, if that is a few fixed strings."""
    if len(atom) == 1 and atom not in b".^$":
        return [atom]
    if atom[:1] == b"\\" and len(atom) == 2 and atom[1:] in PLAIN_ESCAPES:
        return [atom[1:]]
    if atom[:1] == b"[" and re.fullmatch(rb"\[[A-Za-z0-9_ :=]{1,4}\]", atom):
        return [bytes([char]) for char in atom[1:-1]]
    if (group := GROUP.match(atom)) and len(branches := _branches(atom[group.end() : -1])) <= MOST:
        found = []
        for branch in branches:
            string = b""
            for start, end, after in _atoms(branch):
                single = _strings(branch[start:end])
                if after > end or single is None or len(single) > 1:
                    return None
                string += single[0]
            found.append(string)
        return found
    return None


def _without_tail(pattern: bytes) -> bytes | None:
    atoms = list(_atoms(pattern)) if len(_branches(pattern)) == 1 else []
    if not atoms:
        return None
    start, end, after = atoms[-1]
    quantifier = pattern[end:after]
    if len(atoms) > 1 and (quantifier in OPTIONAL or quantifier.startswith((b"{0,", b"{,"))):
        return pattern[:start]
    if quantifier in (b"+", b"+?"):
        return pattern[:end]
    if not quantifier and (group := GROUP.match(pattern, start)):
        inner = _without_tail(pattern[group.end() : end - 1])
        return None if inner is None else pattern[: group.end()] + inner + b")"
    return None


@lru_cache(maxsize=1 << 14)
def _branches(pattern: bytes) -> tuple[bytes, ...]:
    """The alternatives at the top of a pattern."""
    branches, begin = [], 0
    for start, end, _ in _atoms(pattern) if b"|" in pattern else ():
        if pattern[start:end] == b"|":
            branches.append(pattern[begin:start])
            begin = end
    return (*branches, pattern[begin:])


@lru_cache(maxsize=1 << 14)
def _atoms(pattern: bytes) -> tuple[tuple[int, int, int], ...]:
    """Start, end, and end with quantifier, of what stands in sequence at the top of a pattern."""
    atoms = []
    position = 0
    while position < len(pattern):
        atom = ATOM.match(pattern, position)
        end = atom.end() if atom else _group_end(pattern, position)
        quantifier = QUANTIFIER.match(pattern, end)
        after = quantifier.end() if quantifier else end
        atoms.append((position, end, after))
        position = after
    return tuple(atoms)


def _group_end(pattern: bytes, position: int) -> int:
    depth = 0
    for token in TOKEN.finditer(pattern, position):
        depth += (token[0] == b"(") - (token[0] == b")")
        if depth == 0:
            return token.end()
    return len(pattern)
