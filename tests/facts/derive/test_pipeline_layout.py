"""Layers over pipeline stages: the numbers that Megatron refuses, beside those that it takes."""

from __future__ import annotations

import pytest

from doctor.facts.derive.pipeline_layout import Split, fault, unrolled


@pytest.mark.parametrize(
    "split",
    [
        Split(32, 4),
        Split(32, 4, vpp=2),
        Split(30, 4, embedding=True, loss=True),
        Split(62, 8, per_virtual=4, embedding=True, loss=True),
        Split(61, 8, first=5),
        Split(61, 8, first=5, last=2),
        Split(7, 2, first=3, last=4),
        Split(32, 8, layout="Et*4|(t*4|)*6t*4L"),
        Split(61, 16, layout="Et*3|(tt|)*29,m|L"),
        Split(32, 8, layout="what is this"),
    ],
)
def test_what_can_be_dealt_out(split: Split) -> None:
    assert fault(split) is None


@pytest.mark.parametrize(
    ("split", "text"),
    [
        (Split(30, 4), "num_layers 30 is not divisible by PP 4"),
        (Split(28, 4, vpp=2), "num_layers 28 is not divisible by PP 4 x VPP 2 = 8"),
        (
            Split(32, 4, embedding=True),
            "num_layers 32 with the embedding as layers, 33, is not divisible by PP 4",
        ),
        (Split(61, 8, first=6), "6 on the first stage of 61 layers leave 55, not divisible over 7 stages between"),
        (Split(8, 2, first=3, last=4), "3 on the first and 4 on the last stage of 8 layers leave 1 layers"),
        (Split(33, 4, first=5, last=4, vpp=2), "a stage of 5 layers is not divisible by VPP 2"),
        (Split(32, 8, first=4, loss=True), "exclude each other"),
        (Split(32, 8, layout="Et*3|(t*4|)*6t*4L"), "the layout places 31 layers, the model has 32"),
        (Split(32, 3, layout="Et*4|(t*4|)*6t*4L"), "the layout has 8 stages, not a multiple of PP 3"),
    ],
)
def test_what_cannot(split: Split, text: str) -> None:
    assert text.split(" on the")[0] in (fault(split) or "") and text.split()[-1] in (fault(split) or "")


def test_layouts_are_unrolled() -> None:
    assert unrolled("Ettt|(tt|)*2m|L") == ["Ettt", "tt", "tt", "m", "L"]


@pytest.mark.parametrize("layout", ["", "(t*9999)*9999", "t*999999999", "((t)*2)*2", "E" * 5000, "t|x|L", "t*0"])
def test_layouts_that_are_none_or_too_long_are_not_read(layout: str) -> None:
    assert unrolled(layout) is None
