"""Times of a step by kind: compute, communication and how much of it is hidden, waiting, allocation, data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.facts.model import Fact, Source, Value
from probes.files.table.cells import Row, Table, to_number, unit_of
from probes.files.table.columns import UNITS, Column, Columns, time_columns

MOST_OPS = 50
MOST_SHOWN = 1000

_PATTERNS = {
    "cuda_malloc": r"^(?:cuda|hip)(?:Malloc|Free)(?!Host)\w*|cuMem(?:Alloc|Free|Create|Map|Unmap|Release)\b",
    "comm": r"nccl|rccl|hccl|all[_ -]?reduce|all[_ -]?gather|reduce[_ -]?scatter|all[_ -]?to[_ -]?all|\ba2a\b|broadcast"
    r"|multimem|send[_ -]?recv|\bp2p\b|deep_?ep|\bcomm(?:unication|s)?\b|collective|grads?[_ -]?(?:sync|reduc)",
    "data": r"get_?batch|data_?load|next\(|__next__|fetch|collate|_next_data|data[ _-]?(?:wait|time|iter)|read_?batch"
    r"|load[ _-]?batch|tokeni[sz]|input[ _-]?pipeline",
    "idle": r"\bidle\b|\bbubble|\bwait(?:ing)?\b|\bgap\b|no kernel|\bstall",
    "sync": r"(?:Stream|Device|Event)Synchronize|^aten::(?:item|_local_scalar_dense)$|\bsync(?:hroni[sz]e)?\b",
    "copy": r"memcpy|\bH2D\b|\bD2H\b|HtoD|DtoH|host.?to.?device|device.?to.?host|pin_memory",
    "optimizer": r"optimi[sz]er|\badamw?\b|multi_tensor_apply",
    "compute": r"gemm|matmul|\bmm\b|conv|attention|attn|flash|softmax|layer_?norm|rms_?norm|elementwise|forward"
    r"|backward|\bfwd\b|\bbwd\b|compute|cutlass|triton_|cublas|gelu|silu|embedding|bf16|fp16|_kernel",
}
KINDS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _PATTERNS.items()}
"""What an operation is, by its name; the first that fits counts."""
_STEP = re.compile(
    r"^(?:total|step|iteration|iter|wall|step[ _]?time|iteration[ _]?time|train_?step|profiler_?step.*"
    r"|end[ _-]?to[ _-]?end|e2e)(?:[ _(].*)?$",
    re.IGNORECASE,
)
_STEP_NOTE = re.compile(
    r"(?:step|iteration|iter|wall)\b[\w ()-]{0,30}?(?:time|took|=|:"
    r"|is)?\s*[:=]?\s*(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|sec|seconds|us)\b",
    re.IGNORECASE,
)
ON_HOST = ("cuda_malloc", "sync", "data")


def kind_of(name: str) -> str:
    """compute, comm, copy, idle, sync, data, optimizer or cuda_malloc; "" for what is not known."""
    return next((kind for kind, pattern in KINDS.items() if pattern.search(name[:300])), "")


def time_facts(path: str, table: Table) -> Iterator[Fact]:
    """Facts of a table of times; nothing when no row is of a kind we know."""
    columns = time_columns(table)
    if columns is None:
        return
    sums: dict[str, tuple[float, Row]] = {}
    ops: list[tuple[float, str, Row]] = []
    step: tuple[float, Row] | None = None
    for row in table.rows:
        name = row.cells[columns.name]
        kind = kind_of(name)
        value = _value(row, columns.host if columns.host and kind in ON_HOST else columns.time)
        if value is None or not name:
            continue
        if not kind and _STEP.match(name):
            step = step or (value, row)
            continue
        ops.append((value, name, row))
        if kind:
            before, line = sums.get(kind, (0.0, row))
            # The source is the row that gives most of the sum.
            sums[kind] = (before + value, line if before >= value else row)
    if not sums:
        return
    step = step or _step_note(table)
    ops.sort(key=lambda op: -op[0])
    yield _fact(
        path, "trace.op_times", tuple(f"{name[:120]}={value:g}" for value, name, _ in ops[:MOST_OPS]), ops[0][2]
    )
    yield _fact(path, "trace.total_time", sum(value for value, _, _ in ops), table.heading)
    if step:
        yield _fact(path, "trace.step_time", step[0], step[1])
    for kind, (value, row) in sums.items():
        yield _fact(path, f"trace.{kind}_time", value, row)
    yield from _calls(path, table, columns)
    yield from _overlap(path, table, columns, sums)


def _value(row: Row, column: Column) -> float | None:
    number = to_number(row.cells[column.index])
    scale = UNITS.get(unit_of(row.cells[column.index]), column.scale)
    return None if number is None or number < 0 else number * scale


def _fact(path: str, name: str, value: Value, row: Row) -> Fact:
    return Fact(name, value, "job", Source("table", path, row.line, row.text[:MOST_SHOWN]))


def _step_note(table: Table) -> tuple[float, Row] | None:
    """`# step wall time 3950 ms` in a comment."""
    for note in table.notes[:100]:
        if match := _STEP_NOTE.search(note.text[:MOST_SHOWN]):
            return float(match["number"]) * UNITS[match["unit"].lower()], note
    return None


def _calls(path: str, table: Table, columns: Columns) -> Iterator[Fact]:
    if columns.calls is None:
        return
    rows = [row for row in table.rows if kind_of(row.cells[columns.name]) == "cuda_malloc"]
    counts = [(to_number(row.cells[columns.calls]) or 0.0, row) for row in rows]
    if counts:
        yield _fact(path, "trace.cuda_malloc_calls", sum(count for count, _ in counts), counts[0][1])


def _overlap(path: str, table: Table, columns: Columns, sums: dict[str, tuple[float, Row]]) -> Iterator[Fact]:
    """Hidden and exposed communication, from the column that gives the one or the other of communication rows."""
    rows: list[tuple[float, float, Row]] = []
    for row in table.rows:
        if kind_of(row.cells[columns.name]) != "comm":
            continue
        busy = _value(row, columns.time)
        hidden = _value(row, columns.overlapped) if columns.overlapped else None
        bare = _value(row, columns.exposed) if columns.exposed else None
        if busy is None:
            continue
        if bare is None and hidden is not None:
            bare = max(busy - hidden, 0.0)
        if bare is not None:
            rows.append((busy, bare, row))
    total = sum(busy for busy, _, _ in rows)
    if total > 0:
        exposed = sum(bare for _, bare, _ in rows)
        worst = max(rows, key=lambda one: one[1])[2]
        yield _fact(path, "trace.exposed_comm_time", exposed, worst)
        yield _fact(path, "trace.overlap_fraction", min(max(1 - exposed / total, 0.0), 1.0), worst)
