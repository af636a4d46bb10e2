"""The time of one training step, by what takes it, with a range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from doctor.planner.bubble import bubble
from doctor.planner.communication.transfer import Group
from doctor.planner.compute import Rates, Work, head, layer, product, rates, repeated
from doctor.planner.constants import FITTED, Constants
from doctor.planner.job import Job, Recompute, Sharding
from doctor.planner.offload import offload
from doctor.planner.overlap import exposed
from doctor.planner.parameters import RankParameters, rank_parameters
from doctor.planner.prediction import Kind, kind_of, range_of
from doctor.planner.stages import Part, parts, stages

# B a parameter of an update by Adam in mixed precision: the gradient is read twice (once for its norm), master weight
# and two moments are read and written, the weight is written.
ADAM_BYTES = 34
PARTS = (
    "products", "attention", "memory", "recompute", "host", "tp", "cp", "ep", "dp", "pp", "bubble", "optimizer",
    "offload",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """Seconds of a step on a rank of the slowest pipeline stage; the parts add up to `likely`.

    products, attention, memory: its own work without repetitions, by what limits it; recompute: what is done again;
    host: what the GPU waits for the host; tp, cp, ep, dp, pp: communication that nothing hides; bubble: waiting for
    other stages; optimizer: the update; offload: transfers to and from host memory that are waited for. low, high:
    range of the whole. kind: whose errors the range comes from.
    """

    products: float
    attention: float
    memory: float
    recompute: float
    host: float
    tp: float
    cp: float
    ep: float
    dp: float
    pp: float
    bubble: float
    optimizer: float
    offload: float
    low: float
    high: float
    kind: Kind

    @property
    def parts(self) -> Mapping[str, float]:
        """Seconds by part."""
        return {name: getattr(self, name) for name in PARTS}

    @property
    def likely(self) -> float:
        return (
            self.products + self.attention + self.memory + self.recompute + self.host + self.tp + self.cp + self.ep
            + self.dp + self.pp + self.bubble + self.optimizer + self.offload
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passes:
    """One micro-batch on one rank: forward, backward and repeated work, and seconds the GPU waits for the host."""

    forward: Work
    backward: Work
    again: Work
    host: float

    @property
    def seconds(self) -> float:
        return self.forward.seconds + self.backward.seconds + self.again.seconds + self.host


def step_time(job: Job, constants: Constants = FITTED) -> StepTime:
    """Time of a step. Raises PlanError where a figure of the GPU is missing or layers do not fill the stages."""
    rate, layout, m, ranks = rates(job, constants), job.layout, job.micro_batches, parts(job)
    passes = {part: _passes(job, part, rate, constants) for part in dict.fromkeys(ranks)}
    slowest = max(passes, key=lambda part: passes[part].seconds)
    own = passes[slowest]
    # Ranks run side by side, and the step ends with the last: what is sent is that of the rank that holds most.
    fullest = max(passes, key=lambda part: (part.layers, part.embedding + part.head))
    parameters = rank_parameters(job, stages(job)[ranks.index(fullest)])
    share = 1 / 3  # of the forward pass: a backward pass takes twice as long, and the host delays both alike
    waits = exposed(
        job, parameters,
        layers=fullest.layers * layout.pp / job.shape.layers,
        attention=m * (own.forward.attention + own.backward.attention + own.again.attention),
        passes=(share * own.seconds, (1 - share) * own.seconds),
        constants=constants,
    )  # fmt: skip
    inner = waits[Group.TP] + waits[Group.CP] + waits[Group.EP]
    mean = m * sum(passes[part].seconds for part in ranks) / len(ranks) + inner
    idle = bubble(job.schedule, layout.pp, m, layout.vpp)
    result = StepTime(
        products=(own.forward.products + own.backward.products) * m,
        attention=(own.forward.attention + own.backward.attention) * m,
        memory=(own.forward.memory + own.backward.memory) * m,
        recompute=own.again.seconds * m,
        host=own.host * m + constants.host_step,
        tp=waits[Group.TP],
        cp=waits[Group.CP],
        ep=waits[Group.EP],
        dp=waits[Group.DP],
        pp=waits[Group.PP],
        bubble=mean * idle / (1 - idle),
        optimizer=_update(job, parameters, rate),
        offload=offload(job, fullest, parameters, own.seconds * m),
        low=0.0,
        high=0.0,
        kind=Kind.DENSE,
    )
    return ranged(job, result)


def ranged(job: Job, result: StepTime) -> StepTime:
    """The result with the range that held the measured values of its kind."""
    likely = result.likely
    kind = kind_of(job, result.host / likely)
    low, high = range_of(job, kind)
    return replace(result, low=likely * low, high=likely * high, kind=kind)


def _passes(job: Job, part: Part, rate: Rates, constants: Constants) -> Passes:
    forward = backward = again = Work()
    host = 0.0
    extra = job.shape.mtp_layers * part.head
    last_moe = job.shape.is_moe(job.shape.layers - 1)
    for moe, count in ((False, part.dense), (True, part.moe)):
        count += extra if moe == last_moe else 0
        if not count:
            continue
        one, other = layer(job, moe, rate)
        repeat = repeated(job, moe, one, rate) * _recomputed(job, part)
        forward, backward, again = forward + one * count, backward + other * count, again + repeat * count
        needs = constants.host_moe if moe else constants.host_dense
        host += count * max(0.0, needs - one.seconds - other.seconds - repeat.seconds)
    if part.head:
        one, other = head(job, rate)
        heads = part.head * (1 + job.shape.mtp_layers)
        forward, backward = forward + one * heads, backward + other * heads
        if extra:
            one, other = product(rate, job.tokens, job.shape.hidden / job.layout.tp, 2 * job.shape.hidden)
            forward, backward = forward + one * extra, backward + other * extra
    return Passes(forward, backward, again, host)


def _recomputed(job: Job, part: Part) -> float:
    """Share of the rank's layers that are recomputed."""
    if job.recompute is not Recompute.FULL or job.recompute_layers is None:
        return 1.0
    return min(1.0, job.recompute_layers / max(1.0, part.layers))


def _update(job: Job, parameters: RankParameters, rate: Rates) -> float:
    """The optimizer's pass over the states that the rank owns."""
    if job.lora_rank:
        return 0.0
    sharded = job.sharding is not Sharding.NONE
    owned = parameters.dense / (job.layout.sharded_over if sharded else 1)
    owned += parameters.experts / (job.layout.edp if sharded else 1)
    return owned * ADAM_BYTES * rate.eager / rate.memory
