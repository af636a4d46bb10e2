"""Blocks of a pasted text: which command printed what on which host."""

from __future__ import annotations

import time

from hypothesis import given, settings
from hypothesis import strategies as st

from probes.files.node_dump import read_dump
from probes.files.node_dump.hosts import host_of_path
from probes.files.node_dump.text import blocks
from tests.probes.files.node_dump.dumps import facts


def parts(text: str) -> list[tuple[str, str, int]]:
    return [(block.host, block.command, len(block.lines)) for block in blocks("x.txt", text)]


def test_prompts_begin_blocks_and_name_hosts() -> None:
    text = "bob@n1:~/run$ ulimit -n\n1024\n[root@n2 ~]# ulimit -n\n4096\n(base) eve@n3:/data# sudo nproc\n8\n$ df -h\n"
    assert parts(text) == [("n1", "ulimit -n", 1), ("n2", "ulimit -n", 1), ("n3", "nproc", 1), ("n3", "df -h", 1)]
    found = facts(text)
    assert found["node:n1", "node.open_files"] == 1024
    assert found["node:n2", "node.open_files"] == 4096
    assert found["node:n3", "node.cpus_allowed"] == 8


def test_ssh_runs_elsewhere() -> None:
    found = facts("bob@login:~$ ssh n4 ulimit -n\n1024\nbob@login:~$ ulimit -n\n2048\n")
    assert found["node:n4", "node.open_files"] == 1024
    assert found["node:login", "node.open_files"] == 2048


def test_headings_name_hosts_and_commands() -> None:
    text = "=== node-1 ===\nulimit -n: 1024\n=== node-2 ===\nulimit -n: 2048\n"
    found = facts(text)
    assert found["node:node-1", "node.open_files"] == 1024
    assert found["node:node-2", "node.open_files"] == 2048
    assert (
        facts("==> /etc/hosts <==\n127.0.1.1 n9\n# node3: ulimit -n\n4096\n")["node:node3", "node.open_files"] == 4096
    )


def test_a_parallel_shell() -> None:
    text = "n01: Filesystem Size Used Avail Use% Mounted on\nn02: Filesystem Size Used Avail Use% Mounted on\n"
    text += "n01: shm 64M 0 64M 0% /dev/shm\nn02: shm 8.0G 0 8.0G 0% /dev/shm\n"
    found = facts(text)
    assert found["node:n01", "node.shm_total"] == 64 << 20
    assert found["node:n02", "node.shm_total"] == 8 << 30


def test_several_dumps_in_one_text() -> None:
    text = "$ df -h /dev/shm\nshm 64M 0 64M 0% /dev/shm\n$ ulimit -l\n64\n$ lsmod\nnvidia_peermem 16384 0\n"
    assert read_dump("x.txt", text.encode()).kinds == ("df", "ulimit", "lsmod")
    assert facts(text)["node:?", "node.memlock"] == 64 << 10


def test_the_host_of_a_file() -> None:
    for path, host in {
        "node-2_hosts.txt": "node-2",
        "nodeA_ip_route.txt": "nodeA",
        "node1/df.txt": "node1",
        "logs/worker-3/nvidia-smi.txt": "worker-3",
        "cn042-nvidia-smi-q.log": "cn042",
        "gpu-a100-07_topo.txt": "gpu-a100-07",
        "dump/n07/env.txt": "n07",
    }.items():
        assert host_of_path(path) == host, path


def test_files_that_name_no_host() -> None:
    for path in (
        "df.txt",
        "rank0_env.txt",
        "nvidia-smi-q.txt",
        "attempt_0/0/stderr.log",
        "h100_topo.txt",
        "run2/pip.txt",
        "host.txt",
        "gpu0.csv",
        "cuda12_pip.txt",
        "nccl_tests_after.log",
        "host_ibstatus.txt",
    ):
        assert host_of_path(path) == "", path


def test_a_prompt_is_believed_before_the_caller_and_the_caller_before_the_name() -> None:
    assert ("node:a", "node.open_files") in facts("x@a:~$ ulimit -n\n10\n", "node7/u.txt", "b")
    assert ("node:b", "node.open_files") in facts("$ ulimit -n\n10\n", "node7/u.txt", "b")
    assert ("node:node7", "node.open_files") in facts("$ ulimit -n\n10\n", "node7/u.txt")


def test_sources_point_at_the_line_of_the_file() -> None:
    reading = read_dump("x.txt", b"\x1b[1mnote\x1b[0m\r\n\r\ndf -h /dev/shm: tmpfs 2.0G 0 2.0G 0% /dev/shm\r\n")
    source = next(fact.source for fact in reading.facts if fact.name == "node.shm_total")
    assert (source.kind, source.path, source.line) == ("dump", "x.txt", 3)
    assert source.text == "df -h /dev/shm: tmpfs 2.0G 0 2.0G 0% /dev/shm"


def test_encodings_and_binary_files() -> None:
    text = "shm 64M 0 64M 0% /dev/shm\n"
    assert read_dump("x", text.encode("utf-16")).kinds == ("df",)
    assert read_dump("x", b"\xef\xbb\xbf" + text.encode()).kinds == ("df",)
    assert read_dump("x", b"\x80\x00\x00/dev/shm\x00" * 99).facts == ()
    assert read_dump("x", b"").facts == ()


def test_a_large_log_takes_little_time() -> None:
    lines = [
        f"[rank{i % 8}] step {i} loss 2.5 mem 10 GB NCCL_DEBUG=INFO torch inet version /dev/shm %CPU = 3\n"
        for i in range(60000)
    ]
    started = time.thread_time()
    assert read_dump("job.log", "".join(lines).encode()).facts == ()
    assert time.thread_time() - started < 20


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "|",
                " ",
                "\n",
                "\t",
                ":",
                "=",
                "GPU0",
                "X",
                "NVIDIA-SMI",
                "Driver Version: 5",
                "MiB / ",
                "/dev/shm",
                "%",
                "0",
                "99",
                "inet ",
                "dev ",
                "docker run",
                "-e",
                "'",
                '"HostConfig"',
                "{",
                "[",
                "ulimit -n",
                "GPU 00000000:1B:00.0",
                "Fabric",
                "127.0.0.1",
                "node 0 cpus:",
                "$ ",
                "Link 0:",
                "busbw",
                "mtu 1500",
                "<UP>",
                "cuda:0 -> cuda:1",
                "export ",
                "PATH=",
            ]
        ),
        max_size=60,
    )
)
def test_no_text_is_too_strange(pieces: list[str]) -> None:
    read_dump("x.txt", "".join(pieces).encode())
