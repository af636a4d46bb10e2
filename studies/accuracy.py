"""`python -m studies.accuracy FOLDER [--llm-analysis DIR --megatron DIR]`: writes docs/accuracy.md."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

from doctor.planner.accuracy import Errors, Row, errors, quantile
from doctor.planner.calibrate import TRUST_SEEN, TRUST_UNSEEN
from doctor.planner.constants import FITTED, Constants
from doctor.planner.evaluate import Evaluation, evaluate
from doctor.planner.prediction import CALIBRATED, RANGES
from doctor.planner.records import read_folder
from doctor.planner.step_time import step_time
from studies import accuracy_words as words
from studies import peers
from studies.fitting import Sample, constant_utilisation
from studies.step_time import calibrated, cross_validated, row, samples, unseen, visible
from studies.table import percent, table

OUT = Path(__file__).parent.parent / "docs" / "accuracy.md"
KINDS = ("dense", "fp8", "moe", "host")
NOISE = 0.06  # identical configurations of different releases differ by this in the median


def document(folder: Path, llm_analysis: Path | None, megatron: Path | None) -> str:
    every = samples(folder)
    seen = visible(every)
    held = [one for one in every if one.record.held_out]
    model, constant = cross_validated(seen)
    alone = unseen(seen)
    parts = [
        ("Step time, cross-validated", _cross_validation(model, constant)),
        ("Step time, hold-out", _hold_out(seen, held)),
        ("Ranges", _ranges(model, held)),
        ("GPUs never seen", _unseen(alone)),
        ("One measured step", _calibration(every, alone)),
        ("What it cannot separate", _ranking(every)),
        ("Memory", _memory(evaluate(folder))),
        ("Other tools on the same rows", _peers(folder, every, llm_analysis, megatron)),
    ]
    return words.HEAD + "".join(f"\n## {title}\n\n{text}\n" for title, text in parts)


def _cross_validation(model: Sequence[Row], constant: Sequence[Row]) -> str:
    lines = []
    for kind in KINDS:
        numbers = [number for number, one in enumerate(model) if one.kind == kind]
        lines.append(_pair(kind, [model[at] for at in numbers], [constant[at] for at in numbers]))
        for file in sorted({model[at].file for at in numbers}):
            own = [at for at in numbers if model[at].file == file]
            lines.append(_pair(f"- {file}", [model[at] for at in own], [constant[at] for at in own]))
    head = ("rows", "n", "median", "p90", "bias", "constant: median", "p90")
    return words.CROSS_VALIDATION.format(table=table(head, lines))


def _hold_out(seen: Sequence[Sample], held: Sequence[Sample]) -> str:
    lines = []
    for kind in KINDS:
        part = [one for one in held if step_time(one.job).kind == kind]
        plain = [_constant(seen, one) for one in part]
        lines.append(_pair(kind, [row(one, step_time(one.job)) for one in part], plain))
    head = ("rows", "n", "median", "p90", "bias", "constant: median", "p90")
    return words.HOLD_OUT.format(table=table(head, lines))


def _constant(seen: Sequence[Sample], one: Sample) -> Row:
    return Row(
        id=one.record.id, file=one.record.file, kind="", held_out=True,
        predicted=constant_utilisation(seen, one.job), measured=one.seconds,
    )  # fmt: skip


def _ranges(model: Sequence[Row], held: Sequence[Sample]) -> str:
    rows = [row(one, step_time(one.job)) for one in held]
    lines = []
    for kind, (low, high) in RANGES.items():
        cells = [_covered(part for part in group if part.kind == kind) for group in (model, rows)]
        lines.append((kind.value, f"{low:.2f} to {high:.2f}", *cells))
    return words.RANGES.format(table=table(("kind", "range", "cross-validated", "hold-out"), lines))


def _unseen(alone: Sequence[tuple[Sample, Constants]]) -> str:
    rows = [row(one, step_time(one.job, constants)) for one, constants in alone]
    seen = [one for one, _ in alone]
    lines = []
    for kind in KINDS:
        for gpu in (None, *sorted({one.job.cluster.gpu.name for one in seen})):
            names = {one.record.id for one in seen if gpu is None or one.job.cluster.gpu.name == gpu}
            found = errors(one for one in rows if one.kind == kind and one.id in names)
            if found:
                lines.append((kind if gpu is None else f"- {gpu}", *_cells(found)))
    return words.UNSEEN.format(table=table(("rows", "n", "median", "p90", "bias"), lines))


def _calibration(every: Sequence[Sample], alone: Sequence[tuple[Sample, Constants]]) -> str:
    head = ("kind", "n", "median before", "p90", "median after", "p90", "range after", "holds")
    tables = []
    for pairs, trust in ((alone, TRUST_UNSEEN), ([(one, FITTED) for one in every], TRUST_SEEN)):
        lines = []
        before, after = calibrated(pairs, trust)
        for kind, (low, high) in CALIBRATED.items():
            first, second = (errors(one for one in rows if one.kind == kind) for rows in (before, after))
            if first and second:
                share = _covered(one for one in after if one.kind == kind)
                cells = (f"{first.median:.1%}", f"{first.p90:.1%}", f"{second.median:.1%}", f"{second.p90:.1%}")
                lines.append((kind.value, second.n, *cells, f"{low:.2f} to {high:.2f}", share))
        tables.append(table(head, lines))
    return words.CALIBRATION.format(alone=tables[0], table=tables[1])


def _ranking(every: Sequence[Sample]) -> str:
    """Pairs of layouts of the same job on the same machines."""
    same: dict[tuple[object, ...], list[Sample]] = defaultdict(list)
    for one in every:
        job = one.job
        release = str(one.record.raw.get("source", {}).get("section", ""))
        if step_time(job).kind != "host":
            same[one.record.file, release, job.shape.name, job.shape.layers, job.cluster, job.seq, job.precision,
                 job.global_batch, bool(job.lora_rank)].append(one)  # fmt: skip
    lines = []
    total = [0, 0, 0, 0]
    for file in sorted({str(key[0]) for key in same}):
        right = apart = pairs = overlapping = 0
        for key, members in same.items():
            if key[0] != file:
                continue
            for one, other in combinations(members, 2):
                if one.job == other.job:
                    continue
                pairs += 1
                first, second = step_time(one.job), step_time(other.job)
                overlapping += first.low <= second.high and second.low <= first.high
                if abs(one.seconds / other.seconds - 1) > NOISE:
                    apart += 1
                    right += (first.likely < second.likely) == (one.seconds < other.seconds)
        if pairs:
            lines.append((file, pairs, overlapping, apart, percent(right, apart)))
        total = [a + b for a, b in zip(total, (pairs, overlapping, apart, right), strict=True)]
    lines.append(("all", total[0], total[1], total[2], percent(total[3], total[2])))
    repeats: dict[object, list[float]] = defaultdict(list)
    for one in every:
        if step_time(one.job).kind != "host":
            repeats[one.record.file, one.job].append(one.seconds)
    spreads = [max(times) / min(times) - 1 for times in repeats.values() if len(times) > 1]
    noise = f"{quantile(spreads, 0.5):.1%} in the median, {quantile(spreads, 0.9):.1%} at the 90th percentile"
    head = ("file", "pairs", "ranges overlap", f"differ by more than {NOISE:.0%}", "order right")
    return words.RANKING.format(repeats=len(spreads), noise=noise, table=table(head, lines))


def _memory(found: Evaluation) -> str:
    lines = []
    for compared in found.overall:
        if compared.quantity == "step time":
            continue
        lines.append((compared.quantity, *_cells(compared.every), f"{compared.every.under:.1%}"))
        for group, part in compared.groups.items():
            lines.append((f"- {group}", *_cells(part), f"{part.under:.1%}"))
        if compared.held_out:
            lines.append(("- hold-out", *_cells(compared.held_out), f"{compared.held_out.under:.1%}"))
    head = ("quantity", "n", "median", "p90", "bias", "more than 5 % under")
    return words.MEMORY.format(table=table(head, lines))


def _peers(folder: Path, every: Sequence[Sample], llm_analysis: Path | None, megatron: Path | None) -> str:
    if llm_analysis is None or megatron is None:
        return words.PEERS_NOT_RUN
    return (
        f"Step time:\n\n{peers.time_section(every, llm_analysis)}\n\nPeak of allocated memory:\n\n"
        f"{peers.memory_section(read_folder(folder)[0], llm_analysis, megatron)}"
    )


def _pair(name: str, model: Iterable[Row], constant: Iterable[Row]) -> tuple[object, ...]:
    found, plain = errors(model), errors(constant)
    if found is None or plain is None:
        return (name, 0, "-", "-", "-", "-", "-")
    return (name, *_cells(found), f"{plain.median:.1%}", f"{plain.p90:.1%}")


def _cells(found: Errors) -> tuple[object, ...]:
    return found.n, f"{found.median:.1%}", f"{found.p90:.1%}", f"{found.bias:+.1%}"


def _covered(rows: Iterable[Row]) -> str:
    found = [one.covered for one in rows]
    return f"{percent(sum(map(bool, found)), len(found))} of {len(found)}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.accuracy", description=__doc__)
    parser.add_argument("records", type=Path, help="folder of published measurements")
    parser.add_argument("--llm-analysis", type=Path, help="checkout of cli99/llm-analysis")
    parser.add_argument("--megatron", type=Path, help="checkout of NVIDIA/Megatron-LM")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    given.out.write_text(document(given.records, given.llm_analysis, given.megatron), encoding="utf-8")


if __name__ == "__main__":
    main()
