"""Variables of a job in the script that starts it."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.adapters.launch_script import is_launch_script, quoted, set_variables

DEBUG = "NCCL_DEBUG"


def changed(text: str, value: str | None = "INFO", name: str = DEBUG) -> str:
    return set_variables("run.sh", text, {name: value}).text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#!/bin/bash\n#SBATCH -N 2\ntorchrun a.py -x\n", "#!/bin/bash\n#SBATCH -N 2\nexport NCCL_DEBUG=INFO\ntorchrun a.py -x\n"),
        ("export A=1\nexport B=2 # b\n\nsrun python a.py\n", "export A=1\nexport B=2 # b\nexport NCCL_DEBUG=INFO\n\nsrun python a.py\n"),
        ("export NCCL_DEBUG=WARN # why\npython a.py\n", "export NCCL_DEBUG=INFO # why\npython a.py\n"),
        ('export NCCL_DEBUG="WARN"\r\npython a.py\r\n', 'export NCCL_DEBUG="INFO"\r\npython a.py\r\n'),
        ("NCCL_DEBUG=WARN torchrun a.py\n", "NCCL_DEBUG=INFO torchrun a.py\n"),
        ("NCCL_DEBUG=WARN\npython a.py\n", "export NCCL_DEBUG=INFO\npython a.py\n"),
        ("A=1 \\\n  B=2 \\\n  torchrun a.py\n", "export NCCL_DEBUG=INFO\nA=1 \\\n  B=2 \\\n  torchrun a.py\n"),
        ("if a; then\n  export A=1\n  torchrun a.py\nelse\n  torchrun b.py\nfi\n", "export NCCL_DEBUG=INFO\nif a; then\n  export A=1\n  torchrun a.py\nelse\n  torchrun b.py\nfi\n"),
        ("case $1 in\na)\n  python a.py;;\nesac\n", "export NCCL_DEBUG=INFO\ncase $1 in\na)\n  python a.py;;\nesac\n"),
        ("python a.py", "export NCCL_DEBUG=INFO\npython a.py"),
    ],
)  # fmt: skip
def test_a_variable_is_set_where_it_stands_or_before_the_job_starts(before: str, after: str) -> None:
    assert changed(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("export A=1\nexport NCCL_DEBUG=WARN\npython a.py\n", "export A=1\nunset NCCL_DEBUG\npython a.py\n"),
        ("NCCL_DEBUG=WARN torchrun a.py\n", "unset NCCL_DEBUG\ntorchrun a.py\n"),
        ("python a.py\n", "unset NCCL_DEBUG\npython a.py\n"),
        ("unset NCCL_DEBUG\npython a.py\n", "unset NCCL_DEBUG\npython a.py\n"),
    ],
)
def test_a_variable_is_taken_away_whoever_set_it(before: str, after: str) -> None:
    assert changed(before, None) == after


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("srun --export=ALL,NCCL_DEBUG=WARN python a.py\n", "--export"),
        ("#SBATCH --export=NONE\nsrun python a.py\n", "--export on line 1"),
        ("docker run -e A=1 image torchrun a.py\n", "docker"),
        ("mpirun -np 8 python a.py\n", "mpirun"),
        ("ssh node1 torchrun a.py\n", "ssh"),
        ("cat > j.sh <<EOF\npython a.py\nEOF\nsbatch j.sh\n", "no command that starts"),
        ("export NCCL_DEBUG=$NCCL_DEBUG,x\npython a.py\n", "adds to its value"),
        ("unset NCCL_DEBUG\npython a.py\n", "unsets it"),
        ("echo 'a\nb'\n  python a.py 'x\ny'\n", "no place"),
        ("python a.py 'open\n", "not closed"),
    ],
)
def test_where_the_ranks_would_not_get_it_a_person_is_asked(text: str, why: str) -> None:
    result = set_variables("run.sh", text, {DEBUG: "INFO", "A_B": "1"})
    assert result.text == text
    assert any(why in note.en for note in result.left)


def test_mpirun_that_names_the_variable_hands_it_on() -> None:
    assert changed("export NCCL_DEBUG=WARN\nmpirun -x NCCL_DEBUG python a.py\n").startswith("export NCCL_DEBUG=INFO\n")


def test_settings_of_the_allocator_are_added_to_those_that_are_there() -> None:
    text = "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128\npython a.py\n"
    after = changed(text, "expandable_segments:True", "PYTORCH_CUDA_ALLOC_CONF")
    assert "=max_split_size_mb:128,expandable_segments:True\n" in after
    newer = changed(text.replace("_CUDA", ""), "expandable_segments:True", "PYTORCH_CUDA_ALLOC_CONF")
    assert "export PYTORCH_ALLOC_CONF=max_split_size_mb:128,expandable_segments:True\n" in newer


def test_a_value_stays_one_word_and_its_variables_are_put_in() -> None:
    assert quoted("/opt/lib:$LD_LIBRARY_PATH") == '"/opt/lib:$LD_LIBRARY_PATH"'
    assert quoted("a b; $(c)") == "'a b; $(c)'"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.yaml", "python a.py"),
        ("a.py", "python a.py"),
        ("a.sh", "#!/bin/csh\npython a.py"),
        ("a.sh", "ls -l"),
        ("a", "{}"),
    ],
)
def test_other_files_are_no_launch_scripts(path: str, text: str) -> None:
    assert not is_launch_script(path, text)


PIECES = st.sampled_from(
    ["#!/bin/bash", "# a comment 'open", "set -euo pipefail", "export A=1", 'export B="x y" # b', "NCCL_DEBUG=WARN", "",
     "export NCCL_DEBUG=TRACE", "if [ -n \"$X\" ]; then\n  export C=3\nfi", "for i in 1 2; do\n  echo $i\ndone",
     "ARGS=(\n  --lr 1 # slow\n  --x 'a b'\n)", "f() {\n  python b.py --y\n}", "cat <<EOF\nexport NCCL_DEBUG=no\nEOF",
     "case $1 in\nx)\n  python c.py --z;;\nesac", "mkdir -p logs"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(
    st.lists(PIECES, max_size=8),
    st.sampled_from(["INFO", "a b", "it's", "x$HOME", None]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_any_script_keeps_its_lines_and_takes_a_change_once(pieces: list[str], value: str | None, newline: str) -> None:
    text = newline.join([*pieces, "torchrun a.py \\\n  --x 1", ""]).replace("\r\n", "\n").replace("\n", newline)
    result = set_variables("run.sh", text, {DEBUG: value})
    if result.left:
        assert result.text == text
        return
    assert set_variables("run.sh", result.text, {DEBUG: value}).text == result.text
    ours = f"{DEBUG}"
    kept = [line for line in text.split("\n") if ours not in line]
    assert [line for line in result.text.split("\n") if ours not in line] == kept
    if newline == "\n" and (bash := shutil.which("bash")):
        assert subprocess.run([bash, "-n"], input=result.text.encode(), check=False).returncode == 0
        shown = result.text.replace("torchrun a.py", f'printf %s "${{{DEBUG}-unset}}"; :')
        script = "function python { :; }; set --\n" + shown.replace("set -euo pipefail", "")
        out = subprocess.run(
            [bash, "-c", script], capture_output=True, env={"HOME": "/h"}, check=False, text=True
        ).stdout
        assert out.endswith("unset" if value is None else "x/h" if value == "x$HOME" else value)
