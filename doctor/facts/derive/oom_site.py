"""Where in the program the GPU ran out of memory, read off the frames of the traceback.

Frames that name a phase of the job (saving, loading, wrapping) decide wherever they stand; frames that name an
operation (loss, attention) decide only among the innermost ones, as every step passes through the outer ones.
The names are those of PyTorch, Transformers, TRL, Accelerate, DeepSpeed, Megatron-LM, torchtitan, verl and NeMo.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from doctor.facts.model import Event, Fact, Quality, Source
from doctor.facts.store import FactStore

NEEDS = ("event:torch.cuda_oom", "event:torch.library_alloc_failed", "event:torch.cuda_oom_driver")
GIVES = ("oom.site",)

INNERMOST = 5
"""Frames from the inner end in which an operation is looked for."""

PHASES: Mapping[str, str] = {
    "resume": r"load_optim|_load_optimizer|optimizer\w*\.load_state_dict|optimizers?\.py:load_state_dict|"
    r"optimizer\.py:_(?:process_value|cast)|load_zero_checkpoint|_load_zero|optim_state_dict_to_load|"
    r"_flatten_optim_state|:load_accelerator_state: |accelerator\w*\.load_state\(|distrib_optimizer\.py:load|"
    r":load_checkpoint: |:_load_checkpoint: |:_?load_best_model: |:load_best_checkpoint: ",
    "restore": r"default_restore_location|_cuda_deserialize|:restore_location: |serialization\.py:_load",
    "eval_gather": r"nested_concat|numpify|pad_across_processes|:_nested_gather: |gather_for_metrics|"
    r"gather_function|torch_pad_and_concatenate|EvalLoopContainer|preds_host|all_preds|eval_preds|"
    r"torch\.cat\([(\[]?\w*(?:preds|predictions|all_logits|eval_)",
    "save": r":_?save_checkpoint: |:_?save_model: |\.save_pretrained\(|:save_pretrained: |_zero3_consolidated|"
    r"save_(?:fp16|16bit)_model|:get_state_dict: |_full_(?:pre_|post_)?state_dict|full_state_dict|_optim_state_dict|"
    r"state_dict_post_hook|consolidate_state_dict|get_model_state_dict|:_save_optimizer|accelerator\.save_state|"
    r"dcp\.save|dist_cp\.save|:state_dict: |summon_(?:full_params_)?(?:post|pre)_state_dict|Failed to clone\(\) tensor|"
    r"safe_save_model|_gather_state_dict|_gather_full|:save_state: |checkpoint\.save\(|_iterate_state_dict",
    "upcast": r"prepare_model_for_(?:kbit|int8)_training|model\w*\.float\(\)|\.to\(torch\.float32\)|upcast|"
    r"cast_mixed_precision_params",
    "load": r":from_pretrained: |\.from_pretrained\(|_load_state_dict_into|_load_pretrained_model|"
    r"load_checkpoint_and_dispatch|load_checkpoint_in_model|set_module_tensor_to_device|_materialize_copy|core_model_loading|load_sharded_checkpoint|"
    r"dispatch_model|:load_weights: |modules/module\.py:(?:to|cuda|convert|_apply): |load_pretrained|"
    r"(?:^|[\s=])\w*model\w*\.(?:to|cuda|npu)\(",
    "wrap": r"FullyShardedDataParallel\(|[\s=]FSDP\(|[\s=(]fully_shard\(|_init_param_handle|_init_utils\.py|"
    r":prepare_model: |accelerator\.py:_?prepare|deepspeed\.initialize|deepspeed/__init__\.py:initialize|"
    r":_configure_(?:distributed_model|zero_optimizer|optimizer|bf16)|initialize_optimizer_states|_setup_for_real_optimizer|"
    r"_create_fp(?:16|32)_|(?:stage3|stage_1_and_2|stage2|bf16_optimizer)\.py:__init__: |param_and_grad_buffer|"
    r"distributed_data_parallel\.py:__init__|distrib_optimizer\.py:(?:__init__|_?build)|[\s=(]DistributedDataParallel\(|"
    r"setup_model_and_optimizer|:get_megatron_optimizer",
}
OPERATIONS: Mapping[str, str] = {
    "optimizer": r"optim/(?:adam|adamw|sgd|optimizer|adagrad|_functional|lion|nadam|adamax|_multi_tensor)|fused_adam|"
    r"FusedAdam|:_init_group: |exp_avg|_multi_tensor_adam|_single_tensor_adam|_foreach_(?:sqrt|div|add|mul|lerp)|"
    r"optimizer\w*\.step\(\)|:_optimizer_step: |:_take_model_step: |bitsandbytes/optim|adafactor|muon\.py|"
    r"(?:stage3|stage_1_and_2|stage2|bf16_optimizer|distrib_optimizer)\.py:step|"
    r"optimizer\.py:(?:step|step_with_ready_grads|_copy_)",
    "zero_buffer": r"buf_[01]\b|ipg_bu|ipg_grad|reduce_bucket|reduce_independent_p_g|allreduce_bucket|__add_grad|"
    r"flatten_dense_tensors|reduce_and_partition|partition_grads|extra_large_param|:average_tensor: |__avg_scatter",
    "loss": r"cross_entropy|lm_head|log_softmax|(?<!router_)(?<!gate_)logits|log_?probs?\b|nll_loss|entropy_from|"
    r"postprocess_packed_seqs|output_layer|loss_fct\(|loss_fn\(|LMLoss|embed_out|masked_ce|vocab_parallel|logprob",
    "attention": r"attn_weights?|attention_scores|attn_scores|attention_probs|attn_probs|softmax\(\w*scores|"
    r"(?<!log_)\b(?:score|sim|dots|energy|attn)\w* = |"
    r"\bq(?:uery|uery_states|_states)?\w* ?@ ?k|einsum\(.{1,40}\b(?:q|query)\w*, ?\w*k|"
    r"get_attention_scores|\battn\w*\.softmax|"
    r"(?:matmul|bmm)\(\w*q(?:uery)?\w*[,.]|baddbmm|eager_attention|[Cc]ore_?[Aa]ttention|scale_mask_softmax|"
    r"fused_softmax|[Uu]nfused|_?causal_mask|_expand_mask|_prepare_4d|position_bias|attn_bias",
    "gather": r"unshard|_alloc_padded|_all_gather_flat_param|foreach_all_gather|all_gather_copy_in|_fsdp_collectives|"
    r"all_gather_coalesced|_allgather_params|:fetch_sub_module: |__all_gather_params|partitioned_param_coordinator|"
    r"init_all_gather_outputs",
    "expert": r"token_dispatcher|fused_a2a|deep_ep|:experts?\b|/experts|grouped_gemm|GroupedMLP|megablocks|moe_layer",
}
EVALUATION = r"evaluation_loop|prediction_step|prediction_loop|:evaluate: |:validate: |validation_step|eval_step"
BACKWARD = r"\.backward\(|:backward: |autograd/__init__\.py|_engine_run_backward|:backward_step: |graph\.py"
FORWARD = r":forward: |modeling_\w+\.py|:forward_step: |:training_step: |:_call_impl: |\bmodel\w*\("
STEP = re.compile(
    r"optim\w*(?:\[\W?\w+\W?\])?\.step\(|optim\w*/\S*\.py:(?:step|update)\w*: |:(?:_?optimizer_step|step_optimizer): "
)
INSIDE_STEP = re.compile(r":\w*closure: |:training_step: |:forward: |:_call_impl: |\.backward\(|:backward: ")
"""What a step runs only when it is given a closure, as Lightning does: then the OOM is not the optimizer's."""
NOT_HERE = re.compile(r"=\s*(?:self\.)?\w*(?:model|module|engine)\w*\(|flash_attn|\(hidden_states,? ?\*\*")
"""Lines that name a result of the whole model, or a kernel that keeps no scores: they say nothing of the operation."""

_PHASES = tuple((site, re.compile(pattern)) for site, pattern in PHASES.items())
_OPERATIONS = tuple((site, re.compile(pattern)) for site, pattern in OPERATIONS.items())
_OUTER = tuple((s, re.compile(p)) for s, p in (("eval", EVALUATION), ("backward", BACKWARD), ("forward", FORWARD)))


def site_of(traceback: str) -> str:
    """The place that the frames `traceback` (outermost first, one a line) name; empty if they name none."""
    for site, pattern in _PHASES:
        if pattern.search(traceback):
            return site
    frames = [frame for frame in traceback.splitlines() if frame.strip()]
    for frame in reversed(frames[-INNERMOST:]):
        if NOT_HERE.search(frame):
            continue
        for site, pattern in _OPERATIONS:
            if pattern.search(frame):
                return site
    if _in_optimizer_step(frames):
        return "optimizer"
    for site, pattern in _OUTER:
        if pattern.search(traceback):
            return site
    return ""


def _in_optimizer_step(frames: Sequence[str]) -> bool:
    """Is the optimizer's step the last thing the frames name, however deep the call goes on in a library?"""
    last = max((i for i, frame in enumerate(frames) if STEP.search(frame)), default=None)
    return last is not None and not any(INSIDE_STEP.search(frame) for frame in frames[last + 1 :])


def text_of(event: Event) -> str:
    """The frames of the error; where none were handed over, what its own line says before the error."""
    frames = str(event.fields.get("traceback", ""))
    return frames or event.source.text.partition("out of memory")[0]


def entity_of(event: Event) -> str:
    """The job, or the run the event belongs to where several were handed over."""
    return "job" if event.run in ("", "job") else f"run:{event.run}"


def derive(store: FactStore) -> Iterable[Fact]:
    """For each run the site of its OOMs: the one that most ranks name, the earliest of equals."""
    by_run: dict[str, list[Event]] = {}
    for name in ("torch.cuda_oom", "torch.library_alloc_failed", "torch.cuda_oom_driver"):
        for event in store.events(name):
            by_run.setdefault(entity_of(event), []).append(event)
    for entity, events in by_run.items():
        yield from _of_run(entity, events)


def _of_run(entity: str, events: list[Event]) -> Iterator[Fact]:
    found = [(site, event) for event in events if (site := site_of(text_of(event)))]
    if not found:
        return
    most = Counter(site for site, _ in found).most_common(1)[0][0]
    event = next(event for site, event in found if site == most)
    because = (*event.context[-3:], event.source)
    yield Fact("oom.site", most, entity, Source("derived"), event.time, Quality.DERIVED, because)
