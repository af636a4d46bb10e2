"""What amd-smi prints of MI300X cards, in the shape of its source (amdsmi_cli/amdsmi_commands.py), as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def measure(value: object, unit: str) -> dict[str, object]:
    return {"value": value, "unit": unit}


def metric(gpus: int = 2, changed: Mapping[int, Mapping[str, Any]] | None = None, wrapped: bool = True) -> str:
    """`amd-smi metric --json`: idle, healthy cards, but for whole parts that are changed."""
    entries = []
    for gpu in range(gpus):
        entry: dict[str, Any] = {
            "gpu": gpu,
            "usage": {"gfx_activity": measure(0, "%"), "umc_activity": measure(0, "%"), "mm_activity": "N/A"},
            "power": {"socket_power": measure(141, "W"), "gfx_voltage": "N/A", "throttle_status": "N/A"},
            "clock": {"gfx_0": {"clk": measure(132, "MHz"), "max_clk": measure(2100, "MHz"), "deep_sleep": "ENABLED"}},
            "temperature": {"edge": "N/A", "hotspot": measure(43, "C"), "mem": measure(35, "C")},
            "pcie": {"width": 16, "speed": measure(32, "GT/s"), "bandwidth": measure(31, "Mb/s"), "replay_count": 0},
            "ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 0, "total_deferred_count": 0},
            "ecc_blocks": {"UMC": {"correctable_count": 0, "uncorrectable_count": 0, "deferred_count": 0}},
            "xgmi_err": "AMDSMI_XGMI_STATUS_NO_ERRORS",
            "mem_usage": {"total_vram": measure(196592, "MB"), "used_vram": measure(283, "MB")},
            "throttle": {f"{name}_violation_status": "NOT ACTIVE" for name in ("prochot", "ppt", "socket_thermal")},
        }
        entries.append(entry | dict((changed or {}).get(gpu, {})))
    return json.dumps({"gpu_data": entries} if wrapped else entries, indent=4)


def static(gpus: int = 2) -> str:
    parts = {"bdf": "0000:{}5:00.0", "max_pcie_width": 16, "max_pcie_speed": measure(32, "GT/s")}
    entries = [
        {
            "gpu": gpu,
            "asic": {"market_name": "AMD Instinct MI300X", "vendor_id": "0x1002"},
            "bus": parts | {"bdf": f"0000:{gpu}5:00.0"},
            "limit": {"max_power": measure(750, "W"), "socket_power": measure(750, "W")},
            "driver": {"name": "amdgpu", "version": "6.10.5"},
        }
        for gpu in range(gpus)
    ]
    return json.dumps({"gpu_data": entries}, indent=4)


def topology(gpus: int = 2, kind: str = "XGMI", status: str = "ENABLED") -> str:
    def link(a: int, b: int) -> dict[str, object]:
        return {"gpu": b, "bdf": f"0000:{b}5:00.0", "link_status": status, "link_type": "SELF" if a == b else kind}

    return json.dumps(
        [{"gpu": a, "bdf": "x", "links": [link(a, b) for b in range(gpus)]} for a in range(gpus)], indent=4
    )


TEXT = """GPU: 0
    USAGE:
        GFX_ACTIVITY: 97 %
        UMC_ACTIVITY: 12 %
    POWER:
        SOCKET_POWER: 702 W
        THROTTLE_STATUS: UNTHROTTLED
    CLOCK:
        GFX_0:
            CLK: 2068 MHz
            MAX_CLK: 2100 MHz
    TEMPERATURE:
        EDGE: N/A
        HOTSPOT: 91 °C
    PCIE:
        WIDTH: 8
        REPLAY_COUNT: 3
    ECC:
        TOTAL_CORRECTABLE_COUNT: 4
        TOTAL_UNCORRECTABLE_COUNT: 1
    XGMI_ERR: N/A
    MEM_USAGE:
        TOTAL_VRAM: 196592 MB
        USED_VRAM: 190000 MB

GPU: 1
    ECC:
        TOTAL_CORRECTABLE_COUNT: N/A
        TOTAL_UNCORRECTABLE_COUNT: N/A
"""
"""`amd-smi metric` without --json."""
