"""torchtitan's configuration classes take what was rendered: TOML up to 0.2, Python from 0.3."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.adapters.registry import adapter_named
from tests.adapters.samples import TORCHTITAN_PYTHON, TORCHTITAN_RELEASED, TORCHTITAN_TOML

config = pytest.importorskip(
    "torchtitan.config", reason="torchtitan, or what it imports, is not installed", exc_type=ImportError
)
WITH_TOML = hasattr(config, "JobConfig")
CHANGES: dict[str, Any] = {
    "tp": 4,
    "pp": 2,
    "cp": 2,
    "dp_shard": 2,
    "dp_replicate": 2,
    "sharding": "gradients",
    "micro_batch": 2,
    "global_batch": 64,
    "seq": 4096,
    "recompute": "full",
    "offload_param": True,
}


@pytest.mark.skipif(not WITH_TOML, reason="this torchtitan has no TOML any more")
def test_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TORCHTITAN_TOML.replace("compile = false\n", "")
    changes = {
        **CHANGES,
        "compile": True,
        "schedule": "interleaved",
        "precision": "bf16",
        "ep": 2,
        "etp": 1,
        "async_save": True,
    }
    result = adapter_named("torchtitan").render(text, changes, path="a.toml")
    assert not result.left
    path = tmp_path / "a.toml"
    path.write_text(result.text)
    monkeypatch.setattr(sys, "argv", ["train"])
    job = config.ConfigManager().parse_args(["--job.config_file", str(path)])
    assert job.parallelism.tensor_parallel_degree == 4
    assert job.parallelism.pipeline_parallel_schedule == "Interleaved1F1B"
    assert job.parallelism.fsdp_reshard_after_forward == "never"
    assert job.training.local_batch_size == 2
    assert job.training.global_batch_size == 64
    assert job.training.enable_cpu_offload is True
    assert job.activation_checkpoint.mode == "full"
    assert job.compile.enable is True


@pytest.mark.skipif(WITH_TOML, reason="this torchtitan still reads TOML")
def test_python() -> None:
    in_tokens = "num_tokens_per_train_step" in config.TrainingConfig.__dataclass_fields__
    before = TORCHTITAN_PYTHON if in_tokens else TORCHTITAN_RELEASED
    result = adapter_named("torchtitan").render(before, CHANGES, path="registry.py")
    assert not result.left
    training, parallelism = {}, {}

    def kept(store: dict[str, Any], kind: Any) -> Any:
        def build(**values: Any) -> Any:
            store.update(values)
            return kind(**values)

        return build

    # The recipe is run with the real classes of the settings; the trainer around them needs GPUs and a model.
    source = result.text.split("def llama3_70b")[1]
    names = {
        "Trainer": type("Trainer", (), {"Config": staticmethod(lambda **values: values)}),
        "TrainingConfig": kept(training, config.TrainingConfig),
        "ParallelismConfig": kept(parallelism, config.ParallelismConfig),
        "FullAC": type("FullAC", (), {"Config": staticmethod(lambda: "full")}),
    }
    exec("def llama3_70b" + source, names)
    assert names["llama3_70b"]()["activation_checkpoint"] == "full"  # type: ignore[operator]
    if in_tokens:
        assert training["num_tokens_per_microbatch_per_dp_rank"] == 2 * 4096
        assert training["num_tokens_per_train_step"] == 64 * 4096
    else:
        assert (training["local_batch_size"], training["global_batch_size"], training["seq_len"]) == (2, 64, 4096)
    assert parallelism["tensor_parallel_degree"] == 4
    assert parallelism["fsdp_reshard_after_forward"] == "never"


@pytest.mark.skipif(WITH_TOML, reason="this torchtitan still reads TOML")
def test_policies_of_recomputation_exist() -> None:
    module = pytest.importorskip("torchtitan.distributed.activation_checkpoint", exc_type=ImportError)
    assert module.FullAC.Config() is not None
    assert module.SelectiveAC.Config() is not None
