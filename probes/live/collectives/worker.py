"""One rank of a collective test, or all ranks of this machine: a script for the job's own interpreter.

It uses the standard library and the job's torch, nothing of pdoctor. It does what it is told over a socket, one JSON
object a line, and answers each order with what it took. When the socket closes, it ends at once, wherever it hangs.

orders:  {"id", "do": "init" | "group" | "pair" | "ping" | "again" | "bye" | OPERATION, "bytes"?, "calls"?, "peer"?,
         "group"?, "members"?}: OPERATION runs among the members of `group`, or among all ranks, which are `members`
         where "init" names some. "again" ends a rank, wherever it hangs, and starts it anew
answers: {"hello": rank, "host", "token"}, {"id", "seconds": [...], "bytes", "wrong"} or {"id", "error"}, {"pong": id}
"""

from __future__ import annotations

import datetime
import json
import os
import queue
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

Json = dict[str, Any]
WARM_UP = 2
PATTERN = 7
AGAIN = 75  # the status of a rank that wants to be started anew


class Channel:
    """Lines of JSON to and from the one who gives orders. Pings are answered while the rank waits in a collective."""

    def __init__(self, address: str, token: str) -> None:
        kind, _, place = address.partition(":")
        if kind == "unix":
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.connect(place)
        else:
            host, _, port = place.rpartition(":")
            self.socket = socket.create_connection((host, int(port)), timeout=30)
            self.socket.settimeout(None)
        self.token, self.lock = token, threading.Lock()
        self.orders: queue.Queue[Json] = queue.Queue()

    def say(self, **values: Any) -> None:
        with self.lock:
            self.socket.sendall(json.dumps(values).encode() + b"\n")

    def listen(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        try:
            for line in self.socket.makefile("rb"):
                order = json.loads(line)
                if order["do"] == "ping":
                    self.say(pong=order["id"])
                elif order["do"] == "again":
                    os._exit(AGAIN)
                else:
                    self.orders.put(order)
        except (OSError, ValueError):
            pass
        os._exit(0)


def pattern(torch: Any, count: int, device: Any, scale: int = 1) -> Any:
    """Small whole numbers, which sums of ranks keep exact in single precision."""
    line = torch.arange(1, PATTERN + 1, dtype=torch.float32, device=device) * scale
    return line.repeat(count // PATTERN + 1)[:count].contiguous()


class Rank:
    def __init__(self, rank: int, world: int, local: int, settings: Json, store: Any) -> None:
        torch, dist = import_module("torch"), import_module("torch.distributed")
        self.torch: Any = torch
        self.dist: Any = dist
        self.rank, self.world, self.store = rank, world, store
        self.backend, self.wait = settings["backend"], settings["timeout"]
        self.groups: dict[str, tuple[Any, list[int]]] = {}
        self.device = torch.device("cuda", local) if self.backend == "nccl" else torch.device("cpu")

    def init(self, order: Json) -> Json:
        torch, dist = self.torch, self.dist
        if "members" in order:
            self.rank, self.world = order["members"].index(self.rank), len(order["members"])
            self.store = dist.PrefixStore("-".join(map(str, order["members"])), self.store)
        if self.backend == "nccl":
            torch.cuda.set_device(self.device)
        else:
            torch.set_num_threads(1)
        limit = datetime.timedelta(seconds=self.wait)
        dist.init_process_group(self.backend, store=self.store, rank=self.rank, world_size=self.world, timeout=limit)
        self.together()
        cuda = self.backend == "nccl"
        nccl = ".".join(str(part) for part in torch.cuda.nccl.version()) if cuda else ""
        name = torch.cuda.get_device_name(self.device) if cuda else "CPU"
        return {"device": name, "torch": torch.__version__, "nccl": nccl}

    def group(self, order: Json) -> Json:
        """Makes a group that this rank is a member of; ranks outside need not know of it.

        The default group is not bound to a device, since groups of a bound one are split off with all of its ranks.
        """
        members = order["members"]
        limit = datetime.timedelta(seconds=self.wait)
        made = self.dist.new_group(members, timeout=limit, use_local_synchronization=True)
        self.groups[order["group"]] = made, members
        self.together(made)
        return {}

    def members(self, order: Json) -> tuple[Any, list[int]]:
        """The group of an order, None for that of all ranks, and its ranks."""
        return self.groups[order["group"]] if "group" in order else (None, list(range(self.world)))

    def together(self, group: Any = None) -> None:
        self.dist.all_reduce(self.torch.ones(1, device=self.device), group=group)
        self.settle()

    def settle(self) -> None:
        if self.device.type == "cuda":
            self.torch.cuda.synchronize()

    def collective(self, order: Json) -> Json:
        """Mean time of a call, and how many values of a first call were wrong."""
        group, members = self.members(order)
        call, result, expected, size = self.prepared(order["do"], order["bytes"] // 4, group, members)
        call()
        self.settle()
        wrong = int((result != expected).sum()) if expected is not None else 0
        for _ in range(WARM_UP - 1):
            call()
        self.together(group)
        start = time.perf_counter()
        for _ in range(order["calls"]):
            call()
        self.settle()
        return {"seconds": [(time.perf_counter() - start) / order["calls"]], "bytes": size, "wrong": wrong}

    def prepared(
        self, name: str, count: int, group: Any, members: list[int]
    ) -> tuple[Callable[[], Any], Any, Any, int]:
        """A call, its result, what that should be, and the bytes as nccl-tests counts them."""
        torch, dist, n, rank = self.torch, self.dist, len(members), members.index(self.rank)
        part = max(1, count // n)
        if name == "all_reduce":
            ours = pattern(torch, max(1, count), self.device, rank + 1)
            result, expected = torch.empty_like(ours), pattern(torch, len(ours), self.device, n * (n + 1) // 2)
            result.copy_(ours)
            dist.all_reduce(result, group=group)
            self.settle()
            # Timed calls go on with zeros: sums of sums would overflow. What is checked is the first call's result.
            work = torch.zeros_like(ours)
            return (lambda: dist.all_reduce(work, group=group)), result, expected, 4 * len(ours)
        if name == "broadcast":
            result = pattern(torch, max(1, count), self.device, rank + 1)
            return (
                (lambda: dist.broadcast(result, members[0], group=group)),
                result,
                pattern(torch, len(result), self.device),
                4 * len(result),
            )
        if name == "all_gather":
            ours, result = pattern(torch, part, self.device, rank + 1), torch.empty(part * n, device=self.device)
            expected = torch.cat([pattern(torch, part, self.device, other + 1) for other in range(n)])
            return (lambda: dist.all_gather_into_tensor(result, ours, group=group)), result, expected, 4 * part * n
        if name == "reduce_scatter":
            ours, result = pattern(torch, part * n, self.device, rank + 1), torch.empty(part, device=self.device)
            expected = pattern(torch, part * n, self.device, n * (n + 1) // 2)[part * rank : part * (rank + 1)]
            return (lambda: dist.reduce_scatter_tensor(result, ours, group=group)), result, expected, 4 * part * n
        if name == "all_to_all":
            ours, result = pattern(torch, part * n, self.device, rank + 1), torch.empty(part * n, device=self.device)
            whole, here = pattern(torch, part * n, self.device), slice(part * rank, part * (rank + 1))
            expected = torch.cat([whole[here] * (other + 1) for other in range(n)])
            return (lambda: dist.all_to_all_single(result, ours, group=group)), result, expected, 4 * part * n
        if name == "send_recv":
            ours = pattern(torch, max(1, count), self.device, rank + 1)
            result, before = torch.empty_like(ours), (rank - 1) % n
            expected = pattern(torch, len(ours), self.device, before + 1)
            to, source = members[(rank + 1) % n], members[before]
            return (lambda: self.exchange(ours, to, result, source, group)), result, expected, 4 * len(ours)
        raise ValueError("no such operation: " + name)

    def exchange(self, ours: Any, to: int, result: Any, source: int, group: Any = None) -> None:
        dist = self.dist
        both = [dist.P2POp(dist.isend, ours, to, group), dist.P2POp(dist.irecv, result, source, group)]
        for work in dist.batch_isend_irecv(both):
            work.wait()

    def pair(self, order: Json) -> Json:
        """The times of single exchanges with one other rank; the first one opens the connection and does not count."""
        count, peer = order["bytes"] // 4, order["peer"]
        ours, result = (
            pattern(self.torch, count, self.device, self.rank + 1),
            self.torch.empty(count, device=self.device),
        )
        seconds = []
        for _ in range(order["calls"] + 1):
            start = time.perf_counter()
            self.exchange(ours, peer, result, peer)
            self.settle()
            seconds.append(time.perf_counter() - start)
        wrong = int((result != pattern(self.torch, count, self.device, peer + 1)).sum())
        return {"seconds": seconds[1:], "bytes": 4 * count, "wrong": wrong}

    def obey(self, order: Json) -> Json:
        if order["do"] == "init":
            return self.init(order)
        if order["do"] == "group":
            return self.group(order)
        return self.pair(order) if order["do"] == "pair" else self.collective(order)


def serve(rank: int, world: int, local: int, settings: Json, channel: Channel, store: Any) -> None:
    """Does what it is told until it is told to stop."""
    channel.say(hello=rank, host=settings["host"], token=channel.token, backend=settings["backend"])
    channel.listen()
    one = Rank(rank, world, local, settings, store)
    while True:
        order = channel.orders.get()
        if order["do"] == "bye":
            os._exit(0)
        try:
            answer = one.obey(order)
        except Exception as error:
            answer = {"error": (type(error).__name__ + ": " + str(error)).split("\n")[0][:300]}
        channel.say(id=order["id"], **answer)


def devices() -> int:
    """How many GPUs torch sees, asked in a process of its own: CUDA must not be touched before the ranks fork."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        count = 0
        try:
            torch: Any = import_module("torch")
            if torch.cuda.is_available() and torch.distributed.is_nccl_available():
                count = torch.cuda.device_count()
        finally:
            os.write(writer, str(count).encode())
            os._exit(0)
    os.close(writer)
    count = int(os.read(reader, 16) or 0)
    os.close(reader)
    os.waitpid(child, 0)
    return count


def local_device(local: int, found: int) -> int:
    """The GPU of a rank: its local number, or the only one it sees where the launcher shows each rank its own."""
    if local < found or found == 0:
        return local
    if found == 1:
        return 0
    raise SystemExit(f"local rank {local}, but torch sees {found} GPUs: NCCL needs one for each rank of the machine")


def choose(settings: Json) -> tuple[str, int]:
    """Backend, and the number of ranks on this machine where it was left open."""
    found = devices() if settings["backend"] in ("auto", "nccl") else 0
    backend = settings["backend"] if settings["backend"] != "auto" else ("nccl" if found else "gloo")
    if backend == "nccl" and not found:
        raise SystemExit("torch sees no GPU with NCCL: NCCL cannot be tested here")
    ranks = settings.get("ranks") or (found if backend == "nccl" else min(4, os.cpu_count() or 1))
    if backend == "nccl" and ranks > found:
        raise SystemExit(f"{ranks} ranks, but torch sees {found} GPUs: NCCL needs one for each")
    return backend, ranks


def launch(settings: Json) -> None:
    """All ranks of this machine, forked from one process that has imported torch already."""
    torch: Any = import_module("torch")
    dist: Any = import_module("torch.distributed")
    if not dist.is_available():
        raise SystemExit(f"this torch ({torch.__version__}) is built without torch.distributed")
    settings["backend"], world = choose(settings)
    channel = Channel(settings["report"], settings["token"])
    channel.say(launch=world, backend=settings["backend"], token=settings["token"])
    if settings["backend"] == "gloo":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")

    def start(rank: int, attempt: int) -> None:
        child = os.fork()
        if not child:
            try:
                channel.socket.close()
                store = dist.FileStore(settings["store"] + str(attempt), world)
                serve(rank, world, rank, settings, Channel(settings["report"], settings["token"]), store)
            finally:
                os._exit(1)
        children[child] = rank, attempt

    children: dict[int, tuple[int, int]] = {}
    for rank in range(world):
        start(rank, 0)
    while children:
        child, status = os.wait()
        rank, attempt = children.pop(child)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == AGAIN:
            start(rank, attempt + 1)
            continue
        ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
        if status:
            channel.say(ended=rank, how=ended, token=settings["token"])


def join(settings: Json) -> None:
    """One rank of many that a launcher started: meets the others at MASTER_ADDR and learns there where to report."""
    dist: Any = import_module("torch.distributed")
    rank, world, local = settings["rank"], settings["world"], settings["local"]
    found = devices() if settings["backend"] in ("auto", "nccl") else 0
    if settings["backend"] == "auto":
        settings["backend"] = "nccl" if found else "gloo"
    if settings["backend"] == "nccl":
        local = local_device(local, found)
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    ours = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    limit = datetime.timedelta(seconds=settings["timeout"])
    served = dist.TCPStore(host, port, None, True, limit, wait_for_workers=False) if ours else None
    for attempt in range(1 << 20):
        child = os.fork()
        if not child:
            try:
                store = dist.PrefixStore("pdoctor", dist.TCPStore(host, port, None, False, limit))
                if rank == 0:
                    store.set("report", json.dumps([settings["report"], settings["token"]]))
                    address, token = settings["report"], settings["token"]
                else:
                    address, token = json.loads(store.get("report"))
                    address = "tcp:" + host + ":" + address.rpartition(":")[2]
                store = dist.PrefixStore(str(attempt), store)
                serve(rank, world, local, settings, Channel(address, token), store)
            except BaseException as problem:
                print(type(problem).__name__ + ": " + str(problem).split("\n")[0], file=sys.stderr, flush=True)
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        if not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == AGAIN):
            break
    del served
    raise SystemExit(os.waitstatus_to_exitcode(status) and 1)


def main() -> None:
    sys.path.pop(0)  # the folder of this file, whose names are not the job's
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    given = json.loads(sys.stdin.readline())
    try:
        join(given) if "rank" in given else launch(given)
    except ImportError as problem:
        raise SystemExit(
            f"{sys.executable} cannot import torch ({problem}): name the interpreter of the job with --python"
        ) from None


if __name__ == "__main__":
    main()
