"""Loads of experts in every form they are kept in, and files that only look like them."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import random
import types
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from doctor.cli.main import run
from doctor.facts.model import Value
from probes.files.expert_loads import is_loads, is_packed_loads, read_loads
from tests.views.test_json import valid

Counts: TypeAlias = "np.ndarray"
LAYERS, EXPERTS = 4, 16


def even(steps: int = 1, tokens: int = 16_000, seed: int = 3) -> Counts:
    """Tokens that choose experts by chance, [steps, layers, experts]."""
    return np.random.default_rng(seed).multinomial(tokens, [1 / EXPERTS] * EXPERTS, (steps, LAYERS)).astype(np.int64)


def uneven(steps: int = 1) -> Counts:
    """In layer 2 expert 5 has a quarter of all tokens and expert 7 next to none."""
    shares = np.full(EXPERTS, 0.75 / (EXPERTS - 2))
    shares[5], shares[7] = 0.25, 0.0
    counts = even(steps)
    counts[:, 2] = np.random.default_rng(5).multinomial(16_000, shares, steps)
    return counts


def told(*paths: Path) -> dict[str, Value]:
    return {fact.name: fact.value for fact in read_loads([(path, path.name) for path in paths]).facts}


def remarks(path: Path) -> str:
    return " ".join(text for texts in read_loads([(path, path.name)]).warnings.values() for text in texts)


class _Storage:
    """Stands where torch's storages do when a file is written as torch.save writes it."""

    def __init__(self, key: str, name: str, count: int) -> None:
        self.pid = ("storage", type(name, (), {"__module__": "torch"}), key, "cpu", count)


def torch_file(path: Path, tensors: dict[str, Counts], extra: Any = None, kind: str = "LongStorage") -> Path:
    """A zip archive as torch.save writes it: data.pkl with references to names of torch, and raw data beside it."""
    out = io.BytesIO()

    class Pickler(pickle._Pickler):  # type: ignore[name-defined,misc]
        def persistent_id(self, value: Any) -> Any:
            return value.pid if isinstance(value, _Storage) else None

        def save_global(self, value: Any, name: str | None = None) -> None:
            module = "torch._utils" if value is rebuild else getattr(value, "__module__", "")
            shown = "_rebuild_tensor_v2" if value is rebuild else value.__name__
            self.write(b"c" + f"{module}\n{shown}\n".encode())
            self.memoize(value)

        def save_type(self, value: Any) -> None:
            self.save_global(value)

        dispatch = pickle._Pickler.dispatch.copy()  # type: ignore[attr-defined]
        dispatch[type] = dispatch[types.FunctionType] = save_type

    def rebuild() -> None: ...

    class Made:
        def __init__(self, key: str, array: Counts) -> None:
            self.key, self.array = key, array

        def __reduce__(self) -> Any:
            stride = tuple(s // self.array.itemsize for s in self.array.strides)
            storage = _Storage(self.key, kind, self.array.size)
            return rebuild, (storage, 0, self.array.shape, stride, False, {})

    told_ = {name: Made(str(place), array) for place, (name, array) in enumerate(tensors.items())}
    Pickler(out, protocol=2).dump({**told_, **({"extra": extra} if extra is not None else {})})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", out.getvalue())
        archive.writestr("archive/byteorder", "little")
        for place, array in enumerate(tensors.values()):
            archive.writestr(f"archive/data/{place}", array.tobytes("A"))
    return path


def as_npy(folder: Path, counts: Counts) -> Path:
    np.save(folder / "a.npy", counts)
    return folder / "a.npy"


def as_npz(folder: Path, counts: Counts) -> Path:
    np.savez_compressed(folder / "a.npz", tokens_per_expert=counts, learning_rate=np.arange(9.0))
    return folder / "a.npz"


def as_torch(folder: Path, counts: Counts) -> Path:
    layers = {f"decoder.layers.{n}.mlp.router.local_tokens_per_expert": counts[0, n] for n in range(LAYERS)}
    return torch_file(
        folder / "a.pt", {**layers, "decoder.layers.0.mlp.router.weight": np.ones((EXPERTS, 8), np.int64)}
    )


def as_legacy(folder: Path, counts: Counts) -> Path:
    """As torch.save wrote it before it wrote zip archives: torch's own file where the packed one has the same data."""
    packed = as_torch(folder, counts)
    with zipfile.ZipFile(packed) as archive:
        told_ = archive.read("archive/data.pkl")
        raw = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist() if "/data/" in name}
    packed.unlink()
    machine = {"protocol_version": 1001, "little_endian": True}
    with (folder / "a.pt").open("wb") as file:
        pickle.dump(0x1950A86A20F9469CFC6C, file, protocol=2)
        pickle.dump(1001, file, protocol=2)
        pickle.dump(machine, file, protocol=2)
        file.write(told_)
        pickle.dump(list(raw), file, protocol=2)
        for data in raw.values():
            file.write((len(data) // 8).to_bytes(8, "little") + data)
    return folder / "a.pt"


def as_json(folder: Path, counts: Counts) -> Path:
    told_ = {"tokens_per_expert": {f"layer_{n}": counts[0, n].tolist() for n in range(LAYERS)}}
    (folder / "a.json").write_text(json.dumps(told_, indent=1))
    return folder / "a.json"


def as_lines(folder: Path, counts: Counts) -> Path:
    lines = [{"step": step, "expert_load": layers.tolist()} for step, layers in enumerate(counts)]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder / "a.jsonl"


def long(counts: Counts) -> list[list[Any]]:
    steps, layers, experts = counts.shape
    return [[s, y, e, int(counts[s, y, e])] for s in range(steps) for y in range(layers) for e in range(experts)]


def as_records(folder: Path, counts: Counts) -> Path:
    records = [dict(zip(("step", "layer", "expert", "tokens"), row, strict=True)) for row in long(counts)]
    (folder / "a.json").write_text(json.dumps(records))
    return folder / "a.json"


def as_csv(folder: Path, counts: Counts, heading: Sequence[str] = ("step", "layer", "expert", "num_tokens")) -> Path:
    with (folder / "a.csv").open("w", newline="") as file:
        csv.writer(file).writerows([heading, *long(counts)])
    return folder / "a.csv"


def as_wide(folder: Path, counts: Counts) -> Path:
    rows = [[s, y, *counts[s, y].tolist()] for s in range(len(counts)) for y in range(LAYERS)]
    with (folder / "a.csv").open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows([["step", "layer", *(f"expert_{e}" for e in range(EXPERTS))], *rows])
    return folder / "a.csv"


def as_parquet(folder: Path, counts: Counts) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    names = ("step", "layer_id", "expert_id", "token_count")
    columns = dict(zip(names, map(list, zip(*long(counts), strict=True)), strict=True))
    parquet.write_table(pyarrow.table(columns), folder / "a.parquet")
    return folder / "a.parquet"


FORMS = (as_npy, as_npz, as_torch, as_legacy, as_json, as_lines, as_records, as_csv, as_wide, as_parquet)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same(form: Callable[[Path, Counts], Path], tmp_path: Path) -> None:
    counts = uneven()
    path = form(tmp_path, counts)
    assert is_loads(path)
    facts = told(path)
    assert (facts["experts.layers"], facts["experts.count"]) == (LAYERS, EXPERTS)
    assert facts["experts.worst_layer"] == "2"
    assert facts["experts.worst_max_over_mean"] == pytest.approx(counts[0, 2].max() / 1000)
    assert facts["experts.dead_experts"] == ("2:7",)
    assert facts["experts.uneven_layers"] == ("2",)
    assert facts["experts.tokens"] == LAYERS * 16_000


@pytest.mark.parametrize("tokens", [320, 1_600, 16_000, 1_600_000])
def test_what_chance_alone_does_is_no_imbalance(tokens: int, tmp_path: Path) -> None:
    for seed in range(20):
        facts = told(as_npy(tmp_path, even(1, tokens, seed)))
        assert facts["experts.uneven_layers"] == ()
        assert facts["experts.dead"] == 0
    assert isinstance(facts["experts.worst_by_chance"], float)


def test_drift_and_trend_are_told_beyond_chance(tmp_path: Path) -> None:
    calm = told(as_npy(tmp_path, even(30)))
    assert calm["experts.drift"] == 0.0
    assert calm["experts.trend"] == pytest.approx(1.0, abs=0.05)
    counts = even(30)
    for step in range(30):
        counts[step, 1, 3] += 300 * step
    facts = told(as_npy(tmp_path, counts))
    assert isinstance(facts["experts.drift"], float) and facts["experts.drift"] > 0.1
    assert facts["experts.steps"] == 30


def drifting() -> Counts:
    counts = even(30)
    for step in range(30):
        counts[step, 1, 3] += 300 * step
    return counts


def test_lines_without_steps_follow_each_other_in_time(tmp_path: Path) -> None:
    lines = [{"tokens_per_expert": layers.tolist()} for layers in drifting()]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    facts = told(tmp_path / "a.jsonl")
    assert facts["experts.steps"] == 30
    assert isinstance(facts["experts.drift"], float) and facts["experts.drift"] > 0.1
    ranks = [{"rank": rank, "tokens_per_expert": even()[0].tolist()} for rank in range(8)]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, ranks)))
    assert told(tmp_path / "b.jsonl")["experts.steps"] == 0
    assert told(tmp_path / "b.jsonl")["experts.tokens"] == 8 * LAYERS * 16_000


def test_files_named_by_steps_are_steps_and_others_are_added_up(tmp_path: Path) -> None:
    paths = []
    for step, layers in enumerate(drifting()):
        paths.append(tmp_path / f"loads_step{step * 100:06d}.npy")
        np.save(paths[-1], layers)
    assert all(map(is_loads, paths))
    facts = told(*paths)
    assert facts["experts.steps"] == 30
    assert isinstance(facts["experts.drift"], float) and facts["experts.drift"] > 0.1
    assert told(paths[0])["experts.steps"] == 0


def test_a_layer_that_uses_two_experts_has_collapsed(tmp_path: Path) -> None:
    counts = even()
    counts[0, 1] = 0
    counts[0, 1, 2:4] = 8_000
    assert told(as_npy(tmp_path, counts))["experts.collapsed_layers"] == ("1",)


def test_the_picture_has_a_row_a_layer(tmp_path: Path) -> None:
    heat = told(as_npy(tmp_path, uneven()))["experts.heat"]
    assert isinstance(heat, tuple) and len(heat) == LAYERS
    assert len(str(heat[2]).split()) == EXPERTS + 1


def test_counts_of_several_ranks_are_added_up(tmp_path: Path) -> None:
    paths = []
    for rank in range(2):
        folder = tmp_path / f"rank{rank}"
        folder.mkdir()
        paths.append(as_csv(folder, even(seed=rank)))
    assert told(*paths)["experts.tokens"] == 2 * LAYERS * 16_000


def test_a_rank_column_gives_the_loads_of_ranks(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    rows = ["layer,expert,tokens,ep_rank", *(f"0,{e},{3000 if e < 2 else 1000},{e // 2}" for e in range(8))]
    path.write_text("\n".join(rows))
    assert told(path)["experts.rank_max_over_mean"] == 2.0


def test_half_precision_and_strides_are_read_right(tmp_path: Path) -> None:
    counts = np.ascontiguousarray(uneven()[0].T)
    path = torch_file(tmp_path / "a.pt", {"moe.tokens_per_expert": counts.T})
    assert told(path)["experts.worst_layer"] == "2"
    small = (np.arange(1, 9, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)
    path = torch_file(tmp_path / "b.pt", {"layers.3.tokens_per_expert": small}, kind="BFloat16Storage")
    assert told(path)["experts.tokens"] == 36


class Trap:
    def __reduce__(self) -> Any:
        return os.system, ("touch was_run",)


def test_a_tensor_file_that_would_run_code_is_refused_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = torch_file(tmp_path / "expert_load.pt", {"tokens_per_expert": uneven()[0]}, extra=Trap())
    assert is_loads(path)
    assert told(path) == {}
    assert "refers to posix.system" in remarks(path)
    np.save(tmp_path / "expert_load.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    assert told(tmp_path / "expert_load.npy") == {}
    assert "holds object" in remarks(tmp_path / "expert_load.npy")
    assert not (tmp_path / "was_run").exists()


def test_damaged_files_cost_one_remark_and_good_parts_survive(tmp_path: Path) -> None:
    good = as_csv(tmp_path, uneven())
    short = tmp_path / "expert_load.npy"
    np.save(short, uneven())
    short.write_bytes(short.read_bytes()[:300])
    assert "ends early" in remarks(short)
    huge = tmp_path / "expert_counts.npy"
    header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (99999999, 99999), }"
    huge.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert "more than the" in remarks(huge)
    assert told(short, good, huge)["experts.worst_layer"] == "2"


def test_odd_numbers_are_left_out_and_counted(tmp_path: Path) -> None:
    path = as_csv(tmp_path, uneven())
    with path.open("a") as file:
        file.write("0,0,0,nan\n0,0,1,-5\n0,0,99999,5\n0,0,x,5\n0,0\n")
    assert told(path)["experts.tokens"] == LAYERS * 16_000
    assert "5 entries are no counts" in remarks(path)


def test_other_files_are_none(tmp_path: Path) -> None:
    chance = random.Random(1)
    np.save(tmp_path / "weights.npy", np.array([[chance.random() for _ in range(16)] for _ in range(8)]))
    np.save(tmp_path / "ids.npy", np.arange(128).reshape(8, 16))
    np.save(tmp_path / "mask.npy", np.ones((8, 16), dtype=np.int64))
    torch_file(tmp_path / "model.pt", {"layers.0.experts.weight": np.ones((4, 4), np.int64)})
    (tmp_path / "config.json").write_text('{"num_experts": 64, "moe_layers": [1, 2, 3], "router_aux_loss_coef": 0.001}')
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 2.0, "tokens_per_expert": [1, 2, 3]}\n')
    (tmp_path / "loss.csv").write_text("step,loss\n1,2.0\n")
    (tmp_path / "broken.pt").write_bytes(b"PK\x03\x04 nothing")
    (tmp_path / "train.log").write_text("tokens_per_expert: [1, 2, 3]\n")
    (tmp_path / "empty").write_bytes(b"")
    for path in tmp_path.iterdir():
        assert not is_loads(path), path.name


def test_old_tensor_files_that_would_run_code_are_refused_and_cut_ones_told(tmp_path: Path) -> None:
    path = as_legacy(tmp_path, uneven())
    whole = path.read_bytes()
    for cut in (20, 60, len(whole) // 3, len(whole) - 1200):
        path.write_bytes(whole[:cut])
        assert not told(path) and remarks(path)
    marker = tmp_path / "ran"

    class Bad:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {marker}",)

    path.write_bytes(whole[:15] + pickle.dumps(1001, 2) + pickle.dumps({}, 2) + pickle.dumps(Bad(), 2))
    assert not told(path) and "refers to" in remarks(path)
    assert not marker.exists()


def test_arrays_without_names_are_told_by_their_numbers_or_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, *uneven()[0])
    assert is_loads(path)
    assert told(path)["experts.layers"] == LAYERS and told(path)["experts.worst_layer"] == "2"
    np.savez(path, np.arange(16), np.arange(100, 132))
    assert is_loads(path)
    assert not told(path) and "carry no names (arr_0, arr_1)" in remarks(path)
    np.savez(path, np.random.default_rng(0).normal(size=(4, 16)))
    assert not is_loads(path)


def test_archives_of_other_things_are_still_opened(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        archive.writestr("a.log", "step 1\n")
    assert not is_packed_loads(tmp_path / "logs.zip")
    assert is_packed_loads(as_npz(tmp_path, even()))
    assert is_packed_loads(as_torch(tmp_path, even()))


def roots(folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    run(["analyze", str(folder), "--json"])
    report: dict[str, Any] = valid(capsys.readouterr().out)
    assert "expert_loads" in {given["kind"] for given in report["inputs"]}
    return [finding["cause"] for finding in report["findings"] if finding["role"] == "root"]


@pytest.mark.parametrize("form", [as_npz, as_torch, as_csv])
def test_the_command_tells_uneven_from_even(
    form: Callable[[Path, Counts], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    form(tmp_path, even())
    assert roots(tmp_path, capsys) == []
    form(tmp_path, uneven())
    launch = "torchrun --nproc_per_node 8 pretrain_gpt.py --num-experts 16 --expert-model-parallel-size 8\n"
    (tmp_path / "run.sh").write_text(launch)
    assert roots(tmp_path, capsys) == ["moe-load-imbalance"]


@pytest.mark.parametrize("form", [as_npz, as_torch, as_legacy])
def test_archives_with_changed_bytes_end_nothing(form: Callable[[Path, Counts], Path], tmp_path: Path) -> None:
    path = form(tmp_path, uneven())
    data = path.read_bytes()
    chance = random.Random(11)
    for _ in range(100):
        changed = bytearray(data)
        for _ in range(4):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        path.write_bytes(changed)
        is_packed_loads(path)
        read_loads([(path, path.name)])


def tensor_file(folder: Path, form: str, data: bytes) -> Path:
    """A file of torch.save with this pickle and a storage of eight numbers."""
    path, numbers = folder / "expert_load.pt", np.arange(100, 108).tobytes()
    if form == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a/data.pkl", data)
            archive.writestr("a/data/0", numbers)
    else:
        head = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19." + pickle.dumps(1001, 2) + pickle.dumps({}, 2)
        path.write_bytes(head + data + pickle.dumps(["0"], 2) + (8).to_bytes(8, "little") + numbers)
    return path


def tensor(shape: tuple[int, ...], stride: tuple[int, ...], built: bytes = b"") -> bytes:
    """The pickle of a tensor over that storage, and what it does to the tensor afterwards."""
    name = b"tokens_per_expert"
    storage = b"(X\x07\0\0\0storagectorch\nLongStorage\nX\x01\0\0\x000X\x03\0\0\0cpuK\x08tQ"
    place = b"".join(pickle.dumps(part, 2)[2:-1] for part in (0, shape, stride))
    head = b"\x80\x02}X" + len(name).to_bytes(4, "little") + name + b"ctorch._utils\n_rebuild_tensor_v2\n("
    return head + storage + place + b"\x89}tR" + built + b"s."


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_a_pickle_cannot_change_a_tensor_to_lie_beside_its_storage(form: str, tmp_path: Path) -> None:
    assert told(tensor_file(tmp_path, form, tensor((8,), (1,))))["experts.tokens"] == 828
    state = pickle.dumps(["0", "i8", 0, (1000, 8), (-(1 << 20), 1)], 2)[2:-1]
    path = tensor_file(tmp_path, form, tensor((8,), (1,), state + b"b"))
    assert is_loads(path) and not told(path)
    assert "list of tensors is damaged" in remarks(path)


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_a_tensor_that_repeats_its_storage_without_end_is_refused(form: str, tmp_path: Path) -> None:
    path = tensor_file(tmp_path, form, tensor((1 << 24, 8), (0, 1)))
    assert not told(path) and "repeats the same data" in remarks(path)


@pytest.mark.parametrize("form", ["zip", "legacy"])
def test_pickles_that_grow_without_end_are_refused(form: str, tmp_path: Path) -> None:
    leaf: Any = {"a": 1}
    for _ in range(12):
        leaf = {f"{n}": leaf for n in range(40)}
    for data, reason in ((pickle.dumps(leaf, 2), "more than"), (b"\x80\x02}r\xff\xff\xff\x7f.", "damaged")):
        path = tensor_file(tmp_path, form, data)
        assert is_loads(path) and not told(path)
        assert reason in remarks(path)


def test_an_archive_that_unpacks_without_end_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "tokens_per_expert.npz"
    np.savez_compressed(path, tokens_per_expert=np.zeros((400_000, 8), dtype=np.int64))
    assert path.stat().st_size < 1 << 17
    assert is_packed_loads(path) and not told(path)
    assert "it was not opened" in remarks(path)
