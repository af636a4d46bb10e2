from __future__ import annotations

import pytest

from doctor.facts.derive.runs import derive
from doctor.facts.model import Event, Fact
from doctor.facts.store import FactStore
from tests.facts.derive.speed_lines import line, store_of, values


def bar(run: str, seconds: float, total: int) -> list[Event]:
    return [line("progress.bar", i, f"{run}.log", run, step=i, total=total, step_time_s=seconds) for i in range(3)]


def note(*texts: str) -> FactStore:
    return store_of(*(line("table.speed", i, "notes.txt", text=text) for i, text in enumerate(texts)))


def test_two_nodes_are_compared_by_the_work_of_a_gpu() -> None:
    found = values([*derive(store_of(*bar("two_nodes", 40.0, 300), *bar("single_node", 5.0, 600)))])
    assert found["contrast.nodes"] == pytest.approx(8.0)
    assert found["contrast.scaling"] == pytest.approx(0.25)


def test_two_settings_that_differ_at_once_tell_nothing_of_either() -> None:
    found = values([*derive(store_of(*bar("two_nodes_zero3", 40.0, 300), *bar("single_node_zero0", 5.0, 600)))])
    assert not {"contrast.nodes", "contrast.zero"} & found.keys()


def test_a_setting_that_no_name_tells_is_that_of_the_job() -> None:
    store = store_of(*bar("slow", 40.0, 300), *bar("zero1", 5.0, 300), config__zero_stage=3)
    assert values([*derive(store)])["contrast.zero"] == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("texts", "name", "ratio"),
    [
        (("PP 4: 33 TFLOPS, PP 1: 170 TFLOPS",), "contrast.pp", 170 / 33),
        (("PP 4: 33 TFLOPS", "PP 1: 170 TFLOPS"), "contrast.pp", 170 / 33),
        (("tp=8: 3,000 tokens/s/GPU", "tp=4: 4.2k tokens/s/GPU"), "contrast.tp", 1.4),
        (("mbs 1: 40 TFLOPS", "mbs 4: 120 TFLOPS"), "contrast.micro_batch", 1 / 3),
    ],
)
def test_notes_are_read(texts: tuple[str, ...], name: str, ratio: float) -> None:
    assert values([*derive(note(*texts))])[name] == pytest.approx(ratio)


def test_units_that_differ_are_not_compared() -> None:
    assert values([*derive(note("tp 8: 33 TFLOPS", "tp 4: 3000 tokens/s/GPU"))]) == {}


def test_accumulation_is_compared_by_the_micro_batch() -> None:
    events = [line("table.time", i, "notes.txt", text=text) for i, text in
              enumerate(("accumulation 1: 110 s per step", "accumulation 4: 430.6 s per step"))]  # fmt: skip
    assert values([*derive(store_of(*events))])["contrast.accum_time"] == pytest.approx(430.6 / 440)


def test_rows_of_a_table_are_compared() -> None:
    rows = ("ZeRO stage 3: 1.8 forward", "ZeRO stage 2: 0.3 forward")
    store = FactStore([Fact("sweep.row", row) for row in rows])
    assert values([*derive(store)])["contrast.zero_forward"] == pytest.approx(6.0)


def test_gradient_norms_are_compared_at_the_same_step() -> None:
    events = [line("progress.step", i, f"cp{cp}.log", f"cp{cp}", step=i + 1, step_time_s=1.0, grad_norm=norm)
              for cp, norm in ((1, 8.0), (2, 4.0)) for i in range(3)]  # fmt: skip
    assert values([*derive(store_of(*events))])["contrast.cp_grad_norm"] == pytest.approx(0.5)
