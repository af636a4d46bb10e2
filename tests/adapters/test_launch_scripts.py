"""Options in launch scripts: where a value is defined is where it is changed."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.adapters.megatron import ADAPTER
from doctor.adapters.model import Rendered
from doctor.adapters.registry import adapter_named


def changed(text: str, **changes: Any) -> str:
    return rendered(text, **changes).text


def rendered(text: str, **changes: Any) -> Rendered:
    return ADAPTER.render(text, changes, path="run.sh")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("--tensor-model-parallel-size 8", "--tensor-model-parallel-size 4"),
        ("--tensor-model-parallel-size=8", "--tensor-model-parallel-size=4"),
        ('--tensor-model-parallel-size "8"', '--tensor-model-parallel-size "4"'),
        ("--tensor-model-parallel-size\t8", "--tensor-model-parallel-size\t4"),
        ('ARGS="--tensor-model-parallel-size 8"\npython x.py $ARGS', 'ARGS="--tensor-model-parallel-size 4"\npython x.py $ARGS'),
        ("T=8\nrun --tensor-model-parallel-size $T", "T=4\nrun --tensor-model-parallel-size $T"),
        ('T=8\nrun --tensor-model-parallel-size "${T}"', 'T=4\nrun --tensor-model-parallel-size "${T}"'),
        ("export T='8' # TP\nrun --tensor-model-parallel-size $T", "export T='4' # TP\nrun --tensor-model-parallel-size $T"),
        ("run --tensor-model-parallel-size ${T:-8}", "run --tensor-model-parallel-size ${T:-4}"),
        ("T=${1:-8}\nrun --tensor-model-parallel-size $T", "T=${1:-4}\nrun --tensor-model-parallel-size $T"),
        (": ${T:=8}\nrun --tensor-model-parallel-size $T", ": ${T:=4}\nrun --tensor-model-parallel-size $T"),
        ("T=$((N * 2))\nrun --tensor-model-parallel-size $T", "T=4\nrun --tensor-model-parallel-size $T"),
        ("run --tensor-model-parallel-size $(nproc)", "run --tensor-model-parallel-size 4"),
        ("run --tensor-model-parallel-size $T", "run --tensor-model-parallel-size 4"),
        ("srun bash -c 'run --tensor-model-parallel-size 8'", "srun bash -c 'run --tensor-model-parallel-size 4'"),
        ("A=(--tensor-model-parallel-size 8)\nA+=(--bf16)\nrun ${A[@]}", "A=(--tensor-model-parallel-size 4)\nA+=(--bf16)\nrun ${A[@]}"),
    ],
)  # fmt: skip
def test_the_value_is_changed_where_it_is_defined(before: str, after: str) -> None:
    assert changed(before, tp=4) == after


def test_of_an_option_given_twice_the_last_counts() -> None:
    text = "run --tensor-model-parallel-size 2 --bf16 --tensor-model-parallel-size 8"
    assert ADAPTER.read(text, "run.sh")["tp"].value == 8
    assert changed(text, tp=4) == "run --tensor-model-parallel-size 2 --bf16 --tensor-model-parallel-size 4"


def test_the_last_array_on_the_command_counts() -> None:
    text = "A=(--tensor-model-parallel-size 2)\nB=(--tensor-model-parallel-size 8)\nrun ${A[@]} ${B[@]}\n"
    assert changed(text, tp=4) == text.replace("8", "4")
    other = text.replace("${A[@]} ${B[@]}", "${B[@]} ${A[@]}")
    assert changed(other, tp=4) == other.replace("size 2", "size 4")


def test_every_command_of_a_script_is_changed() -> None:
    text = "if a; then\n run --tensor-model-parallel-size 2\nelse\n run --tensor-model-parallel-size 8\nfi\n"
    assert changed(text, tp=4) == text.replace("size 2", "size 4").replace("size 8", "size 4")


def test_both_arrays_of_a_choice_are_changed() -> None:
    text = "if a; then\nARGS=(--tensor-model-parallel-size 2)\nelse\nARGS=(--tensor-model-parallel-size 8)\nfi\nrun ${ARGS[@]}\n"
    assert changed(text, tp=4) == text.replace("size 2", "size 4").replace("size 8", "size 4")


def test_a_variable_that_sets_something_else_too_is_left_alone() -> None:
    text = "N=8\ntorchrun --nproc_per_node $N p.py --tensor-model-parallel-size $N\n"
    result = rendered(text, tp=4)
    assert result.text == text.replace("size $N", "size 4")
    assert "N also sets nproc_per_node" in result.notes[0].en


def test_what_the_environment_may_replace_is_said() -> None:
    note = rendered("run --tensor-model-parallel-size ${T:-8}", tp=4).notes[0]
    assert note.written
    assert "T in the environment replaces" in note.en


def test_a_comment_is_no_option() -> None:
    text = "run --micro-batch-size 1 # --tensor-model-parallel-size 8\n# --tensor-model-parallel-size 16\n"
    assert "tp" not in ADAPTER.read(text, "run.sh")


def test_a_here_document_is_no_command() -> None:
    text = "cat <<EOF > x\n--tensor-model-parallel-size 2\nEOF\nrun --tensor-model-parallel-size 8\n"
    assert changed(text, tp=4) == text.replace("8", "4")


def test_a_new_option_stands_beside_its_kin_and_carries_the_line_on() -> None:
    text = "run \\\n    --tensor-model-parallel-size 8 \\\n    --micro-batch-size 1\n"
    assert changed(text, cp=2, recompute="selective") == (
        "run \\\n    --tensor-model-parallel-size 8 \\\n    --context-parallel-size 2 \\\n    --micro-batch-size 1 \\\n"
        "    --recompute-granularity selective\n"
    )


def test_a_new_option_in_an_array_needs_no_backslash() -> None:
    text = "A=(\n\t--tensor-model-parallel-size 8 # intra\n)\nrun ${A[@]}\n"
    assert changed(text, pp=2) == (
        "A=(\n\t--tensor-model-parallel-size 8 # intra\n\t--pipeline-model-parallel-size 2\n)\nrun ${A[@]}\n"
    )


def test_a_new_option_goes_into_the_string_its_kin_are_in() -> None:
    text = 'P="--tensor-model-parallel-size 8"\nrun $P\n'
    assert changed(text, pp=2) == 'P="--tensor-model-parallel-size 8 --pipeline-model-parallel-size 2"\nrun $P\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("run --sequence-parallel --tensor-model-parallel-size 2", "run --tensor-model-parallel-size 2"),
        ("run --tensor-model-parallel-size 2 --sequence-parallel", "run --tensor-model-parallel-size 2"),
        ("run \\\n --sequence-parallel \\\n --tensor-model-parallel-size 2", "run \\\n --tensor-model-parallel-size 2"),
        ("run --tensor-model-parallel-size 2 \\\n --sequence-parallel\nx", "run --tensor-model-parallel-size 2\nx"),
        ("A=(\n --tensor-model-parallel-size 2\n --sequence-parallel # why\n)\n", "A=(\n --tensor-model-parallel-size 2\n)\n"),
        ("run --sequence-parallel --micro-batch-size 1 --sequence-parallel", "run --micro-batch-size 1"),
    ],
)  # fmt: skip
def test_a_switch_that_is_to_be_off_goes(before: str, after: str) -> None:
    assert changed(before, sp=False) == after


def test_the_older_name_for_interleaving_goes_since_the_two_exclude_each_other() -> None:
    text = "run --pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 5"
    assert changed(text, vpp=2) == "run --pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 2"


def test_megatron_fsdp_brings_the_checkpoint_format_that_it_needs_and_takes_it_away() -> None:
    text = "run --use-distributed-optimizer --ckpt-format torch_dist"
    full = changed(text, sharding="full")
    assert "--use-megatron-fsdp" in full and "--ckpt-format fsdp_dtensor" in full
    assert changed(full, sharding="optimizer") == text


def test_the_trainers_switches_take_true_and_false() -> None:
    hf = adapter_named("hf")
    text = "python t.py --output_dir o --bf16 --per-device-train-batch-size 4"
    after = hf.render(text, {"precision": "fp16"}, path="t.sh").text
    assert after == text.replace("--bf16", "--bf16 false --fp16 true")


def test_hydra_is_told_to_add_what_its_schema_may_not_have() -> None:
    verl = adapter_named("verl")
    text = "python -m verl.trainer.main_ppo actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4"
    after = verl.render(text, {"recompute": "modules", "recompute_modules": "mlp"}, path="r.sh").text
    assert "++actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=selective" in after
    assert "override_transformer_config.recompute_modules='[mlp]'" in after


def test_rollout_and_reference_models_are_not_the_training() -> None:
    verl = adapter_named("verl")
    text = (
        "python -m verl.trainer.main_ppo actor_rollout_ref.rollout.tensor_model_parallel_size=2 "
        "actor_rollout_ref.actor.megatron.tensor_model_parallel_size=8"
    )
    assert verl.render(text, {"tp": 4}, path="r.sh").text == text.replace("=8", "=4")


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("export NCCL_DEBUG=WARN\nrun --bf16 --micro-batch-size 1", "INFO", "export NCCL_DEBUG=INFO\nrun --bf16 --micro-batch-size 1"),
        ("NCCL_DEBUG='WARN' run --micro-batch-size 1", "INFO", "NCCL_DEBUG='INFO' run --micro-batch-size 1"),
        ("#!/bin/sh\nrun --micro-batch-size 1", "a b", "#!/bin/sh\nexport NCCL_DEBUG='a b'\nrun --micro-batch-size 1"),
        ("export A=1 # one\nrun --micro-batch-size 1", "INFO", "export A=1 # one\nexport NCCL_DEBUG=INFO\nrun --micro-batch-size 1"),
        ("A=1 \\\nrun --micro-batch-size 1", "INFO", "export NCCL_DEBUG=INFO\nA=1 \\\nrun --micro-batch-size 1"),
        ("export NCCL_DEBUG=WARN\nrun --micro-batch-size 1", None, "run --micro-batch-size 1"),
        ("run --micro-batch-size 1", None, "run --micro-batch-size 1"),
    ],
)  # fmt: skip
def test_variables_of_the_job_are_exported(before: str, value: str | None, after: str) -> None:
    assert ADAPTER.render(before, {"env.NCCL_DEBUG": value}, path="run.sh").text == after


def test_an_option_of_several_words_is_replaced_whole() -> None:
    text = "run --recompute-granularity selective --recompute-modules core_attn mlp --micro-batch-size 1"
    assert changed(text, recompute_modules=["moe_act"]) == text.replace("core_attn mlp", "moe_act")


def test_a_script_without_this_frameworks_options_gives_one_line() -> None:
    from doctor.adapters.errors import AdapterError

    with pytest.raises(AdapterError, match=r"run\.sh is no file of megatron"):
        rendered("echo hello", tp=4)


def test_a_new_name_is_spelt_as_its_neighbours_are() -> None:
    hf = adapter_named("hf")
    under, dashed = (
        "python t.py --output_dir o --learning_rate 1e-05",
        "python t.py --output-dir o --bf16 true --learning-rate 1",
    )
    assert "--save_steps 10" in hf.render(under, {"save_interval": 10}, path="t.sh").text
    assert "--save-steps 10" in hf.render(dashed, {"save_interval": 10}, path="t.sh").text
