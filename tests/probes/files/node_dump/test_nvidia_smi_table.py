"""The table of plain nvidia-smi."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

NEW = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   61C    P0            652W /  700W |   71842MiB /  81559MiB |     99%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
|   1  NVIDIA H100 80GB HBM3          On  |   00000000:43:00.0 Off |                    2 |
| N/A   35C    P0            112W /  700W |     560MiB /  81559MiB |      0%   E. Process |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A     41225      C   /usr/bin/python3                            70010MiB |
|    0   N/A  N/A     41226      C   /usr/bin/python3                              538MiB |
|    1   N/A  N/A     41226      C   /usr/bin/python3                              550MiB |
+-----------------------------------------------------------------------------------------+
"""

OLD = """\
| NVIDIA-SMI 418.87.00    Driver Version: 418.87.00    CUDA Version: 10.1     |
|   0  Tesla V100-SXM2...  On   | 00000000:00:1B.0 Off |                    0 |
| N/A   42C    P0    52W / 300W |  15110MiB / 16130MiB |     35%      Default |
|    0     12345      C   python                                     15100MiB |
"""


def test_each_gpu_of_the_new_layout() -> None:
    found = facts(NEW)
    assert found["node:?", "node.driver_version"] == "550.54.15"
    assert found["node:?", "node.cuda_driver"] == "12.4"
    assert found["node:?", "node.gpu_count"] == 2
    assert found["gpu:?/0", "gpu.name"] == "NVIDIA H100 80GB HBM3"
    assert found["gpu:?/0", "gpu.memory_used"] == 71842 << 20
    assert found["gpu:?/0", "gpu.memory_total"] == 81559 << 20
    assert found["gpu:?/0", "gpu.utilization"] == 0.99
    assert found["gpu:?/0", "gpu.power"] == 652
    assert found["gpu:?/0", "gpu.mig"] is False
    assert found["gpu:?/1", "gpu.mig"] is True
    assert found["gpu:?/1", "gpu.ecc_uncorrectable"] == 2
    assert found["gpu:?/1", "gpu.compute_mode"] == "E. Process"


def test_processes_belong_to_their_gpu() -> None:
    found = facts(NEW)
    assert found["gpu:?/0", "gpu.process_pids"] == (41225, 41226)
    assert found["gpu:?/1", "gpu.process_pids"] == (41226,)


def test_the_old_layout() -> None:
    found = facts(OLD)
    assert found["gpu:?/0", "gpu.name"] == "Tesla V100-SXM2"
    assert found["gpu:?/0", "gpu.memory_used"] == 15110 << 20
    assert found["gpu:?/0", "gpu.process_pids"] == (12345,)


def test_no_process_is_an_empty_list() -> None:
    text = (
        NEW.split("|    0   N/A")[0] + "|  No running processes found                                              |\n"
    )
    assert facts(text)["gpu:?/1", "gpu.process_pids"] == ()


def test_without_a_process_table_nothing_is_said_of_processes() -> None:
    assert ("gpu:?/0", "gpu.process_pids") not in facts(NEW.split("| Processes:")[0])


def test_a_gpu_that_does_not_answer() -> None:
    text = NEW.replace(
        "| N/A   35C    P0            112W /  700W |     560MiB /  81559MiB |      0%   E. Process |",
        "| ERR!  ERR!  ERR!          ERR! / ERR!   |     560MiB /  81559MiB |     ERR!      ERR!    |",
    )
    found = facts(text)
    assert found["gpu:?/1", "gpu.unreadable"] == "ERR!"
    assert ("gpu:?/0", "gpu.unreadable") not in found


def test_messages_instead_of_a_table() -> None:
    assert node("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n") == {
        "node.nvml_error": "Failed to initialize NVML: Driver/library version mismatch",
        "node.nvml_version": "535.161",
    }
    lost = "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover it"
    assert facts(lost)["gpu:?/0000:3b:00.0", "gpu.unreadable"] == lost


def test_of_several_printings_the_busiest_counts() -> None:
    idle = NEW.replace("71842MiB", "    4MiB").replace("652W", " 60W")
    assert facts(idle + NEW + idle)["gpu:?/0", "gpu.memory_used"] == 71842 << 20


def test_another_table_with_bars_is_none() -> None:
    assert kinds("| GPU | Memory |\n|-----|--------|\n| 0 | 80GB |\n| 1 | 80GB |\n") == ()


def test_a_log_that_speaks_of_nvidia_smi_is_none() -> None:
    assert kinds("INFO: run NVIDIA-SMI to see GPU Memory\nloss 1.0\n") == ()


def test_damage() -> None:
    survives(NEW)
    survives(OLD)
