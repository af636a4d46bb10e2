"""What the README shows is what the program prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_report_in_the_readme_is_that_of_the_sample() -> None:
    sample = re.search(r"^ARGS \?= analyze (\S+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert sample
    done = subprocess.run(
        [sys.executable, "-m", "doctor", "analyze", sample[1]],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    shown = (
        (ROOT / "README.md")
        .read_text(encoding="utf-8")
        .split("<!-- output of `make run` -->\n```\n")[1]
        .split("\n```")[0]
    )
    assert shown == done.stdout.rstrip("\n")
