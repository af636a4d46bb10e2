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

# What a shell, a launcher or a batch system says of its own screen and job holds for no test.
SCREEN = {
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "TTY_COMPATIBLE",
    "TTY_INTERACTIVE",
}
RANK = {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"}
OWN = {"PDOCTOR_RECORD", "PDOCTOR_WEBHOOK"}
FAMILIES = ("SLURM_", "OMPI_", "PMI_", "PMIX_", "TORCHELASTIC_", "NCCL_")
for said in [name for name in os.environ if name in SCREEN | RANK | OWN or name.startswith(FAMILIES)]:
    del os.environ[said]

# Under nohup, or behind a script's `&`, these are ignored, and would be by all processes that tests start.
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, lambda *_: None)
