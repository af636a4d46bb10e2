"""What a process group is for: its description says it, or the set of its ranks and what it carries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

ROLES = ("tp", "pp", "dp", "ep", "cp", "unknown")

_DESCRIPTIONS = (
    ("dp", r"expert\w*data|(?:^|_)edp(?:_|$)"),
    ("ep", r"expert|(?:^|_)ep(?:_|$)"),
    ("unknown", r"tensor_and_context|(?:^|_)world(?:_|$)|tensor_and_data"),
    ("pp", r"pipeline|embedding|(?:^|_)pp(?:_|$)"),
    ("dp", r"data_?parallel|dp_with_cp|(?:^|_)(?:h?dp|dp_\w+|\w+_dp|fsdp|ddp|zero)(?:_|$)|replicate|shard"),
    ("cp", r"context|ulysses|ring_att|sequence_parallel|(?:^|_)(?:cp|sp)(?:_|$)"),
    ("tp", r"tensor|(?:^|_)(?:tp|etp)(?:_|$)"),
)
DESCRIPTIONS = tuple((role, re.compile(pattern, re.IGNORECASE)) for role, pattern in _DESCRIPTIONS)
"""Names of Megatron's parallel_state (`PIPELINE_MODEL_PARALLEL_GROUP`), of dimensions of torch's DeviceMesh (`mesh_tp`)
and of inference engines (`tp:0`). Megatron's embedding group joins the first and the last stage."""

POINT_TO_POINT = re.compile(r"^(?:i?send|i?recv|sendrecv|coalesced|batch_?isend_?irecv)", re.IGNORECASE)
ALL_TO_ALL = re.compile(r"all_?to_?all", re.IGNORECASE)
SHARDED = re.compile(r"^(?:FSDP::|FullyShardedDataParallel|DistributedDataParallel\.forward)")


def role_of(description: str) -> str:
    """The role that a description states, else `unknown`."""
    text = re.sub(r"[^A-Za-z0-9_]+", "_", description)
    return next((role for role, pattern in DESCRIPTIONS if pattern.search(text)), "unknown")


def roles_of(
    groups: Mapping[str, tuple[str, Sequence[int]]], carried: Mapping[str, Sequence[str]], annotations: Sequence[str]
) -> dict[str, str]:
    """The role of each group that was used, by its name.

    `groups` has descriptions and ranks, `carried` the operations seen on each. Where no description tells: a group of
    ranks that do not follow each other and that carries nothing but sends and receives is a pipeline's; the one group
    of a program that wraps its model in DDP or FSDP is its data parallelism. All else stays unknown: tensor and data
    parallelism use the same collectives.
    """
    roles = {name: role_of(groups.get(name, ("", ()))[0]) for name in carried}
    unknown = [name for name, role in roles.items() if role == "unknown"]
    for name in unknown:
        ranks = groups.get(name, ("", ()))[1]
        stride = ranks[1] - ranks[0] if len(ranks) > 1 else 0
        if stride > 1 and all(POINT_TO_POINT.match(operation) for operation in carried[name]):
            roles[name] = "pp"
    sharded = any(SHARDED.match(text) for text in annotations)
    wide = [name for name in unknown if roles[name] == "unknown" and not any(map(ALL_TO_ALL.search, carried[name]))]
    if sharded and len(wide) == 1 and len(unknown) == len(roles):
        roles[wide[0]] = "dp"
    return roles
