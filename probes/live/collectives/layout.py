"""The process groups of a job's layout: which ranks talk to each other, and by what operations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from probes.live.collectives.rounds import pair
from probes.live.collectives.usual import Pair

DEGREES = ("tp", "cp", "ep", "etp", "pp", "dp")
ORDER = "tp-cp-ep-dp-pp"

OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "TP": ("all_reduce", "all_gather", "reduce_scatter"),
    "CP": ("send_recv",),
    "EP": ("all_to_all",),
    "PP": ("send_recv",),
    "DP": ("reduce_scatter", "all_reduce"),
    "EDP": ("reduce_scatter",),
}
"""What the groups of each role do in training. DP holds the context-parallel ranks too, since gradients are reduced
over both; EDP are the replicas of an expert."""


MOST = 8
"""Ranks of a group that its name spells out."""


class LayoutError(ValueError):
    """Degrees that do not fit the ranks: one line with the numbers."""


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks of one group in the order in which the framework numbers them."""

    role: str
    ranks: tuple[int, ...]

    def __str__(self) -> str:
        some = [*self.ranks[:MOST], "...", self.ranks[-1]] if len(self.ranks) > MOST + 1 else self.ranks
        return f"{self.role} {{{', '.join(map(str, some))}}}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Degrees of parallelism in the terms of Megatron-LM; etp is tp where it is 0, as there. dp follows from the ranks.

    `order` names the dimensions from the one whose ranks are neighbours to the one whose ranks are farthest apart
    (Megatron-LM, core/parallel_state.py, RankGenerator). DeepSpeed's grids and torchtitan's meshes, whose tensor
    parallelism is innermost and whose pipeline is outermost, come to the same.
    """

    tp: int = 1
    cp: int = 1
    ep: int = 1
    etp: int = 0
    pp: int = 1
    order: str = ORDER

    def groups(self, world: int) -> tuple[Group, ...]:
        """All groups of two ranks or more, role after role. Raises LayoutError."""
        dense, expert = self._sizes(world)
        plans: list[tuple[str, Mapping[str, int], tuple[str, ...]]] = [
            ("TP", dense, ("tp",)),
            ("CP", dense, ("cp",)),
            ("EP", expert, ("ep",)),
            ("PP", dense, ("pp",)),
            ("DP", dense, ("cp", "dp")),
        ]
        plans += [("EDP", expert, ("dp",))] if self.ep > 1 else []
        return tuple(
            Group(role, ranks) for role, sizes, inside in plans for ranks in self._cut(sizes, inside) if len(ranks) > 1
        )

    def _sizes(self, world: int) -> tuple[dict[str, int], dict[str, int]]:
        """Sizes of the dimensions of dense layers and of those of experts, which are cut anew over the same ranks."""
        if sorted(self.order.split("-")) != sorted(ORDER.split("-")):
            raise LayoutError(f"order is {self.order!r}; right would be {ORDER} or the same names in another order")
        if world % (model := self.tp * self.cp * self.pp):
            raise LayoutError(f"tp {self.tp} x cp {self.cp} x pp {self.pp} = {model} does not divide {world} ranks")
        etp = self.etp or self.tp
        if (world // self.pp) % (self.ep * etp):
            raise LayoutError(
                f"ep {self.ep} x etp {etp} = {self.ep * etp} does not divide the {world // self.pp} ranks of a stage"
            )
        dense = {"tp": self.tp, "cp": self.cp, "ep": 1, "dp": world // model, "pp": self.pp}
        expert = {"tp": etp, "cp": 1, "ep": self.ep, "dp": world // self.pp // self.ep // etp, "pp": self.pp}
        return dense, expert

    def _cut(self, sizes: Mapping[str, int], inside: Sequence[str]) -> list[tuple[int, ...]]:
        names = self.order.split("-")
        found: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        for rank in range(prod(sizes.values())):
            left, key = rank, []
            for name in names:
                left, at = divmod(left, sizes[name])
                if name not in inside:
                    key.append(at)
            found[tuple(key)].append(rank)
        return [tuple(ranks) for ranks in found.values()]


def parsed(text: str) -> Layout:
    """A layout such as `tp=8,pp=2,ep=4`, with `order=tp-cp-ep-pp-dp` where it is another. Raises LayoutError."""
    sizes: dict[str, int] = {}
    order = ORDER
    for part in filter(None, (word.strip() for word in text.lower().split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        if name == "order":
            order = value
        elif name not in DEGREES or not (value.isdecimal() and 1 <= int(value[:9]) <= 1 << 20):
            raise LayoutError(
                f"--layout has {part!r}; right would be degrees of {', '.join(DEGREES)} such as tp=8,pp=2"
            )
        elif name != "dp":  # follows from the number of ranks
            sizes[name] = int(value[:9])
    return Layout(**sizes, order=order)


def host_edges(groups: Sequence[Group], hosts: Sequence[int]) -> list[Pair]:
    """Pairs of hosts that are neighbours on the ring of some group; `hosts` has the number of the host of each rank."""
    found = set()
    for group in groups:
        for one, other in zip(group.ranks, (*group.ranks[1:], group.ranks[0]), strict=True):
            if hosts[one] != hosts[other]:
                found.add(pair(hosts[one], hosts[other]))
    return sorted(found)
