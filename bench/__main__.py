"""`python -m bench`: measures the reasoning, then the log reader."""

from __future__ import annotations

from bench import logs, reasoning

if __name__ == "__main__":
    reasoning.main()
    logs.main()
