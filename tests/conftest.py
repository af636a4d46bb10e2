"""What holds for every test: neither chance, nor time, nor how the tests were started decides one."""

import os
import signal

from hypothesis import HealthCheck, settings

# The same examples of each property every time; PDOCTOR_EXPLORE=1 draws others.
settings.register_profile(
    "pdoctor",
    deadline=None,
    derandomize=os.environ.get("PDOCTOR_EXPLORE") != "1",
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("pdoctor")

# Under nohup, or behind a script's `&`, these are ignored, and would be by all processes that tests start.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)
