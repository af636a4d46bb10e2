"""Who and where this process is: rank, host, job, versions, groups; and the file that its records go to."""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
import time
from importlib import import_module
from typing import Any

FORMAT = 1
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
SIZES = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
LOCAL = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
ATTEMPTS = ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")
OFF = ("0", "off", "false", "no")
FRAMEWORKS = ("accelerate", "deepspeed", "megatron.core", "torchtitan", "transformers", "lightning")


def rank() -> int:
    """This process's rank: of torch.distributed where that has begun, else of the launcher's variables, else 0."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    return _number(RANKS) or 0


def world() -> int:
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_world_size())
    return _number(SIZES) or 1


def folder(given: str | None) -> str | None:
    """Where the files go; None where PDOCTOR_RECORD switches the recorder off."""
    told = os.environ.get("PDOCTOR_RECORD", "")
    if told.lower() in OFF and told:
        return None
    if given or told:
        return given or told
    names = ("SLURM_JOB_ID", "TORCHELASTIC_RUN_ID", "MASTER_PORT")
    job = next((value for name in names if (value := os.environ.get(name, "")) not in ("", "none")), "job")
    attempt = _number(ATTEMPTS) or 0
    return os.path.join(os.getcwd(), "pdoctor-record", f"{re.sub(r'[^A-Za-z0-9._-]', '_', job)[:80]}-{attempt}")


def path(given: str) -> str:
    return os.path.join(given, f"rank{rank()}.jsonl")


def head(model: dict[str, Any]) -> dict[str, Any]:
    """The first line: everything about this process that does not change, and `model`."""
    torch = import_module("torch")
    told: dict[str, Any] = {"pdoctor_recording": FORMAT, "rank": rank(), "world_size": world()}
    told |= {"local_rank": _number(LOCAL), "host": socket.gethostname(), "pid": os.getpid(), "at": time.time()}
    told |= {"python": platform.python_version(), "torch": str(torch.__version__)}
    versions = {name: str(getattr(sys.modules.get(name), "__version__", "") or "") for name in FRAMEWORKS}
    told["frameworks"] = {name: version for name, version in versions.items() if name in sys.modules}
    told |= {"attempt": _number(ATTEMPTS), **model}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        told["device"] = _device(torch)
    return {name: value for name, value in told.items() if value is not None}


def _device(torch: Any) -> dict[str, Any]:
    """Of the current GPU what the runtime keeps at hand: asking it costs no call of the driver."""
    index = int(torch.cuda.current_device())
    known = torch.cuda.get_device_properties(index)
    place = [getattr(known, name, None) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")]
    numbers = [part for part in place if isinstance(part, int)]
    bus = "{:08x}:{:02x}:{:02x}.0".format(*numbers) if len(numbers) == len(place) else None
    return {
        "index": index,
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "name": str(known.name),
        "memory": int(known.total_memory),
        "bus": bus,
    }


def layout(modules: list[Any]) -> dict[str, list[int]]:
    """Size of each parallel group and this rank's place in it: of Megatron's state, else of the parameters' mesh."""
    state = sys.modules.get("megatron.core.parallel_state")
    found: dict[str, list[int]] = {}
    if state is not None:
        calls = {
            "tp": "tensor_model_parallel",
            "pp": "pipeline_model_parallel",
            "cp": "context_parallel",
            "ep": "expert_model_parallel",
            "dp": "data_parallel",
        }
        for name, call in calls.items():
            try:
                found[name] = [int(getattr(state, f"get_{call}_{what}")()) for what in ("world_size", "rank")]
            except Exception:
                continue  # this version names it otherwise, or the group does not exist
        return found
    for module in modules:
        for parameter in module.parameters():
            mesh = getattr(parameter, "device_mesh", None)
            names = getattr(mesh, "mesh_dim_names", None)
            if mesh is not None and names:
                place = mesh.get_coordinate() or [-1] * len(names)
                found |= {name: [mesh.size(i), place[i]] for i, name in enumerate(names) if name not in found}
    return found


def _number(names: tuple[str, ...]) -> int | None:
    value = next((os.environ[name] for name in names if name in os.environ), "")
    return int(value) if value.isdecimal() and len(value) < 8 else None
