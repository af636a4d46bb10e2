"""Reads one trace and prints where its time went: the process that `bench.trace` measures."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from probes.files.trace import summary_of


def main(path: Path) -> None:
    summary = summary_of(path, path.name, None)
    told = {
        "events": summary.events,
        "columns": summary.columns,
        "devices": [(device.index, device.whole) for device in summary.devices],
        "kernels": [device.kernels for device in summary.devices],
    }
    sys.stdout.write(msgspec.json.encode(told).decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
