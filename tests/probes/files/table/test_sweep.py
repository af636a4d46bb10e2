from __future__ import annotations

from probes.files.table import read_table


def rows(text: str, name: str) -> list[object]:
    reading = read_table("t.csv", text.encode())
    return [fact.value for fact in reading.facts if fact.name == name] if reading else []


def test_a_row_is_put_in_words_with_value_and_unit() -> None:
    text = "tp,pp,tokens_per_s_per_gpu\n8,1,3100\n4,2,4200\n"
    assert rows(text, "sweep.row") == ["tp 8, pp 1: 3100 tokens/s/GPU", "tp 4, pp 2: 4200 tokens/s/GPU"]


def test_milliseconds_become_seconds() -> None:
    text = "| ZeRO stage | fwd (ms) |\n|---|---|\n| 3 | 1800 |\n| 2 | 300 |\n"
    assert rows(text, "sweep.row") == ["ZeRO stage 3: 1.8 forward", "ZeRO stage 2: 0.3 forward"]


def test_a_table_without_settings_is_no_comparison() -> None:
    assert rows("name,tflops\nalpha,30\nbeta,40\n", "sweep.row") == []


def test_the_slowest_of_the_rank_columns_is_named() -> None:
    text = "step,rank0_ms,rank1_ms,rank2_ms\n" + "".join(f"{i},800,1200,800\n" for i in range(4))
    assert rows(text, "series.row")[0] == "step=0 seconds=1.2 rank=1 spread=1.5"


def test_a_table_of_three_steps_is_no_series() -> None:
    assert rows("step,step_ms\n1,800\n2,810\n3,820\n", "series.row") == []


def test_a_table_below_the_words_of_a_note_is_read_with_its_line_numbers() -> None:
    text = "Two cards, same batch\n\n| tp | tflops |\n|---|---|\n| 8 | 93 |\n| 1 | 124 |\nwhat is wrong?\n"
    assert rows(text, "sweep.row") == ["tp 8: 93 tflops", "tp 1: 124 tflops"]
    reading = read_table("note.md", text.encode())
    assert reading is not None and not reading.whole
    assert [fact.source.line for fact in reading.facts] == [5, 6]
