"""How often the pairwise search names what is slow, and nothing else: the table of docs/bench.md.

`python -m studies.pairs` prints it.

Pairs are as fast as their slower end and their path, with lognormal noise. What is slow runs at 0.6 of the usual rate.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from statistics import mean

from probes.live.collectives.rounds import pair
from probes.live.collectives.search import Verdict, drive, search
from probes.live.collectives.usual import Pair
from studies.table import table

SLOWDOWN = 0.6
TRIALS = {4: 400, 8: 400, 16: 400, 64: 300, 256: 100, 1024: 40}
NOISES = (0.02, 0.05, 0.10)
FAULTS = ("none", "one host", "two hosts", "link of the ring", "any link")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is slow."""

    hosts: tuple[int, ...] = ()
    links: tuple[Pair, ...] = ()

    def pace(self, ends: Pair) -> float:
        return SLOWDOWN if set(ends) & set(self.hosts) or ends in self.links else 1.0

    def named(self, verdict: Verdict) -> bool:
        return verdict.judged and (verdict.nodes, verdict.links) == (self.hosts, self.links)

    def wrongly(self, verdict: Verdict) -> bool:
        """Is anything named that is not slow?"""
        return verdict.judged and bool({*verdict.nodes} - {*self.hosts} or {*verdict.links} - {*self.links})


def fault(kind: str, hosts: int, draw: random.Random) -> Fault:
    if kind == "one host":
        return Fault((draw.randrange(hosts),))
    if kind == "two hosts":
        return Fault(tuple(sorted(draw.sample(range(hosts), 2))))
    if kind == "link of the ring":
        first = draw.randrange(hosts)
        return Fault(links=(pair(first, (first + 1) % hosts),))
    return Fault(links=(pair(*draw.sample(range(hosts), 2)),)) if kind == "any link" else Fault()


def trial(kind: str, hosts: int, noise: float, seed: int) -> tuple[Fault, Verdict]:
    draw = random.Random(f"{kind} {hosts} {noise} {seed}")
    wrong = fault(kind, hosts, draw)

    def measure(these: Collection[Pair]) -> Mapping[Pair, float]:
        return {ends: 1e10 * wrong.pace(ends) * math.exp(draw.gauss(0, noise)) for ends in these}

    return wrong, drive(search(hosts, draw), measure)


def main() -> None:
    rows = []
    for hosts, trials in TRIALS.items():
        for noise in NOISES:
            cells, blamed, rounds = [], 0, 0.0
            for kind in FAULTS:
                done = [trial(kind, hosts, noise, seed) for seed in range(trials)]
                possible = not (hosts == 4 and kind == "two hosts")
                share = f"{100 * mean(wrong.named(verdict) for wrong, verdict in done):.1f}"
                cells.append(share if possible else "-")
                blamed += sum(wrong.wrongly(verdict) for wrong, verdict in done) if possible else 0
                rounds = max(rounds, mean(verdict.rounds for _, verdict in done))
            total = trials * (len(FAULTS) - (hosts == 4))
            rows.append([str(hosts), f"{noise:.2f}", *cells, f"{100 * blamed / total:.2f}", f"{rounds:.1f}"])
    print(table(["hosts", "noise", *FAULTS, "wrongly blamed", "rounds"], rows))


if __name__ == "__main__":
    main()
