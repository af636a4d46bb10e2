"""`python -m bench`: measures the log reader."""

from __future__ import annotations

from bench.logs import main

if __name__ == "__main__":
    main()
