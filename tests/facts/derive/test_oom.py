"""What the numbers and frames of an out-of-memory error tell: whose memory, where, on which ranks."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.facts.derive import gpu_processes, host_memory, memory_trend, oom, oom_site
from doctor.facts.derive.vocabulary import vocabulary_of
from doctor.facts.model import Event, Fact, Scalar, Source
from doctor.facts.store import FactStore

GIB, MIB = 1024.0**3, 1024.0**2
TIB = 1024**4


def shortage(text: str = "Tried to allocate 2.00 GiB", rank: int | None = None, **fields: Scalar) -> Event:
    source = Source("log", "job.log", 50, text)
    return Event("torch.cuda_oom", source, fields, rank=rank, local_rank=rank, order=50, phase="training")


def told(*events: Event, **config: Scalar) -> dict[str, Any]:
    facts = [Fact("config." + name, value) for name, value in config.items()]
    return {fact.name: fact.value for fact in oom.derive(FactStore(facts, events))}


@pytest.mark.parametrize(
    ("frames", "site"),
    [
        ("loss_utils.py:fixed_cross_entropy: loss = nn.functional.cross_entropy(source, target)", "loss"),
        ("modeling_qwen2.py:forward: logits = logits.float()", "loss"),
        ("modeling_t5.py:forward: attn_weights = F.softmax(scores.float(), dim=-1)", "attention"),
        ('torch/optim/adamw.py:_init_group: state["exp_avg"] = torch.zeros_like(p)', "optimizer"),
        ("deepspeed/zero/stage_1_and_2.py:backward: buf_0 = torch.empty(int(self.reduce_bucket_size),", "zero_buffer"),
        ("trainer.py:_save_checkpoint: self.save_model(output_dir)", "save"),
        ("trainer.py:_load_optimizer_and_scheduler: self.optimizer.load_state_dict(", "resume"),
        ("trainer.py:_load_best_model: state = load_sharded_checkpoint(model, path, strict=strict_load)", "resume"),
        ("modeling_utils.py:from_pretrained: ) = cls._load_pretrained_model(", "load"),
        ("vit.py:forward: attn = (q @ k.transpose(-2, -1)) * self.scale", "attention"),
        ("net.py:forward: dots = einsum('b i d, b j d -> b i j', q, k)", "attention"),
        (
            "trainer.py:prediction_loop: preds = logits if preds is None else torch.cat((preds, logits), dim=0)",
            "eval_gather",
        ),
        ("ema.py:save: state = ema.state_dict()\nmodules/module.py:state_dict: hook(self, prefix, keep_vars)", "save"),
        ("trainer.py:train: self.optimizer.step()\n" + "lib/came.py:update: state = f(p)\n" * 7, "optimizer"),
        ("core/distributed/param_and_grad_buffer.py:__init__: self.grad_data = torch.zeros(", "wrap"),
        ("trainer_pt_utils.py:nested_concat: return torch_pad_and_concatenate(", "eval_gather"),
        ("peft/utils/other.py:prepare_model_for_kbit_training: param.data = param.data.to(torch.float32)", "upcast"),
        ("torch/distributed/fsdp/_flat_param.py:unshard: unsharded_flat_param = self._alloc_padded()", "gather"),
        ("train.py:step: loss.backward()\ntorch/_tensor.py:backward: torch.autograd.backward(", "backward"),
        ("model.py:forward: return self.w2(F.silu(self.w1(x)) * self.w3(x))", "forward"),
    ],
)
def test_frames_name_the_place(frames: str, site: str) -> None:
    assert oom_site.site_of(frames) == site


@pytest.mark.parametrize(
    ("frames", "not_site"),
    [
        ("run.py:main: trainer.train(resume_from_checkpoint=checkpoint)\nmodel.py:forward: x = self.mlp(x)", "resume"),
        ("train.py:main: logits = self.model(ids)\nmodel.py:forward: x = self.mlp(x)", "loss"),
        ("core/optimizer.py:step: optimizer.step(closure)\n" + "net.py:forward: x = self.block(x)\n" * 6, "optimizer"),
        ("fsdp/fully_sharded_data_parallel.py:forward: output = self._fsdp_wrapped_module(x)", "wrap"),
        ("net.py:forward: log_scores = self.head(x)", "attention"),
        (
            "module.py:optimizer_step: optimizer.step(closure)\nloop.py:closure: loss = f()\nnet.py:g: x = h(x)",
            "optimizer",
        ),
        ("moe.py:forward: router_logits = self.gate(x)", "loss"),
    ],
)
def test_outer_frames_and_look_alikes_do_not_mislead(frames: str, not_site: str) -> None:
    assert oom_site.site_of(frames) != not_site


def test_no_frames_no_place() -> None:
    assert oom_site.site_of("") == ""
    assert list(oom_site.derive(FactStore((), [shortage()]))) == []


def test_a_request_of_tokens_times_vocabulary_is_the_logits() -> None:
    event = shortage("Tried to allocate 2.32 GiB", requested=2.32 * GIB)
    assert told(event, vocab_size=151936, seq_len=4096, micro_batch=1)["oom.request_equals_logits"] is True
    assert told(event, vocab_size=32000, seq_len=4096, micro_batch=1)["oom.request_equals_logits"] is False
    assert "oom.request_equals_logits" not in told(event)


def test_a_request_of_heads_times_length_squared_is_the_scores() -> None:
    event = shortage("Tried to allocate 8.00 GiB", requested=8 * GIB)
    assert told(event, num_heads=32, seq_len=8192)["oom.request_equals_scores"] is True
    assert told(event, num_heads=32, seq_len=4096)["oom.request_equals_scores"] is False


def test_954_mib_is_the_default_bucket_but_only_with_zero() -> None:
    event = shortage("Tried to allocate 954.00 MiB", requested=954 * MIB)
    assert told(event, zero_stage=2)["oom.request_equals_bucket"] is True
    assert "oom.request_equals_bucket" not in told(event)


def test_a_shard_of_all_parameters() -> None:
    event = shortage("Tried to allocate 3.74 GiB", requested=3.74 * GIB)
    assert told(event, params=8.03e9, world_size=8)["oom.request_equals_shard"] is True
    assert told(event, params=8.03e9, world_size=16)["oom.request_equals_shard"] is False


def test_small_requests_match_nothing() -> None:
    event = shortage("Tried to allocate 2.00 MiB", requested=2 * MIB)
    assert told(event, num_heads=1, seq_len=512)["oom.request_equals_scores"] is False


def test_others_hold_the_card() -> None:
    text = "Process 11 has 60.00 GiB memory in use. Including non-PyTorch memory, this process has 18.00 GiB memory"
    event = shortage(text, total=79 * GIB, free=1 * GIB, process_in_use=18 * GIB, allocated=17 * GIB)
    found = told(event)
    assert found["oom.other_bytes"] == 60 * GIB
    assert (found["oom.other_processes"], found["oom.similar_processes"]) == (1, 1)


def test_siblings_hold_like_amounts() -> None:
    text = " ".join(f"Process {pid} has 1.19 GiB memory in use." for pid in (1, 2, 3))
    found = told(shortage(text, total=32 * GIB, free=0.1 * GIB, process_in_use=14 * GIB, allocated=13 * GIB))
    assert found["oom.similar_processes"] == 3


def test_a_container_that_shows_the_own_process_by_its_pid_has_no_other_process() -> None:
    text = "Process 77 has 78.00 GiB memory in use. Of the allocated memory 75.00 GiB is allocated"
    found = told(shortage(text, total=79 * GIB, free=1 * GIB, allocated=75 * GIB, reserved_unallocated=2 * GIB))
    assert "oom.other_processes" not in found
    assert found["oom.other_bytes"] < 2 * GIB


def test_in_a_container_what_the_own_process_holds_outside_pytorch_is_its_own() -> None:
    text = "Process 77 has 78.00 GiB memory in use. Of the allocated memory 36.00 GiB is allocated"
    found = told(shortage(text, total=79 * GIB, free=1 * GIB, allocated=36 * GIB, reserved_unallocated=2 * GIB))
    assert (found["oom.own_bytes"], found["oom.other_bytes"]) == (78 * GIB, 0)


@pytest.mark.parametrize(
    ("fields", "unexplained"),
    [
        ({"requested": 1 * GIB, "free": 15 * GIB, "total": 24 * GIB}, True),
        ({"beyond": "1EB"}, True),
        ({"requested": 2 * GIB, "free": 2.1 * GIB, "total": 24 * GIB}, False),
        ({"requested": 0.02 * GIB, "free": 0.5 * GIB, "total": 80 * GIB}, False),
        ({"requested": 1 * GIB, "free": 15 * GIB, "total": 24 * GIB, "allowed": 8 * GIB}, False),
    ],
)
def test_a_request_that_fits_several_times_over_failed_for_another_reason(
    fields: dict[str, Scalar], unexplained: bool
) -> None:
    assert told(shortage(**fields))["oom.size_unexplained"] is unexplained


def test_stages_in_megatrons_order() -> None:
    heard = Event("progress.step", Source("log", "job.log", 1, "x"), {"step": 1}, rank=0, order=1)
    found = told(heard, shortage(rank=13), world_size=16, pp=4)
    assert (found["oom.stage"], found["oom.last_stage"], found["oom.one_stage"]) == (3, True, True)


def test_one_stage_alone_needs_a_line_of_another_stage() -> None:
    found = told(shortage(rank=1), world_size=16, pp=4)
    assert found["oom.first_stage"] is True
    assert "oom.one_stage" not in found


def test_ray_names_the_rank_in_another_line() -> None:
    sample = Event("memory.sample", Source("log", "a", 1, "(Actor pid=7) [Rank 12] Memory-Usage"), {"on_rank": 12})
    found = told(sample, shortage("(Actor pid=7) out of memory"), world_size=16, pp=4)
    assert found["oom.last_stage"] is True


def test_steps_of_a_resumed_run_count_from_its_start() -> None:
    steps = [Event("progress.step", Source("log", "job.log", n, ""), {"step": 900 + n}, order=n) for n in range(5)]
    assert told(*steps, shortage())["oom.steps_done"] == 4


def test_bars_of_data_preparation_are_no_steps() -> None:
    bar = Event("progress.bar", Source("log", "job.log", 1, ""), {"step": 20000, "label": "Map (num_proc=16)"}, order=1)
    assert told(bar, shortage())["oom.steps_done"] == 0


def samples(values: list[float], name: str = "memory.sample", field: str = "allocated") -> list[Event]:
    return [
        Event(name, Source("log", "job.log", n, ""), {"at_step": 10 * n, field: value}, order=n)
        for n, value in enumerate(values)
    ]


def trend(events: list[Event]) -> dict[str, Any]:
    return {fact.name: fact.value for fact in memory_trend.derive(FactStore((), events))}


def test_a_leak_is_a_straight_line() -> None:
    found = trend(samples([20.0, 20.5, 21.0, 21.5, 22.0, 22.5]))
    assert found["mem.grows"] is True
    assert found["mem.growth_per_step"] == pytest.approx(0.05 * GIB)


@pytest.mark.parametrize(
    "values", [[20.0, 29.0, 29.0, 29.0, 29.0], [20.0, 20.1, 20.0, 20.1, 20.0], [20.0, 21.0, 22.0, 23.0]]
)
def test_a_jump_noise_or_too_few_samples_are_no_leak(values: list[float]) -> None:
    assert not trend(samples(values)).get("mem.grows", False)


def per_step(values: dict[int, list[float]]) -> list[Event]:
    pairs = [(step, value) for step, found in values.items() for value in found]
    return [
        Event("memory.sample", Source("log", "job.log", n, ""), {"at_step": step, "allocated": value}, order=n)
        for n, (step, value) in enumerate(pairs)
    ]


def test_lazy_states_raise_once_what_stays_allocated() -> None:
    assert trend(per_step({1: [14.5, 17.5, 14.5], 2: [21.5, 24.5]}))["mem.jumps_once"] is True


@pytest.mark.parametrize("values", [{1: [14.5, 17.5], 2: [14.6, 17.5]}, {1: [14.0], 2: [18.0], 3: [22.0], 4: [26.0]}])
def test_activations_that_come_and_go_or_a_leak_are_no_jump(values: dict[int, list[float]]) -> None:
    assert trend(per_step(values))["mem.jumps_once"] is False


def test_host_memory_has_its_own_trend() -> None:
    found = trend(samples([20.0, 24.0, 28.0, 32.0, 36.0], "host.memory_sample", "used"))
    assert found["hostmem.grows"] is True
    assert "mem.grows" not in found


def test_a_killed_process_as_large_as_the_model() -> None:
    kill = Event("host.oom_killer", Source("dump", "dmesg", 9, ""), {"rss": 136 * GIB, "process": "python3"})
    load = Event("hf.loading_weights", Source("log", "job.log", 3, ""), {}, phase="load", order=3)
    store = FactStore([Fact("config.params", 70e9)], [kill, load])
    found = {fact.name: fact.value for fact in host_memory.derive(store)}
    assert found["hostmem.rss_is_model"] is True
    assert found["hostmem.phase"] == "load"
    assert found["hostmem.killed_python"] is True


def test_a_kill_alone_does_not_say_that_memory_was_the_reason() -> None:
    def told_by(name: str) -> object:
        store = FactStore([], [Event(name, Source("log", "job.log", 9, ""), {})])
        return {fact.name: fact.value for fact in host_memory.derive(store)}.get("hostmem.told")

    assert told_by("host.sigkill") is None
    assert told_by("ray.oom") is True


@pytest.mark.parametrize(
    ("requested", "node", "absurd"),
    [(64, None, True), (63, None, False), (17, 2, True), (15, 2, False), (64, 1024, True), (None, 2, False)],
)
def test_a_request_that_no_host_could_serve_does_not_say_that_the_host_was_full(
    requested: int | None, node: int | None, absurd: bool
) -> None:
    fields = {} if requested is None else {"requested": float(requested * TIB)}
    facts = [] if node is None else [Fact("node.memory_total", node * TIB, "node:n1")]
    store = FactStore(facts, [Event("python.host_memory_error", Source("log", "job.log", 9, ""), fields)])
    found = {fact.name: fact.value for fact in host_memory.derive(store)}
    assert found.get("hostmem.absurd_request") == (requested * TIB if absurd and requested else None)
    assert ("hostmem.kills" in found, "hostmem.told" in found) == (not absurd, not absurd)


def test_a_process_on_gpu_0_and_on_its_own_gpu() -> None:
    pids = {0: (10, 11, 12), 1: (11,), 2: (12,)}
    facts = [Fact("gpu.process_pids", found, f"gpu:n1/{index}") for index, found in pids.items()]
    found = {fact.name: fact.value for fact in gpu_processes.derive(FactStore(facts))}
    assert found == {"gpu.shared_pids": 2, "gpu.spread_pids": 2, "gpu.pids": 3}


@pytest.mark.parametrize(
    ("model", "size"), [("Qwen/Qwen2.5-7B", 152064), ("Qwen/Qwen2.5-0.5B", 151936), ("meta-llama/Llama-3.1-8B", 128256)]
)
def test_vocabulary_by_name(model: str, size: int) -> None:
    assert vocabulary_of(FactStore([Fact("config.model", model)])) == size


def test_unknown_model_has_no_vocabulary() -> None:
    assert vocabulary_of(FactStore([Fact("config.model", "./my-model")])) is None
