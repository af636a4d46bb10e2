"""dcgmi diag of DCGM 3 and 4, as a table and as JSON."""

from __future__ import annotations

import json

from tests.probes.files.node_dump.dumps import facts, kinds, node, survives

NEW = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 4.2.3                                          |
| Driver Version Detected   | 570.124.06                                     |
|-----  Deployment  --------+------------------------------------------------|
| software                  | Pass                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Pass                                     |
+-----  Hardware  ----------+------------------------------------------------+
| memory                    | Fail                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Fail                                     |
| Warning: GPU1             | GPU 1 had uncorrectable memory errors and row  |
|                           |  remappings are pending.                       |
+-----  Stress  ------------+------------------------------------------------+
| targeted_power            | Skip                                           |
|                           | GPU0: Skip                                     |
+---------------------------+------------------------------------------------+
"""
OLD = """\
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Deployment  --------+------------------------------------------------|
| Denylist                  | Pass                                           |
| Persistence Mode          | Fail                                           |
| Warning                   | Persistence mode for GPU 3 is disabled.        |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Pass - All                                     |
+-----  Integration  -------+------------------------------------------------+
| PCIe                      | Pass - GPUs: 1, 3                              |
|                           | Fail - GPUs: 0, 2                              |
| Warning                   | GPU 0 Thermal violations totaling 13.3 second  |
|                           | s started at 9.7 seconds into the test         |
+---------------------------+------------------------------------------------+
"""


def document(results: list[dict[str, object]]) -> str:
    test = {"name": "pcie", "results": results, "test_summary": {"status": "Fail"}}
    return json.dumps(
        {"DCGM Diagnostic": {"test_categories": [{"category": "Integration", "tests": [test]}]}, "metadata": {}},
        indent=1,
    )


def test_the_gpu_that_failed_is_named_with_the_reason() -> None:
    found = facts(NEW)
    assert found["gpu:?/1", "gpu.dcgm_failed"] == ("memory",)
    assert found["gpu:?/1", "gpu.dcgm_warnings"] == (
        "GPU 1 had uncorrectable memory errors and row remappings are pending.",
    )
    assert found["node:?", "node.dcgm_passed"] == ("software",)
    assert ("gpu:?/0", "gpu.dcgm_failed") not in found


def test_older_tables_name_gpus_behind_the_result_or_in_the_warning() -> None:
    found = facts(OLD)
    assert found["gpu:?/3", "gpu.dcgm_failed"] == ("Persistence Mode",)
    assert found["gpu:?/0", "gpu.dcgm_failed"] == found["gpu:?/2", "gpu.dcgm_failed"] == ("PCIe",)
    assert found["gpu:?/0", "gpu.dcgm_warnings"] == (
        "GPU 0 Thermal violations totaling 13.3 seconds started at 9.7 seconds into the test",
    )
    assert ("gpu:?/1", "gpu.dcgm_failed") not in found
    assert found["node:?", "node.dcgm_passed"] == ("Denylist", "GPU Memory")


def test_an_error_before_the_tests_is_a_failure_of_its_gpu() -> None:
    head = NEW.split("|-----  Metadata")[0]
    text = f"{head}| Error                     | GPU 3 has uncorrectable memory errors and row  |\n"
    text += "|                           |  remappings are pending                        |\n"
    assert facts(text) == {
        ("gpu:?/3", "gpu.dcgm_failed"): ("before the tests",),
        ("gpu:?/3", "gpu.dcgm_warnings"): ("GPU 3 has uncorrectable memory errors and row remappings are pending",),
    }


def test_json_of_both() -> None:
    warning = {"warning": "low bandwidth", "error_id": 28, "error_category": 4, "error_severity": 2}
    new = {"entity_group": "GPU", "entity_group_id": 1, "entity_id": 5, "status": "Fail", "warnings": [warning]}
    old = {"gpu_ids": "5", "status": "Fail", "warnings": [warning]}
    for result in (new, old):
        found = facts(document([result]))
        assert found["gpu:?/5", "gpu.dcgm_failed"] == ("pcie",)
        assert found["gpu:?/5", "gpu.dcgm_warnings"] == ("low bandwidth",)


def test_no_gpu_is_none_and_level_one_of_dcgm_3_has_its_own_name_for_the_text() -> None:
    found = node(document([{"gpu_id": -1, "status": "Fail", "warnings": [{"warnings": "NVML is not there"}]}]))
    assert (found["node.dcgm_failed"], found["node.dcgm_warnings"]) == (("pcie",), ("NVML is not there",))


def test_a_failure_without_a_gpu_is_the_nodes() -> None:
    assert node(document([]))["node.dcgm_failed"] == ("pcie",)


def test_another_table_is_none() -> None:
    assert kinds("| Diagnostic | what we did |\n| memory | swapped |\n") == ()


def test_damage() -> None:
    for text in (NEW, OLD, document([{"gpu_ids": "5", "status": "Fail"}])):
        survives(text)
