from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from doctor.messages import TEXTS, say
from doctor.messages_probes import translated
from doctor.planner.knobs import KNOBS
from tests.reports import oom_report, text

WORD = re.compile(r"[A-Za-z]{2,}")
NAMES = {
    "Nsight",
    "Systems",
    "nsys",
    "export",
    "type",
    "sqlite",
    "cuda",
    "CUDA",
    "doctor",
    "recorder",
    "attach",
    "memory",
    "dump",
    "snapshot",
    "logits",
    "rank",
    "GPU",
    "NCCL",
    "pdoctor",
    "analyze",
    "answer",
    "answers",
    "nvidia",
    "smi",
    "dmesg",
    "df",
    "ip",
    "addr",
    "trace",
    "KiB",
    "MEM",
    # the planner's
    "TP", "CP", "EP", "DP", "PP", "GiB", "ZeRO", "NVLink", "MFU", "LoRA", "DCP", "LOG",
    "cluster", "local", "slurm", "dask", "HOST", "PORT", "Slurm", "SLURM", "JOB", "ID", "salloc", "sbatch", "Python",
    "distributed", "pip", "install", "fsspec", "remote", "repeat", "PATH", "micro", "batch", "token", "all", "to", "mbs",
    "facts", "run", "step", "time", "torch", "dist", "HTML", "Markdown", "JSON", "json",
    "Ctrl", "pid",
    "tui", "web", "issue", "diff", "enter", "space", "tab", "esc", "English", "py", "spy", "faulthandler",
    "state", "metrics", "port", "TERM", "xterm", "color", "root", "sudo", "cap", "add", "SYS", "PTRACE", "stacks",
    # settings and files of the planner by the names that they are given by
    *WORD.findall(" ".join(KNOBS)),
    "NAME", "VALUE", "model", "gpu", "framework", "network", "config", "yaml", "YAML", "llama", "ffn", "chunks", "true",
    "false", "none", "full", "selective", "bf", "fp", "vocab", "arch", "verified", "hardware", "train", "parallel", "moe",
    "layer", "freq", "pipeline", "layout", "top",
    "DeepSpeed", "Megatron", "LM", "DualPipe", "Transformer", "decoder", "only", "FLOP", "FP", "KV", "MiB",
}  # fmt: skip
"""Field-standard words and names that are the same in both languages."""


def places(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


@pytest.mark.parametrize("key", TEXTS)
def test_every_text_is_there_in_both_languages_with_places_of_its_own(key: str) -> None:
    en, zh = TEXTS[key]
    assert en and zh
    assert places(zh) <= places(en)


@pytest.mark.parametrize("key", TEXTS)
def test_chinese_texts_hold_no_english_words(key: str) -> None:
    plain = re.sub(r"\{\w+\}|`[^`]+`|--[a-z-]+", "", TEXTS[key][1])  # what is typed is the same in both languages
    assert not set(WORD.findall(plain)) - NAMES


def test_values_are_not_read_as_templates() -> None:
    assert (
        say("en", "input.unreadable", path="{x}", reason="{reason.__class__}")
        == "{x}: cannot be read: {reason.__class__}"
    )


@pytest.mark.parametrize(
    ("remark", "chinese"),
    [
        ("cannot be read: Permission denied", "无法读取：权限不足"),
        (
            "gzip archive is damaged after 1,024 bytes of text: x",
            "gzip 压缩文件在 1,024 字节之后损坏：x",
        ),
        ("train_batch_size = many is not a whole number", "train_batch_size = many 不是整数"),
    ],
)
def test_remarks_of_probes_are_translated(remark: str, chinese: str) -> None:
    assert translated(remark, "zh") == chinese
    assert translated(remark, "en") == remark


def test_a_remark_that_is_not_known_stays_as_it_is() -> None:
    assert translated("something {else}", "zh") == "something {else}"


def test_a_chinese_report_has_no_english_words_of_ours(tmp_path: Path) -> None:
    shown = text(oom_report(tmp_path, "显存不足 CUDA"), "zh", verbose=True)
    quoted = ("CUDA", "Watchdog", "loss.backward", "torchrun", "--use", "zero_optimization", "micro_batch", "deepspeed")
    ours = "\n".join(line for line in shown.splitlines() if not any(part in line for part in quoted))
    known = {"megatron", "node", "log", "core", "config", "memory", "snapshot", "tp", *NAMES}
    assert {word for word in WORD.findall(ours) if word not in known and not word.startswith("model")} <= {
        *("wwwwwww", "states", "exceed", "capacity", "allocator", "fragmentation")
    }
