"""`python -m bench`: measures reasoning, search, readers of logs, traces and dumps, the recorder, a watch, and the
interface."""

from __future__ import annotations

from bench import attach, flight_recorder, logs, reasoning, recorder, search, trace, tui

if __name__ == "__main__":
    reasoning.main()
    search.main()
    logs.main()
    trace.main()
    flight_recorder.main()
    recorder.main()
    tui.main()
    attach.main()
