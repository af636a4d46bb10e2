"""Signs of life and of decline: robust statistics over the lines of logs, as they come or all at once."""

from doctor.facts.vitals.vitals import Vitals

__all__ = ["Vitals"]
