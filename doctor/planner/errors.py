"""What a user can get wrong when a job is described."""

from __future__ import annotations


class PlanError(ValueError):
    """One line that names the value, where it stands, and what would be right."""
