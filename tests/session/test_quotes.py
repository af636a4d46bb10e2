"""What a program or a manual says of failures is not what a run printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.facts.model import EventSpec, Symptom
from doctor.session.contents import File
from doctor.session.gather import gather
from doctor.session.quotes import quoted_lines

FATAL = EventSpec("layers.indivisible", (r"num_layers must be divisible by \w+",), symptom=Symptom.FATAL)
HARMLESS = EventSpec("hf.device_map", (r"device_map ?= ?\S+",))
MESSAGE = "num_layers must be divisible by PP"
CHECK = f"import torch\nimport os\n\ndef check(a, b):\n    if a % b:\n        raise ValueError('{MESSAGE}')\n"


def seen(folder: Path, name: str, text: str) -> list[str]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    found = gather([File(str(path), name, len(text))], {spec.name: spec for spec in (FATAL, HARMLESS)})
    return [event.name for event in found.events if event.name in (FATAL.name, HARMLESS.name)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model.py", CHECK),
        ("excerpt.txt", CHECK),
        ("parse_logs.py", f'import re\nSAMPLE = """\nTraceback (most recent call last):\nValueError: {MESSAGE}\n"""\n'),
        ("notes.py", "import torch\n# device_map = auto is slow\ndef f():\n    'device_map = auto is slow'\n"),
        ("layers.cu", f'TORCH_CHECK(a % b == 0, "{MESSAGE}");\n'),
        ("run.sh", f'#!/bin/bash\ntorchrun --nproc_per_node 8 train.py\ngrep -q "{MESSAGE}" out.log && exit 1\n'),
        ("README.md", f"# Training\n\nNote that {MESSAGE}.\n\n```bash\ntorchrun train.py\n```\n"),
        (
            "faq.rst",
            f"Errors\n======\n\nIf you see ``{MESSAGE}``, change it::\n\n    torchrun train.py\n\nThat is all.\n",
        ),
    ],
)
def test_a_message_in_a_program_or_a_manual_is_not_shown(tmp_path: Path, name: str, text: str) -> None:
    assert seen(tmp_path, name, text) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("job.log", f"ValueError: {MESSAGE}\n"),
        ("repro.py", f"import torch\nmodel = build(61)\n\nValueError: {MESSAGE}: it was 61\n"),
        ("run.sh", f"#!/bin/bash\n# ends with {MESSAGE}\ntorchrun --nproc_per_node 8 train.py\n"),
        ("issue.md", f"# It fails\n\n```\nValueError: {MESSAGE}\n```\n"),
        ("issue.md", f"it fails with\nValueError: {MESSAGE}\n"),
        ("report.rst", f"It fails::\n\n    ValueError: {MESSAGE}\n\nWhy?\n"),
    ],
)
def test_a_message_that_a_run_printed_is_shown(tmp_path: Path, name: str, text: str) -> None:
    assert seen(tmp_path, name, text) == [FATAL.name]


def test_what_a_program_does_is_read(tmp_path: Path) -> None:
    assert seen(tmp_path, "train.py", "import torch\nmodel = load('a', device_map='auto')\n") == [HARMLESS.name]


@pytest.mark.parametrize("text", ["```\na", "````\n```\n````\n", "> ```\n> a\n> ```\n"])
def test_a_fence_that_is_open_nested_or_quoted(text: str) -> None:
    assert quoted_lines(text) == {2}
