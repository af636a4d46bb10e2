"""Logs of healthy jobs, one form a framework: start, steps of even length, an end."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.robustness import benign


@dataclass(frozen=True, slots=True)
class Form:
    """What a framework prints; `{step}`, `{total}`, `{loss}`, `{s}` (seconds a step), `{ms}`, `{at}` are filled in."""

    start: tuple[str, ...]
    step: str
    end: tuple[str, ...]


TORCHRUN = (
    "*****************************************",
    "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being "
    "overloaded, please further tune the variable for optimal performance in your application as needed. ",
    "*****************************************",
)
HF_START = (
    *TORCHRUN,
    "Loading checkpoint shards: 100%|██████████| 4/4 [00:07<00:00,  1.92s/it]",
    "***** Running training *****",
    "  Num examples = 52,002",
    "  Num Epochs = 1",
    "  Instantaneous batch size per device = 4",
    "  Total train batch size (w. parallel, distributed & accumulation) = 128",
    "  Gradient Accumulation steps = 4",
    "  Total optimization steps = {total}",
)
HF_END = (
    "{{'train_runtime': 1214.3, 'train_samples_per_second': 42.8, 'train_steps_per_second': 0.33, 'train_loss': 1.71}}",
    "Training completed. Do not forget to share your model on huggingface.co/models =)",
)

FORMS: Mapping[str, Form] = {
    "Megatron-LM": Form(
        (
            *TORCHRUN,
            "using world size: 8, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel size: 4, pipeline-model-parallel size: 1",
            "> initializing torch distributed ...",
            "building GPT model ...",
            "done with setup ...",
            "[before the start of training step] datetime: {at}",
        ),
        " [{at}] iteration {step:8d}/{total:8d} | consumed samples: {samples:12d} | elapsed time per iteration (ms): {ms:.1f} | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 3.000000E-04 | global batch size:   256 | lm loss: {loss:.6E} | loss scale: 1.0 | grad norm: 0.612 | number of skipped iterations:   0 | number of nan iterations:   0 |",
        ("[after training is done] datetime: {at}",),
    ),
    "DeepSpeed": Form(
        (
            "[{at},101] [INFO] [comm.py:652:init_distributed] cdb=None",
            "[{at},102] [INFO] [comm.py:683:init_distributed] Initializing TorchBackend in DeepSpeed with backend nccl",
            "[{at},903] [INFO] [logging.py:96:log_dist] [Rank 0] DeepSpeed info: version=0.15.4, git-hash=unknown, git-branch=unknown",
        ),
        "[{at},512] [INFO] [timer.py:264:stop] epoch=0/micro_step={step}/global_step={step}, RunningAvgSamplesPerSec=41.2, CurrSamplesPerSec=41.3, MemAllocated=18.1GB, MaxMemAllocated=52.4GB",
        ("[{at},001] [INFO] [launch.py:351:main] Process 4242 exits successfully.",),
    ),
    "Hugging Face Trainer": Form(
        HF_START,
        "{{'loss': {loss:.4f}, 'grad_norm': 0.8123, 'learning_rate': 1.9e-05, 'epoch': 0.{step}}}",
        HF_END,
    ),
    "progress bar": Form(HF_START, "{percent:3d}%|█████     | {step}/{total} [10:00<10:00,  {s:.2f}s/it]", HF_END),
    "torchtitan": Form(
        (
            *TORCHRUN,
            "[rank0]:[titan] {at},100 - root - INFO - Starting job: Llama 3 8B training",
            "[rank0]:[titan] {at},101 - root - INFO - CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory",
            "[rank0]:[titan] {at},102 - root - INFO - Building 1-D device mesh with ['dp_shard'], [8]",
            "[rank0]:[titan] {at},103 - root - INFO - Training starts at step 1",
        ),
        "[rank0]:[titan] {at},200 - root - INFO - step: {step:2d}  loss: {loss:7.4f}  grad_norm:  1.9102  memory: 47.10GiB(59.55%)  tps: 7,412  tflops: 429.31  mfu: 43.41%",
        ("[rank0]:[titan] {at},300 - root - INFO - Training completed",),
    ),
    "Lightning": Form(
        (
            "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8",
            "LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1,2,3,4,5,6,7]",
            "Sanity Checking DataLoader 0: 100%|██████████| 2/2 [00:01<00:00,  1.61it/s]",
        ),
        "Epoch 0: {percent:3d}%|█████     | {step}/{total} [10:00<10:00,  {rate:.2f}it/s, v_num=0, train_loss={loss:.3f}]",
        ("`Trainer.fit` stopped: `max_steps={total}` reached.",),
    ),
    "NeMo": Form(
        ("[NeMo I {at} nemo_logging:393] Rank 0 has data parallel group : [0, 4]",),
        "Training epoch 0, iteration {step}/{total} | lr: 3e-04 | global_batch_size: 256 | global_step: {step} | reduced_train_loss: {loss:.3f} | train_step_timing in s={s:.3f}",
        ("`Trainer.fit` stopped: `max_steps={total}` reached.",),
    ),
    "LLaMA-Factory": Form(
        (
            *TORCHRUN,
            "[INFO|{at}] llamafactory.hparams.parser:410 >> Process rank: 0, world size: 8, device: cuda:0, distributed training: True, compute dtype: torch.bfloat16",
            *HF_START[3:],
        ),
        "[INFO|{at}] llamafactory.train.callbacks:143 >> {{'loss': {loss:.4f}, 'learning_rate': 9.6e-06, 'epoch': 0.{step}, 'throughput': 12041.77}}",
        HF_END,
    ),
    "verl": Form(
        ("(TaskRunner pid=4242) Total training steps: {total}",),
        "(TaskRunner pid=4242) step:{step} - actor/entropy:0.412 - actor/grad_norm:0.213 - perf/mfu/actor:0.312 - perf/max_memory_allocated_gb:52.1 - timing_s/step:{s:.3f} - perf/throughput:1411.2",
        ("(TaskRunner pid=4242) Final validation metrics: {{'val/test_score': 0.71}}",),
    ),
    "nanoGPT": Form(
        (*TORCHRUN, "number of parameters: 123.59M"),
        "iter {step}: loss {loss:.4f}, time {ms:.2f}ms, mfu 41.20%",
        ("saving checkpoint to out",),
    ),
    "axolotl": Form(
        ("[{at},001] [INFO] [axolotl.train.train:88] [PID:4242] [RANK:0] Starting trainer...", *HF_START[4:]),
        "{{'loss': {loss:.4f}, 'grad_norm': 0.51, 'learning_rate': 1.2e-05, 'memory/max_mem_active(gib)': 41.2, 'epoch': 0.{step}}}",
        HF_END,
    ),
    "ms-swift": Form(
        ("[INFO:swift] rank: 0, local_rank: 0, world_size: 8, local_world_size: 8", *HF_START[4:]),
        "{{'loss': {loss:.4f}, 'acc': 0.71, 'grad_norm': 0.88, 'learning_rate': 1e-05, 'memory(GiB)': 58.1, 'train_speed(iter/s)': {rate:.6f}, 'epoch': 0.{step}, 'global_step/max_steps': '{step}/{total}'}}",
        HF_END,
    ),
}


def log(form: Form, rng: random.Random, steps: int = 40, warnings: int = 1000) -> str:
    """The log of a job of `steps` steps with `warnings` benign lines between its own."""
    seconds, now = rng.uniform(0.8, 12), datetime(2025, 3, 3, 8, 0, 0)
    own: list[str] = []
    for index in range(steps + 2):
        now += timedelta(seconds=seconds)
        step = min(max(index, 1), steps)
        places = {
            "step": step,
            "total": steps,
            "samples": step * 256,
            "loss": 2.2 + 3 / (step + 1),
            "s": (s := seconds * rng.uniform(0.99, 1.01)),
            "ms": s * 1000,
            "rate": 1 / s,
            "percent": 100 * step // steps,
            "at": now.strftime("%Y-%m-%d %H:%M:%S"),
        }
        part = form.start if index == 0 else form.end if index > steps else (form.step,)
        own += [line.format(**places) for line in part]
    return "\n".join(mixed(own, benign.lines(rng, warnings, hints=True), rng)) + "\n"


def mixed(own: list[str], warnings: list[str], rng: random.Random) -> list[str]:
    """The lines of both in a random order that keeps that of `own`."""
    slots = sorted(rng.randint(0, len(own)) for _ in warnings)
    found: list[str] = []
    taken = 0
    for index in range(len(own) + 1):
        while taken < len(slots) and slots[taken] == index:
            found.append(warnings[taken])
            taken += 1
        if index < len(own):
            found.append(own[index])
    return found
