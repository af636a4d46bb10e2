"""A training job for tests: data parallel, or FSDP2, or plain, with experts; each fault is an option. Needs torch."""

from __future__ import annotations

import argparse
import contextlib
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset

WIDTH, EXPERTS, TOP, TOKENS = 32, 8, 2, 64


class Router(nn.Module):
    """Gives scores, experts chosen and tokens of each expert, as the routers of torchtitan do."""

    def __init__(self, hot: float) -> None:
        super().__init__()
        self.num_experts, self.top_k = EXPERTS, TOP
        self.weight = nn.Parameter(torch.randn(EXPERTS, WIDTH) * 0.02)
        self.register_buffer("lift", torch.tensor([hot] + [0.0] * (EXPERTS - 1)))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        scores = torch.softmax(x @ self.weight.T + torch.rand(x.shape[0], EXPERTS) + self.lift, dim=-1)
        top, chosen = scores.topk(TOP, dim=-1)
        return top, chosen, torch.bincount(chosen.flatten(), minlength=EXPERTS)


class Experts(nn.Module):
    def __init__(self, hot: float) -> None:
        super().__init__()
        self.router = Router(hot)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        top, chosen, _ = self.router(x)
        # every expert takes part, so that data parallelism finds all gradients
        weights = torch.zeros(x.shape[0], EXPERTS).scatter(1, chosen, top)
        return x + sum(weights[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


class Model(nn.Module):
    def __init__(self, hot: float, layers: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Experts(hot if layer == 1 else 0.0) for layer in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Data(Dataset[torch.Tensor]):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(self.seconds)
        return torch.randn(TOKENS, WIDTH)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--wrap", default="ddp", choices=("ddp", "fsdp2", "none"))
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--accumulate", type=int, default=4)
    parser.add_argument("--no-sync", action="store_true", help="reduces in the last micro-batch alone")
    parser.add_argument("--hot", type=float, default=0.0, help="what the router adds to expert 0 of the second layer")
    parser.add_argument("--slow", type=float, default=0.0, help="seconds of the data loader a batch, on --slow-rank")
    parser.add_argument("--slow-rank", type=int, default=-1)
    parser.add_argument("--compute", type=float, default=0.0, help="seconds that a micro-batch takes at least")
    parser.add_argument("--break-recorder", action="store_true", help="its own code fails in the third step")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--no-recorder", action="store_true")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rank = 0
    if given.wrap != "none":
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    model: nn.Module = Model(given.hot)
    if given.wrap == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    elif given.wrap == "fsdp2":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("dp",))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if not given.no_recorder:
        from doctor import recorder

        recorder.attach(model, optimizer)
    if given.break_recorder:
        from doctor.recorder import memory

        memory.parameters = None  # type: ignore[assignment]
    slow = given.slow if given.slow_rank in (-1, rank) else 0.0
    batches = iter(DataLoader(Data(slow), batch_size=None, num_workers=given.workers))
    for _ in range(given.steps):
        for micro in range(given.accumulate):
            last = micro == given.accumulate - 1
            quiet: contextlib.AbstractContextManager[object] = contextlib.nullcontext()
            if given.no_sync and not last and given.wrap == "ddp":
                quiet = model.no_sync()
            if given.no_sync and given.wrap == "fsdp2":
                model.set_requires_gradient_sync(last)
            with quiet:
                out = model(next(batches))
                time.sleep(given.compute)
                (out.square().mean() / given.accumulate).backward()
        optimizer.step()
        optimizer.zero_grad()
    if given.wrap != "none":
        dist.destroy_process_group()
    print("done")


if __name__ == "__main__":
    main()
