"""What the recorder must bear within one process; each scenario is a function that asserts. Needs torch alone."""

from __future__ import annotations

import copy
import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from doctor import recorder
from doctor.recorder import experts, memory


class Items(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.randn(4)


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def train(net: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 5, run: Any = None) -> None:
    for _ in range(steps):
        (run or net)(torch.randn(3, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def lines(folder: str, kind: str = "") -> list[dict[str, Any]]:
    recorder.detach()
    told = [json.loads(line) for line in (Path(folder) / "rank0.jsonl").read_text().splitlines()]
    return [line for line in told if line.get("record") == kind] if kind else told


def plain_loop(folder: str) -> None:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    recorder.attach(net, optimizer, folder)
    train(net, optimizer, 12)
    told = lines(folder)
    assert told[0]["rank"] == 0 and told[0]["parameters"] == 4 * 8 + 8 + 8 * 2 + 2
    assert [line["passes"] for line in told if line.get("record") == "step"] == [1] * 12
    (held,) = [line for line in told if line.get("record") == "held"]
    assert held["parameters"]["cpu"] == held["gradients"]["cpu"] == 4 * told[0]["parameters"]
    assert held["optimizer"]["cpu"] >= 2 * held["parameters"]["cpu"]
    assert told[-1]["record"] == "end" and told[-1]["steps"] == 12


def compiled_whole(folder: str) -> None:
    """Hooks must not break a graph that may not break, nor be missed by those who count passes."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    recorder.attach(net, optimizer, folder)
    train(net, optimizer, 4, torch.compile(net, fullgraph=True, backend="aot_eager"))
    assert [line["passes"] for line in lines(folder, "step")] == [1] * 4


def copies_and_pickles(folder: str) -> None:
    net = model()
    optimizer = torch.optim.AdamW(net.parameters())
    recorder.attach(net, optimizer, folder)
    train(net, optimizer)
    copy.deepcopy(net)(torch.randn(3, 4)).sum().backward()
    copy.deepcopy(optimizer)
    saved = io.BytesIO()
    torch.save(net, saved)
    assert b"doctor" not in saved.getvalue()
    saved.seek(0)
    assert torch.load(saved, weights_only=False)(torch.randn(3, 4)).shape == (3, 2)
    assert len(lines(folder, "step")) == 5


def several_attach_calls(folder: str) -> None:
    first, second = model(), model()
    one, two = (torch.optim.SGD(net.parameters(), lr=0.1) for net in (first, second))
    recorder.attach(first, one, folder)
    recorder.attach(second, two)
    recorder.attach(first, one)
    for _ in range(4):
        train(second, two, 1)
        train(first, one, 1)
    assert len(lines(folder, "step")) == 4


def forked_workers(folder: str) -> None:
    """Workers of a loader, and a process that is forked, write nothing."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    recorder.attach(net, optimizer, folder)
    for batch in DataLoader(Items(), batch_size=16, num_workers=2):
        net(batch).sum().backward()
        optimizer.step()
    child = os.fork()
    if child == 0:
        train(net, optimizer, 3)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    found = lines(folder, "step")
    assert len(found) == 4 and all(line["data"] > 0 for line in found)


def own_errors(folder: str) -> None:
    """Whatever part fails, training goes on, one line says so, and nothing more is written."""
    for owner, name in ((memory, "counters"), (memory, "parameters"), (experts, "sums"), (json, "dumps")):
        kept = getattr(owner, name)
        net = nn.Sequential(model())
        net[0].register_buffer("tokens_per_expert", torch.ones(4))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        recorder.attach(net, optimizer, f"{folder}/{name}")
        setattr(owner, name, lambda *_, **__: 1 / 0)
        try:
            train(net, optimizer, 6)
            recorder.detach()
            for thread in threading.enumerate():  # what writes may come later than the job's own last word
                if thread.name == "pdoctor recorder":
                    thread.join(60)
        finally:
            setattr(owner, name, kept)
        train(net, optimizer, 2)


def attached_to_nonsense(folder: str) -> None:
    recorder.attach(object(), object(), folder)
    recorder.attach(None)
    recorder.loss("no number")
    recorder.expert_tokens(1, object())
    recorder.step()


def by_hand(folder: str) -> None:
    net = model()
    recorder.attach(net, None, folder, every=2)
    for number in range(4):
        with recorder.data():
            batch = torch.randn(3, 4)
        net(batch).sum().backward()
        recorder.loss(torch.tensor(float("nan") if number == 3 else 1.5))
        recorder.expert_tokens("decoder.7", [3, 1, 0, 4])
        recorder.expert_tokens("decoder.8", torch.tensor([1, 2]))
        recorder.step()
    told = lines(folder)
    assert [line["loss"] for line in told if line.get("record") == "loss"] == [1.5, 1.5, 1.5, "nan"]
    loads = [(line["step"], line["layer"]) for line in told if line.get("record") == "experts"]
    assert sorted(loads) == [(0, "decoder.7"), (0, "decoder.8"), (2, "decoder.7"), (2, "decoder.8")]
    assert all("data" in line for line in told if line.get("record") == "step")


def wrapped_optimizers(folder: str) -> None:
    """An optimizer that is none of torch's, as Megatron's and DeepSpeed's are: steps, states, what step() gives."""

    class Mixed:
        def __init__(self, inside: torch.optim.Optimizer) -> None:
            self.optimizer = inside
            self.copies = [p.detach().clone().float() for p in inside.param_groups[0]["params"]]

        def step(self) -> tuple[bool, float]:
            for p in self.optimizer.param_groups[0]["params"]:
                p.data.add_(p.grad, alpha=-0.1)
            return True, 1.0

    net = model()
    optimizer = Mixed(torch.optim.AdamW(net.parameters()))
    del optimizer.optimizer.__dict__["_optimizer_step_post_hooks"]
    recorder.attach([net], optimizer, folder)
    for _ in range(4):
        net(torch.randn(3, 4)).sum().backward()
        assert optimizer.step() == (True, 1.0)
        net.zero_grad()
    assert len(lines(folder, "step")) == 4


def models_are_let_go(folder: str) -> None:
    """A job that makes its model anew, since the first did not fit, gets the memory of the first back."""
    import gc
    import weakref

    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    recorder.attach(net, optimizer, folder)
    train(net, optimizer, 4)
    gone = weakref.ref(net)
    del net, optimizer
    gc.collect()
    assert gone() is None
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    recorder.attach(net, optimizer, folder)
    train(net, optimizer, 4)
    assert len(lines(folder, "step")) == 8


def routers(folder: str) -> None:
    """What routers give, as in Megatron Core, torchtitan and Transformers before and since version 5."""
    chosen = torch.tensor([[0, 2], [2, 1], [2, 3]])
    wanted = [1.0, 1.0, 3.0, 1.0]
    routed = torch.zeros(3, 4, dtype=torch.bool).scatter(1, chosen, True)
    logits = torch.zeros(3, 4).scatter(1, chosen, 5.0)
    gives = {
        "megatron": (torch.rand(3, 4), routed),
        "torchtitan": (torch.rand(3, 2), chosen, torch.tensor(wanted)),
        "transformers": (logits, torch.rand(3, 2), chosen),
        "before": logits,
    }
    for name, output in gives.items():
        found = experts.counts(output, nn.Module(), 4, 2)
        assert [float(value) for value in found] == wanted, name
    assert experts.counts(torch.rand(3, 7), nn.Module(), 4, 2) is None

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.num_experts, self.top_k = 4, 2
            self.gate = nn.Linear(8, 4, bias=False)

    found = [(name, count, top) for name, _, count, top in experts.watched(nn.ModuleList([Block(), nn.Linear(8, 4)]))]
    assert found == [("0.gate", 4, 2)]


def kept_sums(folder: str) -> None:
    """Sums that the framework sets back in a hook of its own before each step, as torchtitan does."""

    class Experts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model()
            self.register_buffer("tokens_per_expert", torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.tokens_per_expert.add_(torch.tensor([6.0, 0.0, 3.0, 3.0]))
            return self.net(x)

    net = nn.Sequential(Experts())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def set_back(*_: Any) -> None:
        net[0].tokens_per_expert.zero_()

    optimizer.register_step_pre_hook(set_back)
    recorder.attach(net, optimizer, folder, every=2)
    train(net, optimizer, 5)
    found = lines(folder, "experts")
    assert [line["tokens_per_expert"] for line in found] == [[6.0, 0.0, 3.0, 3.0]] * 3


def switched_off(folder: str) -> None:
    os.environ["PDOCTOR_RECORD"] = "off"
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    recorder.attach(net, optimizer, folder)
    train(net, optimizer)
    recorder.detach()
    assert not Path(folder).exists() or not list(Path(folder).iterdir())


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
    print("passed")
