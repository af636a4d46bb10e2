"""A pause of a job that runs: what is told of the first of its kind, and that it is over."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.test_attach import PDOCTOR, PLAIN

KEEP = "import sys; open('heard.jsonl', 'a').write(' '.join(sys.stdin.read().split()) + chr(10))"
SECONDS = 120


def told(folder: Path, name: str) -> list[tuple[str, str, str]]:
    """What was announced so far: kind, rule, severity."""
    path = folder / name
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [(line["announced"]["kind"], line["rule"], line["severity"]) for line in lines]


def test_the_first_evaluation_may_be_a_hang_until_a_step_comes(tmp_path: Path) -> None:
    """The time-out is 20 s, of which three quarters pass before a word."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "train.sh").write_text("torchrun --nproc_per_node 4 train.py --ddp_timeout 20\n")
    log = tmp_path / "logs" / "train.log"
    log.write_text("")
    own = ["--jsonl", "said.jsonl", "--on-finding", shlex.join([sys.executable, "-c", KEEP])]
    watching = subprocess.Popen(
        [*PDOCTOR, "logs", *own], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=PLAIN
    )

    def write(text: str) -> None:
        with log.open("a") as file:
            file.write(text)

    assert watching.stderr is not None
    assert "watching" in watching.stderr.readline()
    for step in range(1, 21):
        write(f"step {step} loss 2.31 time 0.2s\n")
        time.sleep(0.1)
    write("***** Running Evaluation *****\n")
    deadline = time.monotonic() + SECONDS
    while not told(tmp_path, "said.jsonl") and time.monotonic() < deadline:
        time.sleep(0.1)
    write("step 21 loss 2.31 time 0.2s\n")
    while len(told(tmp_path, "heard.jsonl")) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    watching.send_signal(signal.SIGINT)
    out, _ = watching.communicate(timeout=SECONDS)
    expected = [("new", "LIV012", "risk"), ("resolved", "LIV012", "risk")]
    assert told(tmp_path, "said.jsonl") == told(tmp_path, "heard.jsonl") == expected
    assert sum("✓ no longer so  LIV012" in line for line in out.splitlines()) == 1
    assert watching.returncode == 0  # nothing is wrong in the end
    assert "healthy" in out
