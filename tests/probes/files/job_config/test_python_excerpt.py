"""Python scripts and excerpts, which are read and never run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.files.job_config import python_excerpt
from probes.files.job_config.sheet import Sheet
from tests.probes.files.job_config.reading import facts


def test_arguments_of_known_calls() -> None:
    text = """\
import os
os.environ["NCCL_DEBUG"] = "INFO"
dist.init_process_group("nccl", timeout=timedelta(hours=2))
args = TrainingArguments(per_device_train_batch_size=4, bf16=True, gradient_checkpointing=True, learning_rate=2e-5)
loader = DataLoader(data, batch_size=8, num_workers=2 * 4, pin_memory=True)
model = AutoModel.from_pretrained("org/model-7b", torch_dtype=torch.bfloat16, device_map="auto")
"""
    assert facts(text, "train.py") == {
        "framework": "hf", "env.NCCL_DEBUG": "INFO", "backend": "nccl", "timeout": 7200.0, "micro_batch": 4,
        "precision": "bf16", "recompute": "full", "learning_rate": 2e-5, "num_workers": 8, "pin_memory": True,
        "model": "org/model-7b", "param_dtype": "bf16", "device_map": "auto",
    }  # fmt: skip


def test_fsdp_1_and_2() -> None:
    one = "model = FSDP(model, sharding_strategy=ShardingStrategy.HYBRID_SHARD, limit_all_gathers=False)\n"
    assert facts(one, "a.py") == {
        "framework": "fsdp", "fsdp": True, "fsdp_version": 1, "fsdp_strategy": "hybrid_shard",
        "fsdp_limit_all_gathers": False,
    }  # fmt: skip
    assert facts("fully_shard(block, mesh=mesh)\n", "a.py")["fsdp_version"] == 2


def test_assignments_of_a_recipe_and_items_of_a_dict() -> None:
    text = """\
recipe.trainer.strategy.tensor_model_parallel_size = 8
recipe.trainer.num_nodes = 2
ds_config = {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}}
ds_config["train_batch_size"] = 64
"""
    found = facts(text, "r.py")
    expected = {"tp": 8, "nnodes": 2, "zero_stage": 2, "offload_optimizer": True, "global_batch": 64}
    assert {name: found[name] for name in expected} == expected


BOTH = """\
def configure(args, ds):
    if args.bf16:
        ds["bf16"] = {"enabled": True}
    else:
        ds["fp16"] = {"enabled": True}
    return dict(lr=1e-4, num_layers=12)
"""
RECIPES = """\
def small():
    return Config(world_size=1, seq_length=4096)

def large():
    return Config(tensor_model_parallel_size=8, context_parallel_size=2, seq_length=4096)
"""


def test_what_branches_set_differently_is_unknown() -> None:
    found = facts(BOTH, "a.py")
    assert "precision" not in found
    assert found["num_layers"] == 12
    assert facts("ds['bf16'] = {'enabled': True}\n", "a.py")["precision"] == "bf16"


def test_degrees_of_several_recipes_are_no_one_job() -> None:
    assert facts(RECIPES, "a.py") == {"seq_len": 4096}
    large = RECIPES.partition("\n\n")[2]
    assert facts(large, "a.py") == {"seq_len": 4096, "tp": 8, "cp": 2}


def test_an_excerpt_that_does_not_parse() -> None:
    text = """\
    model = FSDP(model, device_id=local_rank)
    trainer = Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=2, fp16=True, ...), ...)
    # per_device_train_batch_size=64
    ds["train_micro_batch_size_per_gpu"] = 1
    dist.init_process_group(timeout=timedelta(minutes=30), ...
"""
    found = facts(text, "excerpt.py")
    assert (found["fsdp"], found["micro_batch"], found["precision"], found["timeout"]) == (True, 2, "fp16", 1800.0)


def test_what_is_computed_when_it_runs_is_unknown() -> None:
    text = 'tensor_model_parallel_size = int(os.environ["TP"])\nmicro_batch_size = args.mbs\nnum_layers = f(8)\n'
    assert facts(text, "a.py") == {}


def test_nothing_is_imported_or_run() -> None:
    assert facts('__import__("os").system("touch /tmp/never")\nx = exec("1/0")\n', "a.py") == {}


@given(st.text(alphabet="ab =([{,:\"'})]\n.1#*", max_size=80))
def test_any_text_is_read(text: str) -> None:
    python_excerpt.read(Sheet("a.py", {}), text)


@pytest.mark.parametrize(
    "call",
    [
        'idist.initialize("gloo", timeout=timedelta(seconds=40))',
        'deepspeed.init_distributed("nccl", timeout=timedelta(seconds=40))',
        'dist.initialize_dist("cpu", timeout=40.0)',
        "trainer = Trainer(model=net, max_duration='1ep', dist_timeout=40.0)",
        "torch_config = TorchConfig(backend='gloo', timeout_s=40)",
        "strategy = DDPStrategy(process_group_backend='gloo', timeout=timedelta(seconds=40))",
        "strategy = FSDPStrategy(timeout=timedelta(seconds=40))",
    ],
)
def test_the_time_out_of_process_groups_by_framework(call: str) -> None:
    assert facts(f"import os\n{call}\n", "train.py")["timeout"] == 40.0


@pytest.mark.parametrize(
    "call", ["requests.get(url, timeout=40)", "model.initialize(timeout=40)", "TimeoutStrategy(timeout=40)"]
)
def test_other_time_outs_are_not_theirs(call: str) -> None:
    assert "timeout" not in facts(f"import os\n{call}\n", "train.py")
