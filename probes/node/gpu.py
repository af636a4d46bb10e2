"""NVIDIA GPUs by NVML: memory, processes, clocks, temperature, power, ECC, row remapping, PCIe, NVLink, fabric, MIG."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from ctypes import byref
from typing import Any, TypeAlias

from doctor.facts.model import Value
from probes.node.interface.host import Host
from probes.node.interface.model import Given, ProbeSpec, Text, failed, measured
from probes.node.interface.nvml import NoNvmlError, asked, nvml

SPEC = ProbeSpec(
    "gpu",
    "NVIDIA GPUs by NVML: memory, processes, clocks and what limits them, ECC, PCIe, NVLink, fabric, MIG",
    ("gpu.*", "node.gpu_count", "node.driver_version", "node.cuda_driver", "node.nvml_error"),
    seconds=2.5,
)

Reading: TypeAlias = Callable[[Any, Any], Mapping[str, Value | None]]

REASONS = {
    0x1: "idle",
    0x2: "applications_clocks",
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x10: "sync_boost",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake",
    0x100: "display_clocks",
}
"""nvmlClocksEventReason* of nvml.h."""
COMPUTE_MODES = {0: "Default", 1: "Exclusive_Thread", 2: "Prohibited", 3: "Exclusive_Process"}
FABRIC_STATES = {1: "Not Started", 2: "In Progress", 3: "Completed"}
FABRIC_BANDWIDTH = {1: "Degraded", 2: "Full"}
"""nvmlGpuFabricState_t, and bits 0 and 1 of the health mask (NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_*)."""
NOT_LOADED, MISMATCH = 9, 18
NO_START = {NOT_LOADED: "Driver Not Loaded", MISMATCH: "Driver/library version mismatch"}
"""NVML's own words for NVML_ERROR_DRIVER_NOT_LOADED and NVML_ERROR_LIB_RM_VERSION_MISMATCH; nvidia-ml-py has others."""
RECOVERY_FIELD = 230
RECOVERY = {0: "None", 1: "Reset", 2: "Reboot", 3: "Drain P2P", 4: "Drain and Reset"}
"""NVML_FI_DEV_GET_GPU_RECOVERY_ACTION and nvmlDeviceGpuRecoveryAction_t."""


def probe(host: Host) -> Iterator[Given]:
    try:
        with nvml() as library:
            yield from _node(library, host)
    except NoNvmlError as error:
        yield failed("gpu.name", str(error), host.node, "NVML")
        if error.code:
            yield from _no_start(error, host)


def _no_start(error: NoNvmlError, host: Host) -> Iterator[Given]:
    """NVML is there and does not start. That versions differ is a message that rules know."""
    line = f"Failed to initialize NVML: {NO_START.get(error.code, error)}"
    reason = "couldn't communicate with the NVIDIA driver: " if error.code == NOT_LOADED else ""
    yield measured("node.nvml_error", f"{reason}{error}", host.node, "nvmlInit", line)
    if error.code == MISMATCH:
        yield Text("NVML", line + "\n", host.name)


def _node(library: Any, host: Host) -> Iterator[Given]:
    driver = asked(library, library.nvmlSystemGetDriverVersion)
    if driver:
        yield measured("node.driver_version", driver, host.node, "nvmlSystemGetDriverVersion", driver)
    if cuda := asked(library, library.nvmlSystemGetCudaDriverVersion_v2):
        shown = f"{cuda // 1000}.{cuda % 1000 // 10}"
        yield measured("node.cuda_driver", shown, host.node, "nvmlSystemGetCudaDriverVersion", str(cuda))
    count = library.nvmlDeviceGetCount()
    yield measured("node.gpu_count", count, host.node, "nvmlDeviceGetCount", str(count))
    if not count:
        yield measured("node.nvml_error", "No devices were found", host.node, "nvmlDeviceGetCount", "0")
    for index in range(count):
        try:
            device = library.nvmlDeviceGetHandleByIndex(index)
        except library.NVMLError as error:
            yield _unreadable(host, index, f"Unable to determine the device handle: {error}")
            continue
        yield from _gpu(library, device, host, index)


def _unreadable(host: Host, index: int, text: str) -> Given:
    return measured("gpu.unreadable", text, host.gpu(index), f"NVML GPU {index}", text)


def _gpu(library: Any, device: Any, host: Host, index: int) -> Iterator[Given]:
    """What the GPU tells. One that is lost answers nothing: the rest is not asked."""
    for read in READINGS:
        try:
            found = asked(library, lambda read=read: read(library, device))  # type: ignore[misc]
        except library.NVMLError as error:
            if error.value in (library.NVML_ERROR_GPU_IS_LOST, library.NVML_ERROR_UNKNOWN):
                yield _unreadable(host, index, str(error))
                return
            yield failed(f"gpu.{read.__name__.strip('_')}", str(error), host.gpu(index), f"NVML GPU {index}")
            continue
        for name, value in (found or {}).items():
            if value is not None:
                shown = (
                    f"{name.partition('.')[2]} {value if not isinstance(value, tuple) else ', '.join(map(str, value))}"
                )
                yield measured(name, value, host.gpu(index), f"NVML GPU {index}", shown)


def _identity(library: Any, device: Any) -> Mapping[str, Value | None]:
    bus = library.nvmlDeviceGetPciInfo(device).busId
    mode = asked(library, lambda: library.nvmlDeviceGetComputeMode(device))
    persistence = asked(library, lambda: library.nvmlDeviceGetPersistenceMode(device))
    return {
        "gpu.name": library.nvmlDeviceGetName(device),
        "gpu.bus_id": (bus.decode() if isinstance(bus, bytes) else str(bus)).lower(),
        "gpu.persistence": None if persistence is None else bool(persistence),
        "gpu.compute_mode": None if mode is None else COMPUTE_MODES.get(mode),
    }


def _memory(library: Any, device: Any) -> Mapping[str, Value | None]:
    """The second form of the call keeps apart what the driver reserves, which the first counts as used."""
    found = asked(library, lambda: library.nvmlDeviceGetMemoryInfo(device, version=library.nvmlMemory_v2))
    found = found or library.nvmlDeviceGetMemoryInfo(device)
    bar1 = asked(library, lambda: library.nvmlDeviceGetBAR1MemoryInfo(device))
    return {
        "gpu.memory_total": found.total,
        "gpu.memory_used": found.used,
        "gpu.memory_free": found.free,
        "gpu.bar1_total": bar1.bar1Total if bar1 else None,
    }


def _processes(library: Any, device: Any) -> Mapping[str, Value | None]:
    """Processes with a context. In a container NVML lists none, or numbers of the host."""
    found = library.nvmlDeviceGetComputeRunningProcesses(device)
    if not found:
        return {}
    sizes = [f"{process.pid} {process.usedGpuMemory or 0}" for process in found]
    return {"gpu.process_pids": tuple(process.pid for process in found), "gpu.processes": tuple(sizes)}


def _load(library: Any, device: Any) -> Mapping[str, Value | None]:
    use = asked(library, lambda: library.nvmlDeviceGetUtilizationRates(device))
    clock, most = (
        asked(library, lambda call=call: call(device, library.NVML_CLOCK_SM))  # type: ignore[misc]
        for call in (library.nvmlDeviceGetClockInfo, library.nvmlDeviceGetMaxClockInfo)
    )
    bits = asked(library, lambda: library.nvmlDeviceGetCurrentClocksThrottleReasons(device))
    state = asked(library, lambda: library.nvmlDeviceGetPerformanceState(device))
    reasons = None if bits is None else tuple(name for bit, name in REASONS.items() if bits & bit)
    return {
        "gpu.utilization": use.gpu / 100 if use else None,
        "gpu.memory_utilization": use.memory / 100 if use else None,
        "gpu.sm_clock": None if clock is None else clock * 1e6,
        "gpu.sm_clock_max": None if most is None else most * 1e6,
        "gpu.throttle_reasons": reasons,
        "gpu.performance_state": None if state is None or state > 15 else f"P{state}",
    }


def _heat(library: Any, device: Any) -> Mapping[str, Value | None]:
    def number(call: Callable[..., Any], *more: Any, scale: float = 1.0) -> float | None:
        found = asked(library, lambda: call(device, *more))
        return None if found is None else found / scale

    slow = library.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
    return {
        "gpu.temperature": number(library.nvmlDeviceGetTemperature, library.NVML_TEMPERATURE_GPU),
        "gpu.temperature_slowdown": number(library.nvmlDeviceGetTemperatureThreshold, slow),
        "gpu.power": number(library.nvmlDeviceGetPowerUsage, scale=1000.0),
        "gpu.power_limit": number(library.nvmlDeviceGetEnforcedPowerLimit, scale=1000.0),
        "gpu.power_limit_default": number(library.nvmlDeviceGetPowerManagementDefaultLimit, scale=1000.0),
    }


def _ecc(library: Any, device: Any) -> Mapping[str, Value | None]:
    if not library.nvmlDeviceGetEccMode(device)[0]:
        return {"gpu.ecc_enabled": False}
    counts = {
        f"gpu.ecc_{name}{suffix}": asked(
            library,
            lambda kind=kind, counter=counter: library.nvmlDeviceGetTotalEccErrors(device, kind, counter),  # type: ignore[misc]
        )
        for kind, name in ((0, "correctable"), (1, "uncorrectable"))
        for counter, suffix in ((0, ""), (1, "_aggregate"))
    }
    return {"gpu.ecc_enabled": True, **counts}


def _remapped_rows(library: Any, device: Any) -> Mapping[str, Value | None]:
    correctable, uncorrectable, pending, broken = library.nvmlDeviceGetRemappedRows(device)
    return {
        "gpu.remap_correctable": correctable,
        "gpu.remap_uncorrectable": uncorrectable,
        "gpu.remap_pending": bool(pending),
        "gpu.remap_failed": bool(broken),
    }


def _pcie(library: Any, device: Any) -> Mapping[str, Value | None]:
    calls = {
        "gpu.pcie_gen": library.nvmlDeviceGetCurrPcieLinkGeneration,
        "gpu.pcie_gen_max": library.nvmlDeviceGetMaxPcieLinkGeneration,
        "gpu.pcie_width": library.nvmlDeviceGetCurrPcieLinkWidth,
        "gpu.pcie_width_max": library.nvmlDeviceGetMaxPcieLinkWidth,
        "gpu.pcie_replays": library.nvmlDeviceGetPcieReplayCounter,
    }
    return {name: asked(library, lambda call=call: call(device)) for name, call in calls.items()}  # type: ignore[misc]


def _nvlink(library: Any, device: Any) -> Mapping[str, Value | None]:
    """Links up and down, and the errors of those that are up; nothing where the GPU has none."""
    states = []
    for link in range(library.NVML_NVLINK_MAX_LINKS):
        state = asked(library, lambda link=link: library.nvmlDeviceGetNvLinkState(device, link))  # type: ignore[misc]
        if state is None:
            break
        states.append(bool(state))
    if not states:
        return {}
    sums: dict[str, int] = {}
    names = {0: "replay", 1: "recovery", 2: "crc", 3: "crc"}
    for link in (link for link, up in enumerate(states) if up):
        for counter, name in names.items():
            count = asked(
                library,
                lambda link=link, counter=counter: library.nvmlDeviceGetNvLinkErrorCounter(device, link, counter),  # type: ignore[misc]
            )
            if count is not None:
                sums[f"gpu.nvlink_{name}_errors"] = sums.get(f"gpu.nvlink_{name}_errors", 0) + count
    return {"gpu.nvlinks_active": sum(states), "gpu.nvlinks_inactive": states.count(False), **sums}


def _fabric(library: Any, device: Any) -> Mapping[str, Value | None]:
    found = library.c_nvmlGpuFabricInfo_v2_t()
    found.version = library.nvmlGpuFabricInfo_v2
    library.nvmlDeviceGetGpuFabricInfoV(device, byref(found))
    if found.state not in FABRIC_STATES:
        return {}
    status = "Success" if found.status == 0 else str(library.NVMLError(found.status))
    domain = any(found.clusterUuid)  # without a cluster the clique has no meaning
    return {
        "gpu.fabric_state": FABRIC_STATES[found.state],
        "gpu.fabric_status": status if found.state == 3 else None,
        "gpu.fabric_clique": str(found.cliqueId) if domain and found.state == 3 else None,
        "gpu.fabric_bandwidth": FABRIC_BANDWIDTH.get(found.healthMask & 3),
    }


def _mig(library: Any, device: Any) -> Mapping[str, Value | None]:
    current, _ = library.nvmlDeviceGetMigMode(device)
    if not current:
        return {"gpu.mig": False}
    most = asked(library, lambda: library.nvmlDeviceGetMaxMigDeviceCount(device)) or 0
    handles = [
        asked(library, lambda slot=slot: library.nvmlDeviceGetMigDeviceHandleByIndex(device, slot))  # type: ignore[misc]
        for slot in range(most)
    ]
    return {"gpu.mig": True, "gpu.mig_instances": sum(handle is not None for handle in handles)}


def _recovery(library: Any, device: Any) -> Mapping[str, Value | None]:
    (found,) = library.nvmlDeviceGetFieldValues(device, [RECOVERY_FIELD])
    return {"gpu.recovery_action": RECOVERY.get(found.value.uiVal) if found.nvmlReturn == 0 else None}


READINGS: tuple[Reading, ...] = (
    *(_identity, _memory, _processes, _load, _heat, _ecc, _remapped_rows, _pcie, _nvlink, _fabric, _mig, _recovery),
)
