"""Pictures of expert loads and of memory, as data."""

from __future__ import annotations

from doctor.facts.model import Fact
from doctor.facts.store import FactStore
from doctor.session.heat import Heat, Row, folded, heat_of
from doctor.session.held import memory_of


def test_rows_are_the_layers_that_were_read() -> None:
    heat = heat_of(FactStore([Fact("experts.heat", ("0: 1 0.5 1.5", "moe:1: 0 3 0"))]))
    assert heat == Heat((Row(("0",), (1.0, 0.5, 1.5)), Row(("moe:1",), (0.0, 3.0, 0.0))))
    assert heat_of(FactStore()) is None


def test_folding_keeps_dead_and_overloaded_experts() -> None:
    loads = [[1.0] * 256 for _ in range(60)]
    loads[7][100], loads[50][3] = 0.0, 4.0
    heat = folded(Heat(tuple(Row((str(n),), tuple(row)) for n, row in enumerate(loads))), 20, 64)
    assert (len(heat.rows), len(heat.rows[0].loads), heat.experts) == (20, 64, 4)
    values = sorted(load for row in heat.rows for load in row.loads)
    assert (values[0], values[-1]) == (0.0, 4.0)
    assert heat.rows[2].layers == ("6", "7", "8")


def test_what_fits_is_not_folded() -> None:
    heat = Heat((Row(("0",), (1.0, 2.0)),))
    assert folded(heat, 10, 10) == heat


def test_memory_is_drawn_at_the_error_else_at_the_peak() -> None:
    facts = [
        Fact("snapshot.reserved", 100, "rank:1"),
        Fact("snapshot.peak_total", 90, "rank:1"),
        Fact("snapshot.peak_categories", ("activations=60", "parameters=30"), "rank:1"),
    ]
    picture = memory_of(FactStore(facts))
    assert picture is not None
    (bar,) = picture.bars
    assert (bar.entity, bar.bytes) == ("rank:1", 90)
    assert [(part.kind, round(part.share, 2)) for part in bar.parts] == [
        ("held_activations", 0.67),
        ("held_parameters", 0.33),
    ]
    facts += [
        Fact("snapshot.oom_total", 80, "rank:1"),
        Fact("snapshot.oom_categories", ("logits=80",), "rank:1"),
    ]
    at_error = memory_of(FactStore(facts))
    assert at_error is not None and at_error.bars[0].parts[0].kind == "held_logits"
    assert memory_of(FactStore()) is None
