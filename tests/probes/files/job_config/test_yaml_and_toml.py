"""YAML of the trainers, Accelerate's YAML, torchtitan's TOML."""

from __future__ import annotations

from probes.files.job_config import read_config
from tests.probes.files.job_config.reading import facts, warnings


def test_llamafactory() -> None:
    text = """\
model_name_or_path: org/model-8B
finetuning_type: lora
deepspeed: examples/ds_z3_config.json
cutoff_len: 2048   # tokens
per_device_train_batch_size: 1
bf16: true
ddp_timeout: 180000000
flash_attn: fa2
"""
    assert facts(text, "sft.yaml") == {
        "framework": "llamafactory", "model": "org/model-8B", "lora": True, "seq_len": 2048, "micro_batch": 1,
        "deepspeed_config": "examples/ds_z3_config.json", "precision": "bf16", "timeout": 180000000.0,
        "attention": "flash",
    }  # fmt: skip


def test_axolotl_qlora_with_auto() -> None:
    text = "base_model: org/model-14B\nadapter: qlora\nload_in_4bit: true\nbf16: auto\nmicro_batch_size: 2\n"
    assert facts(text, "qlora.yml") == {
        "framework": "axolotl", "model": "org/model-14B", "lora": True, "quantization": "4bit", "micro_batch": 2,
    }  # fmt: skip


def test_nested_sections_leave_out_rollout_and_reference_models() -> None:
    text = """\
actor_rollout_ref:
  actor:
    ppo_micro_batch_size_per_gpu: 2
    megatron: {tensor_model_parallel_size: 4, pipeline_model_parallel_size: 2}
  ref:
    megatron: {tensor_model_parallel_size: 8}
  rollout:
    tensor_model_parallel_size: 1
trainer: {n_gpus_per_node: 8, nnodes: ${oc.env:NODES}}
"""
    assert facts(text, "ppo.yaml") == {
        "framework": "verl", "micro_batch": 2, "tp": 4, "pp": 2, "nproc_per_node": 8,
    }  # fmt: skip


def test_accelerate() -> None:
    text = """\
compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_sharding_strategy: 1
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
mixed_precision: bf16
num_machines: 2
num_processes: 16
"""
    assert facts(text, "acc.yaml") == {
        "framework": "fsdp", "fsdp": True, "fsdp_strategy": "full_shard", "cpu_ram_efficient_loading": True,
        "offload_param": False, "precision": "bf16", "nnodes": 2, "world_size": 16,
    }  # fmt: skip


def test_lines_of_yaml() -> None:
    text = "trainer:\n  devices: 8\n  num_nodes: many\n"
    lines = {fact.name: fact.source.line for fact in read_config("n.yaml", text.encode()).facts}
    assert lines == {"config.nproc_per_node": 2}
    assert warnings(text, "n.yaml") == ["n.yaml:3: trainer.num_nodes = many is not a whole number"]


def test_yaml_that_does_not_parse_is_read_by_line() -> None:
    text = "model: {a: b\nparallelism:\n  tensor_parallel_degree: 4\nmicro_batch_size: 2\n"
    assert facts(text, "x.yaml") == {"tp": 4, "micro_batch": 2}
    assert "not valid YAML" in warnings(text, "x.yaml")[0]


def test_tags_are_not_constructed_and_aliases_do_not_grow() -> None:
    text = "a: !!python/object/apply:os.system ['touch /tmp/never']\nmicro_batch_size: 2\n"
    assert facts(text, "x.yaml")["micro_batch"] == 2
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    assert facts(bomb + "micro_batch_size: 2\n", "x.yaml")["micro_batch"] == 2


def test_torchtitan_old_and_new_names() -> None:
    old = "[training]\nbatch_size = 2\ndata_parallel_shard_degree = -1\n[experimental]\npipeline_parallel_degree = 4\n"
    new = '[parallelism]\npipeline_parallel_degree = 4 # deep\n[training]\nlocal_batch_size = 2\n[model]\nname="llama3"\nflavor="8B"\n'
    assert facts(old, "a.toml") == {"framework": "torchtitan", "micro_batch": 2, "pp": 4}
    assert facts(new, "b.toml") == {"framework": "torchtitan", "micro_batch": 2, "pp": 4, "model": "llama3 8B"}


def test_toml_that_does_not_parse_is_read_by_line() -> None:
    text = "[training]\nseq_len = 4096\nlocal_batch_size = \n[parallelism]\ntensor_parallel_degree = 2\n"
    assert facts(text, "a.toml")["tp"] == 2
    assert warnings(text, "a.toml")[0].startswith("a.toml:3: not valid TOML")


def test_flags_as_keys_and_variables_of_a_section() -> None:
    text = "ENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\nMODEL_ARGS:\n  --tensor-model-parallel-size: 2\n"
    assert facts(text, "model_config.yaml") == {
        "framework": "megatron", "tp": 2, "env.CUDA_DEVICE_MAX_CONNECTIONS": "1",
    }  # fmt: skip
