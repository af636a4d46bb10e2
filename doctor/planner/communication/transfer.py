"""One kind of collective call that a rank makes in a step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Group(StrEnum):
    """The role of the process group that calls."""

    TP = "tp"
    CP = "cp"
    EP = "ep"
    ETP = "etp"
    DP = "dp"  # data parallel with context parallel: all ranks that hold the same dense parameters
    EDP = "edp"  # all ranks that hold the same experts
    PP = "pp"


class Primitive(StrEnum):
    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    ALL_TO_ALL = "all_to_all"
    SEND_RECV = "send_recv"


class Hides(StrEnum):
    """What a transfer can run beside."""

    NOTHING = "nothing"  # the next operation needs it
    ATTENTION = "attention"  # the scores of the block at hand (ring attention)
    LAYER = "layer"  # forward or backward of another layer (prefetched parameters)
    BACKWARD = "backward"  # the last backward pass of a step (gradient buckets)
    PIPELINE = "pipeline"  # another micro-batch's work on the same stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """`calls` calls a step, by every rank of the stage, on a group of `ranks`.

    payload: B a call as nccl-tests counts it: the buffer of an all-reduce, the whole output of an all-gather, the
    whole input of a reduce-scatter, what one rank hands out in an all-to-all, the message of a send.
    """

    group: Group
    primitive: Primitive
    ranks: int
    payload: float
    calls: float
    hides: Hides
    why: str

    @property
    def wire(self) -> float:
        """B that one rank sends in a step.

        All-reduce 2(n-1)/n S; all-gather, reduce-scatter and all-to-all (n-1)/n S; send S. nccl-tests,
        doc/PERFORMANCE.md. So an all-to-all carries half of an all-reduce of the same buffer.
        """
        return self.calls * self.payload * self.factor

    @property
    def factor(self) -> float:
        """Bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md)."""
        n = self.ranks
        if self.primitive is Primitive.SEND_RECV:
            return 1.0
        return (2 if self.primitive is Primitive.ALL_REDUCE else 1) * (n - 1) / n
