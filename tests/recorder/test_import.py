"""The recorder runs in the job's interpreter: nothing but the standard library and torch may be needed there."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import doctor.recorder

FOLDER = Path(doctor.recorder.__file__).parent
MODULES = sorted(FOLDER.glob("*.py"))


def test_it_is_imported_where_nothing_is_installed() -> None:
    """-S leaves out all that was installed; torch is asked for only when something is attached."""
    code = (
        f"import sys; sys.path.insert(0, {str(FOLDER.parents[1])!r})\n"
        "from doctor import recorder\n"
        "recorder.attach(None); recorder.step(); recorder.loss(1.0); recorder.detach()\n"
        "own = {name for name in sys.modules if name.split('.')[0] in ('doctor', 'probes')}\n"
        "assert all(name == 'doctor' or name.startswith('doctor.recorder') for name in own), own\n"
        "others = {name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names - {'doctor', '__main__'}\n"
        "print(sorted(others))\n"
    )
    command = [sys.executable, "-S", "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.stdout == "[]\n", done.stderr
    assert done.stderr.count("pdoctor recorder: off") == 1  # there is no torch, and one line says so


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_it_is_python_of_version_3_10(module: Path) -> None:
    tree = ast.parse(module.read_text(), feature_version=(3, 10))
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert not named & {"StrEnum", "UTC", "Self", "assert_never", "tomllib", "ExceptionGroup", "override"}
