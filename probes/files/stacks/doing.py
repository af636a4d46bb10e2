"""What a thread is doing, told by the frames it stands in."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from probes.files.stacks.model import Frame


class Doing(StrEnum):
    """The first four wait for other ranks, the rest do not."""

    COLLECTIVE = "collective"
    RENDEZVOUS = "rendezvous"
    BACKWARD = "backward"
    DEVICE = "device"
    DATA = "data"
    SAVE = "save"
    LOAD = "load"
    EXCEPTION = "exception"
    GC = "gc"
    BUILD = "build"
    START = "start"
    LOCK = "lock"
    CODE = "code"


WAITING = frozenset({Doing.COLLECTIVE, Doing.RENDEZVOUS, Doing.BACKWARD, Doing.DEVICE})


P2P = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv", "send_object_list", "recv_object_list"})
"""Ranks of a pipeline stand in different ones of these by design."""


def _in(*files: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|/)(?:{'|'.join(files)})")


def _called(*names: str) -> re.Pattern[str]:
    return re.compile("|".join(names))


_C10D = _in(r"torch/distributed/(?:distributed_c10d|_functional_collectives|nn/functional)\.py$")
_LOGGER = _in(r"torch/distributed/c10d_logger\.py$")
_MEETING = _called(
    "init_process_group", "new_group", "new_subgroups", "split_group", "_new_process_group", "_store_based_barrier"
)

_FILES: tuple[tuple[Doing, re.Pattern[str]], ...] = (
    (
        Doing.RENDEZVOUS,
        _in(r"torch/distributed/rendezvous\.py", "torch/distributed/elastic/(?:rendezvous|utils/store)"),
    ),
    (Doing.DATA, _in("torch/utils/data/", "torchdata/", "datasets/", "webdataset/", "streaming/base/", "nvidia/dali/")),
    (Doing.SAVE, _in("torch/distributed/checkpoint/(?:state_dict_saver|filesystem|_async)")),
    (Doing.LOAD, _in("torch/distributed/checkpoint/state_dict_loader")),
    (Doing.BACKWARD, _in(r"torch/autograd/(?:graph|__init__)\.py$")),
    (Doing.BUILD, _in("torch/_(?:inductor|dynamo)/", r"torch/utils/cpp_extension\.py", "triton/(?:compiler|runtime)/")),
    (Doing.EXCEPTION, _in(r"traceback\.py$")),
    (Doing.START, re.compile(r"importlib\._bootstrap|(?:^|/)importlib/")),
    (Doing.LOCK, _in(r"(?:threading|queue|filelock/\w+|multiprocessing/synchronize|concurrent/futures/\w+)\.py$")),
)
"""Files in which a thread stands when it does that, by the trees of PyTorch, its companions and Python."""

_SERIALIZATION = _in(r"torch/serialization\.py$")
_CALLS: tuple[tuple[Doing, re.Pattern[str], re.Pattern[str]], ...] = (
    (Doing.DEVICE, _called("synchronize", "wait_event", "wait_stream"), _in("torch/(?:cuda|xpu|npu|accelerator)/")),
    (Doing.SAVE, _called("_?(?:legacy_)?save"), _SERIALIZATION),
    (Doing.LOAD, _called("_?(?:legacy_)?load"), _SERIALIZATION),
    (Doing.SAVE, _called("save_file"), _in("safetensors/")),
    (Doing.LOAD, _called("load_file", "safe_open"), _in("safetensors/")),
    (Doing.LOCK, _called("wait"), _in(r"torch/utils/file_baton\.py$")),
)
"""A function within such files."""

_KEPT = r"_(?:\w+_)?(?:checkpoint|ckpt|model|state|pretrained|snapshot)\w*"
_READ = r"_(?:\w+_)?(?:batch|batches|sample|samples|data|dataset|shard)"
_FAILED = r"_(?:\w+_)?(?:exception|error|failure|crash)"
_NAMES: tuple[tuple[Doing, re.Pattern[str]], ...] = (
    (Doing.SAVE, _called(f"_?(?:save|write|dump|export|persist){_KEPT}", "checkpoint_save", "save_ckpt")),
    (Doing.LOAD, _called(f"_?(?:load|restore|resume){_KEPT}", "from_pretrained")),
    (
        Doing.DATA,
        _called(
            *(
                f"_?(?:load|get|next|fetch|read|prepare|make){_READ}",
                "(?:data|batch)_(?:iter|iterator|loader|generator)",
            ),
            *("__getitem__", r"collate\w*", r"tokenize\w*"),
        ),
    ),
    (Doing.EXCEPTION, _called(f"_?(?:handle|on|report|recover_from|log){_FAILED}", "excepthook")),
)
"""What people call the functions of their own that do this."""

_GC = re.compile(r"^_?(?:Py)?_?gc_collect|^gc_collect_(?:main|region|impl)|^PyGC_Collect")
_NATIVE: tuple[tuple[Doing, re.Pattern[str]], ...] = (
    (Doing.COLLECTIVE, re.compile(r"^c10d::Work\w*::(?:wait|synchronize)|^c10d::\w+::(?:Async)?\w*Work::wait|^gloo::")),
    (Doing.RENDEZVOUS, re.compile(r"^c10d::\w*Store\w*::(?:wait|get|doWait)")),
    (Doing.DEVICE, re.compile(r"^(?:cuda|cu|hip)(?:Stream|Device|Event|Ctx)Synchronize")),
    (Doing.LOCK, re.compile(r"^(?:take_gil|PyThread_acquire_lock\w*|PyEval_(?:AcquireThread|RestoreThread))")),
)
"""Functions of libraries, where native frames were taken."""


@dataclass(frozen=True, slots=True)
class Stand:
    """What a thread does, the operation if it is a collective, and the user's frame that it stands in."""

    doing: Doing
    op: str
    frame: Frame


def without_source(frame: Frame) -> bool:
    """Without the source nobody knows whether a line lies in an exception handler."""
    return False


def stand_of(frames: Sequence[Frame], handler: Callable[[Frame], bool] = without_source) -> Stand | None:
    """What the frames, the innermost first, tell; None without frames.

    A collective counts wherever it was called from: a rank in the barrier of a save waits, it does not save.
    `handler` says whether a frame stands in an exception handler.
    """
    if not frames:
        return None
    own = next((frame for frame in frames if not _library(frame)), frames[0])
    if op := _collective(frames):
        return Stand(Doing.RENDEZVOUS if _MEETING.fullmatch(op) else Doing.COLLECTIVE, op, own)
    lowest: Doing | None = None
    for frame in frames:
        doing = _doing(frame)
        if doing is None and frame.path.endswith(".py") and not _library(frame) and handler(frame):
            doing = Doing.EXCEPTION
        if doing is Doing.LOCK:
            lowest = lowest or doing  # who holds a lock, and for what, is told further out
        elif doing is not None:
            return Stand(doing, "", own)
    return Stand(lowest or Doing.CODE, "", own)


def _collective(frames: Sequence[Frame]) -> str:
    """The collective that was called: the outermost of PyTorch's own frames around the wait."""
    found = ""
    for frame in frames:
        if _C10D.search(frame.file):
            found = frame.name.rpartition(".")[2]
        elif found and not _LOGGER.search(frame.file):
            return found
        elif not found and not frame.native and not _library(frame):
            return ""
    return found


def _doing(frame: Frame) -> Doing | None:
    if frame.native:
        if _GC.search(frame.name):
            return Doing.GC
        return next((doing for doing, pattern in _NATIVE if pattern.search(frame.name)), None)
    for doing, function, file in _CALLS:
        if file.search(frame.file) and function.fullmatch(frame.name.rpartition(".")[2]):
            return doing
    for doing, file in _FILES:
        if file.search(frame.file):
            return doing
    name = frame.name.rpartition(".")[2]
    return None if _library(frame) else next((doing for doing, pattern in _NAMES if pattern.fullmatch(name)), None)


_PACKAGES = (
    *("torch", "torchdata", "deepspeed", "accelerate", "transformers", "lightning", "pytorch_lightning", "datasets"),
    *("numpy", "triton", "safetensors", "importlib", "multiprocessing", "concurrent", "asyncio", "logging"),
)
_MODULES = (
    *("threading", "queue", "selectors", "socket", "subprocess", "traceback", "contextlib", "functools", "runpy"),
    *("pickle", "tempfile", "shutil", "ssl", "time"),
)
_LIBRARY = re.compile(
    rf"(?:^|/)(?:site|dist)-packages/|/python3\.\d+/|^<|^(?:{'|'.join(_PACKAGES)})/|^(?:{'|'.join(_MODULES)})\.py$"
)


def _library(frame: Frame) -> bool:
    """Is the frame of a package or of Python itself, not of the user's program?"""
    return frame.native or bool(_LIBRARY.search(frame.path) or _LIBRARY.search(frame.file))
