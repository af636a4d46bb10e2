"""Properties are checked however slow the machine is: time decides no test."""

from hypothesis import HealthCheck, settings

settings.register_profile("pdoctor", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pdoctor")
