"""Tracebacks are joined into one event, with or without labels, mixed, chained or cut off."""

from __future__ import annotations

import json
import time

import pytest

from doctor.facts.model import Event
from probes.files.log import read_text
from tests.probes.files.log.specs import ALL
from tests.probes.files.log.support import events, labelled

FRAMES = (
    '  File "/work/train.py", line 88, in step\n    loss.backward()\n    ^^^^^^^^^^^^^^^\n'
    '  File "/lib/tensor.py", line 5, in backward\n    run()\n'
)
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB."
PLAIN = f"Traceback (most recent call last):\n{FRAMES}{OOM}\n"


def tracebacks(text: str) -> list[Event]:
    return [event for event in events(text) if event.name == "python.traceback"]


def test_a_plain_one() -> None:
    (event,) = tracebacks("before\n" + PLAIN + "after\n")
    assert event.fields["exception"] == "torch.OutOfMemoryError"
    assert event.fields["message"] == OOM.partition(": ")[2] + "\nafter"
    assert event.fields["frames"] == "/work/train.py:step: loss.backward()\n/lib/tensor.py:backward: run()"
    assert event.fields["last_frame"] == "/lib/tensor.py:backward: run()"
    assert event.source.line == 8
    assert [source.line for source in event.context] == [2, 3, 4, 6, 7]


def test_events_of_its_last_line_carry_it() -> None:
    oom = events(PLAIN)[0]
    assert oom.name == "oom"
    assert str(oom.fields["traceback"]).startswith("/work/train.py:step: loss.backward()")
    assert oom.context[0].text.startswith("Traceback")


def test_an_event_elsewhere_does_not() -> None:
    assert "traceback" not in events(f"{OOM}\n\n{PLAIN}")[0].fields


def test_ranks_are_told_apart_by_their_labels() -> None:
    one, two = (
        labelled("[rank0]: ", PLAIN).splitlines(),
        labelled("[rank7]: ", PLAIN.replace("2.50", "7.00")).splitlines(),
    )
    mixed = "\n".join(line for pair in zip(one, two, strict=True) for line in pair)
    found = tracebacks(mixed)
    assert [(event.rank, "7.00" in str(event.fields["message"])) for event in found] == [(0, False), (7, True)]
    assert all(str(event.fields["frames"]).count("\n") == 1 for event in found)


def test_other_labels() -> None:
    for label in (
        "(Worker pid=7, ip=10.0.0.3) ",
        "[1,3]<stderr>:",
        "[default2]:",
        "ERROR 09-05 15:22:21 [core.py:710] ",
    ):
        (event,) = tracebacks(labelled(label, PLAIN))
        assert event.fields["last_frame"] == "/lib/tensor.py:backward: run()", label


def test_srun_labels() -> None:
    lines = [f"{rank}: {line}" for line in PLAIN.splitlines() for rank in (0, 1)]
    assert [event.rank for event in tracebacks("\n".join(lines))] == [0, 1]


def test_equal_ones_without_labels_line_by_line() -> None:
    doubled = "".join(line * 2 for line in PLAIN.splitlines(keepends=True))
    found = tracebacks(doubled)
    assert [event.fields["exception"] for event in found] == ["torch.OutOfMemoryError"] * 2


def test_a_chain_keeps_its_first_exception() -> None:
    text = (
        f"{PLAIN}\nDuring handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        '  File "/app/main.py", line 3, in main\n    clean()\nValueError: second\n'
    )
    (event,) = tracebacks(text)
    assert event.fields["exception"] == "ValueError"
    assert event.fields["cause_exception"] == "torch.OutOfMemoryError"
    assert "2.50 GiB" in str(event.fields["cause_message"])
    assert "main.py" in str(event.fields["frames"]) and "train.py" in str(event.fields["cause_frames"])


def test_one_that_is_cut_off() -> None:
    (event,) = tracebacks("Traceback (most recent call last):\n" + FRAMES)
    assert event.fields["exception"] == ""
    assert event.fields["last_frame"] == "/lib/tensor.py:backward: run()"


def test_one_whose_header_is_missing() -> None:
    (event,) = tracebacks(labelled("[rank1]: ", FRAMES + OOM))
    assert (event.rank, event.fields["exception"]) == (1, "torch.OutOfMemoryError")


def test_two_in_a_row() -> None:
    assert len(tracebacks(PLAIN + PLAIN)) == 2


def test_a_message_of_several_lines() -> None:
    text = PLAIN.replace(
        OOM,
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1333\n"
        "ncclInternalError: Internal check failed.\nLast error:\nsocket closed",
    )
    (event,) = tracebacks(text + "frame #0: c10::Error\n")
    assert str(event.fields["message"]).endswith("Last error:\nsocket closed")


def test_a_boxed_one() -> None:
    text = (
        "╭─────── Traceback (most recent call last) ───────╮\n│ /work/train.py:12 in main                        │\n"
        "│ ❱ 12   step()                                    │\n╰──────────────────────────────────────────────────╯\n"
        "OutOfMemoryError: CUDA out\n"
    )
    (event,) = tracebacks(text)
    assert (event.fields["exception"], event.fields["frames"]) == ("OutOfMemoryError", "/work/train.py:main: step()")


def test_endless_frames_are_bounded() -> None:
    text = "Traceback (most recent call last):\n" + FRAMES * 5000 + OOM
    (event,) = tracebacks(text)
    assert str(event.fields["frames"]).count("\n") == 29
    assert len(event.context) == 12


def test_what_only_reports_another_process_follows() -> None:
    text = PLAIN.replace(OOM, "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")
    assert tracebacks(text)[0].fields["follows"] is True
    assert "follows" not in tracebacks(PLAIN)[0].fields


def test_an_error_file_of_torchrun() -> None:
    info = {"message": {"message": OOM, "extraInfo": {"py_callstack": PLAIN, "timestamp": "1725379015"}}}
    assert [event.fields["exception"] for event in tracebacks(json.dumps(info))] == ["torch.OutOfMemoryError"]
    assert tracebacks('{"message": [1, 2}') == []


def test_thousands_of_one_kind_are_counted_and_another_kind_among_them_is_found() -> None:
    again = "".join(PLAIN.replace("2.50 GiB", f"{n} GiB") for n in range(9000))
    other = PLAIN.replace(OOM, "ValueError: a shard is damaged")
    text = again + other + again + "[rank5]: " + PLAIN.replace("\n", "\n[rank5]: ")
    reading = read_text("job.log", text.encode(), ALL)
    (counted,) = [fact.value for fact in reading.facts if fact.name == "log.count.python.traceback"]
    assert counted == 18_002
    found = [event for event in reading.events if event.name == "python.traceback"]
    assert len(found) < 1000
    (one,) = [event for event in found if event.fields["exception"] == "ValueError"]
    assert one.fields["message"] == "a shard is damaged"
    assert one.source.line == 9000 * 7 + 7
    assert [event.fields["exception"] for event in found if event.rank == 5] == ["torch.OutOfMemoryError"]


def test_what_follows_repeated_ones_is_read() -> None:
    text = PLAIN * 9000 + "[rank1]: done\n" + OOM + "\n"
    reading = read_text("job.log", text.encode(), ALL)
    assert [event.source.line for event in reading.events if event.name == "oom"][-1] == 9000 * 7 + 2


RICH = """\
╭──────────────────── Traceback (most recent call last) ────────────────────╮
│ /work/train.py:8 in main                                                  │
│                                                                           │
│    7 │   try:                                                             │
│ ❱  8 │   │   step(3)                                                      │
│    9 │   except ZeroDivisionError as e:                                   │
│ ╭─ locals ─╮                                                              │
│ │ x = 3    │                                                              │
│ ╰──────────╯                                                              │
│ /opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py:1750 in │
│ _call_impl                                                                │
│ ❱ 1750 │   return forward_call(*args)                                     │
│ in step:5                                                                 │
╰───────────────────────────────────────────────────────────────────────────╯
"""
RICH_FRAMES = [
    "/work/train.py:main: step(3)",
    "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py:_call_impl: return forward_call(*args)",
    "?:step: ",
]
TO_ASCII = str.maketrans("╭╮╰╯─│❱", "++++-|>")


@pytest.mark.parametrize("text", [RICH, RICH.translate(TO_ASCII)])
@pytest.mark.parametrize("label", ["", "[rank3]: "])
def test_one_in_the_box_of_rich(text: str, label: str) -> None:
    (event,) = tracebacks(labelled(label, f"{text}{OOM}\nnext\n") if label else f"{text}{OOM}\n[INFO] next\n")
    assert event.fields["exception"] == "torch.OutOfMemoryError"
    assert str(event.fields["frames"]).split("\n") == RICH_FRAMES


IPYTHON = """\
---------------------------------------------------------------------------
RuntimeError                              Traceback (most recent call last)
Cell In[3], line 2
      1 trainer = Trainer(model)
----> 2 trainer.train()

File ~/venv/lib/python3.11/site-packages/trainer.py:2052, in Trainer.train(self, resume)
   2050     hub(1)
   2051 else:
-> 2052     return inner_training_loop(
   2053         args=args,

Cell In[2], line 7, in Model.forward(self, x)
      7     return self.net(x)

RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)
"""


def test_one_of_a_notebook() -> None:
    (event,) = tracebacks(f"before\n{IPYTHON}\nafter\n")
    assert event.fields["exception"] == "RuntimeError"
    assert event.fields["message"] == "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"
    assert str(event.fields["frames"]).split("\n") == [
        "Cell In[3]:<module>: trainer.train()",
        "~/venv/lib/python3.11/site-packages/trainer.py:Trainer.train: return inner_training_loop(",
        "Cell In[2]:Model.forward: ",
    ]


def test_one_of_an_older_notebook_with_its_cause() -> None:
    text = (
        "KeyError                                  Traceback (most recent call last)\n"
        "/opt/data.py in load(self, name)\n     10     def load(self, name):\n---> 11         return self.all[name]\n\n"
        "KeyError: 'train'\n\nThe above exception was the direct cause of the following exception:\n\n"
        "ValueError                                Traceback (most recent call last)\n"
        "<ipython-input-3-0123456789ab> in <module>\n----> 1 load('train')\n\nValueError: no such split\n"
    )
    (event,) = tracebacks(text)
    assert (event.fields["exception"], event.fields["cause_exception"]) == ("ValueError", "KeyError")
    assert event.fields["frames"] == "<ipython-input-3-0123456789ab>:<module>: load('train')"
    assert event.fields["cause_frames"] == "/opt/data.py:load: return self.all[name]"


def test_tables_and_numbered_lists_are_no_frames() -> None:
    assert tracebacks("| /data/a.py:3 in use |\n----> 2 steps\nCell In[3], line 2\nFile /a/b.py:1, in f\n") == []


BAR = "\r  0%|          | 0/90 [00:00<?, ?it/s]"


@pytest.mark.parametrize("label", ["[rank3]: ", "[default3]:[rank3]: ", ""])
def test_a_bar_that_did_not_end_its_line_stands_before_the_header(label: str) -> None:
    launcher, own = (
        (label.partition(":")[0] + ":", label.partition(":")[2]) if label.startswith("[def") else ("", label)
    )
    first, rest = labelled(label, PLAIN).split("\n", 1)
    (event,) = tracebacks(f"{launcher}{BAR}{own}{first.removeprefix(label)}\n{rest}")
    assert event.fields["exception"] == "torch.OutOfMemoryError"
    assert event.fields["last_frame"] == "/lib/tensor.py:backward: run()"


def test_a_label_that_ends_like_another_one_is_another_rank() -> None:
    steps = "".join(f"{rank}: step {step}\n" for step in range(5) for rank in (0, 10))
    mixed = "".join(f"0: {line}\n10: step {step}\n" for step, line in enumerate(PLAIN.splitlines(), 5))
    (event,) = tracebacks(steps + mixed)
    assert (event.rank, event.fields["exception"]) == (0, "torch.OutOfMemoryError")
    assert event.fields["last_frame"] == "/lib/tensor.py:backward: run()"


LIBRARY = """\
Traceback (most recent call last):
  File "/opt/venv/bin/torchrun", line 8, in <module>
    sys.exit(main())
  File "/work/train.py", line 14, in step
    model(batch)
  File "/opt/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward
    return F.linear(input, self.weight, self.bias)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x65 and 64x64)
"""


def test_the_innermost_frame_outside_of_libraries_is_told_also_where_a_deep_stack_of_a_library_follows() -> None:
    deep = '  File "/usr/lib/python3.11/site-packages/lib/call.py", line 3, in call\n    call()\n' * 40
    first, last = LIBRARY.rsplit("RuntimeError", 1)
    for text in (LIBRARY, labelled("[rank3]: ", LIBRARY), f"{first}{deep}RuntimeError{last}"):
        (event,) = tracebacks(text)
        assert event.fields["own_frame"] == "/work/train.py:14 in step: model(batch)"


def test_code_of_a_library_is_not_taken_for_that_of_the_frame_before() -> None:
    (event,) = tracebacks(LIBRARY.replace("    model(batch)\n", ""))
    assert event.fields["own_frame"] == "/work/train.py:14 in step"


def test_a_traceback_within_libraries_alone_has_no_frame_of_its_own() -> None:
    (event,) = tracebacks(LIBRARY.replace("/work/", "/opt/venv/lib/python3.11/site-packages/trainer/"))
    assert event.fields["own_frame"] == ""


def test_an_exception_without_its_frames() -> None:
    (event,) = tracebacks("loading\n[rank2]: lib.worker.BackendError: the run was not ended\n[rank0] step 3\n")
    assert (event.fields["exception"], event.rank, event.source.line) == ("lib.worker.BackendError", 2, 2)
    assert event.fields["message"] == "the run was not ended"
    assert event.fields["frames"] == ""


@pytest.mark.parametrize(
    "line",
    [
        "WARNING: retrying after requests.exceptions.ConnectionError: reset by peer",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "catching ValueError: is not needed here",
        OOM,
    ],
)
def test_a_name_within_a_remark_or_a_known_message_is_no_exception_by_itself(line: str) -> None:
    assert tracebacks(f"{line}\nstep 1\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "x" * 4000 + " ValueError: bad\n",
        "]: " * 1300 + " ValueError: bad\n",
        "Traceback (most recent call last):\nX" + "Died" * 1000 + ".x\n",
    ],
)
def test_a_long_line_with_the_name_of_an_exception_costs_no_more_than_its_length(text: str) -> None:
    """Each was tried at every place in it: 50 such lines took seconds."""
    begun = time.process_time()
    assert not any(event.fields["exception"] for event in tracebacks(text * 50))
    assert time.process_time() - begun < 0.5


def test_a_frame_in_a_long_line_is_found_behind_what_stands_before_it() -> None:
    (event,) = tracebacks(labelled("01-02 ERROR [worker: " + "x" * 2000 + "] ", FRAMES + OOM))
    assert event.fields["last_frame"] == "/lib/tensor.py:backward: run()"
