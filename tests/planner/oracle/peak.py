"""Peak memory of a real PyTorch program that never runs: FSDP2, tensor parallelism and checkpointing on fake tensors.

Every operation of two training steps is dispatched with shapes only; the sizes of all storages alive are summed after
each. Storages that FSDP frees and fills again keep their identity and change their size, so sizes are read anew.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed import destroy_process_group, init_process_group
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.multiprocessing.reductions import StorageWeakRef
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

PRODUCT = torch.ops.aten.mm.default
ATTENTION = {
    getattr(torch.ops.aten, name).default
    for name in ("_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu")
}


class Attention(nn.Module):
    """Grouped-query attention with the fused kernel; keys and values are repeated as torchtitan does."""

    def __init__(self, hidden: int, heads: int, kv_heads: int, width: int) -> None:
        super().__init__()
        self.width, self.repeat = width, heads // kv_heads
        self.query = nn.Linear(hidden, heads * width, bias=False)
        self.key = nn.Linear(hidden, kv_heads * width, bias=False)
        self.value = nn.Linear(hidden, kv_heads * width, bias=False)
        self.output = nn.Linear(heads * width, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, seq, _ = x.shape
        q, k, v = (
            linear(x).view(batch, seq, -1, self.width).transpose(1, 2) for linear in (self.query, self.key, self.value)
        )
        if self.repeat > 1:
            k, v = k.repeat_interleave(self.repeat, 1), v.repeat_interleave(self.repeat, 1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(mixed.transpose(1, 2).reshape(batch, seq, -1))


class FusedNorm(torch.autograd.Function):
    """What the kernel on a GPU keeps: its input and one fp32 number a row. On a CPU it would fall apart into operations
    that keep fp32 copies. Values do not matter here."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight, x[..., 0].float())
        return torch.empty_like(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        x, weight, _ = ctx.saved_tensors
        return torch.empty_like(x), torch.empty_like(weight)


class Norm(nn.RMSNorm):
    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = FusedNorm.apply(x, self.weight)
        return result


class Mlp(nn.Module):
    def __init__(self, hidden: int, inner: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden, inner, bias=False)
        self.up = nn.Linear(hidden, inner, bias=False)
        self.down = nn.Linear(inner, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        hidden = sizes["hidden"]
        self.attention_norm, self.mlp_norm = Norm(hidden), Norm(hidden)
        self.attention = Attention(hidden, sizes["heads"], sizes["kv_heads"], sizes["head_dim"])
        self.mlp = Mlp(hidden, sizes["ffn"])

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Decoder(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes["vocab"], sizes["hidden"])
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes["layers"]))
        self.norm = Norm(sizes["hidden"])
        self.head = nn.Linear(sizes["hidden"], sizes["vocab"], bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Live(TorchDispatchMode):
    """Sums the sizes of all storages that operations have made and that are still alive."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: dict[int, StorageWeakRef] = {}
        self.peak = 0

    def hold(self, value: object) -> None:
        for leaf in tree_leaves(value):
            tensor = leaf.to_local() if isinstance(leaf, DTensor) else leaf
            tensor = getattr(tensor, "elem", tensor)  # a collective that is not waited for yet
            if isinstance(tensor, Tensor):
                reference = StorageWeakRef(tensor.untyped_storage())
                self.storages.setdefault(reference.cdata, reference)

    def now(self) -> int:
        total = 0
        for key, reference in list(self.storages.items()):
            if reference.expired():
                del self.storages[key]
                continue
            storage = torch.UntypedStorage._new_with_weak_ptr(reference.cdata)
            total += storage.nbytes() if storage is not None else 0
        return total

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.hold(result)
        self.peak = max(self.peak, self.now())
        return result


def every_second_product() -> Any:
    """The policy of torchtitan's per-operator checkpointing: attention and every second matrix product are kept."""
    seen = {True: 0, False: 0}

    def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        if op == PRODUCT:
            seen[context.is_recompute] += 1
        keep = op in ATTENTION or op is torch.ops._c10d_functional.reduce_scatter_tensor.default
        keep = keep or (op == PRODUCT and seen[context.is_recompute] % 2 == 1)
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def checkpoint(blocks: nn.ModuleList, recompute: str) -> None:
    contexts: dict[str, Callable[[], Any] | None] = {"full": None, "operators": every_second_product}
    if recompute in contexts:
        given = {"context_fn": contexts[recompute]} if contexts[recompute] else {}
        for number, block in enumerate(blocks):
            blocks[number] = checkpoint_wrapper(block, preserve_rng_state=False, **given)


def cut(model: Decoder, mesh: DeviceMesh) -> None:
    """Tensor and sequence parallelism as torchtitan lays them out."""
    sequence = {"input_layouts": (Shard(1),), "desired_input_layouts": (Replicate(),)}
    ends = {
        "embedding": ColwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=True),
    }
    inside = {
        "attention_norm": SequenceParallel(),
        "mlp_norm": SequenceParallel(),
        "attention": PrepareModuleInput(**sequence),
        "mlp": PrepareModuleInput(**sequence),
        **{f"attention.{name}": ColwiseParallel() for name in ("query", "key", "value")},
        "attention.output": RowwiseParallel(output_layouts=Shard(1)),
        "mlp.gate": ColwiseParallel(),
        "mlp.up": ColwiseParallel(),
        "mlp.down": RowwiseParallel(output_layouts=Shard(1)),
    }
    parallelize_module(model, mesh, ends)
    for block in model.blocks:
        parallelize_module(block, mesh, inside)


def peak(sizes: dict[str, int], seq: int, batch: int, dp: int, tp: int, recompute: str) -> int:
    """B at the peak of the second step of training on one of dp x tp ranks."""
    init_process_group("fake", rank=0, world_size=dp * tp, store=FakeStore())
    mesh = init_device_mesh("cpu", (dp, tp), mesh_dim_names=("dp", "tp"))
    with torch.device("meta"):
        model = Decoder(sizes)
    if tp > 1:
        cut(model, mesh["tp"])
    checkpoint(model.blocks, recompute)
    mixed = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in [*model.blocks, model]:
        fully_shard(block, mesh=mesh["dp"], mp_policy=mixed)
    with FakeTensorMode(allow_non_fake_inputs=True):
        model.to_empty(device="cpu")
        optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
        ids = torch.randint(0, sizes["vocab"], (batch, seq))
        labels = torch.randint(0, sizes["vocab"] // tp, (batch, seq))
        live = Live()
        live.hold([list(model.parameters()), ids, labels])
        with live:
            for _ in range(2):
                live.peak = 0  # the first step also makes what later steps find
                logits = model(ids)
                loss = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(0, 1))
                del logits
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    destroy_process_group()
    return live.peak


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("jobs", help="JSON: list of arguments of `peak`")
    for one in json.loads(parser.parse_args().jobs):
        print(json.dumps(peak(**one)), flush=True)


if __name__ == "__main__":
    main()
