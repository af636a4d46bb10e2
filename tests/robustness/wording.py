"""The same message as different versions of a program print it.

Each row holds the forms of one message: a pattern that reads it and a template that writes it. All forms
of a row have the same captures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TypeAlias

Form: TypeAlias = tuple[str, str]
Row: TypeAlias = tuple[Form, ...]

SAME: tuple[Row, ...] = (
    (  # PyTorch 2.1 to 2.4, and 2.5 and later
        (r"\btorch\.cuda\.OutOfMemoryError: (?=CUDA out of memory)", "torch.cuda.OutOfMemoryError: "),
        (r"\btorch\.OutOfMemoryError: (?=CUDA out of memory)", "torch.OutOfMemoryError: "),
    ),
    (  # a spelling error up to 2.2
        (r"has a total capacty of", "has a total capacty of"),
        (r"has a total capacity of", "has a total capacity of"),
    ),
    (
        (r"\bRuntimeError: NCCL error in: ", "RuntimeError: NCCL error in: "),
        (
            r"\btorch\.distributed\.DistBackendError: NCCL error in: ",
            "torch.distributed.DistBackendError: NCCL error in: ",
        ),
    ),
    (  # 2.0, 2.2, 2.4
        (r"\[E ProcessGroupNCCL\.cpp:475\] ", "[E ProcessGroupNCCL.cpp:475] "),
        (r"\[E ProcessGroupNCCL\.cpp:523\] ", "[E ProcessGroupNCCL.cpp:523] "),
        (r"\[E ProcessGroupNCCL\.cpp:828\] ", "[E ProcessGroupNCCL.cpp:828] "),
        (r"\[E ProcessGroupNCCL\.cpp:563\] ", "[E ProcessGroupNCCL.cpp:563] "),
    ),
    (
        (
            r"Some NCCL operations have failed or timed out\. Due to the asynchronous nature of CUDA kernels, "
            r"subsequent GPU operations might run on corrupted/incomplete data\. To avoid this inconsistency, "
            r"we are taking the entire process down\.",
            "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent "
            "GPU operations might run on corrupted/incomplete data. To avoid this inconsistency, we are taking the entire "
            "process down.",
        ),
        (
            r"Some NCCL operations have failed or timed out\. Due to the asynchronous nature of CUDA kernels, "
            r"subsequent GPU operations might run on corrupted/incomplete data\.$",
            "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent "
            "GPU operations might run on corrupted/incomplete data.",
        ),
    ),
    (
        (r"Bootstrap : Using (?P<where>[\w.]+:[\d.]+<\d+>)", "Bootstrap : Using {where}"),
        (r"Bootstrap: Using (?P<where>[\w.]+:[\d.]+<\d+>)", "Bootstrap: Using {where}"),
    ),
    (
        (r"NET/Plugin: No plugin found \(libnccl-net\.so\)", "NET/Plugin: No plugin found (libnccl-net.so)"),
        (
            r"NET/Plugin: Could not find: libnccl-net\.so\. Using internal network plugin\.",
            "NET/Plugin: Could not find: libnccl-net.so. Using internal network plugin.",
        ),
        (
            r"NET/Plugin : No plugin found \(libnccl-net\.so\), using internal implementation",
            "NET/Plugin : No plugin found (libnccl-net.so), using internal implementation",
        ),
    ),
    (
        (
            r"^ERROR:torch\.distributed\.elastic\.multiprocessing\.api:failed \(",
            "ERROR:torch.distributed.elastic.multiprocessing.api:failed (",
        ),
        (
            r"^torch\.distributed\.elastic\.multiprocessing\.api: \[ERROR\] failed \(",
            "torch.distributed.elastic.multiprocessing.api: [ERROR] failed (",
        ),
    ),
    (
        (
            r"The client socket has timed out after (?P<seconds>\d+)s while trying to connect",
            "The client socket has timed out after {seconds}s while trying to connect",
        ),
        (
            r"The client socket has timed out after (?P<seconds>\d+)000ms while trying to connect",
            "The client socket has timed out after {seconds}000ms while trying to connect",
        ),
    ),
    (
        (
            r"via c10d key-value store by key '0', but store->get\('0'\) got error: Socket Timeout",
            "via c10d key-value store by key '0', but store->get('0') got error: Socket Timeout",
        ),
        (
            r"via c10d key-value store by key '0', but store->get\('0'\) got error: Timeout waiting for key: default_pg/0/0",
            "via c10d key-value store by key '0', but store->get('0') got error: Timeout waiting for key: default_pg/0/0",
        ),
    ),
    (
        (
            r"is setting up NCCL communicator and retreiving ncclUniqueId",
            "is setting up NCCL communicator and retreiving ncclUniqueId",
        ),
        (
            r"is setting up NCCL communicator and retrieving ncclUniqueId",
            "is setting up NCCL communicator and retrieving ncclUniqueId",
        ),
    ),
    (
        (r"misc/socket\.cc:\d+ NCCL WARN", "misc/socket.cc:484 NCCL WARN"),
        (r"include/socket\.h:\d+ NCCL WARN", "include/socket.h:403 NCCL WARN"),
    ),
    (
        (
            r"comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d+) nranks (?P<n>\d+) cudaDev (?P<dev>\d+) busId (?P<bus>[0-9a-f]+) - Init COMPLETE",
            "comm {comm} rank {rank} nranks {n} cudaDev {dev} busId {bus} - Init COMPLETE",
        ),
        (
            r"ncclCommInitRank comm (?P<comm>0x[0-9a-f]+) rank (?P<rank>\d+) nranks (?P<n>\d+) cudaDev (?P<dev>\d+) busId (?P<bus>[0-9a-f]+) - Init COMPLETE",
            "ncclCommInitRank comm {comm} rank {rank} nranks {n} cudaDev {dev} busId {bus} - Init COMPLETE",
        ),
    ),
)


def swapped(text: str, chosen: Mapping[Row, int]) -> str:
    """`text` with each known message in the form that `chosen` names by its number."""
    for row in SAME:
        written = row[chosen[row] % len(row)][1]
        for pattern, _ in row:
            text = re.sub(pattern, partial(_as, written), text, flags=re.MULTILINE)
    return text


def _as(written: str, match: re.Match[str]) -> str:
    return written.format(**match.groupdict())
