"""The summary of torchrun tells of one rank after another: what belongs to which, and what to none."""

from __future__ import annotations

import pytest

from tests.probes.files.log.support import events, labelled

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."

REPORT = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-05-02_10:17:20
  host      : node1
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 534)
  error_file: /tmp/torchelastic_ab/0/error.json
  traceback : Traceback (most recent call last):
    File "/srv/job/train.py", line 40, in step
      work.wait()
  RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.9]:9091.

------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-05-02_10:17:20
  host      : node1
  rank      : 2 (local_rank: 2)
  exitcode  : 1 (pid: 536)
  error_file: /tmp/torchelastic_ab/2/error.json
  traceback : Traceback (most recent call last):
    File "/srv/job/train.py", line 32, in batch
      raise ValueError("sample 17: token 901 is outside")
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  ValueError: sample 17: token 901 is outside

============================================================
"""


def test_tracebacks_in_the_summary_of_torchrun_are_those_of_the_ranks_it_names() -> None:
    found = [event for event in events(REPORT) if event.name == "python.traceback" and event.fields["frames"]]
    assert [(event.rank, event.fields["exception"], event.fields["message"]) for event in found] == [
        (0, "RuntimeError", found[0].fields["message"]),
        (2, "ValueError", "sample 17: token 901 is outside"),
    ]
    assert "Connection closed by peer" in str(found[0].fields["message"])
    assert (
        found[1].fields["last_frame"] == '/srv/job/train.py:batch: raise ValueError("sample 17: token 901 is outside")'
    )


def test_what_comes_after_the_summary_is_nobodys() -> None:
    after = (
        "Traceback (most recent call last):\n" + '  File "/srv/a.py", line 1, in <module>\n    main()\nKeyError: 3\n'
    )
    last = [event for event in events(REPORT + after) if event.name == "python.traceback"][-1]
    assert (last.rank, last.fields["exception"]) == (None, "KeyError")


CUT = REPORT.removesuffix("\n" + "=" * 60 + "\n")
BARE = f"{CUT.rsplit('traceback :', 1)[0]}traceback : To enable traceback see: https://pytorch.org/docs\n{'=' * 60}\n"
"""A rank that left no traceback."""
KNOWN = f"  {OOM}\n"


def ranks_of_oom(text: str) -> list[int | None]:
    return [event.rank for event in events(text) if event.name == "oom"]


@pytest.mark.parametrize("between", ["", "+ torchrun train.py\nloading weights\n", "loading weights\n" * 40_000])
@pytest.mark.parametrize("summary", [REPORT, BARE, f"{CUT}\nrestarting\n"])
def test_an_indented_line_after_the_summary_is_nobodys(summary: str, between: str) -> None:
    """Lines that nothing is known of end the summary too, however few or many they are."""
    assert ranks_of_oom(summary + between + KNOWN) == [None]


@pytest.mark.parametrize("between", ["", "\n", "  note: left by the worker\n", "\n  note: left by the worker\n\n"])
def test_an_indented_line_within_the_summary_is_that_of_its_rank(between: str) -> None:
    assert ranks_of_oom(f"{CUT}\n{between}{KNOWN}") == [2]


def test_lines_of_another_node_neither_end_the_summary_nor_are_of_it() -> None:
    mixed = labelled("node1: ", CUT).replace("node1:   error_file", "node2: step 4\nnode1:   error_file")
    other = labelled("node2: ", "step 5\n" * 20)
    assert ranks_of_oom(f"{mixed}{other}node1: {KNOWN}") == [2]
    assert ranks_of_oom(f"{mixed}{other}node2: {KNOWN}") == [None]
    assert ranks_of_oom(f"{mixed}{other * 20}node1: {KNOWN}") == [None]
