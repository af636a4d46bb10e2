"""hydra composes verl's own schema with the overrides that were rendered."""

from __future__ import annotations

import importlib.util
import shlex
from pathlib import Path
from typing import Any

import pytest

from doctor.adapters.registry import adapter_named
from tests.adapters.samples import VERL_FSDP, VERL_MEGATRON

hydra = pytest.importorskip("hydra", reason="hydra-core is not installed")
_spec = importlib.util.find_spec("verl")
if _spec is None or not _spec.submodule_search_locations:
    pytest.skip("verl is not installed", allow_module_level=True)
SCHEMAS = Path(next(iter(_spec.submodule_search_locations))) / "trainer" / "config"


def composed(schema: str, text: str, changes: dict[str, Any]) -> Any:
    result = adapter_named("verl").render(text, changes, path="a.sh")
    assert not result.left
    overrides = [
        word for word in shlex.split(result.text) if "=" in word and not word.startswith("-") and "$" not in word
    ]
    with hydra.initialize_config_dir(str(SCHEMAS), version_base=None):
        return hydra.compose(schema, overrides=overrides)


def test_megatron_actor() -> None:
    changes = {"tp": 2, "pp": 4, "vpp": 2, "cp": 2, "ep": 2, "etp": 1, "sp": False, "micro_batch": 1, "recompute": "full",
               "offload_param": True, "offload_optimizer": True, "sharding": "none", "attention": "flash"}  # fmt: skip
    actor = composed("ppo_megatron_trainer", VERL_MEGATRON, changes).actor_rollout_ref.actor
    assert actor.ppo_micro_batch_size_per_gpu == 1
    assert actor.megatron.tensor_model_parallel_size == 2
    assert actor.megatron.virtual_pipeline_model_parallel_size == 2
    assert actor.megatron.override_transformer_config.recompute_granularity == "full"
    assert actor.megatron.param_offload is True
    assert actor.megatron.sequence_parallel is False


def test_modules_are_a_list_for_hydra() -> None:
    changes = {"recompute": "modules", "recompute_modules": ["mlp", "moe_act"]}
    actor = composed("ppo_megatron_trainer", VERL_MEGATRON, changes).actor_rollout_ref.actor
    assert list(actor.megatron.override_transformer_config.recompute_modules) == ["mlp", "moe_act"]


def test_no_value_is_null_for_hydra() -> None:
    text = VERL_MEGATRON.replace(
        "data.train_batch_size",
        "actor_rollout_ref.actor.megatron.virtual_pipeline_model_parallel_size=2 data.train_batch_size",
    )
    actor = composed("ppo_megatron_trainer", text, {"vpp": 1}).actor_rollout_ref.actor
    assert actor.megatron.virtual_pipeline_model_parallel_size is None


def test_fsdp_actor() -> None:
    changes = {"cp": 2, "recompute": "full", "sharding": "gradients", "offload_param": True, "offload_optimizer": True,
               "micro_batch": 2, "dp_shard": 8, "fused_loss": True}  # fmt: skip
    config = composed("ppo_trainer", VERL_FSDP, changes).actor_rollout_ref
    assert config.actor.ulysses_sequence_parallel_size == 2
    assert config.actor.fsdp_config.reshard_after_forward is False
    assert config.actor.fsdp_config.fsdp_size == 8
    assert config.model.enable_gradient_checkpointing is True
    assert config.ref.fsdp_config.param_offload is True


@pytest.mark.parametrize("engine", ["megatron", "fsdp"])
def test_fine_tuning(engine: str) -> None:
    if not (SCHEMAS / "sft_trainer_engine.yaml").exists():
        pytest.skip("this verl has no trainer with engines")
    first = "engine=megatron engine.tensor_model_parallel_size=4" if engine == "megatron" else "engine.fsdp_size=8"
    text = f"torchrun -m verl.trainer.sft_trainer data.train_batch_size=64 {first}\n"
    changes = {"micro_batch": 1, "global_batch": 128, "seq": 2048, "cp": 2}
    changes |= {"tp": 2, "pp": 2} if engine == "megatron" else {"offload_param": 1}
    config = composed("sft_trainer_engine", text, changes)
    assert config.data.train_batch_size == 128
    assert config.data.micro_batch_size_per_gpu == 1
    if engine == "megatron":
        assert config.engine.tensor_model_parallel_size == 2
    else:
        assert config.engine.param_offload is True
