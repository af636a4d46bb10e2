"""`python -m bench`: measures the reasoning, the planner's search, and the readers of logs, traces and dumps."""

from __future__ import annotations

from bench import flight_recorder, logs, reasoning, search, trace

if __name__ == "__main__":
    reasoning.main()
    search.main()
    logs.main()
    trace.main()
    flight_recorder.main()
