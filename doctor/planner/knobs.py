"""Settings of a job by neutral names, and what a change of them makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any

from doctor.planner.errors import PlanError, hint, reason
from doctor.planner.job import Attention, Job, Loss, Optimizer, Precision, Recompute, Schedule, Sharding, Stack
from doctor.planner.layout import Layout
from doctor.rulebase.model import Text

DEGREES = ("tp", "cp", "pp", "dp", "ep", "etp", "vpp", "shard", "first", "last")
STAGES_OF_ZERO = (Sharding.NONE, Sharding.OPTIMIZER, Sharding.GRADIENTS, Sharding.FULL)
MODULES = ("core_attn", "mlp", "moe", "moe_act", "layernorm", "mla_up_proj", "shared_experts")
MOST = 10_000_000
WORDS_FOR_TRUE, WORDS_FOR_FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A neutral setting. `read` makes its value of a word or number, or raises; `right` says what it would take."""

    name: str
    read: Callable[[Any], Any]
    right: Text


def _number(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or (isinstance(value, float) and value != int(value)):
            raise ValueError
        number = int(value)
        if not least <= number <= MOST:
            raise ValueError
        return number

    return read


def _switch(value: Any) -> bool:
    word = str(value).strip().lower()
    if word not in WORDS_FOR_TRUE + WORDS_FOR_FALSE:
        raise ValueError
    return word in WORDS_FOR_TRUE


def _one_of(kind: type[StrEnum]) -> Callable[[Any], StrEnum]:
    return lambda value: kind(str(value).strip().lower().replace("-", "_" if kind is not Schedule else "-"))


def _modules(value: Any) -> frozenset[str]:
    words = value.replace("+", ",").split(",") if isinstance(value, str) else list(value)
    found = frozenset(str(word).strip() for word in words if str(word).strip())
    if found - set(MODULES):
        raise ValueError
    return found


def _stage(value: Any) -> Sharding:
    if isinstance(value, Sharding):
        return value
    return STAGES_OF_ZERO[_within(value, 3)]


def _within(value: Any, most: int) -> int:
    number = _number(0)(value)
    if number > most:
        raise ValueError
    return number


def _words(kind: type[StrEnum]) -> Text:
    return reason("right.one_of", names=", ".join(member.value for member in kind))


_POSITIVE, _WHOLE, _SWITCH = reason("right.positive"), reason("right.whole"), reason("right.switch")

KNOBS: Mapping[str, Knob] = {
    knob.name: knob
    for knob in (
        *(Knob(name=name, read=_number(1), right=_POSITIVE) for name in ("tp", "cp", "pp", "dp", "ep", "etp", "vpp")),
        *(Knob(name=name, read=_number(0), right=_WHOLE) for name in ("shard", "first", "last")),
        Knob(name="sp", read=_switch, right=_SWITCH),
        *(Knob(name=name, read=_number(1), right=_POSITIVE) for name in ("micro_batch", "global_batch", "grad_accum")),
        Knob(name="seq", read=_number(1), right=_POSITIVE),
        Knob(name="sharding", read=_one_of(Sharding), right=_words(Sharding)),
        Knob(name="zero_stage", read=_stage, right=reason("right.zero_stage")),
        Knob(name="stack", read=_one_of(Stack), right=_words(Stack)),
        Knob(name="precision", read=_one_of(Precision), right=_words(Precision)),
        Knob(name="optimizer", read=_one_of(Optimizer), right=_words(Optimizer)),
        Knob(name="schedule", read=_one_of(Schedule), right=_words(Schedule)),
        Knob(name="attention", read=_one_of(Attention), right=_words(Attention)),
        Knob(name="loss", read=_one_of(Loss), right=_words(Loss)),
        Knob(name="fused_loss", read=_switch, right=_SWITCH),
        Knob(name="recompute", read=_one_of(Recompute), right=_words(Recompute)),
        Knob(name="recompute_layers", read=_number(0), right=_WHOLE),
        Knob(name="recompute_modules", read=_modules, right=reason("right.some_of", names=", ".join(MODULES))),
        Knob(name="grad_bytes", read=lambda value: {2: 2, 4: 4}[int(value)], right=reason("right.two_or_four")),
        Knob(name="lora_rank", read=_number(0), right=_WHOLE),
        *(
            Knob(name=name, read=_switch, right=_SWITCH)
            for name in ("offload_optimizer", "offload_param", "compile", "dropout", "master_weights")
        ),
    )
}
# Names of the fact catalogue and of people for the same setting.
ALIASES = {
    "seq_len": "seq",
    "sequence_parallel": "sp",
    "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch",
    "offload_parameters": "offload_param",
    "zero": "zero_stage",
    "mbs": "micro_batch",
    "gbs": "global_batch",
}


def known(name: str) -> bool:
    """Does the planner know that setting? Many settings (workers of the data loader) have no part in its models."""
    return name in KNOBS or name in ALIASES


def read(name: str, value: Any) -> tuple[str, Any]:
    """The setting's name here and its value. Raises PlanError that names the value and what would be right."""
    name = ALIASES.get(name, name)
    if name not in KNOBS:
        near = hint(name, KNOBS) or reason("reason.known", names=", ".join(KNOBS))
        raise PlanError(reason("reason.knob", name=repr(name[:60]), hint=near))
    try:
        return name, KNOBS[name].read(value)
    except (ValueError, KeyError, TypeError, OverflowError):
        raise PlanError(
            reason("reason.value", name=name, value=repr(str(value)[:60]), right=KNOBS[name].right)
        ) from None


def assignments(words: Iterable[str]) -> dict[str, Any]:
    """Settings of `name=value` words; the last of several counts."""
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name.strip():
            raise PlanError(reason("reason.assignment", word=repr(word[:60])))
        key, read_value = read(name.strip(), value)
        found[key] = read_value
    return found


def as_word(value: Any) -> str:
    """A value as `assignments` reads it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "+".join(sorted(value)) if isinstance(value, frozenset) else str(value)


def apply(job: Job, changes: Mapping[str, Any]) -> Job:
    """The job with these settings (values as `read` gives them).

    The ranks that other degrees leave over go to data parallelism; the global batch stays as it is unless the change
    names it, or names `grad_accum`, which fixes it to micro_batch * grad_accum * dp. What has no sense any more goes:
    sequence parallelism without tensor parallelism, chunks without a pipeline. Raises PlanError.
    """
    change = dict(changes)
    layout = _layout(job, change)
    job_fields: dict[str, Any] = {name: change[name] for name in _JOB_FIELDS if name in change}
    if "offload_param" in change:
        job_fields["offload_parameters"] = change["offload_param"]
    if "fused_loss" in change:
        job_fields["loss"] = Loss.FUSED if change["fused_loss"] else _plain_loss(job)
    if "zero_stage" in change:
        job_fields["sharding"] = change["zero_stage"]
    if job_fields.get("sharding") in (Sharding.GRADIENTS, Sharding.FULL) and job.stack is Stack.MEGATRON:
        job_fields.setdefault("stack", Stack.MEGATRON_FSDP)
    if change.get("recompute_modules") and "recompute" not in change:
        job_fields["recompute"] = Recompute.MODULES
    if "recompute" in change and "recompute_layers" not in change:
        job_fields["recompute_layers"] = None
    schedule = job_fields.get("schedule", job.schedule)
    if layout.vpp > 1 and schedule is Schedule.ONE_F_ONE_B:
        schedule = Schedule.INTERLEAVED
    elif schedule is Schedule.INTERLEAVED and layout.vpp == 1:
        schedule = Schedule.ONE_F_ONE_B
    job_fields["schedule"] = schedule if layout.pp > 1 else Schedule.ONE_F_ONE_B
    if "grad_accum" in change:
        micro = job_fields.get("micro_batch", job.micro_batch)
        whole = micro * change["grad_accum"] * layout.dp
        if change.get("global_batch", whole) != whole:
            batch, steps = change["global_batch"], change["grad_accum"]
            raise PlanError(
                reason("reason.batch.steps", batch=batch, micro=micro, steps=steps, dp=layout.dp, whole=whole)
            )
        job_fields["global_batch"] = whole
    return replace(job, layout=layout, **job_fields)


def difference(before: Job, after: Job) -> dict[str, tuple[Any, Any]]:
    """The settings in which two jobs differ, with both values; what follows from others (dp, sp) is left out."""
    found = {}
    for name in _SHOWN:
        old, new = value(before, name), value(after, name)
        if old != new:
            found[name] = (old, new)
    return found


def value(job: Job, name: str) -> Any:
    """A setting's value now, by its neutral name."""
    if name in Layout.__dataclass_fields__:
        return getattr(job.layout, name)
    if name == "grad_accum":
        return job.micro_batches
    if name == "zero_stage":
        return STAGES_OF_ZERO.index(job.sharding)
    if name == "offload_param":
        return job.offload_parameters
    if name == "fused_loss":
        return job.loss in (Loss.FUSED, Loss.CHUNKED)
    return getattr(job, name)


_OWN_RULE = {"layout", "offload_parameters", "shape", "cluster", "imbalance", "vocab_multiple"}
_JOB_FIELDS = tuple(field.name for field in fields(Job) if field.name in KNOBS and field.name not in _OWN_RULE)
_SHOWN = (
    "tp", "cp", "pp", "vpp", "ep", "etp", "sp", "shard", "first", "last", "micro_batch", "global_batch", "grad_accum",
    "seq", "stack", "sharding", "precision", "optimizer", "schedule", "attention", "loss", "recompute",
    "recompute_layers", "recompute_modules", "offload_optimizer", "offload_param",
)  # fmt: skip


def _near(whole: int, near: int) -> Text | int:
    """The divisors of `whole` on both sides of `near`."""
    below = next((d for d in range(min(near, whole), 0, -1) if whole % d == 0), 1)
    above = next((d for d in range(near + 1, min(whole, 2 * near) + 1) if whole % d == 0), None)
    return reason("reason.or", first=below, second=above) if above else below


def _plain_loss(job: Job) -> Loss:
    return Loss.VOCAB_PARALLEL if job.stack in (Stack.MEGATRON, Stack.MEGATRON_FSDP) else Loss.EAGER


def _layout(job: Job, change: Mapping[str, Any]) -> Layout:
    old = job.layout
    named = {name: change[name] for name in DEGREES if name in change}
    if not named and "sp" not in change:
        return old
    new = {name: named.get(name, getattr(old, name)) for name in DEGREES}
    inner = new["tp"] * new["cp"] * new["pp"]
    if "dp" not in named:
        if job.cluster.gpus % inner:
            gpus = job.cluster.gpus
            why = reason("reason.ranks", tp=new["tp"], cp=new["cp"], pp=new["pp"], inner=inner, gpus=gpus)
            raise PlanError(reason("reason.ranks.near", why=why, right=_near(gpus, inner)))
        new["dp"] = job.cluster.gpus // inner
    if new["pp"] != old.pp:
        new.update({name: named.get(name, 0) for name in ("first", "last")})
    if new["pp"] == 1:
        new["vpp"] = named.get("vpp", 1)
    if "shard" not in named and new["shard"] and (new["dp"] * new["cp"]) % new["shard"]:
        new["shard"] = 0
    sp = change.get("sp", old.sp or (old.tp == 1 and job.stack is Stack.MEGATRON))
    same_cut = (new["pp"], new["vpp"]) == (old.pp, old.vpp)
    return Layout(**new, sp=bool(sp) and new["tp"] > 1, chunks=old.chunks if same_cut else ())
