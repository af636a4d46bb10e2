"""Launch scripts and command lines."""

from __future__ import annotations

import pytest

from doctor.facts.model import Quality
from probes.files.job_config import read_config
from tests.probes.files.job_config.reading import every, facts, warnings

MEGATRON = """\
#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=4
TP=4
GPT_ARGS="
    --num-layers 24 \\
    --hidden-size 2048
"
PARALLEL=(
    --tensor-model-parallel-size $TP   # inside a node
    # --pipeline-model-parallel-size 8
    --pipeline-model-parallel-size ${PP:-2}
)
PARALLEL+=(--sequence-parallel)
torchrun --nproc_per_node=$GPUS_PER_NODE --nnodes $NNODES pretrain_gpt.py \\
    $GPT_ARGS "${PARALLEL[@]}" \\
    --micro-batch-size 2 --global-batch-size $((2 * GPUS_PER_NODE * NNODES)) --bf16 2>&1 | tee train.txt
"""


def test_variables_arrays_and_continuations_are_followed() -> None:
    found = facts(MEGATRON)
    assert found == {
        "framework": "megatron", "launcher": "torchrun", "env.CUDA_DEVICE_MAX_CONNECTIONS": "1", "nproc_per_node": 8,
        "nnodes": 4, "num_layers": 24, "hidden_size": 2048, "tp": 4, "pp": 2, "sequence_parallel": True,
        "micro_batch": 2, "global_batch": 64, "precision": "bf16",
    }  # fmt: skip


def test_a_fact_points_at_the_line_where_its_value_stands() -> None:
    by_name = {fact.name: fact for fact in read_config("launch.sh", MEGATRON.encode()).facts}
    assert (by_name["config.tp"].source.line, by_name["config.tp"].source.text) == (5, "TP=4")
    assert by_name["config.hidden_size"].source.text == "--hidden-size 2048"
    assert by_name["config.tp"].source.kind == "config"


def test_a_default_that_the_environment_may_replace_is_only_derived() -> None:
    by_name = {fact.name: fact for fact in read_config("launch.sh", MEGATRON.encode()).facts}
    assert by_name["config.pp"].quality is Quality.DERIVED
    assert by_name["config.tp"].quality is Quality.STATED


def test_a_variable_that_the_script_does_not_set_is_unknown_without_a_warning() -> None:
    text = "torchrun --nproc_per_node $GPUS --nnodes $(wc -l < hosts) pretrain_gpt.py --num-layers 8\n"
    assert "nproc_per_node" not in facts(text) and "nnodes" not in facts(text)
    assert facts(text)["num_layers"] == 8 and warnings(text) == []


def test_a_value_that_does_not_parse_is_a_warning_with_its_line() -> None:
    text = "torchrun --nproc_per_node 8 pretrain_gpt.py \\\n  --num-layers eight --hidden-size 64\n"
    assert warnings(text) == ["launch.sh:2: megatron.num-layers = eight is not a whole number"]
    assert facts(text)["hidden_size"] == 64


def test_unknown_flags_are_ignored() -> None:
    assert "model" not in facts("torchrun --nproc_per_node 2 train.py --wandb-exp-name tensor-model --seed 1\n")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("torchrun --nproc_per_node 8 train.py", {"nproc_per_node": 8, "nnodes": 1, "launcher": "torchrun"}),
        ("torchrun --nnodes=1:4 --nproc-per-node=gpu train.py", {"nnodes_min": 1, "nnodes_max": 4}),
        ("python3 -m torch.distributed.launch --nproc_per_node 4 --nnode=2 a.py", {"nproc_per_node": 4, "nnodes": 2}),
        ("deepspeed --num_gpus 4 t.py --deepspeed ds.json", {"nproc_per_node": 4, "nnodes": 1, "framework": "deepspeed"}),
        ("deepspeed --include a:0,1,2@b:0,1,2 t.py --x 1", {"nproc_per_node": 3, "nnodes": 2}),
        ("deepspeed --hostfile hosts --num_gpus 8 t.py", {"nproc_per_node": 8, "framework": "deepspeed"}),
        ("accelerate launch --num_processes 16 --num_machines 2 --mixed_precision bf16 t.py",
         {"world_size": 16, "nnodes": 2, "precision": "bf16", "launcher": "accelerate"}),
        ("mpirun -np 16 --map-by ppr:8:node -x NCCL_DEBUG=INFO -x PATH ./train --n 3",
         {"world_size": 16, "nproc_per_node": 8, "env.NCCL_DEBUG": "INFO"}),
        ("NPROC_PER_NODE=8 NNODES=2 swift sft --model Qwen/Qwen3-8B --deepspeed zero3_offload --tuner_type lora",
         {"nproc_per_node": 8, "nnodes": 2, "zero_stage": 3, "offload_optimizer": True, "lora": True,
          "framework": "swift", "model": "Qwen/Qwen3-8B"}),
        ("python -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2"
         " actor_rollout_ref.rollout.tensor_model_parallel_size=8 trainer.n_gpus_per_node=8 +trainer.nnodes=2",
         {"framework": "verl", "tp": 2, "nproc_per_node": 8, "nnodes": 2}),
        ("docker run --gpus all --shm-size=16g --ipc=host -e NCCL_IB_DISABLE=1 image bash",
         {"container_shm_size": 16 * 2**30, "container_ipc_host": True, "env.NCCL_IB_DISABLE": "1"}),
        ("srun bash -c 'torchrun --nproc_per_node 4 --nnodes 2 t.py'", {"nproc_per_node": 4, "nnodes": 2}),
        ("""ray job submit --runtime-env-json='{"env_vars": {"NCCL_DEBUG": "WARN"}}' -- python3 t.py"""
         " --actor-num-nodes 2 --actor-num-gpus-per-node 8 --tensor-model-parallel-size 4",
         {"env.NCCL_DEBUG": "WARN", "nnodes": 2, "nproc_per_node": 8, "tp": 4, "framework": "slime"}),
    ],
)  # fmt: skip
def test_launchers(command: str, expected: dict[str, object]) -> None:
    found = facts(command + "\n")
    assert {name: found.get(name) for name in expected} == expected


def test_what_is_not_said_stays_unknown() -> None:
    assert "nnodes" not in facts("deepspeed --hostfile hosts t.py --zero_stage 3\n")
    assert "nproc_per_node" not in facts("torchrun --nnodes 2 --nproc_per_node auto t.py\n")


def test_the_argument_of_another_program_is_not_the_launchers() -> None:
    assert facts("mpirun -np 8 /opt/tests/all_reduce_perf -b 8 -n 100\n")["world_size"] == 8


def test_slurm_directives_set_the_variables_of_the_job() -> None:
    text = (
        "#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=1\n#SBATCH --gres=gpu:a100:8\n##SBATCH --mem=1g\n#SBATCH -c 32\n"
        "srun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_ON_NODE train.py\n"
    )
    found = facts(text, "job.sbatch")
    expected = {
        "nnodes": 4,
        "tasks_per_node": 1,
        "gpus_per_node": 8,
        "nproc_per_node": 8,
        "srun": True,
        "cpus_per_task": 32,
    }
    assert {name: found[name] for name in expected} == expected
    assert "host_memory_limit" not in found


def test_tasks_are_ranks_only_where_srun_starts_the_program_itself() -> None:
    head = "#!/bin/bash\n#SBATCH -N2\n#SBATCH --ntasks-per-node=4\n"
    assert facts(head + "srun python train.py\n")["nproc_per_node"] == 4
    alone = facts(head + "python train.py\n")
    assert alone["srun"] is False and "nproc_per_node" not in alone


def test_commands_for_several_nodes_agree() -> None:
    text = "".join(f"NNODES=2 RANK={r} MASTER_ADDR=10.0.0.1 llamafactory-cli train a.yaml\n" for r in (0, 1))
    assert every(text, "config.nnodes") == [2]
    assert "env.RANK" not in facts(text)
    assert facts(text)["env.MASTER_ADDR"] == "10.0.0.1"


def test_a_variable_of_one_of_several_compared_runs_is_not_the_jobs() -> None:
    text = "torchrun --nproc_per_node 2 a.py\nNCCL_P2P_DISABLE=1 torchrun --nproc_per_node 2 a.py\n"
    assert "env.NCCL_P2P_DISABLE" not in facts(text)
    assert facts(text.splitlines()[1] + "\n")["env.NCCL_P2P_DISABLE"] == "1"


def test_two_values_of_one_setting_both_stay() -> None:
    assert every("deepspeed t.py --zero_stage 2\ndeepspeed t.py --zero_stage 3\n", "config.zero_stage") == [2, 3]


def test_arguments_pasted_without_their_command() -> None:
    found = facts("--num-layers 80\n--tensor-model-parallel-size 8\n--sequence-parallel\n", "args.txt")
    assert found == {"framework": "megatron", "num_layers": 80, "tp": 8, "sequence_parallel": True}


def test_only_exported_variables_reach_the_job() -> None:
    text = "NCCL_IB_DISABLE=1\nexport NCCL_DEBUG=INFO NCCL_IB_HCA\ntorchrun --nproc_per_node 8 a.py\n"
    found = facts(text)
    assert found["env.NCCL_DEBUG"] == "INFO" and "env.NCCL_IB_DISABLE" not in found


def test_a_dump_of_variables() -> None:
    found = facts("NCCL_IB_HCA=mlx5_0:1,mlx5_1:1\nOMP_NUM_THREADS=unset\nNCCL_IB_DISABLE=0\n", "env.txt")
    assert found == {"env.NCCL_IB_HCA": "mlx5_0:1,mlx5_1:1", "env.NCCL_IB_DISABLE": "0"}


def test_a_here_document_is_read_as_what_it_holds() -> None:
    text = '#!/bin/bash\ncat <<EOT > ds.json\n{"zero_optimization": {"stage": 1}}\nEOT\ndeepspeed --num_gpus 2 a.py\n'
    assert facts(text)["zero_stage"] == 1
    assert facts(text.replace("cat", "STAGE=2\ncat").replace("1}}", "$STAGE}}"))["zero_stage"] == 2


def test_secrets_are_not_kept() -> None:
    text = (
        "export WANDB_API_KEY=abc123 HF_TOKEN=tok99\nMY_SECRET=s1 torchrun --nproc_per_node 8 a.py --hf-token tok98\n"
    )
    reading = read_config("launch.sh", text.encode())
    values = {fact.name: fact.value for fact in reading.facts}
    assert values["env.WANDB_API_KEY"] == values["env.HF_TOKEN"] == values["env.MY_SECRET"] == "<redacted>"
    everything = repr(reading)
    assert not any(secret in everything for secret in ("abc123", "tok99", "tok98", "s1 "))
    assert facts("export TOKENIZERS_PARALLELISM=false\n")["env.TOKENIZERS_PARALLELISM"] == "false"


def test_ray_is_started_by_one_task_and_spreads_by_itself() -> None:
    found = facts("#!/bin/bash\n#SBATCH --nodes=2\nsrun --ntasks=1 ray start --head\npython -m verl.trainer.main_ppo\n")
    assert "world_size" not in found and found["nnodes"] == 2


def test_megatron_sft_is_a_command_of_swift() -> None:
    assert facts("NPROC_PER_NODE=8 megatron sft --max_length 8192")["framework"] == "swift"


def test_layers_by_hand_and_heads_that_ulysses_splits() -> None:
    found = facts("torchrun pretrain_gpt.py --decoder-first-pipeline-num-layers 5 --account-for-loss-in-pipeline-split")
    assert (found["first_stage_layers"], found["loss_as_layer"], found["pp_uneven"]) == (5, True, True)
    found = facts("python -m verl.trainer.main_ppo actor_rollout_ref.actor.ulysses_sequence_parallel_size=4")
    assert (found["cp"], found["ulysses"]) == (4, 4)


def test_completions_of_a_prompt_belong_to_the_training() -> None:
    found = facts(
        "python -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=5 actor_rollout_ref.rollout.tensor_model_parallel_size=2"
    )
    assert found["num_generations"] == 5 and "tp" not in found
