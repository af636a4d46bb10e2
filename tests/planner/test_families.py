"""Models by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.planner.errors import PlanError
from doctor.planner.families import families, model, published
from doctor.planner.flops import forward_flops


@pytest.mark.parametrize(
    "name", ["llama3-70b", "Llama-3.1-70B-Instruct", "meta-llama/Meta-Llama-3-70B", "LLAMA3_70B", "llama-3.3-70b"]
)
def test_a_model_has_many_spellings(name: str) -> None:
    assert model(name).name == "llama3-70b"


def test_an_unknown_model_is_answered_with_a_close_one() -> None:
    with pytest.raises(PlanError, match=r"'lama3-70b', which is not in the table, did you mean llama3-70b\?"):
        model("lama3-70b")


def test_a_folder_means_the_config_in_it(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        '{"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, '
        '"intermediate_size": 128, "vocab_size": 100}'
    )
    assert model(str(tmp_path)).hidden == 64


@pytest.mark.parametrize("name", sorted(families()))
def test_every_row_has_a_source_and_twice_the_parameters_in_flops(name: str) -> None:
    """A token costs about two FLOP a parameter forward; a mixture only for the experts it uses."""
    row, shape = published()[name], model(name)
    assert row["source"]
    if shape.moe is None:
        embedding = shape.vocab * shape.hidden
        idle = 0 if shape.tied else embedding
        assert forward_flops(shape, 1) == pytest.approx(2 * (row["params"] - idle), rel=0.02)
