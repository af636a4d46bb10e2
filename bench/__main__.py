"""`python -m bench`: measures the reasoning, the log reader, then the reader of traces."""

from __future__ import annotations

from bench import logs, reasoning, trace

if __name__ == "__main__":
    reasoning.main()
    logs.main()
    trace.main()
