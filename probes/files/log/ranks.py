"""Tells ranks by the folders that torchrun makes."""

from __future__ import annotations

from collections.abc import Sequence

from probes.files.log.place import place


def ranks_by_folder(names: Sequence[str]) -> dict[str, int]:
    """torchrun names folders by local rank, which is the rank if no two nodes' logs are among the files."""
    local = {name: found.local_rank for name in names if (found := place(name)).attempt is not None}
    folders = {name.rsplit("/", 2)[0] for name in local}
    if len(folders) != 1:
        return {}
    return {name: rank for name, rank in local.items() if rank is not None}
