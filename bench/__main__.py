"""`python -m bench`: measures reasoning, search, the readers of logs, traces and dumps, and the interface."""

from __future__ import annotations

from bench import flight_recorder, logs, reasoning, search, trace, tui

if __name__ == "__main__":
    reasoning.main()
    search.main()
    logs.main()
    trace.main()
    flight_recorder.main()
    tui.main()
