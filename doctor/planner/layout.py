"""How the ranks of a job are cut into groups."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.planner.errors import PlanError

DEGREES = ("tp", "cp", "pp", "dp", "ep", "etp", "vpp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Parallel degrees, in the terms of Megatron-LM.

    world = tp * cp * pp * dp. Experts are cut anew over the same ranks: etp * ep * edp * pp = world, so that `ep` does
    not multiply the world (Megatron-LM, core/parallel_state.py). sp: sequence parallelism, over the TP group.
    vpp: model chunks of one pipeline rank. shard: ranks over which FSDP or ZeRO shards, 0 for all of dp * cp.
    first, last: layers of the first and the last stage where they were set by hand, 0 for an even split. chunks: layers
    of every model chunk in the order of the model (pp * vpp of them), where the split was written out.
    """

    tp: int = 1
    cp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    etp: int = 1
    vpp: int = 1
    sp: bool = False
    shard: int = 0
    first: int = 0
    last: int = 0
    chunks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for degree in DEGREES:
            if getattr(self, degree) < 1:
                raise PlanError(f"{degree} is {getattr(self, degree)}; it must be at least 1")
        if (self.tp * self.cp * self.dp) % (self.ep * self.etp):
            raise PlanError(
                f"expert groups do not fit: tp {self.tp} x cp {self.cp} x dp {self.dp} = {self.tp * self.cp * self.dp} "
                f"ranks of a stage are not a multiple of ep {self.ep} x etp {self.etp} = {self.ep * self.etp}"
            )
        if self.chunks and (len(self.chunks) != self.pp * self.vpp or min(self.chunks) < 0):
            raise PlanError(
                f"chunks names {len(self.chunks)} parts; pp {self.pp} x vpp {self.vpp} needs {self.pp * self.vpp}"
            )
        if self.shard and (self.dp * self.cp) % self.shard:
            raise PlanError(f"shard is {self.shard}; it must divide dp x cp = {self.dp * self.cp}")

    @property
    def world(self) -> int:
        return self.tp * self.cp * self.pp * self.dp

    @property
    def edp(self) -> int:
        """Replicas of each expert."""
        return self.tp * self.cp * self.dp // (self.ep * self.etp)

    @property
    def sharded_over(self) -> int:
        """Ranks over which states of dense parameters are sharded, where they are sharded at all."""
        return self.shard or self.dp * self.cp
