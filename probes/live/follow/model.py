"""What following gives in one turn."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes of a file, in the order in which they were written. `anew` if they are the first of a file that has taken
    the place of another, or was cut to nothing: what came before is whole."""

    path: str
    data: bytes
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Remark:
    """Why a file is not followed any more, in part or for now: key of a message, and the system's reason. `more` files
    have the same to be said of them."""

    key: str
    path: str
    reason: str = ""
    more: int = 0


@dataclass(slots=True)
class Turn:
    """`more` if there was more to read than one turn takes; `ended` are pipes that were closed by their writers."""

    pieces: list[Piece] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    more: bool = False
