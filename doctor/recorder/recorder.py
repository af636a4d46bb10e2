"""Puts the parts together: hooks in, a line a step out. All of it runs within the job and must never disturb it."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from math import isfinite
from time import perf_counter
from typing import Any

from doctor.recorder import experts, loader, memory, pipe, place
from doctor.recorder.file import RecordFile
from doctor.recorder.gradients import sync_of
from doctor.recorder.hook import Hook
from doctor.recorder.later import Later
from doctor.recorder.passes import COUNTED, Passes, grad_enabled
from doctor.recorder.snapshot import Snapshots

HELD_AT = 2
"""The step in which tensors are counted by category: optimizers make their states in the first."""


class Recorder:
    """One recording. `on` until its own first error, the end of the program, or the beginning of a forked one.

    Models and optimizers are not kept alive: a job that makes them anew gets their memory back.
    """

    def __init__(self, folder: str, every: int) -> None:
        self.on, self.pid = True, os.getpid()
        self._folder, self._every = folder, max(int(every), 1)
        self._file: RecordFile | None = None
        self._snapshots: Snapshots | None = None
        self._later = Later()
        self._models: list[weakref.ref[Any]] = []
        self._optimizers: list[weakref.ref[Any]] = []
        self._passes: list[Passes] = []
        self._layers = experts.Layers()
        self._sums: list[tuple[str, weakref.ref[Any]]] = []
        self._tally = memory.Tally()
        self._held: dict[str, Any] = {}
        self._step, self._by_hand = 0, False
        self._thread, self._waits = threading.get_ident(), 0
        self._clear()
        self._end = perf_counter()
        loader.watch(self._wait_begins, self._wait_ends)
        atexit.register(self.close)
        os.register_at_fork(after_in_child=self._forked)

    def attach(self, model: Any, optimizer: Any) -> None:
        """Adds a model, or a list of its chunks, and what steps it; the first optimizer marks the ends of steps."""
        parts = [part for part in (model if isinstance(model, list | tuple) else [model]) if part is not None]
        for part in parts:
            if not any(part is known for known in _alive(self._models)):
                self._watch(part)
        engine = next((part for part in parts if hasattr(part, "is_gradient_accumulation_boundary")), None)
        chosen = getattr(engine, "optimizer", None) or optimizer
        for one in chosen if isinstance(chosen, list | tuple) else [chosen]:
            known = _alive(self._optimizers)
            if one is not None and not any(one is other for other in known):
                if not known:
                    self._bound(one)
                self._optimizers.append(weakref.ref(one))
        self._end = perf_counter()

    def step_by_hand(self) -> None:
        self._by_hand = True
        self.safely(self._step_ends)

    def loss(self, value: Any) -> None:
        self.safely(self._loss, value)

    def expert_tokens(self, layer: Any, tokens: Any) -> None:
        self.safely(self._tokens, layer, tokens)

    def waited(self, seconds: float) -> None:
        self._data += seconds
        self._loaded = True

    def safely(self, work: Callable[..., Any], *given: Any) -> Any:
        """What `work` gives; its error switches the recorder off."""
        if not self.on:
            return None
        try:
            return work(*given)
        except Exception as error:
            self.stop(error)
            return None

    def stop(self, error: BaseException) -> None:
        """Switches the recorder off after its own error, and says so once."""
        if not self.on:
            return
        self.on = False
        text = f"{type(error).__name__}: {error}"[:300]
        print(f"pdoctor recorder: off: {text}", file=sys.stderr)
        self._no_snapshots()
        if self._file is not None:
            self._file.put({"record": "off", "why": text})

    def close(self) -> None:
        """Writes what is left."""
        self.safely(self._later.arrived)
        self._no_snapshots()
        if self.on and self._file is not None:
            self._file.put({"record": "end", "at": round(time.time(), 3), "steps": self._step})
        if self._file is not None:
            self._file.close()
        self.on = False  # only now: an error of the last lines is told as well
        self._no_snapshots()

    def _forked(self) -> None:
        """A worker of a data loader is not the rank: its copy is silent."""
        if self._snapshots is not None:
            self._snapshots.leave()
        self.on, self._file, self._snapshots = False, None, None

    def _put(self, line: dict[str, Any]) -> None:
        if self._file is None:  # by now the ranks know each other
            path = place.path(self._folder)
            self._file = RecordFile(path, self.stop, begun=partial(self._listen, path))
            self._file.put(self._head())
        self._file.put(line)

    def _listen(self, path: str) -> None:
        """Of a rank that uses a GPU, snapshots can be asked for from now on."""
        if memory.on_gpu():
            with contextlib.suppress(OSError):  # a file system without named pipes
                self._snapshots = Snapshots(path, pipe.Pipe(pipe.path_of(path)), self._put)
            if not self.on:  # an error of its own came first: nobody would look into the pipe
                self._no_snapshots()

    def _no_snapshots(self) -> None:
        snapshots, self._snapshots = self._snapshots, None
        if snapshots is not None:
            snapshots.close()

    def _head(self) -> dict[str, Any]:
        models = _alive(self._models)
        parameters = [p for model in models for p in model.parameters()]
        sizes = [getattr(p, "ds_numel", None) or p.numel() for p in parameters]
        told: dict[str, Any] = {"parameters": sum(sizes)}
        told["trained"] = sum(size for size, p in zip(sizes, parameters, strict=True) if p.requires_grad)
        told["dtypes"] = sorted({str(p.dtype).removeprefix("torch.") for p in parameters})
        told["wrapped"] = sorted({passes.sync.kind for passes in self._passes})
        told["zero_stage"] = next(
            (m.zero_optimization_stage() for m in models if hasattr(m, "zero_optimization_stage")), None
        )
        return place.head({**told, "groups": place.layout(models), "every": self._every})

    def _watch(self, model: Any) -> None:
        passes = Passes(sync_of(model))
        self._models.append(weakref.ref(model))
        self._passes.append(passes)
        model.register_forward_pre_hook(self._hook(lambda *_: self._forward(passes)))
        if passes.sync.by_hook:
            trained = [p for p in model.parameters() if p.requires_grad and p.is_leaf]
            places = sorted({0, len(trained) // 2, len(trained) - 1}) if trained else []
            for index, parameter in enumerate([trained[i] for i in places][:COUNTED]):
                parameter.register_post_accumulate_grad_hook(self._hook(lambda *_, i=index: passes.backward(i)))
        for name, module, count, top in experts.watched(model):
            if experts.sums(module) is not None:
                self._sums.append((name, weakref.ref(module)))
            module.register_forward_hook(self._hook(partial(self._routed, name, count, top)))

    def _hook(self, work: Callable[..., None]) -> Hook:
        return Hook(partial(self.safely, work))

    def _bound(self, optimizer: Any) -> None:
        """Ends of steps: torch's hooks where the optimizer has them, else around its own `step`."""
        for one in (optimizer, *memory.inner(optimizer)):
            if "_optimizer_step_post_hooks" in getattr(one, "__dict__", {}):
                before = one.register_step_pre_hook(self._hook(lambda *_: self._step_comes()))
                # before what sets the sums of tokens back to zero (torchtitan)
                one._optimizer_step_pre_hooks.move_to_end(before.id, last=False)
                one.register_step_post_hook(self._hook(lambda *_: self._marked()))
                return
        own = optimizer.step

        def step(*given: Any, **named: Any) -> Any:
            self.safely(self._step_comes)
            found = own(*given, **named)
            self.safely(self._marked)
            return found

        optimizer.step = step

    def _clear(self) -> None:
        self._data = self._exposed = 0.0
        self._loaded = self._measured = False
        self._begun: float | None = None

    def _wait_begins(self) -> Any:
        if not self.on or threading.get_ident() != self._thread:
            return None  # a thread that fetches ahead keeps nobody waiting
        self._waits += 1
        return self._waits == 1, perf_counter(), self.safely(self._later.mark)

    def _wait_ends(self, begun: Any) -> None:
        if begun is None:
            return
        self._waits -= 1
        outermost, begin, mark = begun
        if outermost:
            self.waited(perf_counter() - begin)
            if mark is not None:
                self.safely(self._exposed_wait, mark)

    def _exposed_wait(self, begin: Any) -> None:
        """Time in which the GPU had nothing to do meanwhile: a mark after the wait runs as soon as it is idle."""
        self._later.between(begin, self._later.mark(), self._add_exposed)

    def _add_exposed(self, seconds: float) -> None:
        self._exposed += seconds
        self._measured = True

    def _forward(self, passes: Passes) -> None:
        if self._begun is None:
            self._begun = perf_counter()
        passes.forward()

    def _routed(self, name: str, count: int | None, top: int | None, module: Any, given: Any, output: Any) -> None:
        if self._step % self._every == 0 and grad_enabled():
            found = experts.counts(output, module, count, top)
            if found is not None:
                self._layers.add(name, found)

    def _step_comes(self) -> None:
        """The optimizer is about to step: gradients are whole, and sums of tokens are not yet set back."""
        if self._step == HELD_AT:
            models = _alive(self._models)
            self._held["parameters"] = self._tally.count(memory.parameters(models))
            self._held["gradients"] = self._tally.count(memory.gradients(models))
        if self._step % self._every == 0:
            for name, module in self._sums:
                kept = experts.sums(module())
                if kept is not None and not self._layers.tells(name):
                    self._later.tell(kept, partial(self._told_sums, name, self._step))

    def _marked(self) -> None:
        if not self._by_hand:
            self._step_ends()

    def _step_ends(self) -> None:
        now = perf_counter()
        line: dict[str, Any] = {"record": "step", "step": self._step, "at": round(time.time(), 3)}
        line["seconds"] = round(now - self._end, 6)
        if self._loaded:
            line["data"] = round(self._data, 6)
        if self._measured:
            line["data_device"] = round(self._exposed, 6)
        if self._begun is not None:
            line["between"] = round(self._begun - self._end, 6)
        counted = [passes.take() for passes in self._passes]
        line |= _most(counted)
        line |= memory.counters()
        self._put(line)
        for layer, tokens in self._layers.take().items():
            self._later.tell(tokens, partial(self._told_experts, layer, self._step))
        if self._step == HELD_AT and self._held:
            own = [one for optimizer in _alive(self._optimizers) for one in memory.inner(optimizer)]
            self._held["optimizer"] = self._tally.count(memory.states(own))
            self._put({"record": "held", "step": self._step, **{k: v for k, v in self._held.items() if v}})
            self._tally = memory.Tally()
        if self._snapshots is not None:
            self._snapshots.at_step(self._step)
        self._clear()
        self._later.arrived()
        self._step += 1
        self._end = perf_counter()

    def _loss(self, value: Any) -> None:
        if hasattr(value, "untyped_storage"):
            self._later.tell(value, partial(self._told_loss, self._step))
        else:
            self._told_loss(self._step, [float(value)])

    def _told_loss(self, step: int, values: list[float]) -> None:
        # JSON has no word for NaN and infinity
        self._put({"record": "loss", "step": step, "loss": values[0] if isfinite(values[0]) else str(values[0])})

    def _tokens(self, layer: Any, tokens: Any) -> None:
        if self._step % self._every == 0:
            if hasattr(tokens, "untyped_storage"):
                self._layers.add(str(layer), tokens, str(layer))
            else:
                self._told_experts(str(layer), self._step, [float(value) for value in tokens])

    def _told_experts(self, layer: str, step: int, tokens: list[float]) -> None:
        if any(tokens):
            self._put({"record": "experts", "step": step, "layer": layer, "tokens_per_expert": tokens})

    def _told_sums(self, name: str, step: int, tokens: list[float]) -> None:
        self._told_experts(experts.layer_of(name), step, self._layers.running(name, tokens))


def _alive(kept: list[weakref.ref[Any]]) -> list[Any]:
    return [one for reference in kept if (one := reference()) is not None]


def _most(counted: list[dict[str, int]]) -> dict[str, int]:
    """Of several models the one with most passes: chunks of a pipeline have as many each."""
    return max(counted, key=lambda one: one.get("passes", 0), default={})
