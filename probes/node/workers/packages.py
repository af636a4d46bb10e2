"""Prints what is installed beside this interpreter; imports none of it, so that no GPU is touched."""

from __future__ import annotations

import json
import platform
import re
import sys
from importlib import metadata, util
from pathlib import Path


def packages() -> dict[str, str]:
    """Name and version of every distribution; of two the one that would be imported, which comes first."""
    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(name, distribution.version)
    return found


def cuda_of_torch() -> str | None:
    """The CUDA version torch was built with, from its version file; None where there is no torch or no CUDA."""
    spec = util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(next(iter(spec.submodule_search_locations))) / "version.py"
    match = re.search(r"^cuda(?:: [^=]+)? = '([\d.]+)'", path.read_text(errors="replace"), re.MULTILINE)
    return match[1] if match else None


if __name__ == "__main__":
    try:
        cuda = cuda_of_torch()
    except OSError:
        cuda = None
    python = {"executable": sys.executable, "python": platform.python_version()}
    json.dump({**python, "packages": packages(), "cuda": cuda}, sys.stdout)
