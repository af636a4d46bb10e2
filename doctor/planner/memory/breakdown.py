"""The peak of every pipeline stage, by what holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType

from doctor.planner.job import Job, Recompute, Stack
from doctor.planner.memory import activations as activations_of_megatron
from doctor.planner.memory import eager
from doctor.planner.memory.activations import word
from doctor.planner.memory.buffers import buffers, kinds, widest_matrix
from doctor.planner.memory.in_flight import in_flight
from doctor.planner.memory.logits import logits_bytes
from doctor.planner.memory.moments import Load, moments
from doctor.planner.memory.overhead import context, reserve_factor
from doctor.planner.memory.states import states
from doctor.planner.parameters import rank_parameters
from doctor.planner.stages import Chunk, alike, like, stages

# Share by which allocated memory may differ either way: half of the measured configurations lie within a third of it.
SPREAD = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMemory:
    """Peak of the ranks of one pipeline stage, in B; the parts up to `buffers` add up to `allocated`.

    activations: kept for the backward pass, of all micro-batches in flight; working: gradients and temporaries of the
    operation at the peak; logits: logits, loss and their gradient. reserve: what the allocator holds beside; context:
    CUDA context and communicators. low, high: range of `device`.
    """

    stage: int
    parameters: float
    gradients: float
    optimizer: float
    activations: float
    working: float
    logits: float
    buffers: float
    reserve: float
    context: float
    low: float
    high: float

    @property
    def allocated(self) -> float:
        """What the framework's tensors take (torch.cuda.max_memory_allocated)."""
        return (
            self.parameters
            + self.gradients
            + self.optimizer
            + self.activations
            + self.working
            + self.logits
            + self.buffers
        )

    @property
    def reserved(self) -> float:
        """What the framework's allocator takes of the GPU (torch.cuda.max_memory_reserved)."""
        return self.allocated + self.reserve

    @property
    def device(self) -> float:
        """What the process takes, as nvidia-smi shows it."""
        return self.reserved + self.context


def memory(job: Job) -> tuple[StageMemory, ...]:
    """The peak of every pipeline stage. Raises PlanError where layers do not fill the stages."""
    return tuple(stage_memory(job, stage, chunks) for stage, chunks in enumerate(stages(job)))


def fits(job: Job) -> bool | None:
    """Does the job fit into its GPUs? None where the range of the estimate holds the limit."""
    limit = job.cluster.gpu.memory
    peaks = memory(job)
    if all(peak.high <= limit for peak in peaks):
        return True
    return False if any(peak.low > limit for peak in peaks) else None


def stage_memory(job: Job, stage: int, chunks: tuple[Chunk, ...]) -> StageMemory:
    """The peak of one pipeline stage, which holds `chunks`."""
    held = rank_parameters(job, chunks)
    fixed = states(job, held)
    layers = kinds(job, chunks)
    kept = {kind: _kept(job, layer) for kind, layer in layers.items()}
    activations = 0.0
    sizes: dict[tuple[int, ...], float] = {}  # interleaved stages hold many chunks of one size
    for count, chunk in zip(in_flight(job, stage), chunks, strict=True):
        key = like(job.shape, chunk)
        if key not in sizes:
            sizes[key] = _chunk(job, chunk, kept)
        activations += count * sizes[key]
    if job.offload_activations:  # the layer at work and the next or last one on its way
        activations = min(activations, 2 * max(kept.values(), default=0.0) * job.tokens)
    extra = buffers(job, chunks, held)
    load = Load(
        activations=activations,
        layer=max(kept.values(), default=0.0) * job.tokens,
        backward=_backward(job, layers, kept),
        logits=_logits(job) if any(chunk.head for chunk in chunks) else 0.0,
        gradients=fixed.gradients,
    )
    peak = max(moments(job, chunks, held, load), key=lambda moment: moment.total)
    allocated = fixed.parameters + fixed.optimizer + peak.total + extra
    factor, outside = reserve_factor(job), context(job)
    return StageMemory(
        stage=stage,
        parameters=fixed.parameters,
        gradients=peak.gradients,
        optimizer=fixed.optimizer,
        activations=peak.activations,
        working=peak.working,
        logits=peak.logits,
        buffers=peak.gathered + extra,
        reserve=allocated * (factor[1] - 1),
        context=outside[1],
        low=allocated * (1 - SPREAD) * factor[0] + outside[0],
        high=allocated * (1 + SPREAD) * factor[2] + outside[2],
    )


def _layer(job: Job) -> ModuleType:
    return activations_of_megatron if job.stack in (Stack.MEGATRON, Stack.MEGATRON_FSDP) else eager


def _chunk(job: Job, chunk: Chunk, kept: Mapping[bool, float]) -> float:
    """B that one micro-batch keeps in one chunk; `kept`: B a token of a layer with experts and of one without."""
    shape, recomputed = job.shape, chunk.layers
    if job.recompute is Recompute.FULL and job.recompute_layers is not None:
        recomputed = min(recomputed, -(-job.recompute_layers // max(1, job.layout.vpp)))
    total = sum(count * kept[shape.is_moe(layer)] for layer, count in alike(shape, chunk.first, recomputed))
    rest = alike(shape, chunk.first + recomputed, chunk.layers - recomputed)
    total += sum(count * _whole(job, layer) for layer, count in rest)
    eager_layers = _layer(job) is eager
    row = word(job) * job.shape.hidden
    spread = job.layout.tp if job.layout.sp else 1
    if chunk.embedding and job.dropout:
        total += row / 2 / spread
    if chunk.head:  # input and output of the last norm; PyTorch's product keeps it gathered
        total += row / spread + (row if eager_layers else row / spread)
        total += job.shape.mtp_layers * (_kept(job, job.shape.layers - 1) + 5 * row / spread)
    return total * job.tokens


def _kept(job: Job, layer: int) -> float:
    """B a token that a layer keeps with the job's recomputation."""
    return float(_layer(job).kept(job, layer))


def _whole(job: Job, layer: int) -> float:
    """B a token that a layer keeps while it is at work in the backward pass."""
    whole = job if job.recompute is Recompute.NONE else replace(job, recompute=Recompute.NONE)
    return float(_layer(job).kept(whole, layer))


def _backward(job: Job, layers: Mapping[bool, int], kept: Mapping[bool, float]) -> float:
    """B of the backward pass of the layer that needs most, with what it recomputes."""
    most = 0.0
    for kind, layer in layers.items():
        whole = kept[kind] if job.recompute is Recompute.NONE else _whole(job, layer)
        need = _layer(job).working(job, layer) + whole - kept[kind]
        most = max(most, need * job.tokens)
    if job.stack is Stack.MEGATRON and not job.fused_grads:
        most += word(job) * widest_matrix(job)
    return most


def _logits(job: Job) -> float:
    """B at the loss; each further token that is predicted keeps its fp32 softmax meanwhile."""
    return logits_bytes(job, job.tokens) * (1 + job.shape.mtp_layers * 2 / 3)
