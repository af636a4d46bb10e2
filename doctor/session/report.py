"""What one analysis comes to: what was read, what is known, the diagnosis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from doctor.engine.model import Diagnosis
from doctor.facts.model import Value
from doctor.facts.store import FactStore
from doctor.rulebase.errors import RuleError
from doctor.rulebase.model import RuleBase
from doctor.session.notes import Note

if TYPE_CHECKING:
    from doctor.session.edits import Edits
    from doctor.session.plan import Planned


@dataclass(frozen=True, slots=True)
class Input:
    """One file that was looked at; `kind` says what it was read as, none when nothing in it could be used.

    `place` is where it lies on this machine; a file of an archive lies nowhere any more when the report is there.
    """

    path: str
    kind: str
    bytes: int
    rank: int | None = None
    host: str | None = None
    notes: tuple[Note, ...] = ()
    place: str = ""


@dataclass(frozen=True, slots=True)
class Patched:
    """A neutral setting that a remedy changes: its value now and the one it should have, None while not known."""

    now: Value | None
    then: Value | None


Patches: TypeAlias = Mapping[tuple[str, str], Mapping[str, Patched]]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a view shows.

    `notes` are remarks on the input as a whole, `problems` rule files that were left out; `patched` has the settings
    that a remedy changes, by (rule, remedy) and name; `planned` what the planner says of them, where it has a say.
    `taken` are the remedies of the plan, as `RULE:remedy`, `edits` these as changes of the job's own files, where there
    are any.
    """

    inputs: tuple[Input, ...]
    store: FactStore
    rulebase: RuleBase
    diagnosis: Diagnosis
    notes: tuple[Note, ...] = ()
    problems: tuple[RuleError, ...] = ()
    patched: Patches = field(default_factory=dict)
    planned: Planned | None = None
    taken: tuple[str, ...] = ()
    edits: Edits | None = None

    @property
    def all_notes(self) -> tuple[Note, ...]:
        return self.notes + tuple(note for given in self.inputs for note in given.notes)
