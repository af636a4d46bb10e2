"""Free space."""

from __future__ import annotations

from tests.probes.files.node_dump.dumps import kinds, node, survives

DF = """\
Filesystem      Size  Used Avail Use% Mounted on
overlay         1.8T  1.8T     0 100% /
tmpfs            64M     0   64M   0% /dev
shm              64M   60M  4.0M  94% /dev/shm
/dev/nvme0n1p1  3.5T  1.0T  2.5T  29% /data
"""


def test_shared_memory_and_full_disks() -> None:
    found = node(DF)
    assert found["node.shm_total"] == 64 << 20
    assert found["node.shm_used"] == 60 << 20
    assert found["node.shm_free"] == 4 << 20
    assert found["node.root_free"] == 0
    assert found["node.disks_full"] == ("/",)


def test_counted_in_blocks() -> None:
    found = node("Filesystem     1K-blocks   Used Available Use% Mounted on\ntmpfs  65536  1024  64512   2% /dev/shm\n")
    assert found["node.shm_total"] == 64 << 20


def test_with_the_type_of_the_file_system_and_no_heading() -> None:
    assert node("tmpfs tmpfs 126G 0 126G 0% /dev/shm\n")["node.shm_total"] == 126 << 30


def test_inodes_are_no_bytes() -> None:
    found = node("Filesystem Inodes IUsed IFree IUse% Mounted on\n/dev/sda1 1000 1000 0 100% /\n")
    assert found == {"node.inodes_full": ("/",)}


def test_the_size_a_mount_was_made_with() -> None:
    assert node("shm on /dev/shm type tmpfs (rw,nosuid,nodev,noexec,relatime,size=65536k,inode64)\n") == {
        "node.shm_total": 64 << 20
    }


def test_a_note_with_the_command_before_it() -> None:
    assert node("df -h /dev/shm: tmpfs 256G 4.0K 256G 1% /dev/shm\n")["node.shm_total"] == 256 << 30


def test_a_message_about_shared_memory_is_none() -> None:
    assert kinds("RuntimeError: unable to write to file </torch_1_2>: No space left on /dev/shm\n") == ()
    assert kinds("see Filesystem usage at 91% /dev/shm\n") == ()


def test_damage() -> None:
    survives(DF)
