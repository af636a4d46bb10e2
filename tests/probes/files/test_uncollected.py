"""Circular garbage is looked for again when the work is done, if it was before."""

from __future__ import annotations

import gc

import pytest

from probes.files.uncollected import uncollected


def test_also_after_an_error() -> None:
    with pytest.raises(ValueError, match="no"), uncollected():
        assert not gc.isenabled()
        raise ValueError("no")
    assert gc.isenabled()


def test_one_within_another() -> None:
    with uncollected():
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
