"""What follows from a job's configuration by arithmetic: ranks, batches, layers a stage.

A fact is computed only where no configuration states it, so that what was stated can still be compared with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from doctor.facts.model import Fact, Quality, Source, Value
from doctor.facts.store import FactStore

LARGEST = 10**9
"""Counts beyond this are misread, not real."""


@dataclass(frozen=True, slots=True)
class Formula:
    """`gives` = compute(*needs, *optional): all of `needs` must be known; an unknown one of `optional` is passed as 1.

    `unless` names facts under whose presence the formula does not hold. `stated` formulas take no inputs that are
    themselves only likely, such as a script's default of one node.
    """

    gives: str
    needs: tuple[str, ...]
    compute: Callable[..., Value | None]
    optional: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    stated: bool = False


def product(*factors: int) -> int:
    result = 1
    for factor in factors:
        result *= factor
    return result


def quotient(total: int, *divisors: int) -> int | None:
    """total / (product of divisors) where that is a whole number above 0."""
    divisor = product(*divisors)
    return total // divisor if divisor > 0 and total > 0 and total % divisor == 0 else None


def data_parallel(world: int, framework: str, tp: int, pp: int, cp: int) -> int | None:
    """world = TP x PP x CP x DP (Megatron-LM, core/parallel_state.py). A degree that is left out is 1."""
    return quotient(world, tp, pp, cp)


def chunks(layers: int, pp: int, per_chunk: int) -> int | None:
    """Virtual stages a pipeline rank: (layers // PP) // layers a virtual stage (Megatron-LM, training/arguments.py)."""
    return layers // pp // per_chunk or None


def layers_per_stage(layers: int, pp: int) -> int | None:
    return layers // pp or None


def layers_built(layers: int, pp: int, vpp: int) -> int | None:
    """Layers of a model whose stages are sized by floor division: (layers // PP // VPP) x VPP x PP.

    Megatron-LM, core/transformer/transformer_block.py: get_num_layers_to_build divides by PP, then by VPP.
    """
    return layers // pp // vpp * vpp * pp or None


def stage_in_name(path: str) -> int | None:
    """The ZeRO stage that the name of a DeepSpeed configuration carries, such as ds_z3_config.json or zero2.json."""
    found = re.search(r"(?:^|[^a-z])(?:z|zero|stage|zero_?stage|zero-?stage)[_-]?([0-3])(?![0-9])", path.lower())
    return int(found[1]) if found else None


def offload_in_name(path: str) -> bool | None:
    return True if "offload" in path.lower() else None


def as_precision(dtype: str) -> str | None:
    return dtype if dtype in ("bf16", "fp16", "fp32") else None


def same(value: Value) -> Value:
    return value


DEGREES = ("config.tp", "config.pp", "config.cp")
FORMULAS = (
    Formula("config.zero_stage", ("config.deepspeed_config",), stage_in_name),
    Formula("config.offload_optimizer", ("config.deepspeed_config",), offload_in_name),
    Formula("config.precision", ("config.param_dtype",), as_precision),
    Formula("config.nnodes", ("config.world_size", "config.nproc_per_node"), quotient, unless=("config.nnodes_max",)),
    Formula("config.nproc_per_node", ("config.world_size", "config.nnodes"), quotient),
    Formula("config.world_size", ("config.nnodes", "config.nproc_per_node"), product, stated=True),
    Formula("config.world_size", ("config.world_size_echoed",), same),
    Formula("config.world_size", ("config.nnodes", "config.nproc_per_node"), product),
    Formula("config.gpus_per_node", ("config.gpus", "config.nnodes"), quotient),
    Formula("config.dp", ("config.dp_shard", "config.dp_replicate"), product),
    Formula("config.dp", ("config.world_size", "config.framework"), data_parallel, optional=DEGREES),
    Formula("config.vpp", ("config.num_layers", "config.pp", "config.layers_per_virtual_stage"), chunks),
    Formula("config.grad_accum", ("config.global_batch", "config.micro_batch", "config.dp"), quotient),
    Formula("config.global_batch", ("config.prompts_per_step",), product, optional=("config.num_generations",)),
    Formula("config.global_batch", ("config.micro_batch", "config.grad_accum", "config.dp"), product),
    Formula("config.num_microbatches", ("config.pp_microbatches",), same),
    Formula("config.num_microbatches", ("config.global_batch", "config.micro_batch", "config.dp"), quotient),
    Formula("config.num_microbatches", ("config.grad_accum",), same),
    Formula(
        "config.layers_per_stage", ("config.num_layers", "config.pp"), layers_per_stage, unless=("config.pp_uneven",)
    ),
    Formula(
        "config.layers_built",
        ("config.num_layers", "config.pp"),
        layers_built,
        optional=("config.vpp",),
        unless=("config.pp_uneven",),
    ),
)

GIVES = tuple(dict.fromkeys(formula.gives for formula in FORMULAS))
NEEDS = tuple(dict.fromkeys(name for f in FORMULAS for name in (*f.needs, *f.optional, *f.unless)))


def derive(store: FactStore) -> Iterator[Fact]:
    """Apply the formulas to the job, and to each run that has a configuration of its own."""
    yield from apply(store, FORMULAS)


def apply(store: FactStore, formulas: Sequence[Formula]) -> list[Fact]:
    """Facts that `formulas` give, in an order in which one may use another's."""
    of_job: dict[str, Fact] = {}
    found: list[Fact] = []
    for entity in ("job", *store.entities("run")):
        known: dict[str, Fact] = {}
        for _ in range(len(formulas)):
            for formula in formulas:
                if (fact := _apply(store, formula, entity, known)) is not None:
                    known[fact.name] = fact
        if entity == "job":
            of_job = known
        found.extend(fact for fact in known.values() if entity == "job" or _differs(fact, of_job.get(fact.name)))
    return found


def _differs(fact: Fact, of_job: Fact | None) -> bool:
    """Does a run differ from what holds for the whole job?"""
    return of_job is None or of_job.value != fact.value


def _apply(store: FactStore, formula: Formula, entity: str, known: dict[str, Fact]) -> Fact | None:
    def get(name: str) -> Fact | None:
        return known.get(name) or store.get(name, entity)

    if get(formula.gives) is not None or any(_holds(get(name)) for name in formula.unless):
        return None
    needs = [get(name) for name in formula.needs]
    optional = [get(name) for name in formula.optional]
    inputs = [fact for fact in (*needs, *optional) if fact is not None]
    if None in needs or not all(_plausible(fact) for fact in inputs):
        return None
    if formula.stated and any(fact.quality is Quality.DERIVED for fact in inputs):
        return None
    if any(fact is None and _of_a_run(store, name) for name, fact in zip(formula.optional, optional, strict=True)):
        return None
    arguments = [fact.value for fact in needs if fact is not None] + [fact.value if fact else 1 for fact in optional]
    value = formula.compute(*arguments)
    if value is None or (isinstance(value, int) and value > LARGEST):
        return None
    return Fact(formula.gives, value, entity, Source("derived"), None, Quality.DERIVED, sources(inputs))


def sources(facts: Sequence[Fact]) -> tuple[Source, ...]:
    """Where `facts` were read; for derived ones, where what they follow from was read."""
    return tuple(dict.fromkeys(source for fact in facts for source in (fact.because or (fact.source,))))


def _holds(fact: Fact | None) -> bool:
    return fact is not None and fact.value is not False


def _of_a_run(store: FactStore, name: str) -> bool:
    """Is `name` known for single runs only? Then it cannot be taken as 1 for the whole job."""
    return next(store.every(name), None) is not None


def _plausible(fact: Fact) -> bool:
    """Sizes are whole and above 0; texts and switches are taken as they are."""
    value = fact.value
    if isinstance(value, bool | str):
        return True
    return isinstance(value, int | float) and 0 < value <= LARGEST * 10**6
