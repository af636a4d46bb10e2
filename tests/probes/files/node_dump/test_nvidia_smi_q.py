"""The listing of nvidia-smi -q."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, survives

FULL = """\
==============NVSMI LOG==============

Timestamp                                 : Tue Jan  6 10:11:12 2026
Driver Version                            : 535.129.03
CUDA Version                              : 12.2

Attached GPUs                             : 2
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    Persistence Mode                      : Enabled
    MIG Mode
        Current                           : Disabled
        Pending                           : Disabled
    GSP Firmware Version                  : 535.129.03
    PCI
        GPU Link Info
            PCIe Generation
                Max                       : 4
                Current                   : 4
                Device Current            : 4
            Link Width
                Max                       : 16x
                Current                   : 8x
        Replays Since Reset               : 7
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
            HW Power Brake Slowdown       : Not Active
        SW Thermal Slowdown               : Not Active
    Clocks Event Reasons Counters
        SW Power Capping                  : 1234 us
    FB Memory Usage
        Total                             : 81920 MiB
        Reserved                          : 600 MiB
        Used                              : 70000 MiB
        Free                              : 11320 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
    Utilization
        Gpu                               : 98 %
        Memory                            : 40 %
    ECC Mode
        Current                           : Enabled
    ECC Errors
        Volatile
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 1
            DRAM Correctable              : 4
            DRAM Uncorrectable            : 2
        Aggregate
            SRAM Correctable              : 0
            SRAM Uncorrectable            : 1
            DRAM Correctable              : 9
            DRAM Uncorrectable            : 30
    Remapped Rows
        Correctable Error                 : 1
        Uncorrectable Error               : 5
        Pending                           : Yes
        Remapping Failure Occurred        : No
    Temperature
        GPU Current Temp                  : 84 C
        GPU Slowdown Temp                 : 92 C
    GPU Power Readings
        Power Draw                        : 398.10 W
        Current Power Limit               : 400.00 W
    Clocks
        Graphics                          : 900 MHz
        SM                                : 900 MHz
    Max Clocks
        SM                                : 1410 MHz
    Fabric
        State                             : In Progress
        Status                            : N/A
GPU 00000000:43:00.0
    Product Name                          : NVIDIA A100-SXM4-80GB
    Fabric
        State                             : Completed
        Status                            : Success
"""

OLD_ECC = """\
GPU 00000000:04:00.0
    Ecc Mode
        Current                           : Enabled
    ECC Errors
        Volatile
            Single Bit
                Device Memory             : 3
                Total                     : 3
            Double Bit
                Device Memory             : 2
                Total                     : 2
    Retired Pages
        Double Bit ECC
            Retired Page Count            : 5
        Pending Page Blacklist            : Yes
"""


def test_a_whole_listing_counts_its_gpus() -> None:
    found = facts(FULL)
    assert found["node:?", "node.driver_version"] == "535.129.03"
    assert found["node:?", "node.gpu_count"] == 2
    assert found["gpu:?/0", "gpu.name"] == "NVIDIA A100-SXM4-80GB"
    assert found["gpu:?/0", "gpu.bus_id"] == "00000000:1b:00.0"
    assert found["gpu:?/0", "gpu.memory_used"] == 70000 << 20
    assert found["gpu:?/0", "gpu.utilization"] == 0.98
    assert found["gpu:?/0", "gpu.sm_clock"] == 900e6
    assert found["gpu:?/0", "gpu.sm_clock_max"] == 1410e6
    assert found["gpu:?/0", "gpu.power_limit"] == 400


def test_errors_are_sums_over_memories() -> None:
    found = facts(FULL)
    assert found["gpu:?/0", "gpu.ecc_uncorrectable"] == 3
    assert found["gpu:?/0", "gpu.ecc_correctable"] == 4
    assert found["gpu:?/0", "gpu.ecc_uncorrectable_aggregate"] == 31
    assert found["gpu:?/0", "gpu.remap_pending"] is True
    assert found["gpu:?/0", "gpu.remap_failed"] is False
    assert found["gpu:?/0", "gpu.remap_uncorrectable"] == 5


def test_what_slows_the_clocks() -> None:
    assert facts(FULL)["gpu:?/0", "gpu.throttle_reasons"] == ("sw_power_cap", "hw_slowdown", "hw_thermal_slowdown")


def test_a_narrow_link() -> None:
    found = facts(FULL)
    assert (found["gpu:?/0", "gpu.pcie_width"], found["gpu:?/0", "gpu.pcie_width_max"]) == (8, 16)
    assert found["gpu:?/0", "gpu.pcie_gen"] == 4


def test_the_fabric_of_each_gpu() -> None:
    found = facts(FULL)
    assert found["gpu:?/0", "gpu.fabric_state"] == "In Progress"
    assert ("gpu:?/0", "gpu.fabric_status") not in found
    assert found["gpu:?/1", "gpu.fabric_status"] == "Success"


def test_what_grep_leaves_of_the_fabric() -> None:
    text = "    Fabric\n        State    : Completed\n        Status   : Success\n" * 2
    found = facts("$ nvidia-smi -q | grep -i -A 2 Fabric\n" + text.replace("Completed", "In Progress", 1))
    assert found["gpu:?/0", "gpu.fabric_state"] == "In Progress"
    assert found["gpu:?/1", "gpu.fabric_state"] == "Completed"


def test_a_note_of_the_fabric() -> None:
    assert facts("Fabric State : In Progress\n") == {("gpu:?/0", "gpu.fabric_state"): "In Progress"}


def test_a_fragment_of_one_gpu_goes_by_its_address() -> None:
    found = facts(OLD_ECC)
    assert found["gpu:?/00000000:04:00.0", "gpu.ecc_uncorrectable"] == 2
    assert found["gpu:?/00000000:04:00.0", "gpu.ecc_correctable"] == 3
    assert found["gpu:?/00000000:04:00.0", "gpu.retired_pages"] == 5
    assert found["gpu:?/00000000:04:00.0", "gpu.retired_pending"] is True


def test_indentation_lost_on_the_way() -> None:
    found = facts("\n".join(line.strip() for line in FULL.splitlines()))
    assert found["gpu:?/0", "gpu.remap_pending"] is True
    assert found["gpu:?/0", "gpu.fabric_state"] == "In Progress"


def test_other_pairs_with_colons_are_none() -> None:
    assert kinds("Name : x\nState : Completed\nStatus : Success\nFabric : wool\n") == ()


def test_damage() -> None:
    survives(FULL)
    survives(OLD_ECC)
