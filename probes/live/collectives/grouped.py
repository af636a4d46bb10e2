"""The groups of a job's layout, all groups of a role at once as in training, judged against their siblings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from probes.live.collectives.channel import Json, RanksLost
from probes.live.collectives.layout import OPERATIONS, Group
from probes.live.collectives.model import GroupRow, Row, row_of
from probes.live.collectives.siblings import Blame, blamed, slower

TURNS, MOST_TURNS = 3, 9
"""How often each operation is measured, and at most where siblings spread too much; the median counts."""

CALLS, TURN_TIME = (3, 20), 0.3
"""Fewest and most calls of a turn, and about how many seconds they should take together."""

ROUNDS = 2
"""How often more what looks slow has to be slow."""

Ask = Callable[[Mapping[int, Json]], Mapping[int, Json]]


@dataclass(slots=True)
class _Measured:
    """One operation of all groups of a role: its turns of `calls` calls, and what they say of each group.

    `suspects` were picked for being slow, so they are none before they were slow in all of ROUNDS more.
    """

    groups: Sequence[Group]
    operation: str
    size: int
    calls: int
    turns: list[Mapping[Group, Row]] = field(default_factory=list)
    usual: Mapping[Group, float] = field(default_factory=dict)
    suspects: frozenset[Group] = frozenset()
    settled: bool = True


@dataclass(slots=True)
class GroupTest:
    """`hosts` has the number of the host of each rank; `at` is told what is done, `payloads` are B by role.

    Without `judging` groups are only measured.
    """

    hosts: Sequence[int]
    ask: Ask
    at: Callable[[str, int], None]
    payloads: Mapping[str, int]
    judging: bool
    rows: list[GroupRow] = field(default_factory=list)

    def measure(self, groups: Sequence[Group]) -> None:
        """Fills `rows`. Raises RanksLost."""
        measured: list[_Measured] = []
        try:
            for role in dict.fromkeys(group.role for group in groups):
                ours = [group for group in groups if group.role == role]
                self.at(f"groups of {role}", 0)
                self._each(ours, {group: {"do": "group", "members": list(group.ranks)} for group in ours})
                for operation in OPERATIONS[role]:
                    measured.append(self._operation(ours, operation, self.payloads[role]))
            for _ in range(ROUNDS):
                self._once_more(measured)
            for one in measured:
                one.settled = True
        finally:
            self.rows += [row for one in measured for row in self._rows(one)]

    def blames(self) -> tuple[Blame, ...]:
        """What explains the slow groups."""
        slow = {row.group for row in self.rows if row.slow}
        quick = {row.group for row in self.rows if row.usual} - slow
        return blamed(slow, quick, self.hosts)

    def _operation(self, groups: Sequence[Group], operation: str, size: int) -> _Measured:
        self.at(f"{groups[0].role} {operation}", size)
        first = self._turn(groups, operation, size, CALLS[0])  # opens connections and says how long a call lasts
        longest = max(row.seconds for row in first.values())
        calls = max(CALLS[0], min(CALLS[1], int(TURN_TIME / longest))) if longest > 0 else CALLS[1]
        one = _Measured(groups, operation, size, calls)
        while len(one.turns) < (MOST_TURNS if self.judging else TURNS):
            one.turns += [self._turn(groups, operation, size, calls) for _ in range(TURNS)]
            if self.judging and (known := self._judged(groups, one.turns)) is not None:
                one.usual, one.suspects = known
                one.settled = not one.suspects
                break
        return one

    def _once_more(self, measured: Sequence[_Measured]) -> None:
        """A round of those with suspects, of whom those stay that are slow now too.

        What disturbed a measurement for a while may have passed, so this is not done right after it, and in turns.
        """
        doubted = [one for one in measured if one.suspects]
        again: list[list[Mapping[Group, Row]]] = [[] for _ in doubted]
        for number in range(max((len(one.turns) for one in doubted), default=0)):
            for one, turns in zip(doubted, again, strict=True):
                if number < len(one.turns):
                    self.at(f"{one.groups[0].role} {one.operation}", one.size)
                    turns.append(self._turn(one.groups, one.operation, one.size, one.calls))
        for one, turns in zip(doubted, again, strict=True):
            one.suspects &= (self._judged(one.groups, turns) or ({}, frozenset()))[1]
            one.turns += turns

    def _judged(
        self, groups: Sequence[Group], turns: Sequence[Mapping[Group, Row]]
    ) -> tuple[Mapping[Group, float], frozenset[Group]] | None:
        """The usual busbw of each group's siblings, and the slow groups; None where siblings spread too much."""
        kinds: defaultdict[tuple[int, int], dict[Group, list[float]]] = defaultdict(dict)
        for group in groups:
            kinds[len(group.ranks), self._spread(group)][group] = [turn[group].busbw for turn in turns]
        usual: dict[Group, float] = {}
        slow: set[Group] = set()
        for rates in kinds.values():
            if len(rates) < 2:
                continue
            if (known := slower(rates)) is None:
                return None
            usual |= dict.fromkeys(rates, known[0].rate)
            slow |= known[1]
        return usual, frozenset(slow)

    def _rows(self, one: _Measured) -> list[GroupRow]:
        rows = []
        usual, slow = (one.usual, one.suspects) if one.settled else ({}, frozenset[Group]())
        for group in one.groups:
            own = [turn[group] for turn in one.turns]
            seconds = median(row.seconds for row in own)
            whole = replace(own[-1], seconds=seconds, wrong=sum(row.wrong for row in own))
            rows.append(GroupRow(group, self._spread(group), whole, usual.get(group, 0.0), group in slow))
        return rows

    def _spread(self, group: Group) -> int:
        """On how many hosts the group lies."""
        return len({self.hosts[rank] for rank in group.ranks})

    def _turn(self, groups: Sequence[Group], operation: str, size: int, calls: int) -> dict[Group, Row]:
        order = {"do": operation, "bytes": size, "calls": calls}
        answers = self._each(groups, dict.fromkeys(groups, order))
        return {group: row_of(operation, calls, {rank: answers[rank] for rank in group.ranks}) for group in groups}

    def _each(self, groups: Sequence[Group], orders: Mapping[Group, Json]) -> Mapping[int, Json]:
        given = {rank: {**orders[group], "group": group.role} for group in groups for rank in group.ranks}
        answers = self.ask(given)
        if errors := {rank: str(answer["error"]) for rank, answer in answers.items() if "error" in answer}:
            raise RanksLost(errors, next(iter(errors.values())))
        return answers
