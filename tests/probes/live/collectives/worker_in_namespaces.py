"""The worker with every rank in a network namespace of its own, as if each were a host.

The namespaces are named in PDOCTOR_TEST_NAMESPACES; the rank moves there before it opens any connection but the one
to the test, which is a file and so the same everywhere.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress

CLONE_NEWNET = 0x40000000

if __name__ == "__main__":
    sys.path.insert(1, os.environ["PDOCTOR_TEST_WORKER"])
    import worker  # type: ignore[import-not-found]

    # Real hosts do not share processors with each other, nor with whatever else the machine of the tests does.
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)

    serve = worker.serve

    def serve_in_namespace(rank: int, world: int, local: int, settings: dict[str, object], *rest: object) -> None:
        name = os.environ["PDOCTOR_TEST_NAMESPACES"].split(",")[rank]
        with open(f"/var/run/netns/{name}") as namespace:
            if ctypes.CDLL(None).setns(namespace.fileno(), CLONE_NEWNET):
                raise SystemExit(f"no entry into {name}")
        serve(rank, world, local, {**settings, "host": f"host{rank}"}, *rest)

    worker.serve = serve_in_namespace
    worker.main()
