"""Writes numbered lines to a log and rotates it, as a process of its own: `python writer.py PATH LINES HOW`.

What is not read when a file is cut is lost to everybody: before each cut it waits for a byte on its standard input.
"""

from __future__ import annotations

import os
import random
import sys
import time


def main(path: str, lines: int, how: str) -> None:
    chance = random.Random(how)
    file = open(path, "ab", buffering=0)  # noqa: SIM115
    for number in range(lines):
        line = b"line %08d of the log\n" % number
        cut = chance.randrange(len(line))
        file.write(line[:cut])
        file.write(line[cut:])
        if number % 20 == 0:
            time.sleep(chance.random() * 0.004)
        if number and number % 400 == 0 and how in ("rename", "fast"):
            for generation in range(30, 0, -1):
                old = f"{path}.{generation}" if generation > 0 else path
                if os.path.exists(old):
                    os.replace(old, f"{path}.{generation + 1}")
            os.replace(path, f"{path}.1")
            if how == "rename":
                time.sleep(0.02)
            file.close()
            file = open(path, "ab", buffering=0)  # noqa: SIM115
        if number and number % 400 == 0 and how == "truncate":
            sys.stdin.buffer.read(1)
            file.truncate(0)
    file.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
