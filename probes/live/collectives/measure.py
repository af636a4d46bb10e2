"""Runs the operations of a test one after the other, then the pairs, within a time that is set."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from probes.live.collectives.channel import Channel, Json, RanksLost
from probes.live.collectives.grouped import GroupTest
from probes.live.collectives.halving import Ranks, narrowed
from probes.live.collectives.layout import Layout, host_edges
from probes.live.collectives.model import OPERATIONS, Lost, Member, Result, Row, Skipped, row_of
from probes.live.collectives.search import Verdict, drive, search
from probes.live.collectives.siblings import Blame
from probes.live.collectives.usual import Pair

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = {
    "gloo": (1 * KIB, 64 * KIB, 1 * MIB, 16 * MIB),
    "nccl": (1 * KIB, 1 * MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1 * GIB, 8 * GIB),
}
PAIR_BYTES = {"gloo": 1 * MIB, "nccl": 64 * MIB}
LARGEST_PAIR = 256 * MIB

ENOUGH = 0.05
"""Seconds that an exchange of a pair should last, so that start-up and scheduling do not decide."""

CALLS, ROW_TIME = (2, 20), 0.5
"""Fewest and most timed calls of a row, and about how many seconds they should take together."""

PAIR_CALLS = 3

LONGEST_TRY = 10.0
"""Seconds that an operation is given among some of the ranks once it has hung among all."""

MOST_NEARER = 4
"""Slow groups whose members are told apart by pairs."""

SHARED = "ranks that talk over gloo within one host share its processors, which says nothing of links"


@dataclass(frozen=True, slots=True)
class Request:
    """What to test. `sizes` are B, empty for those of the backend; times are seconds, of one step and of all.

    With a `layout` its groups are tested too, with `payloads` B by role.
    """

    operations: tuple[str, ...] = OPERATIONS
    sizes: tuple[int, ...] = ()
    pairs: bool = True
    all_pairs: bool = False
    step: float = 30.0
    total: float = 120.0
    seed: int = 0
    layout: Layout | None = None
    payloads: Mapping[str, int] = field(default_factory=dict)
    told: Callable[[str], None] = field(default=lambda text: None)


def measure(
    channel: Channel, world: int, backend: str, request: Request, begun: float, alive: Callable[[], str] = str
) -> Result:
    """The whole test over ranks that are connected. Ranks that do not answer end it, and are in the result.

    `alive` says why the ranks of this machine have ended, nothing while they run.
    Raises LayoutError where the layout does not fit the ranks.
    """
    if request.layout is not None:
        request.layout.groups(world)
    members = tuple(Member(rank, channel.hosts.get(rank, "?")) for rank in range(world))
    run = _Run(channel, request, begun + request.total, Result(backend, members))
    try:
        run.prepare()
        run.collectives()
        run.grouped()
        if request.pairs:
            run.pairs()
    except RanksLost as lost:
        run.result = replace(run.result, lost=Lost(lost.ranks, run.doing, run.bytes, lost.why))
        if not lost.ranks and world > 2:
            run.narrow(alive)
    except _TimeUpError:
        pass
    return replace(run.result, rows=tuple(run.rows), skipped=tuple(run.skipped))


class _TimeUpError(Exception):
    """The time that was set is over."""


@dataclass(slots=True)
class _Run:
    channel: Channel
    request: Request
    end: float
    result: Result
    rows: list[Row] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    doing: str = "init"
    bytes: int = 0

    def prepare(self) -> None:
        answers = self._all({"do": "init"})
        if errors := [(rank, str(answer["error"])) for rank, answer in answers.items() if "error" in answer]:
            raise RanksLost([rank for rank, _ in errors], errors[0][1])
        members = tuple(replace(one, device=str(answers[one.rank].get("device", ""))) for one in self.result.members)
        versions = {name: str(answers[0][name]) for name in ("torch", "nccl") if answers[0].get(name)}
        self.result = replace(self.result, members=members, versions=versions)

    def collectives(self) -> None:
        sizes = self.request.sizes or SIZES[self.result.backend]
        for operation in self.request.operations:
            each = 0.0
            for size in sizes:
                row = self._row(operation, size, each)
                if row is None:
                    break
                self.rows.append(row)
                each = row.seconds * 4

    def _row(self, operation: str, size: int, each: float) -> Row | None:
        """One row; None where larger sizes need not be tried."""
        self.doing, self.bytes = operation, size
        self.request.told(f"{operation} {size}")
        fewest, most = CALLS
        calls = max(fewest, min(most, int(ROW_TIME / each))) if each > 0 else most
        if self._left() <= 0:
            self.skipped.append(Skipped(operation, size, "the time was over"))
            return None
        answers = self._all({"do": operation, "bytes": size, "calls": calls})
        errors = {rank: str(answer["error"]) for rank, answer in answers.items() if "error" in answer}
        if len(errors) == len(answers):
            self.skipped.append(Skipped(operation, size, errors[0]))
            return None
        if errors:
            raise RanksLost(errors, next(iter(errors.values())))
        return row_of(operation, calls, answers)

    def grouped(self) -> None:
        """The groups of the layout, and the pairs within what a slow one leaves open."""
        if self.request.layout is None:
            return
        hosts = self._host_numbers()
        groups = self.request.layout.groups(len(hosts))
        payload = PAIR_BYTES[self.result.backend]
        judging = self.result.backend != "gloo" or len(set(hosts)) > 1
        payloads = {group.role: payload for group in groups} | dict(self.request.payloads)
        test = GroupTest(hosts, self._asked, self._at, payloads, judging)
        try:
            test.measure(groups)
        finally:
            self.result = replace(self.result, groups=tuple(test.rows), blames=test.blames())
        if not judging:
            self.skipped.append(Skipped("comparison of groups", 0, SHARED))
        if self.request.pairs:
            nearer = tuple(self._nearer(blame, hosts) for blame in self.result.blames[:MOST_NEARER])
            self.result = replace(self.result, blames=(*nearer, *self.result.blames[MOST_NEARER:]))

    def _nearer(self, blame: Blame, hosts: Sequence[int]) -> Blame:
        """The member or path that is slow among those of one group, where its pairs are alike and tell."""
        ranks = blame.groups[0].ranks
        apart = len({hosts[rank] for rank in ranks})
        if blame.kind != "members" or len(ranks) < 3 or apart not in (1, len(ranks)):
            return blame
        self._at(f"pairs of {blame.groups[0]}", self._pair_bytes(ranks))
        found = self._search(ranks, ())
        if found.judged and len(found.nodes) == 1 and not found.links:
            return replace(blame, kind="rank", ranks=(ranks[found.nodes[0]],))
        if found.judged and len(found.links) == 1 and not found.nodes:
            return replace(blame, kind="link", ranks=tuple(ranks[end] for end in found.links[0]))
        return blame

    def _at(self, doing: str, size: int) -> None:
        self.doing, self.bytes = doing, size
        self.request.told(f"{doing} {size}")

    def _host_numbers(self) -> list[int]:
        """The number of the host of each rank."""
        return [self.result.hosts.index(member.host) for member in self.result.members]

    def pairs(self) -> None:
        """Between one rank of each host, or between all ranks where there is one host."""
        if self.result.backend == "gloo" and len(self.result.hosts) < 2:
            self.skipped.append(Skipped("pairs", 0, SHARED))
            return
        firsts: dict[str, int] = {}
        for member in self.result.members:
            firsts.setdefault(member.host, member.rank)
        units = tuple(firsts.values()) if len(firsts) > 1 else tuple(one.rank for one in self.result.members)
        self.doing, self.bytes = "pairs", self._pair_bytes(units)
        self.result = replace(self.result, units=units, pair_bytes=self.bytes)

        edges: Sequence[Pair] = ()
        if self.request.layout is not None and len(firsts) > 1:
            hosts = self._host_numbers()
            edges = host_edges(self.request.layout.groups(len(hosts)), hosts)
        self.result = replace(self.result, verdict=self._search(units, edges))

    def _search(self, units: Sequence[int], edges: Sequence[Pair]) -> Verdict:
        def together(these: list[Pair]) -> Mapping[Pair, float]:
            return self._exchange([(units[a], units[b]) for a, b in these], these)

        draw = random.Random(self.request.seed)
        return drive(search(len(units), draw, self.request.all_pairs, edges), together)

    def _pair_bytes(self, units: Sequence[int]) -> int:
        """A size at which an exchange lasts long enough, from one round of neighbours."""
        self.doing, self.bytes = "pairs", PAIR_BYTES[self.result.backend]
        near = list(zip(units[::2], units[1::2], strict=False))
        rates = self._exchange(near, near)
        wanted = median(rates.values()) * ENOUGH
        while self.bytes < min(wanted, LARGEST_PAIR):
            self.bytes *= 2
        return self.bytes

    def _exchange(self, ranks: Sequence[Pair], names: Sequence[Pair]) -> dict[Pair, float]:
        """B/s in each direction of every pair, all pairs at once: the median of a few exchanges."""
        self.request.told(f"pairs {self.bytes}")
        orders: dict[int, Json] = {}
        for a, b in ranks:
            order = {"do": "pair", "bytes": self.bytes, "calls": PAIR_CALLS}
            orders |= {a: {**order, "peer": b}, b: {**order, "peer": a}}
        answers = self._asked(orders)
        if errors := {rank: str(answer["error"]) for rank, answer in answers.items() if "error" in answer}:
            raise RanksLost(errors, next(iter(errors.values())))
        return {
            name: self.bytes / max(_pair_seconds(answers[a]), 1e-9) for name, (a, _) in zip(names, ranks, strict=True)
        }

    def narrow(self, alive: Callable[[], str]) -> None:
        """Among which ranks the operation hangs in which all of them wait: tried with ranks that are started anew."""
        lost = self.result.lost
        assert lost is not None
        known = lost.operation if lost.operation in OPERATIONS else "init"
        limit = min(self.request.step, LONGEST_TRY)
        orders_of: list[Json] = [{"do": "init"}]
        orders_of += [{"do": known, "bytes": lost.bytes, "calls": 1}] if known != "init" else []

        def hang(sets: list[Ranks]) -> list[Ranks]:
            self.request.told(f"{known} among {', '.join(str(len(ranks)) for ranks in sets)} ranks")
            if self._left() < 2 * limit:
                raise _TimeUpError
            self.channel.again(len(self.result.members), 2 * limit, alive)
            left = [ranks for ranks in sets if len(ranks) > 1]
            for order in [{"do": "init"}] + (
                [{"do": known, "bytes": lost.bytes, "calls": 1}] if known != "init" else []
            ):
                tried = {rank: {**order, "members": list(ranks)} for ranks in left for rank in ranks}
                answers = self.channel.answers(tried, limit)
                well = {rank for rank, answer in answers.items() if "error" not in answer}
                left = [ranks for ranks in left if well >= set(ranks)]
            return [ranks for ranks in sets if len(ranks) > 1 and ranks not in left]

        try:
            found = narrowed([member.rank for member in self.result.members], hang)
        except (RanksLost, _TimeUpError):
            return
        self.result = replace(self.result, lost=replace(lost, narrowed=found))

    def _all(self, order: Json) -> dict[int, Json]:
        return self._asked({member.rank: order for member in self.result.members})

    def _asked(self, orders: Mapping[int, Json]) -> dict[int, Json]:
        if self._left() <= 0:
            self.skipped.append(Skipped(self.doing, self.bytes, "the time was over"))
            raise _TimeUpError
        return self.channel.ask(orders, min(self.request.step, self._left()))

    def _left(self) -> float:
        return self.end - self.channel.clock()


def _pair_seconds(answer: Json) -> float:
    return median(float(value) for value in answer["seconds"])
