"""`python -m bench`: measures the reasoning, the planner's search, the log reader, then the reader of traces."""

from __future__ import annotations

from bench import logs, reasoning, search, trace

if __name__ == "__main__":
    reasoning.main()
    search.main()
    logs.main()
    trace.main()
