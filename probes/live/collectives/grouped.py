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

Ask = Callable[[Mapping[int, Json]], Mapping[int, Json]]


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
        for role in dict.fromkeys(group.role for group in groups):
            ours = [group for group in groups if group.role == role]
            self.at(f"groups of {role}", 0)
            self._each(ours, {group: {"do": "group", "members": list(group.ranks)} for group in ours})
            for operation in OPERATIONS[role]:
                self.at(f"{role} {operation}", self.payloads[role])
                self.rows += self._operation(ours, operation, self.payloads[role])

    def blames(self) -> tuple[Blame, ...]:
        """What explains the slow groups."""
        slow = {row.group for row in self.rows if row.slow}
        quick = {row.group for row in self.rows if row.usual} - slow
        return blamed(slow, quick, self.hosts)

    def _operation(self, groups: Sequence[Group], operation: str, size: int) -> list[GroupRow]:
        first = self._turn(groups, operation, size, CALLS[0])  # opens connections and says how long a call lasts
        longest = max(row.seconds for row in first.values())
        calls = max(CALLS[0], min(CALLS[1], int(TURN_TIME / longest))) if longest > 0 else CALLS[1]
        turns: list[Mapping[Group, Row]] = []
        usual: Mapping[Group, float] = {}
        slow: frozenset[Group] = frozenset()
        while len(turns) < (MOST_TURNS if self.judging else TURNS):
            turns += [self._turn(groups, operation, size, calls) for _ in range(TURNS)]
            if self.judging and (known := self._judged(groups, turns)) is not None:
                usual, slow = known
                break
        if slow:  # they were picked for being slow, so what is measured now decides
            again = [self._turn(groups, operation, size, calls) for _ in range(len(turns))]
            slow &= (self._judged(groups, again) or ({}, frozenset()))[1]
            turns += again
        return [self._row(group, [turn[group] for turn in turns], usual, group in slow) for group in groups]

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

    def _row(self, group: Group, rows: Sequence[Row], usual: Mapping[Group, float], slow: bool) -> GroupRow:
        seconds = median(row.seconds for row in rows)
        whole = replace(rows[-1], seconds=seconds, wrong=sum(row.wrong for row in rows))
        return GroupRow(group, self._spread(group), whole, usual.get(group, 0.0), slow)

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
