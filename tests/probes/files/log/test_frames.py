"""A frame is of the job's own code or a library's by where its file lies."""

from __future__ import annotations

import pytest

from probes.files.log.frames import own_place


@pytest.mark.parametrize(
    "path",
    [
        "/work/train.py",
        "./train.py",
        "../src/x.py",
        "train.py",
        "/work/bin/train.py",
        "/work/lib/train.py",
        "/work/lib64/loader.py",
        "/work/python3/train.py",
        "/work/torch/train/main.py",
        "/work/torch/models/gpt.py",
        "/work/torch/__main__.py",
        "/work/torch/train.py",
        "/work/nn/optim/adam.py",
        "/work/mytorch/nn/linear.py",
        "/work/torch_nn/distributed/run.py",
        "/work/triton/kernels.py",
        "/work/torchinductor_notes.py",
    ],
)
def test_code_of_the_job(path: str) -> None:
    assert own_place(f'  File "{path}", line 3, in step') == f"{path}:3 in step"


@pytest.mark.parametrize(
    "path",
    [
        "/opt/venv/lib/python3.11/site-packages/trainer/loop.py",
        "/usr/lib/python3/dist-packages/yaml/loader.py",
        "/usr/lib64/python3.9/json/decoder.py",
        "/usr/lib/python3.11/json/decoder.py",
        "/opt/pytorch/torch/nn/modules/linear.py",
        "/opt/pytorch/torch/_dynamo/eval_frame.py",
        "/opt/pytorch/torch/_tensor.py",
        "/opt/pytorch/torch/utils/data/dataloader.py",
        "/tmp/torchinductor_user/ab/cabcdef.py",
        "/home/user/.triton/cache/abc/launch.py",
        "/scratch/triton_cache/abc/launch.py",
        "/usr/local/bin/torchrun",
        "/opt/conda/bin/python3.11",
        "<frozen runpy>",
        "<string>",
        ".../modules/linear.py",
        "...ges/torch/nn/modules/linear.py",
    ],
)
def test_code_of_a_library(path: str) -> None:
    assert own_place(f'  File "{path}", line 3, in step') == ""
