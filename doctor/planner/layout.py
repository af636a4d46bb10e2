"""How the ranks of a job are cut into groups."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.planner.errors import PlanError, reason

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
                raise PlanError(reason("reason.least", name=degree, value=getattr(self, degree)))
        if (self.tp * self.cp * self.dp) % (self.ep * self.etp):
            raise PlanError(
                reason(
                    "reason.expert_groups", tp=self.tp, cp=self.cp, dp=self.dp, ranks=self.tp * self.cp * self.dp,
                    ep=self.ep, etp=self.etp, group=self.ep * self.etp,
                )
            )  # fmt: skip
        if self.chunks and (len(self.chunks) != self.pp * self.vpp or min(self.chunks) < 0):
            needed = self.pp * self.vpp
            raise PlanError(reason("reason.chunks.parts", n=len(self.chunks), pp=self.pp, vpp=self.vpp, needed=needed))
        if self.shard and (self.dp * self.cp) % self.shard:
            raise PlanError(reason("reason.shard", shard=self.shard, whole=self.dp * self.cp))

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
