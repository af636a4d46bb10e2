"""A host whose files are those of a folder: sysfs and proc as a test writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from doctor.facts.model import Fact, Quality
from probes.node.interface.host import Host
from probes.node.interface.model import Given, Place, Text


def host_of(root: Path, files: Mapping[str, str], environ: Mapping[str, str] | None = None) -> Host:
    for name, text in files.items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Host("n1", root, environ or {})


def known(given: Iterable[Given]) -> dict[tuple[str, str], object]:
    """The facts that were found, by name and entity."""
    return {
        (item.name, item.entity): item.value
        for item in given
        if isinstance(item, Fact) and item.quality is Quality.MEASURED
    }


def gaps(given: Iterable[Given]) -> dict[str, str]:
    """Why facts could not be read, by name."""
    return {item.name: str(item.value) for item in given if isinstance(item, Fact) and item.quality is Quality.FAILED}


def texts(given: Iterable[Given]) -> list[Text]:
    return [item for item in given if isinstance(item, Text)]


def places(given: Iterable[Given]) -> list[str]:
    return [item.path for item in given if isinstance(item, Place)]
