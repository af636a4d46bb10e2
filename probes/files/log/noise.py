"""Tells a process's own last words from what launchers, C++ stacks and dying peers print after them."""

from __future__ import annotations

import re

NOISE = re.compile(
    "|".join(
        (
            r"^\W*$",  # rules and boxes
            r"^\s*frame #\d+",
            r"^\s*#\d+ 0x",
            r"Exception raised from ",
            r"^\s*(?:<omitting|\[0x)",
            r"\[[EWIF][ \d][^\]]*\.(?:cpp|hpp|cc|h):\d+\]",  # c10d's own log: timeouts, stores, exits
            r"terminate called (?:after|without|recursively)|^\s*what\(\):",
            r"Fatal Python error: Aborted|^Thread 0x|^Current thread 0x|^Extension modules: ",
            r"SIGTERM|SIGABRT|[Ss]ending process \d+ closing signal|Signal \d+ \(SIG",
            r"ChildFailedError|Root Cause \(first observed failure\)|^\s*Failures:|^\s*\[\d+\]:$|<NO_OTHER_FAILURES>",
            r"^\s*(?:time|host|rank|exitcode|error_file|traceback) *: |To enable traceback see",
            r"^Last error:|^nccl(?:System|Internal|Remote|UnhandledCuda|InvalidUsage)\w*:",
            r"torch[/.]distributed[/.](?:elastic|run|launch|launcher)",
            r"exits with return code|[Kk]illing subprocess|Main process (?:exited|received)|Terminating process",
            r"[Bb]roken pipe|[Cc]onnection reset by peer|recvValue failed|TCPStore",
            r"Connection closed by remote peer|Socket recv failed",
            r"destroy_process_group|process group has NOT been destroyed",
            r"resource_tracker: |There appear to be \d+ leaked|warnings\.warn\(",
            r"^(?:srun|slurmstepd|salloc|sbatch|mpirun|mpiexec|prterun)\b",
            r"NCCL INFO \S+\.(?:cc|h|cu):\d+ -> \d+|Abort COMPLETE|Destroy COMPLETE",
            r"\[Proxy Service|NCCL WARN \[Service thread\]",
            r"^(?:wandb|swanlab): |^Aborted\b|^Terminated\b|^Killed$|core dumped|^\+ |^\^C",
            r"Primary job +terminated|MPI_ABORT was invoked|mpirun (?:noticed|detected)|non-zero exit code",
        )
    )
)


def is_noise(body: str) -> bool:
    """True for a line that says nothing of what its process was doing."""
    return NOISE.search(body[:300]) is not None
